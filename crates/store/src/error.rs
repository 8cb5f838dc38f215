//! Errors of stores.

use std::{borrow::Cow, io};

use crate::{Name, s3_fault::S3Fault};

/// Why an object was not put or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The store has no object of this name.
    #[error("{location}: there is no object {name}")]
    Missing {
        /// The store, as messages name it.
        location: String,
        /// Name of the object.
        name: Name,
    },
    /// The store does not exist, so it cannot be opened.
    #[error("{location}: cannot be opened: {source}")]
    Absent {
        /// The store, as messages name it.
        location: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The operating system reports an error.
    #[error("{path}: {doing}: {source}")]
    Io {
        /// The file or directory.
        path: String,
        /// The operation that failed: "cannot be …".
        doing: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The body is longer or shorter than announced.
    #[error("{name}: the body has {found} bytes, but {expected} were announced")]
    Length {
        /// Name of the object.
        name: Name,
        /// Announced length.
        expected: u64,
        /// Actual length.
        found: u64,
    },
    /// A bucket cannot be used.
    #[error("{location}: {fault}")]
    S3 {
        /// The store, as messages name it.
        location: String,
        /// Why it cannot be used.
        fault: S3Fault,
    },
}

impl Error {
    /// Whether the store denied access, or refused to answer without a reason.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        matches!(self, Self::S3 { fault: S3Fault::Denied { .. } | S3Fault::Unexplained { .. }, .. })
    }

    /// Whether the store cannot be reached, or is out of order.
    #[must_use]
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::S3 { fault: S3Fault::Unreachable { .. } | S3Fault::Busy { .. }, .. })
    }

    /// The next step, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Absent { .. } => Some(
                "is its file system mounted? If there is no repository yet, create it with `sealant backup init`"
                    .into(),
            ),
            Self::S3 { fault, .. } => fault.hint().map(Cow::Owned),
            _ => None,
        }
    }
}
