//! Where the units of all files are in the packs, in a file without a name: each unit has a place for its location, in the
//! order in which the state has the hashes of the units.

use std::{fs::File, io, ops::Range};

use archive::{
    Run as FileRun,
    list::{Record, Slots, take},
};

use crate::state::{FileState, PAGE_HASH_BYTES};

/// Location of a unit; all zero if it is not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Location {
    pack: u32,
    offset: u32,
    /// A pack has at most 32 MiB.
    frame_at: u32,
    /// Never zero: a frame has a description.
    frame_bytes: u32,
}

impl Record for Location {
    const BYTES: usize = 16;

    fn encode(&self, out: &mut Vec<u8>) {
        let Self { pack, offset, frame_at, frame_bytes } = self;
        [pack, offset, frame_at, frame_bytes].into_iter().for_each(|field| out.extend(field.to_be_bytes()));
    }

    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut field = || take(&mut bytes).map(u32::from_be_bytes);
        Some(Self { pack: field()?, offset: field()?, frame_at: field()?, frame_bytes: field()? })
    }
}

/// The locations of the units of all files of a run, in the order of the hashes in its state.
#[derive(Clone, Debug)]
pub(super) struct UnitMap(Slots<Location>);

impl UnitMap {
    /// In an empty file.
    pub(super) fn new(file: File) -> Self {
        Self(Slots::new(file))
    }

    /// Records where a part of a file is, which consists of whole units; the last unit of the file may be shorter.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] if it does not begin with a unit, or is in no pack of this format.
    pub(super) fn put(&self, state: &FileState, run: &FileRun) -> io::Result<()> {
        let unit_bytes = u64::from(state.unit_bytes.max(1));
        let (first, rest) = (run.at / unit_bytes, run.at % unit_bytes);
        let frame_at = u32::try_from(run.frame_at).ok().filter(|_| rest == 0 && run.frame_bytes > 0);
        let frame_at = frame_at.ok_or(io::ErrorKind::InvalidInput)?;
        let location = |unit: u64| Location {
            pack: run.pack,
            offset: run.offset.saturating_add(u32::try_from(unit.saturating_mul(unit_bytes)).unwrap_or(u32::MAX)),
            frame_at,
            frame_bytes: run.frame_bytes,
        };
        self.0.put(slot(state, first), (0..run.bytes.div_ceil(unit_bytes)).map(location))
    }

    /// Waits until all locations are on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.sync()
    }

    /// Calls `each` for the parts of a file of this length in some of its units, in order. What continues the part
    /// before it, in the file and in the frame, belongs to it.
    pub(super) fn each_run(
        &self,
        state: &FileState,
        file_bytes: u64,
        units: Range<u64>,
        each: &mut dyn FnMut(FileRun) -> io::Result<()>,
    ) -> io::Result<()> {
        let locations = self.0.list(slot(state, units.start), units.end.saturating_sub(units.start));
        let unit_bytes = u64::from(state.unit_bytes);
        let mut last: Option<FileRun> = None;
        for (unit, location) in units.zip(locations.iter()) {
            let Location { pack, offset, frame_at, frame_bytes } = location?;
            let at = unit.saturating_mul(unit_bytes);
            let bytes = unit_bytes.min(file_bytes.saturating_sub(at));
            if frame_bytes == 0 || bytes == 0 {
                continue;
            }
            let run = FileRun { at, bytes, pack, offset, frame_at: u64::from(frame_at), frame_bytes };
            if last.as_mut().is_some_and(|last| join(last, &run)) {
                continue;
            }
            last.replace(run).map_or(Ok(()), &mut *each)?;
        }
        last.map_or(Ok(()), each)
    }

    /// The parts of [`Self::each_run`].
    pub(super) fn runs(&self, state: &FileState, file_bytes: u64, units: Range<u64>) -> io::Result<Vec<FileRun>> {
        let mut runs = Vec::new();
        self.each_run(state, file_bytes, units, &mut |run| {
            runs.push(run);
            Ok(())
        })?;
        Ok(runs)
    }
}

/// The place of a unit of a file.
fn slot(state: &FileState, unit: u64) -> u64 {
    (state.pages_at / PAGE_HASH_BYTES).saturating_add(unit)
}

/// Adds a part; joins it with the last one if it continues it.
pub(super) fn push(runs: &mut Vec<FileRun>, run: FileRun) {
    if !runs.last_mut().is_some_and(|last| join(last, &run)) {
        runs.push(run);
    }
}

/// Adds a part to the one before it, if it continues that; returns whether it does.
fn join(last: &mut FileRun, next: &FileRun) -> bool {
    let joins = last.is_followed_by(next);
    if joins {
        last.bytes = last.bytes.saturating_add(next.bytes);
    }
    joins
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: u64 = 16 << 10;

    fn state(first: u64) -> FileState {
        FileState {
            unit_bytes: UNIT as u32,
            context: 0,
            pages_at: first * PAGE_HASH_BYTES,
            sound: false,
            decrypted_from: 0,
            seen: None,
        }
    }

    fn run(at: u64, units: u64, pack: u32, offset: u64) -> FileRun {
        let (at, bytes, offset) = (at * UNIT, units * UNIT, (offset * UNIT) as u32);
        FileRun { at, bytes, pack, offset, frame_at: 700, frame_bytes: 90 }
    }

    #[test]
    fn parts_are_in_the_order_of_the_file_and_joined() {
        let map = UnitMap::new(tempfile::tempfile().unwrap());
        let (one, other) = (state(0), state(10));
        // As threads store them: a frame of scattered units, the next chunk before it, another file.
        for part in [run(4, 2, 1, 0), run(0, 3, 0, 0), run(8, 1, 1, 2), run(6, 2, 1, 7), run(3, 1, 0, 3)] {
            map.put(&one, &part).unwrap();
        }
        map.put(&other, &FileRun { bytes: 100, ..run(1, 1, 5, 1) }).unwrap();
        let parts = map.runs(&one, 10 * UNIT, 0..10).unwrap();
        assert_eq!(parts, [run(0, 4, 0, 0), run(4, 2, 1, 0), run(6, 2, 1, 7), run(8, 1, 1, 2)]);
        assert_eq!(map.runs(&one, 10 * UNIT, 1..5).unwrap(), [run(1, 3, 0, 1), run(4, 1, 1, 0)]);
        assert_eq!(map.runs(&other, UNIT + 100, 0..2).unwrap(), [FileRun { bytes: 100, ..run(1, 1, 5, 1) }]);
        assert!(map.runs(&state(12), 5 * UNIT, 0..5).unwrap().is_empty(), "behind the end of the map");
    }

    #[test]
    fn what_is_no_part_of_this_format_is_refused() {
        let map = UnitMap::new(tempfile::tempfile().unwrap());
        let sound = run(4, 2, 1, 0);
        for part in
            [FileRun { at: 100, ..sound }, FileRun { frame_bytes: 0, ..sound }, FileRun { frame_at: 1 << 40, ..sound }]
        {
            assert!(map.put(&state(0), &part).is_err(), "{part:?}");
        }
    }
}
