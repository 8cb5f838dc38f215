//! Copies the bytes of one session between a link and a local connection, in both directions, until both sides are
//! done.
//!
//! Each direction buffers at most one read: while the slower side does not take data, nothing is read from the faster
//! one. The parts that differ between the two ends of the tunnel are in [`Side`].

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::{
    Error,
    link::{Link, Message, READ_BYTES, ThreadBuffers, with_thread_buffers},
    local_stream::LocalStream,
    memory,
    message::{Kind, MAX_PAYLOAD_BYTES},
    metrics::Counters,
};

/// The part of a session that depends on the end of the tunnel.
pub(crate) trait Side {
    /// Whether the session is over when both directions have ended. Otherwise the other end decides when.
    const ENDS_WITH_BOTH: bool;

    /// Records bytes from the other end.
    fn received(&mut self, bytes: &[u8]);

    /// Records bytes of the local connection.
    fn read(&mut self, bytes: &[u8]);

    /// Whether the local connection is expected to close after what it has sent.
    fn expects_local_end(&self) -> bool;

    /// Whether the local connection will not answer what it has received.
    fn needs_no_answer(&self) -> bool;

    /// Records that the local connection has ended its sending side. `link_ended`: the other end has, too. Returns the
    /// messages for the other end.
    fn local_ended(&mut self, link_ended: bool) -> Vec<Kind>;

    /// Records that the local connection no longer accepts data. Returns the message for the other end.
    fn local_closed(&mut self) -> Option<Kind>;

    /// Handles the other end's request for the next session. Returns whether this end accepts it: only the far end
    /// does, after the near end has ended its sending side.
    fn next_requested(&mut self) -> bool;
}

/// The sender of the last packet of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastSender {
    /// The client, or nobody yet.
    Client,
    Server,
    /// The client, with `COM_QUIT`, while no command was in progress.
    ClientQuit,
}

impl LastSender {
    /// Records bytes of the client.
    pub(crate) fn client(&mut self, bytes: &[u8]) {
        *self = if *self == Self::Server && is_quit(bytes) { Self::ClientQuit } else { Self::Client };
    }

    /// Records bytes of the server. They change nothing after `COM_QUIT`.
    pub(crate) fn server(&mut self) {
        if *self != Self::ClientQuit {
            *self = Self::Server;
        }
    }

    pub(crate) fn is_quit(self) -> bool {
        self == Self::ClientQuit
    }
}

/// Whether the bytes are exactly `COM_QUIT`: a packet of one byte, number 0, command 1, plain or in an uncompressed
/// packet of the compressed protocol.
fn is_quit(bytes: &[u8]) -> bool {
    matches!(bytes, [1, 0, 0, 0, 1] | [5, 0, 0, _, 0, 0, 0, 1, 0, 0, 0, 1])
}

/// State of the direction from the link to the local connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FromLink {
    Open,
    /// The other end has ended its sending side.
    Ended,
    /// The local connection was shut down because of that.
    Shut,
}

/// A session in progress.
pub(crate) struct Copier<'p, S> {
    link: &'p mut Link,
    local: &'p mut LocalStream,
    counters: &'p Counters,
    side: S,
    /// Received and not yet written to the local connection: `to_local[written..]`.
    to_local: Vec<u8>,
    written: usize,
    from_link: FromLink,
    /// Set when the local connection has ended its sending side, and the other end was informed.
    local_ended: bool,
    /// Set when the local connection no longer accepts data; data for it is dropped.
    local_gone: bool,
    /// Set when the other end has ended the session.
    ended: bool,
    refused: Option<Error>,
}

impl<'p, S: Side> Copier<'p, S> {
    /// `first`: bytes for the local connection that were already received.
    pub(crate) fn new(
        link: &'p mut Link,
        local: &'p mut LocalStream,
        counters: &'p Counters,
        side: S,
        first: Vec<u8>,
    ) -> Self {
        Self {
            link,
            local,
            counters,
            side,
            to_local: first,
            written: 0,
            from_link: FromLink::Open,
            local_ended: false,
            local_gone: false,
            ended: false,
            refused: None,
        }
    }

    /// Runs until both sides are done. The link can then serve the next session.
    ///
    /// # Errors
    /// Errors of the link.
    pub(crate) async fn run(mut self) -> Result<S, Error> {
        while let Some(Message { kind, payload }) = self.link.take_waiting() {
            self.take(kind, &payload);
        }
        poll_fn(|cx| with_thread_buffers(|buffers| self.poll(cx, buffers))).await?;
        Ok(self.side)
    }

    fn poll(&mut self, cx: &mut Context<'_>, buffers: &mut ThreadBuffers) -> Poll<Result<(), Error>> {
        loop {
            let from_link = self.poll_from_link(cx, buffers)?;
            // Data that arrived before the end is still delivered.
            if self.ended && (self.to_local.is_empty() || self.local_gone) {
                return self.link.poll_flush(cx);
            }
            let from_local = self.poll_from_local(cx, buffers)?;
            if from_link.is_pending() && from_local.is_pending() {
                let ended = S::ENDS_WITH_BOTH && self.local_ended && self.link_ended();
                let sent = self.to_local.is_empty() && self.link.unsent() == 0;
                return if ended && sent { Poll::Ready(Ok(())) } else { Poll::Pending };
            }
        }
    }

    fn link_ended(&self) -> bool {
        self.from_link != FromLink::Open
    }

    /// One step of the direction from the link to the local connection. Pending if there is nothing to do now.
    fn poll_from_link(&mut self, cx: &mut Context<'_>, buffers: &mut ThreadBuffers) -> Poll<Result<(), Error>> {
        if !self.poll_deliver(cx) {
            return Poll::Pending;
        }
        if self.ended {
            return Poll::Ready(Ok(()));
        }
        let mut came = std::mem::take(&mut self.to_local);
        if came.capacity() == 0 {
            came = memory::empty();
        }
        let mut others = Vec::new();
        let filled = self.link.poll_fill_with(cx, buffers, &mut |kind, payload| match kind {
            // Data after another message, such as the end of the data, is queued with it and ignored.
            Kind::Data if others.is_empty() => came.extend_from_slice(payload),
            _ => others.push(Message { kind, payload: payload.to_vec() }),
        });
        self.to_local = came;
        if !self.to_local.is_empty() {
            self.side.received(&self.to_local);
        }
        self.counters.received(self.to_local.len());
        match filled {
            Poll::Pending => {
                // An idle session holds no memory.
                memory::give_back(std::mem::take(&mut self.to_local));
                Poll::Pending
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) => {
                self.take_all(others)?;
                self.poll_deliver(cx);
                Poll::Ready(Ok(()))
            }
        }
    }

    fn take_all(&mut self, messages: Vec<Message>) -> Result<(), Error> {
        for message in messages {
            match self.ended {
                false => self.take(message.kind, &message.payload),
                // The message belongs to the next session.
                true => self.link.keep(message),
            }
        }
        self.refused.take().map_or(Ok(()), Err)
    }

    fn take(&mut self, kind: Kind, payload: &[u8]) {
        let link_ended = self.link_ended();
        match kind {
            Kind::Data if !link_ended => self.to_local.extend_from_slice(payload),
            Kind::Fin if link_ended => {}
            Kind::Fin => self.from_link = FromLink::Ended,
            // The far end has closed the server connection, or the near end asks for that.
            Kind::Detached | Kind::Reset => self.ended = true,
            Kind::Attach if link_ended && self.side.next_requested() => {}
            // The next session will use another far end; this session continues.
            Kind::Leaving | Kind::Ping | Kind::Pong => {}
            _ => self.refused = Some(self.link.protocol("it sent a message that is not allowed in a session")),
        }
    }

    /// Writes pending data to the local connection; returns whether all was written.
    fn poll_deliver(&mut self, cx: &mut Context<'_>) -> bool {
        while self.written < self.to_local.len() && !self.local_gone {
            let rest = self.to_local.get(self.written..).unwrap_or_default();
            match Pin::new(&mut *self.local).poll_write(cx, rest) {
                Poll::Pending => return false,
                Poll::Ready(Ok(count)) if count > 0 => self.written += count,
                Poll::Ready(_) => self.local_gone = true,
            }
        }
        self.to_local.clear();
        self.written = 0;
        if self.from_link == FromLink::Ended {
            self.from_link = FromLink::Shut;
            if self.side.needs_no_answer() && self.local.takes_all_at_once() {
                self.local_ended = true;
                return true;
            }
            // Shutting down a socket never blocks.
            let _ = Pin::new(&mut *self.local).poll_shutdown(cx);
        }
        // TLS may still hold data for the server; every step continues to send it.
        let _ = Pin::new(&mut *self.local).poll_flush(cx);
        true
    }

    /// One step of the direction from the local connection to the link: all available data is sent together.
    fn poll_from_local(&mut self, cx: &mut Context<'_>, buffers: &mut ThreadBuffers) -> Poll<Result<(), Error>> {
        self.report_if_gone()?;
        // Bounds the buffered data: nothing is read while earlier data still waits.
        if self.link.is_blocked() && self.link.poll_flush(cx)?.is_pending() {
            return Poll::Pending;
        }
        let mut progress = false;
        while !self.local_ended && self.link.unsent() < READ_BYTES / 2 {
            if self.poll_read_local(cx, buffers)?.is_pending() {
                break;
            }
            progress = true;
        }
        match self.link.poll_flush(cx)? {
            Poll::Ready(()) if progress => Poll::Ready(Ok(())),
            Poll::Ready(()) => {
                self.link.release_buffers();
                Poll::Pending
            }
            // The data waits to be sent; the flush wakes this task.
            Poll::Pending => Poll::Pending,
        }
    }

    fn poll_read_local(&mut self, cx: &mut Context<'_>, buffers: &mut ThreadBuffers) -> Poll<Result<(), Error>> {
        // Leaves one byte in front for the kind of the message.
        let room = buffers.plain.get_mut(1..READ_BYTES / 2).unwrap_or_default();
        let mut buffer = ReadBuf::new(room);
        let count = match Pin::new(&mut *self.local).poll_read(cx, &mut buffer) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(())) => buffer.filled().len(),
            // The local connection failed: it neither sends nor receives any more.
            Poll::Ready(Err(_)) => {
                self.local_gone = true;
                0
            }
        };
        if count == 0 {
            return Poll::Ready(self.end_local());
        }
        self.counters.sent(count);
        self.side.read(buffers.plain.get(1..=count).unwrap_or_default());
        self.seal(buffers, count)?;
        // The connection mostly closes right after its last data, so both messages can go out together.
        let ends = self.side.expects_local_end() && self.local.has_ended();
        Poll::Ready(if ends { self.end_local() } else { Ok(()) })
    }

    /// Handles the end of the local connection's sending side.
    fn end_local(&mut self) -> Result<(), Error> {
        self.local_ended = true;
        self.report_if_gone()?;
        let link_ended = self.link_ended();
        self.side.local_ended(link_ended).into_iter().try_for_each(|kind| self.link.queue(kind, &[]))
    }

    fn report_if_gone(&mut self) -> Result<(), Error> {
        let gone = self.local_gone && !self.ended;
        match gone.then(|| self.side.local_closed()).flatten() {
            Some(kind) => self.link.queue(kind, &[]),
            None => Ok(()),
        }
    }

    /// Encrypts the data in parts. The kind of each message overwrites the byte before its part, which is encrypted
    /// already.
    fn seal(&mut self, buffers: &mut ThreadBuffers, count: usize) -> Result<(), Error> {
        let mut at = 0;
        while at < count {
            let part = MAX_PAYLOAD_BYTES.min(count - at);
            let content = buffers.plain.get_mut(at..=at + part).unwrap_or_default();
            if let Some(first) = content.first_mut() {
                *first = Kind::Data as u8;
            }
            self.link.queue_content(content)?;
            at += part;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// `COM_QUIT`.
    pub(crate) const QUIT: &[u8] = &[1, 0, 0, 0, 1];

    #[test]
    fn a_client_is_done_after_com_quit_without_a_pending_command() {
        let mut last = LastSender::Client;
        last.client(QUIT);
        assert_eq!(last, LastSender::Client, "before the greeting");
        last.server();
        last.client(b"\x02\0\0\0\x03x");
        last.client(QUIT);
        assert!(!last.is_quit(), "while a statement runs");
        last.server();
        last.client(&[5, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 1]);
        assert!(last.is_quit());
        last.server();
        assert!(last.is_quit());
        last.client(b"\x02\0\0\0\x03x");
        assert!(!last.is_quit());
    }
}
