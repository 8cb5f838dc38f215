//! The result of a run, for scripts: `docs/schema/encrypt-1.json`.

use serde::Serialize;

use super::{Leftover, Room};
use crate::{KeyringProof, StepReport};

/// Schema of [`EncryptReport`].
pub const SCHEMA: &str = "sealant.encrypt/1";

/// Result of a run, or of planning one.
#[derive(Clone, Debug, Serialize)]
pub struct EncryptReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Name of the server in messages.
    pub server: String,
    /// Version of the server.
    pub version: String,
    /// Steps in order.
    pub steps: Vec<StepReport>,
    /// Data in clear text after the run, according to the bytes on disk.
    pub leftovers: Vec<Leftover>,
    /// Disk space for the largest copy of a table, when the run was planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room: Option<Room>,
    /// Numbers of files that the keyring and each copy opened before anything was changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyring: Option<KeyringProof>,
    /// Numbers of files that the keyring opened afterwards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyring_after: Option<KeyringProof>,
    /// The first error of a statement that the server denied to the account.
    #[serde(skip)]
    pub denied: Option<String>,
    /// Whether the run was canceled.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub canceled: bool,
    /// Whether every page of every file was read, and nothing that this server can encrypt is in clear text.
    pub done: bool,
}
