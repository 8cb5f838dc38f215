//! The parts of a backup: packs of data, a manifest that maps each byte of each file to a pack, and a signed receipt
//! that names every object by its hash, and the previous receipt.
//!
//! This crate knows no servers, directories or sockets. `docs/formats/backup.md` is the format. All input is untrusted:
//! nothing panics, and lengths are checked before memory is allocated.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]
#![cfg_attr(
    test,
    allow(
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects,
        clippy::cast_possible_truncation,
        reason = "tests build their own bytes"
    )
)]

pub mod binlog;
pub mod chain;
mod digest;
mod document;
mod error;
pub mod key_checks;
pub mod list;
pub mod manifest;
pub mod names;
pub mod pack;
pub mod prune;
pub mod receipt;
pub mod repack;
pub mod repository;
pub mod restores;
pub mod retention;
pub mod sshsig;

pub use crate::digest::{Digest, HashingStream};
pub use crate::error::Error;
pub use crate::key_checks::KeyCheckRecord;
pub use crate::list::List;
pub use crate::manifest::{Head, Manifest, Run};
pub use crate::pack::{Description, Frame, PackReader, PackWriter, PartialPack};
pub use crate::receipt::Receipt;
pub use crate::repository::{RepositoryDescription, RepositoryRecord};
pub use crate::restores::RestoreRecord;
