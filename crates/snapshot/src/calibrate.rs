//! Measures the cost of clones on this machine, with unnamed files on the file system of the data.
//!
//! A clone takes time for each file and for each extent, and has to wait until dirty pages are
//! written. The costs depend on processor, disk and file system, and differ by a factor of ten
//! between machines.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
    time::{Duration, Instant},
};

use rustix::fs::{OFlags, ioctl_ficlone};

use crate::{freeze::HighPriority, sys};

/// Extents of the fragmented test file.
const EXTENTS: u32 = 2048;
/// Number of fragmented files, each cloned once: a second clone would find extents already shared.
const FRAGMENTED_FILES: usize = 2;
/// Number of clones of a file with one extent.
const SMALL_CLONES: usize = 48;
const BLOCK_BYTES: usize = 4096;
/// Bytes written to measure the write rate.
const WRITTEN_BYTES: usize = 8 << 20;

/// Cost of each part of a clone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Costs {
    pub(crate) per_file: Duration,
    pub(crate) per_extent: Duration,
    /// Bytes of dirty page cache written per second.
    pub(crate) written_per_second: f64,
}

/// Measured on XFS, used if measuring fails: 36 µs per file, 16 µs per extent, 256 MiB in 0.12 s.
pub(crate) const FALLBACK: Costs = Costs {
    per_file: Duration::from_micros(36),
    per_extent: Duration::from_micros(16),
    written_per_second: 256.0 * 1_048_576.0 / 0.12,
};

impl Costs {
    /// Measures the costs in a directory of the file system. Leaves no files.
    pub(crate) fn measured_in(directory: &Path) -> Option<Self> {
        Self::try_measure(directory).ok()
    }

    fn try_measure(directory: &Path) -> io::Result<Self> {
        let many = (0..FRAGMENTED_FILES).map(|_| fragmented(directory)).collect::<io::Result<Vec<_>>>()?;
        let one = unnamed_file(directory)?;
        one.write_all_at(&[1; BLOCK_BYTES], 0)?;
        one.sync_data()?;
        let large = unnamed_file(directory)?;
        large.write_all_at(&vec![1; WRITTEN_BYTES], 0)?;
        let _priority = HighPriority::begin();
        let began = Instant::now();
        sys::write_out(&large)?;
        let written = began.elapsed();
        let extents = sys::extents(many.first().unwrap_or(&one)).unwrap_or_default().max(u64::from(EXTENTS));
        let per_file = mean((0..SMALL_CLONES).map(|_| clone_of(directory, &one)).collect::<io::Result<_>>()?);
        let all = mean(many.iter().map(|file| clone_of(directory, file)).collect::<io::Result<_>>()?);
        #[expect(clippy::cast_precision_loss, reason = "a measurement")]
        let written_per_second = WRITTEN_BYTES as f64 / written.as_secs_f64().max(1e-6);
        // Extents are counted with the same method as those of the data.
        let per_extent = all.saturating_sub(per_file) / u32::try_from(extents).unwrap_or(EXTENTS);
        Ok(Self { per_file, per_extent, written_per_second })
    }
}

/// Creates an unnamed file.
fn unnamed_file(directory: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::TMPFILE.bits()).unwrap_or_default();
    OpenOptions::new().read(true).write(true).mode(0o600).custom_flags(flags).open(directory)
}

/// Creates a file of blocks with holes between them.
fn fragmented(directory: &Path) -> io::Result<File> {
    let file = unnamed_file(directory)?;
    for number in 0..u64::from(EXTENTS) {
        file.write_all_at(&[1; BLOCK_BYTES], number * 2 * BLOCK_BYTES as u64)?;
    }
    file.sync_data()?;
    Ok(file)
}

/// Time to create a file and clone another one into it, as a copy does.
fn clone_of(directory: &Path, from: &File) -> io::Result<Duration> {
    let began = Instant::now();
    let to = unnamed_file(directory)?;
    ioctl_ficlone(&to, from)?;
    from.metadata()?;
    Ok(began.elapsed())
}

/// Mean of the times without the slowest eighth. Waiting for other programs is included because it
/// occurs during the copy too, but a single stall is not representative.
fn mean(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.truncate(times.len() - times.len() / 8);
    let all: Duration = times.iter().sum();
    all / u32::try_from(times.len()).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_ignores_a_single_stall() {
        let of = |times: &[u64]| mean(times.iter().copied().map(Duration::from_micros).collect());
        assert_eq!(of(&[9, 1, 5]), Duration::from_micros(5));
        assert_eq!(of(&[2, 90_000, 2, 2, 2, 2, 2, 2]), Duration::from_micros(2));
        assert_eq!(of(&[]), Duration::ZERO);
    }

    #[test]
    fn without_clones_nothing_is_measured() {
        assert_eq!(Costs::measured_in(Path::new("/proc")), None);
    }
}
