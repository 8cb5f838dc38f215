//! Splits a byte stream into TLS records and handshake messages.
//!
//! Source: RFC 8446 sections 4 and 5.1; SSL 3.0 to TLS 1.2 use the same framing.

use crate::bytes::Bytes;

/// Maximum size of a first flight; the largest certificate chains stay below 100 KiB.
pub const MAX_FLIGHT_BYTES: usize = 256 * 1024;

/// A record may have 2^14 bytes and some expansion.
const MAX_RECORD_BYTES: usize = 16_384 + 2048;

/// A message that the server sends before encryption starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// A handshake message.
    Handshake {
        /// `HandshakeType`.
        kind: u8,
        /// Body without type and length.
        body: Vec<u8>,
    },
    /// An alert.
    Alert {
        /// 1 warning, 2 fatal.
        level: u8,
        /// `AlertDescription`.
        description: u8,
    },
    /// A record of another type: encrypted data, or ChangeCipherSpec.
    Other(u8),
}

/// The bytes are not TLS, or too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotTls;

/// Collects bytes into messages; buffers at most [`MAX_FLIGHT_BYTES`].
#[derive(Debug, Default)]
pub struct Deframer {
    raw: Vec<u8>,
    handshake: Vec<u8>,
    received: usize,
}

impl Deframer {
    /// Adds received bytes.
    ///
    /// # Errors
    /// [`NotTls`] if the flight exceeds the limit.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), NotTls> {
        self.received = self.received.saturating_add(bytes.len());
        if self.received > MAX_FLIGHT_BYTES {
            return Err(NotTls);
        }
        self.raw.extend_from_slice(bytes);
        Ok(())
    }

    /// Received bytes that no returned message contains; after [`NotTls`], the bytes that are not TLS.
    pub fn unread(&self) -> &[u8] {
        &self.raw
    }

    /// The next complete message; `None` if more bytes are needed.
    ///
    /// # Errors
    /// [`NotTls`] if the bytes cannot be TLS.
    pub fn next_message(&mut self) -> Result<Option<Message>, NotTls> {
        loop {
            if let Some(message) = self.next_handshake() {
                return Ok(Some(message));
            }
            let mut bytes = Bytes::new(&self.raw);
            let (Some(kind), Some(version)) = (bytes.u8(), bytes.u16_be()) else {
                return match self.raw.first() {
                    None | Some(0x14..=0x18) => Ok(None),
                    Some(_) => Err(NotTls),
                };
            };
            if !matches!(kind, 0x14..=0x18) || version >> 8 != 3 {
                return Err(NotTls);
            }
            let Some(length) = bytes.u16_be().map(usize::from) else {
                return Ok(None);
            };
            if length > MAX_RECORD_BYTES {
                return Err(NotTls);
            }
            let Some(fragment) = bytes.take(length) else {
                return Ok(None);
            };
            let message = match (kind, fragment) {
                (0x15, [level, description]) => Some(Message::Alert { level: *level, description: *description }),
                (0x16, fragment) => {
                    self.handshake.extend_from_slice(fragment);
                    None
                }
                (other, _) => Some(Message::Other(other)),
            };
            self.raw.drain(..length.saturating_add(5));
            if message.is_some() {
                return Ok(message);
            }
        }
    }

    fn next_handshake(&mut self) -> Option<Message> {
        let mut bytes = Bytes::new(&self.handshake);
        let kind = bytes.u8()?;
        let body = bytes.vector24()?.to_vec();
        self.handshake.drain(..body.len().saturating_add(4));
        Some(Message::Handshake { kind, body })
    }
}

/// Wraps a handshake message into one record of the given version.
pub(crate) fn handshake_record(version: u16, kind: u8, body: &[u8]) -> Vec<u8> {
    let mut record = vec![0x16];
    record.extend_from_slice(&version.to_be_bytes());
    prefixed16(&mut record, |record| {
        record.push(kind);
        let length = u32::try_from(body.len()).unwrap_or(0).to_be_bytes();
        record.extend_from_slice(length.get(1..).unwrap_or_default());
        record.extend_from_slice(body);
    });
    record
}

/// Appends the output of `fill`, preceded by its length in two bytes.
pub(crate) fn prefixed16(out: &mut Vec<u8>, fill: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    fill(&mut inner);
    // Everything written here is far below 64 KiB.
    let length = u16::try_from(inner.len()).unwrap_or(u16::MAX);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&inner);
}

/// IANA name of an alert.
pub fn alert_name(description: u8) -> String {
    match description {
        0 => "close_notify",
        10 => "unexpected_message",
        20 => "bad_record_mac",
        22 => "record_overflow",
        40 => "handshake_failure",
        41 => "no_certificate",
        42 => "bad_certificate",
        47 => "illegal_parameter",
        48 => "unknown_ca",
        49 => "access_denied",
        50 => "decode_error",
        51 => "decrypt_error",
        70 => "protocol_version",
        71 => "insufficient_security",
        80 => "internal_error",
        86 => "inappropriate_fallback",
        90 => "user_canceled",
        100 => "no_renegotiation",
        109 => "missing_extension",
        110 => "unsupported_extension",
        112 => "unrecognized_name",
        116 => "certificate_required",
        other => return format!("alert {other}"),
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_message_may_be_cut_anywhere() {
        let mut wire = handshake_record(0x0303, 2, b"hello");
        wire.extend_from_slice(&[0x15, 3, 3, 0, 2, 2, 40]);
        for cut in 0..wire.len() {
            let mut deframer = Deframer::default();
            let mut seen = Vec::new();
            for part in [&wire[..cut], &wire[cut..]] {
                deframer.push(part).unwrap();
                while let Some(message) = deframer.next_message().unwrap() {
                    seen.push(message);
                }
            }
            let expected =
                [Message::Handshake { kind: 2, body: b"hello".to_vec() }, Message::Alert { level: 2, description: 40 }];
            assert_eq!(seen, expected);
        }
    }

    #[test]
    fn other_protocols_are_not_tls() {
        for bytes in [b"HTTP/1.1 400".as_slice(), &[0x16, 9, 9, 0, 1], &[0x16, 3, 1, 0xff, 0xff]] {
            let mut deframer = Deframer::default();
            deframer.push(bytes).unwrap();
            assert_eq!(deframer.next_message(), Err(NotTls));
        }
    }

    #[test]
    fn an_endless_flight_is_cut_off() {
        let mut deframer = Deframer::default();
        let mut pushed = Ok(());
        for _ in 0..=MAX_FLIGHT_BYTES / 1024 {
            pushed = deframer.push(&[0; 1024]);
        }
        assert_eq!(pushed, Err(NotTls));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(chunks: Vec<Vec<u8>>) {
            let mut deframer = Deframer::default();
            for chunk in chunks {
                if deframer.push(&chunk).is_err() {
                    break;
                }
                while let Ok(Some(_)) = deframer.next_message() {}
            }
        }
    }
}
