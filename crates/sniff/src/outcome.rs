//! What was seen on the wire, and what follows from it. Serialized with the schema `sealant.sniff/1`.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use crate::flow::Seen;
use crate::traffic::{Counts, Traffic};

/// The schema that this release writes.
pub const SCHEMA: &str = "sealant.sniff/1";

/// Where packets came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// An interface of this host.
    Interface(String),
    /// All interfaces of this host.
    AllInterfaces,
    /// A file.
    File(
        /// Invalid UTF-8 is replaced in JSON.
        #[serde(serialize_with = "lossy")]
        PathBuf,
    ),
}

/// What the traffic as a whole is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Some of it can be read by others.
    Clear,
    /// Nothing was seen in clear, but some of it was not recognised.
    Unknown,
    /// There was no traffic to judge.
    Nothing,
    /// All of it is encrypted.
    Encrypted,
}

/// The outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// [`SCHEMA`].
    pub schema: String,
    /// Release that watched.
    pub sealant: String,
    /// Where packets came from.
    pub origin: Origin,
    /// Ports that were watched; none if all were.
    pub ports: Vec<u16>,
    /// When watching began: for a file, its first packet.
    pub from: Timestamp,
    /// When it ended.
    pub to: Timestamp,
    /// Packets of these ports.
    pub packets: u64,
    /// Packets that could not be read: of another link type, of an interface that the file does not describe, or fragments
    /// of TCP.
    pub skipped: u64,
    /// The file ends within a packet.
    pub is_cut: bool,
    /// The conclusion.
    pub verdict: Verdict,
    /// Numbers of connections.
    pub connections: Counts,
    /// Connections that have no row in `traffic`, because there are too many. They are counted in `connections`.
    pub left_out: u64,
    /// What was seen: the clear first.
    pub traffic: Vec<Traffic>,
}

impl Outcome {
    pub(crate) fn new(origin: Origin, ports: Vec<u16>, (from, to): (Timestamp, Timestamp), seen: Seen) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            sealant: env!("CARGO_PKG_VERSION").to_owned(),
            origin,
            ports,
            from,
            to,
            packets: seen.packets,
            skipped: seen.skipped,
            is_cut: false,
            verdict: verdict(&seen.connections, seen.skipped),
            connections: seen.connections,
            left_out: seen.left_out,
            traffic: seen.traffic,
        }
    }
}

/// What was not read may be in clear.
const fn verdict(connections: &Counts, skipped: u64) -> Verdict {
    match connections {
        Counts { clear: 1.., .. } => Verdict::Clear,
        Counts { unknown: 1.., .. } => Verdict::Unknown,
        Counts { .. } if skipped > 0 => Verdict::Unknown,
        Counts { encrypted: 1.., .. } => Verdict::Encrypted,
        Counts { .. } => Verdict::Nothing,
    }
}

fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_that_were_not_read_leave_the_verdict_open() {
        let encrypted = Counts { encrypted: 1, ..Counts::default() };
        assert_eq!(verdict(&encrypted, 0), Verdict::Encrypted);
        assert_eq!(verdict(&encrypted, 1), Verdict::Unknown);
        assert_eq!(verdict(&Counts::default(), 1), Verdict::Unknown);
        assert_eq!(verdict(&Counts { clear: 1, ..encrypted }, 1), Verdict::Clear);
    }
}
