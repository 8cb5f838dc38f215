//! Shared by transfers and backups: chunks of files and their hashes, paths below a root, names of
//! compression levels, and decryption of encrypted pages and logs for compression, with encryption back to identical
//! bytes.
//!
//! Nothing here reads or writes files or sockets. All decoded input is untrusted: nothing panics,
//! and lengths are checked before memory is allocated.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::cast_possible_truncation)]
#![cfg_attr(
    test,
    allow(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "tests build their own bytes")
)]

pub mod compression;
pub mod entry;
mod field;
pub mod hash;
pub mod page;
pub mod path;

pub use crate::field::{Fields, Malformed, put_length_prefixed};
pub use crate::page::InvalidPayload;
