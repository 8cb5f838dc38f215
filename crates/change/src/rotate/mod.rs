//! `sealant rotate`: new keys, each step proven from the bytes.
//!
//! The keyring is read once into memory that is wiped; these bytes are proven to open every encrypted
//! file, and these bytes are backed up. Then the server makes a new key, and the same is done again
//! with what the keyring is then. No file but the backups and the [`register::Register`] is written, and no key is
//! ever removed.
//!
//! # Interrupted runs
//! Before anything else is written, a run notes in the register that it has begun, which keys were the
//! newest, and, before each backup, the hash that it will have. A run with the same backup file goes on
//! from there: a rotation that the files show to be complete is not repeated, and a backup is replaced only if
//! its hash is one that was noted and it holds no key that the new one lacks. The backup of before the
//! rotation is kept beside the new one, as `FILE.before`, until the new one is proven to hold all its keys.

mod backup;
pub(crate) mod copy;
pub(crate) mod data_files;
mod data_keys;
mod error;
mod plan;
pub(crate) mod proof;
mod rotation;
mod run;
mod site;
mod tables;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Serialize;

pub use self::{
    backup::{Backup, CopyProof, Identities, Recipients},
    data_keys::DataKeys,
    error::Error,
    plan::plan,
    proof::{Lagging, Proof},
    rotation::{Ended, Rotation},
    run::run,
    tables::Leftover,
};
use crate::{LockPatience, StepReport};

/// Name and version of the JSON document.
pub const SCHEMA: &str = "sealant.rotate/1";

/// What is wanted.
pub struct Request {
    /// Rotate the InnoDB master key.
    pub master_key: bool,
    /// Rotate the key of binary and relay logs.
    pub binlog_key: bool,
    /// See that the redo log's key is wrapped by the new master key, which `master_key` asks for, too.
    pub redo: bool,
    /// Give every table of MySQL, and the undo tablespaces, a new key of its own.
    pub data_keys: bool,
    /// Move every table of MariaDB to this key.
    pub mariadb_key_id: Option<u32>,
    /// How locks are waited for.
    pub lock: LockPatience,
    /// The data directory, if it is elsewhere than the server says.
    pub datadir: Option<PathBuf>,
    /// The keyring file, if the server does not say it.
    pub keyring: Option<PathBuf>,
    /// Where the register is.
    pub state_dir: PathBuf,
    /// How long to wait for the server to write what it has re-wrapped.
    pub patience: Duration,
}

/// How the keyring is backed up.
pub struct Copies {
    /// Where the backup goes.
    pub file: PathBuf,
    /// Who can open it.
    pub recipients: Recipients,
    /// What opens it here and now, if that is at hand.
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

/// What was done and proven.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The server.
    pub server: String,
    /// Its uuid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_uuid: Option<String>,
    /// Steps in their order.
    pub steps: Vec<StepReport>,
    /// What the bytes said.
    pub proofs: Proofs,
    /// The backup that holds the new keys.
    pub backup: Option<Backup>,
    /// The backup of before the rotation, while it is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup_before: Option<Backup>,
    /// Keys that only the backup of before holds: the server removed them.
    pub removed_keys: Vec<String>,
    /// Files that still carry an older key.
    pub lagging: Vec<Lagging>,
    /// What keeps its key on this server, whatever is done.
    pub leftovers: Vec<Leftover>,
    /// The certificate that was installed after the keys, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<crate::tls::Report>,
    /// Whether every proof holds.
    pub done: bool,
}

/// What the bytes said.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Proofs {
    /// Before the rotation.
    pub before: Option<Proof>,
    /// After it.
    pub after: Option<After>,
}

/// What the bytes said after the rotation.
#[derive(Clone, Debug, Serialize)]
pub struct After {
    /// The counts.
    #[serde(flatten)]
    pub proof: Proof,
    /// The newest InnoDB master key.
    pub new_key: Option<String>,
    /// The newest key of binary logs.
    pub new_binlog_key: Option<String>,
    /// Tablespaces whose page 0 carries it.
    pub tablespaces_on_new_key: u64,
    /// Redo log files that it opens.
    pub redo_on_new_key: u64,
    /// Binary and relay logs whose header carries the newest key.
    pub binary_logs_on_new_key: u64,
    /// Tablespaces by whether their own key is new, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data_keys: Option<DataKeys>,
    /// Tablespaces of MariaDB that are on the key that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tablespaces_on_key_id: Option<u64>,
}

impl Report {
    /// Of a run that installs a certificate and rotates no key.
    #[must_use]
    pub fn of_certificate(tls: crate::tls::Report) -> Self {
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
            lagging: Vec::new(),
            leftovers: Vec::new(),
            tls: None,
            done: false,
        }
    }
}
