//! Whether a page is encrypted, and whether its bytes agree with its header.

use serde::{Deserialize, Serialize};

use crate::{
    bytes::{Bytes, all_zero, as_usize},
    ids::{KeyVersion, PageNo, SpaceId},
    page::{
        Family,
        checksum::{self, Checksum, full_crc32},
        compressed,
        header::PageHeader,
        layout::{HEADER_BYTES, MIN_PAGE_BYTES, ROW_COMPRESSED_PAGE_BYTES, SPACE_ID, TYPE},
        mariadb::{self, Layout},
        types::{ClearClass, PageType, clear_class, holds_remains, is_blank},
    },
    randomness::{MIN_BYTES, looks_random},
};

/// State of a page on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PageState {
    /// Every byte is zero.
    Empty,
    /// The header says encrypted, and the body looks like ciphertext or is too short to judge
    /// (fewer than 256 bytes).
    Encrypted,
    /// The header says encrypted, but the body is clearly not ciphertext.
    Mislabelled,
    /// Not encrypted.
    Clear(ClearClass),
    /// The body looks random and nothing proves what it is: the header is damaged, or this is not an InnoDB page.
    Unrecognised,
}

/// The facts of page 0 that are needed to judge other pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageContext {
    /// Format of the tablespace.
    pub family: Family,
    /// Whether page 0 has MariaDB crypt data. Without it, bytes 26..30 of a page of the older format may not be a key
    /// version.
    pub crypt_data: bool,
    /// Whether it is a temporary tablespace of MySQL, which does not clear pages there before use. MariaDB does.
    pub temporary: bool,
}

/// Result of judging a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Judged {
    /// State on disk.
    pub state: PageState,
    /// MariaDB: the key version of an encrypted page.
    pub key_version: Option<KeyVersion>,
}

/// Judges one page. `page` is all its bytes as they are in the file.
#[must_use]
pub fn judge(page: &[u8], header: &PageHeader, context: PageContext) -> Judged {
    if all_zero(page) {
        return Judged { state: PageState::Empty, key_version: None };
    }
    let family = context.family;
    let key_version = key_version(page, header, context);
    let claimed = key_version.is_some() || claims_by_type(header.page_type, family);
    let state = if claimed {
        state_of_claimed(page, header, family)
    } else if is_nearly_empty(page) || is_unmarked_ciphertext(page, header, family) {
        PageState::Unrecognised
    } else if context.temporary && holds_remains(page, header.page_type) {
        PageState::Clear(ClearClass::Data)
    } else {
        PageState::Clear(clear_class(page, header.page_type, family))
    };
    Judged { state, key_version }
}

/// Whether the page has fewer non-zero bytes than any page that a server writes: an empty page with a damaged byte
/// holds no data.
fn is_nearly_empty(page: &[u8]) -> bool {
    const BYTES: usize = 2;
    page.iter().filter(|byte| **byte != 0).take(BYTES.saturating_add(1)).count() <= BYTES
}

/// Whether a page without an encryption mark looks like ciphertext and is not valid as a clear page: the field that
/// marks it is damaged.
pub(crate) fn is_unmarked_ciphertext(page: &[u8], header: &PageHeader, family: Family) -> bool {
    if family == Family::MariaDbLegacy && header.page_type == PageType::PAGE_COMPRESSED_ENCRYPTED {
        return true;
    }
    // There may be too few compressed bytes to test their randomness.
    let short = || header.page_type.is_page_compressed(family) || compressed::is_described(page);
    looks_random(first_bytes(page)).unwrap_or_else(short) && !is_sound_and_clear(page, header, family)
}

/// Whether the checksum, or the decompressed page, proves that the page is clear.
fn is_sound_and_clear(page: &[u8], header: &PageHeader, family: Family) -> bool {
    if family == Family::MariaDbFullCrc32 {
        return mariadb::ciphertext_holds(page, Layout::FullCrc32 { compression: 0 });
    }
    match header.page_type {
        PageType::COMPRESSED if family != Family::MariaDbLegacy => {
            compressed::rebuild_mysql(page, &mut vec![0; page.len()]).is_ok()
        }
        PageType::PAGE_COMPRESSED if family != Family::MySql => {
            let layout = Layout::Legacy { row_compressed: false };
            mariadb::decompress(page, layout, &mut vec![0; page.len()]).is_ok()
        }
        _ => checksum::classic(page).is_ok() || sound_row_compressed(page).is_some(),
    }
}

/// Length of the valid ROW_FORMAT=COMPRESSED page at the start of a page or doublewrite slot; `None` if there is none.
pub(crate) fn sound_row_compressed(slot: &[u8]) -> Option<usize> {
    ROW_COMPRESSED_PAGE_BYTES
        .into_iter()
        .find(|bytes| *bytes <= slot.len() && checksum::zip(slot.range(0, *bytes)).is_ok())
}

/// State of a page whose header says encrypted.
fn state_of_claimed(page: &[u8], header: &PageHeader, family: Family) -> PageState {
    if is_blank(page) {
        return PageState::Unrecognised;
    }
    let damaged = !ciphertext_may_hold(page, family);
    if looks_random(ciphertext(page, header, family)) != Some(false) {
        // A clear page with a damaged header can be compressed, and then looks random too.
        return if damaged { PageState::Unrecognised } else { PageState::Encrypted };
    }
    let random = looks_random(first_bytes(page)).unwrap_or_else(|| damaged || compressed::is_described(page));
    match header.page_type {
        _ if !random => PageState::Mislabelled,
        PageType::COMPRESSED_ENCRYPTED | PageType::PAGE_COMPRESSED_ENCRYPTED => PageState::Encrypted,
        _ => PageState::Unrecognised,
    }
}

/// Whether the checksum over the ciphertext of a page matches. `true` for MySQL's pages, which have none.
fn ciphertext_may_hold(page: &[u8], family: Family) -> bool {
    let holds = |layout| mariadb::ciphertext_holds(page, layout);
    match family {
        Family::MariaDbFullCrc32 => holds(Layout::FullCrc32 { compression: 0 }),
        Family::MariaDbLegacy => {
            [false, true].into_iter().any(|row_compressed| holds(Layout::Legacy { row_compressed }))
        }
        Family::MySql | Family::Undetermined => true,
    }
}

/// The first bytes of the body, without the zeros after them. Zeros and remains of earlier versions follow a compressed
/// page; neither can be judged.
fn first_bytes(page: &[u8]) -> &[u8] {
    let body = page.range(HEADER_BYTES, HEADER_BYTES.saturating_add(MIN_BYTES));
    let end = body.iter().rposition(|byte| *byte != 0).map_or(0, |at| at.saturating_add(1));
    // A few zeros at the end may be ciphertext.
    if body.len().saturating_sub(end) < 4 { body } else { body.range(0, end) }
}

/// Whether only the type and the compression fields of the header are set. `IMPORT TABLESPACE` also
/// compresses and encrypts the free pages of a table, which are zeros; other operations leave such
/// pages alone.
///
/// Source: seen on 9.7: encrypted, compressed and encrypted, and ROW_FORMAT=COMPRESSED.
pub(crate) fn has_blank_header(page: &[u8], header: &PageHeader) -> bool {
    matches!(header.page_type, PageType::COMPRESSED | PageType::ENCRYPTED | PageType::COMPRESSED_ENCRYPTED)
        && all_zero(page.range(0, TYPE))
        && all_zero(page.range(SPACE_ID, HEADER_BYTES))
}

/// Whether the server never encrypts this page, even in an encrypted tablespace: page 0; MariaDB's
/// extent descriptor pages (every `page size` pages) and TRX_SYS, page 5 of the system tablespace.
///
/// Source: docs/formats, "Page encryption" of MySQL and MariaDB; confirmed on testdata.
#[must_use]
pub fn is_exempt(header: &PageHeader, at: PageNo, space: SpaceId, family: Family, page_bytes: u32) -> bool {
    if at == PageNo(0) {
        return true;
    }
    let mariadb = matches!(family, Family::MariaDbFullCrc32 | Family::MariaDbLegacy);
    let descriptor = header.page_type == PageType::XDES && at.0.checked_rem(page_bytes) == Some(0);
    let transactions = header.page_type == PageType::TRX_SYS && at == PageNo(5) && space == SpaceId(0);
    mariadb && (descriptor || transactions)
}

/// The format of a page copy in a doublewrite area whose tablespace is not available. MariaDB's two
/// formats are distinguished by the checksum of the whole page.
#[must_use]
pub fn copy_family(page: &[u8], mysql: bool) -> Family {
    if mysql {
        Family::MySql
    } else if full_crc32(page) == Checksum::FullCrc32 {
        Family::MariaDbFullCrc32
    } else {
        Family::MariaDbLegacy
    }
}

/// Judges a copy of a page in a doublewrite area whose tablespace is not available.
pub(crate) fn copy_state(slot: &[u8], header: &PageHeader, family: Family) -> Judged {
    // Copies of ROW_FORMAT=COMPRESSED pages fill only the start of a slot.
    let context = PageContext { family, crypt_data: false, temporary: false };
    let judged = judge(slot, header, context);
    if matches!(judged.state, PageState::Mislabelled | PageState::Unrecognised) && family == Family::MySql {
        return judge(slot.range(0, MIN_PAGE_BYTES), header, context);
    }
    judged
}

fn claims_by_type(page_type: PageType, family: Family) -> bool {
    match family {
        Family::MySql => page_type.is_mysql_encrypted(),
        Family::MariaDbFullCrc32 => false,
        Family::MariaDbLegacy => page_type == PageType::PAGE_COMPRESSED_ENCRYPTED,
        Family::Undetermined => page_type.is_mysql_encrypted() || page_type == PageType::PAGE_COMPRESSED_ENCRYPTED,
    }
}

/// MariaDB's key version of a page, if not 0.
///
/// In the older format bytes 26..30 of an R-tree page are its split sequence number
/// (R-tree pages are never encrypted there); without crypt data on page 0 a number there
/// counts only if the body looks random.
fn key_version(page: &[u8], header: &PageHeader, context: PageContext) -> Option<KeyVersion> {
    let version = match context.family {
        Family::MariaDbFullCrc32 => header.checksum,
        Family::MariaDbLegacy => mariadb::key_version(page, Layout::Legacy { row_compressed: false }).0,
        Family::MySql | Family::Undetermined => 0,
    };
    let unproven = || !context.crypt_data && looks_random(ciphertext(page, header, context.family)) != Some(true);
    let proven = || matches!(checksum::zip(page), Checksum::ZipCrc32 | Checksum::ZipInnodb);
    // The checksum of an encrypted page is that of the clear page.
    let doubtful = context.family == Family::MariaDbLegacy && (unproven() || proven());
    (version != 0 && !doubtful).then_some(KeyVersion(version))
}

/// The ciphertext of an encrypted page.
///
/// Source: docs/formats, "Page encryption", "Page compression", "Page_compressed". If a length does not fit the page,
/// everything after the header is taken.
fn ciphertext<'p>(page: &'p [u8], header: &PageHeader, family: Family) -> &'p [u8] {
    let whole = page.range(HEADER_BYTES, page.len());
    match (family, header.page_type) {
        (Family::MariaDbFullCrc32, page_type) => {
            let stored =
                page_type.full_crc32_compressed().map_or(page.len(), |units| usize::from(units).saturating_mul(256));
            let end = stored.min(page.len()).saturating_sub(4);
            page.range(26, end)
        }
        (Family::MySql | Family::Undetermined, PageType::COMPRESSED_ENCRYPTED) => {
            counted(page, 32, HEADER_BYTES).unwrap_or(whole)
        }
        (_, PageType::PAGE_COMPRESSED_ENCRYPTED) => counted(page, 38, 42).unwrap_or(whole),
        (Family::MariaDbLegacy, _) => page.range(HEADER_BYTES, page.len().saturating_sub(8)),
        _ => whole,
    }
}

/// The bytes from `from` on; their count is a big-endian 16-bit number at `count_at`.
fn counted(page: &[u8], count_at: usize, from: usize) -> Option<&[u8]> {
    let count = as_usize(u64::from(page.be16(count_at)?));
    page.get(from..from.checked_add(count)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_bit_in_an_empty_page_is_no_data() {
        for at in [5, 25, 40, 9000, 16_380] {
            for family in [Family::MySql, Family::MariaDbFullCrc32, Family::MariaDbLegacy, Family::Undetermined] {
                let mut page = vec![0; 16384];
                page[at] = 1;
                let header = PageHeader::parse(&page).unwrap();
                let state = judge(&page, &header, PageContext { family, crypt_data: false, temporary: false }).state;
                assert_eq!(state, PageState::Unrecognised, "{at} {family:?}");
            }
        }
    }

    #[test]
    fn leftovers_of_the_buffer_pool_in_a_temporary_tablespace_are_data() {
        let state = |temporary, page: &[u8]| {
            let header = PageHeader::parse(page).unwrap();
            judge(page, &header, PageContext { family: Family::MySql, crypt_data: false, temporary }).state
        };
        for (page_type, own, behind) in [(6_u16, 4000, 5000), (8, 10_000, 12_000), (5, 8000, 9000), (17855, 100, 9000)]
        {
            let mut page = vec![0; 16384];
            page[24..26].copy_from_slice(&page_type.to_be_bytes());
            if page_type == 17855 {
                page[40..42].copy_from_slice(&120_u16.to_be_bytes());
            }
            page[own..own + 4].fill(1);
            page[16..24].fill(1);
            assert_eq!(state(true, &page), PageState::Clear(ClearClass::Structural), "{page_type}");
            page[behind + 20] = 1;
            assert_eq!(state(true, &page), PageState::Clear(ClearClass::Structural), "a damaged byte");
            page[behind..behind + 8].copy_from_slice(b"some row");
            assert_eq!(state(true, &page), PageState::Clear(ClearClass::Data), "{page_type}");
            assert_eq!(state(false, &page), PageState::Clear(ClearClass::Structural), "{page_type}");
        }
    }
}
