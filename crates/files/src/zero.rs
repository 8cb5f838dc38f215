//! Bytes that are all zero.

/// Size of the blocks that are judged as a whole.
const BLOCK: usize = 512;

/// Whether every byte is zero; true for an empty slice. Stops at the first block that is not zero.
///
/// The compiler makes vector instructions of this loop. Comparing slices would call `memcmp`, which takes the bytes one by
/// one in musl, the C library of releases.
#[must_use]
pub fn all_zero(bytes: &[u8]) -> bool {
    bytes.chunks(BLOCK).all(|block| block.iter().fold(0, |sum, byte| sum | byte) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bit_anywhere_is_detected() {
        for len in [0, 1, 15, 511, 512, 513, 4096, 10_000] {
            let mut bytes = vec![0; len];
            assert!(all_zero(&bytes), "{len}");
            for at in [0, 1, 511, 512, len.saturating_sub(1)].into_iter().filter(|at| *at < len) {
                bytes[at] = 0x80;
                assert!(!all_zero(&bytes), "{len} {at}");
                bytes[at] = 0;
            }
        }
    }
}
