//! Result of a run: the backup, the time that the server waited, and the duration of each step.

use std::time::Duration;

use archive::{
    Digest,
    manifest::ExcludedFile,
    names::Number,
    receipt::{self, Receipt},
};
use innodb::binlog::CopyPosition;
use serde::Serialize;
use snapshot::SnapshotCopy;

use super::{FullReason, Repacked};
use crate::{Error, Outcome, key_check::KeyCheck};

/// Result of a run.
#[derive(Debug)]
pub struct Backup {
    /// The receipt, as it was stored.
    pub receipt: Receipt,
    /// SHA-256 of the receipt.
    pub sha256: Digest,
    /// Number of the backup that this one builds on.
    pub base: Option<Number>,
    /// Whether the keys of the server open that backup.
    pub base_keys: Option<KeyCheck>,
    /// Why it does not build on one.
    pub full: Option<FullReason>,
    /// Packs of which little was needed, and which were stored again.
    pub repacked: Repacked,
    /// Bytes of tablespaces that were not read, since they have not been written.
    pub unread_bytes: u64,
    /// Bytes of files that earlier runs without a receipt had stored.
    pub resumed_bytes: u64,
    /// Files that were left out.
    pub left_out: Vec<ExcludedFile>,
    /// Position of the backup in the binary log, if known.
    pub position: Option<CopyPosition>,
    /// LSN at which the redo log of the backup ends, if known.
    pub end_lsn: Option<u64>,
    /// Number of files.
    pub files: u64,
    /// An interrupted run that was completed first.
    pub finished: Option<Number>,
    /// How long the server waited for the copy.
    pub waited: Waited,
    /// The step that took most of the time of reading and storing.
    pub limited_by: Bottleneck,
    /// Duration of the parts of the run.
    pub phases: Phases,
    /// Why what an interrupted run has stored was stored again.
    pub journal_fault: Option<Error>,
    /// Why the state of this host does not record that the backup is complete; the next run does it.
    pub state_fault: Option<Error>,
}

impl Backup {
    /// The verdict on the backup's pages. Pages that no key decrypts count only if the backup has to be complete.
    #[must_use]
    pub const fn outcome(&self, require_complete: bool) -> Outcome {
        outcome(self.receipt.pages, require_complete)
    }
}

const fn outcome(pages: receipt::Pages, require_complete: bool) -> Outcome {
    match (pages.damaged, pages.unproven) {
        (1.., _) => Outcome::Damaged,
        (_, 1..) if require_complete => Outcome::Unjudged,
        _ => Outcome::Proven,
    }
}

/// How long a server waited for its copy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waited {
    /// How long the server was stopped, or commits waited.
    pub stood_still: Duration,
    /// How long changes of tables other than InnoDB's waited for a lock; `None` if the provider takes no locks.
    pub locks: Option<Duration>,
    /// How long DDL waited; `None` if the provider takes no locks.
    pub definitions: Option<Duration>,
}

impl Waited {
    pub(super) fn of_copy(copy: &SnapshotCopy) -> Self {
        let followed = copy.followed();
        Self {
            stood_still: copy.frozen(),
            locks: followed.map(|followed| followed.others_waited),
            definitions: followed.map(|followed| followed.ddl_waited),
        }
    }
}

/// The step that took most of the time of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bottleneck {
    /// Reading the files.
    Reading,
    /// Decrypting, checking and compressing pages.
    #[default]
    Processor,
    /// Waiting for the store.
    Storing,
}

impl Bottleneck {
    /// The step with the longest time. `total` is the time of all threads; `reading` and `storing` are the parts of it
    /// in which they waited for files and for the store.
    pub(super) fn longest(total: Duration, reading: Duration, storing: Duration) -> Self {
        let computing = total.saturating_sub(reading).saturating_sub(storing);
        let all = [(computing, Self::Processor), (reading, Self::Reading), (storing, Self::Storing)];
        all.into_iter().max_by_key(|(time, _)| *time).map_or(Self::Processor, |(_, step)| step)
    }
}

/// Duration of the parts of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Phases {
    /// Taking the copy.
    pub copy: Duration,
    /// Reading all files, storing what changed.
    pub store: Duration,
    /// Manifest, signature and receipt.
    pub commit: Duration,
}

impl From<Phases> for receipt::Phases {
    fn from(phases: Phases) -> Self {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self { copy_ms: milliseconds(phases.copy), store_ms: milliseconds(phases.store) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_without_a_key_count_only_if_the_backup_has_to_be_complete() {
        let pages = |damaged, unproven| receipt::Pages { seen: 9, changed: 0, damaged, unproven };
        for (damaged, unproven, expected) in [
            (0, 0, [Outcome::Proven, Outcome::Proven]),
            (0, 1, [Outcome::Proven, Outcome::Unjudged]),
            (1, 1, [Outcome::Damaged, Outcome::Damaged]),
        ] {
            assert_eq!([false, true].map(|complete| outcome(pages(damaged, unproven), complete)), expected);
        }
    }
}
