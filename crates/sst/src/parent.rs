//! Detects the end of the server that started this process. The server does not announce it, and a
//! joiner that stays would keep the port, so that the next attempt fails.

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

/// The server that started this process, observed by its process and by the pipe to it.
#[derive(Debug)]
pub struct Parent<'p> {
    /// The server's process, if its id is known.
    process: Option<OwnedFd>,
    /// The pipe to the server: its other end is closed when the server ends.
    pipe: BorrowedFd<'p>,
}

/// Id of the process that listens on a socket. A donor's server does not pass its process id, and
/// if a shell in between holds both ends of the pipe, the pipe does not show the server's end.
#[must_use]
pub fn listening_on(socket: &Path) -> Option<i32> {
    let stream = UnixStream::connect(socket).ok()?;
    Some(socket_peercred(&stream).ok()?.pid.as_raw_nonzero().get())
}

/// Maximum delay of the detection if only the process shows it.
const TICK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

impl<'p> Parent<'p> {
    /// `process` is the process id in the server's arguments, `pipe` the pipe to the server.
    #[must_use]
    pub fn new(process: Option<i32>, pipe: BorrowedFd<'p>) -> Self {
        let process = process.and_then(Pid::from_raw).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        Self { process, pipe }
    }

    /// Returns when the server has ended.
    pub fn wait(&self) {
        loop {
            // For a pipe that is only written to, poll reports only errors.
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
    fn a_closed_pipe_or_an_ended_process_is_detected() {
        let (reader, writer) = pipe().unwrap();
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        std::thread::scope(|scope| {
            let process = i32::try_from(child.id()).ok();
            let (report_while, reported) = channel();
            for process in [process, None] {
                let (report_while, pipe) = (report_while.clone(), writer.as_fd());
                scope.spawn(move || {
                    Parent::new(process, pipe).wait();
                    report_while.send(process.is_some()).unwrap();
                });
            }
            assert_eq!(reported.recv_timeout(BRIEF), Err(RecvTimeoutError::Timeout));
            child.kill().unwrap();
            assert_eq!(reported.recv_timeout(LONG), Ok(true));
            assert_eq!(reported.recv_timeout(BRIEF), Err(RecvTimeoutError::Timeout));
            drop(reader);
            assert_eq!(reported.recv_timeout(LONG), Ok(false));
        });
        child.wait().unwrap();
    }
}
