//! Errors of state transfers.

use std::{io, path::PathBuf};

use server::option_group::{MYSQLD, SST};
use transfer::Error as TransferError;

/// Why a state transfer failed. The message goes to the server's error log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server's arguments are invalid.
    #[error("the server's arguments are invalid: {0}")]
    Arguments(String),
    /// An option file cannot be read.
    #[error(transparent)]
    OptionFile(#[from] server::Error),
    /// An option cannot be used.
    #[error("[{SST}] {option}: {reason}")]
    Option {
        /// Its name.
        option: &'static str,
        /// The reason.
        reason: String,
    },
    /// The joiner's request has no secret: its method is not Sealant's, or the secret was lost on the way.
    #[error("the joiner's request has no sealant secret: set wsrep_sst_method=sealant on the joiner, too")]
    NoSecret,
    /// One side uses certificates of the site and the other does not.
    #[error("{ours}, {theirs}: set tkey, tcert and tca in [{SST}] on all nodes, or on none")]
    TrustDiffers {
        /// What this side has.
        ours: &'static str,
        /// What the peer has.
        theirs: &'static str,
    },
    /// The address cannot be used.
    #[error("{address}: {source}")]
    Address {
        /// The address in the server's arguments.
        address: String,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The transfer failed.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// The snapshot cannot be used.
    #[error(transparent)]
    Snapshot(#[from] snapshot::Error),
    /// An operation on a file or directory failed.
    #[error("{}: {doing}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The operation.
        doing: &'static str,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Data is in a location that is not supported.
    #[error("{}: {reason}", path.display())]
    Outside {
        /// Path of the file.
        path: PathBuf,
        /// Why it is not supported.
        reason: &'static str,
    },
    /// An option group for servers of one version sets the location of data.
    #[error(
        "[{group}] {}: file locations in a version-specific group are not supported; set it in [{MYSQLD}]",
        option.replace('-', "_")
    )]
    OneVersion {
        /// The group.
        group: String,
        /// The option.
        option: &'static str,
    },
    /// A file that a server needs to start is missing.
    #[error("{}: there is no {missing}, so nothing is replaced", path.display())]
    Incomplete {
        /// Where it should be.
        path: PathBuf,
        /// What is missing.
        missing: &'static str,
    },
    /// The server could not take its lock.
    #[error("the server could not flush its tables; its own lines in this log say why")]
    NotFlushed,
    /// The server did not stop writing in time.
    #[error(
        "the server did not stop writing within {seconds} s: a statement or transaction that runs for long keeps it \
         from flushing its tables, SHOW PROCESSLIST tells which"
    )]
    NotFlushedInTime {
        /// Time limit in seconds.
        seconds: u64,
    },
    /// An invalid position.
    #[error("{from} sent an invalid position")]
    Position {
        /// Origin of the position.
        from: &'static str,
    },
    /// The peer sent a message that this version does not know.
    #[error("the other side is of another release of sealant: use the same on all nodes")]
    OtherRelease,
    /// The server that started this process has ended.
    #[error("the server is gone")]
    ServerGone,
}

impl Error {
    /// The next step, if there is one. Hints of [`TransferError::hint`] do not apply, because they are about commands
    /// that nobody ran here.
    #[must_use]
    pub const fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Transfer(TransferError::Space { .. }) => {
                Some("the new data is staged beside the old: make room for both, or empty the data directory first")
            }
            Self::Transfer(TransferError::Changed { .. }) => Some(
                "something wrote this file while the server had stopped writing: it belongs to no server, or to an \
                 engine that heeds no lock",
            ),
            Self::Transfer(TransferError::Stalled { .. }) => Some(
                "the other side's host, its program or the network between hangs; a donor's server gets its lock back \
                 now, if it was held",
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
