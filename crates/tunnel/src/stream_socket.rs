//! A plain local connection: to a client, or to a server's unix socket.
//!
//! tokio's own streams register for reading and writing together, but a unix socket becomes writable each time its peer
//! reads: a useless wake-up with every packet. This stream writes without registering, and registers only while the
//! socket buffer is full.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, OwnedFd},
    path::Path,
    pin::Pin,
    task::{Context, Poll, ready},
};

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType, connect, recv, send,
    shutdown, socket_with,
};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, unix::AsyncFd};

/// A connected non-blocking stream socket.
pub(crate) struct StreamSocket {
    socket: AsyncFd<OwnedFd>,
    /// The same socket, registered for writing while the system takes no more.
    full: Option<AsyncFd<OwnedFd>>,
}

impl StreamSocket {
    /// `socket` must be non-blocking.
    pub(crate) fn new(socket: OwnedFd) -> io::Result<Self> {
        Ok(Self { socket: watched(socket, Interest::READABLE)?, full: None })
    }

    /// Connects to a unix socket. Returns [`io::ErrorKind::WouldBlock`] if its queue is full.
    pub(crate) fn connect(path: &Path) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        connect(&socket, &SocketAddrUnix::new(path)?)?;
        Self::new(socket)
    }

    /// Returns when there is something to read, or the peer has closed.
    pub(crate) async fn readable(&self) {
        let _ = self.socket.readable().await;
    }

    /// Whether the peer has closed its side, and everything was read.
    pub(crate) fn has_ended(&self) -> bool {
        let mut byte = [0; 1];
        let peeked = recv(&self.socket, &mut byte, RecvFlags::PEEK | RecvFlags::DONTWAIT);
        matches!(peeked, Ok((_, 0)))
    }

    /// Waits until the system may accept more data, after it accepted none.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let full = match self.full.take() {
            Some(full) => full,
            None => {
                let again = self.socket.get_ref().as_fd().try_clone_to_owned()?;
                watched(again, Interest::WRITABLE)?
            }
        };
        let full = self.full.insert(full);
        // The recorded readiness is older than the failed attempt.
        ready!(full.poll_write_ready(cx))?.clear_ready();
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for StreamSocket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.socket.poll_read_ready(cx))?;
            let room = buffer.initialize_unfilled();
            let length = room.len();
            match recv(&self.socket, room, RecvFlags::empty()) {
                Ok((count, _)) => {
                    buffer.advance(count);
                    // The read did not fill the buffer, so there is no more data. The end of the stream is still
                    // signalled.
                    if count < length {
                        ready.clear_ready();
                    }
                    return Poll::Ready(Ok(()));
                }
                Err(rustix::io::Errno::AGAIN) => ready.clear_ready(),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }
}

impl AsyncWrite for StreamSocket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        loop {
            match send(&wire.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(count) => {
                    if count == bytes.len() {
                        wire.full = None;
                    }
                    return Poll::Ready(Ok(count));
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::AGAIN) => ready!(wire.poll_room(cx))?,
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(shutdown(&self.socket, Shutdown::Write).map_err(Into::into))
    }
}

/// Registers a descriptor with the runtime.
#[expect(deprecated, reason = "its replacement is unsafe, for descriptors that change; that of an owner never does")]
pub(crate) fn watched<T: AsFd + AsRawFd>(owner: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    AsyncFd::with_interest(owner, interest)
}

#[cfg(test)]
mod tests {
    use std::{
        future::poll_fn,
        io::{Read, Write},
        os::unix::net::UnixStream,
        time::Duration,
    };

    use super::*;

    fn pair() -> (StreamSocket, UnixStream) {
        let (one, other) = UnixStream::pair().unwrap();
        one.set_nonblocking(true).unwrap();
        (StreamSocket::new(one.into()).unwrap(), other)
    }

    async fn read(wire: &mut StreamSocket) -> Vec<u8> {
        let mut room = [0; 100];
        let mut buffer = ReadBuf::new(&mut room);
        poll_fn(|cx| Pin::new(&mut *wire).poll_read(cx, &mut buffer)).await.unwrap();
        buffer.filled().to_vec()
    }

    #[tokio::test]
    async fn an_end_of_stream_with_the_last_bytes_is_noticed() {
        let (mut wire, mut other) = pair();
        assert!(!wire.has_ended());
        other.write_all(b"last").unwrap();
        drop(other);
        assert!(!wire.has_ended(), "there is something to read");
        assert_eq!(read(&mut wire).await, b"last");
        assert!(wire.has_ended());
        assert_eq!(read(&mut wire).await, b"");
    }

    #[tokio::test]
    async fn bytes_beyond_the_socket_buffer_wait_until_it_is_writable() {
        let (mut wire, mut other) = pair();
        let sent: Vec<u8> = (0..4_000_000_u32).map(|number| number.to_le_bytes()[1]).collect();
        let expected = sent.clone();
        let reader = std::thread::spawn(move || {
            let (mut got, mut piece) = (Vec::new(), vec![0; 50_000]);
            while let Ok(count @ 1..) = other.read(&mut piece) {
                got.extend_from_slice(&piece[..count]);
                std::thread::sleep(Duration::from_micros(300));
            }
            got
        });
        let mut rest = sent.as_slice();
        while !rest.is_empty() {
            let count = poll_fn(|cx| Pin::new(&mut wire).poll_write(cx, rest)).await.unwrap();
            rest = &rest[count..];
        }
        poll_fn(|cx| Pin::new(&mut wire).poll_shutdown(cx)).await.unwrap();
        assert!(reader.join().unwrap() == expected);
    }
}
