//! Unlinked files that the server has open: sorts, joins, DDL buffers, binary log caches. They are found in
//! `/proc/PID/fd`.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::view::Host;
use crate::facts::files::UnlinkedFile;

/// Number of bytes sampled of each file.
const SAMPLE_BYTES: u64 = 1 << 20;
/// Maximum number of files; more files would show the same.
const MAX_FILES: usize = 1000;

/// The unlinked regular files of a process.
///
/// # Errors
/// Why its descriptors cannot be read, for a report.
pub(super) fn of_process(host: &Host, pid: i32) -> Result<Vec<UnlinkedFile>, String> {
    let dir = host.of_process(pid, "fd");
    let entries = fs::read_dir(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut found: Vec<UnlinkedFile> =
        entries.flatten().filter_map(|entry| unlinked(&entry.path())).take(MAX_FILES).collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn unlinked(path: &Path) -> Option<UnlinkedFile> {
    let target = fs::read_link(path).ok()?;
    let target = target.to_string_lossy();
    let name = target.strip_suffix(" (deleted)")?;
    // Memory files are not on a disk.
    if name.starts_with("/memfd:")
        || name.starts_with("/dev/zero")
        || name.starts_with("/SYSV")
        || name.starts_with("/[aio]")
    {
        return None;
    }
    let about = fs::metadata(path).ok()?;
    if !about.is_file() {
        return None;
    }
    let mut found = UnlinkedFile {
        path: path.to_string_lossy().into_owned(),
        name: name.to_owned(),
        size_bytes: about.len(),
        looks_random: None,
        clear_offset: None,
        sampled_bytes: 0,
        device: format!("{}:{}", rustix::fs::major(about.dev()), rustix::fs::minor(about.dev())),
    };
    // Opening /proc/PID/fd/N opens the file again, with its own position.
    let sample = File::open(path).ok().and_then(|file| innodb::randomness::sample(&file, 0, SAMPLE_BYTES).ok());
    if let Some(sample) = sample {
        found.sampled_bytes = sample.scanned_bytes;
        found.clear_offset = sample.first_clear_offset;
        found.looks_random = match (sample.clear, sample.random) {
            (0, 0) => None,
            (0, _) => Some(true),
            _ => Some(false),
        };
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_spilled_file_is_seen_without_a_name() {
        let mut spill = tempfile::tempfile_in("/tmp").unwrap();
        spill.write_all(&b"row after row ".repeat(2000)).unwrap();
        let current = i32::try_from(std::process::id()).unwrap();
        let found = of_process(&Host::this(), current).unwrap();
        let spill = found.iter().find(|file| file.size_bytes == 28_000).unwrap();
        assert_eq!((spill.looks_random, spill.clear_offset), (Some(false), Some(0)));
        assert!(spill.name.starts_with("/tmp/"));
    }

    #[test]
    fn a_process_that_is_gone_is_an_error() {
        assert!(of_process(&Host::this(), i32::MAX).is_err());
    }
}
