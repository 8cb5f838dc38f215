//! Tests whether keys open a backup of a repository, and records the result.

use std::path::Path;

use agefile::Identity;
use archive::{KeyCheckRecord, manifest::Lists};
use innodb::keys::KeySource;
use jiff::Timestamp;

pub use crate::key_check::{KeyCheck, check};
use crate::{
    Error, Repository,
    record::append_line,
    restore::{self, BackupSelector, JudgedReceipt},
};

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
    let manifest = judged.manifest(repository, identities, Lists::not_kept())?;
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
