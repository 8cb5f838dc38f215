//! Stops the process of a server and resumes it.

use std::{
    fs::{self, File},
    io,
    os::fd::OwnedFd,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fs::{FlockOperation, flock},
    io::Errno,
    process::{
        Pid, PidfdFlags, Signal, getpriority_process, pidfd_open, pidfd_send_signal, setpriority_process,
        test_kill_process,
    },
};

use crate::{
    datadir::DataDir,
    error::Error,
    process::{ServerProcess, of_process, state_in},
    watchdog::{Running, Watchdog},
};

/// Interval of checks until all threads have stopped.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

/// A stopped process. It is resumed when this is dropped, and also if this whole program is killed.
#[derive(Debug)]
pub(crate) struct Freeze {
    pid: Pid,
    process: OwnedFd,
    watchdog: Running,
    began: Instant,
    limit: Duration,
    thawed: bool,
    _priority: HighPriority,
    /// Lock against other freezes of this server: the end of one would also end the other.
    _lock: File,
}

impl Freeze {
    /// Stops a server and waits until all of its threads have stopped.
    ///
    /// # Errors
    /// [`Error`]; the server keeps running.
    pub(crate) fn begin(
        server: &ServerProcess,
        datadir: &DataDir,
        watchdog: &Watchdog,
        limit: Duration,
    ) -> Result<Self, Error> {
        let pid = server.pid;
        let refused = |source: Errno| Error::Signal { pid, source: source.into() };
        let lock_datadir = lock_datadir(datadir.path(), pid)?;
        let process = pidfd_open(pid, PidfdFlags::empty()).map_err(refused)?;
        // From here on the descriptor refers to a fixed process: if it has the data directory open
        // now, it is the right one.
        if datadir.server()?.map(|now| now.pid) != Some(pid) {
            return Err(Error::ServerGone { pid });
        }
        test_kill_process(pid).map_err(refused)?;
        if tasks(pid)?.iter().any(|state| matches!(state, 'T' | 't')) {
            return Err(Error::AlreadyStopped { pid });
        }
        let mut watchdog = watchdog.start(pid, limit)?;
        // Checked after the watchdog has opened the process by its id, so that both refer to the
        // same one. A signal would not do, since it could wake a process that another program has
        // stopped.
        if has_ended(&process) {
            return Err(Error::ServerGone { pid });
        }
        let (priority, began) = (HighPriority::begin(), Instant::now());
        watchdog.arm()?;
        let freeze =
            Self { pid, process, watchdog, began, limit, thawed: false, _priority: priority, _lock: lock_datadir };
        freeze.wait_until_stopped()?;
        Ok(freeze)
    }

    /// The signal returns before all threads have stopped.
    fn wait_until_stopped(&self) -> Result<(), Error> {
        while !self.is_stopped()? {
            self.check_time()?;
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    fn is_stopped(&self) -> Result<bool, Error> {
        Ok(tasks(self.pid)?.iter().all(|state| matches!(state, 'T' | 'Z' | 'X')))
    }

    /// Checks that there is time left.
    ///
    /// # Errors
    /// [`Error::TooSlow`] if not.
    pub(crate) fn check_time(&self) -> Result<(), Error> {
        if self.began.elapsed() < self.limit { Ok(()) } else { Err(self.too_slow()) }
    }

    fn too_slow(&self) -> Error {
        Error::TooSlow { limit: self.limit }
    }

    /// Resumes the server. Returns how long it was stopped.
    ///
    /// # Errors
    /// [`Error::TooSlow`] or [`Error::Resumed`] if it was not stopped all the time: the copy is not
    /// of one instant.
    pub(crate) fn end(mut self) -> Result<Duration, Error> {
        let copy = self.is_stopped();
        let stood = self.began.elapsed();
        self.thaw();
        let in_time = self.watchdog.finish()?;
        match copy {
            _ if !in_time || stood > self.limit => Err(self.too_slow()),
            Ok(true) => Ok(stood),
            Ok(false) => Err(Error::Resumed { pid: self.pid }),
            Err(error) => Err(error),
        }
    }

    fn thaw(&mut self) {
        if !self.thawed {
            // The process may have ended; the watchdog sends SIGCONT in any case.
            let _ = pidfd_send_signal(&self.process, Signal::CONT);
            self.thawed = true;
        }
    }
}

impl Drop for Freeze {
    fn drop(&mut self) {
        self.thaw();
    }
}

/// Locks the data directory against other freezes.
fn lock_datadir(datadir: &Path, pid: Pid) -> Result<File, Error> {
    let unreadable = |source| Error::Unreadable { path: datadir.to_owned(), source };
    let directory = File::open(datadir).map_err(unreadable)?;
    match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(Error::AlreadyStopped { pid }),
        locked => locked.map(|()| directory).map_err(|error| unreadable(error.into())),
    }
}

/// Whether the process has ended: its descriptor is readable then.
fn has_ended(process: &OwnedFd) -> bool {
    poll(&mut [PollFd::new(process, PollFlags::IN)], Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

/// Raises the priority of this thread while a server waits for it, if this user may.
#[derive(Debug)]
pub(crate) struct HighPriority {
    before: Option<i32>,
}

impl HighPriority {
    pub(crate) fn begin() -> Self {
        let before = getpriority_process(None).ok();
        let raised = setpriority_process(None, -20);
        Self { before: before.filter(|_| raised.is_ok()) }
    }
}

impl Drop for HighPriority {
    fn drop(&mut self) {
        if let Some(before) = self.before {
            let _ = setpriority_process(None, before);
        }
    }
}

/// States of all threads of a process.
fn tasks(pid: Pid) -> Result<Vec<char>, Error> {
    let directory = of_process(pid).join("task");
    let gone = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => Error::ServerGone { pid },
        _ => Error::Unreadable { path: directory.clone(), source },
    };
    let mut states = Vec::new();
    for task in fs::read_dir(&directory).map_err(gone)? {
        // The thread has ended in the meantime.
        let Ok(stat) = fs::read_to_string(task.map_err(gone)?.path().join("stat")) else { continue };
        states.extend(state_in(&stat));
    }
    if states.is_empty() { Err(Error::ServerGone { pid }) } else { Ok(states) }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn another_process_that_got_the_servers_pid_is_not_stopped() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("ibdata1"), "").unwrap();
        let datadir = DataDir::at(directory.path()).unwrap();
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        let pid = Pid::from_child(&other);
        let server = ServerProcess { pid, found_by: "a test" };
        let frozen = Freeze::begin(&server, &datadir, &Watchdog::default(), Duration::from_millis(200));
        other.kill().unwrap();
        other.wait().unwrap();
        assert!(matches!(frozen, Err(Error::ServerGone { pid: gone }) if gone == pid), "{frozen:?}");
    }
}
