//! Records which binary logs this host has archived: `binlogs-SERVER.json` in its state directory.

use std::{
    fs,
    path::{Path, PathBuf},
    rc::Rc,
    time::SystemTime,
};

use archive::{
    Digest,
    binlog::{Gap, Predecessor, Segment},
    names::Number,
};
use files::{WriteOptions, write_atomic};
use innodb::binlog::LogPosition;
use jiff::Timestamp;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{
    spool::{self, Checkpoint},
    waiting::Waiting,
};
use crate::{
    Error,
    state::{lock, make_directory},
};

/// Beginning and end of the name of a state file, with the server's name between them.
const PREFIX: &str = "binlogs-";
const SUFFIX: &str = ".json";

/// State of the archive of one server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ArchiveState {
    /// Number of the newest receipt; 0 before the first.
    pub(super) number: Number,
    /// SHA-256 of that receipt.
    pub(super) previous: Option<Digest>,
    /// Parts that are stored but in no receipt yet.
    pub(super) pending: Vec<Segment>,
    /// Parts after the pending ones that are not stored yet.
    #[serde(skip_serializing_if = "Waiting::is_empty", default)]
    pub(super) spool: Waiting,
    /// End of the last transaction that is stored completely, if the spool has further parts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) stored: Option<Checkpoint>,
    /// For the first receipt: the server whose archive this one continues.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) predecessor: Option<Predecessor>,
    /// Version of the server, when it was last asked.
    #[serde(default)]
    pub(super) version: String,
    /// The gap before the first part that is in no receipt yet.
    pub(super) gap: Option<Gap>,
    /// When logs were last lost.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) lost: Option<Timestamp>,
    /// Position at which the next part begins.
    pub(super) end: LogPosition,
    /// GTIDs up to `end`.
    pub(super) gtid: String,
    /// Time of the log's first event, which distinguishes it from another log of this name.
    pub(super) log_began: u32,
    /// The receipt that may not be stored yet.
    pub(super) draft: Option<PendingReceipt>,
}

impl ArchiveState {
    /// Drops parts after the last whole transaction, so that they are read again.
    pub(super) fn drop_partial_transactions(&mut self) {
        let whole = self.spool.iter().rposition(|part| part.after.is_some()).map_or(0, |last| last.saturating_add(1));
        self.spool.truncate(whole);
        if self.spool.is_empty() {
            self.stored = None;
            self.pending.truncate(self.count_before(&self.end));
        }
    }

    /// Takes the stored parts up to the end of the last transaction that is stored whole. Also returns that end.
    pub(super) fn take_stored(&mut self) -> (Vec<Segment>, Checkpoint) {
        let at = self.stored_end();
        let rest = self.pending.split_off(self.count_before(&at.end));
        (std::mem::replace(&mut self.pending, rest), at)
    }

    /// Drops the parts of the spool from `index` on, which are lost, and continues after the last complete transaction
    /// that is still stored or spooled.
    pub(super) fn forget_spool_from(&mut self, index: usize) {
        let stored = self.stored_end();
        self.spool.truncate(index);
        let last = self.spool.iter().rev().find_map(|part| part.after.clone()).unwrap_or(stored);
        (self.end, self.gtid, self.log_began) = (last.end, last.gtid, 0);
        self.drop_partial_transactions();
    }

    fn stored_end(&self) -> Checkpoint {
        let end = || Checkpoint { end: self.end.clone(), gtid: self.gtid.clone() };
        self.stored.clone().unwrap_or_else(end)
    }

    /// Number of the stored parts before a position.
    fn count_before(&self, end: &LogPosition) -> usize {
        let is_after = |segment: &Segment| segment.file == end.file && segment.start >= end.offset;
        self.pending.iter().position(is_after).unwrap_or(self.pending.len())
    }
}

/// The part of an [`ArchiveState`] that the archive of the next server needs.
#[derive(Debug, Deserialize)]
pub(super) struct ArchiveEnd {
    pub(super) end: LogPosition,
    /// GTIDs up to `end`.
    pub(super) gtid: String,
    /// When logs were last lost.
    #[serde(default)]
    pub(super) lost: Option<Timestamp>,
}

/// A signed receipt whose upload is not confirmed; the next run retries it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PendingReceipt {
    pub(super) number: Number,
    pub(super) receipt: String,
    pub(super) signature: String,
}

/// The file with the state of one server's archive, locked.
#[derive(Debug)]
pub(super) struct StateFile {
    path: PathBuf,
    /// The directory of its spool.
    spool: PathBuf,
    pub(super) archive: ArchiveState,
    _lock: Rc<fs::File>,
}

impl StateFile {
    /// Takes the lock of all states in a directory, which is created if it does not exist.
    pub(super) fn lock(directory: &Path) -> Result<Rc<fs::File>, Error> {
        make_directory(directory)?;
        let path = directory.join("binlogs.lock");
        lock(&path)?.map(Rc::new).ok_or(Error::BinlogsBusy { path })
    }

    /// Opens the state of a server's archive; the state is empty if there is no file. `spools`: the directory with the
    /// spools of all servers.
    pub(super) fn open(directory: &Path, spools: &Path, server: &str, lock: &Rc<fs::File>) -> Result<Self, Error> {
        let archive = Self::read(directory, spools, server)?;
        let spool = spool::directory(spools, server);
        Ok(Self { path: path(directory, server), spool, archive, _lock: Rc::clone(lock) })
    }

    /// Reads the state of a server's archive; it is empty if there is no file.
    pub(super) fn read(directory: &Path, spools: &Path, server: &str) -> Result<ArchiveState, Error> {
        let Some(mut archive) = parse::<ArchiveState>(&path(directory, server))? else {
            return Ok(ArchiveState::default());
        };
        archive.spool.load(&spool::directory(spools, server), &archive.end)?;
        Ok(archive)
    }

    /// Reads only where a server's archive ends; `None` if there is no file.
    pub(super) fn read_end(directory: &Path, server: &str) -> Result<Option<ArchiveEnd>, Error> {
        parse(&path(directory, server))
    }

    /// When the state of a server's archive was written last.
    pub(super) fn written(directory: &Path, server: &str) -> Result<SystemTime, Error> {
        let path = path(directory, server);
        let read = fs::metadata(&path).and_then(|metadata| metadata.modified());
        read.map_err(Error::io(&path, "cannot be read"))
    }

    /// Names of the servers with a state in this directory.
    pub(super) fn servers(directory: &Path) -> Result<Vec<String>, Error> {
        let failed = || Error::io(directory, "cannot be read");
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(failed())?,
        };
        let mut servers = Vec::new();
        for entry in entries {
            let name = entry.map_err(failed())?.file_name();
            let server = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
            servers.extend(server.map(str::to_owned));
        }
        servers.sort_unstable();
        Ok(servers)
    }

    /// Writes the state to disk durably, and removes the lists of waiting parts that it no longer names.
    pub(super) fn save(&mut self) -> Result<(), Error> {
        let bytes = serde_json::to_vec(&self.archive)
            .map_err(|error| Error::io(&self.path, "cannot be written")(std::io::Error::other(error)))?;
        write_atomic(&self.path, &bytes, WriteOptions::SECRET.replacing(true))
            .map_err(Error::io(&self.path, "cannot be written"))?;
        self.archive.spool.remove_replaced(&self.spool);
        Ok(())
    }
}

/// Reads a state, or a part of it; `None` if there is no file.
fn parse<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    match fs::read(path) {
        Ok(bytes) => {
            let parsed = serde_json::from_slice(&bytes).map_err(std::io::Error::other);
            parsed.map(Some).map_err(Error::io(path, "cannot be used"))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Error::io(path, "cannot be read")(error)),
    }
}

fn path(directory: &Path, server: &str) -> PathBuf {
    directory.join(format!("{PREFIX}{server}{SUFFIX}"))
}

#[cfg(test)]
mod tests {
    use archive::receipt::Object;

    use super::{super::spool::SpooledPart, *};

    fn segment(file: &str, start: u64, end: u64) -> Segment {
        let object = Object { sha256: Digest::compute(b"part"), bytes: 9 };
        Segment { file: file.to_owned(), start, end, object, event_bytes: 1, events: 1, first: 1, last: 1 }
    }

    #[test]
    fn parts_of_a_transaction_that_has_not_ended_are_dropped() {
        let kept = |parts: &[Segment], file: &str, offset| {
            let end = LogPosition { file: file.to_owned(), offset };
            let mut state = ArchiveState { pending: parts.to_vec(), end, ..ArchiveState::default() };
            state.drop_partial_transactions();
            state.pending.len()
        };
        let parts = [segment("b.000001", 4, 500), segment("b.000001", 500, 900), segment("b.000001", 900, 1300)];
        assert_eq!(kept(&parts, "b.000001", 500), 1);
        assert_eq!(kept(&parts, "b.000001", 1300), 3);
        // The next log is to be read from its beginning.
        assert_eq!(kept(&parts, "b.000002", 4), 3);
        let next = [parts[0].clone(), segment("b.000002", 4, 700)];
        assert_eq!(kept(&next, "b.000002", 4), 1);
    }

    #[test]
    fn a_receipt_has_what_is_stored_of_whole_transactions() {
        let at = |offset| Checkpoint {
            end: LogPosition { file: "b.000001".to_owned(), offset },
            gtid: format!("up to {offset}"),
        };
        let spooled = |start: u64, end: u64, is_whole: bool| SpooledPart {
            segment: segment("b.000001", start, end),
            since: Timestamp::UNIX_EPOCH,
            after: is_whole.then(|| at(end)),
        };
        // A transaction goes from 500 to 1300; the last one has not ended.
        let state = ArchiveState {
            pending: vec![segment("b.000001", 4, 500), segment("b.000001", 500, 900)],
            spool: vec![spooled(900, 1300, true), spooled(1300, 1500, true), spooled(1500, 1600, false)].into(),
            stored: Some(at(500)),
            end: at(1500).end,
            gtid: at(1500).gtid,
            ..ArchiveState::default()
        };
        let mut now = state.clone();
        let (stored, end) = now.take_stored();
        assert_eq!((stored.len(), end, now.pending.len()), (1, at(500), 1));
        let mut now = state.clone();
        now.drop_partial_transactions();
        assert_eq!((now.pending.len(), now.spool.len(), now.end), (2, 2, at(1500).end));
        for (lost, pending, spool, end) in [(1, 2, 1, 1300), (0, 1, 0, 500)] {
            let mut now = state.clone();
            now.forget_spool_from(lost);
            assert_eq!((now.pending.len(), now.spool.len()), (pending, spool), "{lost}");
            assert_eq!((now.end, now.gtid), (at(end).end, at(end).gtid));
        }
    }
}
