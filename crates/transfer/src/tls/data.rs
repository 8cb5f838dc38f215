//! Data connections: large messages, nearly all of them one way, with as few copies as the TLS
//! library allows.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    sync::Arc,
    time::{Duration, Instant},
};

use rustls::{
    ClientConfig, ServerConfig,
    client::UnbufferedClientConnection,
    server::UnbufferedServerConnection,
    unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus},
};
use rustls_pki_types::ServerName;
use verify::read::Buffer;

use crate::{
    error::TransferError,
    tls::control::{is_timeout, network},
    wire::{Data, HEADER_BYTES, MAX_BODY_BYTES, frame},
};

/// Bytes read from the socket at once.
const READ_BYTES: usize = 256 << 10;
/// Encrypted bytes written to the socket at once.
const WRITE_BYTES: usize = 256 << 10;
/// The longest message but for chunks.
const SHORT_BYTES: usize = 1 << 10;
/// Alignment of memory for direct writes.
const ALIGNMENT: usize = 4096;
/// The most plain text that is encrypted in one go.
const PART_BYTES: usize = 64 << 10;

/// A connection for [`Data`] messages.
pub(crate) struct DataChannel {
    tls: Tls,
    socket: TcpStream,
    peer: String,
    patience: Duration,
    /// Received and not yet decrypted: `incoming[start..filled]`.
    incoming: Vec<u8>,
    start: usize,
    filled: usize,
    /// Encrypted and not yet sent: `outgoing[..ready]`.
    outgoing: Vec<u8>,
    ready: usize,
    /// Decrypted and not yet asked for: `plain[read..]`.
    plain: Vec<u8>,
    read: usize,
    header: Vec<u8>,
    waited: Duration,
}

enum Tls {
    Client(UnbufferedClientConnection),
    Server(UnbufferedServerConnection),
}

/// What became of one step of the TLS state machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Something was done; go on.
    Progress,
    /// What is encoded has to go out.
    Transmit,
    /// More bytes are needed from the other side.
    NeedsInput,
    /// The handshake is done, and nothing is left to do but what the application wants.
    Open,
    /// The other side closed.
    Closed,
}

/// Memory for messages, such that what is behind their first bytes is aligned for direct writes.
pub(crate) struct MessageBuffer {
    memory: Buffer,
    skip: usize,
}

impl MessageBuffer {
    /// For messages of any length, of which the first `header_bytes` are not to be aligned.
    pub(crate) fn new(header_bytes: usize) -> Self {
        let skip = ALIGNMENT.saturating_sub(header_bytes);
        Self { memory: Buffer::new(MAX_BODY_BYTES + ALIGNMENT), skip }
    }

    fn take(&mut self, length: usize) -> &mut [u8] {
        let end = self.skip + length;
        self.memory.take(end).get_mut(self.skip..end).unwrap_or_default()
    }
}

/// A message whose body is in the caller's buffer.
pub(crate) struct Incoming<'b> {
    kind: u8,
    body: &'b [u8],
}

impl<'b> Incoming<'b> {
    /// Reads the message.
    pub(crate) fn decode(&self, peer: &str) -> Result<Data<'b>, TransferError> {
        Data::decode(self.kind, self.body).map_err(TransferError::malformed(peer))
    }
}

impl DataChannel {
    /// Connects as the sender.
    pub(crate) fn connect(
        socket: TcpStream,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        peer: String,
        patience: Duration,
    ) -> Result<Self, TransferError> {
        let tls = UnbufferedClientConnection::new(config, name);
        let tls = tls.map_err(|source| TransferError::Tls { peer: peer.clone(), source })?;
        Self::handshake(Tls::Client(tls), socket, peer, patience)
    }

    /// Accepts as the receiver.
    pub(crate) fn accept(
        socket: TcpStream,
        config: Arc<ServerConfig>,
        peer: String,
        patience: Duration,
    ) -> Result<Self, TransferError> {
        let tls = UnbufferedServerConnection::new(config);
        let tls = tls.map_err(|source| TransferError::Tls { peer: peer.clone(), source })?;
        Self::handshake(Tls::Server(tls), socket, peer, patience)
    }

    fn handshake(tls: Tls, socket: TcpStream, peer: String, patience: Duration) -> Result<Self, TransferError> {
        let mut channel = Self {
            tls,
            socket,
            peer,
            patience,
            incoming: vec![0; READ_BYTES + PART_BYTES],
            start: 0,
            filled: 0,
            outgoing: vec![0; WRITE_BYTES + 2 * PART_BYTES],
            ready: 0,
            plain: Vec::new(),
            read: 0,
            header: Vec::new(),
            waited: Duration::ZERO,
        };
        channel.set_patience(patience)?;
        while channel.wait_until_open()? {}
        channel.flush()?;
        Ok(channel)
    }

    pub(crate) fn peer(&self) -> &str {
        &self.peer
    }

    /// Changes how long nothing may come from, or go to, the other side.
    pub(crate) fn set_patience(&mut self, patience: Duration) -> Result<(), TransferError> {
        self.patience = patience;
        let set =
            self.socket.set_read_timeout(Some(patience)).and_then(|()| self.socket.set_write_timeout(Some(patience)));
        set.map_err(|source| network(&self.peer, "setting a time limit", source))
    }

    /// A second handle on the socket, by which another thread can end the connection.
    pub(crate) fn handle(&self) -> Result<TcpStream, TransferError> {
        self.socket.try_clone().map_err(|source| network(&self.peer, "sharing the connection", source))
    }

    /// Time spent waiting for the other side since the last call.
    pub(crate) fn take_waited(&mut self) -> Duration {
        std::mem::take(&mut self.waited)
    }

    /// Sends a message at once.
    pub(crate) fn send(&mut self, message: &Data<'_>) -> Result<(), TransferError> {
        self.queue(message, &[])?;
        self.flush()
    }

    /// Sends a message with a payload behind it, sooner or later. Returns the bytes it takes on the
    /// wire, TLS not counted.
    pub(crate) fn queue(&mut self, message: &Data<'_>, payload: &[u8]) -> Result<u64, TransferError> {
        let mut header = std::mem::take(&mut self.header);
        header.clear();
        header.extend([0; HEADER_BYTES]);
        let kind = message.encode(&mut header);
        let body_bytes = header.len() - HEADER_BYTES + payload.len();
        for (to, from) in header.iter_mut().zip(frame::header(kind, body_bytes)) {
            *to = from;
        }
        let written = self.write(&header).and_then(|()| self.write(payload));
        self.header = header;
        written.map(|()| (HEADER_BYTES + body_bytes) as u64)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), TransferError> {
        for part in bytes.chunks(PART_BYTES) {
            loop {
                match self.step(Some(part), &mut [])?.0 {
                    Step::Open => break,
                    Step::Closed => return Err(TransferError::Gone { peer: self.peer.clone() }),
                    _ => self.flush()?,
                }
            }
            if self.ready >= WRITE_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Writes out what is encrypted.
    pub(crate) fn flush(&mut self) -> Result<(), TransferError> {
        let ready = std::mem::take(&mut self.ready);
        let began = Instant::now();
        let written = self.socket.write_all(self.outgoing.get(..ready).unwrap_or_default());
        self.waited += began.elapsed();
        written.map_err(|error| self.failure("sending", error))
    }

    /// The next message, of those that are short.
    pub(crate) fn receive<'b>(&mut self, buffer: &'b mut Vec<u8>) -> Result<Incoming<'b>, TransferError> {
        let (kind, length) = self.read_header()?;
        if length > SHORT_BYTES {
            return Err(TransferError::protocol(&self.peer, "unexpected message"));
        }
        buffer.resize(length, 0);
        self.read_exact(buffer)?;
        Ok(Incoming { kind, body: buffer })
    }

    /// The next message, of any length.
    pub(crate) fn receive_aligned<'b>(&mut self, buffer: &'b mut MessageBuffer) -> Result<Incoming<'b>, TransferError> {
        let (kind, length) = self.read_header()?;
        let body = buffer.take(length);
        self.read_exact(body)?;
        Ok(Incoming { kind, body })
    }

    fn read_header(&mut self) -> Result<(u8, usize), TransferError> {
        let mut header = [0; HEADER_BYTES];
        self.read_exact(&mut header)?;
        frame::parse_header(header).map_err(TransferError::malformed(&self.peer))
    }

    fn read_exact(&mut self, mut into: &mut [u8]) -> Result<(), TransferError> {
        loop {
            let kept = self.plain.get(self.read..).unwrap_or_default();
            let count = kept.len().min(into.len());
            let (done, rest) = into.split_at_mut(count);
            done.copy_from_slice(kept.get(..count).unwrap_or_default());
            self.read += count;
            into = rest;
            if into.is_empty() {
                return Ok(());
            }
            self.plain.clear();
            self.read = 0;
            let (step, count) = self.step(None, into)?;
            into = into.get_mut(count..).unwrap_or_default();
            match step {
                Step::Progress => {}
                Step::Transmit => self.flush()?,
                Step::NeedsInput | Step::Open => self.fill()?,
                Step::Closed => return Err(TransferError::Gone { peer: self.peer.clone() }),
            }
        }
    }

    /// One step of the handshake; whether there is more to do.
    fn wait_until_open(&mut self) -> Result<bool, TransferError> {
        match self.step(None, &mut [])?.0 {
            Step::Progress => Ok(true),
            Step::Transmit => self.flush().map(|()| true),
            Step::NeedsInput => self.fill().map(|()| true),
            Step::Open => Ok(false),
            Step::Closed => Err(TransferError::Gone { peer: self.peer.clone() }),
        }
    }

    /// Reads from the socket behind what is not yet decrypted.
    fn fill(&mut self) -> Result<(), TransferError> {
        // A record is at most 16 KiB and a little, so that there is room for more than one.
        if self.incoming.len() - self.filled < PART_BYTES {
            self.incoming.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.start = 0;
        }
        let began = Instant::now();
        let room = self.incoming.get_mut(self.filled..).unwrap_or_default();
        let count = loop {
            match self.socket.read(room) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.waited += began.elapsed();
        match count {
            Ok(0) => Err(TransferError::Gone { peer: self.peer.clone() }),
            Ok(count) => {
                self.filled += count;
                Ok(())
            }
            Err(error) => Err(self.failure("receiving", error)),
        }
    }

    /// One step: encrypts `plain` if the state allows it (then the step is [`Step::Open`]), and
    /// decrypts a record into `into`, what does not fit there into memory of its own. Returns how
    /// much was put into `into`.
    fn step(&mut self, plain: Option<&[u8]>, into: &mut [u8]) -> Result<(Step, usize), TransferError> {
        let incoming = self.incoming.get_mut(self.start..self.filled).unwrap_or_default();
        let mut work = Work {
            plain,
            into,
            put: 0,
            overflow: &mut self.plain,
            outgoing: &mut self.outgoing,
            ready: &mut self.ready,
        };
        let (discard, step) = match &mut self.tls {
            Tls::Client(tls) => work.handle(tls.process_tls_records(incoming)),
            Tls::Server(tls) => work.handle(tls.process_tls_records(incoming)),
        };
        let put = work.put;
        self.start += discard;
        if self.start == self.filled {
            (self.start, self.filled) = (0, 0);
        }
        let step = step.map_err(|fault| self.fault(fault))?;
        Ok((step, put))
    }

    fn fault(&mut self, fault: Fault) -> TransferError {
        match fault {
            Fault::Tls(source) => {
                // The other side should learn why: an alert is waiting.
                let mut alert = true;
                while alert {
                    alert = match self.step_quietly() {
                        Some(Step::Transmit) => self.flush().is_ok(),
                        Some(Step::Progress) => true,
                        _ => false,
                    };
                }
                TransferError::Tls { peer: self.peer.clone(), source }
            }
            Fault::Room => TransferError::protocol(&self.peer, "an encrypted record larger than any"),
        }
    }

    /// A step after an error, of which only the alert is of interest.
    fn step_quietly(&mut self) -> Option<Step> {
        let mut work = Work {
            plain: None,
            into: &mut [],
            put: 0,
            overflow: &mut Vec::new(),
            outgoing: &mut self.outgoing,
            ready: &mut self.ready,
        };
        let (_, step) = match &mut self.tls {
            Tls::Client(tls) => work.handle(tls.process_tls_records(&mut [])),
            Tls::Server(tls) => work.handle(tls.process_tls_records(&mut [])),
        };
        step.ok()
    }

    fn failure(&self, doing: &'static str, error: std::io::Error) -> TransferError {
        if is_timeout(&error) {
            return TransferError::Stalled { peer: self.peer.clone(), seconds: self.patience.as_secs() };
        }
        network(&self.peer, doing, error)
    }
}

enum Fault {
    Tls(rustls::Error),
    Room,
}

/// What a step works with.
struct Work<'w> {
    plain: Option<&'w [u8]>,
    into: &'w mut [u8],
    put: usize,
    overflow: &'w mut Vec<u8>,
    outgoing: &'w mut Vec<u8>,
    ready: &'w mut usize,
}

impl Work<'_> {
    fn handle<Side>(&mut self, status: UnbufferedStatus<'_, '_, Side>) -> (usize, Result<Step, Fault>) {
        let mut discard = status.discard;
        let step = match status.state {
            Err(error) => Err(Fault::Tls(error)),
            Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                let mut step = Ok(Step::Progress);
                while let Some(record) = traffic.next_record() {
                    match record {
                        Ok(record) => {
                            discard += record.discard;
                            self.keep(record.payload);
                        }
                        Err(error) => step = Err(Fault::Tls(error)),
                    }
                }
                step
            }
            Ok(ConnectionState::EncodeTlsData(mut data)) => match data.encode(self.room()) {
                Ok(count) => {
                    *self.ready += count;
                    Ok(Step::Progress)
                }
                Err(EncodeError::InsufficientSize(_)) => Err(Fault::Room),
                Err(EncodeError::AlreadyEncoded) => Ok(Step::Progress),
            },
            Ok(ConnectionState::TransmitTlsData(data)) => {
                data.done();
                Ok(Step::Transmit)
            }
            Ok(ConnectionState::BlockedHandshake) => Ok(Step::NeedsInput),
            Ok(ConnectionState::WriteTraffic(mut traffic)) => match self.plain.take() {
                None => Ok(Step::Open),
                Some(plain) => match traffic.encrypt(plain, self.room()) {
                    Ok(count) => {
                        *self.ready += count;
                        Ok(Step::Open)
                    }
                    Err(EncryptError::InsufficientSize(_)) => Err(Fault::Room),
                    Err(error) => Err(Fault::Tls(rustls::Error::General(error.to_string()))),
                },
            },
            Ok(_) => Ok(Step::Closed),
        };
        (discard, step)
    }

    fn room(&mut self) -> &mut [u8] {
        self.outgoing.get_mut(*self.ready..).unwrap_or_default()
    }

    fn keep(&mut self, payload: &[u8]) {
        let room = self.into.get_mut(self.put..).unwrap_or_default();
        let (now, later) = payload.split_at(payload.len().min(room.len()));
        room.get_mut(..now.len()).unwrap_or_default().copy_from_slice(now);
        self.put += now.len();
        self.overflow.extend(later);
    }
}
