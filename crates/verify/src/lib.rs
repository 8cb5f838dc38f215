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
mod file_prefix;
mod keys;
mod live;
mod logs;
mod misplaced;
mod page_verifier;
mod pending_redo;
mod permits;
mod plan;
mod progress;
mod queue;
mod redo_file_set;
mod redo_logs;
mod report;
mod shared_tablespace;
mod verified_tablespaces;

pub use engine::{Depth, Settings, run};
pub use error::Error;
pub use keys::{KeyStores, KeyWarning, Keys};
pub use page_verifier::{PageResults, PageVerifier, Tablespace};
pub use plan::{DetectedKind, Group, Plan, PlannedFile, check_paths};
pub use progress::Progress;
pub use report::{Conclusion, FileResult, Report, SCHEMA, Summary, Unread};
