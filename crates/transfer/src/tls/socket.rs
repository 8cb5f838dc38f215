//! A socket that reads whole TLS records and writes many at once.

use std::{
    io::{self, ErrorKind, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use crate::{
    error::Error,
    tls::{
        control::{is_timeout, network},
        record,
    },
};

/// Bytes read from the socket at once.
const READ_BYTES: usize = 256 << 10;
/// Bytes written to the socket at once.
const WRITE_BYTES: usize = 256 << 10;
/// Additional capacity of the send buffer: a record may be encoded while nearly [`WRITE_BYTES`] are
/// pending.
const SPARE_BYTES: usize = 64 << 10;
/// Maximum length of a record.
const RECORD_BYTES: usize = record::HEADER_BYTES + record::MAX_BODY_BYTES;

/// A socket with its receive and send buffers.
pub(super) struct RecordSocket {
    socket: TcpStream,
    peer: String,
    timeout: Duration,
    /// Received and not yet processed: `incoming[start..filled]`.
    incoming: Vec<u8>,
    start: usize,
    filled: usize,
    /// Not yet sent: `outgoing[..ready]`.
    outgoing: Vec<u8>,
    ready: usize,
    waited: Duration,
}

impl RecordSocket {
    /// `timeout` limits how long sending to or receiving from the peer may take.
    pub(super) fn new(socket: TcpStream, peer: String, timeout: Duration) -> Result<Self, Error> {
        let mut socket = Self {
            socket,
            peer,
            timeout,
            incoming: vec![0; READ_BYTES + RECORD_BYTES],
            start: 0,
            filled: 0,
            outgoing: vec![0; WRITE_BYTES + SPARE_BYTES],
            ready: 0,
            waited: Duration::ZERO,
        };
        socket.set_timeout(timeout)?;
        Ok(socket)
    }

    pub(super) fn peer(&self) -> &str {
        &self.peer
    }

    pub(super) fn set_timeout(&mut self, timeout: Duration) -> Result<(), Error> {
        self.timeout = timeout;
        let set =
            self.socket.set_read_timeout(Some(timeout)).and_then(|()| self.socket.set_write_timeout(Some(timeout)));
        set.map_err(|source| network(&self.peer, "setting a time limit", source))
    }

    pub(super) fn handle(&self) -> Result<TcpStream, Error> {
        self.socket.try_clone().map_err(|source| network(&self.peer, "sharing the connection", source))
    }

    pub(super) fn take_waited(&mut self) -> Duration {
        std::mem::take(&mut self.waited)
    }

    /// Converts a TLS error.
    pub(super) fn tls_error(&self, source: rustls::Error) -> Error {
        Error::Tls { peer: self.peer.clone(), source }
    }

    /// Waits until a whole record follows the first `known` received bytes; returns the position of
    /// its end.
    pub(super) fn wait_for_record(&mut self, known: usize) -> Result<usize, Error> {
        let header_end = known + record::HEADER_BYTES;
        self.wait_for(header_end)?;
        let at = self.start + known;
        let header = self.incoming.get(at..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or_default();
        let body_bytes = record::body_bytes(&header).map_err(|error| self.tls_error(error))?;
        self.wait_for(header_end + body_bytes)?;
        Ok(header_end + body_bytes)
    }

    /// Discards the first `count` received bytes.
    pub(super) fn take(&mut self, count: usize) {
        self.start += count;
        if self.start >= self.filled {
            (self.start, self.filled) = (0, 0);
        }
    }

    fn wait_for(&mut self, count: usize) -> Result<(), Error> {
        while self.filled - self.start < count {
            self.fill()?;
        }
        Ok(())
    }

    fn fill(&mut self) -> Result<(), Error> {
        if self.incoming.len() - self.filled < RECORD_BYTES {
            self.incoming.copy_within(self.start..self.filled, 0);
            self.filled -= self.start;
            self.start = 0;
        }
        let began = Instant::now();
        let room = self.incoming.get_mut(self.filled..).unwrap_or_default();
        if room.is_empty() {
            return Err(Error::protocol(&self.peer, "a handshake larger than any"));
        }
        let count = loop {
            match self.socket.read(room) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.waited += began.elapsed();
        match count {
            Ok(0) => Err(Error::Disconnected { peer: self.peer.clone() }),
            Ok(count) => {
                self.filled += count;
                Ok(())
            }
            Err(error) => Err(self.failure("receiving", error)),
        }
    }

    /// The first `shown` received bytes, the send buffer, and its length, which the caller
    /// increases.
    pub(super) fn both(&mut self, shown: usize) -> (&mut [u8], &mut [u8], &mut usize) {
        let received = self.incoming.get_mut(self.start..self.start + shown).unwrap_or_default();
        (received, self.outgoing.get_mut(self.ready..).unwrap_or_default(), &mut self.ready)
    }

    /// Sends the buffer if it is nearly full.
    pub(super) fn flush_if_full(&mut self) -> Result<(), Error> {
        if self.ready >= WRITE_BYTES { self.flush() } else { Ok(()) }
    }

    pub(super) fn flush(&mut self) -> Result<(), Error> {
        let ready = std::mem::take(&mut self.ready);
        let began = Instant::now();
        let written = self.socket.write_all(self.outgoing.get(..ready).unwrap_or_default());
        self.waited += began.elapsed();
        written.map_err(|error| self.failure("sending", error))
    }

    fn failure(&self, doing: &'static str, error: io::Error) -> Error {
        if is_timeout(&error) {
            return Error::Stalled { peer: self.peer.clone(), seconds: self.timeout.as_secs() };
        }
        network(&self.peer, doing, error)
    }
}
