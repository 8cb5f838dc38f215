//! Errors of rendering.

use std::io;

/// Why a report was not rendered, or only in part.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The writer failed; a closed pipe shows as [`io::ErrorKind::BrokenPipe`].
    #[error("cannot write the report: {0}")]
    Write(#[from] io::Error),
    /// There is no format of this name.
    #[error("there is no format {name}; there are table, json, sarif, junit, csv, markdown, html, prometheus")]
    UnknownFormat {
        /// The requested name.
        name: String,
    },
    /// Comparisons have fewer formats than audits.
    #[error("a comparison cannot be rendered as {name}; use table or json")]
    NotForDrift {
        /// The requested format.
        name: &'static str,
    },
    /// There is no check with this id.
    #[error("there is no check {id:?}")]
    UnknownCheck {
        /// The requested id.
        id: String,
        /// Similar ids, the most similar first.
        similar_ids: Vec<&'static str>,
    },
    /// A template failed, which is a bug.
    #[error("the report's template failed: {0}")]
    Template(#[from] askama::Error),
}

impl Error {
    /// Whether the requested format or check does not exist.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        matches!(self, Self::UnknownFormat { .. } | Self::NotForDrift { .. } | Self::UnknownCheck { .. })
    }

    /// The next step, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownCheck { similar_ids, .. } => Some(
                similar_ids
                    .first()
                    .map_or_else(|| "run `sealant checks` for the list".to_owned(), |id| format!("did you mean {id}?")),
            ),
            _ => None,
        }
    }
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
