//! Page checksums of all servers.
//!
//! Source: docs/formats, "Checksums"; crc32, innodb, none, full_crc32 and the crc32 of compressed rows confirmed on the
//! files in testdata; the adler32 of compressed rows from `page0zip.cc`.

use crc_fast::{CrcAlgorithm::Crc32Iscsi, checksum};
use serde::{Deserialize, Serialize};

use crate::bytes::{Bytes, put};

/// Stored by servers with checksums switched off.
const NONE_MAGIC: u32 = 0xdead_beef;

/// Which checksum of a page matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Checksum {
    /// CRC-32C of header and body.
    Crc32,
    /// The original fold of InnoDB.
    Innodb,
    /// The server wrote no checksum; nothing is proven.
    None,
    /// MariaDB: CRC-32C of the whole page, ciphertext if encrypted.
    FullCrc32,
    /// CRC-32C of a ROW_FORMAT=COMPRESSED page.
    ZipCrc32,
    /// Adler-32 of a ROW_FORMAT=COMPRESSED page.
    ZipInnodb,
    /// No known checksum matches: the page is damaged, or it is encrypted and its checksum is that of the clear page.
    Mismatch,
}

impl Checksum {
    /// Whether a checksum matches (or the server wrote none).
    #[must_use]
    pub const fn is_ok(self) -> bool {
        !matches!(self, Self::Mismatch)
    }
}

/// The matching checksum of a page of the older formats (MySQL, MariaDB before full_crc32).
#[must_use]
pub fn classic(page: &[u8]) -> Checksum {
    classic_sums(page).unwrap_or(Checksum::Mismatch)
}

/// Whether the CRC-32C of MariaDB's full_crc32 format matches.
#[must_use]
pub fn full_crc32(page: &[u8]) -> Checksum {
    let end = page.len().saturating_sub(4);
    match page.be32(end) {
        Some(stored) if end > 0 && stored == crc32c(page.range(0, end)) => Checksum::FullCrc32,
        _ => Checksum::Mismatch,
    }
}

/// Computes the CRC-32C of a page of the older formats.
#[must_use]
pub fn crc32(page: &[u8]) -> u32 {
    crc32c(page.range(4, 26)) ^ crc32c(page.range(38, page.len().saturating_sub(8)))
}

/// Computes the CRC-32C of a ROW_FORMAT=COMPRESSED page.
#[must_use]
pub fn zip_crc32(page: &[u8]) -> u32 {
    zip_ranges(page).iter().fold(0, |sum, bytes| sum ^ crc32c(bytes))
}

/// The matching checksum of a ROW_FORMAT=COMPRESSED page.
#[must_use]
pub fn zip(page: &[u8]) -> Checksum {
    let crc = zip_crc32(page);
    match page.be32(0) {
        Some(stored) if page.len() <= 34 || stored == NONE_MAGIC => match stored {
            NONE_MAGIC => Checksum::None,
            _ => Checksum::Mismatch,
        },
        Some(stored) if stored == crc => Checksum::ZipCrc32,
        Some(stored) if stored == zip_adler32(page) => Checksum::ZipInnodb,
        _ => Checksum::Mismatch,
    }
}

/// Updates the checksum of a changed page. `matched` is the kind that matched before the change; a
/// page without a checksum, or with a wrong one, keeps its bytes.
pub fn update_checksum(page: &mut [u8], matched: Checksum) {
    let trailer = page.len().saturating_sub(8);
    match matched {
        Checksum::Crc32 => {
            let sum = crc32(page);
            put(page, 0, &sum.to_be_bytes());
            put(page, trailer, &sum.to_be_bytes());
        }
        Checksum::Innodb => {
            // The older checksum covers the first 26 bytes; some pages store the LSN in its place.
            let positional = page.be32(trailer) == page.be32(16);
            let sum = fold(page.range(4, 26)).wrapping_add(fold(page.range(38, trailer)));
            put(page, 0, &sum.to_be_bytes());
            if !positional {
                let older = fold(page.range(0, 26));
                put(page, trailer, &older.to_be_bytes());
            }
        }
        Checksum::FullCrc32 => {
            let end = page.len().saturating_sub(4);
            let sum = crc32c(page.range(0, end));
            put(page, end, &sum.to_be_bytes());
        }
        Checksum::ZipCrc32 => {
            let sum = zip_crc32(page);
            put(page, 0, &sum.to_be_bytes());
        }
        Checksum::ZipInnodb => {
            let sum = zip_adler32(page);
            put(page, 0, &sum.to_be_bytes());
        }
        Checksum::None | Checksum::Mismatch => {}
    }
}

fn zip_ranges(page: &[u8]) -> [&[u8]; 3] {
    [page.range(4, 16), page.range(24, 26), page.range(34, page.len())]
}

fn zip_adler32(page: &[u8]) -> u32 {
    zip_ranges(page).iter().fold(0, |sum, bytes| adler32(sum, bytes))
}

fn classic_sums(page: &[u8]) -> Option<Checksum> {
    let trailer = page.len().checked_sub(8)?;
    let new = page.be32(0)?;
    let old = page.be32(trailer)?;
    if (new, old) == (NONE_MAGIC, NONE_MAGIC) {
        return Some(Checksum::None);
    }
    if new == old && new == crc32(page) {
        return Some(Checksum::Crc32);
    }
    let old_matches = old == fold(page.range(0, 26)) || Some(old) == page.be32(16);
    (old_matches && new == fold(page.range(4, 26)).wrapping_add(fold(page.range(38, trailer))))
        .then_some(Checksum::Innodb)
}

pub(crate) fn crc32c(bytes: &[u8]) -> u32 {
    u32::try_from(checksum(Crc32Iscsi, bytes) & 0xffff_ffff).unwrap_or_default()
}

/// `ut_fold_binary` in 32-bit arithmetic.
pub(crate) fn fold(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0_u32, |fold, byte| {
        let mixed = ((fold ^ u32::from(*byte) ^ 1_653_893_711) << 8).wrapping_add(fold);
        (mixed ^ 1_463_735_687).wrapping_add(u32::from(*byte))
    })
}

/// Adler-32 continued from `start` (the servers start at 0, not 1).
fn adler32(start: u32, bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65521;
    let mut a = start & 0xffff;
    let mut b = start >> 16;
    for byte in bytes {
        a = a.wrapping_add(u32::from(*byte)) % MODULUS;
        b = b.wrapping_add(a) % MODULUS;
    }
    (b << 16) | a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adler32_of_a_known_string() {
        assert_eq!(adler32(1, b"Wikipedia"), 0x11e6_0398);
    }

    #[test]
    fn a_changed_page_gets_the_checksum_it_had() {
        let mut page: Vec<u8> = (0..4096_u32).map(|at| (at % 249) as u8).collect();
        for matched in [Checksum::Crc32, Checksum::Innodb] {
            update_checksum(&mut page, matched);
            assert_eq!(classic(&page), matched);
            page[100] ^= 1;
            assert_eq!(classic(&page), Checksum::Mismatch);
            update_checksum(&mut page, matched);
            assert_eq!(classic(&page), matched);
        }
        for matched in [Checksum::ZipCrc32, Checksum::ZipInnodb] {
            update_checksum(&mut page, matched);
            assert_eq!(zip(&page), matched);
        }
        update_checksum(&mut page, Checksum::FullCrc32);
        assert_eq!(full_crc32(&page), Checksum::FullCrc32);
        let before = page.clone();
        update_checksum(&mut page, Checksum::Mismatch);
        assert_eq!(page, before);
    }

    #[test]
    fn short_pages_never_match() {
        for len in 0..64 {
            let page = vec![1; len];
            assert_eq!(full_crc32(&page), Checksum::Mismatch);
            assert_eq!(classic(&page), Checksum::Mismatch);
            assert_eq!(zip(&page), Checksum::Mismatch);
        }
    }
}
