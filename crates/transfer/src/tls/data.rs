//! Data connections: large messages, nearly all in one direction. Records are encrypted from and
//! decrypted into the callers' buffers without copies.

use std::{net::TcpStream, ops::Range, sync::Arc, time::Duration};

use files::Buffer;
use rustls::{
    AlertDescription, ClientConfig, Error as TlsError, PeerMisbehaved, ServerConfig,
    client::UnbufferedClientConnection, server::UnbufferedServerConnection,
};
use rustls_pki_types::ServerName;
use tls13::{Handshake, KEY_UPDATE, NEW_SESSION_TICKET, OUR_KEY_UPDATE, RecordKeys};
use zeroize::{Zeroize, Zeroizing};

use crate::{
    error::Error,
    tls::{handshake, record, socket::RecordSocket},
    wire::{
        Data,
        frame::{self, HEADER_BYTES, MAX_BODY_BYTES},
    },
};

/// Maximum length of all messages except chunks.
const SHORT_BYTES: usize = 1 << 10;
/// Alignment of buffers for direct writes.
const ALIGNMENT: usize = 4096;
/// Maximum number of consecutive records without data.
const MAX_IDLE_RECORDS: u32 = 32;

const FATAL: u8 = 2;

/// A connection for [`Data`] messages.
pub(crate) struct DataChannel {
    socket: RecordSocket,
    keys: RecordKeys,
    /// Buffer for the content of a record. Decrypted and not yet returned: `plain[kept]`.
    plain: Zeroizing<Vec<u8>>,
    kept: Range<usize>,
    idle_records: u32,
    /// Buffer for short messages, which may contain keys.
    header: Zeroizing<Vec<u8>>,
}

/// Buffer for messages whose content after the header is aligned for direct writes.
pub(crate) struct MessageBuffer {
    memory: Buffer,
    skip: usize,
    /// End of the longest message so far.
    used: usize,
}

impl MessageBuffer {
    /// For messages of any length; the first `header_bytes` need no alignment.
    pub(crate) fn new(header_bytes: usize) -> Self {
        let skip = ALIGNMENT.saturating_sub(header_bytes);
        Self { memory: Buffer::new(MAX_BODY_BYTES + ALIGNMENT), skip, used: 0 }
    }

    fn take(&mut self, length: usize) -> &mut [u8] {
        let end = self.skip + length;
        self.used = self.used.max(end);
        self.memory.take(end).get_mut(self.skip..end).unwrap_or_default()
    }
}

/// Wipes the buffer, which may contain keys and decrypted pages.
impl Drop for MessageBuffer {
    fn drop(&mut self) {
        // Only the used part: untouched memory is not allocated by the system yet.
        self.memory.take(self.used).zeroize();
    }
}

/// A message whose body is in the caller's buffer.
pub(crate) struct Incoming<'b> {
    kind: u8,
    body: &'b [u8],
}

impl<'b> Incoming<'b> {
    /// Decodes the message.
    pub(crate) fn decode(&self, peer: &str) -> Result<Data<'b>, Error> {
        Data::decode(self.kind, self.body).map_err(Error::malformed(peer))
    }
}

impl DataChannel {
    /// Connects as the sender.
    pub(crate) fn connect(
        socket: TcpStream,
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        peer: String,
        timeout: Duration,
    ) -> Result<Self, Error> {
        let tls = UnbufferedClientConnection::new(config, name);
        let tls = tls.map_err(|source| Error::Tls { peer: peer.clone(), source })?;
        Self::open(Handshake::Client(Box::new(tls)), RecordSocket::new(socket, peer, timeout)?)
    }

    /// Accepts as the receiver.
    pub(crate) fn accept(
        socket: TcpStream,
        config: Arc<ServerConfig>,
        peer: String,
        timeout: Duration,
    ) -> Result<Self, Error> {
        let tls = UnbufferedServerConnection::new(config);
        let tls = tls.map_err(|source| Error::Tls { peer: peer.clone(), source })?;
        Self::open(Handshake::Server(Box::new(tls)), RecordSocket::new(socket, peer, timeout)?)
    }

    fn open(handshake: Handshake, mut socket: RecordSocket) -> Result<Self, Error> {
        let keys = handshake::run(handshake, &mut socket)?;
        let plain = Zeroizing::new(vec![0; record::MAX_BODY_BYTES]);
        Ok(Self {
            socket,
            keys,
            plain,
            kept: 0..0,
            idle_records: 0,
            header: Zeroizing::new(Vec::with_capacity(SHORT_BYTES)),
        })
    }

    pub(crate) fn peer(&self) -> &str {
        self.socket.peer()
    }

    /// Changes how long sending to or receiving from the peer may take.
    pub(crate) fn set_timeout(&mut self, timeout: Duration) -> Result<(), Error> {
        self.socket.set_timeout(timeout)
    }

    /// A second handle of the socket, with which another thread can close the connection.
    pub(crate) fn handle(&self) -> Result<TcpStream, Error> {
        self.socket.handle()
    }

    /// Time spent waiting for the peer since the last call.
    pub(crate) fn take_waited(&mut self) -> Duration {
        self.socket.take_waited()
    }

    /// Sends a message at once.
    pub(crate) fn send(&mut self, message: &Data<'_>) -> Result<(), Error> {
        self.queue(message, &[])?;
        self.socket.flush()
    }

    /// Buffers a message and its payload for sending. Returns its bytes on the wire, without TLS.
    pub(crate) fn queue(&mut self, message: &Data<'_>, payload: &[u8]) -> Result<u64, Error> {
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

    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        for part in bytes.chunks(record::MAX_CONTENT_BYTES) {
            if self.keys.sending.is_worn() {
                self.renew_sending()?;
            }
            self.seal(record::APPLICATION_DATA, part)?;
            self.socket.flush_if_full()?;
        }
        Ok(())
    }

    fn seal(&mut self, kind: u8, content: &[u8]) -> Result<(), Error> {
        let (_, room, ready) = self.socket.both(0);
        let sealed = self.keys.sending.seal(kind, content, room).map(|count| *ready += count);
        sealed.map_err(|error| self.socket.tls_error(error))
    }

    fn renew_sending(&mut self) -> Result<(), Error> {
        self.seal(record::HANDSHAKE, &OUR_KEY_UPDATE)?;
        self.keys.renew_sending().map_err(|error| self.socket.tls_error(error))
    }

    /// The next message, which must be short.
    pub(crate) fn receive<'b>(&mut self, buffer: &'b mut Vec<u8>) -> Result<Incoming<'b>, Error> {
        let (kind, length) = self.read_header()?;
        if length > SHORT_BYTES {
            return Err(Error::protocol(self.peer(), "unexpected message"));
        }
        buffer.resize(length, 0);
        self.read_exact(buffer)?;
        Ok(Incoming { kind, body: buffer })
    }

    /// The next message, of any length.
    pub(crate) fn receive_aligned<'b>(&mut self, buffer: &'b mut MessageBuffer) -> Result<Incoming<'b>, Error> {
        let (kind, length) = self.read_header()?;
        let body = buffer.take(length);
        self.read_exact(body)?;
        Ok(Incoming { kind, body })
    }

    fn read_header(&mut self) -> Result<(u8, usize), Error> {
        let mut header = [0; HEADER_BYTES];
        self.read_exact(&mut header)?;
        frame::parse_header(header).map_err(Error::malformed(self.peer()))
    }

    fn read_exact(&mut self, mut into: &mut [u8]) -> Result<(), Error> {
        loop {
            let kept = self.plain.get(self.kept.clone()).unwrap_or_default();
            let count = kept.len().min(into.len());
            let (done, rest) = into.split_at_mut(count);
            done.copy_from_slice(kept.get(..count).unwrap_or_default());
            self.kept.start += count;
            into = rest;
            if into.is_empty() {
                return Ok(());
            }
            let count = self.next_record(into)?;
            into = into.get_mut(count..).unwrap_or_default();
        }
    }

    /// Decrypts the next record: into `into` if it fits, else into its own buffer. Returns the
    /// number of bytes in `into`; the bytes after them are undefined.
    fn next_record(&mut self, into: &mut [u8]) -> Result<usize, Error> {
        let record_bytes = self.socket.wait_for_record(0)?;
        let (received, ..) = self.socket.both(record_bytes);
        let opened = match received.split_first_chunk() {
            Some((header, body)) if header.first() == Some(&record::APPLICATION_DATA) => {
                let directly = record::opened_bytes(body) <= into.len();
                let out = if directly { into } else { self.plain.as_mut_slice() };
                self.keys.receiving.open(header, body, out).map(|(kind, count)| (kind, out, count, directly))
            }
            _ => Err(TlsError::PeerMisbehaved(PeerMisbehaved::IllegalTlsInnerPlaintext)),
        };
        self.socket.take(record_bytes);
        match opened {
            Ok((record::APPLICATION_DATA, _, count, directly)) => {
                self.idle_records = if count == 0 { self.idle_records + 1 } else { 0 };
                self.kept = if directly { 0..0 } else { 0..count };
                self.check_idle()?;
                Ok(if directly { count } else { 0 })
            }
            Ok((kind, out, count, _)) => {
                let content = out.get(..count).unwrap_or_default().to_vec();
                self.idle_records += 1;
                self.check_idle()?;
                self.protocol(kind, &content).map(|()| 0)
            }
            Err(error) => Err(self.refuse(error)),
        }
    }

    fn check_idle(&mut self) -> Result<(), Error> {
        if self.idle_records <= MAX_IDLE_RECORDS {
            return Ok(());
        }
        Err(self.refuse(TlsError::PeerMisbehaved(PeerMisbehaved::TooManyKeyUpdateRequests)))
    }

    /// Handles a record of the TLS protocol itself.
    fn protocol(&mut self, kind: u8, content: &[u8]) -> Result<(), Error> {
        match (kind, content) {
            (record::ALERT, [_, description]) => match AlertDescription::from(*description) {
                AlertDescription::CloseNotify => Err(Error::Disconnected { peer: self.peer().to_owned() }),
                alert => Err(self.socket.tls_error(TlsError::AlertReceived(alert))),
            },
            (record::HANDSHAKE, [KEY_UPDATE, 0, 0, 1, answer @ (0 | 1)]) => {
                self.keys.renew_receiving().map_err(|error| self.socket.tls_error(error))?;
                if *answer == 1 {
                    self.renew_sending()?;
                    self.socket.flush()?;
                }
                Ok(())
            }
            // Session tickets are ignored: sessions are not resumed.
            (record::HANDSHAKE, [NEW_SESSION_TICKET, ..]) => Ok(()),
            _ => Err(self.refuse(TlsError::PeerMisbehaved(PeerMisbehaved::IllegalTlsInnerPlaintext))),
        }
    }

    /// Sends the peer an alert with the reason.
    fn refuse(&mut self, error: TlsError) -> Error {
        let alert = match error {
            TlsError::DecryptError => AlertDescription::BadRecordMac,
            TlsError::PeerSentOversizedRecord => AlertDescription::RecordOverflow,
            _ => AlertDescription::UnexpectedMessage,
        };
        let sent = self.seal(record::ALERT, &[FATAL, alert.into()]).and_then(|()| self.socket.flush());
        // The connection ends in any case, with this error.
        drop(sent);
        self.socket.tls_error(error)
    }
}

#[cfg(test)]
mod tests;
