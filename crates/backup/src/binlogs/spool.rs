//! Parts of binary logs that wait on this host because the store cannot be reached: `spool-SERVER` in the state
//! directory or another one of the configuration, one age file for each.
//!
//! A part is encrypted before it is written. A list has the parts in order ([`Waiting`]). Any other file is a part that an
//! interrupted run left, or one after a part that is lost. It is removed once the server sends its events again; if the
//! server has lost them, it is kept under another name.

use std::{
    collections::BTreeSet,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use archive::{Digest, binlog::Segment, receipt::Object};
use files::{WriteOptions, free_bytes, write_atomic};
use innodb::binlog::LogPosition;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    state::{ArchiveState, StateFile},
    waiting::{LIST, Waiting},
};
use crate::{Config, Error, Repository, state::make_directory};

/// Beginning of the directory's name; the server's name follows.
const PREFIX: &str = "spool-";
/// Ending of a part.
const PART: &str = ".age";
/// Ending that is added to a part whose events the server does not send again.
const UNLISTED: &str = ".unlisted";

/// Space to leave on the file system, for the state and for other programs.
const RESERVE_BYTES: u64 = 64 << 20;

/// A part that is not stored yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SpooledPart {
    pub(super) segment: Segment,
    /// When it was written.
    pub(super) since: Timestamp,
    /// Position after it, if no transaction is open there.
    pub(super) after: Option<Checkpoint>,
}

/// A position between transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Checkpoint {
    pub(super) end: LogPosition,
    /// GTIDs up to it.
    pub(super) gtid: String,
}

/// Parts of binary logs that wait on this host for the store, and whether logs were lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SpoolStatus {
    /// The server whose logs they are.
    pub server: String,
    /// Number of parts.
    pub parts: u64,
    /// Length of their files.
    pub bytes: u64,
    /// When the oldest was written; `None` if there is none.
    pub since: Option<Timestamp>,
    /// Number of further parts that cannot be found, because their list is missing or damaged. The next run that
    /// archives logs reads those of a damaged list from the server again, and refuses to go on if it is missing.
    #[serde(skip_serializing_if = "is_zero")]
    pub unlisted: u64,
    /// When the archiver last noticed that the server had removed logs before they were read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost: Option<Timestamp>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl SpoolStatus {
    pub(super) fn new(server: &str, state: &ArchiveState) -> Self {
        let waiting = &state.spool;
        Self {
            server: server.to_owned(),
            parts: waiting.len() as u64,
            bytes: waiting.bytes(),
            since: waiting.first().map(|part| part.since),
            unlisted: waiting.lost(),
            lost: state.lost,
        }
    }

    /// Reads what waits on this host, for each server.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub fn read_all(config: &Config, repository: &Repository) -> Result<Vec<Self>, Error> {
        let directory = config.state.join(&repository.id).join(&config.host);
        let (spools, mut found) = (config.spools(&repository.id), Vec::new());
        for server in StateFile::servers(&directory)? {
            let status = Self::new(&server, &Self::read_state(&directory, &spools, &server)?);
            found.extend(Some(status).filter(|status| status.parts > 0 || status.unlisted > 0));
        }
        Ok(found)
    }

    /// Reads a state and its list. A running archiver may replace the list after the state was read; then the state is
    /// another one by now.
    fn read_state(directory: &Path, spools: &Path, server: &str) -> Result<ArchiveState, Error> {
        let mut state = StateFile::read(directory, spools, server)?;
        while state.spool.lost() > 0 {
            let again = StateFile::read(directory, spools, server)?;
            if again == state {
                break;
            }
            state = again;
        }
        Ok(state)
    }
}

/// The directory of a server's spool below that of all spools of the host.
pub(super) fn directory(spools: &Path, server: &str) -> PathBuf {
    spools.join(format!("{PREFIX}{server}"))
}

/// The directory with the files.
#[derive(Debug)]
pub(super) struct Spool {
    directory: PathBuf,
}

impl Spool {
    /// The spool of a server below the directory of all spools of the host.
    pub(super) fn new(spools: &Path, server: &str) -> Self {
        Self { directory: directory(spools, server) }
    }

    /// Whether the file system has space for a part.
    pub(super) fn has_space(&self, object: Object) -> Result<bool, Error> {
        let spools = self.directory.parent().unwrap_or(&self.directory);
        let free = free_bytes(spools).map_err(Error::io(spools, "cannot be read"))?;
        Ok(free > object.bytes.saturating_add(RESERVE_BYTES))
    }

    /// Refuses to go on without the list that the state names, or without the first part if the state lists the parts
    /// itself: the file system of the spool may not be mounted, and the parts be intact. A list or part that is only damaged
    /// is no reason: it shows that this is the right directory.
    ///
    /// # Errors
    /// [`Error::SpoolMissing`].
    pub(super) fn check_presence(&self, waiting: &Waiting) -> Result<(), Error> {
        // A state of an older release lists the parts itself.
        let first = || waiting.first().map(|part| self.path(&part.segment.object.sha256));
        let Some(path) = waiting.list_path(&self.directory).or_else(first) else { return Ok(()) };
        let is_there = path.try_exists().map_err(Error::io(&path, "cannot be read"))?;
        if is_there { Ok(()) } else { Err(Error::SpoolMissing { path }) }
    }

    /// Writes a part durably, and appends it to the list.
    pub(super) fn put(&self, waiting: &mut Waiting, part: SpooledPart, encrypted: &[u8]) -> Result<(), Error> {
        // Parts of one list must not be on two file systems.
        self.check_presence(waiting)?;
        make_directory(&self.directory)?;
        let path = self.path(&part.segment.object.sha256);
        let written = write_atomic(&path, encrypted, WriteOptions::SECRET.replacing(true));
        written.map_err(Error::io(&path, "cannot be written"))?;
        waiting.append(&self.directory, part).inspect_err(|_| {
            // It would only take space; the next run removes it, too.
            let _ = fs::remove_file(&path);
        })
    }

    /// Reads a part; `None` if its file is missing or damaged.
    pub(super) fn read(&self, object: Object) -> Result<Option<Vec<u8>>, Error> {
        let path = self.path(&object.sha256);
        match fs::read(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            read => {
                let encrypted = read.map_err(Error::io(&path, "cannot be read"))?;
                Ok(Some(encrypted).filter(|encrypted| Digest::compute(encrypted) == object.sha256))
            }
        }
    }

    /// Removes the file of a part that is stored.
    pub(super) fn remove(&self, object: Object) -> Result<(), Error> {
        let path = self.path(&object.sha256);
        fs::remove_file(&path).map_err(Error::io(&path, "cannot be removed"))
    }

    /// Removes all lists. No part may wait.
    pub(super) fn remove_lists(&self) -> Result<(), Error> {
        remove_each(self.files()?.iter().filter(|path| has_ending(path, LIST)))
    }

    /// Removes the files of all other parts, and all other lists. The server must be sending the events of these parts
    /// again.
    pub(super) fn keep_only(&self, waiting: &Waiting) -> Result<(), Error> {
        remove_each(self.others(waiting)?.iter())
    }

    /// Renames the files of all other parts, whose events the server does not send again, so that no later run removes
    /// them. Returns their number.
    pub(super) fn set_aside(&self, waiting: &Waiting) -> Result<u64, Error> {
        let mut count: u64 = 0;
        for path in self.others(waiting)?.iter().filter(|path| has_ending(path, PART)) {
            let mut name = path.clone().into_os_string();
            name.push(UNLISTED);
            fs::rename(path, name).map_err(Error::io(path, "cannot be renamed"))?;
            count = count.saturating_add(1);
        }
        Ok(count)
    }

    /// The directory.
    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Files that are neither parts that wait nor their list. Those that were set aside are not among them.
    fn others(&self, waiting: &Waiting) -> Result<Vec<PathBuf>, Error> {
        let list = waiting.list_path(&self.directory);
        let parts = waiting.iter().map(|part| self.path(&part.segment.object.sha256));
        let kept: BTreeSet<PathBuf> = parts.chain(list).collect();
        let mut others = self.files()?;
        others.retain(|path| !kept.contains(path) && !has_ending(path, UNLISTED));
        Ok(others)
    }

    fn files(&self) -> Result<Vec<PathBuf>, Error> {
        match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            items => {
                let items = items.map_err(Error::io(&self.directory, "cannot be listed"))?;
                Ok(items.flatten().map(|item| item.path()).collect())
            }
        }
    }

    fn path(&self, sha256: &Digest) -> PathBuf {
        self.directory.join(format!("{sha256}{PART}"))
    }
}

fn remove_each<'p>(mut paths: impl Iterator<Item = &'p PathBuf>) -> Result<(), Error> {
    paths.try_for_each(|path| fs::remove_file(path).map_err(Error::io(path, "cannot be removed")))
}

fn has_ending(path: &Path, ending: &str) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(ending.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A spool with the parts `texts`, of which the list has those of the second number.
    fn spool(directory: &Path, texts: &[&str], listed: usize) -> (Spool, Waiting) {
        let (spool, mut waiting) = (Spool::new(directory, "7"), Waiting::default());
        for (text, number) in texts.iter().zip(0..) {
            let object = Object { sha256: Digest::compute(text.as_bytes()), bytes: text.len() as u64 };
            let (file, start, end) = ("b.000001".to_owned(), 100 * number, 100 * number + 100);
            let segment = Segment { file, start, end, object, event_bytes: 1, events: 1, first: 1, last: 1 };
            let part = SpooledPart { segment, since: Timestamp::UNIX_EPOCH, after: None };
            spool.put(&mut waiting, part, text.as_bytes()).unwrap();
        }
        waiting.truncate(listed);
        (spool, waiting)
    }

    fn count(directory: &Path, ending: &str) -> usize {
        let files = fs::read_dir(directory).unwrap().flatten();
        files.filter(|file| has_ending(&file.path(), ending)).count()
    }

    /// As with a file system that is not mounted.
    #[test]
    fn without_its_list_a_spool_is_refused_and_nothing_is_added_to_it() {
        let directory = tempfile::tempdir().unwrap();
        let (spool, mut waiting) = spool(directory.path(), &["one", "two"], 2);
        spool.check_presence(&waiting).unwrap();
        let (part, aside) = (waiting.first().unwrap().clone(), directory.path().join("aside"));
        fs::rename(spool.directory(), &aside).unwrap();
        for _ in 0..2 {
            let missing = spool.check_presence(&waiting).unwrap_err();
            let Error::SpoolMissing { path } = missing else { panic!("{missing}") };
            assert_eq!(Some(path), waiting.list_path(spool.directory()));
            spool.put(&mut waiting, part.clone(), b"one").unwrap_err();
            assert_eq!((waiting.len(), count(&aside, PART)), (2, 2));
            // Below the mount point, another directory may have the name.
            let _ = fs::create_dir(spool.directory());
            assert_eq!(count(spool.directory(), ""), 0);
        }
        spool.check_presence(&Waiting::default()).expect("nothing waits");
        // An empty list says that the parts are lost.
        fs::write(waiting.list_path(spool.directory()).unwrap(), "").unwrap();
        spool.check_presence(&waiting).unwrap();
        // In the state of an older release, which lists the parts itself, so does an empty file of the first part.
        let old = Waiting::from(vec![part]);
        let object = old.first().unwrap().segment.object;
        let Error::SpoolMissing { path } = spool.check_presence(&old).unwrap_err() else { panic!() };
        assert_eq!(path, spool.path(&object.sha256));
        fs::write(path, "").unwrap();
        spool.check_presence(&old).unwrap();
        assert!(spool.read(object).unwrap().is_none());
    }

    #[test]
    fn parts_that_the_state_does_not_know_are_kept_if_the_server_has_lost_their_events() {
        let directory = tempfile::tempdir().unwrap();
        let (spool, waiting) = spool(directory.path(), &["one", "two", "three"], 1);
        assert_eq!((spool.set_aside(&waiting).unwrap(), spool.set_aside(&waiting).unwrap()), (2, 0));
        let left = || (count(spool.directory(), PART), count(spool.directory(), UNLISTED));
        assert_eq!(left(), (1, 2));
        spool.remove_lists().unwrap();
        spool.keep_only(&Waiting::default()).unwrap();
        assert_eq!(left(), (0, 2));
    }

    #[test]
    fn parts_that_the_server_sends_again_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let (spool, waiting) = spool(directory.path(), &["one", "two", "three"], 2);
        spool.keep_only(&waiting).unwrap();
        assert_eq!(count(spool.directory(), PART), 2);
        assert!(waiting.iter().all(|part| spool.read(part.segment.object).unwrap().is_some()));
        spool.check_presence(&waiting).unwrap();
    }
}
