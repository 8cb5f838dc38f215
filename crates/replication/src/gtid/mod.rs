//! Global transaction identifiers: which transactions a server has executed.
//!
//! The two families share only the name: [`mysql::GtidSet`] is a set of numbers for each origin,
//! [`mariadb::GtidPosition`] the last transaction of each replication domain.

pub mod mariadb;
pub mod mysql;

use std::{fmt, str::FromStr};

use self::{mariadb::GtidPosition, mysql::GtidSet};

/// Transactions that a server of either family has executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Executed {
    /// MySQL.
    MySql(GtidSet),
    /// MariaDB.
    MariaDb(GtidPosition),
}

impl Executed {
    /// Whether these transactions include all of `other`. An empty `other` is always included.
    #[must_use]
    pub fn includes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::MySql(all), Self::MySql(some)) => some.is_subset_of(all),
            (Self::MariaDb(all), Self::MariaDb(some)) => some.first_beyond(all).is_none(),
            (_, other) => other.is_empty(),
        }
    }

    /// Whether a server that recovered to these transactions has neither lost nor repeated one of `recorded`, those
    /// that were recorded when its files were copied.
    ///
    /// MySQL 8.0 counts a transaction in the position of its binary log before it adds it to the GTID set, so more are
    /// allowed. Positions of MariaDB must be equal: its sequence numbers may decrease.
    #[must_use]
    pub fn is_recovery_of(&self, recorded: &Self) -> bool {
        match (self, recorded) {
            (Self::MariaDb(recovered), Self::MariaDb(recorded)) => recovered == recorded,
            _ => self.includes(recorded),
        }
    }

    /// Whether a binary log that begins after these transactions can follow logs that end with `archived`.
    ///
    /// With MariaDB, domains may be missing, since `FLUSH BINARY LOGS DELETE_DOMAIN_ID` removes them; but one must be
    /// common, and no common one may be behind.
    #[must_use]
    pub fn follows(&self, archived: &Self) -> bool {
        match (self, archived) {
            (_, archived) if archived.is_empty() => true,
            (Self::MySql(before), Self::MySql(archived)) => archived.is_subset_of(before),
            (Self::MariaDb(before), Self::MariaDb(archived)) => before.is_after_in_common_domains(archived),
            // GTIDs of different families cannot be compared, so only an empty set is refused.
            (before, _) => !before.is_empty(),
        }
    }

    /// Whether there are no transactions.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::MySql(set) => set.is_empty(),
            Self::MariaDb(position) => position.is_empty(),
        }
    }
}

impl fmt::Display for Executed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MySql(set) => set.fmt(f),
            Self::MariaDb(position) => position.fmt(f),
        }
    }
}

impl FromStr for Executed {
    type Err = NotGtids;

    /// No text is in the syntax of both families, except the empty one.
    fn from_str(text: &str) -> Result<Self, NotGtids> {
        text.parse().map(Self::MySql).or_else(|not_mysql| text.parse().map(Self::MariaDb).map_err(|_| not_mysql))
    }
}

/// Whether a server has executed the transaction `gtid`. `executed` is the server's GTID set, or the positions of
/// MariaDB, which may have several entries for a domain.
///
/// MariaDB's sequence numbers may decrease. So its transaction must be the last one of a domain in one of the
/// positions.
#[must_use]
pub fn has_executed(executed: &str, gtid: &str) -> bool {
    match gtid.parse::<GtidSet>() {
        Ok(one) if !one.is_empty() => executed.parse().is_ok_and(|set: GtidSet| one.is_subset_of(&set)),
        _ => executed.split(',').any(|last| last.trim() == gtid),
    }
}

/// The text is not a GTID, or not a set of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not a {kind}")]
pub struct NotGtids {
    /// The wrong part, at most 80 characters.
    text: String,
    /// What was expected.
    kind: &'static str,
}

impl NotGtids {
    fn new(text: &str, kind: &'static str) -> Self {
        Self { text: text.chars().take(80).collect(), kind }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

    #[test]
    fn transactions_are_compared_within_their_family() {
        let executed = |text: &str| text.parse::<Executed>().unwrap();
        let mysql = |numbers: &str| executed(&format!("{UUID}:{numbers}"));
        assert!(mysql("1-9").includes(&mysql("3:5-9")) && !mysql("1-9").includes(&mysql("9-10")));
        assert!(executed("0-1-9,3-2-4").includes(&executed("3-2-1,0-7-9")), "another order of domains");
        assert!(
            executed("0-1-9,3-2-4").includes(&executed("0-1-8")) && !executed("0-1-9").includes(&executed("1-1-1"))
        );
        assert!(!mysql("1-9").includes(&executed("0-1-9")) && executed("0-1-9").includes(&executed("")));
        assert!("x".parse::<Executed>().is_err());
    }

    #[test]
    fn a_recovered_server_has_what_was_recorded() {
        let is_recovery = |recovered: &str, recorded: &str| {
            let executed = |text: &str| text.replace("UUID", UUID).parse::<Executed>().unwrap();
            executed(recovered).is_recovery_of(&executed(recorded))
        };
        assert!(is_recovery("UUID:1-6", "UUID:1-5"), "MySQL may have one more");
        assert!(!is_recovery("UUID:1-5", "UUID:1-6"));
        assert!(is_recovery("1-1-4,0-1-9", "0-1-9,1-1-4"), "domains have no order");
        assert!(!is_recovery("0-2-12", "0-1-9") && !is_recovery("0-1-9,1-1-4", "0-1-9"));
        assert!(!is_recovery("0-1-8", "0-1-9") && !is_recovery("", "0-1-9"));
    }

    #[test]
    fn a_log_follows_an_archive_if_the_transactions_of_the_archive_are_before_it() {
        let follows = |before: &str, archived: &str| {
            let executed = |text: &str| text.replace("UUID", UUID).parse::<Executed>().unwrap();
            executed(before).follows(&executed(archived))
        };
        assert!(follows("UUID:1-9", "UUID:1-9") && follows("UUID:1-12", "UUID:1-9") && follows("UUID:1-3", ""));
        assert!(!follows("UUID:1-3", "UUID:1-9") && !follows("", "UUID:1-9"));
        assert!(follows("0-1-9,2-1-4", "0-1-9,2-1-4"));
        assert!(follows("0-7-10", "0-1-9,2-1-4"), "a domain may be removed");
        assert!(!follows("0-1-3", "0-1-9") && !follows("", "0-1-9") && !follows("5-1-1", "0-1-9"));
        assert!(follows("UUID:1", "0-1-9"), "nothing is known");
    }

    #[test]
    fn a_transaction_of_mariadb_is_the_last_of_a_domain() {
        let mysql = |executed: &str| has_executed(&format!("{UUID}:{executed}"), &format!("{UUID}:7"));
        assert!(mysql("1-7") && mysql("1-9") && !mysql("1-6") && !has_executed("", &format!("{UUID}:7")));
        assert!(has_executed("0-1-50, 1-1-8", "1-1-8") && !has_executed("0-1-51", "0-1-50"));
        assert!(has_executed("0-1-50,0-2-9", "0-2-9"), "of one of two positions");
    }
}
