//! Bytes that are all zero.

/// Whether every byte is zero; true for an empty slice. Stops at the first block that is not zero.
///
/// Comparing slices calls `memcmp`, which is fast in builds without optimisation, too; a loop over bytes is not.
#[must_use]
pub fn all_zero(bytes: &[u8]) -> bool {
    const ZEROS: [u8; 4096] = [0; 4096];
    bytes.chunks(ZEROS.len()).all(|part| ZEROS.get(..part.len()) == Some(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_bit_anywhere_is_detected() {
        for len in [0, 1, 15, 4095, 4096, 4097, 8192, 10_000] {
            let mut bytes = vec![0; len];
            assert!(all_zero(&bytes), "{len}");
            for at in [0, 1, 4095, 4096, len.saturating_sub(1)].into_iter().filter(|at| *at < len) {
                bytes[at] = 0x80;
                assert!(!all_zero(&bytes), "{len} {at}");
                bytes[at] = 0;
            }
        }
    }
}
