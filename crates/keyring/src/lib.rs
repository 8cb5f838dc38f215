//! MySQL keyring files and MariaDB key files: recognise and judge.
//!
//! Answers what a key file is, which keys it names, whether anyone who can read it can
//! use them, and whether it is damaged. Key bytes are looked at to check their form, but
//! never kept, returned or printed; [`opens()`] and [`opens_page()`] try one on a tablespace; [`read`]
//! reads a file into memory that is wiped.
//!
//! Input is untrusted: nothing here panics, and nothing is allocated that is larger than
//! the input.
//!
//! Source: formats, "Keyring stores" and "Key files"; component file and both versions of
//! the plug-in file, plain and password-protected MariaDB files confirmed on testdata.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]

mod component_file;
mod config;
mod error;
mod key_id;
mod mariadb_file;
mod opens;
mod opens_page;
mod plugin_file;
mod store;
mod vault;

pub use crate::config::{ComponentConfig, Manifest};
pub use crate::error::KeyringError;
pub use crate::key_id::{KeyName, MasterKeys};
pub use crate::opens::{WRAPPED_BYTES, opens};
pub use crate::opens_page::{PageSample, opens_page};
pub use crate::store::{
    Damage, InvalidReason, KeyEntry, MAX_STORE_BYTES, StoreKind, StoreSummary, inspect, read, recognise,
};
pub use crate::vault::{VaultConfig, VaultIssue};
