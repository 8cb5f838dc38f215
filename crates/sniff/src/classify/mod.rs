//! What a connection carries, told from the first bytes of both directions alone.
//!
//! Nothing of the content leaves this module: evidence is a few bytes of a protocol's header, and what they mean.

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

/// A protocol that servers of the MySQL family speak, or what they send through a plain connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// The classic protocol.
    Mysql,
    /// The classic protocol with compressed packets.
    MysqlCompressed,
    /// A replica reads binary logs.
    Replication,
    /// A server clones another.
    Clone,
    /// Group Replication, over XCom or over the classic protocol.
    GroupReplication,
    /// The X Protocol.
    XProtocol,
    /// Replication of Galera.
    Galera,
    /// Incremental state transfer of Galera.
    IncrementalTransfer,
    /// xbstream or mbstream: what backup programs send.
    Xbstream,
    /// rsync's own protocol.
    Rsync,
    /// A tar archive.
    Tar,
    /// Data compressed by gzip, zstd, LZ4 or another program: readable by everybody.
    CompressedData,
    /// Data encrypted by age, xbcrypt or openssl before they were sent.
    EncryptedData,
    /// TLS from the first byte: what is inside cannot be seen.
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
    /// They can.
    Clear,
    /// It could not be told.
    Unknown,
    /// Only the opening was seen, before anything that needs protection.
    Opening,
    /// They cannot.
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
    /// Whether they are those that the connection began with.
    pub is_from_start: bool,
    /// Offsets where segments began: where messages may begin, if the start is missing.
    pub starts: &'s [usize],
}

/// What was recognised.
#[derive(Debug, Clone, PartialEq)]
pub struct Class {
    /// The protocol.
    pub protocol: Protocol,
    /// Whether it can be read.
    pub state: State,
    /// TLS, if it was seen.
    pub tls: Option<Tls>,
    /// The bytes that show it.
    pub evidence: Vec<Evidence>,
    /// Entropy of what was not recognised.
    pub entropy: Option<Entropy>,
    /// More bytes would change nothing.
    pub is_settled: bool,
}

impl Class {
    fn new(protocol: Protocol, state: State, evidence: Vec<Evidence>) -> Self {
        Self { protocol, state, tls: None, evidence, entropy: None, is_settled: false }
    }

    fn settled(self) -> Self {
        Self { is_settled: true, ..self }
    }

    /// What TLS makes of a protocol: its own state, and its evidence after the evidence so far.
    fn over(self, protocol: Protocol, before: Vec<Evidence>) -> Self {
        let evidence = before.into_iter().chain(self.evidence).collect();
        Self { protocol, evidence, ..self }
    }
}

/// Recognises a connection. Both directions may be empty.
#[must_use]
pub fn classify(to_server: Side<'_>, to_client: Side<'_>) -> Class {
    if to_server.bytes.is_empty() && to_client.bytes.is_empty() {
        return Class::new(Protocol::Unknown, State::Opening, Vec::new());
    }
    let is_from_start = [to_server, to_client].iter().all(|side| side.is_from_start || side.bytes.is_empty());
    let found = if is_from_start { beginning(to_server.bytes, to_client.bytes) } else { middle(to_server, to_client) };
    found.unwrap_or_else(|| unknown(to_server.bytes, to_client.bytes))
}

/// A connection whose first bytes are known. The protocols differ in their first message, in this order the surest first.
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

/// What begins behind the header of a proxy.
fn unproxied(to_server: &[u8], to_client: &[u8]) -> Option<Class> {
    tls::from_start(to_server, to_client)
        .or_else(|| mysql::from_start(to_server, to_client))
        .or_else(|| x_protocol::from_start(to_server, to_client))
        .or_else(|| transfer::from_start(to_server, to_client))
        .or_else(|| cluster::from_start(to_server, to_client))
}

/// A connection that was joined in the middle: a message may begin wherever a segment began. What is read in clear comes
/// first: records of TLS are recognised by less.
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

/// What begins with each segment of a direction, and where.
fn tails<'s>(side: Side<'s>, direction: Direction) -> impl Iterator<Item = (Direction, usize, &'s [u8])> {
    side.starts.iter().filter_map(move |start| Some((direction, *start, side.bytes.get(*start..)?)))
}

fn unknown(to_server: &[u8], to_client: &[u8]) -> Class {
    let larger = if to_server.len() >= to_client.len() { to_server } else { to_client };
    Class { entropy: Some(Entropy::of(larger)), ..Class::new(Protocol::Unknown, State::Unknown, Vec::new()) }
}

#[cfg(test)]
mod tests;
