//! The parts of files, in the order of the packs. A manifest has them in the order of the files, and those of terabytes
//! do not fit into memory, so they are sorted in a file without a name.

use std::{fs::File, io};

use archive::{
    List, Manifest, Run,
    list::{Record, Slots, take},
};

/// Parts that are written at once.
const BATCH: usize = 1024;

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackRun {
    /// Number of the file.
    pub(super) file: u32,
    pub(super) run: Run,
}

impl Record for PackRun {
    const BYTES: usize = 4 + Run::BYTES;

    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.file.to_be_bytes());
        self.run.encode(out);
    }

    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let file = take(&mut bytes).map(u32::from_be_bytes)?;
        Some(Self { file, run: Run::decode(bytes)? })
    }
}

/// Parts of files, by pack.
#[derive(Debug)]
pub(super) struct PackRuns {
    slots: Slots<PackRun>,
    /// The first place behind the parts in each pack.
    ends: Vec<u64>,
}

impl PackRuns {
    /// Sorts the wanted parts in an empty file: those of each pack are counted, and then each gets its place.
    pub(super) fn sort(manifest: &Manifest, file: File, is_wanted: &dyn Fn(usize, &Run) -> bool) -> io::Result<Self> {
        let mut next = vec![0_u64; manifest.packs.len()];
        each(manifest, is_wanted, &mut |part| {
            pack_of(&mut next, part).into_iter().for_each(|count| *count = count.saturating_add(1));
            Ok(())
        })?;
        let mut first = 0_u64;
        for next in &mut next {
            first = first.saturating_add(std::mem::replace(next, first));
        }
        let mut batch = Batch { slots: Slots::new(file), first: 0, parts: Vec::with_capacity(BATCH) };
        each(manifest, is_wanted, &mut |part| {
            let Some(place) = pack_of(&mut next, part) else { return Ok(()) };
            batch.put(*place, part)?;
            *place = place.saturating_add(1);
            Ok(())
        })?;
        batch.flush()?;
        // Each pack's next place is the first one of the next pack now.
        Ok(Self { slots: batch.slots, ends: next })
    }

    /// Number of packs, also of those of which nothing is wanted.
    pub(super) const fn packs(&self) -> usize {
        self.ends.len()
    }

    /// The parts in a pack.
    pub(super) fn of(&self, pack: usize) -> List<PackRun> {
        let end = |pack: Option<usize>| pack.and_then(|pack| self.ends.get(pack)).copied().unwrap_or(0);
        let first = end(pack.checked_sub(1));
        self.slots.list(first, end(Some(pack)).saturating_sub(first))
    }

    /// Number of packs of which something is wanted.
    pub(super) fn wanted(&self) -> u64 {
        (0..self.packs()).filter(|pack| !self.of(*pack).is_empty()).count() as u64
    }
}

/// Parts for consecutive places.
struct Batch {
    slots: Slots<PackRun>,
    first: u64,
    parts: Vec<PackRun>,
}

impl Batch {
    fn put(&mut self, place: u64, part: PackRun) -> io::Result<()> {
        if self.first.saturating_add(self.parts.len() as u64) != place || self.parts.len() >= BATCH {
            self.flush()?;
            self.first = place;
        }
        self.parts.push(part);
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.slots.put(self.first, self.parts.drain(..))
    }
}

fn each(
    manifest: &Manifest,
    is_wanted: &dyn Fn(usize, &Run) -> bool,
    done: &mut dyn FnMut(PackRun) -> io::Result<()>,
) -> io::Result<()> {
    for (number, stored) in manifest.files.iter().enumerate() {
        let file = u32::try_from(number).unwrap_or(u32::MAX);
        for run in stored.runs.iter() {
            let run = run?;
            if is_wanted(number, &run) {
                done(PackRun { file, run })?;
            }
        }
    }
    Ok(())
}

/// What `of_packs` has for the pack of a part.
fn pack_of(of_packs: &mut [u64], part: PackRun) -> Option<&mut u64> {
    of_packs.get_mut(usize::try_from(part.run.pack).ok()?)
}

#[cfg(test)]
mod tests {
    use archive::{
        Digest,
        list::{ListWriter, Place},
        manifest::StoredFile,
        receipt::Object,
    };
    use codec::{
        entry::{Entry, Kind},
        path::RelativePath,
    };

    use super::*;
    use crate::memory::peak;

    fn run(at: u64, pack: u32) -> Run {
        Run { at, bytes: 1, pack, offset: 0, frame_at: at, frame_bytes: 9 }
    }

    fn file(runs: Vec<Run>) -> StoredFile {
        let path = RelativePath::parse(b"d/t.ibd").unwrap();
        let entry = Entry { path, kind: Kind::File { bytes: 100 }, mode: 0o640, uid: 0, gid: 0, modified: (0, 0) };
        StoredFile { entry, hash: None, head: None, chunks: List::default(), runs: runs.into() }
    }

    fn manifest(files: Vec<StoredFile>, packs: usize) -> Manifest {
        let head = serde_json::json!({
            "schema": "", "repo": "", "host": "db1", "number": 1, "instant": "2026-11-23T01:00:00Z",
            "provider": "stopped", "root": { "mode": 0o750, "uid": 0, "gid": 0 }, "entries": files.len(),
        });
        let packs = vec![Object { sha256: Digest::compute(b""), bytes: 1 }; packs];
        Manifest { head: serde_json::from_value(head).unwrap(), files, packs, keys: Vec::new() }
    }

    #[test]
    fn parts_are_in_the_order_of_packs_and_then_of_files() {
        let many: Vec<Run> = (0..5000).map(|at| run(at, if at % 3 == 0 { 0 } else { 3 })).collect();
        let files = vec![file(vec![run(0, 1), run(1, 0), run(2, 1)]), file(many)];
        let manifest = manifest(files, 4);
        let sorted = |is_wanted: &dyn Fn(usize, &Run) -> bool| {
            PackRuns::sort(&manifest, tempfile::tempfile().unwrap(), is_wanted).unwrap()
        };
        let places = |runs: &PackRuns, pack: usize| -> Vec<(u32, u64)> {
            runs.of(pack).iter().map(|part| part.map(|part| (part.file, part.run.at)).unwrap()).collect()
        };
        let all = sorted(&|_, _| true);
        assert_eq!((all.packs(), all.wanted()), (4, 3));
        assert_eq!(places(&all, 1), [(0, 0), (0, 2)]);
        assert!(places(&all, 2).is_empty());
        let [thirds, others]: [Vec<u64>; 2] =
            [true, false].map(|is| (0..5000).filter(|at| (at % 3 == 0) == is).collect());
        assert_eq!(
            places(&all, 0),
            [(0, 1)].into_iter().chain(thirds.into_iter().map(|at| (1, at))).collect::<Vec<_>>()
        );
        assert_eq!(places(&all, 3), others.into_iter().map(|at| (1, at)).collect::<Vec<_>>());

        let some = sorted(&|file, run| file == 0 && run.at > 0);
        assert_eq!((some.wanted(), places(&some, 0), places(&some, 1)), (2, vec![(0, 1)], vec![(0, 2)]));
    }

    /// Parts of terabytes, of which every second one lies in a pack of another day.
    #[test]
    fn the_parts_of_terabytes_are_sorted_in_little_memory() {
        const PACK_PARTS: u64 = 80;
        let sort = |gib: u64| {
            let parts = gib << 10;
            let packs = parts.div_ceil(PACK_PARTS);
            let mut file = file(Vec::new());
            let mut runs = ListWriter::new(Place::File(tempfile::tempfile().unwrap()));
            for number in 0..parts {
                let pack = if number % 2 == 0 { number / PACK_PARTS } else { number * 7919 % packs };
                assert!(runs.push(&mut file.runs, &run(number, pack as u32)).unwrap());
            }
            runs.finish(std::iter::once(&mut file.runs)).unwrap();
            let manifest = manifest(vec![file], packs as usize);
            let sorted = PackRuns::sort(&manifest, tempfile::tempfile().unwrap(), &|_, _| true).unwrap();
            let mut seen = 0;
            for pack in 0..sorted.packs() {
                let runs: Vec<Run> = sorted.of(pack).iter().map(|part| part.unwrap().run).collect();
                assert!(runs.iter().all(|run| run.pack as usize == pack) && runs.is_sorted_by_key(|run| run.at));
                seen += runs.len() as u64;
            }
            assert_eq!(seen, parts);
        };
        let test = "restore::pack_runs::tests::the_parts_of_terabytes_are_sorted_in_little_memory";
        let grown = peak::growth(test, sort);
        // In memory, the parts of 128 GiB would take 6 MiB.
        let most = (2 << 20) + (peak::scale_gib() << 10) / PACK_PARTS * 100;
        assert!(grown <= most, "{grown} bytes, more than {most}");
    }
}
