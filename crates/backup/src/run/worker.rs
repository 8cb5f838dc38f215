//! A thread of a run: reads, hashes, compares with the last backup, judges and packs what changed.

use std::{
    fs::File,
    iter,
    ops::Range,
    os::unix::fs::FileExt,
    sync::{Mutex, PoisonError, atomic::Ordering},
    time::Instant,
};

use archive::{Run as FileRun, pack::MAX_FRAME_BYTES};
use codec::hash::{CHUNK_BYTES, Hash, UnitHasher, chunks_of};
use files::{Buffer, all_zero, read_up_to};
use transfer::{plan::Plan, sender::SourceFile};
use verify::{PageResults, Tablespace};

use super::{
    Run, RunProgress,
    files::{FilePlan, PreviousFile},
    frames::FrameBuilder,
    journal::StoredParts,
};
use crate::{
    Error,
    state::{FileState, PAGE_HASH_BYTES},
};

/// Number of chunks that one thread takes at a time.
const PART_CHUNKS: u64 = 64;

/// Parts that remain to be read.
pub(super) struct Queue(Mutex<Box<dyn Iterator<Item = ChunkRange> + Send>>);

/// Consecutive chunks of a file.
#[derive(Clone, Debug)]
pub(super) struct ChunkRange {
    file: usize,
    chunks: Range<u64>,
}

impl Queue {
    /// Parts of these files, the largest files first.
    pub(super) fn new(plan: &Plan, is_here: impl Fn(usize) -> bool) -> Self {
        let sized = plan.entries.iter().enumerate().filter(|(number, _)| is_here(*number));
        let mut files: Vec<(u64, usize)> =
            sized.filter_map(|(number, planned)| Some((planned.file_bytes()?, number))).collect();
        files.sort_unstable_by_key(|(bytes, number)| (std::cmp::Reverse(*bytes), *number));
        let parts = files.into_iter().flat_map(|(bytes, file)| {
            let chunks = chunks_of(bytes);
            let first = (0..chunks).step_by(usize::try_from(PART_CHUNKS).unwrap_or(1));
            first.map(move |first| ChunkRange { file, chunks: first..chunks.min(first.saturating_add(PART_CHUNKS)) })
        });
        Self(Mutex::new(Box::new(parts)))
    }

    fn next(&self) -> Option<ChunkRange> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).next()
    }

    /// Makes all threads stop.
    pub(super) fn stop(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Box::new(iter::empty());
    }
}

/// What earlier runs have stored of a part of a file, in file order.
struct Stored {
    /// The last backup.
    base: Vec<FileRun>,
    /// Each run without a receipt that has stored something of the file.
    attempts: Vec<Vec<FileRun>>,
}

/// A chunk that was read.
struct Chunk<'c> {
    bytes: &'c [u8],
    /// Hash of each of its units.
    units: &'c [Hash],
}

/// A thread of the run, with its buffers and results.
pub(super) struct Worker<'r, 'j> {
    run: &'r Run<'r, 'j>,
    buffer: Buffer,
    frames: FrameBuilder<'r, 'j>,
    judged: PageResults,
}

impl<'r, 'j> Worker<'r, 'j> {
    pub(super) fn new(run: &'r Run<'r, 'j>) -> Result<Self, Error> {
        Ok(Self {
            run,
            buffer: Buffer::new(CHUNK_BYTES),
            frames: FrameBuilder::new(run)?,
            judged: PageResults::default(),
        })
    }

    /// Works until the queue is empty.
    pub(super) fn work(&mut self, queue: &Queue) -> Result<(), Error> {
        while let Some(part) = queue.next() {
            self.part(&part)?;
        }
        Ok(())
    }

    /// Stores the last pack.
    pub(super) fn finish(self) -> Result<(), Error> {
        self.frames.finish()
    }

    fn part(&mut self, part: &ChunkRange) -> Result<(), Error> {
        let run = self.run;
        let Some(file) = run.inputs.files.get(part.file) else { return Ok(()) };
        if file.is_unwritten && self.take_over(part, file)? {
            return Ok(());
        }
        let source = SourceFile::open(run.inputs.plan, part.file)?;
        self.frames.begin(part.file, file);
        let space = run.tablespaces.space(part.file);
        let stored = self.stored(part, file)?;
        let (mut chunks, mut kept) = (Vec::new(), Vec::new());
        for chunk in part.chunks.clone() {
            let mut buffer = std::mem::replace(&mut self.buffer, Buffer::new(0));
            let mut hasher = UnitHasher::new(source.bytes(), chunk, file.unit_bytes);
            let began = Instant::now();
            let read = source.read_units(chunk, &mut buffer, &mut hasher).map_err(Error::from);
            let nanoseconds = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            run.reading.fetch_add(nanoseconds, Ordering::Relaxed);
            let done = read.and_then(|bytes| {
                let (hash, units) = hasher.finish();
                chunks.push(hash);
                self.chunk((file, space, &stored), chunk, Chunk { bytes, units: &units }, &mut kept)
            });
            self.buffer = buffer;
            done?;
        }
        source.check()?;
        self.frames.flush()?;
        if let Some(space) = space {
            space.add(&mut self.judged);
        }
        run.inputs.packs.add(file, part.chunks.start, &chunks, &kept)
    }

    /// Takes over what the last backup has of a part of a tablespace that has not been written since; `false` if the part
    /// has to be read: packs that have some of it are not used any more, or it is one of a system tablespace, which has
    /// copies of other tablespaces' pages.
    fn take_over(&mut self, part: &ChunkRange, file: &FilePlan) -> Result<bool, Error> {
        let run = self.run;
        let Some((base, before)) = run.inputs.base.zip(file.before) else { return Ok(false) };
        let space = run.tablespaces.space(part.file).filter(|space| space.page_bytes() == file.unit_bytes);
        let stored = base.manifest.files.get(before.number).filter(|_| !run.tablespaces.is_system(part.file));
        let Some((space, stored)) = space.zip(stored) else { return Ok(false) };
        let wanted = part.chunks.end.saturating_sub(part.chunks.start);
        let chunks = stored.chunks.range(part.chunks.start, wanted).map_err(Error::Lists)?;
        if chunks.len() as u64 != wanted {
            return Ok(false);
        }
        let [at, end] = [part.chunks.start, part.chunks.end].map(|chunk| chunk.saturating_mul(CHUNK_BYTES as u64));
        let (end, page_bytes) = (end.min(stored.file_bytes()), file.unit_bytes as u64);
        let pages: Vec<(u64, u64)> =
            (at..end).step_by(file.unit_bytes).map(|at| (at, page_bytes.min(end - at))).collect();
        let first = at.checked_div(page_bytes).unwrap_or(0);
        let hashes = hashes_at(&base.pages, &before.state, first, pages.len());
        let runs = stored.runs.overlapping(at, end).map_err(Error::Lists)?;
        let Some(kept) = all_stored(&runs, |run| base.uses(run), &pages, &hashes) else { return Ok(false) };
        space.count_unchanged(pages.len() as u64, &mut self.judged);
        space.add(&mut self.judged);
        self.write(file, first, &hashes)?;
        for counter in [&run.inputs.progress.bytes, &run.inputs.progress.unread_bytes] {
            counter.fetch_add(end.saturating_sub(at), Ordering::Relaxed);
        }
        run.inputs.packs.add(file, part.chunks.start, &chunks, &kept)?;
        Ok(true)
    }

    /// Compares the units of a chunk with the last backup; packs and judges those that changed.
    fn chunk(
        &mut self,
        (file, space, stored): (&FilePlan, Option<&Tablespace<'_>>, &Stored),
        chunk: u64,
        read: Chunk<'_>,
        kept: &mut Vec<FileRun>,
    ) -> Result<(), Error> {
        let bytes = read.bytes;
        let at = chunk.saturating_mul(CHUNK_BYTES as u64);
        let first = at.checked_div(file.unit_bytes as u64).unwrap_or(0);
        let units = bytes.chunks(file.unit_bytes).zip(read.units);
        let hashes: Vec<u64> = units.map(|(unit, hash)| self.hash(unit, hash)).collect();
        let unchanged = self.pack((file, stored), first, bytes, &hashes, kept)?;
        if let Some(space) = space {
            self.judge(file, space, first, bytes, &unchanged);
        }
        self.write(file, first, &hashes)?;
        self.run.inputs.progress.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.frames.end_of_chunk()
    }

    /// Packs the changed units of a chunk; `first` is the number of its first unit in the file. Returns which units did
    /// not change.
    fn pack(
        &mut self,
        (file, stored): (&FilePlan, &Stored),
        first: u64,
        bytes: &[u8],
        hashes: &[u64],
        kept: &mut Vec<FileRun>,
    ) -> Result<Vec<bool>, Error> {
        let before = self.before(file, first, hashes.len());
        let attempts = file.attempts.iter().map(|parts| hashes_at(&parts.pages, &parts.state, first, hashes.len()));
        let attempts: Vec<(&Vec<FileRun>, Vec<u64>)> = stored.attempts.iter().zip(attempts).collect();
        let location = |unit: u64| first.saturating_add(unit).saturating_mul(file.unit_bytes as u64);
        let mut unchanged = vec![false; hashes.len()];
        if before.is_empty() && attempts.is_empty() && bytes.len() == MAX_FRAME_BYTES && !hashes.contains(&0) {
            self.frames.add_frame(location(0), bytes)?;
            return Ok(unchanged);
        }
        for (index, (unit, location)) in bytes.chunks(file.unit_bytes).zip((0..).map(location)).enumerate() {
            let hash = hashes.get(index).copied().unwrap_or(0);
            if hash == 0 {
                continue;
            }
            let is_same = before.get(index) == Some(&hash) && keep(&stored.base, location, unit.len() as u64, kept);
            // Other runs without a receipt may have stored a changed unit. It is still to be judged.
            let mut is_stored = || {
                let mut found = attempts.iter().filter(|(_, hashes)| hashes.get(index) == Some(&hash));
                found.any(|(runs, _)| keep(runs, location, unit.len() as u64, kept))
            };
            match unchanged.get_mut(index).filter(|_| is_same) {
                Some(unchanged) => *unchanged = true,
                None if is_stored() => {
                    let RunProgress { resumed_bytes, changed_bytes, .. } = self.run.inputs.progress;
                    for counter in [resumed_bytes, changed_bytes] {
                        counter.fetch_add(unit.len() as u64, Ordering::Relaxed);
                    }
                }
                None => self.frames.add(location, unit)?,
            }
        }
        Ok(unchanged)
    }

    /// Judges the pages of a chunk. Unchanged pages were judged when they were stored, and are skipped unless something
    /// in the file was not sound then. Zero pages are always judged, since other pages of the file determine whether a
    /// page may be zero.
    fn judge(&mut self, file: &FilePlan, space: &Tablespace<'_>, first: u64, bytes: &[u8], unchanged: &[bool]) {
        let was_sound = file.before.is_some_and(|before| before.state.sound);
        // Page 0 is damaged, or in another file of the tablespace.
        if space.page_bytes() != file.unit_bytes {
            let offset = first.saturating_mul(file.unit_bytes as u64);
            let page = offset.checked_div(space.page_bytes() as u64).unwrap_or(0);
            return space.verify(page, bytes, &mut self.judged);
        }
        let mut at = 0_usize;
        for run in unchanged.chunk_by(|one, other| one == other) {
            let end = at.saturating_add(run.len());
            let offsets = at.saturating_mul(file.unit_bytes)..end.saturating_mul(file.unit_bytes).min(bytes.len());
            let pages = bytes.get(offsets).unwrap_or_default();
            if was_sound && run.first() == Some(&true) {
                space.count_unchanged((pages.len() / file.unit_bytes) as u64, &mut self.judged);
            } else {
                space.verify(first.saturating_add(at as u64), pages, &mut self.judged);
            }
            at = end;
        }
    }

    /// The hash of a unit that the state stores. It is 0 only for units of zeros, which are not stored.
    fn hash(&self, unit: &[u8], hash: &Hash) -> u64 {
        if all_zero(unit) { 0 } else { keyed(self.run.inputs.secret, &hash.0) }
    }

    /// Hashes of units in the last backup.
    fn before(&self, file: &FilePlan, first: u64, count: usize) -> Vec<u64> {
        let (Some(base), Some(PreviousFile { state, .. })) = (self.run.inputs.base, file.before) else {
            return Vec::new();
        };
        hashes_at(&base.pages, &state, first, count)
    }

    fn stored(&self, part: &ChunkRange, file: &FilePlan) -> Result<Stored, Error> {
        let [from, end] = [part.chunks.start, part.chunks.end].map(|chunk| chunk.saturating_mul(CHUNK_BYTES as u64));
        let base = self.run.inputs.base.zip(file.before);
        let base = base.map(|(base, before)| base.runs(before.number, from, end)).transpose();
        let units = |parts: &StoredParts| {
            let [from, end] = [from, end].map(|at| (at / file.unit_bytes as u64).min(parts.units));
            parts.map.runs(&parts.state, u64::MAX, from..end)
        };
        let attempts = file.attempts.iter().map(|parts| units(parts)).collect::<Result<_, _>>();
        let stored = base.and_then(|base| Ok(Stored { base: base.unwrap_or_default(), attempts: attempts? }));
        stored.map_err(Error::Lists)
    }

    fn write(&self, file: &FilePlan, first: u64, hashes: &[u64]) -> Result<(), Error> {
        let bytes: Vec<u8> = hashes.iter().flat_map(|hash| hash.to_be_bytes()).collect();
        let at = file.state.pages_at.saturating_add(first.saturating_mul(PAGE_HASH_BYTES));
        let written = self.run.inputs.pages.write_all_at(&bytes, at);
        written.map_err(Error::io(&self.run.inputs.config.state, "the hashes of pages cannot be written"))
    }
}

/// The hashes of `count` units of a file from unit `first` on, as a run has recorded them.
fn hashes_at(pages: &File, state: &FileState, first: u64, count: usize) -> Vec<u64> {
    let Ok(bytes) = usize::try_from(PAGE_HASH_BYTES).map(|each| each.saturating_mul(count)) else {
        return Vec::new();
    };
    let mut room = vec![0; bytes];
    let at = state.pages_at.saturating_add(first.saturating_mul(PAGE_HASH_BYTES));
    // Beyond the file's former end these are hashes of the next file, but no run covers them.
    let read = read_up_to(pages, at, &mut room).unwrap_or_default();
    let (hashes, _) = room.get(..read).unwrap_or_default().as_chunks();
    hashes.iter().map(|hash| u64::from_be_bytes(*hash)).collect()
}

/// The parts that store all of these pages, given by offset and length; `None` if that is not known of each, or some part is
/// not to be used. A hole is in no part and has the hash 0; what is stored counts even if its hash is damaged.
fn all_stored(
    runs: &[FileRun],
    uses: impl Fn(&FileRun) -> bool,
    pages: &[(u64, u64)],
    hashes: &[u64],
) -> Option<Vec<FileRun>> {
    let mut kept = Vec::new();
    let is_in_no_part = |at: u64, bytes: u64| {
        let next = runs.get(runs.partition_point(|run| run.end() <= at));
        next.is_none_or(|next| next.at >= at.saturating_add(bytes))
    };
    let mut is_known = |((at, bytes), hash): (&(u64, u64), &u64)| {
        keep(runs, *at, *bytes, &mut kept) || (*hash == 0 && is_in_no_part(*at, *bytes))
    };
    let are_known = pages.len() == hashes.len() && runs.iter().all(uses) && pages.iter().zip(hashes).all(&mut is_known);
    are_known.then_some(kept)
}

/// Records the former location of a unit, if the unit is stored there completely; returns whether it is.
fn keep(runs: &[FileRun], at: u64, bytes: u64, kept: &mut Vec<FileRun>) -> bool {
    let end = at.saturating_add(bytes);
    let run = runs.get(runs.partition_point(|run| run.end() <= at));
    // A frame has whole units.
    let Some(part) = run.and_then(|run| run.within(at, end)).filter(|part| part.at == at && part.end() == end) else {
        return false;
    };
    super::unit_map::push(kept, part);
    true
}

/// The first eight bytes of a keyed hash; never 0. Without the key nobody can construct two pages with the same hash.
fn keyed(secret: &[u8; 32], bytes: &[u8]) -> u64 {
    blake3::keyed_hash(secret, bytes).as_bytes().first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes)).max(1)
}

impl crate::state::State {
    /// A keyed hash: it distinguishes secrets, and reveals nothing without the state's secret.
    pub(crate) fn hash(&self, bytes: &[u8]) -> u64 {
        keyed(&self.secret, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: u64 = 16 << 10;

    fn run(page: u64, pages: u64, pack: u32) -> FileRun {
        FileRun { at: page * PAGE, bytes: pages * PAGE, pack, offset: 0, frame_at: 9, frame_bytes: 9 }
    }

    #[test]
    fn a_page_whose_hash_is_damaged_is_no_hole() {
        let pages: Vec<(u64, u64)> = (0..4).map(|page| (page * PAGE, PAGE)).collect();
        // The third page is a hole.
        let runs = [run(0, 2, 0), run(3, 1, 1)];
        let stored =
            |uses: &dyn Fn(u32) -> bool, hashes: [u64; 4]| all_stored(&runs, |run| uses(run.pack), &pages, &hashes);
        assert_eq!(stored(&|_| true, [1, 2, 0, 4]).unwrap(), runs);
        assert_eq!(stored(&|_| true, [1, 0, 0, 0]).unwrap(), runs, "damaged, but stored");
        assert!(stored(&|_| true, [1, 2, 3, 4]).is_none(), "not stored");
        for hashes in [[1, 2, 0, 4], [1, 2, 0, 0]] {
            assert!(stored(&|pack| pack == 0, hashes).is_none(), "in a pack that is not used any more");
        }
        assert!(all_stored(&runs, |_| true, &pages, &[1, 2, 0]).is_none(), "a hash is missing");
        let partial = [FileRun { bytes: PAGE / 2, ..run(0, 1, 0) }];
        assert!(all_stored(&partial, |_| true, &pages[..1], &[0]).is_none());
    }
}
