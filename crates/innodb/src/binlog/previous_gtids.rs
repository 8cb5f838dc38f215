//! Detects binary logs that can prevent a server of the MySQL family from starting: the GTID of a transaction comes
//! before the `Previous_gtids` event. In every whole log that event is the first after the format description.
//!
//! When MySQL starts, it reads the newest logs and the oldest, each up to the first GTID. If a GTID comes before
//! `Previous_gtids`, MySQL exits with "logically corrupted". Logs without GTIDs, or with anonymous transactions, do no
//! harm. Source: `binlog.cc` (`read_gtids_from_binlog`), confirmed on MySQL 9.7.4.
//!
//! Seen on MySQL 9.7.4: a server that was killed during `ALTER TABLESPACE … ENCRYPTION` completes the change when it
//! starts, and can log it before it has written `Previous_gtids` (3 of 8 kills, with 600 MB in the log before). That
//! server works until it is stopped, and then does not start again.

use crate::binlog::{FORMAT_DESCRIPTION, START_ENCRYPTION_PERCONA};

const ROTATE: u8 = 4;
/// The GTID of a transaction: number, and name in `SHOW BINLOG EVENTS`. MariaDB's GTIDs have another number.
const GTIDS: [(u8, &str); 2] = [(33, "Gtid"), (42, "Gtid_tagged_log_event")];

/// Whether an event of this name, as `SHOW BINLOG EVENTS` shows it, prevents the next start if it is the second event
/// of a MySQL binary log.
#[must_use]
pub fn prevents_start_as_second_event(name: &str) -> bool {
    GTIDS.iter().any(|(_, gtid)| *gtid == name)
}

/// Looks for a GTID before `Previous_gtids`, event by event.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FirstGtids {
    found: bool,
}

impl FirstGtids {
    /// Takes the type of the next event. Returns whether that event prevents the next start of the server.
    pub(crate) fn prevents_start(&mut self, kind: u8) -> bool {
        if self.found || matches!(kind, FORMAT_DESCRIPTION | ROTATE | START_ENCRYPTION_PERCONA) {
            return false;
        }
        self.found = true;
        GTIDS.iter().any(|(gtid, _)| *gtid == kind)
    }

    /// Ends the search: an event could not be read.
    pub(crate) const fn give_up(&mut self) {
        self.found = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_gtid_of_a_transaction_prevents_a_start() {
        assert!(prevents_start_as_second_event("Gtid") && prevents_start_as_second_event("Gtid_tagged_log_event"));
        assert!(
            ["Previous_gtids", "Anonymous_Gtid", "Gtid_list"]
                .into_iter()
                .all(|name| !prevents_start_as_second_event(name))
        );
        let first = |kinds: &[u8]| {
            let mut first = FirstGtids::default();
            kinds.iter().position(|kind| first.prevents_start(*kind))
        };
        assert_eq!(first(&[FORMAT_DESCRIPTION, 33, 2, 35]), Some(1));
        assert_eq!(first(&[FORMAT_DESCRIPTION, ROTATE, START_ENCRYPTION_PERCONA, 42]), Some(3));
        // A log that begins with an anonymous transaction or with `Previous_gtids` is harmless.
        assert_eq!(first(&[FORMAT_DESCRIPTION, 34, 33]), None);
        assert_eq!(first(&[FORMAT_DESCRIPTION, 35, 33]), None);
    }
}
