//! Replaces the server's TLS files together, or restores all of them.

use std::{
    fmt,
    fs::{self, Metadata},
    io::{self, ErrorKind, Read},
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::fs::MetadataExt,
    },
    path::{Path, PathBuf},
};

use files::{
    WriteOptions,
    regular::{self, Links},
};
use zeroize::Zeroizing;

use super::Error;
use crate::StatementLog;

/// Content of a TLS file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Certificate,
    Key,
    Authorities,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Certificate => "certificate",
            Self::Key => "key",
            Self::Authorities => "authorities",
        })
    }
}

impl Kind {
    /// Whether the PEM contains this kind, and nothing else that would be lost.
    fn is_in(self, pem: &[u8]) -> bool {
        let text = String::from_utf8_lossy(pem);
        if self == Self::Key {
            return pki::private_key(pem).is_ok() && !text.contains("BEGIN CERTIFICATE");
        }
        let certificates = pki::Certificate::from_pem(pem).unwrap_or_default();
        let fits = |one: &pki::Certificate| self == Self::Certificate || one.is_ca || one.self_signed;
        !certificates.is_empty() && certificates.iter().all(fits) && !text.contains("PRIVATE KEY")
    }
}

/// The bytes of a file, and its owner and mode.
type FoundFile = (Zeroizing<Vec<u8>>, Metadata);

/// A file of the server, and its new content.
pub(super) struct Replacement {
    /// Kind of the file.
    pub(super) kind: Kind,
    /// Path of the server's file.
    pub(super) path: PathBuf,
    /// Its directory, opened once. Someone who can write to a parent directory, often the server's user, could replace
    /// the directory with a link between two steps.
    directory: OwnedFd,
    /// New content.
    bytes: Zeroizing<Vec<u8>>,
    /// Mode and owner of the new file, which do not depend on the old one.
    options: WriteOptions,
}

impl Replacement {
    /// For a path without links.
    pub(super) fn new(
        kind: Kind,
        path: PathBuf,
        bytes: Zeroizing<Vec<u8>>,
        options: WriteOptions,
    ) -> Result<Self, Error> {
        let directory = files::open_directory_without_links(files::parent(&path));
        let directory = directory.map_err(|source| Error::File { path: path.clone(), source })?;
        Ok(Self { kind, path, directory, bytes, options })
    }

    /// Path of the file, or of one next to it, through the open directory.
    fn reached(&self, path: &Path) -> PathBuf {
        let directory = PathBuf::from(format!("/proc/self/fd/{}", self.directory.as_raw_fd()));
        directory.join(path.file_name().unwrap_or_default())
    }

    fn read(&self, path: &Path) -> Result<Option<FoundFile>, Error> {
        read_with_metadata(&self.reached(path)).map_err(|source| Error::File { path: path.to_owned(), source })
    }

    fn write_file(&self, path: &Path, bytes: &[u8], options: WriteOptions) -> Result<(), Error> {
        files::write_atomic(&self.reached(path), bytes, options)
            .map_err(|source| Error::File { path: path.to_owned(), source })
    }

    /// Backs up the current file, unless an interrupted run already has.
    fn back_up(&self) -> Result<(), Error> {
        let backup_path = self.backup_path();
        if self.reached(&backup_path).symlink_metadata().is_ok() {
            return Ok(());
        }
        match self.read(&self.path)? {
            None => Ok(()),
            Some((bytes, found)) => self.write_file(&backup_path, &bytes, WriteOptions::replacing_file(&found)),
        }
    }

    /// Checks that the existing file is a TLS file of the server: its path alone does not justify replacing it.
    fn judge(&self, path: &Path, server: u32) -> Result<(), Error> {
        let refuse = |why: String| Err(Error::NotReplaced { path: path.to_owned(), why });
        let found = match read_with_metadata(&self.reached(path)) {
            Ok(found) => found,
            Err(error) if regular::NotRegular::in_error(&error).is_some() => return refuse("is not a file".to_owned()),
            Err(source) => return Err(Error::File { path: path.to_owned(), source }),
        };
        let Some((bytes, found)) = found else { return Ok(()) };
        if ![0, server].contains(&found.uid()) {
            return refuse(format!("belongs to user {}, neither to the server's, {server}, nor to root", found.uid()));
        }
        if !self.kind.is_in(&bytes) {
            return refuse(format!("is named as the server's {}, but is not exactly that in PEM", self.kind));
        }
        Ok(())
    }

    fn backup_path(&self) -> PathBuf {
        self.with_suffix(".sealant-before")
    }

    fn with_suffix(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    }

    fn write(&self, log: &StatementLog) -> Result<(), Error> {
        log.note(&format!("replace file {}", self.path.display()))?;
        self.write_file(&self.path, &self.bytes, self.options.replacing(true))
    }

    fn restore(&self, log: &StatementLog) -> Result<(), Error> {
        let backup_path = self.backup_path();
        log.note(&format!("put file {} back", self.path.display()))?;
        let failed = |source| Error::File { path: self.path.clone(), source };
        match self.read(&backup_path)? {
            Some((bytes, found)) => self.write_file(&self.path, &bytes, WriteOptions::replacing_file(&found)),
            // There was no file before.
            None => match fs::remove_file(self.reached(&self.path)) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(error)),
                _ => self.sync().map_err(failed),
            },
        }
    }

    /// Syncs its directory.
    fn sync(&self) -> io::Result<()> {
        files::sync_parent(&self.reached(&self.path))
    }

    fn remove_backup(&self) -> Result<(), Error> {
        let backup_path = self.backup_path();
        match fs::remove_file(self.reached(&backup_path)) {
            Err(source) if source.kind() != ErrorKind::NotFound => Err(Error::File { path: backup_path, source }),
            _ => Ok(()),
        }
    }
}

/// Checks, before anything is changed, that all files may be replaced and can be written. `server` is the server's user
/// id.
pub(super) fn check(files: &[Replacement], server: u32) -> Result<(), Error> {
    for file in files {
        file.judge(&file.path, server)?;
        // A roll-back would restore the backup, so it is checked too.
        file.judge(&file.backup_path(), server)?;
        let options = file.options.replacing(true);
        files::check_writable(&file.reached(&file.path), options)
            .map_err(|source| Error::File { path: file.path.clone(), source })?;
    }
    Ok(())
}

/// Backs up all files before the first is replaced.
pub(super) fn back_up(files: &[Replacement]) -> Result<(), Error> {
    if obsolete_marker(files).is_some_and(|(first, mark)| first.reached(&mark).symlink_metadata().is_ok()) {
        // A run was killed while it removed its backups, which are older than the served files.
        remove_backups(files)?;
    }
    files.iter().try_for_each(Replacement::back_up)
}

/// Replaces all files. The server does not read them until it reloads.
pub(super) fn write(files: &[Replacement], log: &StatementLog) -> Result<(), Error> {
    files.iter().try_for_each(|file| file.write(log))
}

/// Restores all files; an error does not stop the others.
pub(super) fn restore(files: &[Replacement], log: &StatementLog) -> Result<(), Error> {
    let ended: Vec<_> = files.iter().map(|file| file.restore(log)).collect();
    ended.into_iter().collect()
}

/// Removes all backups. A marker makes the next run ignore those that remain after an interruption: it would otherwise
/// restore one half of a pair without the other.
pub(super) fn remove_backups(files: &[Replacement]) -> Result<(), Error> {
    let Some((first, mark)) = obsolete_marker(files) else { return Ok(()) };
    first.write_file(&mark, b"", WriteOptions::SECRET.replacing(true))?;
    files.iter().try_for_each(Replacement::remove_backup)?;
    let failed = |source| Error::File { path: mark.clone(), source };
    // No backup may reappear after a power failure once the marker is gone.
    files.iter().try_for_each(Replacement::sync).map_err(failed)?;
    fs::remove_file(first.reached(&mark)).map_err(failed)
}

/// The marker file next to the first file, which declares the backups obsolete.
fn obsolete_marker(files: &[Replacement]) -> Option<(&Replacement, PathBuf)> {
    files.first().map(|file| (file, file.with_suffix(".sealant-over")))
}

/// Maximum length of a file, above that of any certificates or keys.
const MAX_BYTES: u64 = 16 << 20;

/// Content of a file, wiped on drop; `None` if it does not exist.
pub(super) fn read(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
    let read = read_with_metadata(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
    Ok(read.map(|(bytes, _)| bytes))
}

/// Bytes, owner and mode from one open file: the path could lead to two different files.
fn read_with_metadata(path: &Path) -> io::Result<Option<FoundFile>> {
    let file = match regular::open(path, Links::Refused) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let found = file.metadata()?;
    // A growing buffer would leave parts of a key in memory.
    let room = usize::try_from(found.len().min(MAX_BYTES)).unwrap_or(0).saturating_add(1);
    let mut bytes = Zeroizing::new(Vec::with_capacity(room));
    file.take(MAX_BYTES).read_to_end(&mut bytes)?;
    Ok(Some((bytes, found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replacement(path: PathBuf) -> Replacement {
        let bytes = Zeroizing::new(b"new".to_vec());
        Replacement::new(Kind::Certificate, path, bytes, WriteOptions::SECRET).unwrap()
    }

    #[test]
    fn what_takes_the_place_of_the_directory_or_of_a_file_is_neither_copied_nor_replaced() {
        let above = tempfile::tempdir().unwrap();
        let above = above.path().canonicalize().unwrap();
        let at = |name: &str| above.join(name);
        let log = StatementLog::open(&at("log"), "server", "user").unwrap();
        for directory in ["own", "roots"] {
            fs::create_dir(at(directory)).unwrap();
            fs::write(at(directory).join("cert"), directory).unwrap();
        }
        let files = [replacement(at("own/cert"))];
        // The server's user replaces the directory with a link to another one.
        fs::rename(at("own"), at("away")).unwrap();
        std::os::unix::fs::symlink("roots", at("own")).unwrap();
        back_up(&files).unwrap();
        write(&files, &log).unwrap();
        assert_eq!(fs::read(at("roots/cert")).unwrap(), b"roots");
        assert_eq!(fs::read_dir(at("roots")).unwrap().count(), 1);
        assert_eq!(fs::read(at("away/cert")).unwrap(), b"new");
        restore(&files, &log).unwrap();
        assert_eq!(fs::read(at("away/cert")).unwrap(), b"own");
        remove_backups(&files).unwrap();
        assert!(Replacement::new(Kind::Key, at("own/cert"), Zeroizing::default(), WriteOptions::SECRET).is_err());
        // A link to a file that only root may read: its bytes would be copied to a file that others can read.
        fs::remove_file(at("away/cert")).unwrap();
        std::os::unix::fs::symlink(at("roots/cert"), at("away/cert")).unwrap();
        let error = back_up(&files).unwrap_err().to_string();
        assert!(error.contains("a symbolic link"), "{error}");
        assert_eq!(fs::read_dir(at("away")).unwrap().count(), 1);
    }

    #[test]
    fn a_run_that_was_killed_while_it_forgot_leaves_nothing_that_counts() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap();
        let files: Vec<_> = ["cert", "key"].map(|name| replacement(real.join(name))).into();
        let log = StatementLog::open(&directory.path().join("log"), "server", "user").unwrap();
        files.iter().for_each(|file| fs::write(&file.path, b"old").unwrap());
        back_up(&files).unwrap();
        write(&files, &log).unwrap();
        // The state after a kill that follows the removal of the first file.
        fs::write(obsolete_marker(&files).unwrap().1, b"").unwrap();
        files[0].remove_backup().unwrap();
        assert_eq!(fs::read(files[1].backup_path()).unwrap(), b"old");
        back_up(&files).unwrap();
        restore(&files, &log).unwrap();
        assert!(files.iter().all(|file| fs::read(&file.path).unwrap() == b"new"), "a pair of two runs");
        remove_backups(&files).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3, "both files and the log");
    }
}
