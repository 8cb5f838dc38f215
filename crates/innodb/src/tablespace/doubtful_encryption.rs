//! A damaged page 0 that does not say whether the tablespace is encrypted.
//!
//! One flipped bit in the flags or in the record makes a clear tablespace look like an encrypted one whose key is lost.
//! The other pages decide: if all examined pages are valid without decryption, no key is missing.

use files::ReadAt;

use crate::{
    bytes::{Bytes, all_zero, as_u64, as_usize},
    ids::KeyVersion,
    page::{
        checksum::Checksum,
        layout::{TRX_SYS_PAGE, TYPE},
        mariadb::{self, Layout, PlaintextCheck, PlaintextFault},
        mysql,
        types::PageType,
    },
    read::{fill, length, spread},
    tablespace::{Encryption, Page0, TablespaceKind, doublewrite_area_of},
};

/// Number of first pages to examine, which every tablespace uses. As many again are spread evenly over the file.
const PAGES: u64 = 32;

/// If page 0 is damaged and says encrypted, but the other pages prove that the tablespace is clear, marks it as clear.
pub(crate) fn settle<R: ReadAt + ?Sized>(mut page0: Page0, source: &R) -> Page0 {
    let says_encrypted = match page0.encryption {
        Encryption::MySql { flag_set: true, .. } => false,
        // Tables that are not encrypted have a record as well; one bit of it says so.
        Encryption::MariaDb { .. } => page0.declares_encryption() || page0.disagreement.is_some(),
        _ => page0.disagreement.is_some(),
    };
    let in_doubt = page0.checksum == Checksum::Mismatch && says_encrypted;
    // Servers leave clear pages in encrypted undo tablespaces.
    if in_doubt && page0.kind != TablespaceKind::Undo && is_clear(&page0, source) {
        page0.encryption = Encryption::None;
        page0.disagreement = None;
    }
    page0
}

/// Whether all examined pages are valid and clear, and at least one is of a kind that encryption would not leave clear.
fn is_clear<R: ReadAt + ?Sized>(page0: &Page0, source: &R) -> bool {
    let page_bytes = u64::from(page0.physical_page_bytes);
    let Some(pages) = length(source).ok().and_then(|bytes| bytes.checked_div(page_bytes)) else { return false };
    let spread_out = (0..PAGES).map(|index| spread(index, PAGES, pages));
    let mut page = vec![0; as_usize(page_bytes)];
    let mut image = Vec::new();
    let mut proof = false;
    // Copies of other tablespaces' pages are no evidence about this one.
    let copies = copies(page0, source);
    let is_copy = |number: &u64| copies.iter().any(|(from, to)| (from..to).contains(&number));
    for number in (1..pages.min(PAGES)).chain(spread_out).filter(|number| *number > 0 && !is_copy(number)) {
        let Some(offset) = number.checked_mul(page_bytes) else { return false };
        if !fill(source, offset, &mut page).is_ok_and(|read| as_u64(read.len()) == page_bytes) {
            return false;
        }
        match is_sound_and_clear(page0, &page, &mut image) {
            Some(true) => proof |= !is_always_clear(&page),
            Some(false) => return false,
            None => {}
        }
    }
    proof
}

/// The doublewrite area of a system tablespace, as two ranges of pages.
fn copies<R: ReadAt + ?Sized>(page0: &Page0, source: &R) -> [(u64, u64); 2] {
    let page_bytes = u64::from(page0.physical_page_bytes);
    let mut page = vec![0; as_usize(page_bytes)];
    match fill(source, TRX_SYS_PAGE.saturating_mul(page_bytes), &mut page) {
        Ok(page) if page0.kind == TablespaceKind::System => doublewrite_area_of(page, page0.logical_page_bytes),
        _ => <[(u64, u64); 2]>::default(),
    }
}

/// Whether a page is valid and clear; `None` if it has no content.
fn is_sound_and_clear(page0: &Page0, page: &[u8], image: &mut Vec<u8>) -> Option<bool> {
    if all_zero(page) {
        return None;
    }
    if page0.flags.is_full_crc32() {
        let layout = Layout::FullCrc32 { compression: 0 };
        return Some(mariadb::key_version(page, layout) == KeyVersion(0) && mariadb::ciphertext_holds(page, layout));
    }
    if page.be16(TYPE) == Some(PageType::PAGE_COMPRESSED.0) {
        let layout = Layout::Legacy { row_compressed: false };
        // Another space id proves nothing, because page 0 is damaged.
        let plain = mariadb::check_plaintext(page, layout, page0.space_id, image);
        return Some(matches!(
            plain,
            PlaintextCheck::Holds | PlaintextCheck::NoChecksum | PlaintextCheck::Fails(PlaintextFault::SpaceId(_))
        ));
    }
    Some(!mysql::is_encrypted(page) && mysql::check(page, page0.flags.is_row_compressed(), image).is_ok())
}

/// Pages that MariaDB never encrypts in any tablespace.
fn is_always_clear(page: &[u8]) -> bool {
    let page_type = PageType(page.be16(TYPE).unwrap_or_default());
    matches!(page_type, PageType::FSP_HDR | PageType::XDES | PageType::RTREE)
}
