//! What a backup consists of: packs of data, a manifest that says where each byte of each file lies, and a signed receipt
//! that names every object by its hash and the receipt before it.
//!
//! Nothing here knows of servers, directories or sockets. `docs/formats/backup.md` is the format. All that is read may come from somebody hostile: nothing panics, and lengths are
//! bounded before memory is taken.
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

pub mod chain;
mod digest;
mod error;
pub mod manifest;
pub mod names;
pub mod pack;
pub mod receipt;
pub mod sshsig;

pub use crate::digest::{Digest, Summing};
pub use crate::error::ArchiveError;
pub use crate::manifest::{Head, Manifest, Run};
pub use crate::pack::{Description, Frame, PackReader, PackWriter};
pub use crate::receipt::Receipt;
