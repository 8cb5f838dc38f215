//! A server at its unix socket.

use std::{
    io,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::io::ReadBuf;

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

    pub(crate) fn poll_read(&mut self, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        loop {
            if !self.out.to_client.is_empty() {
                let count = buffer.remaining().min(self.out.to_client.len());
                buffer.put_slice(self.out.to_client.get(..count).unwrap_or_default());
                self.out.to_client.drain(..count);
                return Poll::Ready(Ok(()));
            }
            let Some(login) = &mut self.login else { return self.wire.poll_read(cx, buffer) };
            let mut room = [0; PIECE_BYTES];
            let mut piece = ReadBuf::new(&mut room);
            ready!(self.wire.poll_read(cx, &mut piece))?;
            if piece.filled().is_empty() {
                login.server_ends(&mut self.out);
                self.login = None;
                continue;
            }
            login.server_sends(piece.filled(), &mut self.out);
            self.forget_login();
            if let Poll::Ready(Err(error)) = self.poll_drain(cx) {
                return Poll::Ready(Err(error));
            }
        }
    }

    pub(crate) fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_drain(cx))?;
        if self.challenge.is_some() && is_change_of_user(bytes) {
            let login = Login::again(Arc::clone(&self.key), self.challenge.take().unwrap_or_default());
            self.login = Some(Box::new(login));
        }
        let Some(login) = &mut self.login else { return self.wire.poll_send(cx, bytes) };
        let piece = bytes.get(..bytes.len().min(PIECE_BYTES)).unwrap_or_default();
        login.client_sends(piece, &mut self.out);
        self.forget_login();
        // What is not taken at once goes on with the next turn.
        match self.poll_drain(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            _ => Poll::Ready(Ok(piece.len())),
        }
    }

    /// Gives the server what waits for it.
    pub(crate) fn poll_drain(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.out.to_server.is_empty() {
            let count = ready!(self.wire.poll_send(cx, &self.out.to_server))?;
            self.out.to_server.drain(..count);
        }
        Poll::Ready(Ok(()))
    }

    /// Nothing more will be written.
    pub(crate) fn end(&self) -> io::Result<()> {
        self.wire.end()
    }

    fn forget_login(&mut self) {
        if let Some(login) = self.login.take_if(|login| login.is_over()) {
            self.challenge = login.into_challenge();
        }
    }
}
