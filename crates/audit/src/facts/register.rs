//! Content of the register of keys: dates, and proven copies of keys.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use register::CopyState;
use serde::{Deserialize, Serialize};

use super::Observed;

/// Records of `sealant rotate` and `sealant keys --record`, and the current state of the copies. No keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisterFacts {
    /// Path of the register.
    pub path: String,
    /// For each rotate option, when a run last rotated that key and proved it.
    pub last_rotated: BTreeMap<String, Timestamp>,
    /// Keys by name.
    pub keys: BTreeMap<String, RegisteredKey>,
    /// Proven copies of the key store.
    pub copies: Vec<RegisteredCopy>,
    /// Backups of data, with the names of the keys that they need.
    pub backups: BTreeMap<String, BTreeSet<String>>,
    /// Names of the keys that the server's key store has now.
    pub held: Observed<BTreeSet<String>>,
}

/// Dates of a key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredKey {
    /// When a run first saw it.
    pub first_seen: Option<Timestamp>,
    /// When it was replaced.
    pub rotated: Option<Timestamp>,
}

/// A copy of the key store that was proven earlier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RegisteredCopy {
    /// Its path.
    pub path: String,
    /// When it was proven.
    pub proven: Timestamp,
    /// Its current state.
    pub state: CopyState,
    /// Why the unchanged file does not count as a copy; `None` if it does.
    pub no_copy: Option<String>,
    /// Names of the keys in it.
    pub keys: BTreeSet<String>,
    /// Names of keys in it whose bytes in the server's key store are different now.
    pub differing: BTreeSet<String>,
}

impl RegisteredCopy {
    /// Why it proves nothing; `None` if it proves its keys.
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        match &self.state {
            CopyState::Stands => self.no_copy.clone(),
            CopyState::Gone => Some("is gone".to_owned()),
            CopyState::Changed => Some("has other bytes than were proven".to_owned()),
            CopyState::Unread { reason } => Some(format!("cannot be read: {reason}")),
            CopyState::OtherKey => Some("holds other keys".to_owned()),
            CopyState::NoHash => Some("was recorded by a version that did not record its hash".to_owned()),
        }
    }

    /// Whether it proves that a copy of this key exists.
    #[must_use]
    pub fn keeps(&self, key: &str) -> bool {
        self.fault().is_none() && self.keys.contains(key) && !self.differing.contains(key)
    }
}
