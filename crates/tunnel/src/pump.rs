//! One session: bytes between a link and a local connection, both ways, until both sides are done.
//!
//! At most one read's worth of bytes is held in each direction: what the slower side does not take is
//! not read from the faster one.

use std::{
    future::poll_fn,
    pin::Pin,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
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

/// Whether a client says that it is done: a packet of one byte, number 0, command 1; also as the compressed protocol
/// sends it.
fn is_quit(bytes: &[u8]) -> bool {
    matches!(bytes, [1, 0, 0, 0, 1] | [5, 0, 0, _, 0, 0, 0, 1, 0, 0, 0, 1])
}

/// How a session ended, the link being good for the next one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The near end's session is over, and the far end has let go of the server.
    Detached,
    /// Both directions are done (far end).
    Finished,
    /// The near end wants the server let go (far end).
    Reset,
}

/// A session in progress.
pub(crate) struct Pump<'p> {
    link: &'p mut Link,
    local: &'p mut Local,
    counters: &'p Counters,
    /// The client has said something.
    busy: Option<&'p AtomicBool>,
    /// Is told when the local side is done: the session will be over at once. Says whether the far end shall
    /// fetch the next server connection at once.
    ending: Option<&'p (dyn Fn() -> bool + Send + Sync)>,
    /// The next server connection is asked for already (far end).
    again: bool,
    /// Opened, and not yet taken by the local side: `to_local[written..]`.
    to_local: Vec<u8>,
    written: usize,
    /// The local side sends no more, and the other end was told.
    local_done: bool,
    /// The other end sends no more.
    link_done: bool,
    /// The local side was told so.
    shut: bool,
    /// The local side takes no more; what comes for it is dropped.
    deaf: bool,
    /// The server has said something since the client last spoke.
    answered: bool,
    /// The last that the client said was that it is done, and nothing was under way then.
    quit: bool,
    /// The next server connection is asked for (near end).
    asked: bool,
    /// The far end was told to let go of the server (near end).
    hung_up: bool,
    ended: Option<End>,
    refused: Option<Error>,
}

impl<'p> Pump<'p> {
    pub(crate) fn new(link: &'p mut Link, local: &'p mut Local, counters: &'p Counters) -> Self {
        Self {
            link,
            local,
            counters,
            busy: None,
            ending: None,
            again: false,
            to_local: Vec::new(),
            written: 0,
            local_done: false,
            link_done: false,
            shut: false,
            deaf: false,
            answered: false,
            quit: false,
            asked: false,
            hung_up: false,
            ended: None,
            refused: None,
        }
    }

    /// Bytes for the local side that are here already.
    pub(crate) fn begin_with(mut self, bytes: Vec<u8>) -> Self {
        self.answered = !bytes.is_empty();
        self.to_local = bytes;
        self
    }

    /// Tells when the local side is done, and asks for the next server connection if that says so.
    pub(crate) fn telling(mut self, ending: &'p (dyn Fn() -> bool + Send + Sync)) -> Self {
        self.ending = Some(ending);
        self
    }

    /// Until both sides are done, or the link fails.
    pub(crate) async fn run(mut self) -> Result<End, Error> {
        while let Some(Message { kind, payload }) = self.link.take_waiting() {
            self.take(kind, &payload);
        }
        poll_fn(|cx| with_scratch(|scratch| self.poll(cx, scratch))).await
    }

    fn poll(&mut self, cx: &mut Context<'_>, scratch: &mut Scratch) -> Poll<Result<End, Error>> {
        loop {
            let from_link = self.poll_from_link(cx, scratch)?;
            if let Some(end) = self.end() {
                return match self.link.poll_flush(cx) {
                    Poll::Ready(flushed) => Poll::Ready(flushed.map(|()| end)),
                    Poll::Pending => {
                        self.ended = Some(end);
                        Poll::Pending
                    }
                };
            }
            let from_local = self.poll_from_local(cx, scratch)?;
            if from_link.is_pending() && from_local.is_pending() {
                return Poll::Pending;
            }
        }
    }

    fn end(&mut self) -> Option<End> {
        if let Some(end) = self.ended.take() {
            // What came before the end still goes to the local side.
            if self.to_local.is_empty() || self.deaf {
                return Some(end);
            }
            self.ended = Some(end);
        }
        None
    }

    /// One turn of the direction from the link to the local side; pending if nothing can be done now.
    fn poll_from_link(&mut self, cx: &mut Context<'_>, scratch: &mut Scratch) -> Poll<Result<(), Error>> {
        if !self.poll_deliver(cx) {
            return Poll::Pending;
        }
        if self.ended.is_some() {
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
            match self.busy {
                None => self.answered = true,
                Some(_) => self.client_said(is_quit(&self.to_local)),
            }
        }
        self.counters.received(self.to_local.len());
        if let Some(busy) = self.busy.filter(|_| !self.to_local.is_empty()) {
            busy.store(true, Relaxed);
        }
        match filled {
            Poll::Pending => {
                // An idle session keeps no memory.
                memory::give_back(std::mem::take(&mut self.to_local));
                Poll::Pending
            }
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Ready(Ok(())) => {
                for message in others {
                    match self.ended {
                        None => self.take(message.kind, &message.payload),
                        // Of the next session.
                        Some(_) => self.link.keep(message),
                    }
                }
                if let Some(error) = self.refused.take() {
                    return Poll::Ready(Err(error));
                }
                self.poll_deliver(cx);
                Poll::Ready(Ok(()))
            }
        }
    }

    fn take(&mut self, kind: Kind, payload: &[u8]) {
        match kind {
            Kind::Data if !self.link_done => self.to_local.extend_from_slice(payload),
            Kind::Fin => self.link_done = true,
            Kind::Detached => self.ended = Some(End::Detached),
            Kind::Reset => self.ended = Some(End::Reset),
            Kind::Attach if self.link_done && self.busy.is_some() => self.again = true,
            // The next session goes elsewhere; this one goes on.
            Kind::Leaving | Kind::Ping | Kind::Pong => {}
            _ => self.refused = Some(self.link.protocol("it sent a message that has no place in a session")),
        }
    }

    /// Gives the local side what is there for it; whether all of it was taken.
    fn poll_deliver(&mut self, cx: &mut Context<'_>) -> bool {
        while self.written < self.to_local.len() && !self.deaf {
            let rest = self.to_local.get(self.written..).unwrap_or_default();
            match Pin::new(&mut *self.local).poll_write(cx, rest) {
                Poll::Pending => return false,
                Poll::Ready(Ok(count)) if count > 0 => self.written += count,
                Poll::Ready(_) => self.deaf = true,
            }
        }
        self.to_local.clear();
        self.written = 0;
        if self.link_done && !self.shut {
            self.shut = true;
            if self.quit && self.busy.is_some() && self.local.takes_all_at_once() {
                // The server has it, and has nothing to add.
                self.local_done = true;
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
        self.hang_up()?;
        // What waits for the other end is bounded: nothing is read while the rest of what was read waits.
        if self.link.is_blocked() && self.link.poll_flush(cx)?.is_pending() {
            return Poll::Pending;
        }
        let mut progress = false;
        while !self.local_done && self.link.unsent() < READ_BYTES / 2 {
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
            // The local side is gone: no more comes, and nothing reaches it.
            Poll::Ready(Err(_)) => {
                self.deaf = true;
                0
            }
        };
        if count > 0 {
            self.counters.sent(count);
            match self.busy {
                None => self.client_said(is_quit(scratch.plain.get(1..=count).unwrap_or_default())),
                Some(_) => self.answered = true,
            }
            self.seal(scratch, count)?;
            // It closes right after that mostly, and both go out together.
            let ends = self.busy.is_none() && self.quit && self.local.has_ended();
            return Poll::Ready(if ends { self.local_ends() } else { Ok(()) });
        }
        Poll::Ready(self.local_ends())
    }

    fn client_said(&mut self, quit: bool) {
        self.quit = self.answered && quit;
        self.answered = false;
    }

    /// The local side sends no more.
    fn local_ends(&mut self) -> Result<(), Error> {
        self.local_done = true;
        self.hang_up()?;
        if self.hung_up {
            return Ok(());
        }
        // If the near end has said its last, it hears that all is over, and needs no word of this.
        if self.busy.is_none() || !self.link_done {
            self.link.queue(Kind::Fin, &[])?;
        }
        // Of a client that just goes away nobody knows when its server connection will be free: the server may work
        // on its statement for long, and has to hear of it as soon as it answers.
        if self.quit && self.ending.is_some_and(|ending| ending()) {
            self.link.queue(Kind::Attach, &[])?;
            self.asked = true;
        }
        Ok(())
    }

    /// A client that is gone needs no more of its result: the server hears so, as it would without a tunnel. Once the
    /// next server connection is asked for, it would be that one which is let go.
    fn hang_up(&mut self) -> Result<(), Error> {
        let near = self.busy.is_none();
        if near && self.deaf && !self.asked && !self.hung_up && self.ended.is_none() {
            self.hung_up = true;
            self.link.queue(Kind::Reset, &[])?;
        }
        Ok(())
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

/// The far end's session: over when both sides have said that no more comes. `busy` tells when the
/// client has begun to use it. Returns whether the next one is asked for already.
pub(crate) async fn serve(
    link: &mut Link,
    local: &mut Local,
    counters: &Counters,
    busy: &AtomicBool,
) -> Result<(End, bool), Error> {
    let mut pump = Pump { busy: Some(busy), ..Pump::new(link, local, counters) };
    while let Some(Message { kind, payload }) = pump.link.take_waiting() {
        pump.take(kind, &payload);
    }
    poll_fn(|cx| {
        with_scratch(|scratch| {
            let polled = pump.poll(cx, scratch);
            let done = pump.local_done && pump.link_done && pump.to_local.is_empty() && pump.link.unsent() == 0;
            match polled {
                Poll::Pending if done => Poll::Ready(Ok((End::Finished, pump.again))),
                other => other.map_ok(|end| (end, pump.again)),
            }
        })
    })
    .await
}
