//! BLAKE3 of files, made of the hashes of their chunks.
//!
//! BLAKE3 is a tree. A chunk of [`CHUNK_BYTES`], a power of two, is a whole subtree, so its hash
//! (its chaining value) can be made and compared alone, in any order and on any thread, and all of a
//! file's together give the very hash that `b3sum` prints for the file.

use blake3::{
    Hasher,
    hazmat::{ChainingValue, HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root},
};

/// Bytes of every chunk of a file but the last.
pub const CHUNK_BYTES: usize = 1 << 20;
/// Bytes of a hash.
pub const HASH_BYTES: usize = 32;

/// BLAKE3 of a file, or of the list of all files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hash(pub [u8; HASH_BYTES]);

impl Hash {
    /// Of a few bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// From the text that `Display` writes.
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

/// Number of chunks in a file. An empty file has one, of no bytes.
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

/// Whether the hash of a chunk of a file that had `before` bytes counts now that it has `now`: the chunk has
/// the same bytes of the file, and has the same part in the file's tree.
#[must_use]
pub const fn is_same_chunk(before: u64, now: u64, chunk: u64) -> bool {
    chunk < chunks_of(before)
        && chunk < chunks_of(now)
        && chunk_bytes(before, chunk) == chunk_bytes(now, chunk)
        && (chunks_of(before) == 1) == (chunks_of(now) == 1)
}

/// Makes the hash of a chunk piece by piece, each while it is still in the processor's cache.
#[derive(Debug)]
pub struct ChunkHasher {
    hasher: Hasher,
    whole_file: bool,
}

impl ChunkHasher {
    /// For chunk number `chunk` of a file of `file_bytes`.
    #[must_use]
    pub fn new(file_bytes: u64, chunk: u64) -> Self {
        let mut hasher = Hasher::new();
        hasher.set_input_offset(chunk.saturating_mul(CHUNK_BYTES as u64));
        Self { hasher, whole_file: chunks_of(file_bytes) == 1 }
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }

    /// The hash. That of a file's only chunk is the file's.
    #[must_use]
    pub fn finish(&self) -> Hash {
        if self.whole_file { Hash(*self.hasher.finalize().as_bytes()) } else { Hash(self.hasher.finalize_non_root()) }
    }
}

/// Hash of chunk number `chunk` of a file of `file_bytes`.
#[must_use]
pub fn chunk_hash(file_bytes: u64, chunk: u64, bytes: &[u8]) -> Hash {
    let mut hasher = ChunkHasher::new(file_bytes, chunk);
    hasher.update(bytes);
    hasher.finish()
}

/// Hash of a file from those of all its chunks; `None` if there are none.
#[must_use]
pub fn file_hash(chunks: &[Hash]) -> Option<Hash> {
    match chunks {
        [] => None,
        [only] => Some(*only),
        many => {
            let (left, right) = many.split_at(left_of(many.len()));
            let root = merge_subtrees_root(&subtree(left), &subtree(right), Mode::Hash);
            Some(Hash(*root.as_bytes()))
        }
    }
}

/// Chunks of the left subtree: the largest power of two below their number.
const fn left_of(chunks: usize) -> usize {
    chunks.div_ceil(2).next_power_of_two()
}

/// Recursion is as deep as the logarithm of the number of chunks.
fn subtree(chunks: &[Hash]) -> ChainingValue {
    match chunks {
        [] => [0; HASH_BYTES],
        [only] => only.0,
        many => {
            let (left, right) = many.split_at(left_of(many.len()));
            merge_subtrees_non_root(&subtree(left), &subtree(right), Mode::Hash)
        }
    }
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
            assert_eq!(file_hash(&hashes), Some(Hash::of(&bytes)), "{length}");
        }
    }

    #[test]
    fn chunks_count_on_if_their_place_in_the_tree_is_the_same() {
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

    #[test]
    fn the_left_subtree_is_the_largest_power_of_two_below() {
        let expected = [(2, 1), (3, 2), (4, 2), (5, 4), (8, 4), (9, 8), (16, 8), (17, 16)];
        for (chunks, left) in expected {
            assert_eq!(left_of(chunks), left, "{chunks}");
        }
    }
}
