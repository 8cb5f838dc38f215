//! Protocols between the nodes of a cluster: Galera's group communication and incremental state transfer, and XCom of
//! Group Replication.
//!
//! Sources: Galera's `gcomm/src/gcomm/datagram.hpp` (`NetHeader`, `crc32`) and `galera/src/ist_proto.hpp`;
//! MySQL's `xcom/xcom_transport.cc` (`put_header_1_0`) and `xcom_vp.x`.

use crc_fast::{CrcAlgorithm, Digest};

use super::{Class, Direction, Evidence, Protocol, State};

/// Length with flags and version, and a checksum: both little-endian.
const GALERA_HEADER: usize = 8;

/// Bits of the first word: length, and the algorithm of the checksum over the length and the message.
const GALERA_LENGTH: u32 = 0x00ff_ffff;
const GALERA_FLAGS: u32 = 0x0f00_0000;
const GALERA_CRC32: u32 = 1 << 24;
const GALERA_CRC32C: u32 = 1 << 25;

/// Version, type, flags, control (one byte each), and length; a sequence number and a checksum follow.
const IST_HEADER: usize = 8;

/// Version (u32), length (u32), type, tag (u16), all big-endian; one byte of padding.
const XCOM_HEADER: usize = 12;

/// Upper limit for plausible versions; the newest version of XCom's protocol is 10.
const XCOM_MAX_VERSION: u32 = 32;

/// Highest XCom message type: 0 is a normal message, 1 a version request, 2 a version reply.
const XCOM_MAX_TYPE: u8 = 2;

/// Recognises a connection between nodes from its start. In Galera the accepting node sends first, in XCom the
/// connecting one.
pub(super) fn from_start(to_server: &[u8], to_client: &[u8]) -> Option<Class> {
    galera(Direction::ToClient, 0, to_client)
        .or_else(|| galera(Direction::ToServer, 0, to_server))
        .or_else(|| incremental_transfer(to_server, to_client))
        .or_else(|| xcom(Direction::ToServer, 0, to_server))
}

/// Recognises a connection whose beginning was not captured.
pub(super) fn in_the_middle(direction: Direction, at: usize, bytes: &[u8]) -> Option<Class> {
    galera(direction, at, bytes).or_else(|| xcom(direction, at, bytes))
}

/// Recognises a message of gcomm by its checksum: headers of MySQL packets look alike but have none.
fn galera(direction: Direction, at: usize, bytes: &[u8]) -> Option<Class> {
    let (word, rest) = bytes.split_first_chunk()?;
    let (stored, rest) = rest.split_first_chunk()?;
    let word = u32::from_le_bytes(*word);
    let length = word & GALERA_LENGTH;
    let algorithm = match word & GALERA_FLAGS {
        GALERA_CRC32 => CrcAlgorithm::Crc32IsoHdlc,
        GALERA_CRC32C => CrcAlgorithm::Crc32Iscsi,
        _ => return None,
    };
    let message = rest.get(..usize::try_from(length).ok()?).filter(|message| !message.is_empty())?;
    let mut digest = Digest::new(algorithm);
    digest.update(&length.to_le_bytes());
    digest.update(message);
    if digest.finalize() != u64::from(u32::from_le_bytes(*stored)) {
        return None;
    }
    let evidence = Evidence::new(direction, at, bytes, GALERA_HEADER, "message of Galera's group communication");
    Some(Class::new(Protocol::Galera, State::Clear, vec![evidence]).settled())
}

/// Recognises an incremental state transfer: the joiner, which accepts the connection, sends a handshake (type 1), and
/// the donor answers (type 2).
fn incremental_transfer(to_server: &[u8], to_client: &[u8]) -> Option<Class> {
    let [version @ 1..=32, 1, 0, 0, 0, 0, 0, 0, ..] = to_client else { return None };
    let is_answered = to_server.is_empty() || to_server.starts_with(&[*version, 2, 0]);
    let meaning = "handshake of Galera's state transfer (IST)";
    let evidence = || Evidence::new(Direction::ToClient, 0, to_client, IST_HEADER, meaning);
    is_answered.then(|| Class::new(Protocol::IncrementalTransfer, State::Clear, vec![evidence()]).settled())
}

fn xcom(direction: Direction, at: usize, bytes: &[u8]) -> Option<Class> {
    let header: &[u8; XCOM_HEADER] = bytes.first_chunk()?;
    let [v0, v1, v2, v3, l0, l1, l2, l3, kind, ..] = *header;
    let version = u32::from_be_bytes([v0, v1, v2, v3]);
    let length = usize::try_from(u32::from_be_bytes([l0, l1, l2, l3])).ok()?;
    let rest = bytes.get(XCOM_HEADER..).unwrap_or_default();
    let fits = if kind == 0 { length > 0 && (rest.len() <= length || xcom_follows(rest, length)) } else { length == 0 };
    if version > XCOM_MAX_VERSION || kind > XCOM_MAX_TYPE || !fits {
        return None;
    }
    let evidence = Evidence::new(direction, at, bytes, XCOM_HEADER, "message of Group Replication (XCom)");
    Some(Class::new(Protocol::GroupReplication, State::Clear, vec![evidence]).settled())
}

/// Whether another XCom message can follow the first: the captured ones of its first three bytes, the high bytes of the
/// version, are zero.
fn xcom_follows(rest: &[u8], length: usize) -> bool {
    let Some(next) = rest.get(length..) else { return false };
    next.iter().zip([0, 0, 0]).all(|(byte, zero)| *byte == zero)
}
