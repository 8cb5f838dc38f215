//! MariaDB's GTIDs: `domain-server-sequence`.
//!
//! Source: "Global Transaction ID" of the MariaDB documentation. A domain is an independent stream of transactions;
//! sequence numbers grow within one. A position is the last transaction of each domain.

use std::{collections::BTreeMap, fmt, str::FromStr};

use super::NotGtids;

/// A transaction of MariaDB: `domain-server-sequence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gtid {
    /// The replication domain.
    pub domain: u32,
    /// `server_id` of the server that wrote it first.
    pub server: u32,
    /// Sequence number in the domain.
    pub sequence: u64,
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.domain, self.server, self.sequence)
    }
}

impl FromStr for Gtid {
    type Err = NotGtids;

    fn from_str(text: &str) -> Result<Self, NotGtids> {
        let wrong = || NotGtids::new(text, "GTID of MariaDB");
        let mut numbers = text.trim().split('-');
        let mut number = || numbers.next().and_then(digits);
        let parts = (number(), number(), number());
        let (Some(domain), Some(server), Some(sequence), None) = (parts.0, parts.1, parts.2, numbers.next()) else {
            return Err(wrong());
        };
        let (domain, server) = (u32::try_from(domain), u32::try_from(server));
        Ok(Self { domain: domain.map_err(|_| wrong())?, server: server.map_err(|_| wrong())?, sequence })
    }
}

/// `parse` alone would accept a sign.
fn digits(text: &str) -> Option<u64> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

/// The last transaction of each domain, as in `gtid_binlog_pos`, `gtid_slave_pos` and `gtid_current_pos`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GtidPosition(BTreeMap<u32, Gtid>);

impl GtidPosition {
    /// Whether the position names no transaction.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The last transaction of each domain.
    pub fn iter(&self) -> impl Iterator<Item = Gtid> {
        self.0.values().copied()
    }

    /// Makes `gtid` the last transaction of its domain.
    pub fn advance(&mut self, gtid: Gtid) {
        self.0.insert(gtid.domain, gtid);
    }

    /// Whether `gtid` is at or before this position.
    #[must_use]
    pub fn includes(&self, gtid: Gtid) -> bool {
        self.0.get(&gtid.domain).is_some_and(|last| last.sequence >= gtid.sequence)
    }

    /// Whether both positions have a domain in common, and this one is at or after `other` in all of those.
    pub(super) fn is_after_in_common_domains(&self, other: &Self) -> bool {
        let common = self.0.iter().filter_map(|(domain, gtid)| Some((gtid, other.0.get(domain)?)));
        let mut common = common.peekable();
        common.peek().is_some() && common.all(|(gtid, other)| gtid.sequence >= other.sequence)
    }

    /// The first transaction of this position that is beyond `other`.
    #[must_use]
    pub fn first_beyond(&self, other: &Self) -> Option<Gtid> {
        self.0.values().copied().find(|gtid| !other.includes(*gtid))
    }
}

impl fmt::Display for GtidPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.values().map(Gtid::to_string).collect();
        f.write_str(&texts.join(","))
    }
}

impl FromStr for GtidPosition {
    type Err = NotGtids;

    /// If a domain occurs several times, its newest transaction counts.
    fn from_str(text: &str) -> Result<Self, NotGtids> {
        let mut position = Self::default();
        for gtid in text.split(',').filter(|gtid| !gtid.trim().is_empty()) {
            let gtid: Gtid = gtid.parse()?;
            if !position.includes(gtid) {
                position.0.insert(gtid.domain, gtid);
            }
        }
        Ok(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position(text: &str) -> GtidPosition {
        text.parse().unwrap()
    }

    #[test]
    fn positions_are_compared_domain_by_domain() {
        let position = position("0-2-80,1-1-5");
        let includes = |gtid: &str| position.includes(gtid.parse().unwrap());
        assert!(includes("0-1-77"));
        assert!(!includes("0-1-81"));
        assert!(!includes("2-1-1"));
    }

    #[test]
    fn the_first_transaction_that_is_missing_is_named() {
        let beyond =
            |ours: &str, theirs: &str| position(ours).first_beyond(&position(theirs)).map(|gtid| gtid.to_string());
        assert_eq!(beyond("0-1-77, 1-1-6", "0-2-80,1-1-5").as_deref(), Some("1-1-6"));
        assert_eq!(beyond("", "0-2-80"), None);
        assert_eq!(beyond("0-2-80", "0-2-80"), None);
    }

    #[test]
    fn the_newest_of_a_domain_counts() {
        assert_eq!(position("0-1-7,0-2-9,0-1-8").to_string(), "0-2-9");
    }

    #[test]
    fn what_is_no_position_is_refused() {
        for bad in
            ["0-1", "0-1-1-1", "0-1-1'; DROP DATABASE mysql; -- ", "0-1-+1", "4294967296-1-1", "0-1-", "nonsense"]
        {
            assert!(bad.parse::<GtidPosition>().is_err(), "{bad}");
        }
    }
}
