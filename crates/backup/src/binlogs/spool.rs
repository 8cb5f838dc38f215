//! Parts of binary logs that wait on this host because the store cannot be reached: `spool-SERVER` in the state
//! directory or another one of the configuration, one age file for each.
//!
//! A part is encrypted before it is written. A list has the parts in order ([`Waiting`]); any other file was left by an
//! interrupted run, and is removed.

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
    waiting::Waiting,
};
use crate::{Config, Error, Repository, state::make_directory};

/// Beginning of the directory's name; the server's name follows.
const PREFIX: &str = "spool-";

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
    /// archives logs reads them from the server again.
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

    /// Writes a part durably, and appends it to the list.
    pub(super) fn put(&self, waiting: &mut Waiting, part: SpooledPart, encrypted: &[u8]) -> Result<(), Error> {
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

    /// Removes the files of all other parts, and all other lists.
    pub(super) fn keep_only(&self, waiting: &Waiting) -> Result<(), Error> {
        let list = waiting.list_path(&self.directory);
        let parts = waiting.iter().map(|part| self.path(&part.segment.object.sha256));
        let kept: BTreeSet<PathBuf> = parts.chain(list).collect();
        let items = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            items => items.map_err(Error::io(&self.directory, "cannot be listed"))?,
        };
        for path in items.flatten().map(|item| item.path()).filter(|path| !kept.contains(path)) {
            fs::remove_file(&path).map_err(Error::io(&path, "cannot be removed"))?;
        }
        Ok(())
    }

    fn path(&self, sha256: &Digest) -> PathBuf {
        self.directory.join(format!("{sha256}.age"))
    }
}
