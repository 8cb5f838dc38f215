//! Plans a run without carrying it out.

use std::time::Duration;

use archive::{Receipt, manifest::ExcludedFile, names::Number, receipt::fingerprint};
use snapshot::{DataDir, Estimate};
use verify::KeyWarning;

use super::{FullEstimate, FullReason, Repacked, Scope, predecessor::Predecessor, sample, source::options};
use crate::{Config, Error, Repository, selection, state::State};

/// What a run would back up.
#[derive(Debug)]
pub struct RunPlan {
    /// Number that the backup would get.
    pub number: Number,
    /// Number of the backup that it would build on.
    pub base: Option<Number>,
    /// Why it would be a full backup.
    pub full: Option<FullReason>,
    /// Packs of which little is needed, and which would be stored again.
    pub repacked: Repacked,
    /// Number of files, directories and links.
    pub entries: u64,
    /// Number of files.
    pub files: u64,
    /// Length of all files, in bytes.
    pub bytes: u64,
    /// Files that would be left out.
    pub left_out: Vec<ExcludedFile>,
    /// How the copy would be taken, and what it costs the server.
    pub copy: Estimate,
    /// How large a full backup would be, and how long it would take, as samples of the data say.
    pub full_estimate: Option<FullEstimate>,
    /// The last backup: what it stored, and how long that took.
    pub last: Option<LastBackup>,
    /// What is wrong with single keys of the server.
    pub key_warnings: Vec<KeyWarning>,
}

/// What the last backup of a host was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastBackup {
    /// Bytes that it stored.
    pub stored_bytes: u64,
    /// From its beginning to its end.
    pub duration: Duration,
}

impl LastBackup {
    fn new(receipt: &Receipt) -> Self {
        let duration = receipt.ended.duration_since(receipt.began);
        Self { stored_bytes: receipt.bytes.stored, duration: Duration::try_from(duration).unwrap_or_default() }
    }
}

/// Plans a run. Nothing is written to the repository, and the server is not stopped.
///
/// # Errors
/// [`Error`], as a run would return before it reads the data.
pub fn plan(config: &Config, repository: &Repository, scope: &Scope) -> Result<RunPlan, Error> {
    let signing_key = config.signing_key()?;
    let (keys, key_warnings) = config.server.keys()?;
    let datadir = config.server.datadir()?;
    let (plan, left_out) = selection::plan(datadir.path(), &config.server.key_files())?;
    let full_estimate = sample::estimate(&plan, &keys, config)?;
    let state = State::open(&config.state, &repository.id, &config.host)?;
    let recipients = config.recipients.iter().map(fingerprint).collect();
    let predecessor =
        Predecessor::find(repository, &config.host, signing_key.public(), &state, scope, &recipients, &keys)?;
    let copy = snapshot::estimate(&datadir, &options(config, keys)?)?;
    let last = state.newest()?.filter(|_| predecessor.base.is_some());
    Ok(RunPlan {
        number: predecessor.number,
        base: predecessor.base_number(),
        full: predecessor.full,
        repacked: predecessor.repacked,
        entries: plan.entries.len() as u64,
        files: plan.files() as u64,
        bytes: plan.bytes,
        left_out,
        copy,
        full_estimate,
        last: last.map(|last| LastBackup::new(&last.receipt)),
        key_warnings,
    })
}

impl crate::config::Server {
    /// The data directory, with socket and pid file, by which its server is found.
    ///
    /// # Errors
    /// [`Error::Snapshot`].
    pub(super) fn datadir(&self) -> Result<DataDir, Error> {
        let datadir = DataDir::at(&self.datadir)?;
        Ok(datadir.socket(self.socket.clone()).pid_file(self.pid_file.clone()))
    }
}
