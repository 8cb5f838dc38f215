//! The backups of a host over time, their state, and the restores that proved them.

use std::{collections::BTreeSet, fs, path::Path, time::Duration};

use archive::{
    Digest,
    chain::Link,
    receipt::{Finding, Pages},
};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    BackupError,
    check::{BadObject, Checked},
    report::{Listed, RESTORE_SCHEMA},
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
}

/// A backup of the calendar.
#[derive(Debug, Serialize)]
pub struct Entry {
    /// What a list says of it. It is good only if none of its objects is missing or wrong.
    #[serde(flatten)]
    pub listed: Listed,
    /// When its run began.
    pub began: Timestamp,
    /// Results of verification when it was made.
    pub pages: Pages,
    /// Problems that the run found.
    pub findings: Vec<Finding>,
    /// Number of recipients whose identity nobody has shown to have.
    pub unproven_recipients: usize,
    /// Restores of this backup, oldest first.
    pub restores: Vec<RestoreRecord>,
}

/// A restore, as `sealant restore --record` has recorded it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct RestoreRecord {
    #[serde(skip_serializing)]
    schema: String,
    #[serde(skip_serializing)]
    receipt: Digest,
    /// When it ended.
    pub ended: Timestamp,
    /// Duration without the proof by a server, in seconds.
    pub seconds: f64,
    /// Seconds until a server had recovered the restored files, if one was started.
    #[serde(default)]
    pub rto_s: Option<f64>,
    #[serde(skip_serializing)]
    pages: RestoredPages,
    #[serde(skip_serializing, default)]
    proof: Option<ServerFindings>,
    /// Whether every page was proven and a server found nothing wrong.
    #[serde(skip_deserializing)]
    pub proven: bool,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct RestoredPages {
    bad: u64,
    unproven: u64,
}

#[derive(Clone, Debug, Deserialize)]
struct ServerFindings {
    bad: Vec<String>,
    bad_pages: u64,
    #[serde(default)]
    reached: Option<ReachedPosition>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct ReachedPosition {
    is_whole: bool,
}

impl RestoreRecord {
    /// Reads a file of records: a line of JSON for each restore. A last line that was cut off is left out.
    ///
    /// # Errors
    /// [`BackupError::Io`] if the file cannot be read, or a line of it is no record.
    pub fn read_all(path: &Path) -> Result<Vec<Self>, BackupError> {
        let text = fs::read_to_string(path).map_err(BackupError::io(path, "cannot be read"))?;
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let lines = whole.lines().filter(|line| !line.trim().is_empty());
        lines.map(|line| Self::parse(line).map_err(BackupError::io(path, "not a record of restores"))).collect()
    }

    fn parse(line: &str) -> std::io::Result<Self> {
        let mut record: Self = serde_json::from_str(line)?;
        if record.schema != RESTORE_SCHEMA {
            return Err(std::io::Error::other(format!("a line is not of schema {RESTORE_SCHEMA}")));
        }
        let is_sound = |found: &ServerFindings| {
            found.bad.is_empty() && found.bad_pages == 0 && found.reached.is_none_or(|reached| reached.is_whole)
        };
        let all_pages = record.pages.bad == 0 && record.pages.unproven == 0;
        record.proven = all_pages && record.proof.as_ref().is_some_and(is_sound);
        Ok(record)
    }
}

impl Calendar {
    /// The calendar from a check of a host's backups and the records of their restores.
    #[must_use]
    pub fn new(
        host: &str,
        (checked, links): (&Checked, &[Link]),
        restores: &[RestoreRecord],
        at: Timestamp,
        max_age: Option<Duration>,
    ) -> Self {
        let bad: BTreeSet<&str> = checked.bad.iter().map(|bad| bad.object.as_str()).collect();
        let backups: Vec<Entry> = links.iter().map(|link| Entry::new(link, &bad, restores)).collect();
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

    /// The newest restore that was proven by a server, with its backup.
    #[must_use]
    pub fn newest_proven_restore(&self) -> Option<(&Entry, &RestoreRecord)> {
        let all = self.backups.iter().flat_map(|entry| entry.restores.iter().map(move |restore| (entry, restore)));
        all.filter(|(_, restore)| restore.proven).max_by_key(|(_, restore)| restore.ended)
    }
}

impl Entry {
    fn new(link: &Link, bad: &BTreeSet<&str>, restores: &[RestoreRecord]) -> Self {
        let receipt = &link.receipt;
        let is_whole = !receipt.objects().any(|(object, _)| bad.contains(object.as_str()));
        let mut listed = Listed::new(link);
        listed.good &= is_whole;
        Self {
            listed,
            began: receipt.began,
            pages: receipt.pages,
            findings: receipt.findings.clone(),
            unproven_recipients: receipt.unproven_recipients.len(),
            restores: restores.iter().filter(|restore| restore.receipt == link.sha256).cloned().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = concat!(
        r#"{"schema":"sealant.restore/1","receipt":"0000000000000000000000000000000000000000000000000000000000000000","#,
        r#""ended":"2026-11-24T10:00:00Z","seconds":2.5,"rto_s":4.0,"pages":{"proven":7,"bad":0,"unproven":0},"#,
        r#""proof":{"bad":[],"bad_pages":0,"reached":{"is_whole":true}}}"#
    );

    #[test]
    fn a_restore_is_proven_by_its_pages_and_by_a_server() {
        assert!(RestoreRecord::parse(RECORD).unwrap().proven);
        for (from, to) in [
            (r#""bad":0"#, r#""bad":1"#),
            (r#""unproven":0"#, r#""unproven":1"#),
            (r#""bad":[]"#, r#""bad":["shop.t"]"#),
            (r#""bad_pages":0"#, r#""bad_pages":1"#),
            ("true", "false"),
            (r#""proof""#, r#""other""#),
        ] {
            let changed = RECORD.replacen(from, to, 1);
            assert_ne!(changed, RECORD);
            assert!(!RestoreRecord::parse(&changed).unwrap().proven, "{changed}");
        }
        assert!(RestoreRecord::parse(&RECORD.replace("restore/1", "restore/2")).is_err());
    }

    #[test]
    fn a_line_that_was_cut_off_is_left_out_and_a_wrong_one_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("restores");
        let read = |text: &str| {
            fs::write(&path, text).unwrap();
            RestoreRecord::read_all(&path)
        };
        assert_eq!(read("").unwrap().len(), 0);
        assert_eq!(read(&format!("{RECORD}\n{}", &RECORD[..40])).unwrap().len(), 1);
        let error = read("{}\n").unwrap_err().to_string();
        assert!(error.contains("not a record of restores"), "{error}");
    }
}
