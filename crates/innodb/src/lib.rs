//! InnoDB pages, tablespaces, redo, doublewrite and binary logs: parse, check, decrypt, encrypt.
//!
//! The bytes on disk decide what is encrypted. Without keys this crate distinguishes ciphertext
//! from clear text and counts both. With keys ([`keys::KeySource`]) [`crypt`] decrypts and
//! encrypts, and [`verify`] proves that files can be read. The crate opens no files itself: it
//! reads everything through [`files::ReadAt`].
//!
//! Modules are layers, and use only those below them: bytes and ids; [`page`]; [`tablespace`] and the formats of logs
//! ([`redo`], [`binlog`], [`aria`], [`doublewrite`]); [`crypt`]; [`verify`].
//!
//! All input is untrusted: parsers return an error or `None`, never panic, and allocate a bounded amount of memory.
//! Facts about formats name their source: a section of `docs/formats`, or `testdata`, the directory of real server
//! files at the root of the repository.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]
#![cfg_attr(
    test,
    allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation, reason = "tests build their own bytes")
)]

pub mod aria;
pub mod binlog;
pub mod binlog_scan;
mod bytes;
pub mod crypt;
pub mod doublewrite;
mod error;
pub mod file_kind;
pub mod file_name;
pub mod file_suffix;
pub mod galera;
mod ids;
pub mod keys;
pub mod log_copy;
pub mod page;
pub mod randomness;
mod read;
pub mod redo;
pub mod redo_copy;
pub mod server_file;
pub mod tablespace;
pub mod verify;

pub use crate::error::{Page0Fault, ScanError};
pub use crate::ids::{KeyVersion, Lsn, MasterKeyId, PageNo, SpaceId};
