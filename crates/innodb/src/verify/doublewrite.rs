//! Doublewrite files of MySQL, `#ib_<page size>_<n>.dblwr`, and the parallel one of Percona Server,
//! `xb_doublewrite`: every slot is checked as a page copy, with the key of its tablespace.
//!
//! Clear copies of pages of encrypted tablespaces are reported as mixed: before 8.0.23, and by
//! Percona Server unless `innodb_parallel_dblwr_encrypt` is on, the server wrote them so, and slots
//! keep their content. Slots that the server never filled are empty.
//!
//! Source: docs/formats, "mysql.ibd, ibdata1, temporary, doublewrite".

use files::ReadAt;

use crate::{
    bytes::{as_u64, as_usize},
    doublewrite,
    error::ScanError,
    read::{fill, length},
    verify::{
        Check, FileReport, ReportBuilder,
        tablespace::{PageBuffers, Part, TablespaceLookup, copy},
    },
};

/// Verifies every slot. Without `page_bytes` (from the file's name) the size is detected.
///
/// # Errors
/// [`ScanError::EmptyFile`], [`ScanError::Io`].
pub fn verify<R: ReadAt + ?Sized>(
    source: &R,
    page_bytes: Option<u32>,
    owners: &dyn TablespaceLookup,
) -> Result<FileReport, ScanError> {
    let file_bytes = length(source)?;
    if file_bytes == 0 {
        return Err(ScanError::EmptyFile);
    }
    let slot_bytes = u64::from(doublewrite::slot_bytes(source, page_bytes, file_bytes)?);
    let mut slot = vec![0; as_usize(slot_bytes)];
    let mut buffers = PageBuffers::default();
    let mut part = Part::default();
    let mut builder = ReportBuilder::default();
    for index in 0..file_bytes.div_ceil(slot_bytes) {
        let offset = index.saturating_mul(slot_bytes);
        let there = fill(source, offset, &mut slot)?.len();
        if as_u64(there) < slot_bytes {
            let detail = format!("the last slot has {there} of {slot_bytes} bytes");
            builder.find(Some(index), Some(offset), Check::PartialUnit, detail);
            break;
        }
        part.count(index, offset, copy::judge(&mut slot, true, owners, &mut buffers));
    }
    part.conclude(None, slot_bytes, &mut builder);
    Ok(builder.finish(None))
}
