//! Backups of each host by their receipts, and restores of them.

use std::collections::BTreeMap;

use crate::check::{CheckResults, Context};
use crate::facts::backup::{BackupReceipt, RecordedRestore};
use crate::facts::files::{Content, FileFact, FileFacts};
use crate::facts::host::Role;
use crate::facts::{Observed, Unavailable};
use crate::finding::Evidence;

/// A receipt and its file.
pub(super) type Received<'a> = (&'a FileFact, &'a BackupReceipt);

/// A record of a restore and its file.
pub(super) type Recorded<'a> = (&'a FileFact, &'a RecordedRestore);

/// Backups of a host in a repository.
#[derive(Debug)]
pub(super) struct HostBackups<'a> {
    /// Name of the host.
    pub(super) host: &'a str,
    /// Its newest backup.
    pub(super) newest: Received<'a>,
    /// All of its backups, oldest first.
    pub(super) all: Vec<Received<'a>>,
}

impl<'a> HostBackups<'a> {
    /// The name in findings.
    pub(super) fn artefact(&self) -> String {
        format!("backups of {}", self.host)
    }

    /// The newest backup of which every page was proven.
    pub(super) fn newest_good(&self) -> Option<Received<'a>> {
        self.all.iter().rev().find(|(_, receipt)| receipt.is_good()).copied()
    }
}

/// Judges the backups of each host. Receipts that cannot be read are UNKNOWN; without receipts the check does not
/// apply.
pub(super) fn for_each_host<'a>(
    cx: &'a Context<'_>,
    mut judge: impl FnMut(&HostBackups<'a>, &mut CheckResults),
) -> Observed<CheckResults> {
    let files = cx.facts.files()?;
    let mut results = CheckResults::new();
    for host in hosts(files) {
        judge(&host, &mut results);
    }
    for (file, why) in unreadable_receipts(files) {
        results.push_unknown(
            &file.name,
            Unavailable {
                what: format!("the backup of the receipt {}", file.path),
                why: why.to_owned(),
                remedy: "run `sealant backup check all`, which names the damaged receipts".to_owned(),
            },
        );
    }
    if results.is_empty() {
        return Ok(CheckResults::not_applicable(
            "no repository of `sealant backup` was found; name its directory with --backup DIR",
        ));
    }
    Ok(results)
}

/// The backups of each host in each repository.
pub(super) fn hosts(files: &FileFacts) -> impl Iterator<Item = HostBackups<'_>> {
    let mut by_host: BTreeMap<(&str, &str), Vec<Received<'_>>> = BTreeMap::new();
    for (file, receipt) in receipts(files) {
        by_host.entry((&receipt.host, &receipt.repository)).or_default().push((file, receipt));
    }
    by_host.into_iter().filter_map(|((host, _), mut all)| {
        all.sort_by_key(|(_, receipt)| receipt.number);
        Some(HostBackups { host, newest: *all.last()?, all })
    })
}

/// All receipts.
pub(super) fn receipts(files: &FileFacts) -> impl Iterator<Item = Received<'_>> {
    files.files.iter().filter_map(|file| match &file.content {
        Content::BackupReceipt { receipt } => Some((file, &**receipt)),
        _ => None,
    })
}

fn unreadable_receipts(files: &FileFacts) -> impl Iterator<Item = (&FileFact, &str)> {
    files.files.iter().filter(|file| file.role == Role::Backup).filter_map(|file| match &file.content {
        Content::Unreadable { why } if archive::names::is_receipt(&file.name) => Some((file, why.as_str())),
        _ => None,
    })
}

/// All recorded restores.
pub(super) fn restores(files: &FileFacts) -> impl Iterator<Item = Recorded<'_>> {
    files.files.iter().flat_map(|file| {
        let restores = match &file.content {
            Content::RestoreRecords { restores } => restores.as_slice(),
            _ => &[],
        };
        restores.iter().map(move |restore| (file, restore))
    })
}

/// What the receipt of a backup says.
pub(super) fn receipt_evidence((file, receipt): Received<'_>) -> Evidence {
    let observation = format!(
        "receipt of backup {} of {}: ended {:.0}; pages damaged {}, not proven {}; recipients not proven {} of {}",
        receipt.number,
        receipt.host,
        receipt.ended,
        receipt.damaged_pages,
        receipt.unproven_pages,
        receipt.unproven_recipients,
        receipt.recipients.len()
    );
    Evidence::Host { source: file.path.clone(), observation }
}

#[cfg(test)]
pub(super) mod testing {
    use archive::Digest;
    use jiff::{Timestamp, ToSpan};

    use super::super::tests::in_set;
    use super::*;
    use crate::testing::{FactsBuilder, NOW};

    pub(in crate::checks::bak) fn hours_ago(hours: i64) -> Timestamp {
        NOW.parse::<Timestamp>().unwrap() - hours.hours()
    }

    /// The receipt of a backup of the host `db1`.
    pub(in crate::checks::bak) fn receipt(number: u64, ended: Timestamp) -> BackupReceipt {
        BackupReceipt {
            sha256: Digest::compute(&number.to_le_bytes()),
            repository: "07".repeat(16),
            host: "db1".to_owned(),
            number,
            ended,
            damaged_pages: 0,
            unproven_pages: 0,
            recipients: vec!["0011223344556677".to_owned(), "8899aabbccddeeff".to_owned()],
            unproven_recipients: 0,
        }
    }

    /// Adds a receipt to the backup directory.
    pub(in crate::checks::bak) fn with_receipt(made: FactsBuilder, receipt: BackupReceipt) -> FactsBuilder {
        let name = archive::names::receipt(&receipt.host, receipt.number);
        in_set(made, &name, Content::BackupReceipt { receipt: Box::new(receipt) })
    }

    /// Adds a damaged receipt to the backup directory.
    pub(in crate::checks::bak) fn with_damaged_receipt(made: FactsBuilder) -> FactsBuilder {
        let content = Content::Unreadable { why: "it is not a receipt of a backup".to_owned() };
        in_set(made, &archive::names::receipt("db1", 3), content)
    }
}
