//! Facts about backups of `sealant backup`, and about restores of them.

use archive::{Digest, Receipt, RepositoryRecord, RestoreRecord, names::Number};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The receipt of a backup. Its signature is not verified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupReceipt {
    /// SHA-256 of the receipt, which records of restores name.
    pub sha256: Digest,
    /// Id of the repository.
    pub repository: String,
    /// Name of the host.
    pub host: String,
    /// Number of the backup.
    pub number: Number,
    /// When its run ended.
    pub ended: Timestamp,
    /// Number of pages that were damaged.
    pub damaged_pages: u64,
    /// Number of pages that no key opened.
    pub unproven_pages: u64,
    /// Fingerprints of the recipients of its data and of its keys.
    pub recipients: Vec<String>,
    /// Number of recipients for which nobody has ever proven possession of the identity.
    pub unproven_recipients: usize,
}

/// A repository in a bucket, by the record of a host that makes backups there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BucketRecord {
    /// Id of the repository.
    pub id: String,
    /// Its URL.
    pub url: String,
    /// Whether the configuration asked for locks of new objects.
    pub asks_for_locks: bool,
    /// What `sealant backup init` observed.
    pub store: StoreBehaviour,
}

/// Observed behaviour of a store. `None`: not observed, because a permission was missing or there was no need.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreBehaviour {
    /// Whether it keeps replaced versions of an object.
    pub versions: Option<bool>,
    /// Whether a new object had the lock that was asked for.
    pub locks: Option<bool>,
}

/// A restore, by its record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedRestore {
    /// SHA-256 of the receipt of the backup.
    pub receipt: Digest,
    /// When it ended.
    pub ended: Timestamp,
    /// Whether every page was proven, and a server found nothing wrong.
    pub proven: bool,
}

impl BackupReceipt {
    /// Extracts the facts from a receipt.
    #[must_use]
    pub fn new(receipt: &Receipt, sha256: Digest) -> Self {
        Self {
            sha256,
            repository: receipt.repo.clone(),
            host: receipt.host.clone(),
            number: receipt.number,
            ended: receipt.ended,
            damaged_pages: receipt.pages.damaged,
            unproven_pages: receipt.pages.unproven,
            recipients: receipt.recipients.iter().chain(&receipt.key_recipients).cloned().collect(),
            unproven_recipients: receipt.unproven_recipients.len(),
        }
    }

    /// Whether every page of the backup was proven; see [`Receipt::is_good`].
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.damaged_pages == 0 && self.unproven_pages == 0
    }
}

impl From<RepositoryRecord<StoreBehaviour>> for BucketRecord {
    fn from(record: RepositoryRecord<StoreBehaviour>) -> Self {
        let RepositoryRecord { schema, location, id, url, asks_for_locks, observed, .. } = record;
        if schema.is_empty() {
            // A record of an older release does not say whether locks were asked for.
            return Self { id, url: location, asks_for_locks, store: StoreBehaviour::default() };
        }
        Self { id, url, asks_for_locks, store: observed.unwrap_or_default() }
    }
}

impl From<&RestoreRecord> for RecordedRestore {
    fn from(record: &RestoreRecord) -> Self {
        Self { receipt: record.receipt, ended: record.ended, proven: record.proven }
    }
}
