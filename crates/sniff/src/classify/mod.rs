//! Recognises the protocol of a connection from the first bytes of both directions.
//!
//! No content leaves this module: evidence is a few bytes of a protocol header and their meaning.

mod cluster;
mod entropy;
mod evidence;
mod mysql;
mod proxy;
mod tls;
mod transfer;
mod x_protocol;

use std::iter;

use serde::{Deserialize, Serialize};

pub use self::entropy::Entropy;
pub use self::evidence::{Direction, Evidence};
pub use self::tls::Tls;

/// A protocol of servers of the MySQL family, or a data format that is sent over a plain connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// The classic protocol.
    Mysql,
    /// The classic protocol with compressed packets.
    MysqlCompressed,
    /// A replica reads binary logs.
    Replication,
    /// A server clones another one.
    Clone,
    /// Group Replication, over XCom or over the classic protocol.
    GroupReplication,
    /// The X Protocol.
    XProtocol,
    /// Galera replication.
    Galera,
    /// Incremental state transfer of Galera.
    IncrementalTransfer,
    /// xbstream or mbstream, as backup programs send it.
    Xbstream,
    /// rsync's own protocol.
    Rsync,
    /// A tar archive.
    Tar,
    /// Data compressed with gzip, zstd, LZ4 or another program: anybody can read it.
    CompressedData,
    /// Data encrypted with age, xbcrypt or openssl before it was sent.
    EncryptedData,
    /// TLS from the first byte, so the protocol inside is not visible.
    Tls,
    /// None of them.
    Unknown,
}

impl Protocol {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mysql => "MySQL",
            Self::MysqlCompressed => "MySQL, compressed",
            Self::Replication => "replication",
            Self::Clone => "clone",
            Self::GroupReplication => "Group Replication",
            Self::XProtocol => "X Protocol",
            Self::Galera => "Galera",
            Self::IncrementalTransfer => "IST",
            Self::Xbstream => "xbstream",
            Self::Rsync => "rsync",
            Self::Tar => "tar",
            Self::CompressedData => "compressed data",
            Self::EncryptedData => "encrypted data",
            Self::Tls => "TLS",
            Self::Unknown => "unknown",
        }
    }
}

/// Whether others on the network can read a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Others can read it.
    Clear,
    /// Not recognised, so others may be able to read it.
    Unknown,
    /// Only the opening was seen, before anything that needs protection.
    Opening,
    /// Others cannot read it.
    Encrypted,
}

impl State {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clear => "clear",
            Self::Unknown => "unknown",
            Self::Opening => "opening only",
            Self::Encrypted => "encrypted",
        }
    }
}

/// The first bytes of one direction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Side<'s> {
    /// The bytes in order, without a gap.
    pub bytes: &'s [u8],
    /// Whether they are the first bytes of the connection.
    pub is_from_start: bool,
    /// Offsets where segments began. If the beginning of the connection is missing, only these are tested as starts of
    /// messages.
    pub starts: &'s [usize],
}

/// Classification of a connection.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// The protocol.
    pub protocol: Protocol,
    /// Whether others can read the connection.
    pub state: State,
    /// Version and cipher suite of TLS, if it was recognised.
    pub tls: Option<Tls>,
    /// The bytes that show protocol and state.
    pub evidence: Vec<Evidence>,
    /// Entropy of the bytes, if the protocol was not recognised.
    pub entropy: Option<Entropy>,
    /// Whether the classification is final: more bytes cannot change it.
    pub is_settled: bool,
}

impl Class {
    fn new(protocol: Protocol, state: State, evidence: Vec<Evidence>) -> Self {
        Self { protocol, state, tls: None, evidence, entropy: None, is_settled: false }
    }

    fn settled(self) -> Self {
        Self { is_settled: true, ..self }
    }

    /// Turns the classification of the TLS part into that of `protocol` over TLS: keeps its state, and appends its
    /// evidence to `before`.
    fn over(self, protocol: Protocol, before: Vec<Evidence>) -> Self {
        let evidence = before.into_iter().chain(self.evidence).collect();
        Self { protocol, evidence, ..self }
    }
}

/// Classifies a connection. Either direction may be empty.
#[must_use]
pub fn classify(to_server: Side<'_>, to_client: Side<'_>) -> Class {
    if to_server.bytes.is_empty() && to_client.bytes.is_empty() {
        return Class::new(Protocol::Unknown, State::Opening, Vec::new());
    }
    let is_from_start = [to_server, to_client].iter().all(|side| side.is_from_start || side.bytes.is_empty());
    let found = if is_from_start { beginning(to_server.bytes, to_client.bytes) } else { middle(to_server, to_client) };
    found.unwrap_or_else(|| unknown(to_server.bytes, to_client.bytes))
}

/// Recognises a connection from its first bytes, after the header of a proxy if there is one.
fn beginning(to_server: &[u8], to_client: &[u8]) -> Option<Class> {
    let Some((header, length)) = proxy::header(to_server) else { return unproxied(to_server, to_client) };
    let rest = to_server.get(length..).unwrap_or_default();
    let found = unproxied(rest, to_client).or_else(|| {
        let is_all = rest.is_empty() && to_client.is_empty();
        is_all.then(|| Class::new(Protocol::Unknown, State::Opening, Vec::new()))
    })?;
    let evidence = found.evidence.into_iter().map(|evidence| evidence.behind(Direction::ToServer, length));
    Some(Class { evidence: iter::once(header).chain(evidence).collect(), ..found })
}

/// Recognises a connection from its first bytes without a proxy header. Protocols are tested in the order of how
/// reliably their first message identifies them.
fn unproxied(to_server: &[u8], to_client: &[u8]) -> Option<Class> {
    tls::from_start(to_server, to_client)
        .or_else(|| mysql::from_start(to_server, to_client))
        .or_else(|| x_protocol::from_start(to_server, to_client))
        .or_else(|| transfer::from_start(to_server, to_client))
        .or_else(|| cluster::from_start(to_server, to_client))
}

/// Recognises a connection whose beginning was not captured. A message may begin wherever a segment began. Protocols in
/// clear are tested first, since TLS records are recognised by fewer bytes.
fn middle(to_server: Side<'_>, to_client: Side<'_>) -> Option<Class> {
    let all = || tails(to_server, Direction::ToServer).chain(tails(to_client, Direction::ToClient));
    let by = |test: fn(Direction, usize, &[u8]) -> Option<Class>| {
        all().find_map(|(direction, at, bytes)| test(direction, at, bytes))
    };
    transfer::in_the_middle(Direction::ToServer, to_server.bytes)
        .or_else(|| transfer::in_the_middle(Direction::ToClient, to_client.bytes))
        .or_else(|| by(mysql::in_the_middle))
        .or_else(|| by(cluster::in_the_middle))
        .or_else(|| by(tls::in_the_middle))
}

/// For each segment start of a direction: the offset, and all bytes from there on.
fn tails<'s>(side: Side<'s>, direction: Direction) -> impl Iterator<Item = (Direction, usize, &'s [u8])> {
    side.starts.iter().filter_map(move |start| Some((direction, *start, side.bytes.get(*start..)?)))
}

fn unknown(to_server: &[u8], to_client: &[u8]) -> Class {
    let larger = if to_server.len() >= to_client.len() { to_server } else { to_client };
    Class { entropy: Some(Entropy::of(larger)), ..Class::new(Protocol::Unknown, State::Unknown, Vec::new()) }
}

#[cfg(test)]
mod tests;
