//! Names of keys in MySQL keyrings.

use std::collections::BTreeMap;

use innodb::keys::{BINARY_LOG_KEY_PREFIX, MASTER_KEY_PREFIX};
use serde::{Deserialize, Serialize};

/// The parts of a key's name.
///
/// Source: docs/formats, "Encryption info on page 0" (`INNODBKey-…`) and "Keyring stores" (`MySQLReplicationKey_…`),
/// confirmed on MySQL 9.7.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum KeyName {
    /// Master key of tablespaces and redo logs.
    InnodbMaster {
        /// Server UUID; the numeric server id in keyrings of 5.7.11.
        owner: String,
        /// Number of the key, from 1.
        number: u32,
    },
    /// Master key of binary and relay logs.
    Replication {
        /// Server UUID.
        owner: String,
        /// Number of the key.
        number: u32,
    },
    /// A bookkeeping entry of binary log key rotation, not a key.
    ReplicationMarker,
    /// Any other name.
    Other,
}

/// InnoDB master keys of one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MasterKeys {
    /// Server UUID; the numeric server id in keyrings of 5.7.11.
    pub owner: String,
    /// Numbers of its keys, ascending; the last one is the newest.
    pub numbers: Vec<u32>,
}

impl KeyName {
    /// Parses a name.
    #[must_use]
    pub fn parse(id: &str) -> Self {
        Self::innodb(id).or_else(|| Self::replication(id)).unwrap_or(Self::Other)
    }

    fn innodb(id: &str) -> Option<Self> {
        let (owner, number) = id.strip_prefix(MASTER_KEY_PREFIX)?.rsplit_once('-')?;
        Some(Self::InnodbMaster { owner: owner.to_owned(), number: number.parse().ok()? })
    }

    fn replication(id: &str) -> Option<Self> {
        let rest = id.strip_prefix(BINARY_LOG_KEY_PREFIX)?;
        let numbered = rest.split_once('_').and_then(|(owner, number)| {
            Some(Self::Replication { owner: owner.to_owned(), number: number.parse().ok()? })
        });
        Some(numbered.unwrap_or(Self::ReplicationMarker))
    }
}

/// InnoDB master keys by server, sorted by the servers' names.
pub(crate) fn master_keys<'i>(ids: impl Iterator<Item = &'i str>) -> Vec<MasterKeys> {
    let mut by_owner: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    for id in ids {
        if let KeyName::InnodbMaster { owner, number } = KeyName::parse(id) {
            by_owner.entry(owner).or_default().push(number);
        }
    }
    by_owner
        .into_iter()
        .map(|(owner, mut numbers)| {
            numbers.sort_unstable();
            numbers.dedup();
            MasterKeys { owner, numbers }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_mysql_keys_are_parsed() {
        let uuid = "95b2f013-e4cd-11f1-8c02-02fc00000001";
        assert_eq!(
            KeyName::parse(&format!("INNODBKey-{uuid}-2")),
            KeyName::InnodbMaster { owner: uuid.to_owned(), number: 2 }
        );
        assert_eq!(
            KeyName::parse(&format!("MySQLReplicationKey_{uuid}_7")),
            KeyName::Replication { owner: uuid.to_owned(), number: 7 }
        );
        for marker in ["", "_old", "_new", "_last_purged"] {
            assert_eq!(KeyName::parse(&format!("MySQLReplicationKey_{uuid}{marker}")), KeyName::ReplicationMarker);
        }
        assert_eq!(KeyName::parse("INNODBKey-x"), KeyName::Other);
        assert_eq!(KeyName::parse("audit_log-1"), KeyName::Other);
    }
}
