//! Listeners for clients and links: unix sockets, TCP ports, or sockets opened by systemd.

use std::{
    fs, io,
    net::{SocketAddr, TcpListener as StdTcpListener, ToSocketAddrs},
    os::fd::{AsFd, AsRawFd, OwnedFd},
    os::unix::{
        fs::{FileTypeExt, MetadataExt, PermissionsExt},
        net::{UnixListener as StdUnixListener, UnixStream as StdUnixStream},
    },
    path::{Path, PathBuf},
};

use listenfd::ListenFd;
use rustix::{
    fs::{AtFlags, CWD, FileType, Gid, Mode, OFlags, chownat, fchmod, fstat, openat},
    net::{
        AddressFamily, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, listen, socket_with,
        sockopt::set_tcp_nodelay,
    },
    process::geteuid,
};
use server::address::HostPort;
use tokio::{
    io::{Interest, unix::AsyncFd},
    net::{TcpListener, TcpSocket},
};

use crate::{
    Error,
    local_stream::LocalStream,
    stream_socket::{StreamSocket, watched},
};

/// `sun_path` has 108 bytes, the last of which is a zero.
const MAX_PATH_BYTES: usize = 107;
/// Queue of connections to accept. Bursts of a thousand must fit.
const BACKLOG: u32 = 4096;

/// Address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// A unix socket.
    Socket(PathBuf),
    /// A TCP port.
    Port(HostPort),
}

/// Access rights of a unix socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketAccess {
    /// Permission bits of its file.
    pub mode: u32,
    /// Group of its file; `None` for that of the process.
    pub group: Option<u32>,
}

#[derive(Debug)]
pub(crate) enum Listener {
    Tcp(AsyncFd<StdTcpListener>),
    Unix(AsyncFd<StdUnixListener>, Option<SocketFile>),
}

/// The file of a socket that this process created; removed on drop, unless it was replaced.
#[derive(Debug)]
pub(crate) struct SocketFile {
    path: PathBuf,
    inode: u64,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if fs::symlink_metadata(&self.path).is_ok_and(|found| found.ino() == self.inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Listener {
    /// Opens a listener; `access` applies to unix sockets.
    pub(crate) fn open(listen: &Listen, access: SocketAccess) -> Result<Vec<Self>, Error> {
        match listen {
            Listen::Socket(path) => Ok(vec![unix(path, access)?]),
            Listen::Port(address) => resolve(address)?.into_iter().map(tcp).collect(),
        }
    }

    /// The sockets opened by systemd; empty if there are none.
    pub(crate) fn inherited() -> Result<Vec<Self>, Error> {
        let system = |source| Error::System { what: "a listener from systemd cannot be used", source };
        let mut given = ListenFd::from_env();
        let mut found = Vec::new();
        for number in 0..given.len() {
            if let Ok(Some(listener)) = given.take_unix_listener(number) {
                listener.set_nonblocking(true).map_err(system)?;
                found.push(Self::Unix(readable(listener).map_err(system)?, None));
            } else if let Some(listener) = given.take_tcp_listener(number).map_err(system)? {
                listener.set_nonblocking(true).map_err(system)?;
                found.push(Self::tcp(listener).map_err(system)?);
            }
        }
        Ok(found)
    }

    /// Accepted connections inherit the listener's options. In a request/response protocol, packets must not be delayed
    /// (Nagle).
    fn tcp(listener: StdTcpListener) -> io::Result<Self> {
        let _ = set_tcp_nodelay(&listener, true);
        Ok(Self::Tcp(readable(listener)?))
    }

    /// Whether other hosts can reach the listener.
    pub(crate) fn is_reachable(&self) -> bool {
        match self {
            Self::Tcp(listener) => listener.get_ref().local_addr().is_ok_and(|address| !address.ip().is_loopback()),
            Self::Unix(..) => false,
        }
    }

    /// Waits for the next connection.
    pub(crate) async fn accept(&self) -> io::Result<LocalStream> {
        match self {
            Self::Tcp(listener) => accept(listener).await,
            Self::Unix(listener, _) => accept(listener).await,
        }
    }
}

fn readable<T: AsFd + AsRawFd>(listener: T) -> io::Result<AsyncFd<T>> {
    watched(listener, Interest::READABLE)
}

async fn accept<T: AsFd + AsRawFd>(listener: &AsyncFd<T>) -> io::Result<LocalStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let accepted = listener.async_io(Interest::READABLE, |listener| Ok(accept_with(listener, flags)?)).await?;
    Ok(StreamSocket::new(accepted)?.into())
}

impl std::fmt::Display for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tcp(listener) => match listener.get_ref().local_addr() {
                Ok(address) => address.fmt(f),
                Err(_) => f.write_str("a port"),
            },
            Self::Unix(_, Some(file)) => file.path.display().fmt(f),
            Self::Unix(listener, None) => {
                let address = listener.get_ref().local_addr().ok();
                let path = address.as_ref().and_then(|address| address.as_pathname());
                write!(f, "{}", path.unwrap_or_else(|| Path::new("a socket")).display())
            }
        }
    }
}

/// All addresses of a name.
pub(crate) fn resolve(address: &HostPort) -> Result<Vec<SocketAddr>, Error> {
    let failed = |source| Error::Resolve { address: address.to_string(), source };
    let found: Vec<_> = (address.host.as_str(), address.port).to_socket_addrs().map_err(failed)?.collect();
    if found.is_empty() { Err(failed(io::Error::other("the name has no address"))) } else { Ok(found) }
}

fn tcp(address: SocketAddr) -> Result<Listener, Error> {
    let listening = listen_on(address)?;
    Listener::tcp(listening).map_err(|source| Error::Listen { address: address.to_string(), source })
}

/// A non-blocking listener for links or clients.
pub(crate) fn listen_on(address: SocketAddr) -> Result<StdTcpListener, Error> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AddrInUse => Error::InUse { address: address.to_string() },
        _ => Error::Listen { address: address.to_string(), source },
    };
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
    let socket = socket.map_err(failed)?;
    socket.set_reuseaddr(true).map_err(failed)?;
    socket.bind(address).map_err(failed)?;
    socket.listen(BACKLOG).and_then(TcpListener::into_std).map_err(failed)
}

fn unix(path: &Path, access: SocketAccess) -> Result<Listener, Error> {
    let bytes = path.as_os_str().len();
    if bytes > MAX_PATH_BYTES {
        return Err(Error::PathTooLong { path: path.to_owned(), bytes });
    }
    remove_stale_socket(path)?;
    let failed = |source| Error::Listen { address: path.display().to_string(), source };
    let (socket, file) = bind_closed(path).map_err(failed)?;
    let bound = open_bound(path).map_err(failed)?;
    if let Some(group) = access.group {
        chownat(&bound, "", None, Some(Gid::from_raw(group)), AtFlags::EMPTY_PATH)
            .map_err(|source| Error::SocketGroup { path: path.to_owned(), group, source: source.into() })?;
    }
    set_mode(&bound, access.mode).map_err(failed)?;
    // Nobody can connect before the permissions are set.
    listen(&socket, BACKLOG.cast_signed()).map_err(io::Error::from).map_err(failed)?;
    let listener = readable(StdUnixListener::from(socket)).map_err(failed)?;
    Ok(Listener::Unix(listener, Some(file)))
}

/// A bound socket that does not listen yet, and whose file only its owner may use.
fn bind_closed(path: &Path) -> io::Result<(OwnedFd, SocketFile)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // Linux gives the file the permissions that the socket has (`unix_bind_bsd`).
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind(&socket, &SocketAddrUnix::new(path)?)?;
    let inode = fs::symlink_metadata(path)?.ino();
    Ok((socket, SocketFile { path: path.to_owned(), inode }))
}

/// Opens the file of a socket that was just bound, so that its owner and mode are changed by descriptor: where others
/// can write to the directory, the path may lead to another file by now. Accepts only a socket of this user with a
/// single link, which cannot be somebody else's.
fn open_bound(path: &Path) -> io::Result<OwnedFd> {
    let file = openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    let found = fstat(&file)?;
    let is_socket = FileType::from_raw_mode(found.st_mode) == FileType::Socket;
    if is_socket && found.st_uid == geteuid().as_raw() && found.st_nlink == 1 {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "another program replaced the new socket"))
}

/// Sets the mode through `/proc/self/fd`: the file of a socket cannot be opened for reading, and `fchmod` refuses an
/// `O_PATH` descriptor.
fn set_mode(held: &OwnedFd, mode: u32) -> io::Result<()> {
    fs::set_permissions(format!("/proc/self/fd/{}", held.as_raw_fd()), fs::Permissions::from_mode(mode))
}

/// Removes a socket file on which no process listens.
fn remove_stale_socket(path: &Path) -> Result<(), Error> {
    let failed = |source| Error::Listen { address: path.display().to_string(), source };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(failed(source)),
        Ok(found) if !found.file_type().is_socket() => Err(Error::NotASocket { path: path.to_owned() }),
        Ok(_) => match StdUnixStream::connect(path) {
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(failed),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(source) if source.kind() == io::ErrorKind::PermissionDenied => Err(failed(source)),
            _ => Err(Error::InUse { address: path.display().to_string() }),
        },
    }
}

/// A listener for metrics, on the loopback interface only.
pub(crate) fn metrics(address: SocketAddr) -> Result<StdTcpListener, Error> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AddrInUse => Error::InUse { address: address.to_string() },
        _ => Error::Listen { address: address.to_string(), source },
    };
    let listener = StdTcpListener::bind(address).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_socket_has_the_requested_mode_and_group() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        // Only root can change its group to one that root is not in.
        let group = if geteuid().is_root() { 65534 } else { rustix::process::getegid().as_raw() };
        let _listener = unix(&path, SocketAccess { mode: 0o660, group: Some(group) }).unwrap();
        let found = fs::metadata(&path).unwrap();
        assert_eq!((found.permissions().mode() & 0o777, found.gid()), (0o660, group));
    }

    #[test]
    fn a_file_that_replaced_the_new_socket_keeps_its_owner() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let (_socket, _file) = bind_closed(&at("s")).unwrap();
        assert_eq!(fs::metadata(at("s")).unwrap().permissions().mode() & 0o177, 0);
        set_mode(&open_bound(&at("s")).unwrap(), 0o620).unwrap();
        assert_eq!(fs::metadata(at("s")).unwrap().permissions().mode() & 0o777, 0o620);
        fs::write(at("secret"), "").unwrap();
        std::os::unix::fs::symlink("s", at("link")).unwrap();
        for name in ["secret", "link"] {
            assert_eq!(open_bound(&at(name)).unwrap_err().kind(), io::ErrorKind::AlreadyExists, "{name}");
        }
        // A second name of a socket that another process uses.
        fs::hard_link(at("s"), at("other")).unwrap();
        assert!(open_bound(&at("other")).is_err());
    }

    #[tokio::test]
    async fn a_stale_socket_is_replaced_and_a_live_one_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        drop(StdUnixListener::bind(&path).unwrap());
        let closed = SocketAccess { mode: 0o600, group: None };
        let first = unix(&path, closed).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(unix(&path, closed), Err(Error::InUse { .. })));
        drop(first);
        assert!(!path.exists());
        fs::write(&path, "text").unwrap();
        assert!(matches!(unix(&path, closed), Err(Error::NotASocket { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"text");
        let long = directory.path().join("x".repeat(120));
        assert!(matches!(unix(&long, closed), Err(Error::PathTooLong { .. })));
    }
}
