//! What transfers and backups share: chunks of files and their hashes, paths below a root, and how encrypted pages and logs
//! are opened, so that they compress, and sealed again to the identical bytes.
//!
//! Nothing here reads or writes files, or knows of sockets. All that is decoded may come from somebody hostile: nothing
//! panics, and lengths are bounded before memory is taken.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::cast_possible_truncation)]
#![cfg_attr(
    test,
    allow(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "tests build their own bytes")
)]

pub mod entry;
mod field;
pub mod hash;
pub mod page;
pub mod path;

pub use crate::entry::{hex, unhex};
pub use crate::field::{Fields, Malformed, put_counted};
pub use crate::page::Undecodable;
