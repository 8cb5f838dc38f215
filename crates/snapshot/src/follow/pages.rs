//! Detects pages that were read while their server wrote them.

use files::all_zero;
use innodb::{
    KeyVersion, SpaceId,
    crypt::mysql::{PageCipher, WrappedKey},
    keys::KeySource,
    page::{
        checksum::Checksum,
        flags::SpaceFlags,
        layout::{PAGE_NO, SPACE_ID},
        mariadb::{Layout, PlaintextCheck, PlaintextFault, check_plaintext, ciphertext_holds, key_version},
        mysql::{checksum_of, is_encrypted, is_zeros},
    },
    tablespace::Page0,
};

/// How the pages of a file are checked.
#[derive(Debug)]
pub(super) enum PageFormat {
    /// Pages of a tablespace of MariaDB.
    MariaDb(Layout, SpaceId),
    /// MariaDB: the first page is not on disk yet.
    Undetermined,
    /// Pages of a MySQL tablespace, with or without `ROW_FORMAT=COMPRESSED`. Checksums of encrypted pages are of the
    /// plain text.
    MySql { row_compressed: bool, cipher: Option<Box<PageCipher>> },
}

/// Result of the checksum of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    Whole,
    /// The server writes no checksums, or the page is encrypted and there is no key.
    Unproven,
    /// Read during a write, or damaged.
    Torn,
}

/// Offset of the LSN of a page's newest change.
const LSN: usize = 16;

impl PageFormat {
    /// Format and page size from page 0 of a MariaDB file; `None` if the file is of another server.
    pub(super) fn of_mariadb(head: &[u8], page_bytes: usize) -> Option<(Self, usize)> {
        let Ok(page0) = Page0::parse(head) else { return Some((Self::Undetermined, page_bytes)) };
        let layout = page0.mariadb_layout()?;
        Some((Self::MariaDb(layout, page0.space_id), usize::try_from(page0.physical_page_bytes).ok()?))
    }

    /// Format and page size from page 0 of a MySQL file. A file without page 0 is `ibdata2` and up, or newly created.
    pub(super) fn of_mysql(head: &[u8], page_bytes: usize, keys: &dyn KeySource) -> (Self, usize) {
        let Ok(page0) = Page0::parse(head) else {
            let flags = flags_of_new(head).unwrap_or(SpaceFlags(0));
            let bytes = flags_of_new(head).and_then(|flags| flags.physical_page_bytes().ok());
            let format = Self::MySql { row_compressed: flags.is_row_compressed(), cipher: None };
            return (format, bytes.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(page_bytes));
        };
        let wrapped = WrappedKey::parse(head.get(page0.info_offset()..).unwrap_or_default());
        let cipher = wrapped.and_then(|wrapped| wrapped.unwrap(keys).ok()?.cipher().ok()).map(Box::new);
        let format = Self::MySql { row_compressed: page0.flags.is_row_compressed(), cipher };
        (format, usize::try_from(page0.physical_page_bytes).unwrap_or(page_bytes))
    }

    /// Whether `page`, which may be the shorter rest at the end of a file, can be judged. The pages of a file without
    /// its first page may be smaller.
    pub(super) const fn can_judge(&self, page: &[u8], page_bytes: usize) -> bool {
        page.len() == page_bytes || matches!(self, Self::Undetermined)
    }

    /// Judges a page; `image` is a buffer for reuse.
    pub(super) fn judge(&self, page: &[u8], image: &mut Vec<u8>) -> Page {
        if all_zero(page) {
            return Page::Whole;
        }
        match self {
            Self::MariaDb(layout, space) => judge_mariadb(page, *layout, *space, image),
            Self::Undetermined => {
                let is_whole = is_page_of_mariadb(page, image) || small_page_bytes(page, image).is_some();
                if is_whole { Page::Whole } else { Page::Torn }
            }
            Self::MySql { row_compressed, cipher } => judge_mysql(page, *row_compressed, cipher.as_deref(), image),
        }
    }

    /// LSN of the newest change of a page, or of the newest one in a row of smaller pages.
    pub(super) fn newest_lsn(&self, page: &[u8], image: &mut Vec<u8>) -> u64 {
        let is_one = !matches!(self, Self::Undetermined) || all_zero(page) || is_page_of_mariadb(page, image);
        let small = if is_one { None } else { small_page_bytes(page, image) };
        small.map_or_else(|| lsn_of(page), |size| page.chunks(size).map(lsn_of).max().unwrap_or_default())
    }
}

/// Flags of a new tablespace whose first page is still as it was when the file was created: its page type is not set.
/// Seen on MySQL 9.7.
fn flags_of_new(head: &[u8]) -> Option<SpaceFlags> {
    const SPACE_OF_HEADER: usize = 38;
    const FLAGS: usize = 54;
    let number = |at: usize| head.get(at..).and_then(|rest| rest.first_chunk()).copied().map(u32::from_be_bytes);
    let is_first = number(PAGE_NO)? == 0 && number(SPACE_ID)? != 0 && number(SPACE_ID)? == number(SPACE_OF_HEADER)?;
    number(FLAGS).filter(|_| is_first).map(SpaceFlags)
}

/// LSN of the newest change of a page.
fn lsn_of(page: &[u8]) -> u64 {
    page.get(LSN..).and_then(|rest| rest.first_chunk()).copied().map_or(0, u64::from_be_bytes)
}

fn judge_mariadb(page: &[u8], layout: Layout, space: SpaceId, image: &mut Vec<u8>) -> Page {
    let checked_as_stored = matches!(layout, Layout::FullCrc32 { .. }) || key_version(page, layout) != KeyVersion(0);
    if checked_as_stored && ciphertext_holds(page, layout) {
        return Page::Whole;
    }
    if matches!(layout, Layout::FullCrc32 { .. }) {
        return Page::Torn;
    }
    match check_plaintext(page, layout, space, image) {
        // The doublewrite area has copies of pages of other tablespaces.
        PlaintextCheck::Holds | PlaintextCheck::Fails(PlaintextFault::SpaceId(_)) => Page::Whole,
        PlaintextCheck::NoChecksum => Page::Unproven,
        PlaintextCheck::Fails(_) => Page::Torn,
    }
}

/// Whether this is a whole page of MariaDB in any layout.
fn is_page_of_mariadb(page: &[u8], image: &mut Vec<u8>) -> bool {
    let layouts = [
        Layout::FullCrc32 { compression: 0 },
        Layout::Legacy { row_compressed: false },
        Layout::Legacy { row_compressed: true },
    ];
    layouts.into_iter().any(|layout| judge_mariadb(page, layout, SpaceId(0), image) == Page::Whole)
}

/// The size of whole, smaller pages with `ROW_FORMAT=COMPRESSED` if a page of MariaDB's page size, or the rest at the end
/// of a file, is a row of them. A server that rebuilds a table writes other pages of the new file before the first one.
fn small_page_bytes(bytes: &[u8], image: &mut Vec<u8>) -> Option<usize> {
    const SMALLEST_BYTES: usize = 1024;
    let largest = 1_usize.checked_shl(bytes.len().checked_ilog2()?)?;
    let sizes = std::iter::successors(Some(largest), |size| Some(size / 2));
    let sizes = sizes.take_while(|size| *size >= SMALLEST_BYTES);
    let layout = Layout::Legacy { row_compressed: true };
    sizes.filter(|size| bytes.len().is_multiple_of(*size)).find(|size| {
        let mut pages = bytes.chunks(*size);
        pages.all(|page| all_zero(page) || judge_mariadb(page, layout, SpaceId(0), image) == Page::Whole)
    })
}

fn judge_mysql(page: &[u8], row_compressed: bool, cipher: Option<&PageCipher>, image: &mut Vec<u8>) -> Page {
    if !is_encrypted(page) {
        return judge_clear(page, row_compressed);
    }
    let Some(cipher) = cipher else { return Page::Unproven };
    image.clear();
    image.extend_from_slice(page);
    match cipher.decrypt(image) {
        Ok(_) if all_zero(image) => Page::Whole,
        Ok(_) => judge_clear(image, row_compressed),
        Err(_) => Page::Torn,
    }
}

/// Judges a clear or decrypted page of MySQL. The checksum of a page with page compression is that of the page it
/// expands to.
fn judge_clear(page: &[u8], row_compressed: bool) -> Page {
    let mut rebuilt = Vec::new();
    match checksum_of(page, row_compressed, &mut rebuilt) {
        Checksum::Mismatch if is_zeros(page, &mut rebuilt) => Page::Whole,
        Checksum::Mismatch => Page::Torn,
        Checksum::None => Page::Unproven,
        _ => Page::Whole,
    }
}

#[cfg(test)]
mod tests {
    use innodb::{
        crypt::mysql::TablespaceKey,
        page::{checksum::update_checksum, types::PageType},
    };

    use super::*;

    fn page() -> Vec<u8> {
        let mut page = vec![5; 16384];
        page[16..24].copy_from_slice(&900_u64.to_be_bytes());
        page[24..26].copy_from_slice(&17855_u16.to_be_bytes());
        page[26..34].fill(0);
        page[16380..].copy_from_slice(&900_u32.to_be_bytes());
        update_checksum(&mut page, Checksum::Crc32);
        page
    }

    fn judged(page: &[u8], cipher: Option<PageCipher>) -> Page {
        PageFormat::MySql { row_compressed: false, cipher: cipher.map(Box::new) }.judge(page, &mut Vec::new())
    }

    #[test]
    fn an_encrypted_page_is_judged_by_its_plain_text() {
        let key = TablespaceKey::from_parts(&[1; 32], &[2; 32]);
        let mut sealed = page();
        assert_eq!((judged(&sealed, None), lsn_of(&sealed)), (Page::Whole, 900));
        let how = innodb::crypt::mysql::PageEncryption { page_type: PageType::ENCRYPTED, end: 16384 };
        key.cipher().unwrap().encrypt(&mut sealed, how).unwrap();
        assert_eq!(judged(&sealed, None), Page::Unproven);
        assert_eq!(judged(&sealed, key.cipher().ok()), Page::Whole);
        sealed[8000..8512].fill(3);
        assert_eq!(judged(&sealed, key.cipher().ok()), Page::Torn);
    }

    #[test]
    fn a_new_file_has_the_flags_of_its_pages() {
        let mut head = vec![0; 65536];
        head[37] = 2;
        head[41] = 2;
        let format = |head: &[u8]| match PageFormat::of_mysql(head, 16384, &innodb::keys::NoKeys) {
            (PageFormat::MySql { row_compressed, cipher: None }, bytes) => (row_compressed, bytes),
            other => panic!("{other:?}"),
        };
        head[54..58].copy_from_slice(&0x21_u32.to_be_bytes());
        assert_eq!(format(&head), (false, 16384));
        // ROW_FORMAT=COMPRESSED, KEY_BLOCK_SIZE=8.
        head[54..58].copy_from_slice(&0x29_u32.to_be_bytes());
        assert_eq!(format(&head), (true, 8192));
        // A later file of the system tablespace has no header, and its page numbers continue.
        head[7] = 9;
        assert_eq!(format(&head), (false, 16384));
    }

    #[test]
    fn compressed_pages_of_a_new_file_are_whole() {
        let mut small = vec![5; 8192];
        small[26..34].fill(0);
        small[24..26].copy_from_slice(&17855_u16.to_be_bytes());
        update_checksum(&mut small, Checksum::ZipCrc32);
        let mut torn = small.clone();
        torn[8000] ^= 1;
        let judged = |halves: [&[u8]; 2]| PageFormat::Undetermined.judge(&halves.concat(), &mut Vec::new());
        assert_eq!(judged([&small, &small]), Page::Whole);
        assert_eq!(judged([&[0; 8192], &small]), Page::Whole, "the first page is not on disk yet");
        assert_eq!(judged([&small, &torn]), Page::Torn);
        let changed = |lsn: u64| {
            let mut page = small.clone();
            page[LSN..LSN + 8].copy_from_slice(&lsn.to_be_bytes());
            update_checksum(&mut page, Checksum::ZipCrc32);
            page
        };
        let newest = PageFormat::Undetermined.newest_lsn(&[changed(3), changed(7)].concat(), &mut Vec::new());
        assert_eq!(newest, 7);
    }

    #[test]
    fn the_rest_at_the_end_of_a_new_file_is_judged() {
        let small = |bytes: usize, lsn: u64| {
            let mut page = vec![5; bytes];
            page[LSN..LSN + 8].copy_from_slice(&lsn.to_be_bytes());
            page[26..34].fill(0);
            page[24..26].copy_from_slice(&17855_u16.to_be_bytes());
            update_checksum(&mut page, Checksum::ZipCrc32);
            page
        };
        let format = PageFormat::Undetermined;
        for (bytes, count) in [(8192, 1), (4096, 1), (4096, 3), (2048, 7), (1024, 1), (1024, 15)] {
            let mut rest: Vec<u8> = (1..=count).flat_map(|lsn| small(bytes, lsn)).collect();
            assert!(format.can_judge(&rest, 16384));
            assert_eq!(format.judge(&rest, &mut Vec::new()), Page::Whole, "{count} pages of {bytes} bytes");
            assert_eq!(format.newest_lsn(&rest, &mut Vec::new()), count);
            rest[bytes - 100] ^= 1;
            assert_eq!(format.judge(&rest, &mut Vec::new()), Page::Torn, "{count} pages of {bytes} bytes");
        }
        assert_eq!(format.judge(&small(8192, 1)[..5000], &mut Vec::new()), Page::Torn, "a part of a page");
        let known = PageFormat::MySql { row_compressed: false, cipher: None };
        assert!(!known.can_judge(&[1; 512], 1024), "no whole page");
    }

    #[test]
    fn a_torn_page_is_found() {
        let mut torn = page();
        torn[9000] ^= 1;
        assert_eq!((judged(&torn, None), judged(&[0; 16384], None)), (Page::Torn, Page::Whole));
    }
}
