//! What a copy will cost, before anything is done.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Serialize;

use crate::{
    calibrate::Costs,
    error::Error,
    external::ExternalFiles,
    follow::EXPECTED_WAIT,
    listing::{self, Listing},
    provider::Provider,
    sys,
};

/// Until all threads of a server stand, and until it has been seen that they still do: 0.5 to 13 ms were measured.
const STOPPING: Duration = Duration::from_millis(10);
/// A snapshot of a subvolume, whatever is in it: the middle of what was measured, 12 to 138 ms.
const PER_SUBVOLUME: Duration = Duration::from_millis(75);
/// Suspending a logical volume, and a transaction group of ZFS: of the order of a snapshot of a subvolume, not measured.
const PER_VOLUME: Duration = Duration::from_millis(75);
/// What a copy takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// How it would be taken.
    pub provider: Provider,
    /// Files.
    pub files: u64,
    /// Extents of all files.
    pub extents: u64,
    /// Bytes that are in memory and not on disk yet, after all was written out: what a server dirties meanwhile.
    pub dirty_bytes: u64,
    /// How long the server would stand, or its writes wait, in milliseconds; 0 if no server runs.
    pub freeze_ms: f64,
}

impl Estimate {
    /// How long the server would stand.
    #[must_use]
    pub fn freeze(&self) -> Duration {
        Duration::from_secs_f64(self.freeze_ms / 1000.0)
    }
}

/// What is known of the files of a data directory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    pub(crate) files: u64,
    pub(crate) extents: u64,
    pub(crate) dirty_bytes: u64,
    /// How long it took to list them, which is done again while the server stands.
    pub(crate) listed: Duration,
}

impl Size {
    /// Looks at all files.
    pub(crate) fn of(root: &Path, listing: &Listing, external: &[ExternalFiles]) -> Result<Self, Error> {
        let mut files: Vec<PathBuf> = listing.files.iter().map(|path| root.join(path)).collect();
        for place in external {
            files.extend(place.files()?.into_iter().map(|file| file.from));
        }
        let mut size = Self { files: files.len() as u64, ..Self::default() };
        for path in files {
            let file = match listing::open(&path) {
                Ok(file) => file,
                // A running server renames and removes files all the time.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(source) => return Err(Error::Unreadable { path, source }),
            };
            // Where the file system does not tell extents, a file is at least one.
            size.extents += sys::extents(&file).unwrap_or(1);
            // Before Linux 6.5 nobody knows.
            size.dirty_bytes += sys::dirty_bytes(&file).unwrap_or(0);
        }
        Ok(size)
    }

    /// What a copy by `provider` takes where clones cost so much. A server that does not run need not stand.
    pub(crate) fn estimate(&self, provider: Provider, costs: &Costs, runs: bool) -> Estimate {
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let (files, extents, dirty) = (self.files as f64, self.extents as f64, self.dirty_bytes as f64);
        let seconds = match provider {
            Provider::Stopped => 0.0,
            Provider::Btrfs => PER_SUBVOLUME.as_secs_f64(),
            Provider::Lvm | Provider::Zfs => PER_VOLUME.as_secs_f64(),
            Provider::Follow => EXPECTED_WAIT.as_secs_f64(),
            Provider::Reflink => {
                let cloning = files * costs.per_file.as_secs_f64() + extents * costs.per_extent.as_secs_f64();
                STOPPING.as_secs_f64() + self.listed.as_secs_f64() + cloning
            }
        };
        let seconds = match provider {
            // Nothing waits for pages to be written.
            Provider::Follow => seconds,
            _ => seconds + dirty / costs.written_per_second,
        };
        let freeze_ms = if runs { (seconds * 10_000.0).round() / 10.0 } else { 0.0 };
        let Self { files, extents, dirty_bytes, .. } = *self;
        Estimate { provider, files, extents, dirty_bytes, freeze_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::USUAL;

    #[test]
    fn files_extents_and_dirty_pages_add_up() {
        let size = Size { files: 1000, extents: 10_000, dirty_bytes: 256 << 20, listed: Duration::from_millis(3) };
        let estimate = size.estimate(Provider::Reflink, &USUAL, true);
        assert_eq!(estimate.freeze_ms, 10.0 + 3.0 + 36.0 + 160.0 + 120.0);
        assert_eq!(estimate.freeze(), Duration::from_millis(329));
        assert_eq!(size.estimate(Provider::Btrfs, &USUAL, true).freeze_ms, 75.0 + 120.0);
        assert_eq!(size.estimate(Provider::Btrfs, &USUAL, false).freeze_ms, 0.0);
    }
}
