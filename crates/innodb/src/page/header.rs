//! The first 38 bytes of every page.

use serde::{Deserialize, Serialize};

use crate::{
    bytes::Bytes,
    error::Page0Fault,
    ids::{Lsn, PageNo, SpaceId},
    page::{
        layout::{HEADER_BYTES, LSN, PAGE_NO, SPACE_ID, TYPE},
        types::PageType,
    },
};

/// Header of every InnoDB page: its first 38 bytes, all integers big-endian.
///
/// Source: docs/formats, "FIL header / trailer"; `fil0types.h` (`FIL_PAGE_*`), confirmed on the MySQL 9.7 and MariaDB
/// 10.11 files in testdata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageHeader {
    /// Bytes 0..4: checksum; in MariaDB's full_crc32 format the key version (0 = clear).
    pub checksum: u32,
    /// Bytes 4..8.
    pub page_no: PageNo,
    /// Bytes 8..12: previous page; on page 0 of MySQL 8 and newer the server version.
    pub previous: u32,
    /// Bytes 16..24: redo log position of the page's newest change.
    pub lsn: Lsn,
    /// Bytes 24..26.
    pub page_type: PageType,
    /// Bytes 26..34: meaning depends on format and page type.
    pub control: u64,
    /// Bytes 34..38; ciphertext on encrypted pages of the full_crc32 format.
    pub space_id: SpaceId,
}

impl PageHeader {
    /// Reads the header from the start of a page.
    ///
    /// # Errors
    /// [`Page0Fault::Short`] if there are fewer than 38 bytes.
    pub fn parse(page: &[u8]) -> Result<Self, Page0Fault> {
        Self::read(page).ok_or_else(|| Page0Fault::short(HEADER_BYTES, page))
    }

    fn read(page: &[u8]) -> Option<Self> {
        Some(Self {
            checksum: page.be32(0)?,
            page_no: PageNo(page.be32(PAGE_NO)?),
            previous: page.be32(8)?,
            lsn: Lsn(page.be64(LSN)?),
            page_type: PageType(page.be16(TYPE)?),
            control: page.be64(26)?,
            space_id: SpaceId(page.be32(SPACE_ID)?),
        })
    }
}
