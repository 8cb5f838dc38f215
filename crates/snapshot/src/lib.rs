//! Consistent copies of live data directories.
//!
//! A copy of a running server is usable if a power failure could have left it: all files must be of
//! one instant. Locks do not ensure that, since InnoDB keeps writing pages, redo and checkpoints
//! under them. An atomic snapshot of the file system does, and so do clones of all files while the
//! server process is stopped. [`take`] makes such a copy, [`estimate()`] estimates how long the
//! server will be stopped, and a [`SnapshotCopy`] removes its copy when it is dropped.
//!
//! A [`Provider`] is one method to make the copy: one file each in `provider`.

#![deny(unsafe_code)]

mod attributes;
pub mod backup;
mod calibrate;
mod choice;
mod datadir;
mod error;
mod estimate;
mod external;
pub mod follow;
mod freeze;
mod listing;
mod location;
mod lock_holder;
mod mounted;
pub mod prepare;
mod prepare_fault;
mod privileges;
mod process;
mod program;
mod progress;
mod provider;
mod record;
mod sending;
mod size;
mod snapshot_copy;
mod snapshot_guard;
#[allow(unsafe_code, reason = "extents, dirty pages and subvolumes have no safe call")]
mod sys;
mod tools;
pub mod watchdog;
mod write_latency;

use std::{path::PathBuf, sync::Arc, time::Duration};

pub use crate::{
    choice::{Provider, ProviderChoice},
    datadir::DataDir,
    error::Error,
    estimate::Estimate,
    listing::{EXCLUDED, Excluded},
    lock_holder::Holder,
    process::{ServerProcess, mapped_for_writing},
    progress::CopyProgress,
    record::{FoundCopy, State, discard, discard_named, list},
    snapshot_copy::{Keep, SnapshotCopy},
    snapshot_guard::{Listener, SnapshotGuard},
    watchdog::Watchdog,
};

/// Default of the longest freeze of a server.
pub const MAX_FREEZE: Duration = Duration::from_secs(1);

/// Default of the longest wait for a backup lock, so that statements that hold it can finish.
pub const LOCK_WAIT: Duration = Duration::from_secs(60);

/// Options of a copy.
#[derive(Clone, Debug)]
pub struct Options {
    /// Provider to use.
    pub provider: ProviderChoice,
    /// Longest time for which the server may be stopped.
    pub max_freeze: Duration,
    /// Directory for the copy, on the file system of the data. By default next to the data
    /// directory, or inside it if it is a mount point.
    pub location: Option<PathBuf>,
    /// The program that resumes the server if this one is killed.
    pub watchdog: Watchdog,
    /// Whether the copy is kept when its [`SnapshotCopy`] is dropped.
    pub keep: Keep,
    /// The account to query the server, which [`Provider::Follow`] needs.
    pub account: Option<follow::Account>,
    /// Keys to check what [`Provider::Follow`] copies of an encrypted MySQL.
    pub keys: follow::Keys,
    /// Longest wait for each of the server's backup locks, which [`Provider::Follow`] takes.
    pub lock_wait: Duration,
    /// Longest wait of a change of definitions for these locks to end; `None` for any. Then the copy is given up.
    pub ddl_wait_max: Option<Duration>,
    /// Where [`Provider::Follow`] counts what it has copied.
    pub progress: Arc<CopyProgress>,
    /// For tests: the checkpoint at which recovery of a copy by [`Provider::Follow`] begins.
    #[doc(hidden)]
    pub recover_from: follow::Checkpoint,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            provider: ProviderChoice::Auto,
            max_freeze: MAX_FREEZE,
            location: None,
            watchdog: Watchdog::default(),
            keep: Keep::WhileInUse,
            account: None,
            keys: follow::Keys::default(),
            lock_wait: LOCK_WAIT,
            ddl_wait_max: None,
            progress: Arc::default(),
            recover_from: follow::Checkpoint::First,
        }
    }
}

/// Makes a consistent copy of a data directory.
///
/// # Errors
/// [`Error`]: no files are left, and the server keeps running.
pub fn take(datadir: &DataDir, options: &Options) -> Result<SnapshotCopy, Error> {
    let prepared = provider::choose(datadir, options)?;
    prepared.provider.take(&prepared, options)
}

/// Estimates the cost of a copy and selects the provider. Changes nothing.
///
/// # Errors
/// [`Error`] if no provider is suitable, or the data directory cannot be read.
pub fn estimate(datadir: &DataDir, options: &Options) -> Result<Estimate, Error> {
    provider::choose(datadir, options).map(|prepared| prepared.estimate)
}
