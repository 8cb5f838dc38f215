//! Results of opening the files with keys, page by page, as `sealant verify` does.

use std::collections::BTreeMap;

use innodb::file_kind::{FileKind, report_name};
use innodb::verify::{Finding, RequiredKey, Units, Verdict};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Maximum number of files listed; more are only counted.
pub const MAX_FILES: usize = 200;

/// A run over the server's files with one set of keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proof {
    /// Start of the run.
    pub at: Timestamp,
    /// The key stores.
    pub stores: Vec<ProofStore>,
    /// Whether every page was read; otherwise only page 0 and the first pages of each tablespace.
    pub every_page: bool,
    /// Number of files by verdict.
    pub verdicts: BTreeMap<Verdict, u64>,
    /// Numbers of pages, blocks and events.
    pub units: Units,
    /// Files that are neither `ok` nor `clear`, the worst first; at most [`MAX_FILES`].
    pub unsound: Vec<UnsoundFile>,
    /// Files that could not be read; at most [`MAX_FILES`].
    pub unread: Vec<Unread>,
    /// Number of files that no given key opens, including those not listed.
    pub locked: u64,
    /// Keys that the stores name, but do not give, each with its reason as messages say it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_keys: Vec<String>,
}

/// A key store used for a proof.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofStore {
    /// Its path.
    pub path: String,
    /// Why it could not be used; `None` if it could.
    pub why: Option<String>,
    /// Why a usable key store does not count as a copy; `None` if it does, or if no copy is required.
    #[serde(default)]
    pub no_copy: Option<String>,
    /// Number of damaged entries.
    #[serde(default)]
    pub damaged_entries: u64,
    /// Whether the file only says in which service the keys are.
    #[serde(default)]
    pub names_service: bool,
}

/// A file whose verdict is neither `ok` nor `clear`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnsoundFile {
    /// Absolute path.
    pub path: String,
    /// Name in findings.
    pub name: String,
    /// `tablespace`, `redo`, `binlog`, …
    #[serde(with = "report_name")]
    pub kind: Option<FileKind>,
    /// Worst verdict of its units.
    pub verdict: Verdict,
    /// Whether a key that it needs is missing or does not open it, regardless of other faults.
    pub locked: bool,
    /// The key that it needs.
    pub key: Option<RequiredKey>,
    /// Numbers of pages, blocks or events.
    pub units: Units,
    /// The first findings.
    pub findings: Vec<Finding>,
    /// Number of findings that are not listed.
    pub findings_left_out: u64,
}

impl UnsoundFile {
    /// Whether it is a tablespace.
    #[must_use]
    pub fn is_tablespace(&self) -> bool {
        self.kind == Some(FileKind::Tablespace)
    }

    /// Human-readable name of the key that it needs.
    #[must_use]
    pub fn key_text(&self) -> String {
        self.key.as_ref().map_or_else(|| "a key that it does not name".to_owned(), ToString::to_string)
    }
}

/// Whether a text has this name, and not one with more digits at its end.
fn has_name(text: &str, name: &str) -> bool {
    text.split(name).skip(1).any(|rest| !rest.starts_with(|next: char| next.is_ascii_digit()))
}

/// A file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unread {
    /// Absolute path.
    pub path: String,
    /// The reason.
    pub why: String,
}

impl Proof {
    /// Number of files with this verdict.
    #[must_use]
    pub fn count(&self, verdict: Verdict) -> u64 {
        self.verdicts.get(&verdict).copied().unwrap_or(0)
    }

    /// Total number of files.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.verdicts.values().fold(0, |sum, files| sum.saturating_add(*files))
    }

    /// Key stores that could be used.
    pub fn usable(&self) -> impl Iterator<Item = &ProofStore> {
        self.stores.iter().filter(|store| store.why.is_none())
    }

    /// Whether a service has the keys.
    #[must_use]
    pub fn is_with_service(&self) -> bool {
        self.usable().any(|store| store.names_service)
    }

    /// Why the stores name the key that this file needs, but do not give it; `None` if they do not name it.
    #[must_use]
    pub fn why_lost(&self, file: &UnsoundFile) -> Option<&str> {
        let names = match file.key.as_ref()? {
            RequiredKey::MySql { name, .. } | RequiredKey::MysqlBinlog { name } => vec![name.clone()],
            RequiredKey::MariaDb { key_id, versions } => {
                versions.iter().map(|version| format!("key {key_id} version {version}")).collect()
            }
            RequiredKey::ExportFile => Vec::new(),
        };
        let is_needed = |reason: &&String| names.iter().any(|name| !name.is_empty() && has_name(reason, name));
        self.lost_keys.iter().find(is_needed).map(String::as_str)
    }

    /// Paths of key stores that could be used.
    #[must_use]
    pub fn store_names(&self) -> String {
        self.usable().map(|store| store.path.as_str()).collect::<Vec<_>>().join(", ")
    }
}
