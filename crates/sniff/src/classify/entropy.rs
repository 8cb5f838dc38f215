//! Shannon entropy: a hint about what unknown bytes may be, never a proof. Compressed data looks like encrypted data.

use serde::{Deserialize, Serialize};

/// Entropy of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Entropy {
    /// Bits per byte, from 0 to 8; a sample of n bytes has at most log2(n).
    pub bits_per_byte: f64,
    /// Size of the sample, in bytes.
    pub sample_bytes: usize,
}

impl Entropy {
    /// Entropy of these bytes.
    #[must_use]
    pub fn of(sample: &[u8]) -> Self {
        let mut counts = [0_u32; 256];
        for byte in sample {
            if let Some(count) = counts.get_mut(usize::from(*byte)) {
                *count = count.saturating_add(1);
            }
        }
        let total = f64::from(u32::try_from(sample.len()).unwrap_or(u32::MAX));
        let share = |count: &u32| f64::from(*count) / total;
        let bits: f64 = counts.iter().filter(|count| **count > 0).map(share).map(|share| -share * share.log2()).sum();
        // Rounded to two decimals, so that equal captures give equal reports.
        Self { bits_per_byte: (bits.max(0.0) * 100.0).round() / 100.0, sample_bytes: sample.len() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_none_for_one_byte_and_all_for_all() {
        assert_eq!(Entropy::of(&[7; 1000]).bits_per_byte, 0.0);
        assert_eq!(Entropy::of(&[]).bits_per_byte, 0.0);
        let all: Vec<u8> = (0..=255).cycle().take(2560).collect();
        assert_eq!(Entropy::of(&all), Entropy { bits_per_byte: 8.0, sample_bytes: 2560 });
        assert!(Entropy::of(b"SELECT name FROM customers WHERE id = 7").bits_per_byte < 5.0);
    }
}
