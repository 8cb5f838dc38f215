//! `sealant luks key serve`: what systemd runs when a volume's key is asked for at boot.

use std::ffi::OsString;
use std::io::{IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use zeroize::Zeroizing;

use crate::exit::Exit;
use crate::output::message::Failure;

/// Larger is no key.
const MAX_BYTES: u64 = 1 << 15;
/// How often something that is not there yet is looked for.
const POLL: Duration = Duration::from_millis(100);

/// Write a key to the socket that is standard output, from a file on a stick or from a command
///
/// `sealant luks boot install --key-from …` makes the socket and the service that run this when the volume is opened at
/// boot, so that no key lies on the disks of this host. It waits for the file, or for the device that it is on, as long as
/// --wait says. Standard output may not be a terminal.
#[derive(Debug, Args)]
#[command(after_help = END, after_long_help = END)]
pub(super) struct Serve {
    #[command(flatten)]
    source: Source,
    /// The file is on this device, such as a USB stick: it is mounted read-only for the moment
    #[arg(long, value_name = "DEVICE", requires = "file")]
    on: Option<PathBuf>,
    /// Seconds to wait for the file, its device or the command
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=3600))]
    wait: u64,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
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

Exit codes:
  0  written
  1  there is no key; nothing was written
  2  wrong usage";

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
            (None, None, _) => return Err(Failure::usage("no source of the key is named")),
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

fn of_file(path: &Path, deadline: Instant) -> Result<Zeroizing<Vec<u8>>, Failure> {
    wait_for(path, deadline)?;
    let failed = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
    let file = std::fs::File::open(path).map_err(failed)?;
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
    let directory = PathBuf::from(format!("/run/sealant/key-{}", std::process::id()));
    let failed = |error: std::io::Error| Failure::new(format!("{}: {error}", directory.display()));
    std::fs::create_dir_all(&directory).map_err(failed)?;
    let args: [OsString; 4] = ["-o".into(), "ro,nosuid,nodev,noexec".into(), device.into(), directory.clone().into()];
    let mounted = Command::new("mount").args(args).stdin(Stdio::null()).stdout(Stdio::null()).status();
    let key = match mounted {
        Ok(status) if status.success() => {
            let inside = file.strip_prefix("/").unwrap_or(file);
            let key = of_file(&directory.join(inside), Instant::now());
            let _ = Command::new("umount").arg(&directory).status();
            key
        }
        _ => Err(Failure::new(format!("{}: cannot be mounted", device.display()))),
    };
    std::fs::remove_dir(&directory).map_err(failed)?;
    key
}

fn of_program(program: &Path, deadline: Instant) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let name = program.display().to_string();
    let failed = |why: String| Failure::new(format!("{name}: {why}"));
    let child = Command::new(program).stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
    let mut child = child.map_err(|error| failed(error.to_string()))?;
    let pipe = child.stdout.take();
    let reader = std::thread::spawn({
        let name = name.clone();
        move || pipe.map(|mut pipe| read(&mut pipe, &name))
    });
    if !ended_well(&mut child, deadline).map_err(|error| failed(error.to_string()))? {
        return Err(failed("failed, or gave no key in time".to_owned()));
    }
    let key = reader.join().ok().flatten();
    key.unwrap_or_else(|| Err(failed("gave no key".to_owned())))
}

/// Whether it ends with 0 before the deadline; it is killed then.
fn ended_well(child: &mut Child, deadline: Instant) -> std::io::Result<bool> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        }
        std::thread::sleep(POLL);
    }
}
