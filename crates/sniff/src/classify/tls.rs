//! Recognises TLS by the record headers and the ServerHello, which are in clear in every version.
//!
//! Source: RFC 8446 sections 4.1.3 and 5.1, RFC 5246 section 6.2.

use serde::{Deserialize, Serialize};
use server::tls::{
    TlsVersion,
    server_hello::{self, ServerHello},
    suites,
};

use super::{Class, Direction, Evidence, Protocol, State};

/// Bytes of a record header.
const HEADER: usize = 5;

/// Bytes shown as evidence: record header, type and length of the message, version.
const HELLO_EVIDENCE: usize = 11;

/// Largest length of an encrypted record (RFC 5246 allows 2048 bytes more than the content).
const MAX_RECORD: usize = 16_384 + 2048;

/// Minimum length of an encrypted record: a tag of 16 bytes and one more byte.
const MIN_ENCRYPTED: usize = 17;

/// `ContentType` of records.
const ALERT: u8 = 0x15;
const HANDSHAKE: u8 = 0x16;
const APPLICATION_DATA: u8 = 0x17;

/// `HandshakeType` of a ServerHello.
const SERVER_HELLO: u8 = 2;

/// Cipher suites without encryption: those with NULL (RFC 2246, 4279, 4492, 4785, 5246, 5487, 5489), with and without a
/// pre-shared key, and those of RFC 9150, which only protect integrity.
const WITHOUT_ENCRYPTION: [u16; 23] = [
    0x0000, 0x0001, 0x0002, 0x002c, 0x002d, 0x002e, 0x003b, 0x00b0, 0x00b1, 0x00b4, 0x00b5, 0x00b8, 0x00b9, 0xc001,
    0xc006, 0xc00b, 0xc010, 0xc015, 0xc039, 0xc03a, 0xc03b, 0xc0b4, 0xc0b5,
];

/// Version and cipher suite that the server chose.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tls {
    /// The version; `None` if the handshake was not captured, or the version is not known.
    pub version: Option<TlsVersion>,
    /// IANA name of the cipher suite.
    pub suite: Option<String>,
}

/// Recognises a connection that begins with TLS.
pub(super) fn from_start(to_server: &[u8], to_client: &[u8]) -> Option<Class> {
    is_client_hello(to_server).then(|| handshake(Protocol::Tls, Vec::new(), (0, to_server), (0, to_client)))
}

/// Classifies a connection by the handshake that begins at these offsets. `before` is the evidence that precedes it.
pub(super) fn handshake(
    protocol: Protocol,
    before: Vec<Evidence>,
    (client_at, to_server): (usize, &[u8]),
    (server_at, to_client): (usize, &[u8]),
) -> Class {
    let hello = match answer(to_client) {
        Answer::Hello(hello) => hello,
        other => {
            let asked = Evidence::new(Direction::ToServer, client_at, to_server, HEADER, "record with a ClientHello");
            let state = if other == Answer::Incomplete { State::Opening } else { State::Unknown };
            return Class::new(protocol, state, vec![asked]).over(protocol, before);
        }
    };
    let version = TlsVersion::from_wire(hello.version);
    let suite = suites::name(hello.suite);
    let version_name = version.map_or("unknown version", TlsVersion::standard_name);
    let meaning = format!("ServerHello: {version_name}, {suite}");
    let seen = Evidence::new(Direction::ToClient, server_at, to_client, HELLO_EVIDENCE, meaning);
    let tls = Tls { version, suite: Some(suite) };
    let class = Class { tls: Some(tls), ..Class::new(protocol, state_of(hello.suite), vec![seen]) };
    class.settled().over(protocol, before)
}

/// State of a connection with this cipher suite. An unknown suite may be one without encryption.
fn state_of(suite: u16) -> State {
    if WITHOUT_ENCRYPTION.contains(&suite) {
        State::Clear
    } else if suites::SUITES.binary_search_by_key(&suite, |(number, _)| *number).is_ok() {
        State::Encrypted
    } else {
        State::Unknown
    }
}

/// Whether these bytes begin a record with a ClientHello.
pub(super) fn is_client_hello(bytes: &[u8]) -> bool {
    matches!(bytes, [0x16, 3, 0..=4, _, _, 1, ..])
}

/// The server's answer to a ClientHello.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    /// Nothing yet, an alert, or a part of a ServerHello.
    Incomplete,
    Hello(ServerHello),
    /// Not a TLS answer.
    Foreign,
}

/// Parses the answer. The record may be incomplete as long as the ServerHello in it is complete.
fn answer(to_client: &[u8]) -> Answer {
    let (mut rest, mut message) = (to_client, Vec::new());
    while let Some((kind, length)) = record(rest) {
        let body = rest.get(HEADER..).unwrap_or_default();
        let (fragment, next) = body.split_at_checked(length).unwrap_or((body, &[]));
        match kind {
            HANDSHAKE => message.extend_from_slice(fragment),
            ALERT => {}
            _ => return Answer::Foreign,
        }
        if let Some(answer) = first_message(&message) {
            return answer;
        }
        rest = next;
    }
    let is_begun =
        matches!(rest, [] | [0x14..=0x18] | [0x14..=0x18, 3] | [0x14..=0x18, 3, 0..=4] | [0x14..=0x18, 3, 0..=4, _]);
    if is_begun { Answer::Incomplete } else { Answer::Foreign }
}

/// The first handshake message; `None` if more bytes are needed.
fn first_message(bytes: &[u8]) -> Option<Answer> {
    let [kind, high, middle, low, body @ ..] = bytes else { return None };
    if *kind != SERVER_HELLO {
        return Some(Answer::Foreign);
    }
    let length = usize::try_from(u32::from_be_bytes([0, *high, *middle, *low])).ok()?;
    let hello = server_hello::parse(body.get(..length)?);
    Some(hello.map_or(Answer::Foreign, Answer::Hello))
}

/// Recognises a connection whose handshake was not captured: a complete encrypted record, followed by the header of
/// another one or by nothing. A packet of another protocol can begin with the same bytes, but does not end at the same
/// place.
pub(super) fn in_the_middle(direction: Direction, at: usize, bytes: &[u8]) -> Option<Class> {
    let length = encrypted(bytes, APPLICATION_DATA)?;
    let next = bytes.get(HEADER.saturating_add(length)..)?;
    if !next.is_empty() && encrypted(next, APPLICATION_DATA).or_else(|| encrypted(next, ALERT)).is_none() {
        return None;
    }
    let seen = Evidence::new(direction, at, bytes, HEADER, "record with encrypted data");
    let tls = Tls { version: None, suite: None };
    Some(Class { tls: Some(tls), ..Class::new(Protocol::Tls, State::Encrypted, vec![seen]) }.settled())
}

/// Length of an encrypted record of this type, TLS 1.0 or later.
fn encrypted(bytes: &[u8], kind: u8) -> Option<usize> {
    let (found, length) = record(bytes)?;
    let is_tls = matches!(bytes.get(2), Some(1..=3));
    (found == kind && is_tls && length >= MIN_ENCRYPTED).then_some(length)
}

/// Type and length of the record with this header.
fn record(bytes: &[u8]) -> Option<(u8, usize)> {
    let [kind @ 0x14..=0x18, 3, 0..=4, high, low, ..] = bytes else { return None };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    (length <= MAX_RECORD).then_some((*kind, length))
}
