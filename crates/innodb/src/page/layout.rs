//! Sizes of pages, and where the fields of a page's header are.
//!
//! Source: docs/formats, "FIL header / trailer"; `fil0types.h` (`FIL_PAGE_*`), `univ.i` (`UNIV_PAGE_SIZE_*`,
//! `UNIV_ZIP_SIZE_*`), `trx0sys.h`.

/// Bytes of the smallest page (ROW_FORMAT=COMPRESSED, KEY_BLOCK_SIZE=1).
pub const MIN_PAGE_BYTES: usize = 1024;
/// Bytes of the largest page: the first 64 KiB of a file always contain page 0.
pub const MAX_PAGE_BYTES: usize = 65536;
/// Page sizes of servers (`innodb_page_size`), in bytes.
pub const SERVER_PAGE_BYTES: [u32; 5] = [4096, 8192, 16384, 32768, 65536];
/// Sizes of ROW_FORMAT=COMPRESSED pages, in bytes.
pub const ROW_COMPRESSED_PAGE_BYTES: [usize; 5] = [1024, 2048, 4096, 8192, 16384];
/// Sizes of all pages on disk, in bytes.
pub const PAGE_BYTES: [usize; 7] = [1024, 2048, 4096, 8192, 16384, 32768, 65536];

/// Bytes of the header of a page.
pub const HEADER_BYTES: usize = 38;
/// Offset of the page number, 4 bytes.
pub const PAGE_NO: usize = 4;
/// Offset of the LSN of the page's newest change, 8 bytes.
pub const LSN: usize = 16;
/// Offset of the page type, 2 bytes.
pub const TYPE: usize = 24;
/// Offset of the space id, 4 bytes.
pub const SPACE_ID: usize = 34;

/// Number of the page of a system tablespace that says where its doublewrite area is.
pub const TRX_SYS_PAGE: u64 = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::as_usize;

    #[test]
    fn the_list_of_sizes_has_all_sizes() {
        let mut all = [SERVER_PAGE_BYTES.map(|bytes| as_usize(u64::from(bytes))), ROW_COMPRESSED_PAGE_BYTES].concat();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all, PAGE_BYTES);
        assert_eq!((PAGE_BYTES.first(), PAGE_BYTES.last()), (Some(&MIN_PAGE_BYTES), Some(&MAX_PAGE_BYTES)));
    }
}
