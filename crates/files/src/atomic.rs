//! Writes files atomically: completely or not at all.
//!
//! The bytes are written to a temporary file beside the target and synced, the file is renamed, and the directory is
//! synced. Readers see the old file or the new one, even after a power cut.
//!
//! Each run uses a temporary name of its own and holds a lock on the file, so that simultaneous runs do not interfere,
//! and the next run can remove what a killed one left.

use std::{
    collections::hash_map::RandomState,
    ffi::OsString,
    fs::{self, File, Metadata, OpenOptions, Permissions},
    hash::{BuildHasher, Hasher},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
};

use rustix::fs::{CWD, FlockOperation, OFlags, RenameFlags, flock, renameat_with};

use crate::direct_copy;

/// Permissions and owner of a new file or directory, and whether it may replace an existing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// Permission bits, in force from the start, as for `chmod`.
    pub mode: u32,
    /// Owner and group; `None`: those the system assigns.
    pub owner: Option<(u32, u32)>,
    /// Whether an existing file may be replaced. Otherwise an existing file is an error, [`ErrorKind::AlreadyExists`].
    pub replace: bool,
}

impl WriteOptions {
    /// A new file that only its owner can read.
    pub const SECRET: Self = Self { mode: 0o600, owner: None, replace: false };
    /// A new file that everyone can read.
    pub const PUBLIC: Self = Self { mode: 0o644, ..Self::SECRET };

    /// Permissions and owner of the existing file that is replaced.
    #[must_use]
    pub fn replacing_file(found: &Metadata) -> Self {
        Self { mode: found.mode() & 0o7777, owner: Some((found.uid(), found.gid())), replace: true }
    }

    /// The same options, with `replace` set.
    #[must_use]
    pub const fn replacing(self, replace: bool) -> Self {
        Self { replace, ..self }
    }
}

/// Writes a file atomically, and syncs it.
///
/// # Errors
/// Errors of the system; [`ErrorKind::AlreadyExists`] if the file exists and may not be replaced.
pub fn write_atomic(path: &Path, bytes: &[u8], options: WriteOptions) -> io::Result<()> {
    PendingFile::write(path, bytes, options)?.commit()
}

/// A synced temporary file beside its target; it is removed on drop, unless it was committed.
#[derive(Debug)]
pub struct PendingFile {
    path: PathBuf,
    beside: PathBuf,
    replace: bool,
    /// Holds the lock.
    file: File,
}

impl PendingFile {
    /// Writes `bytes`.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn write(path: &Path, bytes: &[u8], options: WriteOptions) -> io::Result<Self> {
        Self::write_with(path, options, |file| file.write_all(bytes)).map(|(pending, ())| pending)
    }

    /// Copies all of `input`, without filling the page cache. Also returns the number of bytes.
    ///
    /// # Errors
    /// Errors of the system and of `input`.
    pub fn copy(path: &Path, input: &mut dyn Read, options: WriteOptions) -> io::Result<(Self, u64)> {
        Self::write_with(path, options, |file| direct_copy::copy(input, file))
    }

    /// Writes with `fill`. Also returns its result.
    ///
    /// # Errors
    /// Errors of the system and of `fill`.
    pub fn write_with<T>(
        path: &Path,
        options: WriteOptions,
        fill: impl FnOnce(&mut File) -> io::Result<T>,
    ) -> io::Result<(Self, T)> {
        remove_stale(path);
        let (beside, file) = create(path)?;
        let mut pending = Self { path: path.to_owned(), beside, replace: options.replace, file };
        pending.set_attributes(options)?;
        let filled = fill(&mut pending.file)?;
        pending.file.sync_all()?;
        Ok((pending, filled))
    }

    fn set_attributes(&self, options: WriteOptions) -> io::Result<()> {
        // Private until the owner is set; then the requested mode, whatever the umask.
        if let Some((user, group)) = options.owner {
            fchown(&self.file, Some(user), Some(group))?;
        }
        if options.mode != 0o600 {
            self.file.set_permissions(Permissions::from_mode(options.mode))?;
        }
        Ok(())
    }

    /// Renames the temporary file to the target.
    ///
    /// # Errors
    /// Errors of the system; [`ErrorKind::AlreadyExists`] if the file exists and may not be replaced.
    pub fn commit(self) -> io::Result<()> {
        rename(&self.beside, &self.path, self.replace)?;
        sync_parent(&self.path)
    }
}

impl Drop for PendingFile {
    fn drop(&mut self) {
        // After a commit the temporary name no longer exists.
        let _ = fs::remove_file(&self.beside);
    }
}

/// A hard link to a file that will be replaced; removed on drop.
#[derive(Debug)]
pub struct SavedFile {
    path: PathBuf,
    beside: PathBuf,
    /// Holds a lock, as a pending file does.
    _file: Option<File>,
}

impl SavedFile {
    /// Links the file. `None` if it does not exist, or its file system has no hard links.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn link(path: &Path) -> io::Result<Option<Self>> {
        let file = File::open(path).ok().filter(|file| flock(file, FlockOperation::LockShared).is_ok());
        let saved = Self { path: path.to_owned(), beside: beside(path), _file: file };
        match fs::hard_link(path, &saved.beside) {
            Ok(()) => Ok(Some(saved)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Restores the original file.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn restore(self) -> io::Result<()> {
        fs::rename(&self.beside, &self.path)?;
        sync_parent(&self.path)
    }
}

impl Drop for SavedFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.beside);
    }
}

/// Checks, before anything is changed, that a file can be written later.
///
/// # Errors
/// The errors that [`write_atomic`] would return.
pub fn check_writable(path: &Path, options: WriteOptions) -> io::Result<()> {
    PendingFile::write(path, b"", options).map(drop)
}

/// Syncs the directory of a file.
///
/// # Errors
/// Errors of the system.
pub fn sync_parent(path: &Path) -> io::Result<()> {
    File::open(parent(path))?.sync_all()
}

/// Directory of a file; `.` for a name without one.
#[must_use]
pub fn parent(path: &Path) -> &Path {
    path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

/// Prefix of the temporary names for this file.
fn prefix(path: &Path) -> OsString {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".sealant-part");
    name
}

/// A unique temporary name.
fn beside(path: &Path) -> PathBuf {
    let mut name = prefix(path);
    name.push(format!("-{:016x}", RandomState::new().build_hasher().finish()));
    path.with_file_name(name)
}

/// Creates a locked temporary file.
fn create(path: &Path) -> io::Result<(PathBuf, File)> {
    loop {
        let beside = beside(path);
        let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside);
        let file = match created {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            created => created?,
        };
        let _ = flock(&file, FlockOperation::LockExclusive);
        // Another run may have taken it for stale and locked it just before.
        if file.metadata()?.nlink() > 0 {
            return Ok((beside, file));
        }
    }
}

/// Removes temporary files of killed runs.
fn remove_stale(path: &Path) {
    let (prefix, entries) = (prefix(path), fs::read_dir(parent(path)));
    for entry in entries.into_iter().flatten().flatten() {
        if !entry.file_name().as_encoded_bytes().starts_with(prefix.as_encoded_bytes()) {
            continue;
        }
        // Others may have put a pipe or a link there: do not block on the one or follow the other.
        let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
        let opened = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(entry.path());
        let Ok(file) = opened else { continue };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn rename(from: &Path, to: &Path, replace: bool) -> io::Result<()> {
    if replace {
        return fs::rename(from, to);
    }
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // For a file system without this feature: a hard link fails if the target exists.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            fs::hard_link(from, to)?;
            fs::remove_file(from)
        }
        renamed => Ok(renamed?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::create_directory;

    #[test]
    fn files_are_not_overwritten_unless_requested_and_are_private() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        write_atomic(&path, b"one", WriteOptions::SECRET).unwrap();
        assert_eq!(write_atomic(&path, b"two", WriteOptions::SECRET).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        write_atomic(&path, b"three", WriteOptions::SECRET.replacing(true)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"three");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn concurrent_runs_do_not_interfere_and_stale_files_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(directory.path().join(".file.sealant-part"), "of an older release").unwrap();
        fs::write(directory.path().join(".file.sealant-part-0123456789abcdef"), "of a killed run").unwrap();
        fs::write(directory.path().join(".other.sealant-part-0123456789abcdef"), "of another file").unwrap();
        let options = WriteOptions::SECRET.replacing(true);
        let (one, other) = (
            PendingFile::write(&path, b"one", options).unwrap(),
            PendingFile::write(&path, b"other", options).unwrap(),
        );
        other.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"other");
        one.commit().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        drop(PendingFile::write(&path, b"none", options).unwrap());
        let mut left: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".other.sealant-part-0123456789abcdef", "file"]);
        std::thread::scope(|scope| {
            for text in ["a", "b", "c", "d"].map(|text| text.repeat(10_000)) {
                let path = &path;
                scope.spawn(move || (0..50).for_each(|_| write_atomic(path, text.as_bytes(), options).unwrap()));
            }
        });
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.len() == 10_000 && bytes.iter().all(|byte| *byte == bytes[0]));
    }

    #[test]
    fn a_saved_file_is_restored() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        assert!(SavedFile::link(&path).unwrap().is_none());
        write_atomic(&path, b"old", WriteOptions::SECRET).unwrap();
        let saved = SavedFile::link(&path).unwrap().unwrap();
        write_atomic(&path, b"new", WriteOptions::SECRET.replacing(true)).unwrap();
        saved.restore().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(SavedFile::link(&path).unwrap());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_check_leaves_no_files() {
        let directory = tempfile::tempdir().unwrap();
        check_writable(&directory.path().join("file"), WriteOptions::PUBLIC).unwrap();
        assert!(check_writable(&directory.path().join("none/file"), WriteOptions::PUBLIC).is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn modes_are_as_requested_and_directories_are_new() {
        let directory = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let options = WriteOptions { mode: 0o664, ..WriteOptions::SECRET };
        let (file, below) = (directory.path().join("file"), directory.path().join("below"));
        write_atomic(&file, b"", options).unwrap();
        create_directory(&below, WriteOptions { mode: 0o750, ..options }).unwrap();
        assert_eq!((mode(&file), mode(&below)), (0o664, 0o750));
        assert_eq!(create_directory(&below, options).unwrap_err().kind(), ErrorKind::AlreadyExists);
    }
}
