//! What to encrypt, and how.

use std::{path::PathBuf, time::Duration};

use server::Target;

use super::Method;
use crate::{LockWait, Session, Throttle};

/// What to encrypt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// Everything.
    #[default]
    All,
    /// Tablespaces, and the defaults for new ones.
    Tables,
    /// Redo, undo, binary and relay logs.
    Logs,
}

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// What to encrypt.
    pub policy: Policy,
    /// Encrypt only tables of these schemas; of all schemas if empty.
    pub schemas: Vec<String>,
    /// Skip tables larger than this: writes to a table wait while it is copied.
    pub largest_table_bytes: Option<u64>,
    /// Remove clear-text binary logs.
    pub purge_binlogs: bool,
    /// The data directory, if its path here differs from the server's.
    pub datadir: Option<PathBuf>,
    /// Option file for settings that the server does not persist itself.
    pub option_file: Option<PathBuf>,
    /// Copies of the keyring that must open everything before the run changes anything.
    pub keyring_copies: Vec<PathBuf>,
    /// Lock timeout and retries.
    pub lock_wait: LockWait,
    /// Method for tables on MySQL.
    pub method: Method,
    /// Maximum time that writers to a table may be blocked by its copy.
    pub lock_budget: Duration,
    /// Whether replicas have keyrings, so that the statements of online tools may be replicated.
    pub replicated: bool,
    /// When to pause.
    pub throttle: Throttle,
}

impl Options {
    /// Whether the tables of a schema are to be encrypted.
    pub(super) fn include_schema(&self, schema: &str) -> bool {
        self.schemas.is_empty() || self.schemas.iter().any(|known| known == schema)
    }

    /// Path of the data directory on this host.
    pub(super) fn datadir_of(&self, session: &Session<'_>) -> PathBuf {
        session.datadir(self.datadir.as_deref())
    }
}

/// A server, and how to connect to it.
#[derive(Clone, Debug)]
pub struct ServerAccess {
    /// Address and user.
    pub target: Target,
    /// Password, TLS and timeouts.
    pub connect: server::Options,
}
