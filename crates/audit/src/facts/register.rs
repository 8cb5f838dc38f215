//! What the register of keys says of the server: dates, and copies of keys that were proven.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use register::CopyState;
use serde::{Deserialize, Serialize};

use super::Seen;

/// What `sealant rotate` and `sealant keys --record` noted, and what is left of the copies. No key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterFacts {
    /// The register's file.
    pub path: String,
    /// When a run that proved it rotated a key last, by the option that asked for it.
    pub last_rotated: BTreeMap<String, Timestamp>,
    /// Keys by name.
    pub keys: BTreeMap<String, RegisteredKey>,
    /// Proven copies of the key store.
    pub copies: Vec<RegisteredCopy>,
    /// Backups of data, and names of the keys that they need.
    pub backups: BTreeMap<String, BTreeSet<String>>,
    /// Names of the keys that the server's key store holds now.
    pub held: Seen<BTreeSet<String>>,
}

/// What is noted of one key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredKey {
    /// When it was seen first.
    pub first_seen: Option<Timestamp>,
    /// When another took its place.
    pub rotated: Option<Timestamp>,
}

/// A copy of the key store that was proven once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredCopy {
    /// Its path.
    pub path: String,
    /// When it was proven.
    pub proven: Timestamp,
    /// What is left of it.
    pub state: CopyState,
    /// Why, although it stands, it is no copy; none if it is one.
    pub no_copy: Option<String>,
    /// Names of the keys in it.
    pub keys: BTreeSet<String>,
    /// Those that have other bytes in the server's key store now.
    pub differing: BTreeSet<String>,
}

impl RegisteredCopy {
    /// Why it proves nothing; none if it proves the keys in it.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        match &self.state {
            CopyState::Stands => self.no_copy.clone(),
            CopyState::Gone => Some("is gone".to_owned()),
            CopyState::Changed => Some("has other bytes than were proven".to_owned()),
            CopyState::Unread { reason } => Some(format!("cannot be read: {reason}")),
            CopyState::OtherKey => Some("holds other keys".to_owned()),
            CopyState::NoHash => Some("was recorded by a version that did not note its hash".to_owned()),
        }
    }

    /// Whether it proves that this key of the server is kept.
    #[must_use]
    pub fn keeps(&self, key: &str) -> bool {
        self.fault().is_none() && self.keys.contains(key) && !self.differing.contains(key)
    }
}
