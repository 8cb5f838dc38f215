//! Statistical test: do bytes look like ciphertext?
//!
//! Ciphertext is indistinguishable from uniformly random bytes; server files in the clear
//! (rows, headers, text, padding) are far from it. The test is Pearson's chi-square of
//! the 256 byte values against the uniform distribution: it is about 255 ± 23 for random
//! bytes of any length and grows with the length for anything else. [`THRESHOLD`] is 600.
//!
//! Ciphertext is wrongly called "not random" with at most these probabilities (exact distribution
//! of the sum over 256 Poisson counts, times √(2πn) to condition on the length): 10⁻¹² for 256
//! bytes, 10⁻¹⁵ for 512 (a redo block), 10⁻¹⁸ for 1024 and less for more. Clear bytes are wrongly
//! called "random" only if they are random already: compressed data, media files, application-side
//! encryption. So "looks random" alone does not prove encryption, while "does not look random"
//! proves clear text.

use files::ReadAt;
use serde::{Deserialize, Serialize};

use crate::{
    bytes::{all_zero, as_u64, bump},
    error::ScanError,
    read::{chunks, fill, length},
};

/// Minimum number of bytes that can be judged.
pub const MIN_BYTES: usize = 256;

/// A chi-square above this is not random; the module documentation has the probabilities.
pub const THRESHOLD: f64 = 600.0;

/// At most this many bytes are counted, so that no counter overflows.
const MAX_BYTES: usize = 1 << 24;

/// Bytes of one window of [`sample`].
const WINDOW_BYTES: usize = 4096;

/// Whether `bytes` look uniformly random, as ciphertext does; `None` if there are fewer
/// than [`MIN_BYTES`].
#[must_use]
pub fn looks_random(bytes: &[u8]) -> Option<bool> {
    chi_square(bytes).map(|chi_square| chi_square < THRESHOLD)
}

/// Result of sampling a file without headers: an unlinked temporary file, a write-set cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamSample {
    /// Length of the file in bytes.
    pub file_bytes: u64,
    /// Bytes read.
    pub scanned_bytes: u64,
    /// Windows (4 KiB each) that are all zero.
    pub empty: u64,
    /// Windows that look random: encrypted or compressed.
    pub random: u64,
    /// Windows that do not look random: clear text.
    pub clear: u64,
    /// Offset of the first clear window.
    pub first_clear_offset: Option<u64>,
}

impl StreamSample {
    /// Whether any clear text was found.
    #[must_use]
    pub const fn has_clear(&self) -> bool {
        self.clear > 0
    }
}

/// Judges windows of 4 KiB of `source` from offset `from` on. Reads at most `max_bytes`, evenly
/// spread over a longer file. A last window under 256 bytes is only tested for zeros and ASCII
/// text.
///
/// # Errors
/// [`ScanError::Io`].
pub fn sample<R: ReadAt + ?Sized>(source: &R, from: u64, max_bytes: u64) -> Result<StreamSample, ScanError> {
    let file_bytes = length(source)?;
    let mut found = StreamSample { file_bytes, ..StreamSample::default() };
    let mut buf = vec![0; WINDOW_BYTES];
    for offset in chunks(from, file_bytes, as_u64(WINDOW_BYTES), max_bytes) {
        let window = fill(source, offset, &mut buf)?;
        found.scanned_bytes = found.scanned_bytes.saturating_add(as_u64(window.len()));
        if all_zero(window) {
            bump(&mut found.empty);
            continue;
        }
        match judge_window(window) {
            Some(true) => bump(&mut found.random),
            Some(false) => {
                bump(&mut found.clear);
                found.first_clear_offset.get_or_insert(offset);
            }
            None => {}
        }
    }
    Ok(found)
}

/// [`looks_random`]; short windows are clear if all bytes are ASCII text. Zero padding at the end
/// of a window is ignored, so that a half-filled window of ciphertext is not called clear.
fn judge_window(window: &[u8]) -> Option<bool> {
    let end = window.iter().rposition(|byte| *byte != 0).map_or(0, |at| at.saturating_add(1));
    let body = window.get(..end).unwrap_or_default();
    looks_random(body).or_else(|| {
        let text = body.len() >= 8 && body.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
        text.then_some(false)
    })
}

fn chi_square(bytes: &[u8]) -> Option<f64> {
    if bytes.len() < MIN_BYTES {
        return None;
    }
    let total = as_f64(bytes.len());
    let squares: f64 = histogram(bytes).iter().map(|count| f64::from(*count) * f64::from(*count)).sum();
    Some(squares * 256.0 / total - total)
}

/// How often each byte value occurs in the first 16 MiB of `bytes`. Four tables alternate: with a
/// single one, consecutive equal bytes would wait for each other's update.
fn histogram(bytes: &[u8]) -> [u32; 256] {
    let bytes = bytes.get(..bytes.len().min(MAX_BYTES)).unwrap_or_default();
    let mut tables = [[0_u32; 256]; 4];
    let (chunks, rest) = bytes.as_chunks::<4>();
    for chunk in chunks {
        for (table, byte) in tables.iter_mut().zip(chunk) {
            count(table, *byte);
        }
    }
    let [mut total, others @ ..] = tables;
    rest.iter().for_each(|byte| count(&mut total, *byte));
    for table in others {
        for (sum, more) in total.iter_mut().zip(table) {
            *sum = sum.wrapping_add(more);
        }
    }
    total
}

fn count(table: &mut [u32; 256], byte: u8) {
    if let Some(count) = table.get_mut(usize::from(byte)) {
        *count = count.wrapping_add(1);
    }
}

fn as_f64(len: usize) -> f64 {
    f64::from(u32::try_from(len.min(MAX_BYTES)).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A fixed pseudo-random stream (splitmix64).
    fn random(len: usize, mut seed: u64) -> Vec<u8> {
        let mut out = Vec::new();
        while out.len() < len {
            seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = seed;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            out.extend((z ^ (z >> 31)).to_le_bytes());
        }
        out.truncate(len);
        out
    }

    #[test]
    fn random_bytes_look_random() {
        for len in [256, 500, 1024, 4096, 16384, 65536] {
            for seed in 0..200 {
                assert_eq!(looks_random(&random(len, seed)), Some(true), "{len} {seed}");
            }
        }
    }

    #[test]
    fn text_and_base64_do_not_look_random() {
        const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        for seed in 0..200 {
            let text: Vec<u8> = random(256, seed).iter().map(|b| BASE64[usize::from(b % 64)]).collect();
            assert_eq!(looks_random(&text), Some(false));
        }
        assert_eq!(looks_random(&[0; 256]), Some(false));
    }

    #[test]
    fn short_input_is_not_judged() {
        assert_eq!(looks_random(&[7; 255]), None);
    }

    #[test]
    fn sample_finds_the_clear_window() {
        let mut file = random(64 << 10, 1);
        file[20480..24576].copy_from_slice(&b"sealant note ".repeat(400)[..4096]);
        file.extend([0; 8192]);
        let found = sample(&file, 0, u64::MAX).unwrap();
        assert_eq!((found.empty, found.random, found.clear), (2, 15, 1));
        assert_eq!(found.first_clear_offset, Some(20480));
        assert!(found.has_clear());
    }

    #[test]
    fn sample_reads_no_more_than_asked() {
        let file = random(1 << 20, 1);
        assert_eq!(sample(&file, 0, 65536).unwrap().scanned_bytes, 65536);
    }
}
