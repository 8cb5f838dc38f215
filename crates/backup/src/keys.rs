//! Tests whether keys open a backup, from its manifest alone.

use std::path::Path;

use agefile::Identity;
use archive::{KeyCheckRecord, Manifest, manifest::FileHead};
use innodb::keys::KeySource;
use jiff::Timestamp;

use crate::{
    Error, Repository,
    heads::RedoKeys,
    record::append_line,
    restore::{self, BackupSelector, JudgedReceipt},
    run::key_check,
};

/// Result of a test of keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyCheck {
    /// Number of files and MariaDB keys tested.
    pub needed: u64,
    /// Those that no given key decrypts.
    pub missing: Vec<String>,
}

/// Opens the newest backup of a host, or one by its number, and tests keys on everything in its manifest.
///
/// # Errors
/// [`Error::NoBackup`], and any other error of reading receipt and manifest.
pub fn check_backup(
    repository: &Repository,
    host: &str,
    selector: BackupSelector,
    identities: &[Identity],
    keys: &dyn KeySource,
) -> Result<(JudgedReceipt, KeyCheck), Error> {
    let judged = restore::open(repository, host, selector, None, None)?;
    let manifest = judged.manifest(repository, identities)?;
    let checked = check(&manifest, keys);
    Ok((judged, checked))
}

impl KeyCheck {
    /// Appends the result of a test of a backup to a file, as a line of JSON.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written.
    pub fn record(&self, judged: &JudgedReceipt, path: &Path) -> Result<(), Error> {
        let backup = (judged.sha256, judged.receipt.host.as_str(), judged.receipt.number);
        let missing = self.missing.len() as u64;
        append_line(&KeyCheckRecord::new(backup, Timestamp::now(), self.needed, missing), path)
    }
}

/// Tests keys on everything in a manifest that needs a key.
#[must_use]
pub fn check(manifest: &Manifest, keys: &dyn KeySource) -> KeyCheck {
    let logs = RedoKeys::of(&manifest.files);
    let mut check_result = KeyCheck::default();
    for file in &manifest.files {
        let (path, Some(head)) = (&file.entry.path, file.head.as_ref().map(FileHead::bytes)) else { continue };
        check_result.needed = check_result.needed.saturating_add(1);
        if logs.space(path, &head, keys).is_none() {
            let wrapped = innodb::crypt::wrapped::Wrapped::find(&head);
            let key = wrapped.map(|wrapped| format!(" ({})", wrapped.master_key_name())).unwrap_or_default();
            check_result.missing.push(format!("{path}{key}"));
        }
    }
    for key in &manifest.keys {
        check_result.needed = check_result.needed.saturating_add(1);
        if key_check(keys, key.id, key.version).as_ref() != Some(key) {
            check_result.missing.push(format!("key {} version {}", key.id, key.version));
        }
    }
    check_result
}
