//! The server that started this. It does not say when it goes: a joiner that stays keeps the port, and the
//! next try fails.

use std::{
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::net::UnixStream,
    },
    path::Path,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::sockopt::socket_peercred,
    process::{Pid, PidfdFlags, pidfd_open},
};

/// What shows that the server is there.
#[derive(Debug)]
pub struct Parent<'p> {
    /// Its process, if it said which.
    process: Option<OwnedFd>,
    /// The pipe to it: closed on the other side when it goes.
    pipe: BorrowedFd<'p>,
}

/// The process of the server that listens on a socket: a donor's server does not say which it is, and the pipe to it does not
/// tell that it is gone where a shell stays in between, which has both ends of it.
#[must_use]
pub fn listening_on(socket: &Path) -> Option<i32> {
    let stream = UnixStream::connect(socket).ok()?;
    Some(socket_peercred(&stream).ok()?.pid.as_raw_nonzero().get())
}

/// How long it may take until it shows, if only the process tells.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

impl<'p> Parent<'p> {
    /// Of a process id, as the server gave it, and a pipe to the server.
    #[must_use]
    pub fn new(process: Option<i32>, pipe: BorrowedFd<'p>) -> Self {
        let process = process.and_then(Pid::from_raw).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        Self { process, pipe }
    }

    /// Returns when the server is gone.
    pub fn wait(&self) {
        loop {
            // Nothing but errors is told about a pipe that is only written to.
            let mut seen = vec![PollFd::from_borrowed_fd(self.pipe, PollFlags::empty())];
            seen.extend(self.process.iter().map(|process| PollFd::new(process, PollFlags::IN)));
            match poll(&mut seen, Some(&TICK)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) if seen.iter().any(|fd| !fd.revents().is_empty()) => return,
                Ok(_) => {}
                Err(_) => std::thread::sleep(Duration::from_millis(200)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::pipe,
        os::fd::AsFd,
        process::Command,
        sync::mpsc::{RecvTimeoutError, channel},
    };

    use super::*;

    const BRIEF: Duration = Duration::from_millis(300);
    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn a_closed_pipe_or_an_ended_process_shows() {
        let (reader, writer) = pipe().unwrap();
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        std::thread::scope(|scope| {
            let process = i32::try_from(child.id()).ok();
            let (tell, told) = channel();
            for process in [process, None] {
                let (tell, pipe) = (tell.clone(), writer.as_fd());
                scope.spawn(move || {
                    Parent::new(process, pipe).wait();
                    tell.send(process.is_some()).unwrap();
                });
            }
            assert_eq!(told.recv_timeout(BRIEF), Err(RecvTimeoutError::Timeout));
            child.kill().unwrap();
            assert_eq!(told.recv_timeout(LONG), Ok(true));
            assert_eq!(told.recv_timeout(BRIEF), Err(RecvTimeoutError::Timeout));
            drop(reader);
            assert_eq!(told.recv_timeout(LONG), Ok(false));
        });
        child.wait().unwrap();
    }
}
