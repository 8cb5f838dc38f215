//! A file with cached objects.
//!
//! It begins with [`HEAD`]. A record follows for each object: the length of its content (u32, little-endian), its
//! identity and the SHA-256 of the content (32 bytes each), and the content. Records are appended. A record that is
//! incomplete or does not match its hash counts as absent. So does everything after an unreadable record head.

use std::{
    collections::HashMap,
    fs::{self, File, OpenOptions},
    io::{self, BufReader, Read, Seek},
    ops::Range,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use archive::Digest;
use files::{PendingFile, WriteOptions};

use super::MAX_OBJECT_BYTES;
use crate::{note_file::make_private, state::lock};

const HEAD: &[u8; 16] = b"receipt-cache/1\n";
/// Length of a record without its content.
const RECORD_HEAD_BYTES: usize = 68;
/// Minimum length of absent objects for which the file is written anew.
const MIN_DEAD_BYTES: u64 = 64 << 10;

impl Place {
    fn content(&self) -> u64 {
        self.offset.saturating_add(RECORD_HEAD_BYTES as u64)
    }

    fn end(&self) -> u64 {
        self.content().saturating_add(u64::from(self.bytes))
    }
}

/// The readable part of the file. Only the holder of the lock may write it.
pub(super) struct CacheFile {
    path: PathBuf,
    file: Option<File>,
    records: HashMap<Digest, Place>,
    /// Length of the sound records.
    end: u64,
    /// Length up to which it may grow.
    max_bytes: u64,
    lock: Option<File>,
    /// Whether unlisted objects may be dropped: the listings of this run cover all objects that the file may have.
    pub(super) may_drop: bool,
}

/// Where the record of an object is.
#[derive(Clone, Copy)]
struct Place {
    offset: u64,
    /// Length of the content.
    bytes: u32,
    sha256: Digest,
    /// Whether a listing of this run has the object.
    is_listed: bool,
}

impl CacheFile {
    /// Opens the file `name`, or creates it. `max_bytes` limits the total length of all files of the directory. An
    /// unusable file counts as empty.
    pub(super) fn open(directory: &Path, name: &str, max_bytes: u64) -> Self {
        let path = directory.join(name);
        // Without the directory, opening the file fails.
        let _ = make_private(directory);
        let lock = lock(&directory.join(format!("{name}.lock"))).ok().flatten();
        let others = length_of_others(directory, &path);
        let max_bytes = max_bytes.saturating_sub(others);
        let mut cache = Self { path, file: None, records: HashMap::new(), end: 0, max_bytes, lock, may_drop: false };
        // An unusable cache only costs time.
        let _ = cache.load();
        cache
    }

    fn load(&mut self) -> io::Result<()> {
        let mut options = OpenOptions::new();
        options.read(true).write(self.lock.is_some()).create(self.lock.is_some()).truncate(false).mode(0o600);
        let file = options.open(&self.path)?;
        let length = file.metadata()?.len();
        let mut reader = BufReader::new(&file);
        let mut head = [0; HEAD.len()];
        if reader.read_exact(&mut head).is_ok() && head == *HEAD {
            self.end = HEAD.len() as u64;
            while let Some((identity, place)) = record(&mut reader, self.end, length)? {
                self.end = place.end();
                self.records.insert(identity, place);
            }
        }
        if self.lock.is_some() && self.end == 0 {
            file.set_len(0)?;
            file.write_all_at(HEAD, 0)?;
            self.end = HEAD.len() as u64;
        } else if self.lock.is_some() && self.end < length {
            file.set_len(self.end)?;
        }
        self.file = Some(file);
        Ok(())
    }

    /// Records that the object still exists.
    pub(super) fn mark(&mut self, identity: &Digest) {
        if let Some(place) = self.records.get_mut(identity) {
            place.is_listed = true;
        }
    }

    /// The content of an object; `None` if it is not here, or damaged.
    pub(super) fn read(&mut self, identity: &Digest) -> Option<Vec<u8>> {
        let place = *self.records.get(identity)?;
        let mut bytes = vec![0; usize::try_from(place.bytes).ok()?];
        let read = self.file.as_ref()?.read_exact_at(&mut bytes, place.content());
        if read.is_ok() && Digest::compute(&bytes) == place.sha256 {
            return Some(bytes);
        }
        self.records.remove(identity);
        None
    }

    /// Adds an object, if there is space.
    pub(super) fn add(&mut self, identity: &Digest, content: &[u8]) -> Option<()> {
        self.lock.as_ref()?;
        let (bytes, sha256) = (u32::try_from(content.len()).ok()?, Digest::compute(content));
        let place = Place { offset: self.end, bytes, sha256, is_listed: true };
        if place.end() > self.max_bytes {
            return None;
        }
        let record = [&bytes.to_le_bytes(), identity.as_bytes().as_slice(), sha256.as_bytes(), content].concat();
        self.file.as_ref()?.write_all_at(&record, self.end).ok()?;
        self.records.insert(*identity, place);
        self.end = place.end();
        Some(())
    }

    /// Rewrites the file without unlisted objects, if they take more than half of it.
    fn compact(&self) -> io::Result<()> {
        let (Some(file), Some(_), true) = (&self.file, &self.lock, self.may_drop) else { return Ok(()) };
        let listed = self.records.values().filter(|place| place.is_listed);
        let mut records: Vec<Range<u64>> = listed.map(|place| place.offset..place.end()).collect();
        records.sort_by_key(|record| record.start);
        let live =
            records.iter().fold(0_u64, |sum, record| sum.saturating_add(record.end.saturating_sub(record.start)));
        let dead = self.end.saturating_sub(live);
        if dead < MIN_DEAD_BYTES || dead < live {
            return Ok(());
        }
        let mut kept = HEAD.chain(Ranges { file, current: 0..0, next: records.into_iter() });
        let (pending, _) = PendingFile::copy(&self.path, &mut kept, WriteOptions::SECRET.replacing(true))?;
        pending.commit()
    }
}

impl Drop for CacheFile {
    fn drop(&mut self) {
        // On failure, the file is only larger than necessary.
        let _ = self.compact();
    }
}

/// Reads the head of the record that begins at `offset`, and skips the rest; `None` if it is not whole.
fn record(reader: &mut (impl Read + Seek), offset: u64, length: u64) -> io::Result<Option<(Digest, Place)>> {
    if offset.saturating_add(RECORD_HEAD_BYTES as u64) > length {
        return Ok(None);
    }
    let (mut bytes, mut identity, mut sha256) = ([0; 4], [0; 32], [0; 32]);
    for field in [bytes.as_mut_slice(), &mut identity, &mut sha256] {
        reader.read_exact(field)?;
    }
    let place = Place { offset, bytes: u32::from_le_bytes(bytes), sha256: sha256.into(), is_listed: false };
    if u64::from(place.bytes) > MAX_OBJECT_BYTES || place.end() > length {
        return Ok(None);
    }
    reader.seek_relative(i64::from(place.bytes))?;
    Ok(Some((identity.into(), place)))
}

/// Reads ranges of a file, one after the other.
struct Ranges<'f, I> {
    file: &'f File,
    current: Range<u64>,
    next: I,
}

impl<I: Iterator<Item = Range<u64>>> Read for Ranges<'_, I> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.current.is_empty() {
            let Some(next) = self.next.next() else { return Ok(0) };
            self.current = next;
        }
        let left = usize::try_from(self.current.end.saturating_sub(self.current.start)).unwrap_or(usize::MAX);
        let most = room.len().min(left);
        let read = self.file.read_at(room.get_mut(..most).unwrap_or_default(), self.current.start)?;
        if read == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.current.start = self.current.start.saturating_add(read as u64);
        Ok(read)
    }
}

/// Length of all files of a directory except one.
fn length_of_others(directory: &Path, path: &Path) -> u64 {
    let others = fs::read_dir(directory).into_iter().flatten().flatten().filter(|item| item.path() != path);
    let files = others.filter_map(|item| item.metadata().ok()).filter(fs::Metadata::is_file);
    files.fold(0, |sum, other| sum.saturating_add(other.len()))
}
