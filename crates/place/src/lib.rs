//! Files that are put into place whole, or not at all.
//!
//! The bytes are written beside the file under another name, brought to disk, and renamed; then the
//! name is brought to disk. Whoever looks sees the old file or the new one, also after a power cut.
//!
//! Each run has a name of its own for that, and holds a lock on it: two runs at once do not meet, and what a killed one
//! left is removed by the next.
//!
//! And files of others that are only read: [`regular`].
#![forbid(unsafe_code)]

pub mod regular;
pub mod runtime;

use std::{
    collections::hash_map::RandomState,
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions, Permissions},
    hash::{BuildHasher, Hasher},
    io::{self, ErrorKind, Read, Write},
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
    },
    path::{Path, PathBuf},
};

use rustix::fs::{
    CWD, Dir, FlockOperation, Mode, OFlags, RenameFlags, fchmod, flock, fstat, fsync, mkdirat, openat, renameat_with,
};

/// How a file is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placing {
    /// Permissions from the first byte on, as for `chmod`.
    pub mode: u32,
    /// Owner and group; `None` leaves them to the system.
    pub owner: Option<(u32, u32)>,
    /// Whether a file that is there already may go. If not, that is [`ErrorKind::AlreadyExists`].
    pub replace: bool,
}

impl Placing {
    /// A new file that only its owner may read.
    pub const SECRET: Self = Self { mode: 0o600, owner: None, replace: false };
    /// A new file that everyone may read.
    pub const PUBLIC: Self = Self { mode: 0o644, ..Self::SECRET };

    /// The same, for a file that may be there already.
    #[must_use]
    pub const fn replacing(self, replace: bool) -> Self {
        Self { replace, ..self }
    }
}

/// Puts bytes into place: whole and on disk, or not at all.
///
/// # Errors
/// Of the system; [`ErrorKind::AlreadyExists`] if the file is there and may not be replaced.
pub fn place(path: &Path, bytes: &[u8], placing: Placing) -> io::Result<()> {
    Part::write(path, bytes, placing)?.put()
}

/// Bytes that are on disk beside the file they are for, until they are put into place; dropped, they are removed.
#[derive(Debug)]
pub struct Part {
    path: PathBuf,
    beside: PathBuf,
    replace: bool,
    /// Holds the lock.
    file: File,
}

impl Part {
    /// Writes them.
    ///
    /// # Errors
    /// Of the system.
    pub fn write(path: &Path, bytes: &[u8], placing: Placing) -> io::Result<Self> {
        remove_stale(path);
        let (beside, file) = create(path)?;
        let mut part = Self { path: path.to_owned(), beside, replace: placing.replace, file };
        part.fill(bytes, placing)?;
        Ok(part)
    }

    /// Writes all that `input` gives; with the part comes how many bytes that were.
    ///
    /// # Errors
    /// Of the system, and of the input.
    pub fn copy(path: &Path, input: &mut dyn Read, placing: Placing) -> io::Result<(Self, u64)> {
        remove_stale(path);
        let (beside, file) = create(path)?;
        let mut part = Self { path: path.to_owned(), beside, replace: placing.replace, file };
        part.dress(placing)?;
        let bytes = io::copy(input, &mut part.file)?;
        part.file.sync_all()?;
        Ok((part, bytes))
    }

    fn fill(&mut self, bytes: &[u8], placing: Placing) -> io::Result<()> {
        self.dress(placing)?;
        self.file.write_all(bytes)?;
        self.file.sync_all()
    }

    fn dress(&self, placing: Placing) -> io::Result<()> {
        // For nobody else until it has its owner, and then as asked, whatever the umask.
        if let Some((user, group)) = placing.owner {
            fchown(&self.file, Some(user), Some(group))?;
        }
        if placing.mode != 0o600 {
            self.file.set_permissions(Permissions::from_mode(placing.mode))?;
        }
        Ok(())
    }

    /// Puts them into place.
    ///
    /// # Errors
    /// Of the system; [`ErrorKind::AlreadyExists`] if the file is there and may not be replaced.
    pub fn put(self) -> io::Result<()> {
        rename(&self.beside, &self.path, self.replace)?;
        sync(&self.path)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // Where it was put into place there is none.
        let _ = fs::remove_file(&self.beside);
    }
}

/// A second name of a file that is to be replaced; dropped, it is removed.
#[derive(Debug)]
pub struct Kept {
    path: PathBuf,
    beside: PathBuf,
    /// Holds a lock, as that of a part does.
    _file: Option<File>,
}

impl Kept {
    /// Of that file; `None` if there is none, or the file system has no second names.
    ///
    /// # Errors
    /// Of the system.
    pub fn of(path: &Path) -> io::Result<Option<Self>> {
        let file = File::open(path).ok().filter(|file| flock(file, FlockOperation::LockShared).is_ok());
        let kept = Self { path: path.to_owned(), beside: beside(path), _file: file };
        match fs::hard_link(path, &kept.beside) {
            Ok(()) => Ok(Some(kept)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The file is again what it was.
    ///
    /// # Errors
    /// Of the system.
    pub fn put_back(self) -> io::Result<()> {
        fs::rename(&self.beside, &self.path)?;
        sync(&self.path)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.beside);
    }
}

/// Finds out, before anything is changed, that a file can be put there later.
///
/// # Errors
/// What [`place`] would meet with.
pub fn check(path: &Path, placing: Placing) -> io::Result<()> {
    Part::write(path, b"", placing).map(drop)
}

/// Makes a directory, for its owner from the first moment on.
///
/// Where others write to the directory above, one of them may put something else in its place at any moment. So it is
/// given away by its descriptor, and only if it is the empty one that was made.
///
/// # Errors
/// Of the system; [`ErrorKind::AlreadyExists`] if it is there, or is not the one that was made any more.
pub fn make_directory(path: &Path, placing: Placing) -> io::Result<()> {
    let above = open_directory(CWD, directory(path).as_os_str(), OFlags::empty())?;
    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?;
    make_directory_at(&above, name, placing, || {})
}

/// `made` is called between the making and the opening, where somebody may come in between.
fn make_directory_at(above: &OwnedFd, name: &OsStr, placing: Placing, made: impl FnOnce()) -> io::Result<()> {
    mkdirat(above, name, Mode::from_raw_mode(0o700))?;
    made();
    let below = open_directory(above, name, OFlags::NOFOLLOW)?;
    if let Some((user, group)) = placing.owner {
        check_new(&below)?;
        fchown(&below, Some(user), Some(group))?;
    }
    fchmod(&below, Mode::from_raw_mode(placing.mode))?;
    Ok(fsync(above)?)
}

fn open_directory(above: impl AsFd, name: &OsStr, no_link: OFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | no_link;
    Ok(openat(above, name, flags, Mode::empty())?)
}

/// Whether a directory is as a new one is: this user's, for nobody else, and empty. Another's cannot be all of that, since
/// only root gives files away, and what root made for itself is not empty.
fn check_new(directory: &OwnedFd) -> io::Result<()> {
    let found = fstat(directory)?;
    let is_ours = found.st_uid == rustix::process::geteuid().as_raw() && found.st_mode & 0o077 == 0;
    let is_empty = || io::Result::Ok(Dir::read_from(directory)?.filter_map(Result::ok).count() <= 2);
    if is_ours && is_empty()? {
        return Ok(());
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, "something else took the place of the directory that was made"))
}

/// Brings the file's name to disk.
///
/// # Errors
/// Of the system.
pub fn sync(path: &Path) -> io::Result<()> {
    File::open(directory(path))?.sync_all()
}

/// Where the file is.
#[must_use]
pub fn directory(path: &Path) -> &Path {
    path.parent().filter(|directory| !directory.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

/// How the names of parts of this file begin.
fn prefix(path: &Path) -> OsString {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".sealant-part");
    name
}

/// A name that nobody else has.
fn beside(path: &Path) -> PathBuf {
    let mut name = prefix(path);
    name.push(format!("-{:016x}", RandomState::new().build_hasher().finish()));
    path.with_file_name(name)
}

/// A new file beside this one, and the lock on it.
fn create(path: &Path) -> io::Result<(PathBuf, File)> {
    loop {
        let beside = beside(path);
        let created = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside);
        let file = match created {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            created => created?,
        };
        let _ = flock(&file, FlockOperation::LockExclusive);
        // Somebody may have taken it for stale in the moment before, and had the lock.
        if file.metadata()?.nlink() > 0 {
            return Ok((beside, file));
        }
    }
}

/// Removes what killed runs left.
fn remove_stale(path: &Path) {
    let (prefix, entries) = (prefix(path), fs::read_dir(directory(path)));
    for entry in entries.into_iter().flatten().flatten() {
        if !entry.file_name().as_encoded_bytes().starts_with(prefix.as_encoded_bytes()) {
            continue;
        }
        // Whatever somebody else has put there under such a name must not hold us up.
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
        // A file system that cannot do it: a second name for the file fails if there is one.
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

    #[test]
    fn nothing_is_overwritten_unless_asked_and_only_the_owner_reads() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("secret");
        place(&path, b"one", Placing::SECRET).unwrap();
        assert_eq!(place(&path, b"two", Placing::SECRET).unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).unwrap(), b"one");
        place(&path, b"three", Placing::SECRET.replacing(true)).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"three");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn runs_at_once_do_not_meet_and_what_is_left_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(directory.path().join(".file.sealant-part"), "of an older release").unwrap();
        fs::write(directory.path().join(".file.sealant-part-0123456789abcdef"), "of a killed run").unwrap();
        fs::write(directory.path().join(".other.sealant-part-0123456789abcdef"), "of another file").unwrap();
        let placing = Placing::SECRET.replacing(true);
        let (one, other) =
            (Part::write(&path, b"one", placing).unwrap(), Part::write(&path, b"other", placing).unwrap());
        other.put().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"other");
        one.put().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"one");
        drop(Part::write(&path, b"none", placing).unwrap());
        let mut left: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".other.sealant-part-0123456789abcdef", "file"]);
        std::thread::scope(|scope| {
            for text in ["a", "b", "c", "d"].map(|text| text.repeat(10_000)) {
                let path = &path;
                scope.spawn(move || (0..50).for_each(|_| place(path, text.as_bytes(), placing).unwrap()));
            }
        });
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.len() == 10_000 && bytes.iter().all(|byte| *byte == bytes[0]));
    }

    #[test]
    fn what_was_kept_is_put_back() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        assert!(Kept::of(&path).unwrap().is_none());
        place(&path, b"old", Placing::SECRET).unwrap();
        let kept = Kept::of(&path).unwrap().unwrap();
        place(&path, b"new", Placing::SECRET.replacing(true)).unwrap();
        kept.put_back().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(Kept::of(&path).unwrap());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_check_leaves_nothing() {
        let directory = tempfile::tempdir().unwrap();
        check(&directory.path().join("file"), Placing::PUBLIC).unwrap();
        assert!(check(&directory.path().join("none/file"), Placing::PUBLIC).is_err());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn modes_are_as_asked_and_directories_are_new() {
        let directory = tempfile::tempdir().unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let placing = Placing { mode: 0o664, ..Placing::SECRET };
        let (file, below) = (directory.path().join("file"), directory.path().join("below"));
        place(&file, b"", placing).unwrap();
        make_directory(&below, Placing { mode: 0o750, ..placing }).unwrap();
        assert_eq!((mode(&file), mode(&below)), (0o664, 0o750));
        assert_eq!(make_directory(&below, placing).unwrap_err().kind(), ErrorKind::AlreadyExists);
    }

    #[test]
    fn what_takes_the_place_of_a_directory_that_was_made_is_not_given_away() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let own = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let placing = Placing { mode: 0o755, owner: Some(own), replace: false };
        let above = open_directory(CWD, root.path().as_os_str(), OFlags::empty()).unwrap();
        let make = |other: &str| {
            let swap = || {
                fs::rename(at("made"), at("away")).unwrap();
                fs::rename(at(other), at("made")).unwrap();
            };
            let made = make_directory_at(&above, OsStr::new("made"), placing, swap);
            fs::remove_dir(at("away")).unwrap();
            fs::rename(at("made"), at(other)).unwrap();
            made
        };
        let mode = |name: &str| fs::metadata(at(name)).unwrap().permissions().mode() & 0o777;
        for name in ["secret", "full", "open"] {
            fs::create_dir(at(name)).unwrap();
            fs::set_permissions(at(name), Permissions::from_mode(0o700)).unwrap();
        }
        std::os::unix::fs::symlink("secret", at("link")).unwrap();
        assert!(make("link").is_err());
        fs::write(at("full/key"), "").unwrap();
        assert_eq!(make("full").unwrap_err().kind(), ErrorKind::AlreadyExists);
        fs::set_permissions(at("open"), Permissions::from_mode(0o711)).unwrap();
        assert_eq!(make("open").unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!((mode("secret"), mode("full"), mode("open")), (0o700, 0o700, 0o711));
        if own.0 == 0 {
            std::os::unix::fs::chown(at("secret"), Some(65534), None).unwrap();
            assert_eq!(make("secret").unwrap_err().kind(), ErrorKind::AlreadyExists);
        }
        // What is as new and this user's cannot be told apart, and need not be.
        make_directory_at(&above, OsStr::new("made"), placing, || {}).unwrap();
        assert_eq!(mode("made"), 0o755);
    }
}
