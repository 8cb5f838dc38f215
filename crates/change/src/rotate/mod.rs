//! `sealant rotate`: new keys, each step proven from the bytes on disk.
//!
//! The keyring is read once into memory that is wiped; these bytes are proven to open every encrypted file, and these
//! bytes are backed up. Then the server generates a new key, and the keyring is proven and backed up again. Only the
//! backups and the [`register::Register`] are written, and no key is ever removed.
//!
//! # Interrupted runs
//! Before it writes anything else, a run records in the register its start, the newest keys, and, before each backup,
//! the SHA-256 that the backup will have. A run with the same backup file resumes: it does not repeat a rotation that
//! the files show to be complete, and replaces a backup only if its hash was recorded and the new one has all its keys.
//! The backup from before the rotation remains as `FILE.before`, until the new one is proven to have all its keys.

mod backup;
pub(crate) mod copy;
pub(crate) mod data_files;
mod data_keys;
mod plan;
pub(crate) mod proof;
mod rotation;
mod rotation_target;
mod run;
mod tables;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Serialize;

pub use self::{
    backup::{Backup, CopyProof, Identities, Recipients},
    data_keys::DataKeys,
    plan::plan,
    proof::{OldKeyFile, Proof},
    rotation::Rotation,
    run::run,
    tables::UnrotatedKey,
};
use crate::{Error, LockWait, StepReport};

/// Name and version of the JSON document.
pub const SCHEMA: &str = "sealant.rotate/1";

/// Options of a rotation.
pub struct RotateRequest {
    /// Rotate the InnoDB master key.
    pub master_key: bool,
    /// Rotate the key of binary and relay logs.
    pub binlog_key: bool,
    /// Wrap the redo log's key with a new master key; so that key is rotated, too.
    pub redo: bool,
    /// Give every MySQL table, and the undo tablespaces, a new key.
    pub data_keys: bool,
    /// Move every MariaDB table to this key.
    pub mariadb_key_id: Option<u32>,
    /// Write a new version of this MariaDB key into the Vault, and copy every table that uses the key.
    pub mariadb_new_version: Option<u32>,
    /// Lock timeout and retries.
    pub lock: LockWait,
    /// The data directory, if its path here differs from the server's.
    pub datadir: Option<PathBuf>,
    /// The keyring file, if the server does not name it.
    pub keyring: Option<PathBuf>,
    /// Directory of the register.
    pub state_dir: PathBuf,
    /// How long to wait for the server to write re-wrapped keys to disk.
    pub settle_timeout: Duration,
}

impl RotateRequest {
    /// Whether the InnoDB master key is rotated: the key of the redo log is wrapped by it.
    #[must_use]
    pub const fn rotates_master_key(&self) -> bool {
        self.master_key || self.redo
    }

    /// Whether any key is rotated.
    #[must_use]
    pub const fn rotates_any(&self) -> bool {
        self.rotates_master_key() || self.binlog_key || self.data_keys || self.mariadb_key().is_some()
    }

    /// The MariaDB key that tables get, in its newest version.
    #[must_use]
    pub const fn mariadb_key(&self) -> Option<u32> {
        match self.mariadb_key_id {
            Some(id) => Some(id),
            None => self.mariadb_new_version,
        }
    }
}

/// Backup of the keyring.
pub struct Copies {
    /// Path of the backup.
    pub file: PathBuf,
    /// Recipients of the backup.
    pub recipients: Recipients,
    /// Identities to decrypt the backup again, if available.
    pub identities: Option<Identities>,
}

impl Copies {
    /// Reads recipients and identities.
    ///
    /// # Errors
    /// [`Error::NoRecipient`] and [`Error::NoBackupFile`] if one of them is missing, [`Error::Recipient`],
    /// [`Error::Identity`].
    pub fn new(
        file: Option<&Path>,
        recipients: &[String],
        recipients_files: &[PathBuf],
        identity: Option<&Path>,
    ) -> Result<Self, Error> {
        let mut readers = Recipients::parse(recipients.iter().map(String::as_str))?;
        for file in recipients_files {
            readers.add_file(file)?;
        }
        if readers.is_empty() {
            return Err(Error::NoRecipient);
        }
        let identities = identity.map(Identities::read).transpose()?;
        let file = file.ok_or(Error::NoBackupFile)?;
        let absolute = std::path::absolute(file);
        let file = absolute.map_err(|source| Error::Backup { path: file.to_owned(), source })?;
        Ok(Self { file, recipients: readers, identities })
    }
}

/// Result of a rotation.
#[derive(Clone, Debug, Serialize)]
pub struct RotateReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Name of the server in messages.
    pub server: String,
    /// UUID of the server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_uuid: Option<String>,
    /// Steps in order.
    pub steps: Vec<StepReport>,
    /// Results of the proofs.
    pub proofs: Proofs,
    /// The backup with the new keys.
    pub backup: Option<Backup>,
    /// The backup from before the rotation, while it exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_before: Option<Backup>,
    /// Keys that only the older backup has: the server removed them.
    pub removed_keys: Vec<String>,
    /// Keys that the service calls compromised, with the advice.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub compromised: Vec<String>,
    /// Files that still use an older key.
    #[serde(rename = "lagging")]
    pub old_key_files: Vec<OldKeyFile>,
    /// Tablespaces and files whose key this server never replaces.
    pub leftovers: Vec<UnrotatedKey>,
    /// The certificate that was installed after the rotation, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<crate::tls::InstallReport>,
    /// Whether every proof succeeded.
    pub done: bool,
}

/// Results of the proofs.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Proofs {
    /// Before the rotation.
    pub before: Option<Proof>,
    /// After the rotation.
    pub after: Option<RotationProof>,
}

/// Result of the proof after the rotation.
#[derive(Clone, Debug, Serialize)]
pub struct RotationProof {
    /// Numbers of files that were proven.
    #[serde(flatten)]
    pub proof: Proof,
    /// The newest InnoDB master key.
    pub new_key: Option<String>,
    /// The newest binary log key.
    pub new_binlog_key: Option<String>,
    /// Tablespaces whose page 0 names the new key.
    pub tablespaces_on_new_key: u64,
    /// Redo log files that use the new key.
    pub redo_on_new_key: u64,
    /// Binary and relay logs whose header names the new key.
    pub binary_logs_on_new_key: u64,
    /// Tablespaces with and without a new key, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_keys: Option<DataKeys>,
    /// MariaDB tablespaces that use the requested key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tablespaces_on_key_id: Option<u64>,
}

impl RotateReport {
    /// Report of a run that only installs a certificate.
    #[must_use]
    pub fn of_certificate(tls: crate::tls::InstallReport) -> Self {
        let server = tls.server.clone();
        Self { done: tls.done, tls: Some(tls), ..Self::new(&server, Vec::new()) }
    }

    fn new(server: &str, steps: Vec<StepReport>) -> Self {
        Self {
            schema: SCHEMA,
            server: server.to_owned(),
            server_uuid: None,
            steps,
            proofs: Proofs::default(),
            backup: None,
            backup_before: None,
            removed_keys: Vec::new(),
            compromised: Vec::new(),
            old_key_files: Vec::new(),
            leftovers: Vec::new(),
            tls: None,
            done: false,
        }
    }
}
