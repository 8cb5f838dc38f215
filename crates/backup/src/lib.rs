//! Backups of data directories, and their restore.
//!
//! ```text
//! snapshot -> plan -> [read 1 MiB -> hash pages -> same as last time? map it -> decrypt -> zstd -> frame]
//!          -> pack -> age -> store  ==>  verify every page -> manifest -> signature -> receipt
//! ```
//!
//! A backup is a crash-consistent image: the files of one instant, which the server's own recovery opens. Every backup
//! maps all files completely; only changed pages are stored, and the map refers to earlier packs for the others.
//! Writing the receipt commits the backup. `docs/formats/backup.md` is the format.
#![forbid(unsafe_code)]

pub mod binlogs;
pub mod calendar;
pub mod check;
pub mod config;
mod declarations;
mod error;
pub mod events;
mod file_keys;
mod gtids;
mod heads;
pub mod init;
mod judge;
mod key_check;
pub mod keys;
pub mod list;
pub mod live;
mod location;
mod memory;
mod note_file;
mod outcome;
mod paced;
mod parallel;
pub mod policy;
pub mod prove;
pub mod prune;
pub mod prune_config;
mod receipt_cache;
pub mod recipients;
mod record;
pub mod repository;
mod repository_record;
pub mod restore;
pub mod run;
mod selection;
mod state;
pub mod stream;
mod temporary_directory;
pub mod windows;

pub use crate::config::Config;
pub use crate::error::Error;
pub use crate::location::{BucketOptions, Location, bucket_policy};
pub use crate::outcome::Outcome;
pub use crate::prune_config::PruneConfig;
pub use crate::repository::Repository;
