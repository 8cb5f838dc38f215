//! The format description event, and what it says about the events that follow.

use crate::{
    binlog::{EVENT_HEADER_BYTES, EventHeader, RELAY_LOG_FLAG},
    bytes::{Bytes, ascii_text},
};

/// Which checks apply to the events of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rules {
    /// Every event ends with its CRC-32 (`binlog_checksum`).
    pub(super) checksums: bool,
    /// Events keep the end positions of another server's log.
    pub(super) relay: bool,
    /// End positions other than 0 are positions in this log.
    pub(super) positions: bool,
}

impl Rules {
    /// Rules before the first format description event, and if that is damaged.
    pub(super) const fn assumed() -> Self {
        Self { checksums: true, relay: false, positions: true }
    }
}

/// A format description event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Description {
    /// Whether the server version supports checksums. If so, this event has a checksum even if the others have none.
    pub(super) has_checksum: bool,
    /// The checksum algorithm of the events that follow; 0 none, 1 CRC-32.
    algorithm: u8,
    relay: bool,
    /// Whether its server writes a second event into every log at once. That event may start the encryption.
    pub(super) continues: bool,
    /// Written by a server of the MySQL family, whose start-encryption events are those of Percona
    /// Server 5.7.
    pub(super) mysql: bool,
}

impl Description {
    /// Source: `binlog_event.h`, `Format_description_event`: the server's version decides whether
    /// there is a checksum (MySQL 5.6.1, MariaDB 5.3.0 and newer); the algorithm stands before it.
    /// Confirmed on logs of MySQL 5.6 and 9.7, MariaDB 10.11 and 11.8, with and without checksums;
    /// no log of an older server.
    pub(super) fn parse(event: &[u8], header: EventHeader) -> Option<Self> {
        let version = ascii_text(event.range(EVENT_HEADER_BYTES.checked_add(2)?, EVENT_HEADER_BYTES.checked_add(52)?))?;
        let [algorithm] = event.array_at(event.len().checked_sub(5)?)?;
        let number = version_number(&version)?;
        let mariadb = version.contains("MariaDB") || number >= [10, 0, 0];
        let has_checksum = number >= if mariadb { [5, 3, 0] } else { [5, 6, 1] };
        let relay = header.flags & RELAY_LOG_FLAG != 0;
        // The second event lists the GTIDs so far. MySQL 5.6 writes it only with `gtid_mode`, and a MariaDB replica
        // starts a relay log before it has any event to store.
        let continues = number >= [5, 7, 0] && !relay;
        Some(Self { has_checksum, algorithm, relay, continues, mysql: !mariadb })
    }

    /// The rules for the events after it. A relay log remains a relay log, although its later format
    /// description events come from the source.
    ///
    /// End positions written by servers without checksums are not checked: inside transactions they
    /// were not positions in the log (from server source, not confirmed on a file).
    pub(super) const fn rules(self, before: Option<Rules>) -> Rules {
        let relay = match before {
            Some(before) => before.relay,
            None => self.relay,
        };
        Rules { checksums: self.has_checksum && self.algorithm == 1, relay, positions: self.has_checksum && !relay }
    }

    /// The checksum algorithm, if it is unknown to this program.
    pub(super) const fn unknown_algorithm(self) -> Option<u8> {
        if self.has_checksum && self.algorithm > 1 { Some(self.algorithm) } else { None }
    }
}

/// The first three numbers of a version.
fn version_number(version: &str) -> Option<[u32; 3]> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some([numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_parsed() {
        assert_eq!(version_number("10.11.19-MariaDB-0+deb12u1-log"), Some([10, 11, 19]));
        assert_eq!(version_number("9.7.4-2"), Some([9, 7, 4]));
        assert_eq!(version_number("junk"), None);
    }
}
