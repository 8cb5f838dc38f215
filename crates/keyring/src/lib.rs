//! MySQL keyring files and MariaDB key files: recognised, judged, and loaded into memory that is wiped and, where
//! possible, locked. Keys that are in a HashiCorp Vault or a KMIP service are fetched from there, and keys that AWS KMS
//! has encrypted are decrypted by it.
//!
//! [`recognise`] and [`inspect`] report the kind of a key file, the names of its keys, whether anyone who can read it
//! can use them, and whether it is damaged; they keep no key. [`MysqlKeyring`], [`MariaDbKeys`] and [`ExportKey`] load
//! keys. [`unwraps()`] and [`decrypts_page()`] test whether a key belongs to a tablespace. [`read_file`] reads a file
//! into memory that is wiped.
//!
//! Input is untrusted: nothing panics, and allocations are at most a small multiple of the input.
//!
//! Source: docs/formats, "Key stores" and "MariaDB key file". The component file, both versions of the plug-in file,
//! and plain and encrypted MariaDB files are confirmed on testdata.
#![deny(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]

mod base64;
pub mod component;
mod component_config;
mod component_file;
mod config;
mod decrypts_page;
mod error;
mod export;
mod file;
mod generate;
mod hex;
mod key;
mod key_id;
mod key_location;
mod kmip_source;
mod kms_source;
mod lenient_json;
mod limits;
#[allow(unsafe_code, reason = "no safe call locks memory or keeps it out of core dumps")]
mod locked;
mod lost_keys;
mod mariadb;
mod mariadb_file;
mod mariadb_service;
mod mysql;
mod openssl_enc;
mod plugin_file;
mod record;
mod repeated_key;
mod service;
mod store;
mod stored_key;
mod summary;
mod unwraps;
mod vault;
mod vault_settings;
mod vault_source;
mod withdrawn_key;
mod writable;

pub use crate::component_config::COMPONENT_MANIFEST;
pub use crate::config::{
    CONFIGURED_COMPONENTS, KMIP_COMPONENT, KMS_COMPONENT, KeyringConfigFile, PERSISTED_VARIABLES, VAULT_COMPONENT,
    keyring_path, manifest_of_component, persisted_without_keyrings,
};
pub use crate::decrypts_page::{PageSample, decrypts_page};
pub use crate::error::Error;
pub use crate::export::ExportKey;
pub use crate::file::{read, read_file};
pub use crate::generate::{new_key_file, new_password};
pub use crate::key::Key;
pub use crate::key_id::{KeyName, MasterKeys};
pub use crate::key_location::KeyLocation;
pub use crate::limits::MAX_STORE_BYTES;
pub use crate::lost_keys::LostKeys;
pub use crate::mariadb::MariaDbKeys;
pub use crate::mariadb_service::{names_service, takes_new_versions};
pub use crate::mysql::MysqlKeyring;
pub use crate::openssl_enc::{Derivation, Digest, OPENSSL_MAGIC};
pub use crate::repeated_key::RepeatedKey;
pub use crate::store::{inspect, recognise};
pub use crate::stored_key::StoredKey;
pub use crate::summary::{
    ComponentConfig, Damage, InvalidReason, KeyEntry, Manifest, StoreKind, StoreSummary, VaultConfig, VaultIssue,
};
pub use crate::unwraps::{WRAPPED_BYTES, unwraps};
pub use crate::withdrawn_key::{CompromisedKey, KeyService, WithdrawnKey};
pub use crate::writable::{AddedKey, LoadedBy, Purpose, WritableKeyring};
pub use keyservice::Withdrawn;
