//! Pages with MySQL's page compression (`COMPRESSION='zlib'` or `'lz4'`): type 14 after decryption.
//!
//! Source: docs/formats, "Page compression"; versions 1 and 2, zlib and lz4 confirmed on MySQL 8.0 and 9.7. The
//! compressed page has no checksum of its own: check that of the decompressed page.

use crate::{
    bytes::{Bytes, as_usize},
    page::{
        decompress::{Algorithm, DecompressFault},
        layout::HEADER_BYTES,
    },
};

/// Offset of the algorithm: 1 (zlib) or 2 (lz4).
const ALGORITHM: usize = 27;

/// Bytes of compressed data in a page of type 14 or 16.
pub(crate) fn compressed_bytes(page: &[u8]) -> Option<usize> {
    page.be16(32).map(|count| as_usize(u64::from(count)))
}

/// Whether the header has the fields of a compressed page of MySQL, or of an encrypted one of MariaDB's older format,
/// regardless of the page type.
pub(crate) fn is_described(page: &[u8]) -> bool {
    const INSTEAD_OF_CHECKSUM: u32 = 0xdead_beef;
    let original = page.be16(30).map(|count| as_usize(u64::from(count)));
    let mysql = algorithm(page).is_ok() && original == page.len().checked_sub(HEADER_BYTES);
    let mariadb = || page.be16(40).is_some_and(|number| Algorithm::from_number(u64::from(number)).is_ok());
    mysql || (page.be32(0) == Some(INSTEAD_OF_CHECKSUM) && mariadb())
}

/// Decompresses a page into `rebuilt`, which has the same length.
///
/// # Errors
/// [`DecompressFault`]; `rebuilt` then has undefined contents.
pub fn rebuild_mysql(page: &[u8], rebuilt: &mut [u8]) -> Result<(), DecompressFault> {
    let payload = compressed_bytes(page).ok_or(DecompressFault::Length)?;
    let end = HEADER_BYTES.checked_add(payload).ok_or(DecompressFault::Length)?;
    let payload = page.get(HEADER_BYTES..end).ok_or(DecompressFault::Length)?;
    let original = page.be16(30).map(|count| as_usize(u64::from(count))).ok_or(DecompressFault::Length)?;
    let (header, body) = rebuilt.split_at_mut_checked(HEADER_BYTES).ok_or(DecompressFault::Length)?;
    if original != body.len() {
        return Err(DecompressFault::Length);
    }
    algorithm(page)?.decompress(payload, body)?;
    header.iter_mut().zip(page).for_each(|(to, from)| *to = *from);
    if let (Some(page_type), Some(control)) = (page.get(28..30), header.get_mut(24..34)) {
        control.fill(0);
        control.iter_mut().zip(page_type).for_each(|(to, from)| *to = *from);
    }
    Ok(())
}

/// MySQL uses the first two of MariaDB's numbers.
fn algorithm(page: &[u8]) -> Result<Algorithm, DecompressFault> {
    match page.get(ALGORITHM) {
        Some(1) => Ok(Algorithm::Zlib),
        Some(2) => Ok(Algorithm::Lz4),
        number => Err(DecompressFault::Algorithm(u64::from(number.copied().unwrap_or_default()))),
    }
}
