//! Redo logs: every block of MySQL and of MariaDB up to 10.7, every mini-transaction of MariaDB
//! 10.8 and newer from the newest checkpoint to the end of the log.
//!
//! A log is a ring or a chain of recycled files: after its end there are blocks of earlier passes,
//! which are valid but stale, and may be zero. Blocks of an earlier pass are checked like all
//! others but may be anywhere; a block that interrupts a series of numbered ones is damage. A block
//! is a disk sector, which a crash does not leave half written, so a wrong checksum is damage in
//! any block. Mini-transactions can be left half written: see `chain`.
//!
//! Source: docs/formats, "Redo" of MySQL and of MariaDB.

mod blocks;
mod chain;
mod head;
mod legacy;
mod mariadb_blocks;
mod mini_transactions;
mod mysql;
mod order;
mod ring;
mod runs;
mod vote;

use serde::{Deserialize, Serialize};

pub use self::mariadb_blocks::{BlocksKeyInfo, blocks_key_info};
pub use self::mysql::{KEY_INFO_BYTES, RedoKeyInfo, key_info};
use self::{blocks::Blocks, head::Head};
use files::ReadAt;

use crate::{
    bytes::{all_zero, as_u64},
    error::ScanError,
    ids::Lsn,
    keys::KeySource,
    read::{fill, length},
    redo::{RedoFormat, blocks::BLOCK_BYTES, phys},
    verify::{Check, FileReport, ReportBuilder, RequiredKey},
};

/// Result of verifying one file of a redo log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RedoReport {
    /// Verdict and findings. Units are blocks, counted from the start of the file, or
    /// mini-transactions, counted from the newest checkpoint.
    #[serde(flatten)]
    pub file: FileReport,
    /// Layout of the log.
    pub format: RedoFormat,
    /// LSN of the first byte after the header.
    pub start_lsn: Option<Lsn>,
    /// LSN of the newest checkpoint in this file.
    pub checkpoint_lsn: Option<Lsn>,
    /// MariaDB 10.8 and newer: LSN of the end of the log.
    pub end_lsn: Option<Lsn>,
}

/// Bytes at the start of a file that contain all headers.
pub const HEAD_BYTES: usize = phys::HEAD_BYTES;

/// Verifies one file of a redo log, with at most 3 MiB of it in memory.
///
/// `sibling` is the newest [`key_info`] of all MySQL files of the same log: only files that held a
/// checkpoint name the key.
///
/// # Errors
/// [`ScanError::EmptyFile`] (MariaDB treats an empty `ib_logfile0` as a log without changes),
/// [`ScanError::NotRecognised`] if neither format nor creator are those of a redo log,
/// [`ScanError::Io`].
pub fn verify<R: ReadAt + ?Sized>(
    source: &R,
    keys: &dyn KeySource,
    sibling: Option<&RedoKeyInfo>,
) -> Result<RedoReport, ScanError> {
    let file_bytes = length(source)?;
    if file_bytes == 0 {
        return Err(ScanError::EmptyFile);
    }
    if file_bytes < as_u64(BLOCK_BYTES) {
        return Ok(RedoReport::cut(file_bytes));
    }
    let mut buf = vec![0; HEAD_BYTES];
    let head = Head::read(fill(source, 0, &mut buf)?, file_bytes)?;
    let mut job = Job { source, head: &head, keys, builder: ReportBuilder::default() };
    let outcome = match head.format {
        RedoFormat::MySql => mysql::verify(&mut job, sibling)?,
        RedoFormat::MariaDbBlocks => mariadb_blocks::verify(&mut job)?,
        RedoFormat::MariaDbPhys | RedoFormat::MariaDbEncrypted => mini_transactions::verify(&mut job)?,
        RedoFormat::Blank => blank(&mut job)?,
        RedoFormat::Unknown => legacy::verify(&mut job)?,
    };
    let Job { builder, .. } = job;
    Ok(RedoReport {
        file: builder.finish(outcome.key),
        format: head.format,
        start_lsn: head.start_lsn(),
        checkpoint_lsn: outcome.checkpoint_lsn,
        end_lsn: outcome.end_lsn,
    })
}

impl RedoReport {
    /// Report for a file that ends inside its first block.
    fn cut(file_bytes: u64) -> Self {
        let mut builder = ReportBuilder::default();
        let detail = format!("{file_bytes} bytes, the first block alone has {BLOCK_BYTES}");
        builder.find(None, Some(file_bytes), Check::FileSize, detail);
        Self {
            file: builder.finish(None),
            format: RedoFormat::Unknown,
            start_lsn: None,
            checkpoint_lsn: None,
            end_lsn: None,
        }
    }
}

/// One file being verified.
struct Job<'a, R: ?Sized> {
    source: &'a R,
    head: &'a Head<'a>,
    keys: &'a dyn KeySource,
    builder: ReportBuilder,
}

/// What the verification of a format adds to the builder.
#[derive(Default)]
struct Outcome {
    key: Option<RequiredKey>,
    checkpoint_lsn: Option<Lsn>,
    end_lsn: Option<Lsn>,
}

/// Verifies a file that never held a log. If blocks follow the empty header, the header is lost.
fn blank<R: ReadAt + ?Sized>(job: &mut Job<'_, R>) -> Result<Outcome, ScanError> {
    if !all_zero(job.head.bytes) {
        job.builder.find(None, Some(0), Check::Header, "the first block is all zero, but there are others");
        return Ok(Outcome::default());
    }
    let mut judge = mysql::Judge::keyless();
    Blocks::new(job.source, job.head.file_bytes, None).walk(&mut judge, &mut job.builder)?;
    let units = job.builder.units;
    if units.empty != units.total {
        job.builder.find(None, Some(0), Check::Header, "the header is all zero, but there are blocks after it");
    }
    judge.finish(&mut job.builder);
    Ok(Outcome::default())
}
