//! Compares a directory with the manifest of an earlier transfer.

use std::{
    fs, io,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    thread,
};

use files::{Buffer, Reader};

use crate::{
    Error,
    hash::{CHUNK_BYTES, Hash, chunk_bytes, chunk_hash, chunks_of, file_hash},
    manifest::Manifest,
    progress::watched,
    wire::{Entry, Kind},
};

/// A difference between an entry and the manifest.
#[derive(Debug)]
pub struct Difference {
    /// Path of the entry, in the compared directory.
    pub path: PathBuf,
    /// How it differs.
    pub fault: Mismatch,
}

/// How an entry differs from the manifest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// The entry does not exist.
    #[error("missing")]
    Missing,
    /// The entry is of another kind.
    #[error("not a {expected} any more")]
    Kind {
        /// Kind in the manifest.
        expected: &'static str,
    },
    /// The length differs.
    #[error("{found} bytes long, not {expected}")]
    Length {
        /// Length in the manifest, in bytes.
        expected: u64,
        /// Length on disk, in bytes.
        found: u64,
    },
    /// The content differs.
    #[error("its content differs (BLAKE3 {found}, not {expected})")]
    Bytes {
        /// Hash in the manifest.
        expected: Hash,
        /// Hash of the file.
        found: Hash,
    },
    /// The link has another target.
    #[error("the link has another target")]
    Target,
    /// The entry cannot be read.
    #[error("cannot be read: {0}")]
    Unread(io::Error),
}

/// Result of a check.
#[derive(Debug)]
pub struct Checked {
    /// The manifest that the directory was compared with.
    pub manifest: Manifest,
    /// Entries that differ from the manifest.
    pub differences: Vec<Difference>,
}

/// Compares a directory with a manifest that `sealant receive` wrote. Without a directory, compares the one that
/// contains the manifest. `show` is called regularly with the number of bytes read so far and the total.
///
/// # Errors
/// As [`Manifest::open`]. An entry of the directory that cannot be read is not an error but a difference.
pub fn check_received(
    manifest: &Path,
    directory: Option<&Path>,
    threads: usize,
    show: &(dyn Fn(u64, u64) + Sync),
) -> Result<Checked, Error> {
    let root = directory_of(manifest, directory);
    let manifest = Manifest::open(manifest)?;
    let (bytes, total) = (AtomicU64::new(0), manifest.bytes());
    let tick = || show(bytes.load(Ordering::Relaxed), total);
    let differences = watched(tick, || check(&manifest, root, threads, &bytes));
    Ok(Checked { manifest, differences })
}

/// The directory to compare: `given`, or else the one that contains the manifest.
fn directory_of<'p>(manifest: &'p Path, given: Option<&'p Path>) -> &'p Path {
    let beside = manifest.parent().filter(|parent| !parent.as_os_str().is_empty());
    given.or(beside).unwrap_or_else(|| Path::new("."))
}

/// Compares a directory with a manifest; `bytes` counts what was read. Files that are not in the manifest are ignored,
/// since a server creates new ones.
fn check(manifest: &Manifest, root: &Path, threads: usize, bytes: &AtomicU64) -> Vec<Difference> {
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let worker = || {
        let mut buffer = Buffer::new(CHUNK_BYTES);
        while let Some((entry, hash)) = manifest.entries.get(next.fetch_add(1, Ordering::Relaxed)) {
            let path = root.join(entry.path.as_path());
            if let (Err(fault), Ok(mut found)) = (compare(entry, *hash, &path, &mut buffer, bytes), found.lock()) {
                found.push(Difference { path, fault });
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(worker);
        }
    });
    let mut found = found.into_inner().unwrap_or_default();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn compare(
    entry: &Entry,
    hash: Option<Hash>,
    path: &Path,
    buffer: &mut Buffer,
    bytes: &AtomicU64,
) -> Result<(), Mismatch> {
    let metadata = fs::symlink_metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Mismatch::Missing,
        _ => Mismatch::Unread(error),
    })?;
    match (&entry.kind, hash) {
        (Kind::Directory, _) if metadata.is_dir() => Ok(()),
        (Kind::Directory, _) => Err(Mismatch::Kind { expected: "directory" }),
        (Kind::Link { .. }, _) if !metadata.is_symlink() => Err(Mismatch::Kind { expected: "link" }),
        (Kind::Link { target }, _) => {
            let found = fs::read_link(path).map_err(Mismatch::Unread)?;
            if found.as_os_str().as_bytes() == target { Ok(()) } else { Err(Mismatch::Target) }
        }
        (Kind::File { .. }, _) if !metadata.is_file() => Err(Mismatch::Kind { expected: "file" }),
        (Kind::File { bytes: expected }, _) if metadata.size() != *expected => {
            Err(Mismatch::Length { expected: *expected, found: metadata.size() })
        }
        (Kind::File { bytes: length }, Some(expected)) => {
            let found = hash_file(path, *length, buffer, bytes).map_err(Mismatch::Unread)?;
            if found == expected { Ok(()) } else { Err(Mismatch::Bytes { expected, found }) }
        }
        (Kind::File { .. }, None) => Err(Mismatch::Unread(io::ErrorKind::InvalidData.into())),
    }
}

fn hash_file(path: &Path, length: u64, buffer: &mut Buffer, counter: &AtomicU64) -> io::Result<Hash> {
    let reader = Reader::open(path)?;
    let mut hashes = Vec::new();
    for chunk in 0..chunks_of(length) {
        let wanted = chunk_bytes(length, chunk);
        let offset = chunk.saturating_mul(CHUNK_BYTES as u64);
        let room = buffer.take(wanted.next_multiple_of(4096));
        let cached = room.get_mut(..wanted).map_or(0, |room| reader.read_cached(offset, room));
        let read = if cached == wanted { cached } else { reader.read_disk(offset, room, cached)? };
        let bytes = room.get(..wanted.min(read)).unwrap_or_default();
        hashes.push(chunk_hash(length, chunk, bytes));
        counter.fetch_add(wanted as u64, Ordering::Relaxed);
    }
    file_hash(&hashes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, Selection};

    fn manifest(root: &Path) -> Manifest {
        let plan = Plan::scan(root, &Selection::default()).unwrap();
        let entries = plan.entries.into_iter().map(|planned| {
            let bytes = planned.file_bytes().map(|_| fs::read(root.join(planned.entry.path.as_path())).unwrap());
            (planned.entry, bytes.map(|bytes| Hash::compute(&bytes)))
        });
        Manifest { entries: entries.collect() }
    }

    #[test]
    fn every_difference_is_found() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir(root.join("d")).unwrap();
        for name in ["changed", "d/gone", "longer", "kept", "replaced"] {
            fs::write(root.join(name), vec![7; 3 * CHUNK_BYTES / 2]).unwrap();
        }
        std::os::unix::fs::symlink("kept", root.join("link")).unwrap();
        let manifest = manifest(root);
        let differences = || {
            let found = check(&manifest, root, 2, &AtomicU64::new(0));
            found.iter().map(|difference| difference.fault.to_string()).collect::<Vec<_>>()
        };
        assert!(differences().is_empty());
        let mut bytes = vec![7; 3 * CHUNK_BYTES / 2];
        bytes[CHUNK_BYTES + 5] = 8;
        fs::write(root.join("changed"), bytes).unwrap();
        fs::remove_file(root.join("d/gone")).unwrap();
        fs::write(root.join("longer"), vec![7; 2 * CHUNK_BYTES]).unwrap();
        fs::remove_file(root.join("replaced")).unwrap();
        fs::create_dir(root.join("replaced")).unwrap();
        fs::remove_file(root.join("link")).unwrap();
        std::os::unix::fs::symlink("longer", root.join("link")).unwrap();
        let found = differences();
        assert!(found[0].starts_with("its content differs"), "{found:?}");
        let expected =
            ["missing", "the link has another target", "2097152 bytes long, not 1572864", "not a file any more"];
        assert_eq!(found[1..], expected);
    }

    #[test]
    fn a_manifest_describes_the_directory_that_contains_it() {
        let of = |manifest| directory_of(Path::new(manifest), None);
        assert_eq!([of("/d/sealant-manifest"), of("sealant-manifest")], [Path::new("/d"), Path::new(".")]);
        assert_eq!(directory_of(Path::new("/d/m"), Some(Path::new("/e"))), Path::new("/e"));
    }
}
