//! A TCP or unix socket with one deadline for everything done on it.

use std::{
    io::{self, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    os::unix::net::UnixStream,
    path::Path,
    time::{Duration, Instant},
};

use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt::Timeout};

use crate::{
    endpoint::Endpoint,
    error::{Error, Phase, Stranger},
};

/// A connection whose reads and writes fail with `TimedOut` after the deadline,
/// however slowly the peer drips its bytes.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: Stream,
    endpoint: Endpoint,
    allowed: Duration,
    deadline: Instant,
}

#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Connects; the time given also bounds everything until [`Self::allow`].
    pub(crate) fn open(endpoint: &Endpoint, allowed: Duration) -> Result<Self, Error> {
        let deadline = deadline_in(allowed);
        let stream = match endpoint {
            Endpoint::Tcp { host, port } => Stream::Tcp(connect_tcp(endpoint, host, *port, deadline, allowed)?),
            Endpoint::Socket(path) => {
                let stream = connect_unix(path, allowed).map_err(|error| match error.kind() {
                    io::ErrorKind::NotFound => Error::NoSuchSocket { path: path.clone() },
                    _ => classify(endpoint, Phase::Connect, allowed, error),
                })?;
                Stream::Unix(stream)
            }
        };
        Ok(Self { stream, endpoint: endpoint.clone(), allowed, deadline })
    }

    /// Gives a new span of time, from now.
    pub(crate) fn allow(&mut self, span: Duration) {
        self.allowed = span;
        self.deadline = deadline_in(span);
    }

    /// The process at the other end of a unix socket (`SO_PEERCRED`).
    pub(crate) fn peer_pid(&self) -> Option<u32> {
        let Stream::Unix(stream) = &self.stream else {
            return None;
        };
        let credentials = net::sockopt::socket_peercred(stream).ok()?;
        u32::try_from(credentials.pid.as_raw_nonzero().get()).ok()
    }

    /// Whether the other end is on this host.
    pub(crate) fn leads_to_this_host(&self) -> bool {
        match &self.stream {
            Stream::Unix(_) => true,
            Stream::Tcp(stream) => {
                let (here, there) = (stream.local_addr(), stream.peer_addr());
                matches!((here, there), (Ok(here), Ok(there)) if here.ip() == there.ip())
            }
        }
    }

    /// Names an I/O error by its cause.
    pub(crate) fn failure(&self, phase: Phase, error: io::Error) -> Error {
        classify(&self.endpoint, phase, self.allowed, error)
    }

    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    fn remaining(&self) -> io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        Ok(left)
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = Some(self.remaining()?);
        match &mut self.stream {
            Stream::Tcp(stream) => {
                stream.set_read_timeout(left)?;
                stream.read(buffer)
            }
            Stream::Unix(stream) => {
                stream.set_read_timeout(left)?;
                stream.read(buffer)
            }
        }
    }
}

impl Write for Socket {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let left = Some(self.remaining()?);
        match &mut self.stream {
            Stream::Tcp(stream) => {
                stream.set_write_timeout(left)?;
                stream.write(buffer)
            }
            Stream::Unix(stream) => {
                stream.set_write_timeout(left)?;
                stream.write(buffer)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Names an I/O error by its cause.
pub(crate) fn classify(endpoint: &Endpoint, phase: Phase, allowed: Duration, error: io::Error) -> Error {
    match error.kind() {
        // A socket's own time-out is EAGAIN on Linux.
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Error::Timeout { phase, after: allowed },
        io::ErrorKind::ConnectionRefused => Error::Refused { endpoint: endpoint.clone() },
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => Error::Lost { phase },
        _ => Error::Io { endpoint: endpoint.clone(), phase, source: error },
    }
}

/// Recognises PostgreSQL, which waits for the client to speak first, after a
/// peer has sent nothing for its whole time.
///
/// Source: PostgreSQL's `SSLRequest` (code 80877103), answered by one byte `S` or `N`.
pub(crate) fn silent_stranger(socket: &mut Socket) -> Option<Stranger> {
    socket.allow(Duration::from_secs(1));
    socket.write_all(&[0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]).ok()?;
    let mut answer = [0; 16];
    let count = socket.read(&mut answer).ok()?;
    match Stranger::guess(answer.get(..count)?) {
        known @ (Stranger::PostgreSql | Stranger::Http | Stranger::Ssh) => Some(known),
        _ => None,
    }
}

fn deadline_in(span: Duration) -> Instant {
    let now = Instant::now();
    // A span too long to represent is as good as a day.
    now.checked_add(span).or_else(|| now.checked_add(Duration::from_secs(86_400))).unwrap_or(now)
}

/// The standard library's connect waits for ever on a socket whose queue is
/// full, as a stopped server's is; Linux lets the send time-out end it.
fn connect_unix(path: &Path, allowed: Duration) -> io::Result<UnixStream> {
    let address = SocketAddrUnix::new(path)?;
    let socket = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    net::sockopt::set_socket_timeout(&socket, Timeout::Send, Some(allowed))?;
    net::connect(&socket, &address)?;
    Ok(UnixStream::from(socket))
}

fn connect_tcp(
    endpoint: &Endpoint,
    host: &str,
    port: u16,
    deadline: Instant,
    allowed: Duration,
) -> Result<TcpStream, Error> {
    let unresolved = |source| Error::Resolve { host: host.to_owned(), source };
    let addresses = (host, port).to_socket_addrs().map_err(unresolved)?;
    let mut last = None;
    for address in addresses {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        match TcpStream::connect_timeout(&address, left) {
            Ok(stream) => {
                // A refusal would only cost time.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => last = Some(error),
        }
    }
    let error = last.unwrap_or_else(|| io::ErrorKind::TimedOut.into());
    Err(classify(endpoint, Phase::Connect, allowed, error))
}
