//! Finds the files of a backup in its packs alone. Packs describe themselves, so files survive the loss of the
//! manifest.
//!
//! What packs do not contain is lost: owners, permissions and times, empty files and directories, and links. Files that
//! were dropped since an earlier backup reappear if its packs are still in use.

use std::{
    collections::{BTreeMap, BTreeSet},
    os::unix::fs::FileExt,
    sync::{Mutex, PoisonError},
};

use archive::{
    Description, Error as ArchiveError, Frame, List, Manifest, PackReader, Run,
    manifest::{FileHead, Head, Root, SCHEMA, StoredFile},
    names,
    receipt::{Object, Receipt},
};
use codec::{
    entry::{Entry, Kind},
    hash::{CHUNK_BYTES, Hash, chunk_bytes, chunk_hash, chunks_of, file_hash},
    page::HEAD_BYTES,
    path::RelativePath,
};
use innodb::{
    crypt::wrapped::Wrapped,
    keys::KeySource,
    redo::{RedoFormat, recognise},
    tablespace::Page0,
    verify::redo::key_info,
};
use transfer::receiver::Staging;

use super::{RestoreOptions, in_threads};
use crate::{
    Error, Repository,
    heads::{RedoKeys, is_redo},
    repository::read_pack,
};

/// Permissions of salvaged files and directories; the server's group may need access.
const FILE_MODE: u32 = 0o640;
const DIRECTORY_MODE: u32 = 0o750;

/// Files found in packs.
#[derive(Debug)]
pub(super) struct Salvaged {
    pub(super) manifest: Manifest,
    /// Packs that are missing or damaged, and files that are unusable without them, with the reason.
    pub(super) lost: Vec<String>,
}

/// A file, assembled from all packs read so far.
#[derive(Default)]
struct Found {
    runs: BTreeMap<u64, Run>,
    head: Option<FileHead>,
    is_decrypted: bool,
}

/// Reads the descriptions of all packs that the receipt names, in the order in which they were made: later packs have
/// newer contents.
pub(super) fn find(
    repository: &Repository,
    receipt: &Receipt,
    options: &RestoreOptions<'_>,
) -> Result<Salvaged, Error> {
    let (mut files, mut lost) = (BTreeMap::new(), Vec::new());
    for (number, pack) in (0_u32..).zip(&receipt.packs) {
        let object = Object { sha256: pack.sha256, bytes: pack.bytes };
        let name = names::pack(&receipt.host, &pack.sha256);
        match read(repository, &name, object, number, options, &mut files) {
            Ok(()) => {}
            // If the identity does not fit one pack, it fits none.
            Err(error @ Error::Object { source: ArchiveError::Age(_), .. }) => return Err(error),
            Err(error @ (Error::Object { .. } | Error::Store(_))) => lost.push(error.to_string()),
            Err(error) => return Err(error),
        }
    }
    // The pages cannot be encrypted again without a key.
    files.retain(|path, found| {
        let is_whole = found.head.is_some() || !found.is_decrypted;
        if !is_whole {
            lost.push(format!("{path}: its first page, which names its key, is in none of the packs"));
        }
        is_whole
    });
    drop_logs_without_key(&mut files, options.keys, &mut lost);
    Ok(Salvaged { manifest: manifest(receipt, files), lost })
}

/// Drops the files of MySQL's redo log that cannot be encrypted again, because the file that names the key of the log
/// is lost: most files of a log do not name it.
fn drop_logs_without_key(files: &mut BTreeMap<RelativePath, Found>, keys: &dyn KeySource, lost: &mut Vec<String>) {
    let is_decrypted = files.iter().any(|(path, found)| is_redo(path) && found.is_decrypted);
    for (_, found) in files.iter_mut().filter(|(path, _)| is_decrypted && is_redo(path)) {
        // The others need its head, even if it has no encrypted block.
        found.is_decrypted |= found.head.as_ref().is_some_and(|head| key_info(&head.bytes()).is_some());
    }
    let decrypted = files.iter().filter(|(_, found)| found.is_decrypted);
    let decrypted = decrypted.filter(|(path, _)| is_redo(path));
    let logs = RedoKeys::new(decrypted.filter_map(|(path, found)| Some((path, found.head.as_ref()?.bytes()))));
    files.retain(|path, found| {
        let Some(head) = found.head.as_ref().filter(|_| found.is_decrypted && is_redo(path)) else { return true };
        let head = &head.bytes();
        let is_mysql = matches!(recognise(head), Some(RedoFormat::MySql) | None);
        // The master key of a file that names its key is one that the user can give.
        let is_lost = is_mysql && Wrapped::find(head).is_none() && logs.space(path, head, keys).is_none();
        if is_lost {
            lost.push(format!("{path}: no file of this redo log that was found names the key of its blocks"));
        }
        !is_lost
    });
}

fn read(
    repository: &Repository,
    name: &str,
    object: Object,
    number: u32,
    options: &RestoreOptions<'_>,
    files: &mut BTreeMap<RelativePath, Found>,
) -> Result<(), Error> {
    let wrong = |source: ArchiveError| Error::Object { object: name.to_owned(), source };
    let mut pack = Vec::new();
    read_pack(repository, name, object, &mut pack)?;
    let mut reader = PackReader::decrypt(pack.as_slice(), options.identities).map_err(wrong)?;
    while let Some(Frame { at, description, data }) = reader.next_frame().map_err(wrong)? {
        files.entry(description.path.clone()).or_default().add(number, at, &description, data);
    }
    Ok(())
}

impl Found {
    fn add(&mut self, pack: u32, frame_at: u64, description: &Description, data: &[u8]) {
        let mut offset = 0_u32;
        for extent in &description.extents {
            let run = Run { at: extent.at, bytes: extent.bytes, pack, offset, frame_at, frame_bytes: 0 };
            offset = offset.saturating_add(u32::try_from(extent.bytes).unwrap_or(u32::MAX));
            self.replace(run);
        }
        self.is_decrypted |= description.decrypted.is_some();
        // The first page of a tablespace and the header of a log are never encrypted.
        if let Some(first) = description.extents.first().filter(|first| first.at == 0) {
            let bytes = usize::try_from(first.bytes).unwrap_or(usize::MAX).min(HEAD_BYTES);
            self.head = data.get(..bytes).map(FileHead::new);
        }
    }

    /// Adds a part; it replaces what older packs have at this range.
    fn replace(&mut self, run: Run) {
        let before = self.runs.range(..run.end()).rev().take_while(|(_, old)| old.end() > run.at);
        let overlapping: Vec<Run> = before.map(|(_, old)| *old).collect();
        for old in overlapping {
            self.runs.remove(&old.at);
            let kept = [old.within(old.at, run.at), old.within(run.end(), old.end())];
            self.runs.extend(kept.into_iter().flatten().map(|part| (part.at, part)));
        }
        self.runs.insert(run.at, run);
    }
}

fn manifest(receipt: &Receipt, found: BTreeMap<RelativePath, Found>) -> Manifest {
    let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let modified = (receipt.ended.as_second(), 0);
    let directories: BTreeSet<RelativePath> = found.keys().flat_map(parents).collect();
    let directory = |path: RelativePath| StoredFile {
        entry: Entry { path, kind: Kind::Directory, mode: DIRECTORY_MODE, uid, gid, modified },
        hash: None,
        head: None,
        chunks: List::default(),
        runs: List::default(),
    };
    let file = |(path, found): (RelativePath, Found)| {
        let end = found.runs.values().map(Run::end).max().unwrap_or(0);
        let bytes = end.max(found.head.as_ref().map_or(0, |head| declared_bytes(&head.bytes())));
        StoredFile {
            entry: Entry { path, kind: Kind::File { bytes }, mode: FILE_MODE, uid, gid, modified },
            // Computed when the file is written.
            hash: Some(Hash([0; 32])),
            head: found.head.filter(|_| found.is_decrypted),
            chunks: List::default(),
            runs: found.runs.into_values().collect::<Vec<_>>().into(),
        }
    };
    let mut files: Vec<StoredFile> =
        directories.into_iter().map(directory).chain(found.into_iter().map(file)).collect();
    files.sort_by(|one, other| one.entry.path.cmp(&other.entry.path));
    let head = Head {
        schema: SCHEMA.to_owned(),
        repo: receipt.repo.clone(),
        host: receipt.host.clone(),
        number: receipt.number,
        instant: receipt.began,
        provider: receipt.provider.clone(),
        server_uuid: receipt.server_uuid.clone(),
        checkpoint_lsn: None,
        position: None,
        parent: receipt.previous,
        root: Root { mode: DIRECTORY_MODE, uid, gid },
        entries: files.len() as u64,
        left_out: Vec::new(),
    };
    let packs = receipt.packs.iter().map(|pack| Object { sha256: pack.sha256, bytes: pack.bytes }).collect();
    Manifest { head, files, packs, keys: Vec::new() }
}

/// Length of a tablespace, from its page 0: packs do not contain the zeros at its end.
fn declared_bytes(head: &[u8]) -> u64 {
    let page0 = Page0::parse(head).ok();
    page0.map_or(0, |page0| u64::from(page0.size_in_pages).saturating_mul(u64::from(page0.physical_page_bytes)))
}

fn parents(path: &RelativePath) -> Vec<RelativePath> {
    std::iter::successors(path.parent(), RelativePath::parent).collect()
}

/// Computes the hashes of the written files. The packs only have hashes of frames, which were compared before.
pub(super) fn hash_staged(staging: &Staging, manifest: &mut Manifest, streams: u16) -> Result<(), Error> {
    let queue = Mutex::new(manifest.files.iter_mut().filter(|file| file.hash.is_some()));
    let work = || {
        let (mut parents, mut room) = (staging.parents(), vec![0; CHUNK_BYTES]);
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(stored) = next else { return Ok(()) };
            let (bytes, path) = (stored.file_bytes(), staging.path_of(&stored.entry.path));
            let file = staging.open_file(&mut parents, &stored.entry.path)?;
            let mut chunks = Vec::new();
            for chunk in 0..chunks_of(bytes) {
                let room = room.get_mut(..chunk_bytes(bytes, chunk)).unwrap_or_default();
                let read = file.read_exact_at(room, chunk.saturating_mul(CHUNK_BYTES as u64));
                read.map_err(Error::io(&path, "cannot be read back"))?;
                chunks.push(chunk_hash(bytes, chunk, room));
            }
            (stored.hash, stored.chunks) = (file_hash(&chunks), chunks.into());
        }
    };
    in_threads(streams, &work)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use verify::Keys;

    use super::*;

    const LOG: &[u8] = include_bytes!("../../../../testdata/redo/mysql97-mixed.zst");

    /// Files by name, each with its head, and whether blocks of it are decrypted in a pack.
    fn found(files: &[(&str, &[u8], bool)]) -> BTreeMap<RelativePath, Found> {
        let one = |(name, head, is_decrypted): &(&str, &[u8], bool)| {
            let found = Found { head: Some(FileHead::new(head)), is_decrypted: *is_decrypted, ..Found::default() };
            (RelativePath::parse(name.as_bytes()).unwrap(), found)
        };
        files.iter().map(one).collect()
    }

    #[test]
    fn logs_whose_key_is_named_by_a_lost_file_are_left_out() {
        let mut log = zstd::decode_all(LOG).unwrap();
        log.truncate(HEAD_BYTES);
        let mut nameless = log.clone();
        nameless[512..2048].fill(0);
        let mut keys = Keys::default();
        let keyring = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/keyring/mysql97-component-file.json");
        keys.add_keyring(Path::new(keyring)).unwrap();
        let left = |files: &[(&str, &[u8], bool)], keys: &Keys| {
            let (mut files, mut lost) = (found(files), Vec::new());
            drop_logs_without_key(&mut files, keys, &mut lost);
            let left = files.iter().map(|(path, found)| (path.to_string(), found.is_decrypted)).collect::<Vec<_>>();
            (left, lost)
        };
        let name = |number: u32| format!("#innodb_redo/#ib_redo{number}");
        let (seven, eight, nine) = (name(7), name(8), name(9));
        // The one that names the key has no encrypted block itself.
        let all = [(seven.as_str(), &nameless[..], true), (&eight, &log, false), (&nine, &nameless, true)];
        let (found, lost) = left(&all, &keys);
        assert_eq!(found, [&seven, &eight, &nine].map(|name| (name.clone(), true)));
        assert!(lost.is_empty(), "{lost:?}");

        let table = ("demo/t.ibd", &nameless[..], true);
        let (found, lost) = left(&[all[0], all[2], table], &keys);
        assert_eq!(found, [("demo/t.ibd".to_owned(), true)]);
        assert!(lost.len() == 2 && lost[0].starts_with(&seven) && lost[1].starts_with(&nine), "{lost:?}");

        // Without the master key, the file that needs it stays, so that the restore ends and names it.
        assert_eq!(left(&all, &Keys::default()).0, [(eight.clone(), true)]);
        // Nothing of a log that is in clear text is missing.
        let clear = [(seven.as_str(), &nameless[..], false), (nine.as_str(), &nameless[..], false)];
        assert_eq!(left(&clear, &Keys::default()).0.len(), 2);
    }

    #[test]
    fn what_a_later_pack_has_is_newer() {
        let mut found = Found::default();
        let run = |at: u64, bytes: u64, pack: u32| Run { at, bytes, pack, offset: 0, frame_at: 0, frame_bytes: 0 };
        for of in [run(0, 100, 0), run(100, 50, 0), run(20, 10, 1), run(90, 20, 2), run(90, 5, 3)] {
            found.replace(of);
        }
        let runs: Vec<_> = found.runs.values().map(|run| (run.at, run.bytes, run.pack, run.offset)).collect();
        let expected =
            [(0, 20, 0, 0), (20, 10, 1, 0), (30, 60, 0, 30), (90, 5, 3, 0), (95, 15, 2, 5), (110, 40, 0, 10)];
        assert_eq!(runs, expected);
    }
}
