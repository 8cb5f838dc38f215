//! Proves a restored directory: a private server starts on it, recovers, and checks the tables.
//!
//! No option file is read, no plug-in but the keyring's is loaded, and the server listens only on a socket in a private
//! directory. Nothing in the restored directory affects how the server runs.

pub(crate) mod binary_log;
mod links;
pub(crate) mod memory;
pub(crate) mod options;
mod position;
mod private_files;
pub(crate) mod private_server;
pub(crate) mod program;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use innodb::binlog::CopyPosition;
use serde::Serialize;
use server::Flavor;
use verify::{KeyStores, Keys, Report};

pub use self::position::{ComparedPosition, RecoveredLog, Uncompared};
use self::private_server::Start;
use crate::{
    Error,
    judge::{self, FileVerdict},
};

/// The server that proves a directory, and its settings.
#[derive(Clone, Debug)]
pub struct Prover {
    /// The server program, of the version that made the backup or a newer one.
    pub mysqld: PathBuf,
    /// Files with the keys that the server needs.
    pub stores: KeyStores,
    /// How many tables are checked, the largest first; all if absent.
    pub check_tables: Option<u64>,
    /// Options that cannot be derived from the directory, for example `--lower-case-table-names=1`.
    pub options: Vec<String>,
    /// Time limit of recovery.
    pub limit: Duration,
    /// Number of threads that verify pages.
    pub streams: u16,
    /// Set to end the proof: the private server is stopped, and its copies of the keys are removed.
    pub stop: Arc<AtomicBool>,
}

impl Prover {
    /// Fails if the user has asked for the end.
    fn continues(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::ProofStopped) } else { Ok(()) }
    }

    /// Server options that the files of a directory require.
    pub(crate) fn options_for(&self, datadir: &Path, report: &Report, flavor: Flavor) -> Result<Vec<String>, Error> {
        options::for_directory(datadir, report, flavor, !self.stores.key_files.is_empty())
    }
}

/// The directory to prove, and facts that are known about it.
#[derive(Debug)]
pub(crate) struct Subject<'s> {
    /// Path of the directory.
    pub(crate) datadir: &'s Path,
    /// The keys of [`Prover::stores`], to verify the pages.
    pub(crate) keys: &'s Keys,
    /// The verification of the restored directory, if already done.
    pub(crate) report: Option<&'s Report>,
    /// Position of the backup in the binary log, or why there is none to compare.
    pub(crate) position: Result<&'s CopyPosition, Uncompared>,
    /// UUID of the server, which is part of the names of its keys: with another one it would create new keys.
    pub(crate) server_uuid: Option<&'s str>,
}

/// Results of the server.
#[derive(Clone, Debug, PartialEq)]
pub struct Proof {
    /// The server, for example `MySQL 9.7.4`.
    pub server: String,
    /// Time from the start of the server until it answered.
    pub recovered: Duration,
    /// Number of tables.
    pub tables: u64,
    /// Number of tables that were checked.
    pub checked: u64,
    /// Tables with errors, each with its first error.
    pub bad_tables: Vec<String>,
    /// Pages that fail their check after the server stopped.
    pub bad_pages: u64,
    /// Comparison of what was recovered with the position of the backup.
    pub position: ComparedPosition,
}

/// Comparison of GTIDs after recovery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecoveredGtids {
    /// GTIDs of the server.
    pub gtid: String,
    /// GTIDs of the backup's position.
    pub expected: String,
    /// Whether the server has all expected GTIDs.
    pub is_whole: bool,
}

impl Proof {
    /// Whether nothing was found.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.bad_tables.is_empty() && self.bad_pages == 0 && self.position.is_sound()
    }
}

/// Starts a server on a restored directory, checks its tables, and stops it. The directory is recovered afterwards.
///
/// # Errors
/// [`Error::Prove`] if the server does not start, recover, answer or stop; [`Error::LeadsOut`] before it starts;
/// [`Error::ProofStopped`].
pub(crate) fn prove(subject: &Subject<'_>, prover: &Prover, note: &dyn Fn(&str)) -> Result<Proof, Error> {
    // The server would resolve a relative path in its own working directory.
    let datadir = subject.datadir.canonicalize().map_err(Error::io(subject.datadir, "cannot be found"))?;
    let version = program::version(&prover.mysqld)?;
    let found = match subject.report {
        Some(report) => prover.options_for(&datadir, report, version.flavor)?,
        None => {
            let report = judge::verify(&datadir, subject.keys, prover.streams, &|_| {});
            prover.options_for(&datadir, &report, version.flavor)?
        }
    };
    note("the server recovers");
    let began = Instant::now();
    let start = Start { datadir: &datadir, version: &version, prover, server_uuid: subject.server_uuid };
    let mut server = start.on_disk(&found)?;
    let recovered = began.elapsed();
    let position = position::compare(&mut server, subject.position.clone(), version.flavor)?;
    let tables = server.tables()?;
    let most = prover.check_tables.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    let (mut checked, mut bad_tables) = (0_u64, Vec::new());
    for table in tables.iter().take(most) {
        note(&format!("table {} of {}", checked.saturating_add(1), tables.len()));
        bad_tables.extend(server.check(table)?);
        checked = checked.saturating_add(1);
    }
    server.stop()?;
    prover.continues()?;
    note("pages are verified");
    let after = judge::verify(&datadir, subject.keys, prover.streams, &|_| {});
    Ok(Proof {
        server: version.to_string(),
        recovered,
        tables: tables.len() as u64,
        checked,
        bad_tables,
        bad_pages: bad_pages(&after),
        position,
    })
}

/// Pages that are damaged in the files of a server that has started with them.
fn bad_pages(after: &Report) -> u64 {
    let bad = after.files.iter().map(|file| match judge::classify(file) {
        FileVerdict::Damaged(bad) => bad,
        FileVerdict::Sound | FileVerdict::OutOfOrder | FileVerdict::Unproven(_) => 0,
    });
    bad.fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use innodb::verify::{Check, Finding, Units, Verdict};
    use verify::{FileResult, Summary};

    use super::*;

    fn report(checks: &[Check]) -> Report {
        let finding = |check: &Check| Finding { unit: Some(1), offset: Some(4), check: *check, detail: String::new() };
        let file = FileResult {
            path: PathBuf::from("binlog.000001"),
            kind: None,
            tablespace: None,
            bytes: 1,
            verdict: Verdict::Damaged,
            units: Units { bad: checks.len() as u64, ..Units::default() },
            key: None,
            findings: checks.iter().map(finding).collect(),
            findings_left_out: 0,
        };
        Report { schema: verify::SCHEMA, files: vec![file], errors: Vec::new(), summary: Summary::default() }
    }

    #[test]
    fn a_log_with_which_the_server_has_started_is_not_damaged() {
        assert_eq!(bad_pages(&report(&[Check::EventOrder])), 0);
        assert_eq!(bad_pages(&report(&[Check::EventOrder, Check::Checksum])), 2);
        assert_eq!(bad_pages(&report(&[Check::Checksum])), 1);
        assert_eq!(bad_pages(&report(&[])), 1, "damage without a finding");
    }
}
