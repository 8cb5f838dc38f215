//! Offline proof that the given keys open every page of a data directory, a backup or single files.
//!
//! No server is started and nothing is written. [`Plan`] lists the files and their kinds; [`run`] verifies them on
//! several threads and returns a [`Report`]. The crate `innodb` decides what a sound page is; the crate `keyring` loads
//! keys.
//!
//! Memory is bounded: a few megabytes a thread and a small record a file. A server may run on the files: pages it is
//! writing are read again, and pages that keep changing are reported as changing, not as damaged.
#![forbid(unsafe_code)]

mod engine;
mod error;
mod judge;
mod keys;
mod live;
mod logs;
mod misplaced;
mod pending_redo;
mod plan;
mod redo_file_set;
mod report;
mod verified_tablespaces;

pub use engine::{Depth, Progress, Settings, run};
pub use error::Error;
pub use judge::{Judge, Judged, Tablespace};
pub use keys::{DamagedStore, KeyStores, Keys};
pub use plan::{Group, Plan, PlannedFile, Subject, check_paths};
pub use report::{Conclusion, FileResult, Report, SCHEMA, Summary, Unread};
