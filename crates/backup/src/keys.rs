//! Whether a copy of the keys opens a backup, from its manifest alone.

use archive::Manifest;
use innodb::keys::KeySource;

use crate::{heads::Logs, run::key_check};

/// What keys do for a backup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Files, and keys of MariaDB, that the keys were tried on.
    pub needed: u64,
    /// Those of them that the keys do not open, or for which there is none.
    pub missing: Vec<String>,
}

/// Tries keys on all that a manifest says it needs.
#[must_use]
pub fn check(manifest: &Manifest, keys: &dyn KeySource) -> Answer {
    let heads = || manifest.files.iter().filter_map(|file| Some((&file.entry.path, file.head.as_deref()?)));
    let logs = Logs::new(heads());
    let mut answer = Answer::default();
    for (path, head) in heads() {
        answer.needed = answer.needed.saturating_add(1);
        if logs.space(path, head, keys).is_none() {
            let wrapped = innodb::crypt::wrapped::Wrapped::find(head);
            let key = wrapped.map(|wrapped| format!(" ({})", wrapped.master_key_name())).unwrap_or_default();
            answer.missing.push(format!("{path}{key}"));
        }
    }
    for key in &manifest.keys {
        answer.needed = answer.needed.saturating_add(1);
        if key_check(keys, key.id, key.version).as_ref() != Some(key) {
            answer.missing.push(format!("key {} version {}", key.id, key.version));
        }
    }
    answer
}
