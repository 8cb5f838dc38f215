//! The size of a data directory, and what a copy of it costs.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    calibrate::Costs,
    choice::Provider,
    error::Error,
    estimate::Estimate,
    external::ExternalFiles,
    follow::EXPECTED_WAIT,
    listing::{self, Listing},
    sys,
};

/// Time to stop all threads of a server and to check that they stayed stopped: 0.5 to 13 ms were
/// measured.
const STOPPING: Duration = Duration::from_millis(10);
/// A snapshot of a subvolume of any size: the middle of the measured 12 to 138 ms.
const PER_SUBVOLUME: Duration = Duration::from_millis(75);
/// Suspending a logical volume, and a transaction group of ZFS: assumed similar to a subvolume, not
/// measured.
const PER_VOLUME: Duration = Duration::from_millis(75);

/// Size of the files of a data directory.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    pub(crate) files: u64,
    pub(crate) extents: u64,
    pub(crate) dirty_bytes: u64,
    /// Time to list them, which is repeated while the server is stopped.
    pub(crate) listed: Duration,
}

impl Size {
    /// Examines all files.
    pub(crate) fn measure(root: &Path, listing: &Listing, external: &[ExternalFiles]) -> Result<Self, Error> {
        let mut files: Vec<PathBuf> = listing.files.iter().map(|path| root.join(path)).collect();
        for location in external {
            files.extend(location.files()?.into_iter().map(|file| file.from));
        }
        let mut size = Self { files: files.len() as u64, ..Self::default() };
        for path in files {
            let file = match listing::open(&path) {
                Ok(file) => file,
                // A running server renames and removes files.
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                Err(source) => return Err(Error::Unreadable { path, source }),
            };
            // If the file system does not report extents, a file counts as one.
            size.extents += sys::extents(&file).unwrap_or(1);
            // Not available before Linux 6.5.
            size.dirty_bytes += sys::dirty_bytes(&file).unwrap_or(0);
        }
        Ok(size)
    }

    /// Estimates a copy by `provider` with these costs. Without a running server there is no
    /// freeze.
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
        Estimate { provider, files, extents, dirty_bytes, freeze_ms, copy_bytes: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::FALLBACK;

    #[test]
    fn files_extents_and_dirty_pages_add_up() {
        let size = Size { files: 1000, extents: 10_000, dirty_bytes: 256 << 20, listed: Duration::from_millis(3) };
        let estimate = size.estimate(Provider::Reflink, &FALLBACK, true);
        assert_eq!(estimate.freeze_ms, 10.0 + 3.0 + 36.0 + 160.0 + 120.0);
        assert_eq!(estimate.freeze(), Duration::from_millis(329));
        assert_eq!(size.estimate(Provider::Btrfs, &FALLBACK, true).freeze_ms, 75.0 + 120.0);
        assert_eq!(size.estimate(Provider::Btrfs, &FALLBACK, false).freeze_ms, 0.0);
    }
}
