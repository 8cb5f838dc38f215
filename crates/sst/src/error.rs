//! Why a state transfer ends early.

use std::{io, path::PathBuf};

use transfer::TransferError;

/// Why a state transfer ended early. The sentence goes to the server's error log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SstError {
    /// The server's own call is not one that this program knows.
    #[error("the server's call cannot be understood: {0}")]
    Arguments(String),
    /// An option file cannot be read.
    #[error(transparent)]
    OptionFile(#[from] server::Error),
    /// An option cannot be used.
    #[error("[sst] {option}: {reason}")]
    Option {
        /// Its name.
        option: &'static str,
        /// Why.
        reason: String,
    },
    /// The joiner sent no secret along: it is not Sealant's, or something in between cut it off.
    #[error("the joiner's request has no secret of sealant in it; the joiner's method has to be sealant too")]
    NoSecret,
    /// One side shows certificates of the site and the other does not.
    #[error("{ours}, {theirs}: set tkey, tcert and tca in [sst] on all nodes, or on none")]
    TrustDiffers {
        /// What this side has.
        ours: &'static str,
        /// What the other side has.
        theirs: &'static str,
    },
    /// The address cannot be used.
    #[error("{address}: {source}")]
    Address {
        /// As the server gave it.
        address: String,
        /// Why.
        source: io::Error,
    },
    /// The transfer failed.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// The snapshot cannot be used.
    #[error(transparent)]
    Snapshot(#[from] snapshot::Error),
    /// A file or directory of the server.
    #[error("{}: {doing}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What was being done.
        doing: &'static str,
        /// Why it failed.
        source: io::Error,
    },
    /// Data lies where this method does not look.
    #[error("{}: {reason}", path.display())]
    Outside {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: &'static str,
    },
    /// A group of option files that servers of one version read says where data is.
    #[error(
        "[{group}] {}: groups of one version are not read for where data is: set it in [mysqld]",
        option.replace('-', "_")
    )]
    OneVersion {
        /// The group.
        group: String,
        /// The option.
        option: &'static str,
    },
    /// What a server cannot start without.
    #[error("{}: there is no {missing}, so nothing is replaced", path.display())]
    Incomplete {
        /// Where it was looked for.
        path: PathBuf,
        /// What is not there.
        missing: &'static str,
    },
    /// The server could not take its lock.
    #[error("the server could not flush its tables, its own lines in this log say why")]
    NotFlushed,
    /// The server waits for something before it can take its lock.
    #[error(
        "the server did not stop writing within {seconds} s: a statement or transaction that runs for long keeps it from \
         flushing its tables, SHOW PROCESSLIST tells which"
    )]
    NotFlushedInTime {
        /// How long.
        seconds: u64,
    },
    /// A position that is none.
    #[error("{from} gave a position that is none")]
    Position {
        /// Who.
        from: &'static str,
    },
    /// The other side says what this version does not know.
    #[error("the other side is of another release of sealant: use the same on all nodes")]
    OtherRelease,
    /// The server that started this is gone.
    #[error("the server is gone")]
    ServerGone,
}

impl SstError {
    /// The next step, where there is one. Those of [`TransferError::hint`] are of commands that nobody gave here.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Transfer(TransferError::Space { .. }) => {
                Some("the new data is staged beside the old: make room for both, or empty the data directory first")
            }
            Self::Transfer(TransferError::Changed { .. }) => Some(
                "something wrote this file while the server had stopped writing: it belongs to no server, or to an engine \
                 that heeds no lock",
            ),
            Self::Transfer(TransferError::Stalled { .. }) => Some(
                "the other side's host, its program or the network between hangs; a donor's server gets its lock back now, \
                 if it was held",
            ),
            Self::Transfer(TransferError::NotTheReceiver { .. }) => {
                Some("what answers at this address is not the joiner that asked")
            }
            _ => None,
        }
    }

    /// For `map_err` on file operations.
    pub(crate) fn file(path: impl Into<PathBuf>, doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { path, doing, source }
    }
}
