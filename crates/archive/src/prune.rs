//! Declarations of prunes, which list the receipts that a keeper removed. Without them a gap in the chain could not be
//! distinguished from a loss.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use crate::{Digest, Error, document, names::Number};

/// Schema that this version writes.
pub const SCHEMA: &str = "sealant.prune/1";
/// Namespace of the signatures.
pub const NAMESPACE: &str = "sealant-prune";
/// Maximum length of a declaration: 200 bytes a receipt.
pub const MAX_BYTES: u64 = 64 << 20;
/// Minimum age, in days, at which a pack without a receipt is removed. A run has to end within this time.
pub const ORPHAN_DAYS: u16 = 7;
/// The longest time from the start of a run to its receipt, in hours: after [`ORPHAN_DAYS`], a prune may have removed
/// its first packs.
pub const MAX_RUN_HOURS: i64 = 6 * 24;

/// When receipts of binary logs are removed, the signatures of number 1 and of all multiples of this number are kept.
pub const SIGNATURES_LEFT_EVERY: Number = 64;

/// Whether the signature of a removed receipt of binary logs is kept, so that its name stays taken. A host that lost
/// its state, or continues with an old one, and may not read the repository would use the numbers of removed receipts
/// again. It notices this when it meets a name that is taken.
#[must_use]
pub const fn is_signature_left(number: Number) -> bool {
    number == 1 || number.is_multiple_of(SIGNATURES_LEFT_EVERY)
}

/// What a prune removes, written before it removes anything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PruneDeclaration {
    /// [`SCHEMA`].
    pub schema: String,
    /// Id of the repository.
    pub repo: String,
    /// Name of the keeper, the principal of its signature.
    pub keeper: String,
    /// Time of the declaration, by the keeper's clock.
    pub at: Timestamp,
    /// The removed receipts of each host.
    pub hosts: BTreeMap<String, Vec<Removed>>,
    /// Archived binary logs that were removed, by host and server.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub binlogs: BTreeMap<String, BTreeMap<String, RemovedLogs>>,
    /// Program and version that wrote it.
    pub tool: String,
}

/// Removed receipts of the binary logs of a server, with the objects that they name: all up to a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedLogs {
    /// Number of the last removed receipt.
    pub number: Number,
    /// SHA-256 of that receipt.
    pub sha256: Digest,
}

/// A removed receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    /// Number of the backup.
    pub number: Number,
    /// SHA-256 of the receipt.
    pub sha256: Digest,
    /// SHA-256 of the receipt before it; `None` in the first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub previous: Option<Digest>,
}

/// Whether a run that started at `began` may no longer store its receipt.
#[must_use]
pub fn is_run_too_old(began: Timestamp, now: Timestamp) -> bool {
    now.duration_since(began) > SignedDuration::from_hours(MAX_RUN_HOURS)
}

impl PruneDeclaration {
    /// The bytes to sign and store.
    ///
    /// # Errors
    /// [`Error::Prune`] if serialization fails; a declaration from [`parse`](Self::parse) always serializes.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        document::encode(self, Error::Prune)
    }

    /// Parses a declaration.
    ///
    /// # Errors
    /// [`Error::Prune`], [`Error::Version`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        document::parse(bytes, SCHEMA, Error::Prune)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_reads_back_and_a_later_one_is_refused() {
        let removed = Removed { number: 3, sha256: Digest::compute(b"3"), previous: Some(Digest::compute(b"2")) };
        let declaration = PruneDeclaration {
            schema: SCHEMA.to_owned(),
            repo: "00".repeat(16),
            keeper: "keeper".to_owned(),
            at: "2026-11-23T20:15:00Z".parse().unwrap(),
            hosts: BTreeMap::from([("db1".to_owned(), vec![removed])]),
            binlogs: BTreeMap::new(),
            tool: "sealant 0.1.0".to_owned(),
        };
        let bytes = declaration.encode().unwrap();
        assert_eq!(PruneDeclaration::parse(&bytes).unwrap(), declaration);
        let later = String::from_utf8(bytes).unwrap().replace("prune/1", "prune/2");
        assert!(matches!(PruneDeclaration::parse(later.as_bytes()), Err(Error::Version { .. })));
        assert!(matches!(PruneDeclaration::parse(b"{}"), Err(Error::Prune(_))));
    }
}
