//! The register of a server's keys: when each was seen and rotated, which copies were proven, and what an unfinished
//! rotation left. It never contains a key.
//!
//! `sealant rotate` and `sealant keys --record` write it; `sealant audit` reads it, too.

mod copies;
mod document;
mod error;
pub mod fingerprint;
mod location;
mod register_file;

pub use self::{
    copies::{CopyRecord, CopyState, sha256_of},
    document::{BackupRecord, KeyRecord, Register, Unfinished, Written},
    error::Error,
    fingerprint::{Fingerprints, mariadb_name},
    location::{DEFAULT_STATE_DIR, server_name, state_dir},
    register_file::{RegisterFile, path},
};

/// Name and version of the document.
pub const SCHEMA: &str = "sealant.key-register/1";
