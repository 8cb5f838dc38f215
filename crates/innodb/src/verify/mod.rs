//! Proves, unit by unit, that a file can be read with the available keys.
//!
//! Every kind of file has its own module here; all of them report a [`Verdict`], [`Units`] and
//! [`Finding`]s. Nothing is written. A unit is a page of a tablespace, a slot of a doublewrite
//! file, a block of a redo log, an event of a binary log, a page of an Aria file.

pub mod aria;
pub mod binlog;
pub mod doublewrite;
pub mod redo;
mod report;
pub mod tablespace;

pub use report::{Check, FileReport, Finding, MAX_FINDINGS, ReportBuilder, RequiredKey, Units, Verdict};
