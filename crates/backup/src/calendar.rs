//! The backups of a host over time, their state, and the restores that proved them.

use std::{collections::BTreeSet, path::Path, time::Duration};

use archive::{
    RestoreRecord,
    chain::Link,
    names::Number,
    receipt::{Finding, Pages, Phases},
};
use jiff::Timestamp;
use serde::Serialize;

use crate::{
    Error, Repository,
    check::{BadObject, Checked, Depth, Selection, check},
    config::allowed_signers,
    list::{Listed, add_lock_ends},
    record::read_records,
    windows::ArchivedLogs,
};

/// The calendar of a host, schema `sealant.backup-report/1`.
#[derive(Debug, Serialize)]
pub struct Calendar {
    schema: &'static str,
    /// Name of the host.
    pub host: String,
    /// When the repository was read.
    pub at: Timestamp,
    /// Maximum age of the newest good backup, in seconds, if one was given.
    pub max_age_seconds: Option<u64>,
    /// Age of the newest good backup, in seconds; `None` if there is no good one.
    pub age_seconds: Option<u64>,
    /// Whether the newest good backup is older than the maximum, or there is none.
    pub too_old: bool,
    /// Whether signatures were verified.
    pub signed: bool,
    /// Breaks of the chain of receipts.
    pub chain: Vec<String>,
    /// Objects that are missing or wrong.
    pub bad: Vec<BadObject>,
    /// The backups, oldest first.
    pub backups: Vec<Entry>,
    /// What is archived of binary logs, if anything is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub binlogs: Option<ArchivedLogs>,
}

/// A backup of the calendar.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// The entry in a list. Unlike there, it is good only if none of its objects is missing or wrong.
    #[serde(flatten)]
    pub listed: Listed,
    /// When its run began.
    pub began: Timestamp,
    /// Durations of the parts of its run, if its receipt has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<Phases>,
    /// Results of verification when it was made.
    pub pages: Pages,
    /// Problems that the run found.
    pub findings: Vec<Finding>,
    /// Number of recipients for whom nobody has proven possession of the identity.
    pub unproven_recipients: usize,
    /// Restores of this backup, oldest first.
    pub restores: Vec<RestoreRecord>,
}

/// Reads a file of records of restores.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read, or a line of it is not the record of a restore.
pub fn read_restores(path: &Path) -> Result<Vec<RestoreRecord>, Error> {
    read_records(Some(path), RestoreRecord::parse_all)
}

impl Calendar {
    /// Checks that every object of a host's backups exists, and adds the restores that the file `restores` records.
    /// Without the file `signers` no signature is verified.
    ///
    /// # Errors
    /// As [`check()`] and [`read_restores`], errors of `signers`, and of the store when it is asked for locks.
    pub fn read(
        repository: &Repository,
        host: &str,
        restores: Option<&Path>,
        signers: Option<&Path>,
        max_age: Option<Duration>,
    ) -> Result<Self, Error> {
        let signers = signers.map(allowed_signers).transpose()?;
        let restores = restores.map(read_restores).transpose()?.unwrap_or_default();
        let (checked, links) = check(repository, host, Selection::All, &Depth::Names, signers.as_ref())?;
        let mut calendar = Self::new(host, (&checked, &links), &restores, Timestamp::now(), max_age);
        add_lock_ends(repository, host, calendar.backups.iter_mut().map(|entry| &mut entry.listed))?;
        Ok(calendar)
    }

    /// Builds the calendar from a check of a host's backups and the records of their restores.
    #[must_use]
    pub fn new(
        host: &str,
        (checked, links): (&Checked, &[Link]),
        restores: &[RestoreRecord],
        at: Timestamp,
        max_age: Option<Duration>,
    ) -> Self {
        let backups: Vec<Entry> = links.iter().map(|link| Entry::new(link, &checked.incomplete, restores)).collect();
        let newest_good = backups.iter().filter(|entry| entry.listed.good).map(|entry| entry.listed.ended).max();
        let age = newest_good.map(|ended| Duration::try_from(at.duration_since(ended)).unwrap_or_default());
        Self {
            schema: "sealant.backup-report/1",
            host: host.to_owned(),
            at,
            max_age_seconds: max_age.map(|most| most.as_secs()),
            age_seconds: age.map(|age| age.as_secs()),
            too_old: max_age.is_some_and(|most| age.is_none_or(|age| age > most)),
            signed: checked.signed,
            chain: checked.breaks.iter().map(ToString::to_string).collect(),
            bad: checked.bad.clone(),
            backups,
            binlogs: checked.logs,
        }
    }

    /// Whether nothing is wrong with the repository, and the newest good backup is young enough.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.bad.is_empty() && self.chain.is_empty() && !self.too_old
    }

    /// The newest good backup.
    #[must_use]
    pub fn newest_good(&self) -> Option<&Entry> {
        self.backups.iter().filter(|entry| entry.listed.good).max_by_key(|entry| entry.listed.ended)
    }

    /// The newest restore that a server has proven, with its backup.
    #[must_use]
    pub fn newest_proven_restore(&self) -> Option<(&Entry, &RestoreRecord)> {
        let all = self.backups.iter().flat_map(|entry| entry.restores.iter().map(move |restore| (entry, restore)));
        all.filter(|(_, restore)| restore.proven).max_by_key(|(_, restore)| restore.ended)
    }
}

impl Entry {
    fn new(link: &Link, incomplete: &BTreeSet<Number>, restores: &[RestoreRecord]) -> Self {
        let receipt = &link.receipt;
        let mut listed = Listed::new(link);
        listed.good &= !incomplete.contains(&receipt.number);
        Self {
            listed,
            began: receipt.began,
            phases: receipt.phases,
            pages: receipt.pages,
            findings: receipt.findings.clone(),
            unproven_recipients: receipt.unproven_recipients.len(),
            restores: restores.iter().filter(|restore| restore.receipt == link.sha256).cloned().collect(),
        }
    }
}
