//! Clear and decrypted pages of MySQL, and of MariaDB's older format: whether checksum and trailer are right.

use crate::{
    bytes::Bytes,
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

/// Checks a clear or decrypted page, decompressed into `image` if necessary. `row_compressed` is whether the tablespace
/// has ROW_FORMAT=COMPRESSED.
pub(crate) fn check(page: &[u8], row_compressed: bool, image: &mut Vec<u8>) -> Result<(), PageFault> {
    if page.be16(TYPE) != Some(PageType::COMPRESSED.0) {
        return check_plain(page, row_compressed);
    }
    image.resize(page.len(), 0);
    compressed::rebuild_mysql(page, image).map_err(PageFault::Decompress)?;
    check_plain(image, row_compressed)
}

fn check_plain(page: &[u8], row_compressed: bool) -> Result<(), PageFault> {
    const LOW_LSN: usize = LSN + 4;
    let found = if row_compressed { checksum::zip(page) } else { checksum::classic(page) };
    if found == Checksum::Mismatch {
        let computed = if row_compressed { checksum::zip_crc32(page) } else { checksum::crc32(page) };
        return Err(PageFault::Checksum { stored: page.be32(0).unwrap_or_default(), computed });
    }
    if !row_compressed && page.be32(page.len().saturating_sub(4)) != page.be32(LOW_LSN) {
        return Err(PageFault::TrailerLsn);
    }
    Ok(())
}
