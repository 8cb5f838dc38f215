//! Until when objects are locked, as the store has said. A listing does not say it, and to ask for each of millions of
//! objects takes hours. So a keeper notes it, and asks only for locks that it does not know, or that may end soon.
//!
//! The state directory has a file for each host: [`HEAD`], the SHA-256 of the rest, and a record for each object: its
//! id, and the second in which its lock ends (u32, little-endian). A damaged or missing file counts as empty.

use std::{collections::HashMap, io, path::Path};

use archive::{Digest, names};
use jiff::Timestamp;
use store::Listed;

use crate::note_file::NoteFile;

/// Name of the subdirectory of the state directory.
const DIRECTORY: &str = "lock-ends";
const HEAD: &[u8; 12] = b"lock-ends/1\n";
const DIGEST_BYTES: usize = 32;
const ID_BYTES: usize = 12;
/// Maximum length of a file: that of 67 million objects.
const MAX_BYTES: u64 = 1 << 30;

/// Tells an object of a listing from every other one, and from one that replaces it: a part of the SHA-256 of its
/// listing's entry and of the location of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ObjectId([u8; ID_BYTES]);

impl ObjectId {
    pub(super) fn new(location: &str, listed: &Listed) -> Self {
        let Listed { name, bytes, modified, etag } = listed;
        let etag = etag.as_deref().unwrap_or_default();
        let digest = Digest::compute(format!("{location} {name} {bytes} {modified} {etag}").as_bytes());
        Self(digest.as_bytes().first_chunk().copied().unwrap_or_default())
    }
}

/// An object whose lock to extend, unless the store says that it lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unlocked {
    /// Its name.
    pub(super) object: String,
    /// `None` if the end of its lock is not noted.
    pub(super) id: Option<ObjectId>,
}

/// The known ends of locks of a host's objects, in seconds.
#[derive(Debug, Default)]
pub(super) struct LockEnds {
    file: NoteFile,
    ends: HashMap<ObjectId, u32>,
}

impl LockEnds {
    /// Reads what was noted for a host of the repository `id`.
    pub(super) fn read(state: &Path, id: &str, host: &str) -> Self {
        if !names::is_host(host) {
            return Self::default();
        }
        let file = NoteFile::new(state.join(DIRECTORY).join(id).join(host));
        let ends = parse(&file.read(MAX_BYTES)).unwrap_or_default();
        Self { file, ends }
    }

    /// Whether the lock of an object is known to last beyond this time.
    pub(super) fn last_beyond(&self, id: ObjectId, time: Timestamp) -> bool {
        self.ends.get(&id).is_some_and(|end| i64::from(*end) > time.as_second())
    }

    /// Notes when the lock of an object ends.
    pub(super) fn note(&mut self, id: ObjectId, until: Timestamp) {
        // A later end counts as the last one that a record can have.
        self.ends.insert(id, u32::try_from(until.as_second().max(0)).unwrap_or(u32::MAX));
    }

    /// Writes the locks that have not ended.
    pub(super) fn write(&self, now: Timestamp) -> io::Result<()> {
        let mut records: Vec<u8> = Vec::new();
        for (ObjectId(id), end) in self.ends.iter().filter(|(_, end)| i64::from(**end) > now.as_second()) {
            records.extend(id);
            records.extend(end.to_le_bytes());
        }
        self.file.replace(&[HEAD.as_slice(), Digest::compute(&records).as_bytes(), &records].concat())
    }
}

/// Parses a file; `None` if it is damaged.
fn parse(bytes: &[u8]) -> Option<HashMap<ObjectId, u32>> {
    const RECORD_BYTES: usize = ID_BYTES + size_of::<u32>();
    let (sha256, records) = bytes.strip_prefix(HEAD)?.split_at_checked(DIGEST_BYTES)?;
    if sha256 != Digest::compute(records).as_bytes() {
        return None;
    }
    let record = |record: &[u8]| {
        let (id, end) = record.split_first_chunk()?;
        Some((ObjectId(*id), u32::from_le_bytes(end.try_into().ok()?)))
    };
    records.chunks_exact(RECORD_BYTES).map(record).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn id(name: &str, put: i64, etag: &str) -> ObjectId {
        let listed = Listed { name: name.parse().unwrap(), bytes: 1, modified: at(put), etag: Some(etag.into()) };
        ObjectId::new("memory", &listed)
    }

    #[test]
    fn what_the_store_said_is_known_in_the_next_run() {
        let state = tempfile::tempdir().unwrap();
        let read = |host: &str| LockEnds::read(state.path(), "repository", host);
        let (one, other) = (id("a", 1, "x"), id("b", 1, "x"));
        let mut ends = read("db1");
        ends.note(one, at(1000));
        ends.note(other, at(100));
        ends.write(at(200)).unwrap();
        let known = read("db1");
        assert!(known.last_beyond(one, at(999)) && !known.last_beyond(one, at(1000)));
        assert!(!known.last_beyond(other, at(50)), "its lock has ended, and it is no longer noted");
        for replaced in [id("a", 2, "x"), id("a", 1, "y"), id("c", 1, "x")] {
            assert!(!known.last_beyond(replaced, at(0)));
        }
        assert!(!read("db2").last_beyond(one, at(0)));
        assert!(!LockEnds::read(state.path(), "another-one", "db1").last_beyond(one, at(0)));
        assert_eq!(read("../db1").file.path(), Path::new(""));
    }

    #[test]
    fn the_end_of_a_lock_is_never_put_off() {
        let mut ends = LockEnds::default();
        ends.note(id("a", 1, "x"), Timestamp::MAX);
        ends.note(id("b", 1, "x"), Timestamp::MIN);
        assert!(ends.last_beyond(id("a", 1, "x"), at(4_000_000_000)));
        assert!(!ends.last_beyond(id("a", 1, "x"), at(4_294_967_295)));
        assert!(!ends.last_beyond(id("b", 1, "x"), at(0)));
    }

    #[test]
    fn a_damaged_file_counts_as_empty() {
        let state = tempfile::tempdir().unwrap();
        let mut ends = LockEnds::read(state.path(), "repository", "db1");
        let one = id("a", 1, "x");
        ends.note(one, at(1000));
        ends.write(at(0)).unwrap();
        let path = ends.file.path();
        let whole = std::fs::read(path).unwrap();
        let is_known = |bytes: &[u8]| {
            std::fs::write(path, bytes).unwrap();
            LockEnds::read(state.path(), "repository", "db1").last_beyond(one, at(0))
        };
        assert!(is_known(&whole));
        for index in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[index] ^= 1;
            assert!(!is_known(&damaged) && !is_known(&whole[..index]), "byte {index}");
        }
        std::fs::remove_file(path).unwrap();
        std::fs::create_dir(path).unwrap();
        assert!(!LockEnds::read(state.path(), "repository", "db1").last_beyond(one, at(0)));
    }
}
