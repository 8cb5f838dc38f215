//! The actions that steps consist of.

use std::path::PathBuf;

use server::dialect::statement::{SUPER_READ_ONLY_OFF, encrypt_tablespace};

use super::TableMethod;
use crate::schema_change_tools;

/// Action of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EncryptAction {
    /// Check the keyring, and prove that its file and copies open everything.
    ProveKeyring,
    /// Execute statements.
    Statements(Vec<String>),
    /// Encrypt the general tablespace of this name in place.
    Tablespace(String),
    /// Change one table, which may be dropped in the meantime.
    Table(TableChange),
    /// Empty and recreate the undo tablespaces.
    RenewUndo,
    /// Replace the redo files.
    RenewRedo,
    /// Write dirty pages.
    WritePages,
    /// Overwrite the doublewrite files.
    RenewDoublewrite,
    /// Reuse free pages that contain clear text.
    UseFreePages,
    /// Remove clear-text binary logs.
    PurgeBinaryLogs,
    /// Find binary logs with which the server does not start.
    CheckBinaryLogs,
    /// Add settings to an option file.
    OptionFile {
        /// Path of the option file.
        path: PathBuf,
        /// Lines to add.
        lines: String,
    },
    /// Lift `super_read_only` on a replica until the run ends.
    LiftSuperReadOnly,
    /// Clean up after an interrupted run.
    CleanUp,
    /// Wait for the background threads.
    WaitForThreads,
}

/// A table to encrypt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableChange {
    pub(super) table: schema_change_tools::Table,
    /// The server's own statement for it.
    pub(super) sql: String,
    /// Bytes of its tablespaces.
    pub(super) bytes: u64,
    pub(super) method: TableMethod,
}

impl EncryptAction {
    /// The statements that it executes, as far as they are known before it begins.
    pub(super) fn statements(&self) -> Vec<String> {
        match self {
            Self::Statements(statements) => statements.clone(),
            Self::Table(TableChange { sql, method: TableMethod::Copy, .. }) => vec![sql.clone()],
            Self::Tablespace(name) => vec![encrypt_tablespace(name)],
            Self::LiftSuperReadOnly => vec![SUPER_READ_ONLY_OFF.to_owned()],
            _ => Vec::new(),
        }
    }

    /// Whether it belongs to [`Policy::Tables`](super::Policy::Tables) when it rewrites clear text.
    pub(super) const fn is_of_tables(&self) -> bool {
        matches!(
            self,
            Self::WritePages | Self::RenewDoublewrite | Self::UseFreePages | Self::Table(_) | Self::WaitForThreads
        )
    }
}
