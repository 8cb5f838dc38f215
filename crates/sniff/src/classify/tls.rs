//! TLS, from the record headers and the ServerHello: they are in clear in every version.
//!
//! Source: RFC 8446 sections 4.1.3 and 5.1, RFC 5246 section 6.2.

use serde::{Deserialize, Serialize};
use server::tls::{
    TlsVersion,
    record::{Deframer, Message},
    server_hello::{self, ServerHello},
    suites,
};

use super::{Class, Direction, Evidence, Protocol, State};

/// Bytes of a record header.
const HEADER: usize = 5;

/// Record header, type and length of the message, version.
const HELLO_EVIDENCE: usize = 11;

/// Largest length of an encrypted record (RFC 5246 allows 2048 bytes more than the content).
const MAX_RECORD: usize = 16_384 + 2048;

/// `HandshakeType` of a ServerHello.
const SERVER_HELLO: u8 = 2;

/// What the server chose.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Tls {
    /// The version; `None` if the connection was joined after the handshake, or the number is not known.
    pub version: Option<TlsVersion>,
    /// IANA name of the cipher suite.
    pub suite: Option<String>,
}

/// A connection that begins with TLS; `None` if it does not.
pub(super) fn from_start(to_server: &[u8], to_client: &[u8]) -> Option<Class> {
    is_client_hello(to_server).then(|| handshake(Protocol::Tls, Vec::new(), (0, to_server), (0, to_client)))
}

/// The handshake that begins at these offsets of both directions.
pub(super) fn handshake(
    protocol: Protocol,
    before: Vec<Evidence>,
    (client_at, to_server): (usize, &[u8]),
    (server_at, to_client): (usize, &[u8]),
) -> Class {
    let Some(hello) = server_hello(to_client) else {
        let hello = Evidence::new(Direction::ToServer, client_at, to_server, HEADER, "record with a ClientHello");
        return Class::new(protocol, State::Opening, vec![hello]).over(protocol, before);
    };
    let version = TlsVersion::from_wire(hello.version);
    let suite = suites::name(hello.suite);
    let version_name = version.map_or("unknown version", TlsVersion::standard_name);
    let meaning = format!("ServerHello: {version_name}, {suite}");
    let seen = Evidence::new(Direction::ToClient, server_at, to_client, HELLO_EVIDENCE, meaning);
    let state = if suite.contains("_NULL_") { State::Clear } else { State::Encrypted };
    let class = Class { tls: Some(Tls { version, suite: Some(suite) }), ..Class::new(protocol, state, vec![seen]) };
    class.settled().over(protocol, before)
}

/// Whether these bytes begin a record with a ClientHello.
pub(super) fn is_client_hello(bytes: &[u8]) -> bool {
    matches!(bytes, [0x16, 3, 0..=4, _, _, 1, ..])
}

fn server_hello(to_client: &[u8]) -> Option<ServerHello> {
    let mut deframer = Deframer::default();
    deframer.push(to_client).ok()?;
    while let Ok(Some(message)) = deframer.next_message() {
        if let Message::Handshake { kind: SERVER_HELLO, body } = message {
            return server_hello::parse(&body);
        }
    }
    None
}

/// A connection that was joined after the handshake: encrypted records, one after the other.
pub(super) fn in_the_middle(direction: Direction, at: usize, bytes: &[u8]) -> Option<Class> {
    let length = data_record(bytes)?;
    let next = bytes.get(HEADER.saturating_add(length)..).unwrap_or_default();
    if !next.is_empty() && !next.starts_with(&[0x15, 3]) && !next.starts_with(&[0x17, 3]) {
        return None;
    }
    let seen = Evidence::new(direction, at, bytes, HEADER, "record with encrypted data");
    let tls = Tls { version: None, suite: None };
    Some(Class { tls: Some(tls), ..Class::new(Protocol::Tls, State::Encrypted, vec![seen]) }.settled())
}

/// Length of an application data record; the shortest has a tag of 16 bytes and one byte more.
fn data_record(bytes: &[u8]) -> Option<usize> {
    let [0x17, 3, 0..=4, high, low, ..] = bytes else { return None };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    (17..=MAX_RECORD).contains(&length).then_some(length)
}
