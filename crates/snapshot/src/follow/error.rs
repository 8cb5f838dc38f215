//! Why a working server could not be copied.

use std::{
    io,
    path::{Path, PathBuf},
};

use innodb::{log_copy::LogCopyError, redo_copy::RedoCopyError};

/// Why a working server could not be copied. Its backup locks are gone, and nothing is left behind.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FollowError {
    /// The server has to be asked, and nobody said how.
    #[error("the server has to be asked for its backup locks and its position, and no account was given")]
    NoAccount,
    /// There is nothing to follow.
    #[error("{}: no server runs on it", path.display())]
    NotRunning {
        /// The data directory.
        path: PathBuf,
    },
    /// The server cannot be followed.
    #[error("{version} cannot be copied while it works: {reason}")]
    Unsupported {
        /// The server's version.
        version: String,
        /// What is missing.
        reason: &'static str,
    },
    /// Another server answers than the one that has the data directory open.
    #[error("the server that answers has its data in {}, not in {}", found.display(), expected.display())]
    OtherServer {
        /// What the server says.
        found: PathBuf,
        /// The directory to copy.
        expected: PathBuf,
    },
    /// The server cannot be reached, or refuses a statement.
    #[error("{doing}: {source}")]
    Server {
        /// What it was asked for.
        doing: String,
        /// The reason.
        source: Box<server::Error>,
    },
    /// The account may not do what a copy needs.
    #[error("{doing}: {source}")]
    Privilege {
        /// The statement.
        doing: String,
        /// The refusal.
        source: Box<server::Error>,
        /// What grants it.
        grant: &'static str,
    },
    /// The server did not say what it was asked for.
    #[error("the server does not say its {0}")]
    NoAnswer(&'static str),
    /// The log could not be copied.
    #[error(transparent)]
    Log(#[from] LogCopyError),
    /// A file of MySQL's log could not be copied.
    #[error("{}: {source}", path.display())]
    Redo {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: RedoCopyError,
    },
    /// Files of MySQL's log were not those that were expected to follow.
    #[error("{}: the files of the redo log changed while it was copied", path.display())]
    Moving {
        /// Their directory.
        path: PathBuf,
    },
    /// MySQL's log is encrypted, and its last block has to be cut.
    #[error(
        "the redo log is encrypted (innodb_redo_log_encrypt), and cannot be cut at the position of the copy without its key"
    )]
    RedoEncrypted,
    /// Changes are not in the log.
    #[error("redo logging is disabled (ALTER INSTANCE DISABLE INNODB REDO_LOG), so a copy could not be recovered")]
    RedoDisabled,
    /// MySQL keeps its log for one program at a time.
    #[error("another session is registered as consumer of the redo log: another backup runs")]
    OtherConsumer,
    /// The server may have used files of its log again.
    #[error("the server no longer knows this session as consumer of its redo log")]
    NotConsumer,
    /// A page has a change that is not in the log.
    #[error("a page was changed at LSN {newest}, and the redo log of the copy ends at {end}")]
    NewerPage {
        /// The newest page's.
        newest: u64,
        /// Where the log ends.
        end: u64,
    },
    /// The server began binary logs faster than the newest one was copied.
    #[error("the server began a new binary log each time that the newest one was copied")]
    BinaryLogs,
    /// The log does not hold what the server has committed.
    #[error("the redo log was read up to LSN {position}, and the server has written up to {wanted}")]
    LogEnds {
        /// Where it ends.
        position: u64,
        /// Where it has to end.
        wanted: u64,
    },
    /// The log of definitions has a line of an unknown kind.
    #[error("{}: a line that cannot be parsed: {line}", path.display())]
    DdlLog {
        /// The log.
        path: PathBuf,
        /// The line.
        line: String,
    },
    /// A page was never read as a whole.
    #[error("{}: page {page} changed each time it was read", path.display())]
    Changing {
        /// The file.
        path: PathBuf,
        /// The page.
        page: u64,
    },
    /// The file system is too small.
    #[error("{}: {} MiB are free, and the copy needs {} MiB", path.display(), free_bytes >> 20, wanted_bytes >> 20)]
    NoRoom {
        /// Where the copy would be.
        path: PathBuf,
        /// What is free.
        free_bytes: u64,
        /// What is needed.
        wanted_bytes: u64,
    },
    /// A file cannot be read or written.
    #[error("{}: cannot be copied: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Another thread failed first.
    #[error("ended because another part of the copy failed")]
    Stopped,
}

impl FollowError {
    pub(crate) fn file(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::File { path: path.to_owned(), source }
    }

    /// The next step, where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoAccount => {
                "give the server's socket and an account with RELOAD and BINLOG MONITOR, for MySQL BACKUP_ADMIN, RELOAD and SELECT on performance_schema.log_status (--socket, --user, --password-file)"
            }
            Self::Privilege { grant, .. } => grant,
            Self::RedoEncrypted | Self::Redo { source: RedoCopyError::Sealed(_), .. } => {
                "give the keyring (--keyring or --keyring-config), or keep the data on btrfs, XFS, ZFS or LVM"
            }
            Self::RedoDisabled => "ALTER INSTANCE ENABLE INNODB REDO_LOG, when what was loaded without it is done",
            Self::OtherConsumer => "try again when the other one has ended",
            Self::Moving { .. } | Self::BinaryLogs | Self::Redo { source: RedoCopyError::Unwritten(_), .. } => {
                "try again when less is written"
            }
            Self::Unsupported { .. } => {
                "keep the data on btrfs, XFS, ZFS or LVM, or send a backup (sealant send --live --provider mariabackup)"
            }
            Self::NotRunning { .. } => "leave the choice to --provider auto",
            Self::OtherServer { .. } => "give the socket of the server that has this data directory open",
            Self::Log(LogCopyError::Overrun { .. }) => "raise innodb_log_file_size, or try again when less is written",
            Self::Log(LogCopyError::Resized) => "try again when the redo log keeps its size",
            Self::Changing { .. } => "try again when less is written",
            Self::NoRoom { .. } => "make room, or name another directory with --place",
            _ => return None,
        })
    }
}
