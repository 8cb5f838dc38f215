//! Errors of audits.

use std::{borrow::Cow, path::PathBuf};

use server::Endpoint;

/// Why an audit failed, or one of its files could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A facts file does not match the schema.
    #[error("{}: not a facts file of sealant ({why})", path.display())]
    NotFacts {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A facts file was written by a newer release.
    #[error("{}: facts of schema {found}, this release reads up to {known}", path.display())]
    FactsFromTheFuture {
        /// Path of the file.
        path: PathBuf,
        /// Schema of the file.
        found: String,
        /// Newest supported schema.
        known: &'static str,
    },
    /// A waiver or policy file is not valid.
    #[error("{}: {why}", path.display())]
    BadConfiguration {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
    /// The path for an offline audit is not a readable directory.
    #[error("{}: {why}", path.display())]
    NotADataDirectory {
        /// The path.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A given copy of a key store cannot be used.
    #[error(transparent)]
    KeyStore(#[from] ::verify::Error),
    /// The packets cannot be watched as given.
    #[error(transparent)]
    Sniff(#[from] sniff::Error),
    /// A fleet file is not valid.
    #[error("{}: {why}", path.display())]
    BadFleet {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
    /// No server or directory is given, neither by the caller nor in an option file.
    #[error("nothing to audit is named")]
    NothingNamed,
    /// The connection to the server failed.
    #[error(transparent)]
    Server(#[from] server::Error),
    /// The connection to the server failed; with its endpoint.
    #[error("{}", source.naming(endpoint))]
    AtServer {
        /// Endpoint of the server.
        endpoint: Endpoint,
        /// The client's error.
        source: server::Error,
    },
}

impl Error {
    /// Adds the endpoint to an error of the connection.
    #[must_use]
    pub fn at(self, endpoint: &Endpoint) -> Self {
        match self {
            Self::Server(source) => Self::AtServer { endpoint: endpoint.clone(), source },
            other => other,
        }
    }

    /// Whether the user's input is malformed.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        match self {
            Self::BadConfiguration { .. } | Self::BadFleet { .. } | Self::NothingNamed => true,
            Self::Server(error) | Self::AtServer { source: error, .. } => error.is_misuse(),
            Self::Sniff(error) => error.is_misuse(),
            _ => false,
        }
    }

    /// The message in one line.
    #[must_use]
    pub fn one_line(&self) -> String {
        let text = self.to_string();
        text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
    }

    /// The next step, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Server(error) | Self::AtServer { source: error, .. } => error.hint(),
            Self::KeyStore(error) => error.hint().map(Cow::Borrowed),
            Self::Sniff(error) => error.hint().map(Cow::Owned),
            Self::NotFacts { .. } => {
                Some("`sealant audit --save FILE` writes one; reports (--json) are other files".into())
            }
            Self::FactsFromTheFuture { .. } => Some("use the release of sealant that wrote it, or a newer one".into()),
            Self::NothingNamed => Some(
                "give mysql://USER@HOST:PORT, --socket PATH, --host HOST, --offline DIR, --facts FILE or --fleet FILE"
                    .into(),
            ),
            _ => None,
        }
    }
}
