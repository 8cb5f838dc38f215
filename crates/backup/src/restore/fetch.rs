//! Reads packs, or parts of them, in parallel, unpacks them, encrypts their pages and writes the staged files.

use std::{
    collections::{BTreeMap, HashMap},
    fs::File,
    io, iter, ops,
    os::unix::fs::FileExt,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use archive::{
    Description, Error as ArchiveError, Frame, List, Manifest, PackReader, PartialPack, Run, manifest::StoredFile,
    names, receipt::Object,
};
use codec::{
    hash::{CHUNK_BYTES, chunk_bytes, chunk_hash},
    page::{SpaceCipher, SpaceKeys},
    path::RelativePath,
};
use files::Buffer;
use innodb::{KeyVersion, crypt::wrapped::Wrapped};
use transfer::receiver::{ParentCache, Staging, TargetFile};
use verify::Keys;

use super::{
    Opened, RestoreOptions, RestoreProgress,
    base::BaseFile,
    in_threads,
    missing::MissingChunks,
    pack_runs::{PackRun, PackRuns},
    ranges::{HEAD_BYTES, ranges},
};
use crate::{
    Error, Repository,
    heads::RedoKeys,
    memory::{Lists, restore_streams},
    repository::{read_pack, read_range},
};

/// Space of a file that is allocated at once.
const ALLOCATED_BYTES: u64 = 32 << 20;

/// State that all threads share.
pub(super) struct Fetch<'f> {
    repository: &'f Repository,
    host: &'f str,
    manifest: &'f Manifest,
    options: &'f RestoreOptions<'f>,
    staging: &'f Staging,
    progress: &'f RestoreProgress,
    spaces: Vec<Option<SpaceKeys>>,
    /// Number of packs of which only ranges were read.
    partial: AtomicU64,
}

/// How packs are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Only ranges, where little of a pack is needed.
    Ranges,
    /// Each as a whole, so that its hash is verified.
    Whole,
}

/// Which frames are compared with the hash in their description before they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameHash {
    /// Each: neither the hash of the pack nor that of the file vouches for it.
    Always,
    /// The first that a key encrypts again, to find a wrong key at once. The hash of the pack vouches for all frames,
    /// and everything is compared with the manifest when it is read back.
    OfNewKey,
}

/// Numbers of packs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fetched {
    /// Packs of which something was read.
    pub(super) packs: u64,
    /// Those among them of which only ranges were read.
    pub(super) partial: u64,
}

/// The parts of files in one pack, by frame.
#[derive(Default)]
struct PackParts {
    frames: BTreeMap<u64, Vec<(usize, Run)>>,
}

impl PackParts {
    /// The ranges to read; `None` for the whole pack.
    fn ranges(&self, pack_bytes: u64) -> Option<Vec<ops::Range<u64>>> {
        let bytes = |parts: &[(usize, Run)]| parts.first().map_or(0, |(_, run)| run.frame_bytes);
        ranges(pack_bytes, self.frames.iter().map(|(at, parts)| (*at, bytes(parts))))
    }
}

impl<'f> Fetch<'f> {
    /// Checks, before anything is fetched, that the given keys can encrypt the decrypted pages.
    pub(super) fn new(
        repository: &'f Repository,
        opened: &'f Opened,
        manifest: &'f Manifest,
        options: &'f RestoreOptions<'f>,
        staging: &'f Staging,
        progress: &'f RestoreProgress,
    ) -> Result<Self, Error> {
        let spaces = spaces(&manifest.files, options.keys)?;
        let partial = AtomicU64::new(0);
        Ok(Self { repository, host: opened.host(), manifest, options, staging, progress, spaces, partial })
    }

    /// Fetches everything that is missing.
    pub(super) fn run(&self, resumed: bool, reading: Reading) -> Result<Fetched, Error> {
        let missing = self.all_missing(resumed)?;
        let is_missing = |file: usize, run: &Run| missing.get(file).is_some_and(|missing| missing.overlaps(run));
        let by_pack = PackRuns::sort(self.manifest, self.staging.scratch()?, &is_missing).map_err(Error::Lists)?;
        let next = AtomicUsize::new(0);
        let work = || {
            let mut writer = Writer::new(self);
            loop {
                let pack = next.fetch_add(1, Ordering::Relaxed);
                if pack >= by_pack.packs() {
                    return Ok(());
                }
                if let Err(error) = self.parts_of(pack, &by_pack, &missing, reading, &mut writer) {
                    // The other threads stop, too.
                    next.store(by_pack.packs(), Ordering::Relaxed);
                    return Err(error);
                }
            }
        };
        let lists = Lists { files: self.manifest.files.len() as u64, packs: self.manifest.packs.len() as u64 };
        let longest = self.manifest.packs.iter().map(|pack| pack.bytes).max().unwrap_or(0);
        in_threads(restore_streams(self.options.streams, longest, lists), &work)?;
        Ok(Fetched { packs: by_pack.wanted(), partial: self.partial.load(Ordering::Relaxed) })
    }

    /// Fetches what is missing of files and in this pack.
    fn parts_of(
        &self,
        pack: usize,
        by_pack: &PackRuns,
        missing: &[MissingChunks],
        reading: Reading,
        writer: &mut Writer<'_>,
    ) -> Result<(), Error> {
        let mut pack_parts = PackParts::default();
        for part in by_pack.of(pack).iter() {
            let PackRun { file, run } = part.map_err(Error::Lists)?;
            let number = usize::try_from(file).unwrap_or(usize::MAX);
            let parts = missing.get(number).map(|missing| missing.parts(&run)).unwrap_or_default();
            let frame = pack_parts.frames.entry(run.frame_at).or_default();
            frame.extend(parts.into_iter().map(|part| (number, part)));
        }
        if pack_parts.frames.is_empty() { Ok(()) } else { self.pack(pack, &pack_parts, reading, writer) }
    }

    /// The missing chunks of each file, by number. Chunks that an earlier attempt restored are recognised by their hash.
    fn all_missing(&self, resumed: bool) -> Result<Vec<MissingChunks>, Error> {
        let all = vec![MissingChunks::default(); self.manifest.files.len()];
        let (next, all) = (AtomicUsize::new(0), Mutex::new(all));
        let work = || {
            let mut parents = self.staging.parents();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(file) = self.manifest.files.get(number) else { return Ok(()) };
                if file.hash.is_none() {
                    continue;
                }
                let missing = if resumed { self.missing(file, &mut parents)? } else { MissingChunks::All };
                let missing = self.missing_in_base(file, missing, &mut parents)?;
                let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(of_file) = all.get_mut(number) {
                    *of_file = missing;
                }
            }
        };
        in_threads(self.options.streams, &work)?;
        Ok(all.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Copies the chunks that the existing directory has. Returns those that are still missing.
    fn missing_in_base(
        &self,
        stored: &StoredFile,
        missing: MissingChunks,
        parents: &mut ParentCache<'_>,
    ) -> Result<MissingChunks, Error> {
        let base = self.options.base.as_deref().filter(|_| missing != MissingChunks::None);
        let Some(mut base) = base.and_then(|base| BaseFile::open(base, stored)) else { return Ok(missing) };
        let staged = self.staging.open_file(parents, &stored.entry.path)?;
        let mut left = MissingChunks::None;
        for (chunk, expected) in (0..).zip(stored.chunks.iter()) {
            let expected = expected.map_err(Error::Lists)?;
            if !missing.has(chunk) {
                continue;
            }
            let runs = stored.runs.overlapping(chunk_at(chunk), chunk_at(chunk.saturating_add(1)));
            let copied = base.copy(chunk, expected, &runs.map_err(Error::Lists)?, &staged);
            match copied.map_err(Error::io(&self.staging.path_of(&stored.entry.path), "cannot be written"))? {
                0 => left.insert(chunk),
                bytes => {
                    self.progress.base_bytes.fetch_add(bytes, Ordering::Relaxed);
                }
            }
        }
        Ok(left)
    }

    /// The chunks of a staged file that are missing or wrong. Those that must be zero become holes.
    fn missing(&self, stored: &StoredFile, parents: &mut ParentCache<'_>) -> Result<MissingChunks, Error> {
        let file = self.staging.open_file(parents, &stored.entry.path)?;
        let (bytes, mut missing, mut room) = (stored.file_bytes(), MissingChunks::None, vec![0; CHUNK_BYTES]);
        for (chunk, expected) in (0..).zip(stored.chunks.iter()) {
            let (at, length, expected) = (chunk_at(chunk), chunk_bytes(bytes, chunk), expected.map_err(Error::Lists)?);
            let room = room.get_mut(..length).unwrap_or_default();
            let read = file.read_exact_at(room, at);
            if read.is_ok() && chunk_hash(bytes, chunk, room) == expected {
                self.progress.kept_bytes.fetch_add(length as u64, Ordering::Relaxed);
                continue;
            }
            clear(&file, at, length as u64)
                .map_err(Error::io(&self.staging.path_of(&stored.entry.path), "cannot be written"))?;
            missing.insert(chunk);
        }
        Ok(missing)
    }

    fn pack(
        &self,
        pack: usize,
        pack_parts: &PackParts,
        reading: Reading,
        writer: &mut Writer<'_>,
    ) -> Result<(), Error> {
        let object: Object = *self.manifest.packs.get(pack).ok_or(Error::Stopped)?;
        let ranges = pack_parts.ranges(object.bytes).filter(|_| reading == Reading::Ranges);
        if let Some(ranges) = ranges {
            match self.ranges(object, pack_parts, &ranges, writer) {
                Ok(()) => {
                    self.partial.fetch_add(1, Ordering::Relaxed);
                    return Ok(());
                }
                // The hash of the whole pack shows whether it is damaged.
                Err(error) if may_be_of_pack(&error) => {}
                Err(error) => return Err(error),
            }
        }
        self.whole(object, pack_parts, writer)
    }

    /// Reads these ranges of a pack. What they have is compared with the manifest when everything is read back.
    fn ranges(
        &self,
        object: Object,
        pack_parts: &PackParts,
        ranges: &[ops::Range<u64>],
        writer: &mut Writer<'_>,
    ) -> Result<(), Error> {
        let name = names::pack(self.host, &object.sha256);
        let wrong = |source: ArchiveError| Error::Object { object: name.clone(), source };
        let mut bytes = std::mem::take(&mut writer.pack);
        self.read_range(&name, 0..HEAD_BYTES.min(object.bytes), &mut bytes)?;
        let mut pack = PartialPack::new(&bytes, object.bytes, self.options.identities).map_err(wrong)?;
        for range in ranges {
            self.read_range(&name, pack.encrypted(range).map_err(wrong)?, &mut bytes)?;
            let mut frames = pack.decrypt(range, &bytes).map_err(wrong)?;
            for (at, parts) in pack_parts.frames.range(range.clone()) {
                let length = parts.first().map_or(0, |(_, run)| run.frame_bytes);
                let mut frame = frames.frame(*at, length).map_err(wrong)?;
                self.frame(&mut frame, parts, writer, FrameHash::Always, &wrong)?;
            }
        }
        writer.pack = bytes;
        Ok(())
    }

    fn read_range(&self, name: &str, range: ops::Range<u64>, bytes: &mut Vec<u8>) -> Result<(), Error> {
        read_range(self.repository, name, range, bytes)?;
        self.progress.fetched_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    fn whole(&self, object: Object, pack_parts: &PackParts, writer: &mut Writer<'_>) -> Result<(), Error> {
        let name = names::pack(self.host, &object.sha256);
        let wrong = |source: ArchiveError| Error::Object { object: name.clone(), source };
        // Verify the hash first, so that only signed data is decrypted.
        let mut bytes = std::mem::take(&mut writer.pack);
        read_pack(self.repository, &name, object, &mut bytes)?;
        let mut reader = PackReader::decrypt(bytes.as_slice(), self.options.identities).map_err(wrong)?;
        let hash = if self.options.salvage { FrameHash::Always } else { FrameHash::OfNewKey };
        let mut left = pack_parts.frames.len();
        while left > 0 {
            let Some(mut frame) = reader.next_frame().map_err(wrong)? else {
                return Err(wrong(ArchiveError::Pack("a frame that the manifest names is missing")));
            };
            let Some(parts) = pack_parts.frames.get(&frame.at) else { continue };
            left = left.saturating_sub(1);
            self.frame(&mut frame, parts, writer, hash, &wrong)?;
        }
        writer.pack = bytes;
        self.progress.fetched_bytes.fetch_add(object.bytes, Ordering::Relaxed);
        Ok(())
    }

    fn frame(
        &self,
        frame: &mut Frame<'_>,
        parts: &[(usize, Run)],
        writer: &mut Writer<'_>,
        hash: FrameHash,
        wrong: &dyn Fn(ArchiveError) -> Error,
    ) -> Result<(), Error> {
        let Some((number, _)) = parts.first() else { return Ok(()) };
        let is_new_key = match frame.description.decrypted {
            Some(_) => writer.encrypt(*number, &frame.description, frame.data)?,
            None => false,
        };
        if is_new_key || hash == FrameHash::Always {
            frame.check_hash().map_err(|fault| match frame.description.decrypted {
                Some(_) => cannot_encrypt(&frame.description.path, None),
                None => wrong(fault),
            })?;
        }
        parts.iter().try_for_each(|(number, run)| writer.write(*number, run, frame.data))
    }
}

/// Whether an error may be the fault of a pack, or of a store that does not answer requests for a part of an object.
fn may_be_of_pack(error: &Error) -> bool {
    match error {
        Error::Object { .. } | Error::Archive(_) | Error::Reencrypt { .. } => true,
        Error::Store(error) => !error.is_denied() && !error.is_unreachable(),
        _ => false,
    }
}

/// The encryption of each file that the backup has decrypted.
///
/// # Errors
/// [`Error::Reencrypt`] if the keys cannot encrypt one of them.
pub(super) fn spaces(files: &[StoredFile], keys: &Keys) -> Result<Vec<Option<SpaceKeys>>, Error> {
    let logs = RedoKeys::of(files);
    let space = |file| space(&logs, file, keys);
    files.iter().map(space).collect::<Result<_, _>>().map_err(|file| {
        // A spare redo log file names no key, but another file that the keys do not open may.
        let others = files.iter().filter(|other| space(other).is_err());
        let mut heads = iter::once(file).chain(others).filter_map(|file| file.head.as_ref());
        cannot_encrypt(&file.entry.path, heads.find_map(|head| Wrapped::find(&head.bytes())))
    })
}

/// The encryption of a file; the file, if the keys cannot encrypt it.
fn space<'s>(logs: &RedoKeys, file: &'s StoredFile, keys: &Keys) -> Result<Option<SpaceKeys>, &'s StoredFile> {
    let Some(head) = &file.head else { return Ok(None) };
    logs.space(&file.entry.path, &head.bytes(), keys).map(Some).ok_or(file)
}

/// State of one writing thread.
struct Writer<'w> {
    fetch: &'w Fetch<'w>,
    parents: ParentCache<'w>,
    open: Option<(usize, TargetFile)>,
    /// Buffer for the current pack.
    pack: Vec<u8>,
    /// Aligned buffer for writes.
    aligned: Buffer,
    ciphers: HashMap<(usize, u32, bool), SpaceCipher>,
}

impl<'w> Writer<'w> {
    fn new(fetch: &'w Fetch<'w>) -> Self {
        Self {
            fetch,
            parents: fetch.staging.parents(),
            open: None,
            pack: Vec::new(),
            aligned: Buffer::new(CHUNK_BYTES),
            ciphers: HashMap::new(),
        }
    }

    /// Encrypts the units of a frame, which restores their original bytes. Returns whether the key was not used for the
    /// frame before.
    fn encrypt(&mut self, number: usize, description: &Description, data: &mut [u8]) -> Result<bool, Error> {
        let Some(units) = &description.decrypted else { return Ok(false) };
        let failed = || cannot_encrypt(&description.path, None);
        let which = (number, units.key_version, units.counter_mode);
        let is_new = !self.ciphers.contains_key(&which);
        if is_new {
            let space = self.fetch.spaces.get(number).and_then(Option::as_ref).ok_or_else(failed)?;
            let version = KeyVersion(units.key_version);
            let cipher = space.encryptor(version, units.counter_mode, self.fetch.options.keys).ok_or_else(failed)?;
            // Frames arrive in file order, so few files are open at a time.
            self.ciphers.clear();
            self.ciphers.insert(which, cipher);
        }
        let cipher = self.ciphers.get(&which).ok_or_else(failed)?;
        let at = description.extents.first().map_or(0, |first| first.at);
        if cipher.kind() != units.kind {
            return Err(failed());
        }
        cipher.encrypt(at, &units.marks, data).map_err(|_| failed())?;
        Ok(is_new)
    }

    fn write(&mut self, number: usize, run: &Run, data: &[u8]) -> Result<(), Error> {
        let fetch = self.fetch;
        let Some(stored) = fetch.manifest.files.get(number) else { return Ok(()) };
        if self.open.as_ref().is_none_or(|(open, _)| *open != number) {
            let file = TargetFile::open(fetch.staging, &mut self.parents, &stored.entry, stored.file_bytes())?;
            self.open = Some((number, file));
        }
        let Some((_, file)) = &self.open else { return Ok(()) };
        let from = usize::try_from(run.offset).unwrap_or(usize::MAX);
        let end = usize::try_from(run.bytes).map_or(usize::MAX, |bytes| from.saturating_add(bytes));
        let bytes =
            data.get(from..end).ok_or(Error::Archive(ArchiveError::Pack("a frame is shorter than its parts")))?;
        // If the list cannot be read, a later error says so; space is only allocated ahead.
        file.allocate(run.at, || dense_bytes(&stored.runs, run.at).unwrap_or(0));
        let written = file.write_at(run.at, bytes, &mut self.aligned);
        written.map_err(Error::io(&fetch.staging.path_of(&stored.entry.path), "cannot be written"))?;
        fetch.progress.written_bytes.fetch_add(run.bytes, Ordering::Relaxed);
        Ok(())
    }
}

/// Number of bytes from `at` to the next hole of the file, at most [`ALLOCATED_BYTES`].
fn dense_bytes(runs: &List<Run>, at: u64) -> io::Result<u64> {
    let mut end = at;
    for run in runs.iter_from(runs.partition_point(|run| run.end() <= at)?) {
        let run = run?;
        if run.at > end || end.saturating_sub(at) >= ALLOCATED_BYTES {
            break;
        }
        end = run.end();
    }
    Ok(end.saturating_sub(at).min(ALLOCATED_BYTES))
}

/// Offset of a chunk in its file.
const fn chunk_at(chunk: u64) -> u64 {
    chunk.saturating_mul(CHUNK_BYTES as u64)
}

/// Punches a hole into a file.
fn clear(file: &File, at: u64, bytes: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    if fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, bytes).is_ok() {
        return Ok(());
    }
    // Not every file system supports holes.
    file.write_all_at(&vec![0; usize::try_from(bytes).unwrap_or(CHUNK_BYTES)], at)
}

fn cannot_encrypt(path: &RelativePath, wrapped: Option<Wrapped>) -> Error {
    let needed = wrapped.map(|wrapped| format!(" ({} is needed)", wrapped.master_key_name()));
    Error::Reencrypt { path: path.to_string(), needed: needed.unwrap_or_default() }
}

#[cfg(test)]
mod tests {
    use archive::manifest::FileHead;
    use codec::entry::{Entry, Kind};

    use super::*;

    const SAMPLE: &[u8] = include_bytes!("../../../../testdata/tablespace/mysql97-16k-encrypted-empty.ibd.zst");

    #[test]
    fn a_needed_key_is_named_if_the_first_file_does_not_name_it() {
        let file = |path: &[u8], head: &[u8]| StoredFile {
            entry: Entry {
                path: RelativePath::parse(path).unwrap(),
                kind: Kind::File { bytes: head.len() as u64 },
                mode: 0o640,
                uid: 0,
                gid: 0,
                modified: (0, 0),
            },
            hash: None,
            head: Some(FileHead::new(head)),
            chunks: List::default(),
            runs: List::default(),
        };
        let tablespace = zstd::decode_all(SAMPLE).unwrap();
        let files = [file(b"#innodb_redo/#ib_redo7_tmp", &[0; 2048]), file(b"d/t.ibd", &tablespace[..16384])];
        let error = spaces(&files, &Keys::default()).unwrap_err().to_string();
        assert!(error.contains("#ib_redo7_tmp") && error.contains("INNODBKey-"), "{error}");
    }

    #[test]
    fn space_is_allocated_up_to_the_next_hole() {
        let run = |at: u64, bytes: u64| Run { at, bytes, pack: 0, offset: 0, frame_at: 0, frame_bytes: 0 };
        let runs = vec![run(0, 10), run(10, 20), run(40, 5), run(64 << 20, 20 << 20), run(84 << 20, 20 << 20)];
        let runs = List::from(runs);
        let cases = [(0, 30), (5, 25), (10, 20), (40, 5), (44, 1), (64 << 20, 32 << 20), (90 << 20, 14 << 20)];
        for (at, expected) in cases {
            assert_eq!(dense_bytes(&runs, at).unwrap(), expected, "from {at}");
        }
        assert_eq!(dense_bytes(&runs, 30).unwrap(), 0, "a hole");
        assert_eq!(dense_bytes(&runs, 104 << 20).unwrap(), 0, "after the last run");
    }
}
