//! Clear and decrypted pages of MySQL, and of MariaDB's older format: whether checksum and trailer are right.

use crate::{
    bytes::{Bytes, all_zero},
    page::{
        checksum::{self, Checksum},
        compressed,
        decompress::DecompressFault,
        layout::{LSN, TYPE},
        types::PageType,
    },
};

/// Why a page that can be read is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageFault {
    /// Its compressed image cannot be decompressed.
    Decompress(DecompressFault),
    /// No checksum matches.
    Checksum {
        /// The checksum in the page.
        stored: u32,
        /// CRC-32 of the page, which servers write.
        computed: u32,
    },
    /// The LSN in the trailer differs from the one in the header.
    TrailerLsn,
}

/// Whether a page's header says that it is encrypted.
#[must_use]
pub fn is_encrypted(page: &[u8]) -> bool {
    page.be16(TYPE).is_some_and(|page_type| PageType(page_type).is_mysql_encrypted())
}

/// Whether a clear or decrypted page is all zeros, after decompression into `image` if necessary.
#[must_use]
pub fn is_zeros(page: &[u8], image: &mut Vec<u8>) -> bool {
    if page.be16(TYPE) != Some(PageType::COMPRESSED.0) {
        return all_zero(page);
    }
    image.resize(page.len(), 0);
    compressed::rebuild_mysql(page, image).is_ok() && all_zero(image)
}

/// Checks a clear or decrypted page, decompressed into `image` if necessary. `row_compressed` is whether the tablespace
/// has ROW_FORMAT=COMPRESSED.
/// Returns the kind of checksum.
pub(crate) fn check(page: &[u8], row_compressed: bool, image: &mut Vec<u8>) -> Result<Checksum, PageFault> {
    if page.be16(TYPE) != Some(PageType::COMPRESSED.0) {
        return check_plain(page, row_compressed);
    }
    image.resize(page.len(), 0);
    compressed::rebuild_mysql(page, image).map_err(PageFault::Decompress)?;
    check_plain(image, row_compressed)
}

fn check_plain(page: &[u8], row_compressed: bool) -> Result<Checksum, PageFault> {
    const LOW_LSN: usize = LSN + 4;
    let found = if row_compressed { checksum::zip(page) } else { checksum::classic(page) };
    if found == Checksum::Mismatch {
        let computed = if row_compressed { checksum::zip_crc32(page) } else { checksum::crc32(page) };
        return Err(PageFault::Checksum { stored: page.be32(0).unwrap_or_default(), computed });
    }
    if !row_compressed && page.be32(page.len().saturating_sub(4)) != page.be32(LOW_LSN) {
        return Err(PageFault::TrailerLsn);
    }
    Ok(found)
}

/// The checksum of a clear or decrypted page, decompressed into `image` if necessary. Any fault of the page gives
/// [`Checksum::Mismatch`].
#[must_use]
pub fn checksum_of(page: &[u8], row_compressed: bool, image: &mut Vec<u8>) -> Checksum {
    check(page, row_compressed, image).unwrap_or(Checksum::Mismatch)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A page with page compression (LZ4) that expands to `page`.
    fn compressed(page: &[u8]) -> Vec<u8> {
        let body = lz4_flex::block::compress(&page[38..]);
        let mut stored = page[..38].to_vec();
        stored[24..26].copy_from_slice(&PageType::COMPRESSED.0.to_be_bytes());
        stored[26..28].copy_from_slice(&[2, 2]);
        stored[28..30].copy_from_slice(&page[24..26]);
        stored[30..32].copy_from_slice(&u16::try_from(page.len() - 38).unwrap().to_be_bytes());
        stored[32..34].copy_from_slice(&u16::try_from(body.len()).unwrap().to_be_bytes());
        stored.extend(body);
        stored.resize(page.len(), 0);
        stored
    }

    #[test]
    fn a_compressed_page_is_judged_by_the_page_it_expands_to() {
        let mut page = vec![5; 16384];
        page[24..26].copy_from_slice(&17855_u16.to_be_bytes());
        page[26..34].fill(0);
        page[16380..].copy_from_slice(&[5; 4]);
        checksum::update_checksum(&mut page, Checksum::Crc32);
        let found = |page: &[u8]| checksum_of(page, false, &mut Vec::new());
        let stored = compressed(&page);
        assert_eq!((found(&page), found(&stored)), (Checksum::Crc32, Checksum::Crc32));
        let mut damaged = stored;
        damaged[32] ^= 1;
        assert_eq!(found(&damaged), Checksum::Mismatch, "it cannot be decompressed");
        page[16383] ^= 1;
        assert_eq!(found(&page), Checksum::Mismatch, "the LSN of its trailer is another");
    }

    #[test]
    fn zeros_have_no_checksum() {
        let (zeros, image) = (vec![0; 16384], &mut Vec::new());
        for page in [&zeros, &compressed(&zeros)] {
            assert!(is_zeros(page, image) && checksum_of(page, false, image) == Checksum::Mismatch);
        }
        assert!(!is_zeros(&compressed(&[1; 16384]), image));
    }
}
