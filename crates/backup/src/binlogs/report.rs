//! Reports on archives of binary logs for scripts, with the schemas in `docs/schema`.

use std::{path::Path, time::Duration};

use archive::binlog::Gap;
use innodb::binlog::LogPosition;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::{Archive, Archived, Transaction, transaction::around};
use crate::{
    Error, Repository,
    config::{allowed_signers, identities},
};

/// What was archived, schema `sealant.backup-binlogs/1`.
#[derive(Debug, Serialize)]
pub struct ArchivedReport<'r> {
    schema: &'static str,
    host: &'r str,
    server: &'r str,
    segments: u64,
    event_bytes: u64,
    stored_bytes: u64,
    end: &'r LogPosition,
    gtid: &'r str,
    gaps: &'r [Gap],
    /// SHA-256 of the newest receipt.
    receipt: Option<String>,
}

impl<'r> ArchivedReport<'r> {
    /// The report of a run.
    #[must_use]
    pub fn new(host: &'r str, archived: &'r Archived) -> Self {
        Self {
            schema: "sealant.backup-binlogs/1",
            host,
            server: &archived.server,
            segments: archived.segments,
            event_bytes: archived.event_bytes,
            stored_bytes: archived.stored_bytes,
            end: &archived.end,
            gtid: &archived.gtid,
            gaps: &archived.gaps,
            receipt: archived.receipt.map(|digest| digest.to_string()),
        }
    }
}

/// The archives of a host, schema `sealant.backup-binlogs-list/1`.
#[derive(Debug, Serialize)]
pub struct ArchivesReport {
    schema: &'static str,
    /// Name of the host.
    pub host: String,
    /// One for each server that the host had.
    pub archives: Vec<ArchiveSummary>,
    /// Transactions, if requested.
    pub transactions: Vec<Transaction>,
}

/// The time near which transactions are listed.
#[derive(Debug)]
pub struct TimeFilter<'n> {
    /// Time around which transactions are shown.
    pub time: Timestamp,
    /// How near.
    pub within: Duration,
    /// File of age identities that decrypt the archive.
    pub identity: &'n Path,
}

impl ArchivesReport {
    /// Reads the archives of a host and, if asked for, the transactions near a time. Without the file `signers` no
    /// signature is verified.
    ///
    /// # Errors
    /// [`Error`] if an archive or a file that is named cannot be read.
    pub fn read(
        repository: &Repository,
        host: &str,
        signers: Option<&Path>,
        near: Option<&TimeFilter<'_>>,
    ) -> Result<Self, Error> {
        let signers = signers.map(allowed_signers).transpose()?;
        let archives = Archive::read_some(repository, host, signers.as_ref())?;
        let mut transactions = Vec::new();
        if let Some(near) = near {
            let within = SignedDuration::try_from(near.within).unwrap_or(SignedDuration::MAX);
            let identities = identities(near.identity)?;
            for archive in &archives {
                transactions.extend(around(repository, archive, &identities, near.time, within)?);
            }
        }
        Ok(Self::new(host, &archives, transactions))
    }
}

/// The archive of one server.
#[derive(Debug, Serialize)]
pub struct ArchiveSummary {
    /// The server: its UUID, or number.
    pub server: String,
    /// Version of the server when the newest receipt was written.
    pub version: String,
    /// The server whose archive it continues: it took over from that one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub predecessor: Option<String>,
    /// Where it begins.
    pub begin: Option<LogPosition>,
    /// Where it ends.
    pub end: Option<LogPosition>,
    /// Time of the first event.
    pub first: Option<Timestamp>,
    /// Time of the newest event.
    pub last: Option<Timestamp>,
    /// Transactions up to its end, by the GTIDs of the server.
    pub gtid: String,
    /// Number of parts.
    pub segments: u64,
    /// Length of the stored objects.
    pub stored_bytes: u64,
    /// Whether allowed signers have signed it.
    pub signed: bool,
    /// Gaps and faults.
    pub findings: Vec<String>,
}

impl ArchiveSummary {
    fn new(archive: &Archive) -> Self {
        let segments = || archive.segments().map(|(segment, _)| segment);
        let time = |seconds: u32| Timestamp::from_second(i64::from(seconds)).ok().filter(|_| seconds > 0);
        let newest = archive.receipts.last();
        Self {
            server: archive.server.clone(),
            version: newest.map_or_else(String::new, |receipt| receipt.version.clone()),
            predecessor: archive.predecessor().map(|before| before.server.clone()),
            begin: segments().next().map(|segment| LogPosition { file: segment.file.clone(), offset: segment.start }),
            end: newest.map(|receipt| receipt.end.clone()),
            first: segments().map(|segment| segment.first).filter(|first| *first > 0).min().and_then(time),
            last: segments().map(|segment| segment.last).max().and_then(time),
            gtid: newest.map_or_else(String::new, |receipt| receipt.gtid.clone()),
            segments: segments().count() as u64,
            stored_bytes: segments().fold(0, |sum, segment| sum.saturating_add(segment.object.bytes)),
            signed: archive.is_signed,
            findings: archive
                .breaks
                .iter()
                .map(|(object, what)| format!("{object}: {what}"))
                .chain(archive.gaps.iter().cloned())
                .collect(),
        }
    }
}

impl ArchivesReport {
    /// The report of these archives.
    #[must_use]
    pub fn new(host: &str, archives: &[Archive], transactions: Vec<Transaction>) -> Self {
        Self {
            schema: "sealant.backup-binlogs-list/1",
            host: host.to_owned(),
            archives: archives.iter().map(ArchiveSummary::new).collect(),
            transactions,
        }
    }

    /// Whether no archive has a finding.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.archives.iter().all(|archive| archive.findings.is_empty())
    }
}
