//! Collects the files of a stream as they arrive, and lists those known so far.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    time::SystemTime,
};

use files::{MANIFEST, STAGING};

use super::{FileAttributes, FileStream, Piece};
use crate::{
    error::Error,
    hash::CHUNK_BYTES,
    path::RelativePath,
    plan::{Chunks, Plan, PlannedEntry},
    wire::{Entry, Kind, Root},
};

/// Maximum number of incomplete files: a backup has one for each of its threads, and its logs.
const MAX_OPEN: usize = 64;
/// Maximum number of files of a stream; as many as a receiver accepts.
const MAX_FILES: usize = 4 << 20;
/// Maximum length of a file: an InnoDB tablespace has 256 TiB at most.
const MAX_FILE_BYTES: u64 = 1 << 48;

/// Bytes of one file that arrived.
#[derive(Debug)]
pub(super) struct Collected {
    path: RelativePath,
    /// Length of the file in the list: of whole chunks, or of the whole file.
    bytes: u64,
    over: bool,
    chunks: Chunks,
}

/// Incomplete files, and the names of complete ones.
#[derive(Debug, Default)]
pub(super) struct Open {
    files: HashMap<RelativePath, OpenFile>,
    over: HashSet<RelativePath>,
}

/// An incomplete file.
#[derive(Debug, Default)]
struct OpenFile {
    bytes: u64,
    /// Chunks that are not sent yet.
    chunks: Chunks,
}

impl OpenFile {
    /// Appends bytes.
    fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let chunk = self.chunks.entry(self.bytes / CHUNK_BYTES as u64).or_default();
            let (now, rest) = bytes.split_at(bytes.len().min(CHUNK_BYTES - chunk.len()));
            chunk.extend_from_slice(now);
            self.bytes += now.len() as u64;
            bytes = rest;
        }
    }

    /// Takes the chunks that can be sent, with the file's length for the list. The hash of a chunk differs if it is the
    /// only one of its file (a BLAKE3 root). So the first chunk is held back until a second full one exists or the file
    /// ends.
    fn take(&mut self, over: bool) -> Option<(u64, Chunks)> {
        const CHUNK: u64 = CHUNK_BYTES as u64;
        if over {
            return Some((self.bytes, std::mem::take(&mut self.chunks)));
        }
        let complete_plan = self.bytes / CHUNK;
        if complete_plan < 2 {
            return None;
        }
        let rest = self.chunks.split_off(&complete_plan);
        Some((complete_plan * CHUNK, std::mem::replace(&mut self.chunks, rest)))
    }
}

impl Open {
    /// Reads until this many bytes have arrived, or the stream is over; the next call returns
    /// `None` then.
    pub(super) fn collect(
        &mut self,
        stream: &mut dyn FileStream,
        most_bytes: usize,
    ) -> Result<Option<Vec<Collected>>, Error> {
        let (mut came, mut collected, mut ended) = (0, Vec::new(), false);
        while came < most_bytes {
            match stream.next()? {
                Some(Piece::Bytes { path, offset, bytes }) => {
                    came += bytes.len();
                    let file = self.file(path, Some(offset), bytes.len() as u64)?;
                    file.add(&bytes);
                }
                Some(Piece::End { path }) => {
                    self.file(path.clone(), None, 0)?;
                    collected.extend(self.files.remove(&path).and_then(|mut file| part(&path, &mut file, true)));
                    self.over.insert(path);
                }
                None => {
                    ended = true;
                    break;
                }
            }
        }
        if let Some(path) = self.files.keys().next().filter(|_| ended) {
            return Err(invalid_file(path, "the stream ended in the middle of it"));
        }
        let pending = self.files.iter_mut().filter_map(|(path, file)| part(path, file, false));
        collected.extend(pending.filter(|part| !part.chunks.is_empty()));
        Ok(if ended && collected.is_empty() { None } else { Some(collected) })
    }

    /// The file that a piece belongs to; this may be its first piece.
    fn file(&mut self, path: RelativePath, offset: Option<u64>, more: u64) -> Result<&mut OpenFile, Error> {
        let first = path.first().as_encoded_bytes();
        if first == STAGING.as_bytes() || first.starts_with(MANIFEST.as_bytes()) {
            return Err(invalid_file(&path, "a name that only this program uses"));
        }
        if self.over.contains(&path) {
            return Err(invalid_file(&path, "it comes again after its end"));
        }
        if !self.files.contains_key(&path) && (self.files.len() >= MAX_OPEN || self.over.len() >= MAX_FILES) {
            return Err(invalid_file(&path, "too many files at the same time"));
        }
        let at = self.files.get(&path).map_or(0, |file| file.bytes);
        if offset.is_some_and(|offset| offset != at) {
            return Err(invalid_file(&path, "its bytes do not come one after the other"));
        }
        if at.saturating_add(more) > MAX_FILE_BYTES {
            return Err(invalid_file(&path, "it is too long"));
        }
        Ok(self.files.entry(path).or_default())
    }
}

fn part(path: &RelativePath, file: &mut OpenFile, over: bool) -> Option<Collected> {
    let (bytes, chunks) = file.take(over)?;
    Some(Collected { path: path.clone(), bytes, over, chunks })
}

fn invalid_file(path: &RelativePath, reason: &'static str) -> Error {
    Error::Stream { reason: format!("{path}: {reason}"), ends_early: false }
}

/// All files of a stream so far.
pub(super) struct Inventory {
    attributes: FileAttributes,
    began: SystemTime,
    files: BTreeMap<RelativePath, File>,
    directories: BTreeSet<RelativePath>,
}

/// A file in the list.
struct File {
    /// Identifies the file like an inode number.
    number: u64,
    bytes: u64,
    over: bool,
}

impl Inventory {
    pub(super) fn new(attributes: FileAttributes) -> Self {
        let (files, directories) = (BTreeMap::new(), BTreeSet::new());
        Self { attributes, began: SystemTime::now(), files, directories }
    }

    /// The list of all files known so far, with the chunks of `window`.
    pub(super) fn plan(&mut self, window: Vec<Collected>) -> Result<Plan, Error> {
        let mut chunks: HashMap<RelativePath, Chunks> = HashMap::new();
        for part in window {
            let mut above = part.path.parent();
            while let Some(directory) = above {
                above = directory.parent();
                self.directories.insert(directory);
            }
            let number = self.files.len() as u64;
            let file = self.files.entry(part.path.clone()).or_insert(File { number, bytes: 0, over: false });
            (file.bytes, file.over) = (part.bytes, part.over);
            chunks.entry(part.path).or_default().extend(part.chunks);
        }
        if let Some(both) = self.directories.iter().find(|path| self.files.contains_key(path)) {
            return Err(invalid_file(both, "it is a file and a directory"));
        }
        let files = self.files.iter().map(|(path, file)| {
            let entry = self.entry(path, Kind::File { bytes: file.bytes }, self.attributes.file_mode);
            PlannedEntry::streamed(entry, file.number, chunks.remove(path).unwrap_or_default())
        });
        let directories = self.directories.iter().map(|path| {
            let entry = self.entry(path, Kind::Directory, self.attributes.directory_mode);
            PlannedEntry::streamed(entry, 0, Chunks::new())
        });
        let FileAttributes { uid, gid, directory_mode, .. } = self.attributes;
        let root = Root { mode: directory_mode, uid, gid };
        Ok(Plan::streamed(files.chain(directories).collect(), root, self.began))
    }

    /// The list of all files, each of which must be complete.
    pub(super) fn complete_plan(&mut self) -> Result<Plan, Error> {
        if let Some((path, _)) = self.files.iter().find(|(_, file)| !file.over) {
            return Err(invalid_file(path, "the stream ended in the middle of it"));
        }
        if self.files.is_empty() {
            return Err(Error::Stream { reason: "nothing came".to_owned(), ends_early: true });
        }
        self.plan(Vec::new())
    }

    fn entry(&self, path: &RelativePath, kind: Kind, mode: u32) -> Entry {
        let FileAttributes { uid, gid, modified, .. } = self.attributes;
        Entry { path: path.clone(), kind, mode, uid, gid, modified: (modified, 0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream of these chunks.
    struct Pieces(std::vec::IntoIter<Piece>);

    impl FileStream for Pieces {
        fn next(&mut self) -> Result<Option<Piece>, Error> {
            Ok(self.0.next())
        }
    }

    fn path(text: &str) -> RelativePath {
        RelativePath::parse(text.as_bytes()).unwrap()
    }

    fn bytes(of: &str, offset: u64, count: usize) -> Piece {
        Piece::Bytes { path: path(of), offset, bytes: vec![7; count] }
    }

    fn end(of: &str) -> Piece {
        Piece::End { path: path(of) }
    }

    fn windows(pieces: Vec<Piece>, most: usize) -> Result<Vec<Vec<Collected>>, Error> {
        let (mut stream, mut open) = (Pieces(pieces.into_iter()), Open::default());
        std::iter::from_fn(|| open.collect(&mut stream, most).transpose()).collect()
    }

    const MIB: u64 = CHUNK_BYTES as u64;

    #[test]
    fn files_are_listed_by_whole_chunks_until_they_end() {
        let pieces = vec![
            bytes("db/t.ibd", 0, CHUNK_BYTES + 10),
            bytes("small", 0, 5),
            bytes("db/t.ibd", MIB + 10, CHUNK_BYTES),
            end("small"),
            bytes("db/t.ibd", 2 * MIB + 10, 1),
            end("db/t.ibd"),
        ];
        let windows = windows(pieces, CHUNK_BYTES).unwrap();
        let seen = |part: &Collected| {
            (part.path.to_string(), part.bytes, part.over, part.chunks.keys().copied().collect::<Vec<_>>())
        };
        let seen: Vec<Vec<_>> = windows.iter().map(|window| window.iter().map(seen).collect()).collect();
        let expected = [
            vec![],
            vec![("db/t.ibd".to_owned(), 2 * MIB, false, vec![0, 1])],
            vec![("small".to_owned(), 5, true, vec![0]), ("db/t.ibd".to_owned(), 2 * MIB + 11, true, vec![2])],
        ];
        assert_eq!(seen, expected);
        let attributes = FileAttributes { file_mode: 0o660, directory_mode: 0o700, uid: 1, gid: 2, modified: 3 };
        let mut inventory = Inventory::new(attributes);
        let mut last = None;
        for window in windows {
            assert!(matches!(inventory.complete_plan(), Err(Error::Stream { .. })));
            last = Some(inventory.plan(window).unwrap());
        }
        let paths = |plan: &Plan| plan.entries.iter().map(|planned| planned.entry.path.to_string()).collect::<Vec<_>>();
        assert_eq!(paths(&last.unwrap()), ["db", "db/t.ibd", "small"]);
        assert_eq!(inventory.complete_plan().unwrap().bytes, 2 * MIB + 16);
    }

    #[test]
    fn impossible_streams_are_refused() {
        let refused = |pieces: Vec<Piece>| match windows(pieces, CHUNK_BYTES).map(drop) {
            Err(Error::Stream { reason, .. }) => reason,
            other => panic!("{other:?}"),
        };
        assert!(refused(vec![bytes("a", 5, 1)]).contains("one after the other"));
        assert!(refused(vec![bytes("a", 0, 1), bytes("a", 0, 1)]).contains("one after the other"));
        assert!(refused(vec![end("a"), bytes("a", 0, 1)]).contains("after its end"));
        assert!(refused(vec![bytes("a", 0, 1)]).contains("in the middle"));
        assert!(refused(vec![end("sealant-manifest")]).contains("only this program"));
        assert!(refused((0..=MAX_OPEN).map(|n| bytes(&n.to_string(), 0, 1)).collect()).contains("same time"));
        let window = windows(vec![end("a"), end("a/b")], 1).unwrap().pop().unwrap();
        let attributes = FileAttributes { file_mode: 0, directory_mode: 0, uid: 0, gid: 0, modified: 0 };
        assert!(Inventory::new(attributes).plan(window).is_err());
    }
}
