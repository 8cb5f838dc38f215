//! What opening the files with keys proved, page by page, as `sealant verify` does.

use std::collections::BTreeMap;

use innodb::verify::{Finding, RequiredKey, Units, Verdict};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// More files are counted, not listed.
pub const MOST_FILES: usize = 200;

/// One run over the server's files with one set of keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// When it began.
    pub at: Timestamp,
    /// The key stores that were given.
    pub stores: Vec<GivenStore>,
    /// Whether every page was read; else page 0 and the first pages of each tablespace.
    pub every_page: bool,
    /// Files by verdict.
    pub verdicts: BTreeMap<Verdict, u64>,
    /// Pages, blocks and events of all files.
    pub units: Units,
    /// Files that are neither `ok` nor `clear`, the worst first; at most [`MOST_FILES`].
    pub unsound: Vec<Unsound>,
    /// Files that could not be read; at most [`MOST_FILES`].
    pub unread: Vec<Unread>,
    /// How many files no key given opens, those not listed included.
    pub locked: u64,
}

/// A key store that was given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GivenStore {
    /// Its path.
    pub path: String,
    /// Why it could not be used; none if it could.
    pub why: Option<String>,
    /// Why, although it can be used, it is no copy; none if it is one, or need not be.
    #[serde(default)]
    pub no_copy: Option<String>,
    /// Entries in it that are damaged.
    #[serde(default)]
    pub damaged_entries: u64,
}

/// A file that is neither sound nor readable without a key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unsound {
    /// Absolute path.
    pub path: String,
    /// What findings call it.
    pub name: String,
    /// `tablespace`, `redo`, `binlog`, …
    pub kind: String,
    /// The sum of it.
    pub verdict: Verdict,
    /// Whether a key that it asks for is missing or opens nothing, whatever else is wrong.
    pub locked: bool,
    /// Which key it asks for.
    pub key: Option<RequiredKey>,
    /// Its pages, blocks or events.
    pub units: Units,
    /// The first findings.
    pub findings: Vec<Finding>,
    /// Findings beyond those.
    pub findings_left_out: u64,
}

/// A file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// Absolute path.
    pub path: String,
    /// Why.
    pub why: String,
}

impl Proof {
    /// Files with this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> u64 {
        self.verdicts.get(&verdict).copied().unwrap_or(0)
    }

    /// Files in all.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.verdicts.values().fold(0, |sum, files| sum.saturating_add(*files))
    }

    /// The key stores that could be used.
    pub fn usable(&self) -> impl Iterator<Item = &GivenStore> {
        self.stores.iter().filter(|store| store.why.is_none())
    }

    /// Paths of the key stores that could be used.
    #[must_use]
    pub fn store_names(&self) -> String {
        self.usable().map(|store| store.path.as_str()).collect::<Vec<_>>().join(", ")
    }
}

impl Unsound {
    /// The key it asks for, as an operator would look for it.
    #[must_use]
    pub fn key_words(&self) -> String {
        match &self.key {
            Some(RequiredKey::MySql { name, .. } | RequiredKey::MysqlBinlog { name }) if !name.is_empty() => {
                name.clone()
            }
            Some(RequiredKey::MySql { .. }) => "the public key of bootstrap".to_owned(),
            Some(RequiredKey::MysqlBinlog { .. }) | None => "a key it does not name".to_owned(),
            Some(RequiredKey::ExportFile) => "the key of its .cfp file".to_owned(),
            Some(RequiredKey::MariaDb { key_id, versions }) => match versions.as_slice() {
                [] => format!("key {key_id}"),
                [version] => format!("key {key_id} version {}", version.0),
                [first, .., last] => format!("key {key_id} versions {} to {}", first.0, last.0),
            },
        }
    }
}
