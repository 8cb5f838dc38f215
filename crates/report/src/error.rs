//! What can go wrong while rendering.

use std::io;

/// Why nothing, or not all, was rendered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The writer failed; a closed pipe shows as [`io::ErrorKind::BrokenPipe`].
    #[error("cannot write the report: {0}")]
    Write(#[from] io::Error),
    /// No format has this name.
    #[error("there is no format {name}; there are table, json, sarif, junit, csv, markdown, html, prometheus")]
    UnknownFormat {
        /// What was asked for.
        name: String,
    },
    /// A comparison has fewer formats than an audit.
    #[error("a comparison cannot be rendered as {name}; use table or json")]
    NotForDrift {
        /// What was asked for.
        name: &'static str,
    },
    /// No check has this id.
    #[error("there is no check {id}")]
    UnknownCheck {
        /// What was asked for.
        id: String,
        /// Ids that look like it, nearest first.
        near: Vec<&'static str>,
    },
    /// A template failed, which is a fault of ours.
    #[error("the report's template failed: {0}")]
    Template(#[from] askama::Error),
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Write(error.into())
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Write(cause) => cause,
            fault => Self::other(fault),
        }
    }
}
