//! The result of a capture: the traffic and the verdict. Serialized with the schema `sealant.sniff/1`.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};

use crate::flow::{FlowTable, Seen};
use crate::service::Ports;
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

/// The conclusion about all traffic together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Others can read some of it.
    Clear,
    /// Nothing was seen in clear, but some of it was not recognised.
    Unknown,
    /// There was no traffic to judge.
    Nothing,
    /// All of it is encrypted.
    Encrypted,
}

/// The result of a capture.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// [`SCHEMA`].
    pub schema: String,
    /// Version of Sealant that made the capture.
    pub sealant: String,
    /// Where packets came from.
    pub origin: Origin,
    /// The watched ports; empty if all were watched.
    pub ports: Vec<u16>,
    /// When the capture began; for a file, the time of its first packet.
    pub from: Timestamp,
    /// When the capture ended; for a file, the time of its last packet.
    pub to: Timestamp,
    /// Packets of these ports.
    pub packets: u64,
    /// Packets that could not be parsed: of an unsupported link type, of an interface that the file does not describe,
    /// or fragments of TCP packets.
    pub skipped: u64,
    /// Whether the file ends within a packet.
    pub is_cut: bool,
    /// The conclusion.
    pub verdict: Verdict,
    /// Numbers of connections.
    pub connections: Counts,
    /// Connections that have no row in `traffic`, because there are too many. They are counted in `connections`.
    pub left_out: u64,
    /// The connections, grouped; those in clear first.
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

    /// A capture of no port.
    #[must_use]
    pub fn of_no_port() -> Self {
        let now = Timestamp::now();
        Self::new(Origin::AllInterfaces, Vec::new(), (now, now), FlowTable::new(Ports::new([])).finish())
    }

    /// The same capture with only these rows, the numbers of their connections, and the verdict about them. `left_out` and
    /// `skipped` stay, because what they count may belong to these rows.
    #[must_use]
    pub fn only(mut self, keep: impl Fn(&Traffic) -> bool) -> Self {
        self.traffic.retain(|row| keep(row));
        self.connections = Counts::of_rows(&self.traffic);
        self.verdict = verdict(&self.connections, self.skipped.saturating_add(self.left_out));
        self
    }
}

/// Skipped packets may have been in clear, so with any of them the verdict is not [`Verdict::Encrypted`].
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
    use crate::classify::{Protocol, State};
    use crate::service::Service;

    #[test]
    fn packets_that_were_not_read_leave_the_verdict_open() {
        let encrypted = Counts { encrypted: 1, ..Counts::default() };
        assert_eq!(verdict(&encrypted, 0), Verdict::Encrypted);
        assert_eq!(verdict(&encrypted, 1), Verdict::Unknown);
        assert_eq!(verdict(&Counts::default(), 1), Verdict::Unknown);
        assert_eq!(verdict(&Counts { clear: 1, ..encrypted }, 1), Verdict::Clear);
    }

    #[test]
    fn rows_of_other_servers_are_left_out() {
        let table = FlowTable::new(Ports::usual());
        let times = (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
        let mut outcome = Outcome::new(Origin::AllInterfaces, vec![3306], times, table.finish());
        outcome.traffic = [("10.0.0.1:3306", State::Clear), ("10.0.0.2:3306", State::Encrypted)]
            .map(|(server, state)| Traffic {
                client: "10.0.0.9".parse().unwrap(),
                server: server.parse().unwrap(),
                service: Service::Classic,
                protocol: Protocol::Mysql,
                state,
                tls: None,
                connections: 3,
                bytes_to_server: 1,
                bytes_to_client: 1,
                first_seen: times.0,
                last_seen: times.1,
                evidence: Vec::new(),
                entropy: None,
            })
            .to_vec();
        let of = |address: &str| outcome.clone().only(|row| row.server == address.parse().unwrap());
        let clear = of("10.0.0.1:3306");
        assert_eq!((clear.verdict, clear.connections.clear, clear.traffic.len()), (Verdict::Clear, 3, 1));
        let encrypted = of("10.0.0.2:3306");
        assert_eq!((encrypted.verdict, encrypted.connections.encrypted), (Verdict::Encrypted, 3));
        assert_eq!(of("10.0.0.3:3306").verdict, Verdict::Nothing);
        outcome.left_out = 1;
        assert_eq!(outcome.clone().only(|row| row.state == State::Encrypted).verdict, Verdict::Unknown);
    }
}
