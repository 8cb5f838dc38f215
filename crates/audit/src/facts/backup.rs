//! Facts about backups of `sealant backup`, and about restores of them.

use archive::{Digest, Receipt, RestoreRecord, names::Number};
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

impl From<&RestoreRecord> for RecordedRestore {
    fn from(record: &RestoreRecord) -> Self {
        Self { receipt: record.receipt, ended: record.ended, proven: record.proven }
    }
}
