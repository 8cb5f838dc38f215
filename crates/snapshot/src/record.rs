//! What is written down of a copy, so that one that a killed run left can be found and removed.

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

use crate::{
    datadir::DataDir,
    error::Error,
    location,
    provider::{Provider, mounted},
};

const NAME: &str = "snapshot.json";
const LOCK: &str = "lock";

/// One copy.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The data directory that it is of.
    pub(crate) datadir: PathBuf,
    /// Where its files are; nothing is there yet if it was never finished.
    pub(crate) root: PathBuf,
    pub(crate) provider: Provider,
    pub(crate) created: Timestamp,
    /// How long the server stood, in milliseconds; `None` until the copy was finished.
    pub(crate) freeze_ms: Option<f64>,
    /// Whether it is to stay when the program that made it ends.
    pub(crate) kept: bool,
    /// What the provider's tools call what they made for it, written down before they do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) volumes: Vec<String>,
}

/// A copy that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// Where its files are.
    pub root: PathBuf,
    /// The data directory that it is of.
    pub datadir: PathBuf,
    /// The way it was taken.
    pub provider: Provider,
    /// When.
    pub created: Timestamp,
    /// How long the server stood for it, in milliseconds.
    pub freeze_ms: Option<f64>,
    /// Whose it is.
    pub state: State,
    directory: PathBuf,
    volumes: Vec<String>,
}

/// Those of `found` with these names, and with `stale` also those whose program was killed.
///
/// # Errors
/// [`Error::NoSuchCopy`] if there is none of a name.
pub fn select<'f>(
    datadir: &DataDir,
    found: &'f [Found],
    names: &[String],
    stale: bool,
) -> Result<Vec<&'f Found>, Error> {
    if let Some(name) = names.iter().find(|name| !found.iter().any(|copy| copy.name == **name)) {
        return Err(Error::NoSuchCopy { name: name.clone(), datadir: datadir.path().to_owned() });
    }
    let wanted = |copy: &&Found| (stale && copy.state == State::Stale) || names.contains(&copy.name);
    Ok(found.iter().filter(wanted).collect())
}

/// Whose a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Made to stay.
    Kept,
    /// A program uses it now.
    InUse,
    /// The program that made it is gone.
    Stale,
    /// It is not of one instant any more: the snapshot that it was became full.
    Void,
}

impl Record {
    pub(crate) fn write(&self, directory: &Path) -> Result<(), Error> {
        let path = directory.join(NAME);
        let failed = |source: io::Error| Error::Place { path: path.clone(), source };
        let text = serde_json::to_vec_pretty(self).map_err(|error| failed(error.into()))?;
        files::write_atomic(&path, &text, WriteOptions::SECRET.replacing(true)).map_err(failed)
    }

    fn read(directory: &Path) -> Option<Self> {
        const MOST_BYTES: u64 = 1 << 20;
        serde_json::from_slice(&regular::read(&directory.join(NAME), Links::Refused, MOST_BYTES).ok()?).ok()
    }
}

/// Held by the program that uses a copy; the kernel lets go of it when that ends, however it does.
pub(crate) fn lock(directory: &Path) -> Result<File, Error> {
    let path = directory.join(LOCK);
    let failed = |source| Error::Place { path: path.clone(), source };
    // The directory is the server's, and its user may have put anything there.
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

/// All copies of a data directory, the oldest first.
///
/// # Errors
/// [`Error::Unreadable`] if a directory that holds some cannot be read.
pub fn list(datadir: &DataDir, place: Option<&Path>) -> Result<Vec<Found>, Error> {
    let mut found = Vec::new();
    for directory in location::candidates(datadir.path(), place) {
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

fn found_in(directory: &Path) -> Option<Found> {
    let record = Record::read(directory)?;
    let state = match record.freeze_ms {
        _ if is_in_use(directory) => State::InUse,
        Some(_) if record.provider.check(&record.volumes).is_err() => State::Void,
        Some(_) if record.kept => State::Kept,
        _ => State::Stale,
    };
    Some(Found {
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

/// Removes a copy.
///
/// # Errors
/// [`Error::InUse`] if a program uses it; [`Error::Release`] names what could not be removed.
pub fn discard(found: &Found) -> Result<(), Error> {
    if is_in_use(&found.directory) {
        return Err(Error::InUse { name: found.name.clone() });
    }
    remove(&found.directory, found.provider, &found.volumes)
}

/// Removes what is in the directory of a copy, and the directory.
pub(crate) fn remove(directory: &Path, provider: Provider, volumes: &[String]) -> Result<(), Error> {
    provider.remove(directory, volumes)?;
    if !volumes.is_empty() {
        // Nothing is mounted there any more; `/run` is empty after the next boot.
        let _ = mounted::forget(directory.file_name().unwrap_or_default());
    }
    let failed = |source| Error::Release { path: directory.to_owned(), source };
    // The record goes last: what is left without one, nobody would find again.
    for path in [directory.join("data"), directory.to_owned()] {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
    }
    // The directory of all copies goes with the last.
    let _ = directory.parent().map(fs::remove_dir);
    Ok(())
}
