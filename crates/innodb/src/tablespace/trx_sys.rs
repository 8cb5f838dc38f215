//! The TRX_SYS page of the system tablespace.

use crate::{
    bytes::Bytes,
    page::{flags::SpaceFlags, layout::TRX_SYS_PAGE},
};

/// The doublewrite area that the TRX_SYS page (page 5 of the system tablespace) names: two extents
/// as ranges of pages, empty if there is none.
///
/// Source: docs/formats, "Area in ibdata1"; `trx0sys.h` (`TRX_SYS_DOUBLEWRITE`), confirmed on MySQL 9.7 and MariaDB
/// 10.11 in testdata.
pub(crate) fn doublewrite_area_of(trx_sys: &[u8], logical_page_bytes: u32) -> [(u64, u64); 2] {
    const MAGIC: u32 = 536_853_855;
    let fields = trx_sys.range(trx_sys.len().saturating_sub(200), trx_sys.len());
    if fields.be32(10) != Some(MAGIC) {
        return [(0, 0); 2];
    }
    let extent = u64::from(SpaceFlags::extent_pages(logical_page_bytes));
    [14, 18].map(|at| match u64::from(fields.be32(at).unwrap_or(0)) {
        first if first > TRX_SYS_PAGE => (first, first.saturating_add(extent)),
        _ => (0, 0),
    })
}
