//! Why bytes could not be parsed or read.

use std::io;

use crate::{bytes::as_u64, ids::PageNo};

/// Why page 0 of a tablespace cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Page0Fault {
    /// Fewer bytes than one page.
    #[error("page 0 is too short: {found} bytes, {needed} needed")]
    Short {
        /// Bytes needed.
        needed: u64,
        /// Bytes available.
        found: u64,
    },
    /// Every byte is zero. A table created just before a crash can look like this, because its
    /// content is only in the redo log, so this is not damage.
    #[error("page 0 is all zero, cannot identify the tablespace")]
    Empty,
    /// The header does not belong to the first page of a tablespace.
    #[error("not the first page of a tablespace (page {page_no}, type {page_type})")]
    NotFirst {
        /// Page number in the header.
        page_no: PageNo,
        /// Page type in the header.
        page_type: u16,
    },
    /// The flags give no valid page size.
    #[error("tablespace flags 0x{flags:x} give no valid page size")]
    PageSize {
        /// The flags as stored.
        flags: u32,
    },
}

/// Why a file cannot be scanned.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScanError {
    /// The operating system could not read the file.
    #[error("cannot read at offset {offset}: {source}")]
    Io {
        /// Offset in the file, in bytes.
        offset: u64,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Page 0 cannot be parsed.
    #[error(transparent)]
    Page(#[from] Page0Fault),
    /// The file has no bytes.
    #[error("the file is empty")]
    EmptyFile,
    /// The file does not have the expected format.
    #[error("not a {expected}")]
    NotRecognised {
        /// Name of the expected format.
        expected: &'static str,
    },
}

impl Page0Fault {
    pub(crate) fn short(needed: usize, found: &[u8]) -> Self {
        Self::Short { needed: as_u64(needed), found: as_u64(found.len()) }
    }
}
