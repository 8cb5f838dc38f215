//! Local connections: to a client at the near end, to the server at the far end.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

use crate::{
    server_stream::{SocketServerStream, TlsServerStream},
    stream_socket::StreamSocket,
};

/// A connection on this side of the link.
pub(crate) enum LocalStream {
    /// To a client.
    Plain(StreamSocket),
    /// To a server's socket.
    Socket(Box<SocketServerStream>),
    /// To a server's port.
    Tcp(TcpStream),
    /// Over TLS, to a server.
    Tls(Box<TlsServerStream>),
}

impl From<TcpStream> for LocalStream {
    fn from(stream: TcpStream) -> Self {
        // In a request/response protocol, packets must not be delayed (Nagle).
        let _ = stream.set_nodelay(true);
        Self::Tcp(stream)
    }
}

impl From<StreamSocket> for LocalStream {
    fn from(wire: StreamSocket) -> Self {
        Self::Plain(wire)
    }
}

impl From<SocketServerStream> for LocalStream {
    fn from(server: SocketServerStream) -> Self {
        Self::Socket(Box::new(server))
    }
}

impl From<TlsServerStream> for LocalStream {
    fn from(secure: TlsServerStream) -> Self {
        Self::Tls(Box::new(secure))
    }
}

impl LocalStream {
    /// Returns when there is something to read, or the peer has closed.
    pub(crate) async fn readable(&self) {
        match self {
            Self::Plain(wire) => wire.readable().await,
            Self::Socket(server) => server.readable().await,
            Self::Tcp(stream) => drop(stream.readable().await),
            // Its greeting was already read.
            Self::Tls(_) => {}
        }
    }

    /// Whether a client has disconnected without sending anything.
    pub(crate) fn has_disconnected(&self) -> bool {
        matches!(self, Self::Plain(wire) if wire.has_ended())
    }

    /// Whether written bytes go to the system at once, so that they arrive even if this side closes.
    pub(crate) fn takes_all_at_once(&self) -> bool {
        !matches!(self, Self::Tls(_))
    }

    /// Whether it is known without waiting that the peer has closed its side.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self, Self::Plain(wire) if wire.has_ended())
    }
}

impl AsyncRead for LocalStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Plain(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Socket(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for LocalStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Plain(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Socket(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(_) | Self::Tcp(_) => Poll::Ready(Ok(())),
            Self::Socket(stream) => Pin::new(stream).poll_flush(cx),
            Self::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Socket(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
