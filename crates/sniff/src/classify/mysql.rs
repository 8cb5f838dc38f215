//! Recognises the classic protocol by the greeting, the login or the switch to TLS, and the commands that start
//! replication.
//!
//! Source: MySQL's "Connection Phase", "Command Phase" and "Compression"; `my_command.h` for the commands.

use std::ops::RangeInclusive;

use server::greeting::{self, FirstPacket, capability};

use super::{Class, Direction, Evidence, Protocol, State, tls};

/// Bytes of a packet header: length (3), sequence number (1).
const HEADER: usize = 4;

/// Bytes of the header of a compressed packet: a packet header, then the length before compression (3).
const COMPRESSED_HEADER: usize = 7;

/// Payload length of the request for TLS: a login that ends before the user name.
const SSL_REQUEST_BYTES: usize = 32;

/// Sequence number of the client's first packet.
const ANSWER: u8 = 1;

/// Plausible payload lengths of a login: fixed fields (32 bytes since 4.1, 5 bytes before), the user name, and
/// connection attributes of at most 64 KiB.
const LOGIN_BYTES: RangeInclusive<usize> = 33..=70_000;
const OLD_LOGIN_BYTES: RangeInclusive<usize> = 6..=70_000;

/// Number of bytes from the client after which a connection in clear is no longer examined. A replica sends the command
/// that starts its stream within fewer bytes.
const SETTLED_BYTES: usize = 4096;

/// Bytes of a login shown as evidence: header and capabilities. The user name follows later.
const LOGIN_EVIDENCE: usize = 8;

/// Commands that show the purpose of a connection.
const COMMANDS: [(u8, &str, Protocol); 5] = [
    (0x12, "COM_BINLOG_DUMP", Protocol::Replication),
    (0x15, "COM_REGISTER_SLAVE", Protocol::Replication),
    (0x1e, "COM_BINLOG_DUMP_GTID", Protocol::Replication),
    (0x20, "COM_CLONE", Protocol::Clone),
    (0x21, "COM_SUBSCRIBE_GROUP_REPLICATION_STREAM", Protocol::GroupReplication),
];

/// Commands that identify a connection whose beginning was not captured: those that clients send frequently.
const COMMON: [(u8, &str); 7] = [
    (0x01, "COM_QUIT"),
    (0x03, "COM_QUERY"),
    (0x0e, "COM_PING"),
    (0x16, "COM_STMT_PREPARE"),
    (0x17, "COM_STMT_EXECUTE"),
    (0x19, "COM_STMT_CLOSE"),
    (0x1f, "COM_RESET_CONNECTION"),
];

/// A packet; its payload may be incomplete.
struct Packet<'p> {
    length: usize,
    sequence: u8,
    payload: &'p [u8],
}

impl<'p> Packet<'p> {
    /// Parses the packet at the start of `bytes`, with a header of `header` bytes.
    fn parse(bytes: &'p [u8], header: usize) -> Option<Self> {
        let [low, middle, high, sequence, ..] = bytes else { return None };
        let length = usize::try_from(u32::from_le_bytes([*low, *middle, *high, 0])).ok()?;
        let payload = bytes.get(header..)?;
        Some(Self { length, sequence: *sequence, payload: payload.get(..length).unwrap_or(payload) })
    }

    fn is_whole(&self) -> bool {
        self.payload.len() == self.length
    }
}

/// Recognises a connection that begins with the server's greeting, or with its refusal.
pub(super) fn from_start(to_server: &[u8], to_client: &[u8]) -> Option<Class> {
    let first = Packet::parse(to_client, HEADER).filter(|packet| packet.sequence == 0 && packet.is_whole())?;
    let meaning = match greeting::parse(first.payload)? {
        FirstPacket::Greeting(_) => "greeting of the server",
        FirstPacket::Refusal { .. } => "the server refuses the connection",
    };
    let evidence = vec![Evidence::new(Direction::ToClient, 0, to_client, HEADER.saturating_add(1), meaning)];
    let Some(answer) = Packet::parse(to_server, HEADER) else {
        return Some(Class::new(Protocol::Mysql, State::Opening, evidence));
    };
    if answer.sequence != ANSWER || !OLD_LOGIN_BYTES.contains(&answer.length) {
        return Some(Class::new(Protocol::Mysql, State::Unknown, evidence));
    }
    let Some(capabilities) = answer.payload.first_chunk().map(|bits| u32::from_le_bytes(*bits)) else {
        return Some(Class::new(Protocol::Mysql, State::Opening, evidence));
    };
    if answer.length == SSL_REQUEST_BYTES && capabilities & capability::SSL != 0 {
        let greeted = HEADER.saturating_add(first.length);
        return Some(after_request(to_server, evidence, greeted, to_client));
    }
    if capabilities & capability::PROTOCOL_41 != 0 && !LOGIN_BYTES.contains(&answer.length) {
        return Some(Class::new(Protocol::Mysql, State::Unknown, evidence));
    }
    Some(in_clear(to_server, capabilities, evidence))
}

/// Classifies a connection in which the client has requested TLS.
fn after_request(to_server: &[u8], mut evidence: Vec<Evidence>, greeted: usize, to_client: &[u8]) -> Class {
    let asked = HEADER.saturating_add(SSL_REQUEST_BYTES);
    evidence.push(Evidence::new(Direction::ToServer, 0, to_server, LOGIN_EVIDENCE, "the client asks for TLS"));
    let rest = to_server.get(asked..).unwrap_or_default();
    let answer = to_client.get(greeted..).unwrap_or_default();
    if rest.len() < 6 {
        return Class::new(Protocol::Mysql, State::Opening, evidence);
    }
    if !tls::is_client_hello(rest) {
        return Class::new(Protocol::Mysql, State::Unknown, evidence);
    }
    tls::handshake(Protocol::Mysql, evidence, (asked, rest), (greeted, answer))
}

/// Classifies a connection in which the client has logged in without TLS: the user name and everything after it is in
/// clear.
fn in_clear(to_server: &[u8], capabilities: u32, mut evidence: Vec<Evidence>) -> Class {
    evidence.push(Evidence::new(Direction::ToServer, 0, to_server, LOGIN_EVIDENCE, "login without TLS"));
    let is_compressed = capabilities & (capability::COMPRESS | capability::ZSTD) != 0;
    let (mut protocol, mut is_compressing) = (Protocol::Mysql, false);
    let mut at = 0_usize;
    while let Some(rest) = to_server.get(at..).filter(|rest| rest.len() > HEADER) {
        let begins_command = rest.get(3) == Some(&0);
        is_compressing |= begins_command && is_compressed;
        let header = if is_compressing { COMPRESSED_HEADER } else { HEADER };
        let Some(packet) = Packet::parse(rest, header) else { break };
        if is_compressing {
            protocol = Protocol::MysqlCompressed;
        }
        if let Some((found, name)) = begins_command.then(|| purpose(rest, &packet, is_compressing)).flatten() {
            evidence.push(Evidence::new(Direction::ToServer, at, rest, header.saturating_add(1), name));
            return Class::new(found, State::Clear, evidence).settled();
        }
        at = at.saturating_add(header).saturating_add(packet.length);
    }
    let class = Class::new(protocol, State::Clear, evidence);
    if to_server.len() >= SETTLED_BYTES { class.settled() } else { class }
}

/// The purpose that a command shows, if any. Of compressed packets only those stored without compression are examined,
/// as short ones are.
fn purpose(bytes: &[u8], packet: &Packet<'_>, is_compressing: bool) -> Option<(Protocol, &'static str)> {
    let command = if is_compressing {
        bytes.get(HEADER..COMPRESSED_HEADER).filter(|length| *length == [0; 3])?;
        packet.payload.get(HEADER)?
    } else {
        packet.payload.first()?
    };
    COMMANDS.iter().find(|(number, ..)| number == command).map(|(_, name, protocol)| (*protocol, *name))
}

/// Recognises a connection whose login was not captured, by a complete command or a binary log event.
pub(super) fn in_the_middle(direction: Direction, at: usize, bytes: &[u8]) -> Option<Class> {
    let packet = Packet::parse(bytes, HEADER)?;
    let found = |protocol, count, meaning: &str| {
        let evidence = Evidence::new(direction, at, bytes, count, meaning);
        Some(Class::new(protocol, State::Clear, vec![evidence]))
    };
    match direction {
        Direction::ToServer => {
            let (command, rest) = packet.payload.split_first()?;
            let is_command = packet.sequence == 0 && packet.is_whole();
            if let Some((_, name, protocol)) = COMMANDS.iter().find(|(number, ..)| is_command && number == command) {
                return found(*protocol, HEADER.saturating_add(1), name).map(Class::settled);
            }
            let (_, name) = COMMON.iter().find(|(number, _)| is_command && number == command)?;
            let is_plausible = *name != "COM_QUERY" || is_text(rest);
            if is_plausible { found(Protocol::Mysql, HEADER.saturating_add(1), name) } else { None }
        }
        Direction::ToClient => is_event(&packet)
            .then(|| found(Protocol::Replication, HEADER.saturating_add(1), "event of a binary log"))?
            .map(Class::settled),
    }
}

/// Whether these bytes may be the start of a statement's text, after an empty list of query attributes.
fn is_text(statement: &[u8]) -> bool {
    let text = statement.strip_prefix(&[0, 1]).unwrap_or(statement);
    let first = text.get(..8).unwrap_or(text);
    !first.is_empty() && first.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

/// Whether a server's packet holds a binary log event: a zero byte, optionally the header of semi-synchronous
/// replication, and an event header with the length of the rest of the packet.
///
/// Source: `binlog_event.h`: time, type, server id, length, next position, flags.
fn is_event(packet: &Packet<'_>) -> bool {
    let Some(event) = packet.payload.strip_prefix(&[0]) else { return false };
    let event_bytes = packet.length.saturating_sub(1);
    let (event, event_bytes) = match event {
        [0xef, _, rest @ ..] => (rest, event_bytes.saturating_sub(2)),
        _ => (event, event_bytes),
    };
    let declared = event.get(9..13).and_then(|length| length.first_chunk().copied()).map(u32::from_le_bytes);
    declared.and_then(|length| usize::try_from(length).ok()) == Some(event_bytes) && event_bytes >= 19
}
