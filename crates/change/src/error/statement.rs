//! Classifies failed statements for a run.

use server::error_code;

use super::Error;
use crate::Outcome;

impl Error {
    /// Whether the run cannot continue.
    pub(crate) fn is_fatal(&self) -> bool {
        match self {
            Self::Statement { source, .. } => {
                !matches!(source, server::Error::Server { .. } | server::Error::AccessDenied { .. })
            }
            _ => true,
        }
    }

    /// Whether the statement was interrupted.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.has_code(&[error_code::QUERY_INTERRUPTED])
    }

    /// Whether a lock wait timed out.
    pub(crate) fn is_lock_timeout(&self) -> bool {
        self.has_code(&[error_code::LOCK_WAIT_TIMEOUT])
    }

    /// Whether the server does not find a table's file or key.
    pub(crate) fn is_tablespace_lost(&self) -> bool {
        self.has_code(&[error_code::TABLESPACE_MISSING, error_code::CANNOT_FIND_MASTER_KEY])
    }

    /// The outcome for a table whose file or key the server does not find. If MySQL 9.7.4 was killed during a copy, and
    /// the table's name has characters other than letters, digits and `_`, the server finds the file or key again after
    /// a clean restart.
    pub(crate) fn lost_in_a_crash(&self) -> Outcome {
        let next = "if it was killed before, stop the server cleanly, start it, and run this again: its file is whole";
        Outcome::Failed { reason: format!("{self}; {next}") }
    }

    /// Whether a data file cannot have this name, for example because the file exists.
    pub(crate) fn is_wrong_file_name(&self) -> bool {
        self.has_code(&[error_code::WRONG_FILE_NAME])
    }

    /// Whether the server does not have the variable.
    pub(crate) fn is_unknown_variable(&self) -> bool {
        self.has_code(&[error_code::UNKNOWN_SYSTEM_VARIABLE])
    }

    /// Whether the server denied a statement or a query for lack of a privilege.
    pub(crate) fn is_privilege(&self) -> bool {
        matches!(self, Self::Server(source) | Self::Statement { source, .. } if source.is_privilege())
    }

    /// Whether the object of the statement no longer exists.
    pub(crate) fn is_no_such_table(&self) -> bool {
        self.has_code(&[error_code::NO_SUCH_TABLE, error_code::UNKNOWN_TABLE, error_code::UNKNOWN_DATABASE])
    }

    /// Whether the server refused a statement with one of these errors.
    fn has_code(&self, codes: &[u16]) -> bool {
        matches!(self, Self::Statement { source, .. } if source.code().is_some_and(|code| codes.contains(&code)))
    }
}
