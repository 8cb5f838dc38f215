//! BLAKE3 of files, computed from the hashes of their chunks.
//!
//! BLAKE3 is a tree. A chunk of [`CHUNK_BYTES`], a power of two, is a whole subtree, so its hash
//! (its chaining value) can be computed and compared alone, in any order and on any thread. The
//! hashes of all chunks of a file give the hash that `b3sum` prints for the file.

mod tree;

use blake3::{
    Hasher,
    hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root},
};

pub use self::tree::Tree;

/// Bytes of every chunk of a file except the last.
pub const CHUNK_BYTES: usize = 1 << 20;
/// Bytes of a hash.
pub const HASH_BYTES: usize = 32;

/// BLAKE3 of a file, or of the list of all files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hash(pub [u8; HASH_BYTES]);

impl Hash {
    /// Computes the hash of a short byte string.
    #[must_use]
    pub fn compute(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Parses the text that `Display` writes.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        blake3::Hash::from_hex(text).ok().map(|hash| Self(*hash.as_bytes()))
    }
}

impl std::fmt::Display for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(blake3::Hash::from_bytes(self.0).to_hex().as_str())
    }
}

impl std::fmt::Debug for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

/// Number of chunks in a file. An empty file has one empty chunk.
#[must_use]
pub const fn chunks_of(file_bytes: u64) -> u64 {
    if file_bytes == 0 { 1 } else { file_bytes.div_ceil(CHUNK_BYTES as u64) }
}

/// Bytes of one chunk of a file.
#[must_use]
pub const fn chunk_bytes(file_bytes: u64, chunk: u64) -> usize {
    let from = chunk.saturating_mul(CHUNK_BYTES as u64);
    let left = file_bytes.saturating_sub(from);
    #[allow(clippy::cast_possible_truncation, reason = "less than CHUNK_BYTES")]
    if left < CHUNK_BYTES as u64 { left as usize } else { CHUNK_BYTES }
}

/// Whether the hash of a chunk of a file that had `before` bytes is still valid when the file has
/// `now` bytes: the chunk covers the same bytes and has the same position in the tree.
#[must_use]
pub const fn is_same_chunk(before: u64, now: u64, chunk: u64) -> bool {
    chunk < same_chunks(before, now)
}

/// Number of leading chunks that keep their hash when the length of a file changes: all that exist before and after,
/// without the last of them if its length changes. 0 if the file has a single chunk either before or after the change,
/// because a single chunk is hashed as the root of the tree.
#[must_use]
pub const fn same_chunks(before: u64, now: u64) -> u64 {
    let (before_chunks, now_chunks) = (chunks_of(before), chunks_of(now));
    let last = if before_chunks < now_chunks { before_chunks - 1 } else { now_chunks - 1 };
    if (before_chunks == 1) != (now_chunks == 1) {
        return 0;
    }
    if chunk_bytes(before, last) == chunk_bytes(now, last) { last + 1 } else { last }
}

/// Computes the hash of a chunk piece by piece, while each piece is in the processor's cache.
#[derive(Debug)]
pub struct ChunkHasher {
    hasher: Hasher,
    whole_file: bool,
}

impl ChunkHasher {
    /// Creates a hasher for chunk number `chunk` of a file of `file_bytes`.
    #[must_use]
    pub fn new(file_bytes: u64, chunk: u64) -> Self {
        let hasher = hasher_at(chunk.saturating_mul(CHUNK_BYTES as u64));
        Self { hasher, whole_file: chunks_of(file_bytes) == 1 }
    }

    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    /// The hash of the chunk. If the file has only one chunk, it is the hash of the file.
    #[must_use]
    pub fn finish(&self) -> Hash {
        if self.whole_file { Hash(*self.hasher.finalize().as_bytes()) } else { Hash(self.hasher.finalize_non_root()) }
    }
}

/// Computes in one pass the hash of a chunk and a hash of each of its units, such as pages.
///
/// A unit is a subtree of the chunk: its hash depends on its bytes and on its offset in the file.
#[derive(Debug)]
pub struct UnitHasher {
    /// Offset of the current unit in the file.
    offset: u64,
    unit_bytes: usize,
    whole_file: bool,
    hasher: Hasher,
    /// Bytes of the current unit so far.
    filled: usize,
    units: Vec<Hash>,
}

impl UnitHasher {
    /// Creates a hasher for chunk number `chunk` of a file of `file_bytes`. `unit_bytes` is a power of two from 1024 to
    /// [`CHUNK_BYTES`].
    #[must_use]
    pub fn new(file_bytes: u64, chunk: u64, unit_bytes: usize) -> Self {
        let offset = chunk.saturating_mul(CHUNK_BYTES as u64);
        let units = Vec::with_capacity(CHUNK_BYTES / unit_bytes.max(1));
        Self { offset, unit_bytes, whole_file: chunks_of(file_bytes) == 1, hasher: hasher_at(offset), filled: 0, units }
    }

    /// Adds the next bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            // Only the next byte ends a full unit. If no byte follows, the unit may be the only one, and is then the
            // root of the tree.
            if self.filled == self.unit_bytes {
                self.units.push(Hash(self.hasher.finalize_non_root()));
                self.offset += self.unit_bytes as u64;
                (self.hasher, self.filled) = (hasher_at(self.offset), 0);
            }
            let room = self.unit_bytes - self.filled;
            let (taken, rest) = bytes.split_at_checked(room).unwrap_or((bytes, &[]));
            self.hasher.update(taken);
            self.filled += taken.len();
            bytes = rest;
        }
    }

    /// The hash of the chunk, equal to that of [`ChunkHasher`], and the hash of each of its units.
    #[must_use]
    pub fn finish(mut self) -> (Hash, Vec<Hash>) {
        if self.units.is_empty() && self.whole_file {
            let hash = Hash(*self.hasher.finalize().as_bytes());
            return (hash, if self.filled == 0 { Vec::new() } else { vec![hash] });
        }
        self.units.push(Hash(self.hasher.finalize_non_root()));
        (joined(&self.units, self.whole_file), self.units)
    }
}

/// A hasher for a subtree that begins at this offset of the file.
fn hasher_at(offset: u64) -> Hasher {
    let mut hasher = Hasher::new();
    hasher.set_input_offset(offset);
    hasher
}

/// Hash of a tree of subtrees, which all have the same length, except that the last may be shorter. As in BLAKE3, the
/// left half holds a power of two of them: the largest that leaves something for the right half.
fn joined(subtrees: &[Hash], is_root: bool) -> Hash {
    if let [] | [_] = subtrees {
        return subtrees.first().copied().unwrap_or(Hash([0; HASH_BYTES]));
    }
    let (left, right) = subtrees.split_at(subtrees.len().div_ceil(2).next_power_of_two());
    let [left, right] = [left, right].map(|half| joined(half, false).0);
    Hash(if is_root {
        *merge_subtrees_root(&left, &right, Mode::Hash).as_bytes()
    } else {
        merge_subtrees_non_root(&left, &right, Mode::Hash)
    })
}

/// Hash of chunk number `chunk` of a file of `file_bytes`.
#[must_use]
pub fn chunk_hash(file_bytes: u64, chunk: u64, bytes: &[u8]) -> Hash {
    let mut hasher = ChunkHasher::new(file_bytes, chunk);
    hasher.update(bytes);
    hasher.finish()
}

/// Computes the hash of a file from the hashes of all its chunks; `None` if there are none.
#[must_use]
pub fn file_hash(chunks: &[Hash]) -> Option<Hash> {
    (!chunks.is_empty()).then(|| joined(chunks, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_file_is_blake3_of_its_bytes() {
        for length in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES, 7 * CHUNK_BYTES + 12345] {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7 % 251) as u8).collect();
            let total = length as u64;
            let mut hashes = Vec::new();
            for chunk in 0..chunks_of(total) {
                let from = chunk as usize * CHUNK_BYTES;
                let bytes = &bytes[from..from + chunk_bytes(total, chunk)];
                hashes.push(chunk_hash(total, chunk, bytes));
            }
            assert_eq!(file_hash(&hashes), Some(Hash::compute(&bytes)), "{length}");
        }
    }

    #[test]
    fn one_pass_gives_the_hashes_of_a_chunk_and_of_its_units() {
        let lengths =
            [0, 1, 1024, 16384, 16385, 50_000, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES];
        for (length, unit_bytes) in
            lengths.into_iter().flat_map(|length| [1024, 16384, 65536].map(|unit| (length, unit)))
        {
            let bytes: Vec<u8> = (0..length).map(|at| (at * 7 % 251) as u8).collect();
            for (chunk, part) in (0..chunks_of(length as u64)).zip(bytes.chunks(CHUNK_BYTES).chain([&[][..]])) {
                let mut hasher = UnitHasher::new(length as u64, chunk, unit_bytes);
                part.chunks(10_007).for_each(|piece| hasher.update(piece));
                let (hash, units) = hasher.finish();
                assert_eq!(hash, chunk_hash(length as u64, chunk, part), "{length} {unit_bytes} {chunk}");
                assert_eq!(units.len(), part.len().div_ceil(unit_bytes));
            }
        }
    }

    #[test]
    fn the_hash_of_a_unit_shows_its_bytes_and_its_offset() {
        let units = |bytes: &[u8]| {
            let mut hasher = UnitHasher::new(10 << 20, 3, 4096);
            hasher.update(bytes);
            hasher.finish().1
        };
        let (same, mut changed) = (vec![7; 5 * 4096], vec![7; 5 * 4096]);
        changed[4 * 4096 - 1] = 8;
        let (before, after) = (units(&same), units(&changed));
        let differs: Vec<bool> = before.iter().zip(&after).map(|(before, after)| before != after).collect();
        assert_eq!(differs, [false, false, false, true, false]);
        assert!(before.windows(2).all(|two| two[0] != two[1]));
    }

    #[test]
    fn chunks_are_reused_at_the_same_position_of_the_tree() {
        let one = CHUNK_BYTES as u64;
        for (before, now, chunk, same) in [
            (3 * one, 4 * one, 1, true),
            (3 * one, 2 * one, 1, true),
            (3 * one, 2 * one, 2, false),
            (3 * one - 1, 3 * one, 2, false),
            (3 * one, 3 * one - 1, 1, true),
            (2 * one, one, 0, false),
            (one, 2 * one, 0, false),
            (one, one, 0, true),
            (0, 0, 0, true),
            (0, 1, 0, false),
        ] {
            assert_eq!(is_same_chunk(before, now, chunk), same, "{before} {now} {chunk}");
        }
    }
}
