//! Where the parts of an Aria page are: key version, encrypted bytes, checksum.
//!
//! Source: docs/formats, "Aria"; the encrypted range of blob pages and of tables without a log: `ma_crypt.c`.

use std::ops::Range;

use crc_fast::{CrcAlgorithm::Crc32IsoHdlc, Digest};

use crate::{aria::AriaTable, bytes::Bytes, ids::KeyVersion};

/// Bytes of the checksum at the end of every page.
pub const CHECKSUM_BYTES: usize = 4;
/// Bytes of a key version. Its field is zero in the page that the checksum covers.
const VERSION_BYTES: usize = 4;
/// Bytes of the log sequence number at the start of a page.
pub(crate) const LSN_BYTES: usize = 7;
/// Bytes of the transaction id after the log sequence number, in index pages of tables with a log.
const TRANSACTION_BYTES: usize = 6;
/// Bytes of key number, flag and bytes used (2): the end of an index page's header.
const KEY_FIELDS_BYTES: usize = 4;
/// Bytes of a block of AES.
const AES_BLOCK_BYTES: usize = 16;
/// Page type of a page that holds part of a large value.
const BLOB_PAGE: u8 = 3;

/// Layout of a page: what is encrypted, and what its checksum covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageLayout {
    /// Offset of the key version, in encrypted tables.
    version_at: Option<usize>,
    /// Encrypted bytes; empty in clear tables.
    pub(crate) encrypted: Range<usize>,
    /// Bytes the checksum covers, from the start of the page.
    covered: usize,
}

impl PageLayout {
    /// Layout of a page of a ROW_FORMAT=PAGE data file that is not a bitmap page.
    #[must_use]
    pub fn data(page: &[u8], encrypted: bool) -> Self {
        let [flags] = page.array_at(7).unwrap_or_default();
        let covered = page.len().saturating_sub(CHECKSUM_BYTES);
        if !encrypted {
            return Self { version_at: None, encrypted: covered..covered, covered };
        }
        let version_at: usize = if flags & 7 == BLOB_PAGE { 8 } else { 12 };
        Self { version_at: Some(version_at), encrypted: version_at.saturating_add(VERSION_BYTES)..covered, covered }
    }

    /// Layout of a bitmap page, which is never encrypted.
    #[must_use]
    pub fn bitmap(page: &[u8]) -> Self {
        Self::data(page, false)
    }

    /// Layout of a page of an index file, after its header. `None` if the page claims to use more
    /// bytes than it has, or fewer than its header. Bytes after the used ones are leftover server
    /// memory, neither encrypted nor covered by the checksum.
    #[must_use]
    pub fn index(page: &[u8], table: &AriaTable) -> Option<Self> {
        let log_bytes = if table.transactional { LSN_BYTES + TRANSACTION_BYTES } else { 0 };
        // Encrypted pages need the log sequence number for their initialisation vector, even in tables without a log.
        let before = if table.encrypted { log_bytes.max(LSN_BYTES) } else { log_bytes };
        let version_bytes = if table.encrypted { VERSION_BYTES } else { 0 };
        let header_bytes = before.checked_add(version_bytes)?.checked_add(KEY_FIELDS_BYTES)?;
        let used = usize::from(page.be16(header_bytes.checked_sub(2)?)?);
        let most = page.len().checked_sub(CHECKSUM_BYTES)?;
        if used < header_bytes || used > most || (table.encrypted && used == most) {
            return None;
        }
        let version_at = table.encrypted.then_some(before);
        Some(Self {
            version_at,
            encrypted: if table.encrypted { header_bytes..used } else { used..used },
            covered: used,
        })
    }

    /// `true` if less than one AES block is encrypted: both modes then give the same result.
    #[must_use]
    pub fn is_short(&self) -> bool {
        self.encrypted.len() < AES_BLOCK_BYTES
    }

    /// Whether the fields that stay readable in a data page are valid: its type, its flags and, on pages with rows, the
    /// free bytes.
    ///
    /// Source: `ma_blockrec.h` (`PAGE_TYPE_MASK`, `PAGE_CAN_BE_COMPACTED`, `EMPTY_SPACE_OFFSET`).
    #[must_use]
    pub fn is_data_header(page: &[u8]) -> bool {
        const CAN_BE_COMPACTED: u8 = 128;
        let [flags] = page.array_at(7).unwrap_or_default();
        let page_type = flags & !CAN_BE_COMPACTED;
        page_type == BLOB_PAGE || (page_type < BLOB_PAGE && usize::from(page.le16(10).unwrap_or(0)) < page.len())
    }

    /// Whether the readable fields of an index page of valid length are valid: the number of its index and its flags.
    ///
    /// Source: `maria_def.h` (`MARIA_MAX_KEY`, `MARIA_DELETE_KEY_NR`, `KEYPAGE_FLAG_ISNOD`,
    /// `KEYPAGE_FLAG_HAS_TRANSID`).
    #[must_use]
    pub fn is_index_header(&self, page: &[u8]) -> bool {
        const MAX_INDEXES: u8 = 128;
        const DELETED_PAGE: u8 = 255;
        let fields = self.version_at.map_or(0, |at| at.saturating_add(VERSION_BYTES));
        let [index, flags] = page.array_at(fields).unwrap_or_default();
        (index < MAX_INDEXES || index == DELETED_PAGE) && flags < 4
    }

    /// The key version of the page; 0 if it is not encrypted.
    #[must_use]
    pub fn key_version(&self, page: &[u8]) -> KeyVersion {
        KeyVersion(self.version_at.and_then(|at| page.le32(at)).unwrap_or(0))
    }

    /// The checksum of a decrypted page: zlib's CRC-32 seeded with the page number, over the page
    /// without its key version. The two highest values are not used.
    #[must_use]
    pub fn checksum(&self, page_no: u32, page: &[u8]) -> u32 {
        const HIGHEST: u32 = 0xffff_fffd;
        let mut digest = Digest::new_with_init_state(Crc32IsoHdlc, u64::from(!page_no));
        match self.version_at {
            Some(at) => {
                digest.update(page.range(0, at));
                digest.update(&[0; VERSION_BYTES]);
                digest.update(page.range(at.saturating_add(VERSION_BYTES), self.covered));
            }
            None => digest.update(page.range(0, self.covered)),
        }
        u32::try_from(digest.finalize()).unwrap_or(HIGHEST).min(HIGHEST)
    }

    /// The checksum at the end of the page.
    #[must_use]
    pub fn stored_checksum(page: &[u8]) -> u32 {
        page.len().checked_sub(CHECKSUM_BYTES).and_then(|at| page.le32(at)).unwrap_or(0)
    }
}
