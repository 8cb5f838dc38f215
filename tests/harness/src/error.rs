//! Errors between a test and its server.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::Missing;

/// A server could not run, or an operation on it failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server is not installed.
    #[error(transparent)]
    Missing(#[from] Missing),

    /// An operation on a file or directory of the harness failed.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },

    /// A program could not be started, or its input could not be written.
    #[error("{program}: {source}")]
    Spawn {
        /// Name of the program.
        program: String,
        /// Error of the system.
        source: io::Error,
    },

    /// A program failed; also used for every SQL error.
    #[error("{program}: exit status {status}: {stderr}")]
    Failed {
        /// Name of the program.
        program: String,
        /// Its exit status, as text.
        status: String,
        /// Its stderr, trimmed.
        stderr: String,
    },

    /// A program did not end, or a state was not reached, in time.
    #[error("{what}: not within {} s", limit.as_secs())]
    TimedOut {
        /// What was expected.
        what: String,
        /// The time limit.
        limit: Duration,
    },

    /// The server ended, or never answered, while starting.
    #[error("server did not start: {why}; end of its error log:\n{log_tail}")]
    NotStarted {
        /// Exit status or time limit.
        why: String,
        /// The last lines of the error log.
        log_tail: String,
    },

    /// The server is stopped, or cannot do what was requested.
    #[error("{0}")]
    Unsupported(&'static str),

    /// Replication reported an error.
    #[error("replication: {0}")]
    Replication(String),
}

impl Error {
    /// For `map_err` on file operations.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::File { path, source }
    }
}
