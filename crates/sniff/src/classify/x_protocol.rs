//! Recognises the X Protocol: its messages are in clear until the capability `tls` is set.
//!
//! Source: MySQL's `mysqlx.proto`. A message is its length (u32, little-endian, with the type byte), its type, its body.

use super::{Class, Direction, Evidence, Protocol, State, tls};

/// Bytes of a message header: length and type.
const HEADER: usize = 5;

/// Maximum plausible length of the first messages.
const MAX_BYTES: usize = 1 << 20;

const CAPABILITIES_GET: u8 = 1;
const CAPABILITIES_SET: u8 = 2;
const AUTHENTICATE_START: u8 = 4;

/// The notice that servers send first since 8.0.16: a `GLOBAL` frame of the type "hello".
const HELLO: &[u8] = &[5, 0, 0, 0, 0x0b, 8, 5];

/// Recognises a connection that begins with messages of the X Protocol.
pub(super) fn from_start(to_server: &[u8], to_client: &[u8]) -> Option<Class> {
    let greeted = to_client.starts_with(HELLO);
    if !greeted && !matches!(message(to_server), Some((_, CAPABILITIES_GET..=AUTHENTICATE_START))) {
        return None;
    }
    let mut evidence = Vec::new();
    if greeted {
        evidence.push(Evidence::new(Direction::ToClient, 0, to_client, HEADER, "hello of the X Protocol"));
    }
    let mut at = 0_usize;
    while let Some(rest) = to_server.get(at..).filter(|rest| !rest.is_empty()) {
        if tls::is_client_hello(rest) {
            let answer = tls_answer(to_client);
            let server_at = to_client.len().saturating_sub(answer.len());
            return Some(tls::handshake(Protocol::XProtocol, evidence, (at, rest), (server_at, answer)));
        }
        let Some((length, kind)) = message(rest) else { break };
        if !matches!(kind, CAPABILITIES_GET | CAPABILITIES_SET) {
            evidence.push(Evidence::new(Direction::ToServer, at, rest, HEADER, "login without TLS"));
            return Some(Class::new(Protocol::XProtocol, State::Clear, evidence).settled());
        }
        at = at.saturating_add(4).saturating_add(length);
    }
    Some(Class::new(Protocol::XProtocol, State::Opening, evidence))
}

/// Length and type of the message that begins here.
fn message(bytes: &[u8]) -> Option<(usize, u8)> {
    let (length, rest) = bytes.split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok().filter(|length| (1..=MAX_BYTES).contains(length))?;
    Some((length, *rest.first()?))
}

/// The server's records after its messages in clear.
fn tls_answer(to_client: &[u8]) -> &[u8] {
    let mut rest = to_client;
    while let Some((length, _)) = message(rest).filter(|_| !rest.starts_with(&[0x16, 3])) {
        rest = rest.get(length.saturating_add(4)..).unwrap_or_default();
    }
    rest
}
