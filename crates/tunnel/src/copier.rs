//! One session: bytes between a link and a local connection, both ways, until both sides are done.
//!
//! At most one read's worth of bytes is held in each direction: what the slower side does not take is
//! not read from the faster one. What is special about either end of the tunnel is its [`Side`].

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::{
    Error,
    link::{Link, Message, READ_BYTES, Scratch, with_scratch},
    local::Local,
    memory,
    message::{Kind, MAX_PAYLOAD_BYTES},
    metrics::Counters,
};

/// What one end of the tunnel makes of a session.
pub(crate) trait Side {
    /// Whether the session is over when both directions are: else the other end says when it is.
    const ENDS_WITH_BOTH: bool;

    /// Bytes came from the other end.
    fn received(&mut self, bytes: &[u8]);

    /// Bytes were read from the local connection.
    fn read(&mut self, bytes: &[u8]);

    /// Whether nothing more is expected of the local connection after what was read.
    fn expects_local_end(&self) -> bool;

    /// Whether the local connection has nothing to add to what it was given.
    fn needs_no_answer(&self) -> bool;

    /// The local connection sends no more; `link_ended` if the other end does not either. What the other end is told.
    fn local_ended(&mut self, link_ended: bool) -> Vec<Kind>;

    /// The local connection takes no more. What the other end is told.
    fn local_gone(&mut self) -> Option<Kind>;

    /// The other end, which sends no more, asks for the next session. Whether that has a place here.
    fn next_asked(&mut self) -> bool;
}

/// Who spoke last in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastSpoke {
    /// The client, or nobody yet.
    Client,
    Server,
    /// The client, saying that it is done when nothing was under way.
    ClientQuit,
}

impl LastSpoke {
    /// The client says something.
    pub(crate) fn client(&mut self, bytes: &[u8]) {
        *self = if *self == Self::Server && is_quit(bytes) { Self::ClientQuit } else { Self::Client };
    }

    /// The server says something. After the client's last word it changes nothing.
    pub(crate) fn server(&mut self) {
        if *self != Self::ClientQuit {
            *self = Self::Server;
        }
    }

    pub(crate) fn is_quit(self) -> bool {
        self == Self::ClientQuit
    }
}

/// Whether a client says that it is done: a packet of one byte, number 0, command 1; also as the compressed protocol
/// sends it.
fn is_quit(bytes: &[u8]) -> bool {
    matches!(bytes, [1, 0, 0, 0, 1] | [5, 0, 0, _, 0, 0, 0, 1, 0, 0, 0, 1])
}

/// The direction from the link to the local connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FromLink {
    Open,
    /// The other end sends no more.
    Ended,
    /// The local connection was told so.
    Shut,
}

/// A session in progress.
pub(crate) struct Copier<'p, S> {
    link: &'p mut Link,
    local: &'p mut Local,
    counters: &'p Counters,
    side: S,
    /// Received, and not yet taken by the local connection: `to_local[written..]`.
    to_local: Vec<u8>,
    written: usize,
    from_link: FromLink,
    /// The local connection sends no more, and the other end was told.
    local_ended: bool,
    /// The local connection takes no more; what comes for it is dropped.
    local_gone: bool,
    /// The other end has said that the session is over.
    ended: bool,
    refused: Option<Error>,
}

impl<'p, S: Side> Copier<'p, S> {
    /// `first` are bytes for the local connection that are here already.
    pub(crate) fn new(
        link: &'p mut Link,
        local: &'p mut Local,
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

    /// Until both sides are done, the link being good for the next session.
    ///
    /// # Errors
    /// The link has failed.
    pub(crate) async fn run(mut self) -> Result<S, Error> {
        while let Some(Message { kind, payload }) = self.link.take_waiting() {
            self.take(kind, &payload);
        }
        poll_fn(|cx| with_scratch(|scratch| self.poll(cx, scratch))).await?;
        Ok(self.side)
    }

    fn poll(&mut self, cx: &mut Context<'_>, scratch: &mut Scratch) -> Poll<Result<(), Error>> {
        loop {
            let from_link = self.poll_from_link(cx, scratch)?;
            // What came before the end still goes to the local connection.
            if self.ended && (self.to_local.is_empty() || self.local_gone) {
                return self.link.poll_flush(cx);
            }
            let from_local = self.poll_from_local(cx, scratch)?;
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

    /// One turn of the direction from the link to the local connection; pending if nothing can be done now.
    fn poll_from_link(&mut self, cx: &mut Context<'_>, scratch: &mut Scratch) -> Poll<Result<(), Error>> {
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
        let filled = self.link.poll_fill_with(cx, scratch, &mut |kind, payload| match kind {
            // Data after the end of data is dropped with the rest of a message that has no meaning.
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
                // An idle session keeps no memory.
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
                // Of the next session.
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
            // The far end has closed the server connection, or the near end wants it closed.
            Kind::Detached | Kind::Reset => self.ended = true,
            Kind::Attach if link_ended && self.side.next_asked() => {}
            // The next session goes elsewhere; this one goes on.
            Kind::Leaving | Kind::Ping | Kind::Pong => {}
            _ => self.refused = Some(self.link.protocol("it sent a message that has no place in a session")),
        }
    }

    /// Gives the local connection what is there for it; whether all of it was taken.
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
            // Shutting down a socket never waits.
            let _ = Pin::new(&mut *self.local).poll_shutdown(cx);
        }
        // What a server over TLS has not taken yet goes on with each turn.
        let _ = Pin::new(&mut *self.local).poll_flush(cx);
        true
    }

    /// One turn of the other direction: what there is to read goes out together.
    fn poll_from_local(&mut self, cx: &mut Context<'_>, scratch: &mut Scratch) -> Poll<Result<(), Error>> {
        self.tell_if_gone()?;
        // What waits for the other end is bounded: nothing is read while the rest of what was read waits.
        if self.link.is_blocked() && self.link.poll_flush(cx)?.is_pending() {
            return Poll::Pending;
        }
        let mut progress = false;
        while !self.local_ended && self.link.unsent() < READ_BYTES / 2 {
            if self.poll_read_local(cx, scratch)?.is_pending() {
                break;
            }
            progress = true;
        }
        match self.link.poll_flush(cx)? {
            Poll::Ready(()) if progress => Poll::Ready(Ok(())),
            Poll::Ready(()) => {
                self.link.rest();
                Poll::Pending
            }
            // What could be read waits to go out: the flush wakes when it can.
            Poll::Pending => Poll::Pending,
        }
    }

    fn poll_read_local(&mut self, cx: &mut Context<'_>, scratch: &mut Scratch) -> Poll<Result<(), Error>> {
        // Room for the kind in front of what is read.
        let room = scratch.plain.get_mut(1..READ_BYTES / 2).unwrap_or_default();
        let mut buffer = ReadBuf::new(room);
        let count = match Pin::new(&mut *self.local).poll_read(cx, &mut buffer) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Ok(())) => buffer.filled().len(),
            // The local connection is gone: no more comes, and nothing reaches it.
            Poll::Ready(Err(_)) => {
                self.local_gone = true;
                0
            }
        };
        if count == 0 {
            return Poll::Ready(self.end_local());
        }
        self.counters.sent(count);
        self.side.read(scratch.plain.get(1..=count).unwrap_or_default());
        self.seal(scratch, count)?;
        // It closes right after that mostly, and both go out together.
        let ends = self.side.expects_local_end() && self.local.has_ended();
        Poll::Ready(if ends { self.end_local() } else { Ok(()) })
    }

    /// The local connection sends no more.
    fn end_local(&mut self) -> Result<(), Error> {
        self.local_ended = true;
        self.tell_if_gone()?;
        let link_ended = self.link_ended();
        self.side.local_ended(link_ended).into_iter().try_for_each(|kind| self.link.queue(kind, &[]))
    }

    fn tell_if_gone(&mut self) -> Result<(), Error> {
        let gone = self.local_gone && !self.ended;
        match gone.then(|| self.side.local_gone()).flatten() {
            Some(kind) => self.link.queue(kind, &[]),
            None => Ok(()),
        }
    }

    /// Seals what was read, with its kind written over the byte in front of each part, which has gone already.
    fn seal(&mut self, scratch: &mut Scratch, count: usize) -> Result<(), Error> {
        let mut at = 0;
        while at < count {
            let part = MAX_PAYLOAD_BYTES.min(count - at);
            let content = scratch.plain.get_mut(at..=at + part).unwrap_or_default();
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

    /// What a client sends when it is done.
    pub(crate) const QUIT: &[u8] = &[1, 0, 0, 0, 1];

    #[test]
    fn a_client_is_done_only_when_nothing_is_under_way() {
        let mut last = LastSpoke::Client;
        last.client(QUIT);
        assert_eq!(last, LastSpoke::Client, "before the greeting");
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
