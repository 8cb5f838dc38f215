//! MySQL keyring files and MariaDB key files: recognise, judge, and read keys into memory that is
//! locked where possible and wiped.
//!
//! [`recognise`] and [`inspect`] answer what a key file is, which keys it names, whether anyone who can
//! read it can use them, and whether it is damaged, without keeping a key. [`MysqlKeyring`],
//! [`MariaDbKeys`] and [`ExportKey`] read the keys themselves. [`opens()`] and [`opens_page()`] try one on
//! a tablespace. [`read_file`] reads a file into memory that is wiped.
//!
//! Input is untrusted: nothing here panics, and nothing is allocated that is larger than
//! a small multiple of the input.
//!
//! Source: formats, "Keyring stores" and "Key files"; component file and both versions of
//! the plug-in file, plain and password-protected MariaDB files confirmed on testdata.
#![deny(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]

mod component_file;
mod config;
mod error;
mod export;
mod file;
mod generate;
mod hex;
mod key;
mod key_id;
#[allow(unsafe_code, reason = "no safe call locks memory or keeps it out of core dumps")]
mod locked;
mod mariadb;
mod mariadb_file;
mod mysql;
mod opens;
mod opens_page;
mod own;
mod plugin_file;
mod record;
mod salted;
mod store;
mod vault;

pub use crate::config::{
    ComponentConfig, Manifest, NamesKeyring, configuration_of, keyring_path, manifest_of_file_component,
};
pub use crate::error::KeyringError;
pub use crate::export::ExportKey;
pub use crate::file::{read, read_file};
pub use crate::generate::{new_key_file, new_password};
pub use crate::key::Key;
pub use crate::key_id::{KeyName, MasterKeys};
pub use crate::mariadb::MariaDbKeys;
pub use crate::mysql::MysqlKeyring;
pub use crate::opens::{WRAPPED_BYTES, opens};
pub use crate::opens_page::{PageSample, opens_page};
pub use crate::own::{LoadedBy, OwnKey, OwnKeyring, Purpose};
pub use crate::salted::{Derivation, Digest};
pub use crate::store::{Damage, InvalidReason, KeyEntry, MAX_STORE_BYTES, StoreKind, StoreSummary, inspect, recognise};
pub use crate::vault::{VaultConfig, VaultIssue};
