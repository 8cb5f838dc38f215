//! The record of a copy, by which the copy of a killed run can be found and removed.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use files::{
    WriteOptions,
    regular::{self, Links},
};
use jiff::Timestamp;
use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, Serialize};

use crate::{choice::Provider, datadir::DataDir, error::Error, location, mounted};

const NAME: &str = "snapshot.json";
const LOCK: &str = "lock";

/// One copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The data directory that was copied.
    pub(crate) datadir: PathBuf,
    /// Root of the copied files; missing if the copy was never finished.
    pub(crate) root: PathBuf,
    pub(crate) provider: Provider,
    pub(crate) created: Timestamp,
    /// How long the server was stopped, in milliseconds; `None` until the copy is finished.
    pub(crate) freeze_ms: Option<f64>,
    /// Whether it is kept when the program that made it ends.
    pub(crate) kept: bool,
    /// Names of the volumes or snapshots of the provider's tools, recorded before they are made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) volumes: Vec<String>,
}

/// A copy found on disk.
#[derive(Clone, Debug)]
pub struct FoundCopy {
    /// Name of the copy.
    pub name: String,
    /// Root of its files.
    pub root: PathBuf,
    /// The data directory that was copied.
    pub datadir: PathBuf,
    /// The provider that made it.
    pub provider: Provider,
    /// When it was made.
    pub created: Timestamp,
    /// How long the server was stopped for it, in milliseconds.
    pub freeze_ms: Option<f64>,
    /// State of the copy.
    pub state: State,
    directory: PathBuf,
    volumes: Vec<String>,
}

/// The copies in `found` that have these names; with `stale` also those whose program was killed.
///
/// # Errors
/// [`Error::NoSuchCopy`] if none has one of the names.
fn select<'f>(
    datadir: &DataDir,
    found: &'f [FoundCopy],
    names: &[String],
    stale: bool,
) -> Result<Vec<&'f FoundCopy>, Error> {
    if let Some(name) = names.iter().find(|name| !found.iter().any(|copy| copy.name == **name)) {
        return Err(Error::NoSuchCopy { name: name.clone(), datadir: datadir.path().to_owned() });
    }
    let wanted = |copy: &&FoundCopy| (stale && copy.state == State::Stale) || names.contains(&copy.name);
    Ok(found.iter().filter(wanted).collect())
}

/// State of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Kept until it is discarded.
    Kept,
    /// In use by a program.
    InUse,
    /// The program that made it has ended.
    Stale,
    /// No longer of one instant: its snapshot ran full.
    Invalid,
}

impl Record {
    pub(crate) fn write(&self, directory: &Path) -> Result<(), Error> {
        let path = directory.join(NAME);
        let failed = |source: io::Error| Error::CopyDirectory { path: path.clone(), source };
        let text = serde_json::to_vec_pretty(self).map_err(|error| failed(error.into()))?;
        files::write_atomic(&path, &text, WriteOptions::SECRET.replacing(true)).map_err(failed)
    }

    fn read(directory: &Path) -> Option<Self> {
        const MAX_BYTES: u64 = 1 << 20;
        serde_json::from_slice(&regular::read(&directory.join(NAME), Links::Refused, MAX_BYTES).ok()?).ok()
    }
}

/// Lock held by the program that uses a copy; the kernel releases it when the program ends.
pub(crate) fn lock(directory: &Path) -> Result<File, Error> {
    let path = directory.join(LOCK);
    let failed = |source| Error::CopyDirectory { path: path.clone(), source };
    // The directory belongs to the server's user, who may have put anything there.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(0o600).custom_flags(flags);
    let file = options.open(&path).map_err(failed)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(|error| failed(error.into()))?;
    Ok(file)
}

fn is_in_use(directory: &Path) -> bool {
    let Ok(file) = regular::open(&directory.join(LOCK), Links::Refused) else { return false };
    flock(&file, FlockOperation::NonBlockingLockShared).is_err()
}

/// All copies of a data directory, oldest first.
///
/// # Errors
/// [`Error::Unreadable`] if a directory for copies cannot be read.
pub fn list(datadir: &DataDir, location: Option<&Path>) -> Result<Vec<FoundCopy>, Error> {
    let mut found = Vec::new();
    for directory in location::candidates(datadir.path(), location) {
        let items = match fs::read_dir(&directory) {
            Ok(items) => items,
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(source) => return Err(Error::Unreadable { path: directory, source }),
        };
        let directories = items.flatten().map(|item| item.path());
        found.extend(directories.filter_map(|path| found_in(&path)).filter(|found| found.datadir == datadir.path()));
    }
    found.sort_by(|a, b| (a.created, &a.name).cmp(&(b.created, &b.name)));
    Ok(found)
}

fn found_in(directory: &Path) -> Option<FoundCopy> {
    let record = Record::read(directory)?;
    let state = match record.freeze_ms {
        _ if is_in_use(directory) => State::InUse,
        Some(_) if record.provider.check(&record.volumes).is_err() => State::Invalid,
        Some(_) if record.kept => State::Kept,
        _ => State::Stale,
    };
    Some(FoundCopy {
        name: directory.file_name()?.to_string_lossy().into_owned(),
        root: record.root,
        datadir: record.datadir,
        provider: record.provider,
        created: record.created,
        freeze_ms: record.freeze_ms,
        state,
        directory: directory.to_owned(),
        volumes: record.volumes,
    })
}

/// Removes the copies of a data directory that have these names; with `stale` also those whose program was killed.
/// Nothing is removed if a name is wrong. `removed` receives each copy once it is gone.
///
/// # Errors
/// [`Error::NoSuchCopy`], and those of [`list`] and [`discard`].
pub fn discard_named(
    datadir: &DataDir,
    location: Option<&Path>,
    names: &[String],
    stale: bool,
    removed: &mut dyn FnMut(&FoundCopy),
) -> Result<(), Error> {
    let found = list(datadir, location)?;
    for copy in select(datadir, &found, names, stale)? {
        discard(copy)?;
        removed(copy);
    }
    Ok(())
}

/// Removes a copy.
///
/// # Errors
/// [`Error::InUse`] if a program uses it; [`Error::Release`] names what could not be removed.
pub fn discard(found: &FoundCopy) -> Result<(), Error> {
    if is_in_use(&found.directory) {
        return Err(Error::InUse { name: found.name.clone() });
    }
    remove(&found.directory, found.provider, &found.volumes)
}

/// Removes the directory of a copy and everything in it.
pub(crate) fn remove(directory: &Path, provider: Provider, volumes: &[String]) -> Result<(), Error> {
    provider.remove(directory, volumes)?;
    if !volumes.is_empty() {
        // If this fails, nothing is mounted there any more, and `/run` is empty after the next
        // boot.
        let _ = mounted::remove_mount_point(directory.file_name().unwrap_or_default());
    }
    let failed = |source| Error::Release { path: directory.to_owned(), source };
    // The record is removed last: without it the rest could not be found again.
    for path in [directory.join("data"), directory.to_owned()] {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
    }
    // The directory for copies is removed with the last copy.
    let _ = directory.parent().map(fs::remove_dir);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make_copy(datadir: &DataDir, location: &Path, name: &str, kept: bool) {
        let directory = location::candidates(datadir.path(), Some(location)).remove(0).join(name);
        fs::create_dir_all(directory.join("data")).unwrap();
        let record = Record {
            datadir: datadir.path().to_owned(),
            root: directory.join("data"),
            provider: Provider::Reflink,
            created: Timestamp::UNIX_EPOCH,
            freeze_ms: Some(1.0),
            kept,
            volumes: Vec::new(),
        };
        record.write(&directory).unwrap();
    }

    #[test]
    fn copies_are_removed_by_name_or_because_nothing_uses_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("data");
        fs::create_dir_all(path.join("mysql")).unwrap();
        let (datadir, location) = (DataDir::at(&path).unwrap(), directory.path());
        for (name, kept) in [("a", true), ("b", true), ("c", false)] {
            make_copy(&datadir, location, name, kept);
        }
        let discard = |names: &[&str], stale| {
            let mut removed = Vec::new();
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let done =
                discard_named(&datadir, Some(location), &names, stale, &mut |copy| removed.push(copy.name.clone()));
            (done.map_err(|error| error.to_string()), removed)
        };
        let (refused, removed) = discard(&["a", "x"], false);
        assert!(refused.is_err_and(|error| error.contains('x')) && removed.is_empty());
        assert_eq!(discard(&[], true), (Ok(()), vec!["c".to_owned()]));
        assert_eq!(discard(&["b"], false), (Ok(()), vec!["b".to_owned()]));
        let left: Vec<_> = list(&datadir, Some(location)).unwrap().into_iter().map(|copy| copy.name).collect();
        assert_eq!(left, ["a"]);
    }
}
