//! Tablespace flags of page 0 and the page sizes they give.

use serde::{Deserialize, Serialize};

use crate::error::Page0Fault;

/// Marks MariaDB's full_crc32 format; always 0 in the other formats, where the
/// compressed page size of bits 1 to 4 is at most 5.
const FULL_CRC32_MARK: u32 = 0x10;

/// Bytes 54..58 of page 0.
///
/// Source: docs/formats, "Flags and page size"; values confirmed on the files in testdata.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SpaceFlags(pub u32);

impl SpaceFlags {
    /// Whether this is MariaDB's full_crc32 format.
    #[must_use]
    pub const fn is_full_crc32(self) -> bool {
        self.0 & FULL_CRC32_MARK != 0
    }

    /// Page size of the server instance in bytes: 4096 to 65536.
    ///
    /// # Errors
    /// [`Page0Fault::PageSize`] if the flags hold no valid size.
    pub const fn logical_page_bytes(self) -> Result<u32, Page0Fault> {
        let code = if self.is_full_crc32() { self.0 & 0xf } else { (self.0 >> 6) & 0xf };
        match (code, self.is_full_crc32()) {
            (0, false) => Ok(16384),
            (3..=7, _) => Ok(512 << code),
            _ => Err(Page0Fault::PageSize { flags: self.0 }),
        }
    }

    /// Bytes of a page in the file: smaller than the logical size for
    /// ROW_FORMAT=COMPRESSED tables (KEY_BLOCK_SIZE).
    ///
    /// # Errors
    /// [`Page0Fault::PageSize`] if the flags hold no valid size.
    pub const fn physical_page_bytes(self) -> Result<u32, Page0Fault> {
        let logical = match self.logical_page_bytes() {
            Ok(logical) => logical,
            Err(error) => return Err(error),
        };
        if self.is_full_crc32() {
            return Ok(logical);
        }
        match (self.0 >> 1) & 0xf {
            0 => Ok(logical),
            code @ 1..=5 if 512 << code <= logical => Ok(512 << code),
            _ => Err(Page0Fault::PageSize { flags: self.0 }),
        }
    }

    /// Whether pages are ROW_FORMAT=COMPRESSED pages: no trailer, other checksum.
    #[must_use]
    pub const fn is_row_compressed(self) -> bool {
        !self.is_full_crc32() && (self.0 >> 1) & 0xf != 0
    }

    /// MySQL: the ENCRYPTION flag. Meaningless in MariaDB's formats.
    #[must_use]
    pub const fn mysql_encryption(self) -> bool {
        self.0 & 0x2000 != 0
    }

    /// MySQL: a general tablespace, `mysql.ibd` or the system tablespace.
    #[must_use]
    pub const fn mysql_shared(self) -> bool {
        self.0 & 0x800 != 0
    }

    /// MySQL: a temporary tablespace.
    #[must_use]
    pub const fn mysql_temporary(self) -> bool {
        self.0 & 0x1000 != 0
    }

    /// MySQL 5.7: `ibtmp1`, or a session's temporary table with ROW_FORMAT=COMPRESSED. `false` if a bit is set that has
    /// another meaning in MariaDB 10.1.
    ///
    /// Source: `fsp0types.h` of 5.7 (`FSP_FLAGS_POS_TEMPORARY`); `ibtmp1` of Percona Server 5.7.22
    /// has 0x1000.
    #[must_use]
    pub const fn mysql_temporary_before_8(self) -> bool {
        const SIZES: u32 = 0x3ff;
        !self.is_full_crc32() && self.0 & !SIZES == 0x1000
    }

    /// MariaDB: declared PAGE_COMPRESSED (algorithm in full_crc32, bit 16 in the older format).
    #[must_use]
    pub const fn mariadb_page_compressed(self) -> bool {
        if self.is_full_crc32() { self.0 & 0xe0 != 0 } else { self.0 & 0x1_0000 != 0 }
    }

    /// Pages per extent for a logical page size: 1 MiB extents up to 16 KiB pages, else 64 pages.
    #[must_use]
    pub const fn extent_pages(logical_page_bytes: u32) -> u32 {
        match logical_page_bytes {
            0..=4096 => 256,
            4097..=8192 => 128,
            _ => 64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_flags_seen_on_servers() {
        for (flags, logical, physical) in [
            (0, 16384, 16384),
            (0x6021, 16384, 16384),
            (0x6029, 16384, 8192),
            (0x6027, 16384, 4096),
            (0x6025, 16384, 2048),
            (0x6023, 16384, 1024),
            (0x60e1, 4096, 4096),
            (0x6121, 8192, 8192),
            (0x61a1, 32768, 32768),
            (0x61e1, 65536, 65536),
            (0x15, 16384, 16384),
            (0x13, 4096, 4096),
            (0x17, 65536, 65536),
            (0x35, 16384, 16384),
        ] {
            let flags = SpaceFlags(flags);
            assert_eq!(flags.logical_page_bytes(), Ok(logical), "{flags:?}");
            assert_eq!(flags.physical_page_bytes(), Ok(physical), "{flags:?}");
        }
    }

    #[test]
    fn impossible_sizes_are_errors() {
        for flags in [0x10, 0x1f, 0x40, 0x3c0, 0xc, 0xeb] {
            assert!(SpaceFlags(flags).physical_page_bytes().is_err(), "{flags:x}");
        }
    }
}
