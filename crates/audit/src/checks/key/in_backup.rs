//! `key-in-backup`.

use findings::Severity;
use innodb::server_file::BACKUP_MARKS;
use keyring::StoreSummary;

use super::{holds_keys, is_filled, store_evidence};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::files::{Content, FileFact, FileFacts, Root};
use crate::facts::host::Role;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "key-in-backup",
    title: "A backup holds both the data and its keys",
    severity: Severity::Critical,
    explanation: "Backups are copied to many places, and encryption does not protect one that contains its keys. \
        Backup directories and archives are searched for key files, and a data directory that is itself a copy made by \
        xtrabackup or mariadb-backup, or is audited without its server, is treated as a backup.",
    applies: "every server",
    fix: "keep keys out of the backup, store them separately, and rotate the master key: the existing copy stays \
        readable",
    cost: "rotation re-wraps the tablespace keys in seconds; the backup with the key must be destroyed",
    standards: &["PCI DSS 4.0.1 3.6.1.2", "PCI DSS 4.0.1 3.6.1.4"],
    exposes: Exposes::Data(Attacker::StolenDisk, "Backups that contain their own keys"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

/// Maximum number of backups that a pass names.
const MAX_NAMED: usize = 20;

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let files = cx.facts.files()?;
    let mut results = CheckResults::new();
    let mut looked_at = 0_usize;
    for file in &files.files {
        if let Content::Backup { backup } = &file.content {
            looked_at = looked_at.saturating_add(1);
            if backup.holds_keys {
                results.push(fail(file, format!("{} holds keys beside data", file.name)).evidence(Evidence::Bytes {
                    path: file.path.clone(),
                    offset: 0,
                    hex: String::new(),
                    meaning: format!("{} with a key store inside", backup.layers.join(" > ")),
                }));
            }
        }
    }
    for root in backups(files) {
        looked_at = looked_at.saturating_add(usize::from(keys_beside_data(files, root, &mut results)));
    }
    // A directory without its server is a copy, or may become one: keys in it fail, but their absence proves nothing.
    if looked_at == 0 && cx.facts.sql.is_none() {
        for root in files.roots.iter().filter(|root| root.role == Role::Data) {
            keys_beside_data(files, root, &mut results);
        }
        if results.has_failed() {
            return Ok(results);
        }
    }
    if looked_at == 0 {
        return Err(Unavailable {
            what: "backups".to_owned(),
            why: "no backup was found below the directories that were read".to_owned(),
            remedy: "name the backup directories to the audit, or audit one with `sealant audit --offline DIR`"
                .to_owned(),
        });
    }
    let archives = files.files.iter().filter(|file| matches!(file.content, Content::Backup { .. }));
    let searched = backups(files).map(|root| root.path.as_str()).chain(archives.map(|file| file.path.as_str()));
    let evidence = searched.take(MAX_NAMED).map(|path| Evidence::Host {
        source: path.to_owned(),
        observation: "searched for key files, none found".to_owned(),
    });
    let pass = CheckResult::pass(
        "server",
        EvidenceGrade::Bytes,
        format!("no key in {looked_at} backups and backup directories"),
    );
    results.pass_if_clean(evidence.fold(pass, CheckResult::evidence));
    Ok(results)
}

/// Directories that are backups by role, or by files of a backup tool.
fn backups(files: &FileFacts) -> impl Iterator<Item = &Root> {
    files.roots.iter().filter(|root| {
        let marked = || below(files, root).any(|file| BACKUP_MARKS.contains(&file.name.as_str()));
        root.error.is_none() && (root.role == Role::Backup || (root.role == Role::Data && marked()))
    })
}

/// Data in a directory of backups, with the file that holds it.
pub(in crate::checks) fn data_below<'a>(files: &'a FileFacts, root: &'a Root) -> impl Iterator<Item = &'a FileFact> {
    let is_data = |file: &&FileFact| {
        matches!(
            file.content,
            Content::Tablespace { .. }
                | Content::Backup { .. }
                | Content::BackupReceipt { .. }
                | Content::Redo { .. }
                | Content::BinaryLog { .. }
        )
    };
    below(files, root).filter(is_data)
}

/// Files of a directory.
pub(in crate::checks) fn below<'a>(files: &'a FileFacts, root: &'a Root) -> impl Iterator<Item = &'a FileFact> {
    files.files.iter().filter(|file| std::path::Path::new(&file.path).starts_with(&root.path))
}

/// Judges a backup directory; returns whether it has data at all.
fn keys_beside_data(files: &FileFacts, root: &Root, results: &mut CheckResults) -> bool {
    if data_below(files, root).next().is_none() {
        return false;
    }
    for file in below(files, root) {
        let Content::KeyStore { summary } = &file.content else { continue };
        if opens_data(summary) {
            let message = format!("{} lies in the same directory as data ({})", file.name, root.path);
            results.push(fail(file, message).evidence(store_evidence(file, summary)));
        }
    }
    true
}

/// Whether it is a key file with keys that open data without a password. A file with one is recognised only by the
/// header that `openssl enc` writes for any content.
pub(in crate::checks) fn opens_data(summary: &StoreSummary) -> bool {
    holds_keys(summary) && summary.readable_without_password && is_filled(summary)
}

fn fail(file: &FileFact, message: String) -> CheckResult {
    CheckResult::fail(&file.path, EvidenceGrade::Bytes, message).fix(format!(
        "move the keys of {} to another place (shred -u the copy), then rotate the master key on the server",
        file.path
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{UUID, json, space};
    use super::*;
    use crate::facts::files::BackupFile;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mysql};

    fn archive(holds_keys: bool) -> Content {
        Content::Backup {
            backup: BackupFile { layers: vec!["gzip".to_owned(), "tar".to_owned()], readable: Some(true), holds_keys },
        }
    }

    #[test]
    fn an_archive_with_keys_fails_and_one_without_passes() {
        assert_eq!(FactsBuilder::nothing().file("b.tar.gz", archive(true)).statuses(&CHECK), [Fail]);
        assert_eq!(FactsBuilder::nothing().file("b.tar.gz", archive(false)).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn keys_in_a_copied_data_directory_fail() {
        let made = || mysql().file("component_keyring_file", json(&[1])).file("dump.sql", archive(false));
        assert_eq!(made().statuses(&CHECK), [Pass]);
        let copied = made().file("xtrabackup_checkpoints", Content::Structure);
        assert_eq!(copied.judge(&CHECK)[0].artefact, "/var/lib/mysql/component_keyring_file");
    }

    #[test]
    fn a_directory_without_its_server_is_a_copy() {
        let made =
            |made: FactsBuilder| made.file("demo/t.ibd", space(1, UUID)).file("component_keyring_file", json(&[1]));
        assert_eq!(made(FactsBuilder::nothing()).statuses(&CHECK), [Fail]);
        assert_eq!(made(mysql()).statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().file("demo/t.ibd", space(1, UUID)).statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn without_a_backup_nothing_is_proven() {
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().file("component_keyring_file", json(&[1])).statuses(&CHECK), [Unknown]);
    }
}
