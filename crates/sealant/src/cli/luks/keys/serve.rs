//! `sealant luks key serve`: what systemd runs when a volume's key is asked for at boot.

use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io::{IsTerminal, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use clap::Args;
use files::runtime;
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process_group};
use zeroize::Zeroizing;

use super::vault::Vault;
use crate::exit::{self, Exit};
use crate::output::message::Failure;

/// Larger is no key.
pub(super) const MAX_BYTES: u64 = 1 << 15;
/// Between two runs of a program that failed.
pub(super) const AGAIN: Duration = Duration::from_secs(1);
/// How often something that is not there yet is looked for.
const POLL: Duration = Duration::from_millis(100);

/// Write a key to the socket that is standard output, from a file on a stick, from HashiCorp Vault or from a command
///
/// `sealant luks boot install --key-from …` makes the socket and the service that run this when the volume is opened at
/// boot, so that no key lies on the disks of this host. It waits for the file, or for the device that it is on, as long as
/// --wait says. Standard output may not be a terminal.
#[derive(Debug, Args)]
#[command(after_help = exit::help(END, EXITS))]
pub(super) struct Serve {
    #[command(flatten)]
    source: Source,
    #[command(flatten)]
    vault: Vault,
    /// The file is on this device, such as a USB stick: it is mounted read-only for the moment
    #[arg(long, value_name = "DEVICE", requires = "file")]
    on: Option<PathBuf>,
    /// Seconds to wait for the file, its device, Vault or the command
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    wait: u64,
}

#[derive(Debug, Args)]
#[group(multiple = false, conflicts_with = "vault_addr")]
struct Source {
    /// File with the key, exact bytes; with --on its path on that device
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Program that writes the key, exact bytes, to its standard output; it gets no arguments
    #[arg(long, value_name = "PROGRAM")]
    command: Option<PathBuf>,
}

const END: &str = "\
Examples:
  sealant luks key serve --file data.key --on /dev/disk/by-label/KEYS | wc --bytes
  sealant luks key serve --command /etc/sealant/fetch-key | wc --bytes
  sealant luks key serve --vault-addr https://vault.example:8200 --vault-path secret/data/mysqldata \
    --vault-token-file /etc/sealant/vault-token --vault-ca /etc/sealant/vault-ca.pem | wc --bytes";

const EXITS: exit::Codes =
    &[(Exit::Clean, "written"), (Exit::Failed, "there is no key; nothing was written"), (Exit::Usage, "wrong usage")];

impl Serve {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        if std::io::stdout().is_terminal() {
            return Err(Failure::usage("a key is not written to a terminal"));
        }
        let deadline = Instant::now() + Duration::from_secs(self.wait);
        let key = match (&self.source.file, &self.source.command, &self.on) {
            (Some(file), _, Some(device)) => on_device(device, file, deadline)?,
            (Some(file), _, None) => of_file(file, deadline)?,
            (None, Some(program), _) => of_program(program, deadline)?,
            (None, None, _) => match &self.vault.vault_addr {
                Some(address) => self.vault.key(address, deadline)?,
                None => {
                    let failure = Failure::usage("no source of the key is named");
                    return Err(failure.hint("give --file, --command or --vault-addr"));
                }
            },
        };
        let mut out = std::io::stdout().lock();
        let written = out.write_all(&key).and_then(|()| out.flush());
        written.map_err(|error| Failure::new(format!("the key was not taken: {error}")))?;
        Ok(Exit::Clean)
    }
}

fn wait_for(path: &Path, deadline: Instant) -> Result<(), Failure> {
    while !path.exists() {
        if Instant::now() > deadline {
            return Err(Failure::new(format!("{}: is not there, and did not come in time", path.display())));
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

pub(super) fn of_file(path: &Path, deadline: Instant) -> Result<Zeroizing<Vec<u8>>, Failure> {
    wait_for(path, deadline)?;
    let failed = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    // A pipe without a writer would be waited for without end.
    let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or_default();
    let file = File::options().read(true).custom_flags(nonblocking).open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(Failure::new(format!("{}: is not a file", path.display())));
    }
    read(&mut &file, &path.display().to_string())
}

fn read(source: &mut dyn Read, name: &str) -> Result<Zeroizing<Vec<u8>>, Failure> {
    // Room from the start: a vector that grows leaves copies behind.
    let room = usize::try_from(MAX_BYTES).unwrap_or_default().saturating_add(1);
    let mut key = Zeroizing::new(Vec::with_capacity(room));
    let failed = |why: &str| Failure::new(format!("{name}: {why}"));
    source.take(MAX_BYTES.saturating_add(1)).read_to_end(&mut key).map_err(|error| failed(&error.to_string()))?;
    match key.len() {
        0 => Err(failed("the key is empty")),
        length if length >= room => Err(failed("too large for a key")),
        _ => Ok(key),
    }
}

/// Mounts the device read-only in a private directory, reads, and unmounts.
fn on_device(device: &Path, file: &Path, deadline: Instant) -> Result<Zeroizing<Vec<u8>>, Failure> {
    wait_for(device, deadline)?;
    let private = Path::new(runtime::DIRECTORY).join(format!("key-{}", std::process::id()));
    let directory = private.join("on");
    let failed = |error: std::io::Error| Failure::new(format!("{}: {error}", directory.display()));
    runtime::directory().map_err(failed)?;
    // What is on a stick may be readable by everybody: the way there is not.
    DirBuilder::new().mode(0o700).create(&private).map_err(failed)?;
    std::fs::create_dir(&directory).map_err(failed)?;
    let args: [OsString; 4] = ["-o".into(), "ro,nosuid,nodev,noexec".into(), device.into(), directory.clone().into()];
    let mounted = Command::new("mount").args(args).stdin(Stdio::null()).stdout(Stdio::null()).status();
    let key = match mounted {
        Ok(status) if status.success() => {
            let inside = file.strip_prefix("/").unwrap_or(file);
            let key = of_file(&directory.join(inside), Instant::now());
            unmount(&directory);
            key
        }
        _ => Err(Failure::new(format!("{}: cannot be mounted", device.display()))),
    };
    // A directory that stays is no reason to keep the host from its key.
    let _ = std::fs::remove_dir(&directory).and_then(|()| std::fs::remove_dir(&private));
    key
}

/// At once, or else as soon as nobody is in it.
fn unmount(directory: &Path) {
    let umount = |how: &[&str]| Command::new("umount").args(how).arg(directory).stdin(Stdio::null()).status();
    if !umount(&[]).is_ok_and(|status| status.success()) {
        let _ = umount(&["--lazy"]);
    }
}

/// What the program gives; it is run again as long as there is time, since what it asks may come up later.
fn of_program(program: &Path, deadline: Instant) -> Result<Zeroizing<Vec<u8>>, Failure> {
    loop {
        match of_one_run(program, deadline) {
            Err(_) if program.exists() && Instant::now() + AGAIN < deadline => std::thread::sleep(AGAIN),
            ended => return ended,
        }
    }
}

fn of_one_run(program: &Path, deadline: Instant) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let name = program.display().to_string();
    let failed = |why: String| Failure::new(format!("{name}: {why}"));
    let child = Command::new(program).stdin(Stdio::null()).stdout(Stdio::piped()).process_group(0).spawn();
    let mut child = child.map_err(|error| failed(error.to_string()))?;
    let pipe = child.stdout.take();
    let (sender, received) = channel();
    std::thread::spawn({
        let name = name.clone();
        move || sender.send(pipe.map(|mut pipe| read(&mut pipe, &name)))
    });
    let ended_well = ended_well(&mut child, deadline).map_err(|error| failed(error.to_string()))?;
    // What it started and left behind may hold its output, and the key.
    let left = deadline.saturating_duration_since(Instant::now());
    let key = if ended_well { received.recv_timeout(left.max(POLL)).ok().flatten() } else { None };
    end_group(&child);
    key.unwrap_or_else(|| Err(failed("failed, or gave no key in time".to_owned())))
}

/// Kills whatever is left of its process group.
fn end_group(child: &Child) {
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Whether it ends with 0 before the deadline; it is killed then.
fn ended_well(child: &mut Child, deadline: Instant) -> std::io::Result<bool> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if Instant::now() > deadline {
            end_group(child);
            child.wait()?;
            return Ok(false);
        }
        std::thread::sleep(POLL);
    }
}
