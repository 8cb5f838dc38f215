//! The chunks of a file that a restore still has to fetch.

use archive::Run;
use codec::hash::CHUNK_BYTES;

/// Chunks, by number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum MissingChunks {
    /// All of them.
    All,
    /// Those whose bit is set: a bit for each chunk takes 128 KiB for each TiB, ranges could take megabytes.
    Some(Vec<u64>),
    /// None; also for an entry that is no file.
    #[default]
    None,
}

impl MissingChunks {
    /// Adds a chunk.
    pub(super) fn insert(&mut self, chunk: u64) {
        let (word, bit) = place(chunk);
        if *self == Self::None {
            *self = Self::Some(Vec::new());
        }
        let Self::Some(words) = self else { return };
        if words.len() <= word {
            words.resize(word.saturating_add(1), 0);
        }
        words.iter_mut().skip(word).take(1).for_each(|word| *word |= bit);
    }

    pub(super) fn has(&self, chunk: u64) -> bool {
        let (word, bit) = place(chunk);
        match self {
            Self::All => true,
            Self::Some(words) => words.get(word).is_some_and(|word| word & bit != 0),
            Self::None => false,
        }
    }

    /// The parts of a run in missing chunks.
    pub(super) fn parts(&self, run: &Run) -> Vec<Run> {
        if *self == Self::All {
            return vec![*run];
        }
        let chunk_bytes = CHUNK_BYTES as u64;
        let chunks = run.at / chunk_bytes..run.end().div_ceil(chunk_bytes);
        let begin = |chunk: u64| chunk.saturating_mul(chunk_bytes);
        let missing = chunks.filter(|chunk| self.has(*chunk));
        missing.filter_map(|chunk| run.within(begin(chunk), begin(chunk.saturating_add(1)))).collect()
    }

    /// Whether a run has bytes in a missing chunk.
    pub(super) fn overlaps(&self, run: &Run) -> bool {
        *self == Self::All || !self.parts(run).is_empty()
    }
}

/// The word of a chunk's bit, and the bit.
fn place(chunk: u64) -> (usize, u64) {
    (usize::try_from(chunk / 64).unwrap_or(usize::MAX), 1 << (chunk % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_run_is_fetched_if_a_missing_chunk_has_bytes_of_it() {
        let mut missing = MissingChunks::default();
        assert!(!missing.has(0));
        [100, 0, 101, 103].into_iter().for_each(|chunk| missing.insert(chunk));
        let there: Vec<u64> = (0..200).filter(|chunk| missing.has(*chunk)).collect();
        assert_eq!(there, [0, 100, 101, 103]);
        let run = |at: u64, bytes: u64| Run { at, bytes, pack: 0, offset: 7, frame_at: 0, frame_bytes: 0 };
        let parts = |at: u64, bytes: u64| -> Vec<(u64, u64, u32)> {
            let parts = missing.parts(&run(at, bytes));
            parts.iter().map(|part| (part.at, part.bytes, part.offset)).collect()
        };
        assert_eq!(parts(3, 9), [(3, 9, 7)]);
        assert_eq!(parts(MIB - 2, 9), [(MIB - 2, 2, 7)]);
        assert_eq!(parts(MIB, 9), []);
        assert_eq!(parts(101 * MIB - 5, 10), [(101 * MIB - 5, 5, 7), (101 * MIB, 5, 12)]);
        assert_eq!(parts(103 * MIB - 5, 10), [(103 * MIB, 5, 12)]);
        assert!(missing.overlaps(&run(0, 1)) && !missing.overlaps(&run(MIB, MIB)));

        assert_eq!(MissingChunks::All.parts(&run(MIB - 2, 9)), [run(MIB - 2, 9)]);
        assert!(MissingChunks::All.has(1 << 40) && MissingChunks::All.overlaps(&run(5, 1)));
        assert!(!MissingChunks::None.overlaps(&run(5, 1)));
    }
}
