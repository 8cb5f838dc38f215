//! The first page of a tablespace.

use serde::{Deserialize, Serialize};

use crate::{
    bytes::{Bytes, all_zero, as_usize},
    error::Page0Fault,
    ids::{PageNo, SpaceId},
    page::{
        Family,
        checksum::{self, Checksum},
        flags::SpaceFlags,
        header::PageHeader,
        layout::{MIN_PAGE_BYTES, SPACE_ID},
        mariadb::Layout,
        state::PageContext,
        types::PageType,
    },
    tablespace::encryption::{Disagreement, Encryption, has_mariadb_magic, has_mysql_magic},
};

/// Kind of tablespace, derived from space id and flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TablespaceKind {
    /// One table. MariaDB's and MySQL 5.7's undo tablespaces look the same on page 0;
    /// [`scan`](fn@super::scan) tells them apart by their pages.
    FilePerTable,
    /// MySQL: a general tablespace.
    General,
    /// MySQL: `mysql.ibd`, the data dictionary.
    Dictionary,
    /// Undo tablespace.
    Undo,
    /// System tablespace, `ibdata1`.
    System,
    /// `ibtmp1`.
    GlobalTemporary,
    /// MySQL: `#innodb_temp/temp_N.ibt`.
    SessionTemporary,
}

impl TablespaceKind {
    /// Name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::FilePerTable => "file-per-table",
            Self::General => "general",
            Self::Dictionary => "dictionary",
            Self::Undo => "undo",
            Self::System => "system",
            Self::GlobalTemporary => "global-temporary",
            Self::SessionTemporary => "session-temporary",
        }
    }

    /// Whether the server recreates it at each start.
    #[must_use]
    pub const fn is_temporary(self) -> bool {
        matches!(self, Self::GlobalTemporary | Self::SessionTemporary)
    }
}

/// Page 0 of a tablespace.
///
/// Source: docs/formats, "Page 0 (FSP header)" and "Flags and page size"; `fsp0fsp.h`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page0 {
    /// Format family.
    pub family: Family,
    /// Kind of tablespace.
    pub kind: TablespaceKind,
    /// Space id of the FSP header.
    pub space_id: SpaceId,
    /// The flags as stored.
    pub flags: SpaceFlags,
    /// Page size of the server instance in bytes.
    pub logical_page_bytes: u32,
    /// Bytes of one page in this file.
    pub physical_page_bytes: u32,
    /// Pages the tablespace should have (of all files, for a system tablespace of several).
    pub size_in_pages: u32,
    /// First page that was never initialised.
    pub free_limit: u32,
    /// MySQL 8 and newer: version of the server that wrote the page, e.g. 90704.
    pub server_version: Option<u32>,
    /// Encryption information.
    pub encryption: Encryption,
    /// Whether flags and information contradict each other.
    pub disagreement: Option<Disagreement>,
    /// MariaDB: declared PAGE_COMPRESSED.
    pub page_compressed: bool,
    /// Which checksum matches.
    pub checksum: Checksum,
}

const FSP_HEADER: usize = 38;
const FSP_HEADER_END: usize = 112;
const FLAGS: usize = 54;
/// Offset of the array of extent descriptors, on page 0 and every other descriptor page.
pub(crate) const XDES_ARRAY: u64 = 150;

impl Page0 {
    /// Parses page 0 from the start of a file; `bytes` may be longer than the page (64 KiB always
    /// suffice).
    ///
    /// # Errors
    /// [`Page0Fault::Empty`] if the first 1024 bytes are zero, [`Page0Fault::Short`] if there is less
    /// than a page, [`Page0Fault::NotFirst`] and [`Page0Fault::PageSize`] if it is not a page 0.
    pub fn parse(bytes: &[u8]) -> Result<Self, Page0Fault> {
        if !bytes.is_empty() && all_zero(bytes.range(0, MIN_PAGE_BYTES)) {
            return Err(Page0Fault::Empty);
        }
        let header = PageHeader::parse(bytes)?;
        if header.page_no != PageNo(0) || header.page_type != PageType::FSP_HDR {
            return Err(Page0Fault::NotFirst { page_no: header.page_no, page_type: header.page_type.0 });
        }
        let short = || Page0Fault::short(FSP_HEADER_END, bytes);
        let flags = SpaceFlags(bytes.be32(FLAGS).ok_or_else(short)?);
        let physical_page_bytes = flags.physical_page_bytes()?;
        let needed = as_usize(u64::from(physical_page_bytes));
        let page = bytes.get(..needed).ok_or_else(|| Page0Fault::short(needed, bytes))?;
        Self::from_page(page, &header, flags)
    }

    /// As [`Self::parse`]. If the checksum fails, also tries to flip each single bit of the space id, the sizes and the
    /// flags, and keeps the change that corrects the checksum: a wrong value would make every page unreadable. The page
    /// still counts as damaged.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub(crate) fn parse_damaged(bytes: &[u8]) -> Result<Self, Page0Fault> {
        let parsed = Self::parse(bytes);
        let in_doubt = match &parsed {
            Ok(page0) => page0.checksum == Checksum::Mismatch,
            Err(error) => matches!(error, Page0Fault::PageSize { .. } | Page0Fault::Short { .. }),
        };
        if in_doubt && let Some(repaired) = Self::with_one_bit_repaired(bytes) { Ok(repaired) } else { parsed }
    }

    fn with_one_bit_repaired(bytes: &[u8]) -> Option<Self> {
        let mut page = bytes.to_vec();
        (SPACE_ID..FLAGS.saturating_add(4)).flat_map(|at| (0..8).map(move |bit| (at, bit))).find_map(|(at, bit)| {
            *page.get_mut(at)? ^= 1 << bit;
            let repaired = if has_crc32(&page) { Self::parse(&page).ok() } else { None };
            *page.get_mut(at)? ^= 1 << bit;
            Some(Self { checksum: Checksum::Mismatch, ..repaired? })
        })
    }

    /// Offset of MySQL's encryption information on this page.
    #[must_use]
    pub fn info_offset(&self) -> usize {
        info_offset(self.logical_page_bytes, self.physical_page_bytes)
    }

    /// How MariaDB stores the pages; `None` if the tablespace is not in one of its formats.
    #[must_use]
    pub const fn mariadb_layout(&self) -> Option<Layout> {
        match self.family {
            Family::MariaDbFullCrc32 => {
                let [.., flags] = self.flags.0.to_be_bytes();
                Some(Layout::FullCrc32 { compression: flags >> 5 })
            }
            Family::MariaDbLegacy => Some(Layout::Legacy { row_compressed: self.flags.is_row_compressed() }),
            Family::MySql | Family::Undetermined => None,
        }
    }

    /// Whether page 0 declares that the other pages are encrypted.
    #[must_use]
    pub const fn declares_encryption(&self) -> bool {
        self.encryption.is_declared() || matches!(self.disagreement, Some(Disagreement::FlagWithoutInfo))
    }

    /// The facts needed to judge the other pages.
    #[must_use]
    pub const fn context(&self) -> PageContext {
        PageContext {
            family: self.family,
            crypt_data: matches!(self.encryption, Encryption::MariaDb { .. }),
            temporary: matches!(self.family, Family::MySql | Family::Undetermined)
                && matches!(self.kind, TablespaceKind::GlobalTemporary | TablespaceKind::SessionTemporary),
        }
    }

    fn from_page(page: &[u8], header: &PageHeader, flags: SpaceFlags) -> Result<Self, Page0Fault> {
        let short = || Page0Fault::short(FSP_HEADER_END, page);
        let logical_page_bytes = flags.logical_page_bytes()?;
        let physical_page_bytes = flags.physical_page_bytes()?;
        let info_at = info_offset(logical_page_bytes, physical_page_bytes);
        let family = family(page, header, flags, info_at);
        let (encryption, disagreement) = Encryption::parse(page, flags, info_at, family);
        let space_id = SpaceId(page.be32(FSP_HEADER).ok_or_else(short)?);
        Ok(Self {
            family,
            kind: kind(space_id, flags, family),
            space_id,
            flags,
            logical_page_bytes,
            physical_page_bytes,
            size_in_pages: page.be32(46).ok_or_else(short)?,
            free_limit: page.be32(50).ok_or_else(short)?,
            server_version: server_version(header),
            encryption,
            disagreement,
            page_compressed: matches!(family, Family::MariaDbFullCrc32 | Family::MariaDbLegacy)
                && flags.mariadb_page_compressed(),
            checksum: match flags {
                flags if flags.is_full_crc32() => checksum::full_crc32(page),
                flags if flags.is_row_compressed() => checksum::zip(page),
                _ => checksum::classic(page),
            },
        })
    }
}

/// Whether a page 0 has one of the current checksums. This is faster than trying the older ones too, and a page without
/// a checksum proves nothing.
fn has_crc32(bytes: &[u8]) -> bool {
    let flags = SpaceFlags(bytes.be32(FLAGS).unwrap_or_default());
    let page_bytes = flags.physical_page_bytes().map_or(0, |bytes| as_usize(u64::from(bytes)));
    let Some(page) = bytes.get(..page_bytes).filter(|page| !page.is_empty()) else { return false };
    match flags {
        flags if flags.is_full_crc32() => checksum::full_crc32(page).is_ok(),
        flags if flags.is_row_compressed() => page.be32(0) == Some(checksum::zip_crc32(page)),
        _ => page.be32(0) == Some(checksum::crc32(page)),
    }
}

/// Offset of MySQL's encryption information, after the extent descriptors.
///
/// Source: docs/formats, "Encryption info on page 0", all sizes confirmed on real files.
#[must_use]
fn info_offset(logical_page_bytes: u32, physical_page_bytes: u32) -> usize {
    let extent_pages = SpaceFlags::extent_pages(logical_page_bytes);
    let descriptor_bytes = u64::from(extent_pages.div_ceil(4)).saturating_add(24);
    let descriptors = physical_page_bytes.checked_div(extent_pages).unwrap_or(0);
    as_usize(XDES_ARRAY.saturating_add(descriptor_bytes.saturating_mul(u64::from(descriptors))))
}

/// Determines the format family. Bytes 8..12 of page 0 hold the server version in MySQL 8 and newer, ffffffff in
/// MariaDB, 0 in MySQL 5.7. Source: docs/formats, "Distinguishing MariaDB without full_crc32 from MySQL".
fn family(page: &[u8], header: &PageHeader, flags: SpaceFlags, info_at: usize) -> Family {
    if flags.is_full_crc32() {
        Family::MariaDbFullCrc32
    } else if server_version(header).is_some() || (has_mysql_magic(page, info_at) && may_be_mysql(header, flags)) {
        Family::MySql
    } else if flags.mysql_temporary_before_8() && !has_mariadb_magic(page, info_at) {
        // MySQL 5.7 writes ffffffff as well. Seen on Percona Server 5.7.22.
        Family::Undetermined
    } else if has_mariadb_magic(page, info_at) || header.previous == u32::MAX || flags.mariadb_page_compressed() {
        Family::MariaDbLegacy
    } else {
        Family::Undetermined
    }
}

/// Whether MySQL may have written encryption information here: its flag is set, or the page lacks MariaDB's marks. A
/// magic alone proves nothing, because anyone can write one.
const fn may_be_mysql(header: &PageHeader, flags: SpaceFlags) -> bool {
    flags.mysql_encryption() || header.previous != u32::MAX
}

fn server_version(header: &PageHeader) -> Option<u32> {
    (80_000..10_000_000).contains(&header.previous).then_some(header.previous)
}

/// First space id of the redo log's pseudo-tablespace. Undo tablespaces are numbered downwards from
/// just below it (127 × 400,000 ids); the 400,000 ids below those are for session temporary
/// tablespaces. Source: `dict0dict.h` (`dict_sys_t::s_*_space_id`); ffffffef confirmed on undo_001
/// in testdata.
const REDO_SPACE: u32 = 0xffff_fff0;
const FIRST_UNDO: u32 = REDO_SPACE.saturating_sub(127 * 400_000);
const FIRST_SESSION_TEMPORARY: u32 = FIRST_UNDO.saturating_sub(400_000);

fn kind(space_id: SpaceId, flags: SpaceFlags, family: Family) -> TablespaceKind {
    match (space_id.0, family) {
        (0, _) => TablespaceKind::System,
        (0xffff_fffe, Family::MySql) => TablespaceKind::Dictionary,
        (0xffff_fffe, Family::MariaDbFullCrc32 | Family::MariaDbLegacy) | (0xffff_fffd, Family::MySql) => {
            TablespaceKind::GlobalTemporary
        }
        (FIRST_UNDO..REDO_SPACE, Family::MySql) => TablespaceKind::Undo,
        (FIRST_SESSION_TEMPORARY..FIRST_UNDO, Family::MySql) => TablespaceKind::SessionTemporary,
        (_, Family::MySql) if flags.mysql_temporary() => TablespaceKind::SessionTemporary,
        (_, Family::MySql) if flags.mysql_shared() => TablespaceKind::General,
        (_, Family::Undetermined) if flags.mysql_temporary_before_8() => TablespaceKind::GlobalTemporary,
        _ => TablespaceKind::FilePerTable,
    }
}
