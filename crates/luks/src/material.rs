//! Checks whether key material looks random, as it must.
//!
//! The material of a slot is ciphertext, so every 512-byte block of it looks uniformly random. A block that does not
//! was overwritten, and the key is lost: the anti-forensic splitter spreads every bit of the key over the whole
//! material.

use std::io;

use crate::volume::{Format, Slot, Volume};
use files::{ReadAt, read_bytes};

/// Blocks are judged one by one; in a larger unit, small damage would go unnoticed.
const BLOCK_BYTES: usize = 512;
/// Bytes read at a time.
const BUFFER_BYTES: usize = 1 << 18;
/// Anti-forensic stripes of the key material of a slot. Every cryptsetup uses this number, whatever the metadata says
/// (`LUKS_STRIPES`).
pub(crate) const STRIPES: u64 = 4000;
/// Bytes after the metadata that are read to see whether more than the header was stored.
const BEYOND_BYTES: u64 = 1 << 20;

/// Maximum sum of squared counts of the 256 byte values in a random block.
///
/// For 512 bytes, Pearson's chi-square is half this sum minus 512; for random bytes it is about 255 ± 23. 2224
/// corresponds to a chi-square of 600, which one random block in 10¹⁵ reaches, and any block with 30 equal bytes.
const MAX_SQUARES: u64 = 2224;

/// Blocks of key material that are not random.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damage {
    /// Number of blocks.
    pub(crate) blocks: u64,
    /// Offset of the first one on the device.
    pub(crate) first: u64,
}

/// Damage of a slot's key material, as far as it can be read.
pub(crate) fn damage(source: &dyn ReadAt, slot: &Slot) -> io::Result<Option<Damage>> {
    let bytes = u64::from(slot.key_bytes).saturating_mul(STRIPES).min(slot.area_bytes);
    let end = slot.area_offset.saturating_add(bytes);
    let (mut at, mut found) = (slot.area_offset, None::<Damage>);
    while at < end {
        let length = usize::try_from(end.saturating_sub(at)).unwrap_or(BUFFER_BYTES).min(BUFFER_BYTES);
        let chunk = read_bytes(source, at, length)?;
        let (blocks, _) = chunk.as_chunks::<BLOCK_BYTES>();
        for (block, offset) in blocks.iter().zip((at..).step_by(BLOCK_BYTES)) {
            if !is_noise(block) {
                let damage = found.get_or_insert(Damage { blocks: 0, first: offset });
                damage.blocks = damage.blocks.saturating_add(1);
            }
        }
        if chunk.len() < length {
            break;
        }
        at = at.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
    }
    Ok(found)
}

fn is_noise(block: &[u8; BLOCK_BYTES]) -> bool {
    let mut counts = [0u16; 256];
    for byte in block {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count = count.saturating_add(1);
        }
    }
    let squares = counts.iter().map(|count| u64::from(*count).saturating_mul(u64::from(*count)));
    squares.fold(0, u64::saturating_add) <= MAX_SQUARES
}

/// Whether anything but zeros follows the metadata, so that the key slots were stored too. In a header alone, padded
/// with zeros or holes, there are no key slots to judge.
pub(crate) fn is_stored(source: &dyn ReadAt, volume: &Volume) -> io::Result<bool> {
    let start = match volume.format {
        Format::Luks1 => volume.slots.iter().map(|slot| slot.area_offset).min().unwrap_or(volume.metadata_bytes),
        Format::Luks2 => volume.metadata_bytes.saturating_mul(2),
    };
    let header = (start, volume.header_bytes.min(MAX_SCANNED_BYTES).saturating_sub(start).saturating_add(BEYOND_BYTES));
    // A slot may claim any position, so the gaps between slots are not scanned.
    let areas = volume.slots.iter().map(|slot| (slot.area_offset, slot.area_bytes.min(MAX_SCANNED_BYTES)));
    for (at, length) in areas.chain([header]) {
        if holds_anything(source, at, length)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn holds_anything(source: &dyn ReadAt, start: u64, bytes: u64) -> io::Result<bool> {
    let (mut at, end) = (start, start.saturating_add(bytes));
    while at < end {
        let length = usize::try_from(end.saturating_sub(at)).unwrap_or(BUFFER_BYTES).min(BUFFER_BYTES);
        let chunk = read_bytes(source, at, length)?;
        if chunk.iter().any(|byte| *byte != 0) {
            return Ok(true);
        }
        if chunk.len() < length {
            break;
        }
        at = at.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
    }
    Ok(false)
}

/// Size of all key slots of the largest header; a LUKS1 header may claim that its data begins much later.
const MAX_SCANNED_BYTES: u64 = 128 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    /// Deterministic random bytes (xorshift).
    fn noise(mut seed: u64) -> [u8; BLOCK_BYTES] {
        std::array::from_fn(|_| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 24) as u8
        })
    }

    #[test]
    fn random_bytes_are_noise_and_text_is_not() {
        assert!((1..20_000).all(|seed| is_noise(&noise(seed))));
        assert!(!is_noise(&[0; BLOCK_BYTES]));
        assert!(!is_noise(&[0xff; BLOCK_BYTES]));
        let text = b"the quick brown fox jumps over the lazy dog and writes a file system ";
        assert!(!is_noise(&std::array::from_fn(|at| text[at % text.len()])));
    }

    #[test]
    fn forty_equal_bytes_in_a_block_are_detected() {
        for seed in 1..2000 {
            let mut block = noise(seed);
            block[100..140].fill(0);
            assert!(!is_noise(&block), "{seed}");
        }
    }
}
