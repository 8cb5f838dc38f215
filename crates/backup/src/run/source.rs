//! The copy of the data directory that a run reads.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use archive::sshsig::SigningKey;
use innodb::binlog::CopyPosition;
use jiff::Timestamp;
use snapshot::{CopyProgress, Keep, SnapshotCopy, SnapshotGuard, follow};
use verify::{KeyWarning, Keys};

use crate::{Config, Error};

/// The copy that a backup reads, and the signing key.
#[derive(Debug)]
pub struct SourceCopy {
    /// The copy of the data directory.
    pub copy: SnapshotCopy,
    pub(super) signing_key: SigningKey,
    pub(super) duration: Duration,
    /// What is wrong with single keys of the server.
    pub key_warnings: Vec<KeyWarning>,
}

/// Takes the copy that a backup reads, or uses the directory itself if no server runs on it.
///
/// # Errors
/// [`Error::Snapshot`]; [`Error::Key`] before a server is frozen.
pub fn take(config: &Config, progress: &Arc<CopyProgress>) -> Result<SourceCopy, Error> {
    let (signing_key, began) = (config.signing_key()?, Instant::now());
    let (keys, key_warnings) = config.server.keys()?;
    let copy = snapshot::take(
        &config.server.datadir()?,
        &snapshot::Options { progress: Arc::clone(progress), ..options(config, keys)? },
    )?;
    Ok(SourceCopy { copy, signing_key, duration: began.elapsed(), key_warnings })
}

/// Position of a copy in the binary log, if its provider reads it.
fn position(copy: &SnapshotCopy) -> Option<CopyPosition> {
    Some(copy.followed()?.position.clone())
}

/// How the copy is taken, with the keys of the server.
pub(super) fn options(config: &Config, keys: Keys) -> Result<snapshot::Options, Error> {
    Ok(snapshot::Options {
        provider: config.provider,
        max_freeze: config.max_freeze,
        ddl_wait_max: config.ddl_wait_max,
        location: config.copy_location.clone(),
        keep: Keep::WhileInUse,
        account: config.server.account(config.provider)?,
        keys: follow::Keys::new(keys),
        ..snapshot::Options::default()
    })
}

/// A consistent copy of a data directory.
pub(super) struct Source {
    pub(super) guard: SnapshotGuard,
    /// The snapshot provider that made it.
    pub(super) provider: String,
    /// Time of the copy.
    pub(super) instant: Timestamp,
    /// Position of the binary log at that time, if it was read.
    pub(super) position: Option<CopyPosition>,
    /// LSN at which the redo log ends, if it was read.
    pub(super) end_lsn: Option<u64>,
}

impl Source {
    /// The copy, held by a guard.
    pub(super) fn new(copy: SnapshotCopy, hold: impl FnOnce(SnapshotCopy) -> SnapshotGuard) -> Self {
        let (provider, position) = (copy.provider().to_string(), position(&copy));
        let end_lsn = copy.followed().map(|followed| followed.end_lsn);
        Self { guard: hold(copy), provider, instant: Timestamp::now(), position, end_lsn }
    }
}
