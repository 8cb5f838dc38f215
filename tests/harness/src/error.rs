//! What can go wrong between a test and its server.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::Missing;

/// Failure to run a server, or of something it was asked to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server is not on this machine.
    #[error(transparent)]
    Missing(#[from] Missing),

    /// A file or directory of the harness.
    #[error("{}: {source}", path.display())]
    File {
        /// What was touched.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// A program could not be started or fed.
    #[error("{program}: {source}")]
    Spawn {
        /// Name of the program.
        program: String,
        /// What the system said.
        source: io::Error,
    },

    /// A program ended with a failure; also every SQL error.
    #[error("{program}: exit status {status}: {stderr}")]
    Failed {
        /// Name of the program.
        program: String,
        /// Its exit status, in the system's words.
        status: String,
        /// What it wrote to stderr, trimmed.
        stderr: String,
    },

    /// A program or a state did not come in time.
    #[error("{what}: not within {} s", limit.as_secs())]
    TimedOut {
        /// What was waited for.
        what: String,
        /// How long.
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

    /// The server is stopped, or lacks what was asked of it.
    #[error("{0}")]
    Unsupported(&'static str),

    /// Replication reported an error of its own.
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
