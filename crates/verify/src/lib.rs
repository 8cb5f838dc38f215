//! Offline proof that every page of a data directory, a backup or single files can be opened with
//! the keys at hand.
//!
//! No server is started and nothing is written. [`Plan`] finds the files and says what each is;
//! [`run`] verifies them on several threads and returns a [`Report`]. What a sound page is, the
//! crate `innodb` knows; where keys come from, the crate `keyring`.
//!
//! Memory is bounded: a few megabytes a thread and one small record a file. A server may be
//! running on the files: what it is writing is read again, and what keeps changing is reported
//! as changing, not as damaged.
#![forbid(unsafe_code)]

mod engine;
mod keys;
mod live;
mod logs;
mod plan;
pub mod read;
mod report;
mod spaces;
mod unsettled;

pub use engine::{Depth, Progress, Settings, run};
pub use keys::{Keys, KeysError};
pub use plan::{Group, Plan, PlannedFile, Subject};
pub use report::{FileResult, Report, SCHEMA, Summary, Unread};
