//! Replaces the server's TLS files together, or restores all of them.

use std::{
    fmt, fs,
    io::ErrorKind,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use files::WriteOptions;
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
    /// Whether the PEM contains this, and nothing else that would be lost.
    fn is_in(self, pem: &[u8]) -> bool {
        let text = String::from_utf8_lossy(pem);
        if self == Self::Key {
            return tls13::private_key(pem).is_ok() && !text.contains("BEGIN CERTIFICATE");
        }
        let certificates = server::Certificate::from_pem(pem).unwrap_or_default();
        let fits = |one: &server::Certificate| self == Self::Certificate || one.is_ca || one.self_signed;
        !certificates.is_empty() && certificates.iter().all(fits) && !text.contains("PRIVATE KEY")
    }
}

/// A file of the server, and its new content.
pub(super) struct Replacement {
    /// What it is.
    pub(super) kind: Kind,
    /// Path of the server's file.
    pub(super) path: PathBuf,
    /// New content.
    pub(super) bytes: Zeroizing<Vec<u8>>,
    /// How it is written, whatever is there now.
    pub(super) options: WriteOptions,
}

impl Replacement {
    /// Keeps a copy of the current file, unless an interrupted run has done that.
    fn back_up(&self) -> Result<(), Error> {
        let backup_path = self.backup_path();
        if backup_path.symlink_metadata().is_ok() {
            return Ok(());
        }
        match read(&self.path)? {
            None => Ok(()),
            Some(bytes) => write_file(&backup_path, &bytes, existing_options(&self.path)?),
        }
    }

    /// Checks that the existing file is a TLS file of the server: its path alone does not justify replacing it.
    fn judge(&self, path: &Path, server: u32) -> Result<(), Error> {
        let found = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            found => found.map_err(|source| Error::File { path: path.to_owned(), source })?,
        };
        let refuse = |why: String| Err(Error::NotReplaced { path: path.to_owned(), why });
        if !found.is_file() {
            return refuse("is not a file".to_owned());
        }
        if ![0, server].contains(&found.uid()) {
            return refuse(format!("belongs to user {}, neither to the server's, {server}, nor to root", found.uid()));
        }
        match read(path)? {
            Some(bytes) if !self.kind.is_in(&bytes) => {
                refuse(format!("is named as the server's {}, and is not that alone, in PEM", self.kind))
            }
            _ => Ok(()),
        }
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
        write_file(&self.path, &self.bytes, self.options.replacing(true))
    }

    fn restore(&self, log: &StatementLog) -> Result<(), Error> {
        let backup_path = self.backup_path();
        log.note(&format!("put file {} back", self.path.display()))?;
        let failed = |source| Error::File { path: self.path.clone(), source };
        match read(&backup_path)? {
            Some(bytes) => write_file(&self.path, &bytes, existing_options(&backup_path)?),
            // There was no file before.
            None => match fs::remove_file(&self.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(error)),
                _ => files::sync_parent(&self.path).map_err(failed),
            },
        }
    }

    fn remove_backup(&self) -> Result<(), Error> {
        let backup_path = self.backup_path();
        match fs::remove_file(&backup_path) {
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
        // A roll-back would bring it back.
        file.judge(&file.backup_path(), server)?;
        let options = file.options.replacing(true);
        files::check_writable(&file.path, options).map_err(|source| Error::File { path: file.path.clone(), source })?;
    }
    Ok(())
}

/// Keeps copies of all files before the first is replaced.
pub(super) fn back_up(files: &[Replacement]) -> Result<(), Error> {
    if obsolete_marker(files).is_some_and(|mark| mark.symlink_metadata().is_ok()) {
        // A run was killed while it removed its copies: they are older than what is served.
        remove_backups(files)?;
    }
    files.iter().try_for_each(Replacement::back_up)
}

/// Replaces all files. The server does not read them until it is told to.
pub(super) fn write(files: &[Replacement], log: &StatementLog) -> Result<(), Error> {
    files.iter().try_for_each(|file| file.write(log))
}

/// Restores all files; an error does not stop the others.
pub(super) fn restore(files: &[Replacement], log: &StatementLog) -> Result<(), Error> {
    let ended: Vec<_> = files.iter().map(|file| file.restore(log)).collect();
    ended.into_iter().collect()
}

/// Removes what was kept: all of it or, for the next run, nothing that counts. Of a pair of which one half was gone that run
/// would bring back the other.
pub(super) fn remove_backups(files: &[Replacement]) -> Result<(), Error> {
    let Some(mark) = obsolete_marker(files) else { return Ok(()) };
    write_file(&mark, b"", WriteOptions::SECRET.replacing(true))?;
    files.iter().try_for_each(Replacement::remove_backup)?;
    let failed = |source| Error::File { path: mark.clone(), source };
    // No copy may come back after a power cut once the mark is gone.
    files.iter().try_for_each(|file| files::sync_parent(&file.path)).map_err(failed)?;
    fs::remove_file(&mark).map_err(failed)
}

/// The marker file, which says that the copies are obsolete.
fn obsolete_marker(files: &[Replacement]) -> Option<PathBuf> {
    files.first().map(|file| file.with_suffix(".sealant-over"))
}

/// Permissions and owner of that file.
fn existing_options(path: &Path) -> Result<WriteOptions, Error> {
    let found = fs::metadata(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
    Ok(WriteOptions { mode: found.mode() & 0o7777, owner: Some((found.uid(), found.gid())), replace: true })
}

/// Content of a file, wiped on drop; `None` if it does not exist.
pub(super) fn read(path: &Path) -> Result<Option<Zeroizing<Vec<u8>>>, Error> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(Zeroizing::new(bytes))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(Error::File { path: path.to_owned(), source }),
    }
}

fn write_file(path: &Path, bytes: &[u8], options: WriteOptions) -> Result<(), Error> {
    files::write_atomic(path, bytes, options).map_err(|source| Error::File { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replacement(path: PathBuf) -> Replacement {
        Replacement {
            kind: Kind::Certificate,
            path,
            bytes: Zeroizing::new(b"new".to_vec()),
            options: WriteOptions::SECRET,
        }
    }

    #[test]
    fn a_run_that_was_killed_while_it_forgot_leaves_nothing_that_counts() {
        let directory = tempfile::tempdir().unwrap();
        let files: Vec<_> = ["cert", "key"].map(|name| replacement(directory.path().join(name))).into();
        let log = StatementLog::open(&directory.path().join("log"), "server", "user").unwrap();
        files.iter().for_each(|file| fs::write(&file.path, b"old").unwrap());
        back_up(&files).unwrap();
        write(&files, &log).unwrap();
        // As a kill leaves it after the first of both is removed.
        fs::write(obsolete_marker(&files).unwrap(), b"").unwrap();
        files[0].remove_backup().unwrap();
        assert_eq!(fs::read(files[1].backup_path()).unwrap(), b"old");
        back_up(&files).unwrap();
        restore(&files, &log).unwrap();
        assert!(files.iter().all(|file| fs::read(&file.path).unwrap() == b"new"), "a pair of two runs");
        remove_backups(&files).unwrap();
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 3, "both files and the log");
    }
}
