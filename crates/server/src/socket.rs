//! A TCP or Unix socket with one deadline for all operations.

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
    error::{Error, OtherService, Phase},
};

/// A connection whose reads and writes fail with `TimedOut` after the deadline, even if the peer keeps sending single
/// bytes.
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
    /// Connects. `allowed` limits the time for this and all later operations, until [`Self::allow`] sets a new limit.
    pub(crate) fn open(endpoint: &Endpoint, allowed: Duration) -> Result<Self, Error> {
        let deadline = deadline_in(allowed);
        let stream = match endpoint {
            Endpoint::Tcp { host, port } => Stream::Tcp(connect_tcp(endpoint, host, *port, deadline, allowed)?),
            Endpoint::Socket(path) => {
                let stream = connect_unix(path, allowed).map_err(|error| match error.kind() {
                    io::ErrorKind::ConnectionRefused if path.is_dir() => not_a_socket(path, "a directory"),
                    io::ErrorKind::ConnectionRefused if path.is_file() => not_a_socket(path, "a file"),
                    io::ErrorKind::NotFound => Error::NoSuchSocket { path: path.clone() },
                    _ => classify(endpoint, Phase::Connect, allowed, error),
                })?;
                Stream::Unix(stream)
            }
        };
        Ok(Self { stream, endpoint: endpoint.clone(), allowed, deadline })
    }

    /// Sets a new deadline, `span` from now.
    pub(crate) fn allow(&mut self, span: Duration) {
        self.allowed = span;
        self.deadline = deadline_in(span);
    }

    /// Process id of the peer of a Unix socket (`SO_PEERCRED`).
    pub(crate) fn peer_pid(&self) -> Option<u32> {
        let Stream::Unix(stream) = &self.stream else {
            return None;
        };
        let credentials = net::sockopt::socket_peercred(stream).ok()?;
        u32::try_from(credentials.pid.as_raw_nonzero().get()).ok()
    }

    /// Whether the peer is on this host.
    pub(crate) fn leads_to_this_host(&self) -> bool {
        match &self.stream {
            Stream::Unix(_) => true,
            Stream::Tcp(stream) => {
                let (here, there) = (stream.local_addr(), stream.peer_addr());
                matches!((here, there), (Ok(here), Ok(there)) if here.ip() == there.ip())
            }
        }
    }

    /// Converts an I/O error to the matching [`Error`].
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

    fn write_vectored(&mut self, buffers: &[io::IoSlice<'_>]) -> io::Result<usize> {
        let left = Some(self.remaining()?);
        match &mut self.stream {
            Stream::Tcp(stream) => {
                stream.set_write_timeout(left)?;
                stream.write_vectored(buffers)
            }
            Stream::Unix(stream) => {
                stream.set_write_timeout(left)?;
                stream.write_vectored(buffers)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Converts an I/O error to the matching [`Error`].
pub(crate) fn classify(endpoint: &Endpoint, phase: Phase, allowed: Duration, error: io::Error) -> Error {
    match error.kind() {
        // A socket's own timeout is EAGAIN on Linux.
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Error::Timeout { phase, after: allowed },
        io::ErrorKind::ConnectionRefused => Error::Refused { endpoint: endpoint.clone() },
        io::ErrorKind::UnexpectedEof
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe => Error::Lost { phase },
        _ => Error::Io { endpoint: endpoint.clone(), phase, source: error },
    }
}

/// Recognises PostgreSQL after a peer has sent nothing until the timeout: a PostgreSQL server waits for the client's
/// first message.
///
/// Source: PostgreSQL's `SSLRequest` (code 80877103), which is answered by one byte `S` or `N`.
pub(crate) fn silent_service(socket: &mut Socket) -> Option<OtherService> {
    socket.allow(Duration::from_secs(1));
    socket.write_all(&[0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f]).ok()?;
    let mut answer = [0; 16];
    let count = socket.read(&mut answer).ok()?;
    match OtherService::guess(answer.get(..count)?) {
        known @ (OtherService::PostgreSql | OtherService::Http | OtherService::Ssh) => Some(known),
        _ => None,
    }
}

fn deadline_in(span: Duration) -> Instant {
    let now = Instant::now();
    // If the deadline cannot be represented, use one day.
    now.checked_add(span).or_else(|| now.checked_add(Duration::from_secs(86_400))).unwrap_or(now)
}

/// The standard library's connect blocks forever on a socket with a full queue, such as that of a stopped server; on
/// Linux the send timeout limits it.
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
                // Without TCP_NODELAY the connection is only slower.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => last = Some(error),
        }
    }
    let error = last.unwrap_or_else(|| io::ErrorKind::TimedOut.into());
    Err(classify(endpoint, Phase::Connect, allowed, error))
}
fn not_a_socket(path: &Path, found: &'static str) -> Error {
    Error::NotASocket { path: path.to_owned(), found }
}
