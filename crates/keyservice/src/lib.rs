//! Reads keys from services.
//!
//! [`Vault`] is a session with a HashiCorp Vault: it logs in, finds the mount and version of the KV engine, lists
//! names, and reads secrets. A login creates a token, which is revoked at the end. Only [`Vault::create`] and
//! [`Vault::add_version`] write secrets.
//!
//! [`Kmip`] is a connection to a KMIP service, over mutual TLS: it locates symmetric keys and reads them.
//!
//! [`Kms`] asks AWS KMS to decrypt keys that it has encrypted.
//!
//! A service is trusted only if its certificate leads to the given authorities; plain HTTP is only for this machine.
//! Redirects and proxies are not followed, because they could lead to any host. Credentials come from files, or from where the
//! services' own tools take them. Answers
//! are untrusted, limited in size, and wiped.
#![forbid(unsafe_code)]
#![warn(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]

mod address;
mod credentials;
mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod http;
mod kmip;
mod kms;
mod kms_fault;
mod kv;
mod secret;
mod vault;
mod withdrawn;

pub use crate::credentials::{AppRole, Login};
pub use crate::error::{Error, Fault};
pub use crate::kmip::{KeyState, Kmip, KmipAccess, KmipKey, ObjectInfo};
pub use crate::kms::{Kms, KmsAccess, KmsCredentials};
pub use crate::kms_fault::KmsFault;
pub use crate::kv::{Engine, EngineVersion};
pub use crate::secret::{Answer, Stored};
pub use crate::vault::{Access, DEFAULT_TIMEOUT, Vault};
pub use crate::withdrawn::Withdrawn;
