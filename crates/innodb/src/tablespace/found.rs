//! Result of scanning a tablespace.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    ids::{KeyVersion, PageNo, SpaceId},
    page::types::ClearClass,
    tablespace::{DoublewriteCopies, Page0, TablespaceKind},
};

/// Page counts by state. `scanned` is the sum of all others but `total`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageCounts {
    /// Whole pages in the file.
    pub total: u64,
    /// Pages read.
    pub scanned: u64,
    /// Encrypted.
    pub encrypted: u64,
    /// Clear pages that expose rows, keys, old versions or large values.
    pub clear_data: u64,
    /// Clear pages with bookkeeping only.
    pub clear_structural: u64,
    /// All zero.
    pub empty: u64,
    /// The header says encrypted, but the body is clear text.
    pub mislabelled: u64,
    /// Pages the server never encrypts (page 0; MariaDB: extent descriptors, TRX_SYS).
    pub exempt: u64,
    /// Doublewrite copies inside the system tablespace, see [`DoublewriteCopies`].
    pub doublewrite: u64,
    /// Unknown page type and random body: damage, or not an InnoDB page.
    pub unrecognised: u64,
}

impl PageCounts {
    /// All clear pages that could have been encrypted.
    #[must_use]
    pub const fn clear(&self) -> u64 {
        self.clear_data.saturating_add(self.clear_structural)
    }
}

/// A clear or mislabelled page, listed as evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClearPage {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Page number, by position in the file.
    pub page_no: PageNo,
    /// Page type as stored.
    pub page_type: u16,
    /// Name of the page type.
    pub type_name: String,
    /// What the page exposes.
    pub class: ClearClass,
}

/// A page in the wrong position or file: swapped, or copied from another tablespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignPage {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Page number in its header.
    pub page_no: PageNo,
    /// Space id in its header; `None` where it is unreadable.
    pub space_id: Option<SpaceId>,
}

/// By how much the file is shorter than page 0 says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truncation {
    /// Pages missing at the end.
    pub missing_pages: u64,
    /// Bytes of a last, partial page.
    pub partial_bytes: u64,
}

/// Pages of one key version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyVersionPages {
    /// The key version.
    pub version: KeyVersion,
    /// Encrypted pages with it.
    pub pages: u64,
}

/// Result of scanning a tablespace file.
///
/// Pages that no server encrypts are not counted as clear: page 0; MariaDB's extent descriptor pages
/// and the TRX_SYS page. All-zero pages stay zero everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TablespaceScan {
    /// Page 0 (of the first file, if this file continues it).
    pub page0: Page0,
    /// Kind of tablespace, corrected by the pages read: undo tablespaces of MariaDB and MySQL 5.7
    /// are recognised only by their page types.
    pub kind: TablespaceKind,
    /// Length of the file.
    pub file_bytes: u64,
    /// Set if the file is too short.
    pub truncated: Option<Truncation>,
    /// Whether every page was read.
    pub complete: bool,
    /// Page counts by state.
    pub counts: PageCounts,
    /// Types of the clear pages, by name.
    pub clear_types: BTreeMap<String, u64>,
    /// The first clear pages, data before structure.
    pub clear_pages: Vec<ClearPage>,
    /// The first mislabelled pages.
    pub mislabelled_pages: Vec<ClearPage>,
    /// MariaDB: key versions of encrypted pages, ascending; at most 4096.
    pub key_versions: Vec<KeyVersionPages>,
    /// Pages with page compression, encrypted or not.
    pub compressed_pages: u64,
    /// Clear index pages with records (change buffer pages included).
    pub clear_index_pages: u64,
    /// Clear undo pages.
    pub clear_undo_pages: u64,
    /// Clear index pages of the change buffer: keys of any table's secondary indexes.
    pub change_buffer_pages: u64,
    /// Pages whose header names another page or tablespace.
    pub foreign: u64,
    /// The first of these pages.
    pub foreign_pages: Vec<ForeignPage>,
    /// Copies in the doublewrite area of the system tablespace.
    pub doublewrite: DoublewriteCopies,
}
