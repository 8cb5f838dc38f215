//! What can go wrong around an audit, apart from findings.

use std::{borrow::Cow, path::PathBuf};

use server::Endpoint;

/// Why an audit, or reading one of its files, could not be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// A facts file is not JSON of our schema.
    #[error("{}: not a facts file of sealant ({why})", path.display())]
    NotFacts {
        /// The file.
        path: PathBuf,
        /// What did not fit.
        why: String,
    },
    /// A facts file was written by a newer release.
    #[error("{}: facts of schema {found}, this release reads up to {known}", path.display())]
    FactsFromTheFuture {
        /// The file.
        path: PathBuf,
        /// The schema that the file names.
        found: String,
        /// The newest schema we read.
        known: &'static str,
    },
    /// A waiver, policy or fleet file does not say what it must.
    #[error("{}: {why}", path.display())]
    BadConfiguration {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
    /// The path given to an offline audit is not a directory that can be read.
    #[error("{}: {why}", path.display())]
    NotADataDirectory {
        /// The path.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A copy of a key store that was named cannot be used as one.
    #[error(transparent)]
    KeyStore(#[from] ::verify::KeysError),
    /// A fleet file does not say what it must.
    #[error("{}: {why}", path.display())]
    BadFleet {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        why: String,
    },
    /// Neither the caller nor an option file says what to audit.
    #[error("nothing to audit is named")]
    NothingNamed,
    /// The server could not be reached, understood or logged in to.
    #[error(transparent)]
    Server(#[from] server::Error),
    /// The same, with the name of the server.
    #[error("{}", source.naming(endpoint))]
    AtServer {
        /// Address of the server.
        endpoint: Endpoint,
        /// The client's error.
        source: server::Error,
    },
}

impl Error {
    /// The same error, naming the server if it is one of the connection.
    #[must_use]
    pub fn at(self, endpoint: &Endpoint) -> Self {
        match self {
            Self::Server(source) => Self::AtServer { endpoint: endpoint.clone(), source },
            other => other,
        }
    }

    /// Whether what was asked for cannot be meant.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        match self {
            Self::BadFleet { .. } | Self::NothingNamed => true,
            Self::Server(error) | Self::AtServer { source: error, .. } => error.is_misuse(),
            _ => false,
        }
    }

    /// The next step, where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Server(error) | Self::AtServer { source: error, .. } => error.hint(),
            Self::FactsFromTheFuture { .. } => Some("use the release of sealant that wrote it, or a newer one".into()),
            Self::NothingNamed => {
                Some("give mysql://USER@HOST:PORT, --socket PATH, --offline DIR, --facts FILE or --fleet FILE".into())
            }
            _ => None,
        }
    }
}
