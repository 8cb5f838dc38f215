//! A server at its unix socket.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::entrust::{Login, Out, PasswordKey, is_change_of_user};
use crate::wire::Wire;

/// Bytes of a log-in that are looked at together.
const PIECE_BYTES: usize = 4096;

/// A connection to a server that is watched until the client is logged in.
pub(crate) struct AtSocket {
    wire: Wire,
    key: Arc<PasswordKey>,
    login: Option<Box<Login>>,
    /// Of the log-in that is over.
    challenge: Option<Vec<u8>>,
    out: Out,
}

impl AtSocket {
    /// Of a connection whose greeting has not been read.
    pub(super) fn new(wire: Wire, key: &Arc<PasswordKey>) -> Self {
        let login = Some(Box::new(Login::new(Arc::clone(key))));
        Self { wire, key: Arc::clone(key), login, challenge: None, out: Out::default() }
    }

    pub(crate) async fn readable(&self) {
        self.wire.readable().await;
    }

    /// Gives the server what waits for it.
    fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.out.to_server.is_empty() {
            let count = ready!(Pin::new(&mut self.wire).poll_write(cx, &self.out.to_server))?;
            self.out.to_server.drain(..count);
        }
        Poll::Ready(Ok(()))
    }

    fn forget_login(&mut self) {
        if let Some(login) = self.login.take_if(|login| login.is_over()) {
            self.challenge = login.into_challenge();
        }
    }
}

impl AsyncRead for AtSocket {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let server = self.get_mut();
        loop {
            if !server.out.to_client.is_empty() {
                let count = buffer.remaining().min(server.out.to_client.len());
                buffer.put_slice(server.out.to_client.get(..count).unwrap_or_default());
                server.out.to_client.drain(..count);
                return Poll::Ready(Ok(()));
            }
            let Some(login) = &mut server.login else { return Pin::new(&mut server.wire).poll_read(cx, buffer) };
            let mut room = [0; PIECE_BYTES];
            let mut piece = ReadBuf::new(&mut room);
            ready!(Pin::new(&mut server.wire).poll_read(cx, &mut piece))?;
            if piece.filled().is_empty() {
                login.server_ends(&mut server.out);
                server.login = None;
                continue;
            }
            login.server_sends(piece.filled(), &mut server.out);
            server.forget_login();
            let _ = server.poll_drain(cx)?;
        }
    }
}

impl AsyncWrite for AtSocket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let server = self.get_mut();
        ready!(server.poll_drain(cx))?;
        if server.challenge.is_some() && is_change_of_user(bytes) {
            let login = Login::again(Arc::clone(&server.key), server.challenge.take().unwrap_or_default());
            server.login = Some(Box::new(login));
        }
        let Some(login) = &mut server.login else { return Pin::new(&mut server.wire).poll_write(cx, bytes) };
        let piece = bytes.get(..bytes.len().min(PIECE_BYTES)).unwrap_or_default();
        login.client_sends(piece, &mut server.out);
        server.forget_login();
        // What is not taken at once goes on with the next turn.
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
