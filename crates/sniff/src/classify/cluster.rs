//! Protocols between the nodes of a cluster: Galera's group communication and incremental state transfer, and XCom of
//! Group Replication.
//!
//! Sources: Galera's `gcomm/src/socket.hpp` (`NetHeader`), `gcomm/src/gmcast_message.hpp` and `galera/src/ist_proto.hpp`;
//! MySQL's `xcom/xcom_transport.cc` (`put_header_1_0`) and `xcom_vp.x`.

use super::{Class, Direction, Evidence, Protocol, State};

/// Length with flags and version, and a checksum: both little-endian.
const GALERA_HEADER: usize = 8;

/// Largest message of gcomm.
const GALERA_MAX_BYTES: u32 = 1 << 20;

/// Bits of the first word: 24 of length, `F_CRC32` and `F_CRC32C`, version.
const GALERA_LENGTH: u32 = 0x00ff_ffff;
const GALERA_CHECKSUMS: u32 = 0x0300_0000;
const GALERA_FLAGS: u32 = 0x0f00_0000;

/// Version, type, flags and two bytes more, then a length of eight bytes.
const IST_HEADER: usize = 12;

/// Version (u32), length (u32), type, tag (u16), all big-endian; one byte of padding.
const XCOM_HEADER: usize = 12;

/// Newest version of XCom's protocol is 10.
const XCOM_MAX_VERSION: u32 = 32;

/// XCom's message types: normal, request and reply of versions.
const XCOM_MAX_TYPE: u8 = 2;

/// A connection between nodes: the one that accepts speaks first in Galera, the one that connects in XCom.
pub(super) fn from_start(to_server: &[u8], to_client: &[u8]) -> Option<Class> {
    galera(Direction::ToClient, 0, to_client)
        .or_else(|| galera(Direction::ToServer, 0, to_server))
        .or_else(|| incremental_transfer(to_client))
        .or_else(|| xcom(Direction::ToServer, 0, to_server))
}

/// A connection that was joined in the middle.
pub(super) fn in_the_middle(direction: Direction, at: usize, bytes: &[u8]) -> Option<Class> {
    galera(direction, at, bytes).or_else(|| xcom(direction, at, bytes))
}

/// A message of gcomm. Its length is checked against the bytes that are here, or against the header of the next message.
fn galera(direction: Direction, at: usize, bytes: &[u8]) -> Option<Class> {
    let length = galera_length(bytes)?;
    let rest = bytes.get(GALERA_HEADER.saturating_add(length)..);
    let next_fits = rest.is_none_or(|rest| rest.is_empty() || rest.len() < 4 || galera_length(rest).is_some());
    if !next_fits {
        return None;
    }
    let evidence = Evidence::new(direction, at, bytes, GALERA_HEADER, "message of Galera's group communication");
    Some(Class::new(Protocol::Galera, State::Clear, vec![evidence]).settled())
}

fn galera_length(bytes: &[u8]) -> Option<usize> {
    let word = u32::from_le_bytes(*bytes.first_chunk()?);
    let (length, flags, version) = (word & GALERA_LENGTH, word & GALERA_FLAGS, word >> 28);
    // Versions 0 to 2 exist. A message without a checksum is possible, but is not how servers are set up.
    let is_header = flags & !GALERA_CHECKSUMS == 0 && flags != 0 && version <= 3;
    let is_sized = (1..=GALERA_MAX_BYTES).contains(&length);
    (is_header && is_sized).then(|| usize::try_from(length).ok()).flatten()
}

/// The handshake that the joiner sends: version, type 1, no flags, no length.
fn incremental_transfer(to_client: &[u8]) -> Option<Class> {
    let [1..=32, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, ..] = to_client else { return None };
    let evidence =
        Evidence::new(Direction::ToClient, 0, to_client, IST_HEADER, "handshake of Galera's state transfer (IST)");
    Some(Class::new(Protocol::IncrementalTransfer, State::Clear, vec![evidence]).settled())
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

/// Whether another message begins after the first: three zero bytes and a small version.
fn xcom_follows(rest: &[u8], length: usize) -> bool {
    let Some(next) = rest.get(length..) else { return false };
    next.iter().zip([0, 0, 0]).all(|(byte, zero)| *byte == zero)
}
