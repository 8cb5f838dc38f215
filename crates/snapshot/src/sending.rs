//! Detects a cluster node that is sending write-sets to a joining node.
//!
//! A signal that stops a process interrupts a blocking `send(2)`, which returns the number of bytes
//! taken so far. Galera's sender of write-sets (IST) ignores that number:
//! `AsioTcpStreamEngine::write` of galerautils calls `send` once, `AsioStreamReact::write` only
//! asserts that nothing is left, which release builds skip, and `send_ordered` of IST does not
//! check (source of 26.4.18; seen with 26.4.23). The joiner then waits for the rest of that
//! write-set forever. The joiner starts to read only after its state transfer, so if there is more
//! data than both sockets hold (some MiB), the sender blocks during the whole transfer. Client
//! connections are not affected: servers send the rest.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, thread,
    time::{Duration, Instant},
};

use files::proc;
use rustix::{fs::OFlags, process::Pid};

use crate::{error::Error, process::of_process};

/// Sent data is acknowledged within this time, unless the peer does not read.
const TIME_LIMIT: Duration = Duration::from_millis(50);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Checks that a stop would cut off nothing.
///
/// # Errors
/// [`Error::Sending`] if a write-set is being sent.
pub(crate) fn refuse(server: Pid) -> Result<(), Error> {
    if sends(server) { Err(Error::Sending { pid: server }) } else { Ok(()) }
}

/// Checks after a stop that it cut off nothing: a thread that is blocked now may have been blocked
/// then.
///
/// # Errors
/// [`Error::CutOff`] if a write-set may have been cut off.
pub(crate) fn prove(server: Pid) -> Result<(), Error> {
    if sends(server) { Err(Error::CutOff { pid: server }) } else { Ok(()) }
}

fn sends(server: Pid) -> bool {
    has_provider(server) && is_sending(server)
}

/// Whether a thread is blocked in a send call on a connection that the process opened. Sent data
/// also waits there for a peer that does not read, which is harmless.
fn is_sending(process: Pid) -> bool {
    let waiting = waiting(process);
    if waiting.is_empty() {
        return false;
    }
    let calls = calls(process);
    // If the calls are hidden from this user, a send is possible (kernel.yama.ptrace_scope).
    calls.is_none_or(|calls| calls.iter().any(|(call, fd)| SEND_CALLS.contains(call) && waiting.contains_key(fd)))
}

/// Whether the process has loaded Galera's library, under any file name.
fn has_provider(server: Pid) -> bool {
    let is_provider = |line: &str| line.rsplit('/').next().is_some_and(|name| name.contains("galera"));
    fs::read_to_string(of_process(server).join("maps")).is_ok_and(|maps| maps.lines().any(is_provider))
}

/// Connections opened by the process with blocking sends that have had unsent or unacknowledged
/// data for a while: descriptors and sockets.
fn waiting(process: Pid) -> BTreeMap<u64, u64> {
    let began = Instant::now();
    let mut found = with_unsent_data(process);
    while !found.is_empty() && began.elapsed() < TIME_LIMIT {
        thread::sleep(POLL_INTERVAL);
        let now = with_unsent_data(process);
        found.retain(|fd, socket| now.get(fd) == Some(socket));
    }
    found
}

/// As [`waiting`], for data that is unsent or unacknowledged at this moment.
fn with_unsent_data(process: Pid) -> BTreeMap<u64, u64> {
    let connections = connections(process);
    let listening: BTreeSet<u16> =
        connections.iter().filter(|line| line.state == LISTEN).map(|line| line.local_port).collect();
    let full = |line: &&Connection| line.sends() && line.unsent_bytes > 0 && !listening.contains(&line.local_port);
    let full: BTreeSet<u64> = connections.iter().filter(full).map(|line| line.socket).collect();
    // Unsent data is rare, so descriptors are only examined if there is any.
    let mut found = if full.is_empty() { BTreeMap::new() } else { blocking(process) };
    found.retain(|_, socket| full.contains(socket));
    found
}

/// Blocking socket descriptors of the process; non-blocking sends are retried by their callers.
fn blocking(process: Pid) -> BTreeMap<u64, u64> {
    let directory = of_process(process);
    let items = fs::read_dir(directory.join("fd")).into_iter().flatten().flatten();
    let sockets = items.filter_map(|item| {
        let target = fs::read_link(item.path()).ok()?;
        let socket = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()?;
        let flags = proc::open_flags(&directory, &item.file_name()).ok()?;
        (!flags.contains(OFlags::NONBLOCK)).then_some((item.file_name().to_str()?.parse().ok()?, socket))
    });
    sockets.collect()
}

/// System calls that send data.
const SEND_CALLS: [i64; 4] = [libc::SYS_sendto, libc::SYS_sendmsg, libc::SYS_write, libc::SYS_writev];

/// The system calls in which threads of the process are blocked, and their first arguments; `None`
/// if they are hidden.
fn calls(process: Pid) -> Option<Vec<(i64, u64)>> {
    let mut calls = Vec::new();
    for task in fs::read_dir(of_process(process).join("task")).ok()? {
        match fs::read_to_string(task.ok()?.path().join("syscall")) {
            Ok(text) => calls.extend(call(&text)),
            // The thread has ended in the meantime.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ESRCH | libc::ENOENT)) => {}
            Err(_) => return None,
        }
    }
    Some(calls)
}

/// A line of `/proc/PID/task/TID/syscall`: number and arguments, `running`, or -1 outside of calls.
/// Source: proc_pid_syscall(5).
fn call(text: &str) -> Option<(i64, u64)> {
    let mut message = text.split_ascii_whitespace();
    let number = message.next()?.parse().ok().filter(|number| *number >= 0)?;
    Some((number, u64::from_str_radix(message.next()?.strip_prefix("0x")?, 16).ok()?))
}

/// A line of `/proc/PID/net/tcp`.
#[derive(Debug, PartialEq, Eq)]
struct Connection {
    local_port: u16,
    state: u8,
    unsent_bytes: u64,
    socket: u64,
}

// Source: `net/tcp_states.h` of Linux.
const ESTABLISHED: u8 = 1;
const CLOSE_WAIT: u8 = 8;
const LISTEN: u8 = 10;

impl Connection {
    /// Source: proc_pid_net(5) and `get_tcp4_sock` of Linux: number, local and remote address,
    /// state, bytes to send and to read, timer, retransmissions, user, timeout, inode; all but the
    /// last four in hexadecimal digits.
    fn parse(line: &str) -> Option<Self> {
        let message: Vec<&str> = line.split_ascii_whitespace().collect();
        let &[_, local, _, state, queues, _, _, _, _, socket, ..] = message.as_slice() else { return None };
        Some(Self {
            local_port: u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok()?,
            state: u8::from_str_radix(state, 16).ok()?,
            unsent_bytes: u64::from_str_radix(queues.split_once(':')?.0, 16).ok()?,
            socket: socket.parse().ok()?,
        })
    }

    fn sends(&self) -> bool {
        matches!(self.state, ESTABLISHED | CLOSE_WAIT)
    }
}

/// TCP connections in the network namespace of the process.
fn connections(process: Pid) -> Vec<Connection> {
    let directory = of_process(process).join("net");
    let lists = ["tcp", "tcp6"].map(|name| fs::read_to_string(directory.join(name)).unwrap_or_default());
    lists.iter().flat_map(|list| list.lines().filter_map(Connection::parse)).collect()
}

#[cfg(test)]
mod tests {
    use std::{
        io::{Read, Write},
        net::{TcpListener, TcpStream},
        os::fd::AsRawFd,
    };

    use rustix::process::getpid;

    use super::*;

    #[test]
    fn lines_of_proc_files_are_parsed() {
        let line = "   5: 0100007F:9F2E 0100007F:74E6 01 00000010:00000000 00:00000000 00000000     0        0 4711 2 0 20 4 30 10 -1";
        let expected = Connection { local_port: 0x9f2e, state: ESTABLISHED, unsent_bytes: 16, socket: 4711 };
        assert_eq!(Connection::parse(line), Some(expected));
        for other in [
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
            "",
            "5:",
        ] {
            assert_eq!(Connection::parse(other), None, "{other}");
        }
        assert_eq!(call("44 0x4 0x7f05 0x40 0x0 0x0 0x0 0x7ffc 0x7f"), Some((44, 4)));
        assert!(["running", "-1 0x7ffc 0x7f", ""].into_iter().all(|text| call(text).is_none()));
    }

    /// A connection and its peer, with the listener.
    fn pair() -> (TcpStream, TcpStream, TcpListener) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let out = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let taken = listener.accept().unwrap().0;
        (out, taken, listener)
    }

    fn has(found: &BTreeMap<u64, u64>, stream: &TcpStream) -> bool {
        found.contains_key(&u64::try_from(stream.as_raw_fd()).unwrap())
    }

    #[test]
    fn a_blocked_send_is_detected_until_the_peer_reads() {
        const MANY_BYTES: usize = 64 << 20;
        // More than the peer takes unread, and less than this side buffers.
        let (mut small, mut small_end, _listener) = pair();
        small.write_all(&vec![7; 256 << 10]).unwrap();
        assert!(has(&waiting(getpid()), &small) && !is_sending(getpid()));
        let (mut out, mut taken, _listener) = pair();
        let sender = out.try_clone().unwrap();
        let sending = thread::spawn(move || out.write_all(&vec![7; MANY_BYTES]));
        while calls(getpid()).unwrap().iter().all(|(call, _)| *call != libc::SYS_sendto) {
            thread::sleep(POLL_INTERVAL);
        }
        assert!(is_sending(getpid()));
        // Accepted connections are those of clients, and non-blocking sends are retried.
        assert!(!has(&waiting(getpid()), &taken));
        sender.set_nonblocking(true).unwrap();
        assert!(!has(&waiting(getpid()), &sender));
        sender.set_nonblocking(false).unwrap();
        std::io::copy(&mut (&mut taken).take(MANY_BYTES as u64), &mut std::io::sink()).unwrap();
        sending.join().unwrap().unwrap();
        std::io::copy(&mut (&mut small_end).take(256 << 10), &mut std::io::sink()).unwrap();
        assert!(!is_sending(getpid()));
    }

    #[test]
    fn only_processes_with_galera_are_examined() {
        assert!(!has_provider(getpid()));
        assert!(refuse(getpid()).is_ok() && prove(getpid()).is_ok());
    }
}
