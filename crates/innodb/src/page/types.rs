//! Page types: names, and which clear pages expose rows.

use serde::{Deserialize, Serialize};

use crate::{
    bytes::{Bytes, all_zero},
    page::{Family, layout::HEADER_BYTES},
};

/// Bytes 24..26 of a page.
///
/// Source: docs/formats, "Page types"; `fil0fil.h` (`FIL_PAGE_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PageType(pub u16);

/// What a clear page exposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClearClass {
    /// Rows, keys, old row versions, large values or dictionary entries.
    Data,
    /// Only bookkeeping: free lists, bitmaps, inodes, empty index pages.
    Structural,
}

impl PageType {
    /// Undo log page.
    pub const UNDO: Self = Self(2);
    /// System page: rollback segment headers, the change buffer header.
    pub const SYS: Self = Self(6);
    /// Transaction system page (page 5 of the system tablespace).
    pub const TRX_SYS: Self = Self(7);
    /// Page 0.
    pub const FSP_HDR: Self = Self(8);
    /// Extent descriptor page.
    pub const XDES: Self = Self(9);
    /// MySQL: page compression.
    pub const COMPRESSED: Self = Self(14);
    /// MySQL: encrypted.
    pub const ENCRYPTED: Self = Self(15);
    /// MySQL: compressed, then encrypted.
    pub const COMPRESSED_ENCRYPTED: Self = Self(16);
    /// MySQL: encrypted R-tree page.
    pub const ENCRYPTED_RTREE: Self = Self(17);
    /// MariaDB, old format: page compression.
    pub const PAGE_COMPRESSED: Self = Self(34354);
    /// MariaDB, old format: page compression, then encryption.
    pub const PAGE_COMPRESSED_ENCRYPTED: Self = Self(37401);
    /// MySQL: serialised dictionary information.
    pub const SDI: Self = Self(17853);
    /// R-tree (spatial index).
    pub const RTREE: Self = Self(17854);
    /// B-tree index page: rows.
    pub const INDEX: Self = Self(17855);

    /// MySQL and its forks: types 15, 16 and 17 mean "encrypted".
    #[must_use]
    pub const fn is_mysql_encrypted(self) -> bool {
        matches!(self.0, 15..=17)
    }

    /// MariaDB full_crc32: bit 15 marks page compression, the rest is the stored size / 256.
    #[must_use]
    pub const fn full_crc32_compressed(self) -> Option<u16> {
        if self.0 & 0x8000 != 0 { Some(self.0 & 0x7fff) } else { None }
    }

    /// Whether the page holds a compressed image of another page.
    #[must_use]
    pub const fn is_page_compressed(self, family: Family) -> bool {
        match family {
            Family::MariaDbFullCrc32 => self.full_crc32_compressed().is_some(),
            _ => matches!(self.0, 14 | 16 | 34354 | 37401),
        }
    }

    /// Whether a server of this family writes this type.
    #[must_use]
    pub fn is_known(self, family: Family) -> bool {
        self.known_name(family).is_some()
    }

    /// Name in kebab-case; `type-<number>` for a type not known in this family.
    #[must_use]
    pub fn name(self, family: Family) -> String {
        self.known_name(family).map_or_else(|| format!("type-{}", self.0), str::to_owned)
    }

    const fn known_name(self, family: Family) -> Option<&'static str> {
        let mariadb = matches!(family, Family::MariaDbFullCrc32 | Family::MariaDbLegacy);
        Some(match self.0 {
            0 => "allocated",
            1 => "unused",
            2 => "undo-log",
            3 => "inode",
            4 => "ibuf-free-list",
            5 => "ibuf-bitmap",
            6 => "sys",
            7 => "trx-sys",
            8 => "fsp-hdr",
            9 => "xdes",
            10 => "blob",
            11 => "zblob",
            12 => "zblob2",
            13 => "unknown",
            17853 if !mariadb => "sdi",
            17854 => "rtree",
            17855 => "index",
            18 if mariadb => "instant-root",
            32768.. if matches!(family, Family::MariaDbFullCrc32) => "page-compressed",
            34354 if !matches!(family, Family::MySql) => "page-compressed",
            37401 if !matches!(family, Family::MySql) => "page-compressed-encrypted",
            _ if mariadb => return None,
            14 => "compressed",
            15 => "encrypted",
            16 => "compressed-encrypted",
            17 => "encrypted-rtree",
            18 => "sdi-blob",
            19 => "sdi-zblob",
            20 => "legacy-doublewrite",
            21 => "rseg-array",
            22 => "lob-index",
            23 => "lob-data",
            24 => "lob-first",
            25 => "zlob-first",
            26 => "zlob-data",
            27 => "zlob-index",
            28 => "zlob-fragment",
            29 => "zlob-fragment-entry",
            _ => return None,
        })
    }
}

/// Offset of the number of user records in an index page (`PAGE_N_RECS`).
const RECORDS: usize = 54;
/// Offset of the bytes of deleted records in an index page (`PAGE_GARBAGE`).
const GARBAGE: usize = 46;
/// Offset of the index id in an index page (`PAGE_INDEX_ID`).
const INDEX_ID: usize = 66;
/// Index id of the change buffer tree (`DICT_IBUF_ID_MIN`), confirmed on ibdata1 of
/// MySQL 9.7 in testdata.
const CHANGE_BUFFER_INDEX: u64 = 0xffff_ffff_0000_0000;
/// Offset at which contents can start on pages that begin with a list node or segment header.
const CONTENT: usize = 120;

/// What a clear, non-zero page of this family exposes.
///
/// Index, R-tree and SDI pages are data if they hold records or remains of deleted ones; undo,
/// large-value and compressed pages always are. Other pages are data only if their type is not a
/// bookkeeping type and there are non-zero bytes after their first 120 bytes.
#[must_use]
pub fn clear_class(page: &[u8], page_type: PageType, family: Family) -> ClearClass {
    let data = if page_type.is_page_compressed(family) {
        compressed_holds_data(page, page_type, family)
    } else {
        match (page_type.0, family) {
            (17853..=17855, _) | (18, Family::MariaDbFullCrc32 | Family::MariaDbLegacy) => has_records(page),
            (2 | 10..=12 | 18..=20 | 23..=26 | 28, _) => true,
            (3 | 5..=9 | 21 | 22 | 27 | 29, _) => false,
            _ => !all_zero(page.range(CONTENT, page.len().saturating_sub(8))),
        }
    };
    if data { ClearClass::Data } else { ClearClass::Structural }
}

/// Whether there is data after the fields of a bookkeeping page. MySQL does not clear a page of a temporary tablespace
/// before use, so it also writes what was in the buffer pool before: rows of any table.
///
/// Source: `fsp0fsp.cc` (`fsp_init_file_page_low`), `trx0rseg.h` (`TRX_RSEG_UNDO_SLOTS`), `page0page.h`; seen on MySQL
/// 5.7.22, 8.0.33 and 9.7, each killed twice: rows of encrypted tables in `ibtmp1` and `#innodb_temp`.
pub(crate) fn holds_remains(page: &[u8], page_type: PageType) -> bool {
    const DESCRIPTORS: usize = 150;
    const ROLLBACK_SLOTS: usize = 72;
    const BITMAP: usize = 94;
    const HEAP_TOP: usize = 40;
    const DIRECTORY_SLOTS: usize = 38;
    const ROW_BYTES: usize = 2;
    let bytes = page.len();
    let end = bytes.saturating_sub(8);
    let field = |at: usize| usize::from(page.be16(at).unwrap_or_default());
    let unused = match page_type.0 {
        // A page describes as many pages as it has bytes, with 40 bytes per extent; space for a key follows.
        8 | 9 => DESCRIPTORS.saturating_add(bytes.saturating_mul(5) / 8).saturating_add(128)..end,
        6 => ROLLBACK_SLOTS.saturating_add(bytes / 4)..end,
        5 => BITMAP.saturating_add(bytes / 2)..end,
        17854 | 17855 => field(HEAP_TOP)..end.saturating_sub(field(DIRECTORY_SLOTS).saturating_mul(2)),
        _ => return false,
    };
    let unused = page.range(unused.start, unused.end);
    // A single damaged byte does not count as remains of a row.
    !all_zero(unused) && unused.iter().filter(|byte| **byte != 0).nth(ROW_BYTES).is_some()
}

/// Whether this is an index page of the change buffer: secondary index entries of any table,
/// buffered in the system tablespace.
#[must_use]
pub fn is_change_buffer(page: &[u8], page_type: PageType) -> bool {
    page_type == PageType::INDEX && page.be64(INDEX_ID) == Some(CHANGE_BUFFER_INDEX)
}

/// Whether everything between header and trailer is zero: the page is allocated but unused.
pub(crate) fn is_blank(page: &[u8]) -> bool {
    all_zero(page.range(HEADER_BYTES, page.len().saturating_sub(8)))
}

fn has_records(page: &[u8]) -> bool {
    page.be16(RECORDS) != Some(0) || page.be16(GARBAGE) != Some(0)
}

/// MySQL keeps the original type at byte 28. MariaDB does not, so the page counts as data.
fn compressed_holds_data(page: &[u8], page_type: PageType, family: Family) -> bool {
    let original = page.be16(28);
    let bookkeeping = matches!(original, Some(3 | 5..=9 | 21 | 22 | 27 | 29));
    !(family == Family::MySql && page_type == PageType::COMPRESSED && bookkeeping)
}
