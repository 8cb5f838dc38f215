//! `rsync` to a daemon, which does not encrypt.

use std::{
    fs,
    path::Path,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use rustix::process::geteuid;

use super::{CopyJob, process::Pipeline};
use crate::Error;

/// Maximum number of concurrent processes.
const PROCESSES: usize = 4;

/// One process.
pub(super) fn one(job: &CopyJob<'_>) -> Result<f64, Error> {
    let daemon = RsyncDaemon::start(job)?;
    let mut command = whole_files(job);
    command.arg(job.source().join("")).arg(&daemon.url);
    job.timed(|| Pipeline::start(vec![command])?.finish())
}

/// Copies directories first, then runs a process for each file, four at a time, large files first: like `find | xargs
/// -P4`, in a better order.
pub(super) fn parallel(job: &CopyJob<'_>) -> Result<f64, Error> {
    let daemon = RsyncDaemon::start(job)?;
    let mut directories = job.on_sender("rsync");
    directories.args(["-a", "-f", "+ */", "-f", "- *"]).arg(job.source().join("")).arg(&daemon.url);
    let files = job.tree.largest_first();
    job.timed(|| {
        Pipeline::start(vec![directories])?.finish()?;
        each(&files, |file| {
            let mut command = whole_files(job);
            command.current_dir(job.source()).arg("-R").arg(Path::new(".").join(file)).arg(&daemon.url);
            Pipeline::start(vec![command])?.finish()
        })
    })
}

fn whole_files(job: &CopyJob<'_>) -> Command {
    let mut command = job.on_sender("rsync");
    command.args(["-a", "--whole-file", "--inplace"]);
    command
}

fn each(files: &[&Path], copy: impl Fn(&Path) -> Result<(), Error> + Sync) -> Result<(), Error> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), Error> {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            copy(file)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..PROCESSES).map(|_| scope.spawn(work)).collect();
        let current = work();
        others.into_iter().fold(current, |done, other| other.join().unwrap_or(Ok(())).and(done))
    })
}

/// An rsync daemon for the target; stopped on drop.
struct RsyncDaemon {
    url: String,
    _running: Pipeline,
}

impl RsyncDaemon {
    fn start(job: &CopyJob<'_>) -> Result<Self, Error> {
        let (address, port) = (job.link.address(), job.port()?);
        // As root it would otherwise write as the user nobody.
        let owner = if geteuid().is_root() { "uid=root\ngid=root\n" } else { "" };
        let target = job.target();
        let text = format!(
            "port={port}\naddress={address}\nuse chroot=no\nmunge symlinks=no\n{owner}\
             [target]\npath={}\nread only=no\n",
            target.display()
        );
        let file = job.scratch.path().join("rsyncd.conf");
        fs::write(&file, text).map_err(Error::file(&file))?;
        let mut command = job.on_receiver("rsync");
        command.args(["--daemon", "--no-detach"]).arg(format!("--config={}", file.display()));
        let mut running = Pipeline::start(vec![command])?;
        running.listens_on(port)?;
        Ok(Self { url: format!("rsync://{address}:{port}/target/"), _running: running })
    }
}
