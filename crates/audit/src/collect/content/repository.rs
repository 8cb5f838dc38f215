//! Files of `sealant backup`: receipts, their signatures, the description of a repository, records of restores
//! and of buckets.
//!
//! They are text, but hold no rows. `docs/formats/backup.md` describes their format.

use archive::names::{self, SIGNATURE};
use archive::prune::PruneDeclaration;
use archive::sshsig::{MAX_SIGNATURE_BYTES, Signature};
use archive::{
    Digest, Error as ArchiveError, KeyCheckRecord, Receipt, RepositoryDescription, RepositoryRecord, RestoreRecord,
    key_checks, prune, receipt, repository, restores,
};
use files::quantity::size;

use super::Candidate;
use crate::facts::backup::{BackupReceipt, RecordedRestore};
use crate::facts::files::Content;

/// Maximum length of a file that is read: the receipt of a backup of 100 TB, or records of a century of daily restores.
const MAX_BYTES: u64 = 128 << 20;

/// A receipt of a backup.
pub(super) fn receipt(file: &Candidate<'_>) -> Option<Content> {
    read_as(file, receipt::SCHEMA, |bytes| {
        let receipt = BackupReceipt::new(&Receipt::parse(bytes)?, Digest::compute(bytes));
        Ok(Content::BackupReceipt { receipt: Box::new(receipt) })
    })
}

/// Records of restores.
pub(super) fn restores(file: &Candidate<'_>) -> Option<Content> {
    read_as(file, restores::SCHEMA, |bytes| {
        let records = RestoreRecord::parse_all(&String::from_utf8_lossy(bytes))?;
        Ok(Content::RestoreRecords { restores: records.iter().map(RecordedRestore::from).collect() })
    })
}

/// Records of tests of keyring copies.
pub(super) fn key_checks(file: &Candidate<'_>) -> Option<Content> {
    read_as(file, key_checks::SCHEMA, |bytes| {
        Ok(Content::KeyCheckRecords { checks: KeyCheckRecord::parse_all(&String::from_utf8_lossy(bytes))? })
    })
}

/// What a host has recorded about a bucket with its backups.
pub(super) fn bucket(file: &Candidate<'_>) -> Option<Content> {
    let parse = |bytes: &[u8]| Ok(Content::BucketRecord { record: RepositoryRecord::parse(bytes)?.into() });
    // Older releases wrote no schema.
    if file.head.starts_with(b"{\"location\":") {
        return parse(&file.whole(repository::MAX_BYTES)?).ok();
    }
    read_as(file, repository::RECORD_SCHEMA, parse)
}

/// The signature of a receipt or a prune, the declaration of a prune, or the description of a repository.
pub(super) fn other(file: &Candidate<'_>) -> Option<Content> {
    let known = if file.name == names::REPOSITORY {
        RepositoryDescription::parse(&file.whole(repository::MAX_BYTES)?).is_ok()
    } else if begins_as(file, prune::SCHEMA) {
        PruneDeclaration::parse(&file.whole(prune::MAX_BYTES)?).is_ok()
    } else {
        file.name.ends_with(SIGNATURE) && Signature::parse(&file.whole(MAX_SIGNATURE_BYTES as u64)?).is_ok()
    };
    known.then_some(Content::Structure)
}

/// Whether a file begins as `sealant` writes a document of this schema.
fn begins_as(file: &Candidate<'_>, schema: &str) -> bool {
    file.head.starts_with(format!("{{\"schema\":\"{schema}\"").as_bytes())
}

/// Parses a file that begins as `sealant` writes a document of this schema.
fn read_as(
    file: &Candidate<'_>,
    schema: &str,
    parse: impl FnOnce(&[u8]) -> Result<Content, ArchiveError>,
) -> Option<Content> {
    if !begins_as(file, schema) {
        return None;
    }
    let unreadable = |why: String| Content::Unreadable { why };
    Some(match file.whole(MAX_BYTES) {
        Some(bytes) => parse(&bytes).unwrap_or_else(|error| unreadable(error.to_string())),
        None => unreadable(format!("it is longer than {}", size(MAX_BYTES))),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::recognised;
    use super::*;
    use crate::facts::backup::{BucketRecord, StoreBehaviour};
    use crate::facts::host::Role;

    const DIGEST: &str = "0000000000000000000000000000000000000000000000000000000000000000";

    fn receipt_text() -> String {
        format!(
            concat!(
                r#"{{"schema":"sealant.receipt/1","repo":"07070707070707070707070707070707","host":"db1","number":7,"#,
                r#""kind":"backup","began":"2026-11-24T01:00:00Z","ended":"2026-11-24T01:02:00Z","full":true,"#,
                r#""provider":"stopped","manifest":{{"sha256":"{digest}","bytes":9}},"packs":[],"#,
                r#""bytes":{{"data":1,"read":1,"changed":1,"stored":1}},"#,
                r#""pages":{{"seen":9,"changed":9,"damaged":0,"unproven":2}},"recipients":["a","b"],"#,
                r#""unproven_recipients":["b"],"findings":[],"tool":"sealant 0.1.0"}}"#,
                "\n"
            ),
            digest = DIGEST
        )
    }

    #[test]
    fn a_receipt_is_no_readable_dump() {
        let text = receipt_text();
        let Content::BackupReceipt { receipt } = recognised("000007.json", Role::Backup, text.as_bytes()) else {
            panic!("not recognised")
        };
        assert_eq!(
            (receipt.host.as_str(), receipt.number, receipt.sha256),
            ("db1", 7, Digest::compute(text.as_bytes()))
        );
        assert_eq!((receipt.recipients.len(), receipt.unproven_recipients, receipt.is_good()), (2, 1, false));
        let damaged = recognised("000007.json", Role::Backup, &text.as_bytes()[..200]);
        assert!(matches!(damaged, Content::Unreadable { why } if why.contains("not a receipt")));
    }

    #[test]
    fn rows_behind_a_receipt_are_not_taken_for_a_part_of_it() {
        let text = receipt_text() + "1,Ada,4711\n";
        assert!(matches!(recognised("000007.json", Role::Backup, text.as_bytes()), Content::Unreadable { .. }));
    }

    #[test]
    fn records_of_restores_are_read() {
        let record = format!(
            r#"{{"schema":"sealant.restore/1","receipt":"{DIGEST}","ended":"2026-11-24T10:00:00Z","seconds":2.5,"pages":{{"bad":0,"unproven":0}}}}"#
        );
        let text = format!("{record}\n{record}\n");
        let Content::RestoreRecords { restores } = recognised("restores", Role::Backup, text.as_bytes()) else {
            panic!("not recognised")
        };
        assert_eq!(restores.iter().map(|restore| restore.proven).collect::<Vec<_>>(), [false, false]);
        let other = format!("{record}\n1,Ada,4711\n");
        assert!(matches!(recognised("restores", Role::Backup, other.as_bytes()), Content::Unreadable { .. }));
    }

    #[test]
    fn the_record_of_a_bucket_is_read() {
        let text = concat!(
            r#"{"schema":"sealant.repository-record/1","location":"Address","url":"s3://b/p","id":"07","#,
            r#""may_read":false,"asks_for_locks":true,"observed":{"checksums":true,"versions":true,"locks":null}}"#
        );
        let Content::BucketRecord { record } = recognised("00ff.json", Role::Backup, text.as_bytes()) else {
            panic!("not recognised")
        };
        let store = StoreBehaviour { versions: Some(true), locks: None };
        assert_eq!(record, BucketRecord { id: "07".into(), url: "s3://b/p".into(), asks_for_locks: true, store });
        let older = concat!(
            r#"{"location":"Address","id":"07","may_read":true,"#,
            r#""observed":{"checksums":true,"versions":true,"locks":null,"clock_ahead_seconds":0}}"#
        );
        let Content::BucketRecord { record } = recognised("00ff.json", Role::Backup, older.as_bytes()) else {
            panic!("not recognised")
        };
        assert_eq!(record.store, StoreBehaviour::default());
        let rows = older.replace("}}", "}}\n1,Ada,4711\n");
        assert!(!matches!(recognised("00ff.json", Role::Backup, rows.as_bytes()), Content::BucketRecord { .. }));
    }

    #[test]
    fn a_description_is_structure_under_its_name_only() {
        let bytes =
            RepositoryDescription::new([7; repository::ID_BYTES], jiff::Timestamp::UNIX_EPOCH).encode().unwrap();
        assert!(matches!(recognised(names::REPOSITORY, Role::Backup, &bytes), Content::Structure));
        assert!(matches!(recognised("rows.json", Role::Backup, &bytes), Content::Backup { .. }));
    }
}
