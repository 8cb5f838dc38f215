//! The control connection: few messages in both directions. Its TLS exporter binds the proofs to
//! it.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::{Shutdown, TcpStream},
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};
use rustls_pki_types::ServerName;
use zeroize::Zeroizing;

use crate::{
    error::Error,
    pairing::{EXPORTER_BYTES, Pin},
    wire::{
        Control,
        frame::{self, HEADER_BYTES},
    },
};

const EXPORTER_LABEL: &[u8] = b"EXPORTER-sealant-transfer-1";
/// Plain bytes that are buffered before they are encrypted and written.
const WRITE_BYTES: usize = 16 << 10;

/// A connection for [`Control`] messages.
pub(crate) struct ControlChannel {
    tls: Connection,
    socket: TcpStream,
    peer: String,
    timeout: Duration,
    last_received: Instant,
    /// Decrypted bytes of an incomplete message.
    plain: Zeroizing<Vec<u8>>,
    body: Zeroizing<Vec<u8>>,
}

impl ControlChannel {
    /// Connects as the sender. `timeout` limits how long the peer may send nothing.
    pub(crate) fn connect(
        socket: TcpStream,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        peer: String,
        timeout: Duration,
    ) -> Result<Self, Error> {
        let tls = ClientConnection::new(config, name);
        let tls = tls.map_err(|source| Error::Tls { peer: peer.clone(), source })?;
        Self::handshake(tls.into(), socket, peer, timeout)
    }

    /// Accepts as the receiver.
    pub(crate) fn accept(
        socket: TcpStream,
        config: Arc<ServerConfig>,
        peer: String,
        timeout: Duration,
    ) -> Result<Self, Error> {
        let tls = ServerConnection::new(config);
        let tls = tls.map_err(|source| Error::Tls { peer: peer.clone(), source })?;
        Self::handshake(tls.into(), socket, peer, timeout)
    }

    fn handshake(tls: Connection, socket: TcpStream, peer: String, timeout: Duration) -> Result<Self, Error> {
        let last_received = Instant::now();
        let mut channel =
            Self { tls, socket, peer, timeout, last_received, plain: Zeroizing::default(), body: Zeroizing::default() };
        let timeouts = channel.socket.set_write_timeout(Some(timeout));
        timeouts.map_err(|source| channel.network("setting a time limit", source))?;
        channel.wait_at_most(timeout)?;
        while channel.tls.is_handshaking() {
            channel.write_out()?;
            if channel.tls.is_handshaking() && !channel.read_in()? {
                return Err(channel.stalled());
            }
        }
        channel.write_out()?;
        Ok(channel)
    }

    /// Output of the TLS exporter, equal on both sides and unique to this connection.
    pub(crate) fn exporter(&self) -> Result<[u8; EXPORTER_BYTES], Error> {
        let exported = self.tls.export_keying_material([0; EXPORTER_BYTES], EXPORTER_LABEL, None);
        exported.map_err(|source| Error::Tls { peer: self.peer.clone(), source })
    }

    /// Fingerprint of the peer's key.
    pub(crate) fn peer_pin(&self) -> Option<Pin> {
        let certificate = self.tls.peer_certificates()?.first()?;
        pki::public_key_info(certificate).map(|spki| Pin::from_spki(&spki))
    }

    /// Checks that the peer's certificate has one of these names; any if `allowed` is empty.
    /// Returns its names if not.
    pub(crate) fn is_one_of(&self, allowed: &[String]) -> Result<(), String> {
        pki::check_name(allowed, self.tls.peer_certificates().unwrap_or_default())
    }

    pub(crate) fn peer(&self) -> &str {
        &self.peer
    }

    /// Changes how long the peer may send nothing.
    pub(crate) fn set_timeout(&mut self, timeout: Duration) -> Result<(), Error> {
        self.timeout = timeout;
        let set = self.socket.set_write_timeout(Some(timeout));
        set.map_err(|source| self.network("setting a time limit", source))
    }

    /// Restarts the timeout: the peer was waiting while this side was busy.
    pub(crate) fn restart_timeout(&mut self) {
        self.last_received = Instant::now();
    }

    /// Sends one message.
    pub(crate) fn send(&mut self, message: &Control) -> Result<(), Error> {
        self.queue(message)?;
        self.write_out()
    }

    /// Buffers a message; it is sent at the latest with the next [`send`](Self::send).
    pub(crate) fn queue(&mut self, message: &Control) -> Result<(), Error> {
        self.body.clear();
        let kind = message.encode(&mut self.body);
        let header = frame::header(kind, self.body.len());
        let body = std::mem::take(&mut self.body);
        let written = self.write(&header).and_then(|()| self.write(&body));
        self.body = body;
        written
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        for part in bytes.chunks(WRITE_BYTES) {
            let written = self.tls.writer().write_all(part);
            written.map_err(|source| self.network("sending", source))?;
            if part.len() == WRITE_BYTES {
                self.write_out()?;
            }
        }
        // Write out before the buffer for unencrypted data is full.
        if self.tls.wants_write() && bytes.len() > HEADER_BYTES { self.write_out() } else { Ok(()) }
    }

    /// The next message, if one arrives within `wait`.
    ///
    /// # Errors
    /// [`Error::Stalled`] if the peer has exceeded its timeout.
    pub(crate) fn receive(&mut self, wait: Duration) -> Result<Option<Control>, Error> {
        let until = Instant::now() + wait;
        loop {
            if let Some(message) = self.take_message()? {
                return Ok(Some(message));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return if self.last_received.elapsed() > self.timeout { Err(self.stalled()) } else { Ok(None) };
            }
            if self.readable_within(left)? {
                self.read_in()?;
            }
        }
    }

    /// Waits for the next message until the timeout.
    pub(crate) fn expect(&mut self) -> Result<Control, Error> {
        match self.receive(self.timeout)? {
            Some(message) => Ok(message),
            None => Err(self.stalled()),
        }
    }

    fn take_message(&mut self) -> Result<Option<Control>, Error> {
        let Some(header) = self.plain.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let (kind, length) = frame::parse_header(*header).map_err(Error::malformed(&self.peer))?;
        let end = HEADER_BYTES + length;
        let Some(body) = self.plain.get(HEADER_BYTES..end) else { return Ok(None) };
        let message = Control::decode(kind, body).map_err(Error::malformed(&self.peer))?;
        self.plain.drain(..end);
        Ok(Some(message))
    }

    /// Reads from the socket once; returns whether anything arrived before the time limit.
    fn read_in(&mut self) -> Result<bool, Error> {
        match self.tls.read_tls(&mut self.socket) {
            Ok(0) => return Err(Error::Disconnected { peer: self.peer.clone() }),
            Ok(_) => {}
            Err(error) if is_timeout(&error) => return Ok(false),
            Err(source) => return Err(self.network("receiving", source)),
        }
        self.last_received = Instant::now();
        let state = self.tls.process_new_packets();
        let state = match state {
            Ok(state) => state,
            Err(source) => {
                // Send the waiting alert, which tells the peer the reason.
                let _ = self.write_out();
                return Err(Error::Tls { peer: self.peer.clone(), source });
            }
        };
        let (from, more) = (self.plain.len(), state.plaintext_bytes_to_read());
        self.plain.resize(from + more, 0);
        let room = self.plain.get_mut(from..).unwrap_or_default();
        let read = self.tls.reader().read_exact(room);
        read.map_err(|source| self.network("receiving", source))?;
        Ok(true)
    }

    fn write_out(&mut self) -> Result<(), Error> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.socket) {
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_timeout(&error) => return Err(self.stalled()),
                Err(source) => return Err(self.network("sending", source)),
            }
        }
        Ok(())
    }

    /// Waits for data; returns whether any arrived. Exact to a millisecond, unlike the time limits
    /// of sockets.
    fn readable_within(&self, wait: Duration) -> Result<bool, Error> {
        let limit = Timespec::try_from(wait).ok();
        let mut sockets = [PollFd::new(&self.socket, PollFlags::IN)];
        match poll(&mut sockets, limit.as_ref()) {
            Ok(count) => Ok(count > 0),
            Err(Errno::INTR) => Ok(false),
            Err(errno) => Err(self.network("receiving", errno.into())),
        }
    }

    fn wait_at_most(&self, wait: Duration) -> Result<(), Error> {
        let wait = wait.max(Duration::from_millis(1));
        self.socket.set_read_timeout(Some(wait)).map_err(|source| self.network("setting a time limit", source))
    }

    /// Closes the connection in order.
    pub(crate) fn close(mut self) {
        self.tls.send_close_notify();
        let _ = self.write_out();
        let _ = self.socket.shutdown(Shutdown::Write);
    }

    fn network(&self, doing: &'static str, source: io::Error) -> Error {
        network(&self.peer, doing, source)
    }

    fn stalled(&self) -> Error {
        Error::Stalled { peer: self.peer.clone(), seconds: self.timeout.as_secs() }
    }
}

pub(super) fn network(peer: &str, doing: &'static str, source: io::Error) -> Error {
    match source.kind() {
        ErrorKind::UnexpectedEof => Error::Disconnected { peer: peer.to_owned() },
        _ => Error::Network { peer: peer.to_owned(), doing, source },
    }
}

pub(super) fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
