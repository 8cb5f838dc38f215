//! A server that stands still.

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
    datadir::{DataDir, ServerProcess},
    error::Error,
    process::{of_process, state_in},
    watchdog::{Running, Watchdog},
};

/// How often the threads are looked at until all have stopped.
const LOOK: Duration = Duration::from_micros(200);

/// A stopped process. It goes on when this goes, and also if this whole program is killed.
#[derive(Debug)]
pub(crate) struct Freeze {
    pid: Pid,
    process: OwnedFd,
    watchdog: Running,
    began: Instant,
    limit: Duration,
    thawed: bool,
    _priority: HighPriority,
    /// Nobody else freezes this server meanwhile: the end of one freeze would end the other in the middle.
    _alone: File,
}

impl Freeze {
    /// Stops a server and waits until every thread of it stands.
    ///
    /// # Errors
    /// [`Error`]; the server runs on.
    pub(crate) fn begin(
        server: &ServerProcess,
        datadir: &DataDir,
        watchdog: &Watchdog,
        limit: Duration,
    ) -> Result<Self, Error> {
        let pid = server.pid;
        let refused = |source: Errno| Error::Signal { pid, source: source.into() };
        let alone = alone(datadir.path(), pid)?;
        let process = pidfd_open(pid, PidfdFlags::empty()).map_err(refused)?;
        // From here on the number is that process's: if it has the data directory open now, it is the one to stop.
        if datadir.server()?.map(|now| now.pid) != Some(pid) {
            return Err(Error::ServerGone { pid });
        }
        test_kill_process(pid).map_err(refused)?;
        if tasks(pid)?.iter().any(|state| matches!(state, 'T' | 't')) {
            return Err(Error::AlreadyStopped { pid });
        }
        let mut watchdog = watchdog.start(pid, limit)?;
        // Alive after the watchdog has opened it by its number, so that both mean the same process. A signal would not
        // do: it wakes what someone else has stopped.
        if has_ended(&process) {
            return Err(Error::ServerGone { pid });
        }
        let (priority, began) = (HighPriority::begin(), Instant::now());
        watchdog.arm()?;
        let freeze = Self { pid, process, watchdog, began, limit, thawed: false, _priority: priority, _alone: alone };
        freeze.wait_until_still()?;
        Ok(freeze)
    }

    /// The signal returns before the threads have stopped.
    fn wait_until_still(&self) -> Result<(), Error> {
        while !self.is_still()? {
            self.check_time()?;
            thread::sleep(LOOK);
        }
        Ok(())
    }

    fn is_still(&self) -> Result<bool, Error> {
        Ok(tasks(self.pid)?.iter().all(|state| matches!(state, 'T' | 'Z' | 'X')))
    }

    /// Makes sure that there is time left.
    ///
    /// # Errors
    /// [`Error::TooSlow`].
    pub(crate) fn check_time(&self) -> Result<(), Error> {
        if self.began.elapsed() < self.limit { Ok(()) } else { Err(self.too_slow()) }
    }

    fn too_slow(&self) -> Error {
        Error::TooSlow { limit: self.limit }
    }

    /// Lets the server go on. Returns how long it stood.
    ///
    /// # Errors
    /// [`Error::TooSlow`] or [`Error::Woken`] if it did not stand all the time: what was copied is not
    /// of one instant.
    pub(crate) fn end(mut self) -> Result<Duration, Error> {
        let still = self.is_still();
        let stood = self.began.elapsed();
        self.thaw();
        let in_time = self.watchdog.finish()?;
        match still {
            _ if !in_time || stood > self.limit => Err(self.too_slow()),
            Ok(true) => Ok(stood),
            Ok(false) => Err(Error::Woken { pid: self.pid }),
            Err(error) => Err(error),
        }
    }

    fn thaw(&mut self) {
        if !self.thawed {
            // A process that is gone needs no thawing; the watchdog tries again in any case.
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

/// Holds the data directory against other freezes.
fn alone(datadir: &Path, pid: Pid) -> Result<File, Error> {
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

/// This thread before all others, for as long as a server waits for it, if this user may have that.
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

/// The states of all threads of a process.
fn tasks(pid: Pid) -> Result<Vec<char>, Error> {
    let directory = of_process(pid).join("task");
    let gone = |source: io::Error| match source.kind() {
        io::ErrorKind::NotFound => Error::ServerGone { pid },
        _ => Error::Unreadable { path: directory.clone(), source },
    };
    let mut states = Vec::new();
    for task in fs::read_dir(&directory).map_err(gone)? {
        // A thread that has ended meanwhile does nothing any more.
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
