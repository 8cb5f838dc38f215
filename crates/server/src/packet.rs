//! Packets of the classic protocol: three bytes of length (little-endian), one byte of sequence number, the payload.
//! Payloads of 2^24-1 bytes and more are split.
//!
//! Source: MySQL's "Protocol Basics: MySQL Packets".

use std::io::{self, Read, Write};

use crate::{
    bytes::Bytes,
    error::{Error, OtherService, Phase},
    error_code,
    greeting::{self, FirstPacket, Greeting},
    socket::{Socket, silent_service},
};

/// Maximum payload of a packet. A payload of this length is continued in the next packet.
const FULL_PAYLOAD: usize = 0xff_ffff;

/// Maximum size of a first packet; real ones stay below 200 bytes.
const MAX_GREETING_BYTES: usize = 4096;

/// An error of the packet layer.
#[derive(Debug)]
pub(crate) enum PacketError {
    /// Error of the transport.
    Io(io::Error),
    /// The payload exceeds the limit.
    TooLarge,
}

impl From<io::Error> for PacketError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads one payload of at most `limit_bytes`, joining split ones.
///
/// Memory grows with the bytes that arrive, not with the announced length. `sequence` becomes the number for the
/// answer.
pub(crate) fn read(stream: &mut impl Read, sequence: &mut u8, limit_bytes: usize) -> Result<Vec<u8>, PacketError> {
    let mut payload = Vec::new();
    read_into(stream, sequence, limit_bytes, &mut payload)?;
    Ok(payload)
}

/// As [`read`], but into a buffer that the caller reuses.
pub(crate) fn read_into(
    stream: &mut impl Read,
    sequence: &mut u8,
    limit_bytes: usize,
    payload: &mut Vec<u8>,
) -> Result<(), PacketError> {
    payload.clear();
    loop {
        let mut header = [0; 4];
        stream.read_exact(&mut header)?;
        let [low, middle, high, number] = header;
        *sequence = number.wrapping_add(1);
        let length = u32::from_le_bytes([low, middle, high, 0]);
        let length = usize::try_from(length).unwrap_or(FULL_PAYLOAD);
        if length > limit_bytes.saturating_sub(payload.len()) {
            return Err(PacketError::TooLarge);
        }
        let wanted = u64::from(u32::from_le_bytes([low, middle, high, 0]));
        let count = stream.by_ref().take(wanted).read_to_end(payload)?;
        if count < length {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        if length < FULL_PAYLOAD {
            return Ok(());
        }
    }
}

/// Writes one payload, split if necessary.
pub(crate) fn write(stream: &mut impl Write, sequence: &mut u8, payload: &[u8]) -> io::Result<()> {
    let mut chunks = payload.chunks(FULL_PAYLOAD).peekable();
    if chunks.peek().is_none() {
        write_one(stream, sequence, &[])?;
    }
    let mut last_full = false;
    for chunk in chunks {
        write_one(stream, sequence, chunk)?;
        last_full = chunk.len() == FULL_PAYLOAD;
    }
    if last_full {
        write_one(stream, sequence, &[])?;
    }
    stream.flush()
}

fn write_one(stream: &mut impl Write, sequence: &mut u8, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?.to_le_bytes();
    let [low, middle, high, _] = length;
    // A single write, so that one TLS record or segment contains the packet. Wiped because it may contain an
    // authentication answer.
    let mut packet = zeroize::Zeroizing::new(Vec::with_capacity(payload.len().saturating_add(4)));
    packet.extend_from_slice(&[low, middle, high, *sequence]);
    packet.extend_from_slice(payload);
    *sequence = sequence.wrapping_add(1);
    stream.write_all(&packet)
}

/// Writes one payload of two parts without copying it; split if necessary. Not for secrets: nothing is wiped.
pub(crate) fn write_bulk(stream: &mut impl Write, sequence: &mut u8, head: &[u8], body: &[u8]) -> io::Result<()> {
    let mut parts = [head, body];
    loop {
        let total = parts.iter().map(|part| part.len()).fold(0, usize::saturating_add).min(FULL_PAYLOAD);
        let length = u32::try_from(total).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
        let [low, middle, high, _] = length.to_le_bytes();
        let header = [low, middle, high, *sequence];
        *sequence = sequence.wrapping_add(1);
        let (first, rest) = parts[0].split_at(parts[0].len().min(total));
        let (second, after) = parts[1].split_at(parts[1].len().min(total.saturating_sub(first.len())));
        write_all_vectored(stream, [&header, first, second])?;
        parts = [rest, after];
        if total < FULL_PAYLOAD {
            return stream.flush();
        }
    }
}

/// Writes parts with as few system calls and TLS records as the stream permits.
fn write_all_vectored(stream: &mut impl Write, parts: [&[u8]; 3]) -> io::Result<()> {
    let mut written = stream.write_vectored(&parts.map(io::IoSlice::new))?;
    for part in parts {
        let skipped = written.min(part.len());
        written = written.saturating_sub(skipped);
        stream.write_all(part.get(skipped..).unwrap_or_default())?;
    }
    Ok(())
}

/// Reads the server's first packet; recognises other kinds of servers.
pub(crate) fn read_greeting(socket: &mut Socket) -> Result<Greeting, Error> {
    let mut start = Vec::new();
    let read = Read::take(&mut *socket, 5).read_to_end(&mut start);
    if let Err(error) = read {
        if start.is_empty() {
            let failure = socket.failure(Phase::Greeting, error);
            if matches!(failure, Error::Timeout { .. })
                && let Some(service) = silent_service(socket)
            {
                return Err(not_mysql(socket, service));
            }
            return Err(failure);
        }
        return Err(not_mysql(socket, OtherService::guess(&start)));
    }
    let length = payload_length(&start);
    let (Some(length), [_, _, _, 0, first @ (10 | 0xff)]) = (length, start.as_slice()) else {
        return Err(not_mysql(socket, OtherService::guess(&start)));
    };
    if length == 0 || length > MAX_GREETING_BYTES {
        return Err(not_mysql(socket, OtherService::guess(&start)));
    }
    let mut payload = vec![*first];
    payload.resize(length, 0);
    let rest = payload.get_mut(1..).unwrap_or_default();
    socket.read_exact(rest).map_err(|error| socket.failure(Phase::Greeting, error))?;
    match greeting::parse(&payload) {
        Some(FirstPacket::Greeting(greeting)) => Ok(greeting),
        Some(FirstPacket::Refusal { code, message }) => Err(Error::RefusedBeforeGreeting { code, message }),
        None => Err(not_mysql(socket, OtherService::Unknown)),
    }
}

fn payload_length(start: &[u8]) -> Option<usize> {
    let [low, middle, high] = Bytes::new(start).array()?;
    usize::try_from(u32::from_le_bytes([low, middle, high, 0])).ok()
}

fn not_mysql(socket: &Socket, service: OtherService) -> Error {
    Error::NotMySql { endpoint: socket.endpoint().clone(), service }
}

/// Parses an error packet's payload (after capabilities are agreed on).
pub(crate) fn server_error(payload: &[u8]) -> Option<Error> {
    let mut bytes = Bytes::new(payload);
    if bytes.u8()? != 0xff {
        return None;
    }
    let code = bytes.u16_le()?;
    let mut sqlstate = "HY000".to_owned();
    if bytes.peek() == Some(b'#') {
        bytes.take(1)?;
        sqlstate = String::from_utf8_lossy(bytes.take(5)?).into_owned();
    }
    let message = String::from_utf8_lossy(bytes.rest()).into_owned();
    Some(match code {
        _ if error_code::LOGIN_REFUSED.contains(&code) => Error::AccessDenied { code, message },
        error_code::SECURE_TRANSPORT_REQUIRED => Error::SecureTransportRequired { code, message },
        _ if error_code::STATEMENT_TIMED_OUT.contains(&code) => Error::StatementTimedOut { code, message },
        _ => Error::Server { code, sqlstate, message },
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_cut_payload_is_joined_again() {
        let payload = vec![7; FULL_PAYLOAD + 10];
        let mut wire = Vec::new();
        write(&mut wire, &mut 0, &payload).unwrap();
        let mut sequence = 0;
        let joined = read(&mut wire.as_slice(), &mut sequence, payload.len()).unwrap();
        assert_eq!(joined, payload);
        assert_eq!(sequence, 2);
    }

    #[test]
    fn a_bulk_payload_is_cut_like_any_other() {
        for length in [FULL_PAYLOAD - 1, FULL_PAYLOAD, FULL_PAYLOAD + 10] {
            let (mut cut, mut bulk) = (Vec::new(), Vec::new());
            let payload = vec![7; length];
            write(&mut cut, &mut 3, &payload).unwrap();
            write_bulk(&mut bulk, &mut 3, &payload[..2], &payload[2..]).unwrap();
            assert!(cut == bulk, "{length}");
        }
    }

    #[test]
    fn a_payload_over_the_limit_is_refused_before_it_is_read() {
        let wire = [0xff, 0xff, 0xff, 0];
        assert!(matches!(read(&mut wire.as_slice(), &mut 0, 1024), Err(PacketError::TooLarge)));
    }

    #[test]
    fn an_announced_length_without_bytes_is_an_end() {
        let wire = [0x10, 0, 0, 0, 1, 2];
        assert!(matches!(read(&mut wire.as_slice(), &mut 0, 1024), Err(PacketError::Io(_))));
    }

    #[test]
    fn error_packets_become_errors_by_cause() {
        let denied = server_error(b"\xff\x15\x04#28000Access denied").unwrap();
        assert!(matches!(denied, Error::AccessDenied { code: 1045, .. }));
        let secure = server_error(b"\xff\x57\x0c#HY000secure").unwrap();
        assert!(matches!(secure, Error::SecureTransportRequired { .. }));
        let other = server_error(b"\xff\x20\x04odd").unwrap();
        assert!(matches!(other, Error::Server { code: 1056, sqlstate, .. } if sqlstate == "HY000"));
        assert!(server_error(b"\xff\x20").is_none());
    }

    proptest! {
        #[test]
        fn what_is_written_in_parts_is_read(head: Vec<u8>, body: Vec<u8>, number: u8) {
            let mut wire = Vec::new();
            write_bulk(&mut wire, &mut number.clone(), &head, &body).unwrap();
            let joined = read(&mut wire.as_slice(), &mut 0, 1 << 20).unwrap();
            prop_assert_eq!(joined, [head, body].concat());
        }

        #[test]
        fn what_is_written_is_read(payload: Vec<u8>, number: u8) {
            let mut wire = Vec::new();
            write(&mut wire, &mut number.clone(), &payload).unwrap();
            let mut sequence = 0;
            let joined = read(&mut wire.as_slice(), &mut sequence, 1 << 20).unwrap();
            prop_assert_eq!(joined, payload);
            prop_assert_eq!(sequence, number.wrapping_add(1));
        }
    }
}
