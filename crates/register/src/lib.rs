//! The register: what is known of a server's keys over time, which copies of them were proven, and what an
//! unfinished rotation left. It never holds a key.
//!
//! `sealant rotate` and `sealant keys --record` write it; these and `sealant audit` read it, so that all say the
//! same.

mod copies;
mod document;
mod error;
pub mod fingerprint;
mod ledger;
mod location;

pub use self::{
    copies::{CopyRecord, CopyState, sha256_of},
    document::{BackupRecord, KeyRecord, Register, Unfinished, Written},
    error::Error,
    fingerprint::{Fingerprints, mariadb_name},
    ledger::{Ledger, path},
    location::{server_name, state_dir},
};

/// Name and version of the document.
pub const SCHEMA: &str = "sealant.key-register/1";
