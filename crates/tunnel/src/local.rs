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
    far::{AtSocket, Secure},
    wire::Wire,
};

/// A connection on this side of the link.
pub(crate) enum Local {
    /// To a client.
    Wire(Wire),
    /// To a server's socket.
    Socket(Box<AtSocket>),
    /// To a server's port.
    Tcp(TcpStream),
    /// Over TLS, to a server.
    Secure(Box<Secure>),
}

impl From<TcpStream> for Local {
    fn from(stream: TcpStream) -> Self {
        // In a request/response protocol, packets must not be delayed (Nagle).
        let _ = stream.set_nodelay(true);
        Self::Tcp(stream)
    }
}

impl From<Wire> for Local {
    fn from(wire: Wire) -> Self {
        Self::Wire(wire)
    }
}

impl From<AtSocket> for Local {
    fn from(server: AtSocket) -> Self {
        Self::Socket(Box::new(server))
    }
}

impl From<Secure> for Local {
    fn from(secure: Secure) -> Self {
        Self::Secure(Box::new(secure))
    }
}

impl Local {
    /// Returns when there is something to read, or the peer has closed.
    pub(crate) async fn readable(&self) {
        match self {
            Self::Wire(wire) => wire.readable().await,
            Self::Socket(server) => server.readable().await,
            Self::Tcp(stream) => drop(stream.readable().await),
            // Its greeting was already read.
            Self::Secure(_) => {}
        }
    }

    /// Whether a client has disconnected without sending anything.
    pub(crate) fn has_disconnected(&self) -> bool {
        matches!(self, Self::Wire(wire) if wire.has_ended())
    }

    /// Whether written bytes go to the system at once, so that they arrive even if this side closes.
    pub(crate) fn takes_all_at_once(&self) -> bool {
        !matches!(self, Self::Secure(_))
    }

    /// Whether it is known without waiting that the peer has closed its side.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self, Self::Wire(wire) if wire.has_ended())
    }
}

impl AsyncRead for Local {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Wire(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Socket(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Secure(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Local {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Wire(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Socket(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Secure(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Wire(_) | Self::Tcp(_) => Poll::Ready(Ok(())),
            Self::Socket(stream) => Pin::new(stream).poll_flush(cx),
            Self::Secure(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Wire(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Socket(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Secure(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
