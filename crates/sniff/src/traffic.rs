//! The rows of the result: one for all connections of the same kind between the same hosts.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::classify::{Class, Entropy, Evidence, Protocol, State, Tls};
use crate::service::Service;

/// Maximum number of rows. Connections without a row are only counted.
const MAX_ROWS: usize = 4096;

/// Connections of one kind between two hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Host that connected.
    pub client: IpAddr,
    /// Host and port that were connected to.
    pub server: SocketAddr,
    /// What the port is for.
    pub service: Service,
    /// The protocol that was recognised.
    pub protocol: Protocol,
    /// Whether others can read it.
    pub state: State,
    /// Version and cipher suite of TLS, if it was recognised.
    pub tls: Option<Tls>,
    /// Number of connections.
    pub connections: u64,
    /// Bytes from the client.
    pub bytes_to_server: u64,
    /// Bytes from the server.
    pub bytes_to_client: u64,
    /// When the first packet was seen.
    pub first_seen: Timestamp,
    /// When the last packet was seen.
    pub last_seen: Timestamp,
    /// Headers that show protocol and state, from the first of these connections.
    pub evidence: Vec<Evidence>,
    /// Entropy of the unrecognised bytes of the first of these connections.
    pub entropy: Option<Entropy>,
}

/// Numbers of connections, by their state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// In clear.
    pub clear: u64,
    /// Not recognised.
    pub unknown: u64,
    /// Only the opening was seen.
    pub opening: u64,
    /// Encrypted.
    pub encrypted: u64,
}

impl Counts {
    /// The numbers of connections in these rows.
    pub(crate) fn of_rows(rows: &[Traffic]) -> Self {
        let mut counts = Self::default();
        rows.iter().for_each(|row| counts.add(row.state, row.connections));
        counts
    }

    fn add(&mut self, state: State, connections: u64) {
        let count = match state {
            State::Clear => &mut self.clear,
            State::Unknown => &mut self.unknown,
            State::Opening => &mut self.opening,
            State::Encrypted => &mut self.encrypted,
        };
        *count = count.saturating_add(connections);
    }
}

/// An ended connection.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) client: IpAddr,
    pub(crate) server: SocketAddr,
    pub(crate) service: Service,
    pub(crate) class: Class,
    pub(crate) bytes_to_server: u64,
    pub(crate) bytes_to_client: u64,
    pub(crate) first_seen: Timestamp,
    pub(crate) last_seen: Timestamp,
}

type Key = (State, SocketAddr, IpAddr, Service, Protocol, Option<Tls>);

/// All rows, the clear ones first.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    rows: BTreeMap<Key, Traffic>,
    counts: Counts,
    left_out: u64,
}

impl Rows {
    /// Adds a connection.
    pub(crate) fn add(&mut self, ended: Ended) {
        let Ended { class, client, server, service, .. } = ended;
        self.counts.add(class.state, 1);
        let key = (class.state, server, client, service, class.protocol, class.tls.clone());
        if let Some(row) = self.rows.get_mut(&key) {
            row.connections = row.connections.saturating_add(1);
            row.bytes_to_server = row.bytes_to_server.saturating_add(ended.bytes_to_server);
            row.bytes_to_client = row.bytes_to_client.saturating_add(ended.bytes_to_client);
            row.first_seen = row.first_seen.min(ended.first_seen);
            row.last_seen = row.last_seen.max(ended.last_seen);
        } else if self.has_room_for(&key) {
            let row = Traffic {
                client,
                server,
                service,
                protocol: class.protocol,
                state: class.state,
                tls: class.tls,
                connections: 1,
                bytes_to_server: ended.bytes_to_server,
                bytes_to_client: ended.bytes_to_client,
                first_seen: ended.first_seen,
                last_seen: ended.last_seen,
                evidence: class.evidence,
                entropy: class.entropy,
            };
            self.rows.insert(key, row);
        } else {
            self.left_out = self.left_out.saturating_add(1);
        }
    }

    /// Whether a new row fits. If the table is full, it replaces the last row if it sorts before that one.
    fn has_room_for(&mut self, key: &Key) -> bool {
        if self.rows.len() < MAX_ROWS {
            return true;
        }
        let Some(last) = self.rows.last_entry().filter(|last| key < last.key()) else { return false };
        self.left_out = self.left_out.saturating_add(last.remove().connections);
        true
    }

    /// Returns the rows, the numbers of connections by state, and the number of connections without a row.
    pub(crate) fn finish(self) -> (Vec<Traffic>, Counts, u64) {
        (self.rows.into_values().collect(), self.counts, self.left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Side, classify};

    fn ended(number: usize, bytes: &[u8]) -> Ended {
        let client = IpAddr::from(u32::try_from(number).unwrap().to_be_bytes());
        let side = Side { bytes, is_from_start: true, starts: &[0] };
        Ended {
            client,
            server: SocketAddr::from(([10, 0, 0, 1], 4444)),
            service: Service::StateTransfer,
            class: classify(side, Side::default()),
            bytes_to_server: 1,
            bytes_to_client: 0,
            first_seen: Timestamp::UNIX_EPOCH,
            last_seen: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_row_in_clear_is_kept_when_there_are_too_many() {
        let mut rows = Rows::default();
        (0..=MAX_ROWS).for_each(|number| rows.add(ended(number, b"an odd protocol")));
        rows.add(ended(0, b"XBSTCK01"));
        let (traffic, counts, left_out) = rows.finish();
        assert_eq!((traffic.len(), traffic[0].state), (MAX_ROWS, State::Clear));
        assert_eq!((counts.clear, counts.unknown, left_out), (1, MAX_ROWS as u64 + 1, 2));
    }
}
