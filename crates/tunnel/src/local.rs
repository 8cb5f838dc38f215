//! Connections on this side of the link: to a client at the near end, to the server at the far end.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpStream, UnixStream},
};

use crate::far::Secure;

/// A connection on this side of the link.
pub(crate) enum Local {
    Tcp(TcpStream),
    Unix(UnixStream),
    /// Over TLS, to a server.
    Secure(Box<Secure>),
}

impl From<TcpStream> for Local {
    fn from(stream: TcpStream) -> Self {
        // Packets of a protocol of questions and answers must not wait for more.
        let _ = stream.set_nodelay(true);
        Self::Tcp(stream)
    }
}

impl From<UnixStream> for Local {
    fn from(stream: UnixStream) -> Self {
        Self::Unix(stream)
    }
}

impl From<Secure> for Local {
    fn from(secure: Secure) -> Self {
        Self::Secure(Box::new(secure))
    }
}

impl Local {
    /// Until there is something to read, or the other side has gone.
    pub(crate) async fn readable(&self) {
        let _ = match self {
            Self::Tcp(stream) => stream.readable().await,
            Self::Unix(stream) => stream.readable().await,
            // Its greeting has been read.
            Self::Secure(_) => return,
        };
    }
}

impl AsyncRead for Local {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Secure(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Local {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Secure(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(_) | Self::Unix(_) => Poll::Ready(Ok(())),
            Self::Secure(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Secure(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
