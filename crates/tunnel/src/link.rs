//! A TLS connection between the two ends, as a sequence of messages.
//!
//! An idle link holds its keys and no buffers: data is read and encrypted in memory that all links
//! of a thread share, and only what the system did not take at once is kept.

use std::{
    cell::RefCell,
    collections::VecDeque,
    future::poll_fn,
    io,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use rustls_pki_types::CertificateDer;
use tls13::{Handshake, KEY_UPDATE, OUR_KEY_UPDATE, RecordKeys, Step, record};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf},
    net::TcpStream,
    time::timeout,
};

use crate::{
    Error,
    memory::Outgoing,
    message::{KIND_BYTES, Kind},
};

/// Bytes read from a socket at once.
pub(crate) const READ_BYTES: usize = 128 << 10;
/// Maximum length of either side's handshake flight; certificate chains are far shorter.
const HANDSHAKE_BYTES: usize = 64 << 10;
/// Maximum number of consecutive records without content.
const MAX_IDLE_RECORDS: u32 = 32;

/// Buffers shared by all links of a thread; nothing stays in them between two uses.
pub(crate) struct ThreadBuffers {
    pub(crate) wire: Vec<u8>,
    pub(crate) plain: Vec<u8>,
}

thread_local! {
    static BUFFERS: RefCell<ThreadBuffers> = RefCell::new(ThreadBuffers {
        wire: vec![0; READ_BYTES + record::MAX_BODY_BYTES + record::HEADER_BYTES],
        plain: vec![0; READ_BYTES + record::MAX_BODY_BYTES + record::HEADER_BYTES],
    });
}

/// Runs `work` with the thread's buffers. Must not be nested.
pub(crate) fn with_thread_buffers<R>(work: impl FnOnce(&mut ThreadBuffers) -> R) -> R {
    BUFFERS.with(|buffers| work(&mut buffers.borrow_mut()))
}

/// A received message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: Kind,
    pub(crate) payload: Vec<u8>,
}

/// A link to the peer.
pub(crate) struct Link {
    socket: TcpStream,
    keys: RecordKeys,
    peer: String,
    /// The start of an incomplete record.
    incoming: Vec<u8>,
    /// Encrypted bytes that the system has not taken yet.
    outgoing: Outgoing,
    /// Set when the system has taken less than it was given.
    blocked: bool,
    /// Messages that arrived together with others.
    waiting: VecDeque<Message>,
    /// An error that occurred after the messages in `waiting`.
    broken: Option<Error>,
    idle_records: u32,
}

impl Link {
    /// Completes the handshake, whose start may already have been received, within the time limit.
    /// Also returns the peer's certificate chain.
    pub(crate) async fn open(
        mut socket: TcpStream,
        began: Vec<u8>,
        handshake: Handshake,
        peer: &str,
        limit: Duration,
    ) -> Result<(Self, Vec<CertificateDer<'static>>), Error> {
        let _ = socket.set_nodelay(true);
        let shaken = timeout(limit, run_handshake(&mut socket, began, handshake, peer)).await;
        let (keys, chain, incoming) =
            shaken.map_err(|_| Error::Silent { peer: peer.to_owned(), seconds: limit.as_secs() })??;
        let mut link = Self {
            socket,
            keys,
            peer: peer.to_owned(),
            incoming: Vec::new(),
            outgoing: Outgoing::default(),
            blocked: false,
            waiting: VecDeque::new(),
            broken: None,
            idle_records: 0,
        };
        link.take_leftover(&incoming)?;
        Ok((link, chain))
    }

    /// Processes what was received together with the end of the handshake.
    fn take_leftover(&mut self, received: &[u8]) -> Result<(), Error> {
        let mut came = VecDeque::new();
        let used = with_thread_buffers(|buffers| {
            self.open_records(received, &mut buffers.plain, &mut |kind, payload| {
                came.push_back(Message { kind, payload: payload.to_vec() });
            })
        });
        match used {
            Ok(used) => self.incoming = received.get(used..).unwrap_or_default().to_vec(),
            Err(error) if !came.is_empty() => self.broken = Some(error),
            Err(error) => return Err(error),
        }
        self.waiting = came;
        Ok(())
    }

    pub(crate) fn peer(&self) -> &str {
        &self.peer
    }

    /// Sends a message, and waits until the system has taken it.
    pub(crate) async fn send(&mut self, kind: Kind, payload: &[u8]) -> Result<(), Error> {
        self.queue(kind, payload)?;
        self.flush().await
    }

    /// Waits until the system has taken all pending bytes.
    pub(crate) async fn flush(&mut self) -> Result<(), Error> {
        poll_fn(|cx| self.poll_flush(cx)).await
    }

    /// Waits for the next message.
    pub(crate) async fn receive(&mut self) -> Result<Message, Error> {
        poll_fn(|cx| self.poll_receive(cx)).await
    }

    pub(crate) fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<Result<Message, Error>> {
        loop {
            if let Some(message) = self.waiting.pop_front() {
                return Poll::Ready(Ok(message));
            }
            let mut came = VecDeque::new();
            ready!(self.poll_fill(cx, &mut |kind, payload| {
                came.push_back(Message { kind, payload: payload.to_vec() });
            }))?;
            self.waiting = came;
        }
    }

    /// The next of the messages that arrived together with others.
    pub(crate) fn take_waiting(&mut self) -> Option<Message> {
        self.waiting.pop_front()
    }

    /// Puts a message back for later.
    pub(crate) fn keep(&mut self, message: Message) {
        self.waiting.push_back(message);
    }

    /// Reads once, and passes each message to `take`.
    pub(crate) fn poll_fill(
        &mut self,
        cx: &mut Context<'_>,
        take: &mut dyn FnMut(Kind, &[u8]),
    ) -> Poll<Result<(), Error>> {
        with_thread_buffers(|buffers| self.poll_fill_with(cx, buffers, take))
    }

    pub(crate) fn poll_fill_with(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &mut ThreadBuffers,
        take: &mut dyn FnMut(Kind, &[u8]),
    ) -> Poll<Result<(), Error>> {
        if let Some(error) = self.broken.take() {
            return Poll::Ready(Err(error));
        }
        let kept = self.incoming.len();
        // An incomplete record, copied to the front of the buffer.
        let (held, room) =
            buffers.wire.split_at_mut_checked(kept).ok_or_else(|| self.protocol("its record is too long"))?;
        let mut buffer = ReadBuf::new(room.get_mut(..READ_BYTES).unwrap_or_default());
        held.copy_from_slice(&self.incoming);
        if let Err(error) = ready!(Pin::new(&mut self.socket).poll_read(cx, &mut buffer)) {
            return Poll::Ready(Err(self.lost(error)));
        }
        let count = buffer.filled().len();
        if count == 0 {
            return Poll::Ready(Err(self.closed()));
        }
        let received = buffers.wire.get_mut(..kept.saturating_add(count)).unwrap_or_default();
        let mut some = false;
        let used = self.open_records(received, &mut buffers.plain, &mut |kind, payload| {
            some = true;
            take(kind, payload);
        });
        match used {
            Ok(used) => {
                self.incoming.clear();
                let rest = received.get(used..).unwrap_or_default();
                if rest.is_empty() {
                    self.incoming = Vec::new();
                } else {
                    self.incoming.extend_from_slice(rest);
                }
                Poll::Ready(Ok(()))
            }
            // Messages from before the error are valid, and may be all that the peer had to send.
            Err(error) if some => {
                self.broken = Some(error);
                Poll::Ready(Ok(()))
            }
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Decrypts all complete records; returns their total length.
    fn open_records(
        &mut self,
        received: &[u8],
        plain: &mut [u8],
        take: &mut dyn FnMut(Kind, &[u8]),
    ) -> Result<usize, Error> {
        let mut used = 0;
        while let Some((header, behind)) = received.get(used..).and_then(<[u8]>::split_first_chunk) {
            let length = record::body_bytes(header).map_err(|source| self.tls(source))?;
            let Some(body) = behind.get(..length) else { break };
            if header.first() != Some(&record::APPLICATION_DATA) {
                return Err(self.protocol("it sent an unencrypted record"));
            }
            let (kind, count) = self.keys.receiving.open(header, body, plain).map_err(|source| self.tls(source))?;
            let content = plain.get(..count).unwrap_or_default();
            used += record::HEADER_BYTES + length;
            match (kind, content.split_first()) {
                (record::APPLICATION_DATA, Some((kind, payload))) => {
                    self.idle_records = 0;
                    let kind =
                        Kind::from_byte(*kind).ok_or_else(|| self.protocol("it sent a message of an unknown kind"))?;
                    take(kind, payload);
                }
                (record::APPLICATION_DATA, None) => self.idle()?,
                _ => self.handle_tls_message(kind, content.to_vec().as_slice())?,
            }
        }
        Ok(used)
    }

    fn idle(&mut self) -> Result<(), Error> {
        self.idle_records += 1;
        if self.idle_records > MAX_IDLE_RECORDS {
            return Err(self.protocol("it sends empty records"));
        }
        Ok(())
    }

    /// Processes a message of the TLS protocol itself.
    fn handle_tls_message(&mut self, kind: u8, content: &[u8]) -> Result<(), Error> {
        self.idle()?;
        match (kind, content) {
            (record::ALERT, [_, 0]) => Err(self.closed()),
            (record::ALERT, [_, alert]) => Err(self.tls(rustls::Error::AlertReceived((*alert).into()))),
            (record::HANDSHAKE, [KEY_UPDATE, 0, 0, 1, answer @ (0 | 1)]) => {
                self.keys.renew_receiving().map_err(|source| self.tls(source))?;
                // One answer is enough while it is pending (RFC 8446, 4.6.3); otherwise pending
                // data would grow without bound.
                if *answer == 1 && self.unsent() < READ_BYTES { self.renew_sending() } else { Ok(()) }
            }
            _ => Err(self.protocol("it sent a message that is not allowed after the handshake")),
        }
    }

    fn renew_sending(&mut self) -> Result<(), Error> {
        self.seal(record::HANDSHAKE, &OUR_KEY_UPDATE)?;
        self.keys.renew_sending().map_err(|source| self.tls(source))
    }

    /// Encrypts a message and appends it to the pending bytes.
    pub(crate) fn queue(&mut self, kind: Kind, payload: &[u8]) -> Result<(), Error> {
        let mut content = Vec::with_capacity(payload.len() + KIND_BYTES);
        content.push(kind as u8);
        content.extend_from_slice(payload);
        self.queue_content(&content)
    }

    /// Encrypts content that starts with its kind.
    pub(crate) fn queue_content(&mut self, content: &[u8]) -> Result<(), Error> {
        if self.keys.sending.is_worn() {
            self.renew_sending()?;
        }
        self.seal(record::APPLICATION_DATA, content)
    }

    /// Appends raw bytes that are not a record, as a hostile peer could send them.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn queue_raw(&mut self, bytes: &[u8]) {
        self.outgoing.room(bytes.len()).copy_from_slice(bytes);
    }

    fn seal(&mut self, kind: u8, content: &[u8]) -> Result<(), Error> {
        let room = self.outgoing.room(content.len() + record::OVERHEAD_BYTES);
        let sealed = self.keys.sending.seal(kind, content, room);
        if sealed.is_err() {
            self.outgoing.truncate_by(content.len() + record::OVERHEAD_BYTES);
        }
        sealed.map(drop).map_err(|source| self.tls(source))
    }

    /// Whether the system took less than it was given. Nothing more must be queued until it has taken the rest.
    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// Number of pending bytes.
    pub(crate) fn unsent(&self) -> usize {
        self.outgoing.len()
    }

    /// Passes pending bytes to the system.
    pub(crate) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        while self.outgoing.len() > 0 {
            let written = Pin::new(&mut self.socket).poll_write(cx, self.outgoing.waiting());
            self.blocked = written.is_pending();
            match ready!(written) {
                Ok(0) => return Poll::Ready(Err(self.closed())),
                Ok(count) => self.outgoing.consume(count),
                Err(error) => return Poll::Ready(Err(self.lost(error))),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Releases buffers of a link that becomes idle.
    pub(crate) fn release_buffers(&mut self) {
        self.outgoing.release_if_empty();
    }

    /// Sends the end of the connection to the peer, if it still receives.
    pub(crate) async fn close(mut self) {
        const CLOSE_NOTIFY: [u8; 2] = [1, 0];
        let announced = self.seal(record::ALERT, &CLOSE_NOTIFY);
        if announced.is_ok() {
            let _ = timeout(Duration::from_secs(1), poll_fn(|cx| self.poll_flush(cx))).await;
        }
        let _ = timeout(Duration::from_secs(1), self.socket.shutdown()).await;
    }

    pub(crate) fn protocol(&self, what: &'static str) -> Error {
        Error::Protocol { peer: self.peer.clone(), what }
    }

    fn tls(&self, source: rustls::Error) -> Error {
        Error::Tls { peer: self.peer.clone(), source }
    }

    fn closed(&self) -> Error {
        Error::Closed { peer: self.peer.clone() }
    }

    fn lost(&self, source: io::Error) -> Error {
        Error::Connect { peer: self.peer.clone(), source }
    }
}

/// Runs the handshake; returns keys, the peer's chain, and what was received after the handshake.
async fn run_handshake(
    socket: &mut TcpStream,
    mut received: Vec<u8>,
    mut handshake: Handshake,
    peer: &str,
) -> Result<(RecordKeys, Vec<CertificateDer<'static>>, Vec<u8>), Error> {
    let lost = |source| Error::Connect { peer: peer.to_owned(), source };
    let mut room = vec![0; HANDSHAKE_BYTES];
    let (mut shown, mut put) = (0, 0);
    loop {
        let free = room.get_mut(put..).unwrap_or_default();
        let (taken, step) = handshake.step(received.get_mut(..shown).unwrap_or_default(), free, &mut put);
        received.drain(..taken.min(received.len()));
        shown = shown.saturating_sub(taken);
        match step {
            Ok(Step::Progress) => {}
            Ok(Step::Transmit) => send(socket, &room, &mut put).await.map_err(lost)?,
            Ok(Step::NeedsInput) => shown = next_record(socket, &mut received, shown, peer).await?,
            Ok(Step::Done) => break,
            Err(source) => {
                // The peer has no use for output from before the error.
                put = handshake.alert(received.get_mut(..shown).unwrap_or_default(), &mut room);
                let _ = send(socket, &room, &mut put).await;
                let _ = socket.shutdown().await;
                return Err(Error::Tls { peer: peer.to_owned(), source });
            }
        }
    }
    send(socket, &room, &mut put).await.map_err(lost)?;
    let chain = handshake.peer_certificates().to_vec();
    let keys = handshake.into_keys().map_err(|source| Error::Tls { peer: peer.to_owned(), source })?;
    Ok((keys, chain, received))
}

async fn send(socket: &mut TcpStream, room: &[u8], put: &mut usize) -> io::Result<()> {
    let ready = std::mem::take(put);
    socket.write_all(room.get(..ready).unwrap_or_default()).await
}

/// Waits until one more complete record follows the first `known` bytes; returns its end.
pub(crate) async fn next_record(
    socket: &mut TcpStream,
    received: &mut Vec<u8>,
    known: usize,
    peer: &str,
) -> Result<usize, Error> {
    loop {
        if let Some((header, _)) = received.get(known..).and_then(<[u8]>::split_first_chunk) {
            let length = record::body_bytes(header);
            let length = length.map_err(|source| Error::Tls { peer: peer.to_owned(), source })?;
            let end = known + record::HEADER_BYTES + length;
            if received.len() >= end {
                return Ok(end);
            }
        }
        if received.len() > HANDSHAKE_BYTES {
            return Err(Error::Protocol { peer: peer.to_owned(), what: "its handshake is too large" });
        }
        let count = socket.read_buf(received).await;
        if count.map_err(|source| Error::Connect { peer: peer.to_owned(), source })? == 0 {
            return Err(Error::Closed { peer: peer.to_owned() });
        }
    }
}
