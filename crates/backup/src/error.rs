//! What can go wrong with a backup or a restore.

use std::{io, path::PathBuf};

use archive::{ArchiveError, names::Number, sshsig::SshError};
use store::StoreError;
use transfer::TransferError;

/// Why there is no backup, or no restored directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// The configuration cannot be used.
    #[error("{path}: {reason}")]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A file of this host cannot be read or written.
    #[error("{path}: {doing}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What failed.
        doing: &'static str,
        /// How.
        source: io::Error,
    },
    /// The signing key, a signature or the list of signers cannot be used.
    #[error("{path}: {source}")]
    Key {
        /// The file.
        path: PathBuf,
        /// Why.
        source: SshError,
    },
    /// A file of identities cannot be used.
    #[error("{path}: {source}")]
    Identity {
        /// The file.
        path: PathBuf,
        /// Why.
        source: agefile::IdentityFileError,
    },
    /// It is no repository.
    #[error("{location}: it is no repository of backups: there is no {}", archive::names::REPOSITORY)]
    NoRepository {
        /// Where it should be.
        location: String,
    },
    /// Another version made it, or it is damaged.
    #[error("{location}: {} cannot be used: {reason}", archive::names::REPOSITORY)]
    Repository {
        /// Where it is.
        location: String,
        /// Why.
        reason: String,
    },
    /// Another run has the lock.
    #[error("{path}: another run of this host is under way")]
    Busy {
        /// The lock.
        path: PathBuf,
    },
    /// Somebody else writes backups of this host.
    #[error("{location}: another machine writes as {host}: backup {number} is there, and is not of this one")]
    OtherMachine {
        /// Where the repository is.
        location: String,
        /// The name.
        host: String,
        /// The number that both took.
        number: Number,
    },
    /// There is no such backup.
    #[error("{location}: there is no backup {wanted} of {host}")]
    NoBackup {
        /// Where the repository is.
        location: String,
        /// Name of the host.
        host: String,
        /// What was asked for.
        wanted: String,
    },
    /// There are several hosts, or none.
    #[error("{location}: {reason}")]
    Host {
        /// Where the repository is.
        location: String,
        /// What is wrong.
        reason: String,
    },
    /// A signature does not hold, or is of somebody who may not sign.
    #[error("{object}: {reason}")]
    Untrusted {
        /// The receipt.
        object: String,
        /// Why.
        reason: String,
    },
    /// An object is not what its receipt says.
    #[error("{object}: {source}")]
    Object {
        /// Its name.
        object: String,
        /// What is wrong with it.
        source: ArchiveError,
    },
    /// The keys at hand do not seal what the backup holds opened.
    #[error("{path}: its pages are opened in the backup, and the keys at hand do not seal them again{needed}")]
    Sealing {
        /// The file.
        path: String,
        /// Which key is needed, if that is known.
        needed: String,
    },
    /// What is on disk is not what was backed up.
    #[error("{path}: what was read back from the disk is not what was backed up")]
    ReadBack {
        /// The file.
        path: PathBuf,
    },
    /// Keys cannot be read.
    #[error(transparent)]
    Keys(#[from] verify::KeysError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A part of the backup cannot be written.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The data directory cannot be read or written.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// No copy could be taken.
    #[error(transparent)]
    Snapshot(#[from] snapshot::Error),
    /// The copy is not of one instant.
    #[error("the copy is void: {0}")]
    Void(String),
    /// The system has no random bytes.
    #[error("the system gives no random bytes")]
    Randomness,
    /// Another thread failed first.
    #[error("ended because another part of the run failed")]
    Stopped,
}

impl BackupError {
    /// What a file could not be used for.
    pub(crate) fn io(path: &std::path::Path, doing: &'static str) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { path, doing, source }
    }

    /// The next step, where there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoRepository { .. } => "`sealant backup init` makes one".to_owned(),
            Self::OtherMachine { .. } => "give each machine a name of its own under [host]".to_owned(),
            Self::NoBackup { .. } => "`sealant backup list` shows which there are".to_owned(),
            Self::Sealing { .. } => {
                "give the keyring of the server with --keyring, or its key file with --mariadb-key-file".to_owned()
            }
            Self::Object { source: ArchiveError::Age(agefile::Error::NoMatch), .. } => {
                "the receipt names the recipients; `sealant backup show` lists them".to_owned()
            }
            Self::Object { source: ArchiveError::Digest { .. }, .. } => {
                "`sealant backup check all --objects` finds all that are damaged".to_owned()
            }
            _ => return None,
        })
    }
}
