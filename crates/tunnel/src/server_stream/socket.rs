//! A connection to a server at its unix socket.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{
    password::{ForwardedBytes, PasswordKey},
    watcher::Watch,
};
use crate::stream_socket::StreamSocket;

/// Bytes of a login that are processed at once.
const PIECE_BYTES: usize = 4096;

/// A connection to a server whose logins are followed.
pub(crate) struct SocketServerStream {
    wire: StreamSocket,
    watch: Watch,
    out: ForwardedBytes,
}

impl SocketServerStream {
    /// A connection whose greeting is not yet read.
    pub(crate) fn new(wire: StreamSocket, key: &Arc<PasswordKey>) -> Self {
        Self { wire, watch: Watch::new(key), out: ForwardedBytes::default() }
    }

    pub(crate) async fn readable(&self) {
        self.wire.readable().await;
    }

    /// Sends pending bytes to the server.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.out.to_server.is_empty() {
            let count = ready!(Pin::new(&mut self.wire).poll_write(cx, &self.out.to_server))?;
            self.out.to_server.drain(..count);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for SocketServerStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let server = self.get_mut();
        loop {
            if !server.out.to_client.is_empty() {
                let count = buffer.remaining().min(server.out.to_client.len());
                buffer.put_slice(server.out.to_client.get(..count).unwrap_or_default());
                server.out.to_client.drain(..count);
                return Poll::Ready(Ok(()));
            }
            if !server.watch.holds() {
                let before = buffer.filled().len();
                let polled = Pin::new(&mut server.wire).poll_read(cx, buffer);
                server.watch.server_sent(buffer.filled().get(before..).unwrap_or_default());
                return polled;
            }
            let mut room = [0; PIECE_BYTES];
            let mut piece = ReadBuf::new(&mut room);
            ready!(Pin::new(&mut server.wire).poll_read(cx, &mut piece))?;
            if piece.filled().is_empty() {
                server.watch.server_ends(&mut server.out);
                continue;
            }
            server.watch.server_sends(piece.filled(), &mut server.out);
            let _ = server.poll_drain(cx)?;
        }
    }
}

impl AsyncWrite for SocketServerStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let server = self.get_mut();
        ready!(server.poll_drain(cx))?;
        if !server.watch.holds() {
            let count = ready!(Pin::new(&mut server.wire).poll_write(cx, bytes))?;
            server.watch.client_sent(bytes.get(..count).unwrap_or_default());
            return Poll::Ready(Ok(count));
        }
        let piece = bytes.get(..bytes.len().min(PIECE_BYTES)).unwrap_or_default();
        server.watch.client_sends(piece, &mut server.out);
        // The next poll sends what is not accepted now.
        let _ = server.poll_drain(cx)?;
        Poll::Ready(Ok(piece.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().poll_drain(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().wire).poll_shutdown(cx)
    }
}
