//! A separate process that resumes a frozen server, whatever happens to the process that froze it.
//!
//! The two communicate over pipes. The watchdog writes one byte when it is ready. One byte to the
//! watchdog tells it to stop the server. The end of that pipe means that the server was resumed, or
//! that the process that froze it has ended. At the end of the pipe, or at the time limit, the
//! watchdog sends SIGCONT; its exit code says which of the two came first.

use std::{
    ffi::OsString,
    io::{self, Read, Write},
    os::{fd::AsFd, unix::process::CommandExt},
    path::PathBuf,
    process::{Child, ChildStdin, Command, Stdio},
    sync::{Arc, atomic::AtomicBool},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal},
};

use crate::error::Error;

/// Exit code of a watchdog that reached the time limit.
pub const TIMED_OUT: u8 = 3;
/// Time limit for the start of a watchdog.
const START_LIMIT: Duration = Duration::from_secs(10);

/// How to start a watchdog: a program that calls [`run`] if it gets these arguments, followed by
/// the server's process id and the longest freeze in milliseconds.
#[derive(Clone, Debug)]
pub struct Watchdog {
    /// Path of the program.
    pub program: PathBuf,
    /// Its `argv[0]`.
    pub name: OsString,
    /// Its first arguments.
    pub arguments: Vec<OsString>,
}

impl Default for Watchdog {
    /// This program, as `sealant snapshot watchdog`.
    fn default() -> Self {
        Self {
            // Exists even if the file was replaced since this process started.
            program: PathBuf::from("/proc/self/exe"),
            name: "sealant".into(),
            arguments: ["snapshot", "watchdog"].map(OsString::from).to_vec(),
        }
    }
}

impl Watchdog {
    pub(crate) fn start(&self, server: Pid, limit: Duration) -> Result<Running, Error> {
        // Not a `process::Program`: those end with what started them, and this one must outlive it.
        let mut child = Command::new(&self.program)
            .arg0(&self.name)
            .args(&self.arguments)
            .args([server.as_raw_nonzero().to_string(), limit.as_millis().to_string()])
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            // Signals to the process group of the freezing process must not end the watchdog.
            .process_group(0)
            .spawn()
            .map_err(Error::Watchdog)?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let running = Running { child, stdin };
        let mut ready = [0];
        let mut stdout = stdout.ok_or_else(|| Error::Watchdog(io::ErrorKind::BrokenPipe.into()))?;
        wait_for_input(&stdout, Instant::now() + START_LIMIT).map_err(Error::Watchdog)?;
        stdout.read_exact(&mut ready).map_err(Error::Watchdog)?;
        Ok(running)
    }
}

/// A started watchdog.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Running {
    /// Makes the watchdog stop the server.
    pub(crate) fn arm(&mut self) -> Result<(), Error> {
        let stdin = self.stdin.as_mut().ok_or_else(|| Error::Watchdog(io::ErrorKind::BrokenPipe.into()))?;
        stdin.write_all(b"f").map_err(Error::Watchdog)
    }

    /// Reports that the server was resumed. Returns whether that was in time.
    pub(crate) fn finish(&mut self) -> Result<bool, Error> {
        drop(self.stdin.take());
        let status = self.child.wait().map_err(Error::Watchdog)?;
        match status.code() {
            Some(0) => Ok(true),
            Some(code) if code == i32::from(TIMED_OUT) => Ok(false),
            _ => Err(Error::Watchdog(io::Error::other(format!("it ended with {status}")))),
        }
    }
}

impl Drop for Running {
    /// The watchdog ends with its pipe.
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

/// Main function of a watchdog process, which exits with [`TIMED_OUT`] if this returns `false`.
///
/// # Errors
/// Any error of the operating system before the server is frozen.
pub fn run(server: i32, limit: Duration) -> io::Result<bool> {
    let pid = Pid::from_raw(server).ok_or(io::ErrorKind::InvalidInput)?;
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    ignore_signals()?;
    let mut out = io::stdout().lock();
    out.write_all(b"r").and_then(|()| out.flush())?;
    let mut input = io::stdin().lock();
    match input.read_exact(&mut [0]) {
        // Nothing was frozen, so there is nothing to do.
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(true),
        read => read?,
    }
    // The watchdog itself sends SIGSTOP, so that no stop can come after the time limit.
    let stopped = pidfd_send_signal(&process, Signal::STOP);
    let in_time = stopped.is_ok() && wait_for_input(io::stdin(), Instant::now() + limit).is_ok();
    let _ = pidfd_send_signal(&process, Signal::CONT);
    Ok(in_time)
}

/// Signals that end the freezing process, or the whole service, must not end the watchdog first.
fn ignore_signals() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}

/// Waits for input or the end of the pipe.
fn wait_for_input(from: impl AsFd, until: Instant) -> io::Result<()> {
    loop {
        let left = Timespec::try_from(until.saturating_duration_since(Instant::now())).ok();
        match poll(&mut [PollFd::new(&from, PollFlags::IN)], left.as_ref()) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
