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
    /// Whether all of `other` are among them. No transactions are among any.
    #[must_use]
    pub fn includes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::MySql(all), Self::MySql(some)) => some.is_subset_of(all),
            (Self::MariaDb(all), Self::MariaDb(some)) => some.first_beyond(all).is_none(),
            (_, other) => other.is_empty(),
        }
    }

    /// Whether there are none.
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

    #[test]
    fn transactions_are_compared_within_their_family() {
        const UUID: &str = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
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
}
