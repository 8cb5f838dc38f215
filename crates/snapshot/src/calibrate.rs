//! What a clone costs here and now: measured on files without a name, made for it on the file system of the data.
//!
//! A clone takes time for each file and for each extent, and has to wait for what of a file is in memory only. How much
//! depends on processor, disk and file system, by a factor of ten between machines.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
    time::{Duration, Instant},
};

use rustix::fs::{OFlags, ioctl_ficlone};

use crate::{freeze::HighPriority, sys};

/// Extents of a file that has many.
const EXTENTS: u32 = 2048;
/// Files that have many, each cloned once: a second clone finds extents that are shared already.
const MANY: usize = 2;
/// Clones of a file that has one extent.
const ONE: usize = 48;
const BLOCK_BYTES: usize = 4096;
/// Bytes of which it is measured how fast they are written out.
const WRITTEN_BYTES: usize = 8 << 20;

/// What each part of a clone takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Costs {
    pub(crate) per_file: Duration,
    pub(crate) per_extent: Duration,
    /// Bytes of dirty page cache that are written out in a second.
    pub(crate) written_per_second: f64,
}

/// Measured on XFS, for where it cannot be measured: 36 µs a file, 16 µs an extent, 256 MiB in 0.12 s.
pub(crate) const USUAL: Costs = Costs {
    per_file: Duration::from_micros(36),
    per_extent: Duration::from_micros(16),
    written_per_second: 256.0 * 1_048_576.0 / 0.12,
};

impl Costs {
    /// Measures them in a directory on the file system; nothing of it stays.
    pub(crate) fn measured_in(directory: &Path) -> Option<Self> {
        Self::try_measure(directory).ok()
    }

    fn try_measure(directory: &Path) -> io::Result<Self> {
        let many = (0..MANY).map(|_| fragmented(directory)).collect::<io::Result<Vec<_>>>()?;
        let one = nameless(directory)?;
        one.write_all_at(&[1; BLOCK_BYTES], 0)?;
        one.sync_data()?;
        let large = nameless(directory)?;
        large.write_all_at(&vec![1; WRITTEN_BYTES], 0)?;
        let _priority = HighPriority::begin();
        let began = Instant::now();
        sys::write_out(&large)?;
        let written = began.elapsed();
        let extents = sys::extents(many.first().unwrap_or(&one)).unwrap_or_default().max(u64::from(EXTENTS));
        let per_file = mean((0..ONE).map(|_| clone_of(directory, &one)).collect::<io::Result<_>>()?);
        let all = mean(many.iter().map(|file| clone_of(directory, file)).collect::<io::Result<_>>()?);
        #[expect(clippy::cast_precision_loss, reason = "a measurement")]
        let written_per_second = WRITTEN_BYTES as f64 / written.as_secs_f64().max(1e-6);
        // As many as are counted of the data, in the same way.
        let per_extent = all.saturating_sub(per_file) / u32::try_from(extents).unwrap_or(EXTENTS);
        Ok(Self { per_file, per_extent, written_per_second })
    }
}

/// A file that is gone when it is closed.
fn nameless(directory: &Path) -> io::Result<File> {
    let flags = i32::try_from(OFlags::TMPFILE.bits()).unwrap_or_default();
    OpenOptions::new().read(true).write(true).mode(0o600).custom_flags(flags).open(directory)
}

/// A file in blocks with holes between them.
fn fragmented(directory: &Path) -> io::Result<File> {
    let file = nameless(directory)?;
    for number in 0..u64::from(EXTENTS) {
        file.write_all_at(&[1; BLOCK_BYTES], number * 2 * BLOCK_BYTES as u64)?;
    }
    file.sync_data()?;
    Ok(file)
}

/// How long it takes to make a file and clone another into it, as a copy does.
fn clone_of(directory: &Path, from: &File) -> io::Result<Duration> {
    let began = Instant::now();
    let to = nameless(directory)?;
    ioctl_ficlone(&to, from)?;
    from.metadata()?;
    Ok(began.elapsed())
}

/// What it takes of many, waiting for other programs included, which are there when it counts, too; but without the slowest
/// eighth, since a single stall says nothing of the rest.
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
    fn all_count_but_a_stall() {
        let of = |times: &[u64]| mean(times.iter().copied().map(Duration::from_micros).collect());
        assert_eq!(of(&[9, 1, 5]), Duration::from_micros(5));
        assert_eq!(of(&[2, 90_000, 2, 2, 2, 2, 2, 2]), Duration::from_micros(2));
        assert_eq!(of(&[]), Duration::ZERO);
    }

    #[test]
    fn where_nothing_can_be_cloned_nothing_is_measured() {
        assert_eq!(Costs::measured_in(Path::new("/proc")), None);
    }
}
