//! Where the bytes of all files are, in files without a name: a backup of terabytes has too many parts and hashes for
//! memory, and its threads find them in no order. Each unit of each file has a place for its location in the packs, and
//! each chunk has one for its hash.

use std::{fs::File, io};

use archive::{List, Run as FileRun, list::Slots};
use codec::hash::{Hash, chunks_of};
use transfer::plan::Plan;

use super::{
    files::{FilePlan, Files},
    unit_map::UnitMap,
};

/// Hashes and locations of all files.
#[derive(Clone, Debug)]
pub(super) struct Contents {
    units: UnitMap,
    chunks: Slots<Hash>,
}

impl Contents {
    /// In two empty files.
    pub(super) fn new(units: File, chunks: File) -> Self {
        Self { units: UnitMap::new(units), chunks: Slots::new(chunks) }
    }

    /// Waits until all of it is on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.units.sync()?;
        self.chunks.sync()
    }

    /// Records where a part of a file is.
    pub(super) fn put_run(&self, file: &FilePlan, run: &FileRun) -> io::Result<()> {
        self.units.put(&file.state, run)
    }

    /// Records the hashes of consecutive chunks of a file, from chunk `first` on.
    pub(super) fn put_chunks(&self, file: &FilePlan, first: u64, hashes: &[Hash]) -> io::Result<()> {
        self.chunks.put(file.first_chunk.saturating_add(first), hashes.iter().copied())
    }

    /// The hashes of a file of this length.
    pub(super) fn chunks(&self, file: &FilePlan, file_bytes: u64) -> List<Hash> {
        self.chunks.list(file.first_chunk, chunks_of(file_bytes))
    }

    /// Calls `each` for the parts of all files, in order, with the number of the file.
    pub(super) fn each_run(
        &self,
        plan: &Plan,
        files: &Files,
        each: &mut dyn FnMut(usize, FileRun) -> io::Result<()>,
    ) -> io::Result<()> {
        for (number, planned) in plan.entries.iter().enumerate() {
            let Some((file, bytes)) = files.get(number).zip(planned.file_bytes()) else { continue };
            let units = 0..bytes.div_ceil(file.unit_bytes as u64);
            self.units.each_run(&file.state, bytes, units, &mut |run| each(number, run))?;
        }
        Ok(())
    }
}
