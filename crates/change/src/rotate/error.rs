//! Errors of rotation.

use std::{borrow::Cow, io, path::PathBuf};

use crate::keyring::LOST;

/// Why a rotation was refused or failed. No message contains a key.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server, its keyring or a statement failed.
    #[error(transparent)]
    Change(#[from] crate::Error),
    /// The account lacks privileges.
    #[error("{account} lacks {}", missing.join(" and "))]
    Privileges {
        /// The account, in the server's notation.
        account: String,
        /// Missing privileges, each as `PRIVILEGE ON OBJECT`.
        missing: Vec<String>,
    },
    /// The data directory belongs to another server, or to none.
    #[error("{}: {reason}", datadir.display())]
    OtherDatadir {
        /// Path of the directory.
        datadir: PathBuf,
        /// Why it is not this server's.
        reason: String,
    },
    /// The keys are not in a readable file.
    #[error("{keyring} does not say which file it keeps its keys in, so no copy of them can be made or proven")]
    KeyringNotAFile {
        /// Component or plug-in.
        keyring: String,
    },
    /// The given keyring is not the one that the server uses.
    #[error("{}: the server keeps its keys in {}", given.display(), used.display())]
    OtherKeyring {
        /// The given file.
        given: PathBuf,
        /// The server's file.
        used: PathBuf,
    },
    /// The keyring on disk cannot be read.
    #[error("{}: {source}", path.display())]
    Keyring {
        /// Path of the file.
        path: PathBuf,
        /// The error.
        source: keyring::KeyringError,
    },
    /// The running server has a key that its file does not have.
    #[error("{}: lacks {key}, which the running server holds", path.display())]
    KeyringBehind {
        /// Path of the file.
        path: PathBuf,
        /// Name of the key.
        key: String,
    },
    /// MariaDB's key file lacks the key for the tables.
    #[error("{}: has no key {key_id}", path.display())]
    NoSuchKey {
        /// Path of the key file.
        path: PathBuf,
        /// Id of the key.
        key_id: u32,
    },
    /// The keyring changed while it was proven.
    #[error("{}: changed each time it was proven", path.display())]
    KeyringChanges {
        /// Path of the file.
        path: PathBuf,
    },
    /// The keyring has no newer key after a rotation.
    #[error("{}: holds no newer key than {} after the rotation", path.display(), older.as_deref().unwrap_or("none"))]
    NoNewKey {
        /// Path of the file.
        path: PathBuf,
        /// The newest key before the rotation.
        older: Option<String>,
    },
    /// Files could not be read, so nothing is proven.
    #[error("{}: {reason}", path.display())]
    Unread {
        /// The first of them.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The redo log is in clear text, so it has no key.
    #[error("{server}: the redo log is not encrypted, so it has no key to rotate")]
    RedoInClear {
        /// The server.
        server: String,
    },
    /// No file of the redo log names the new key.
    #[error("{server}: no redo log file names {key} after the rotation")]
    RedoUnproven {
        /// The server.
        server: String,
        /// The newest master key.
        key: String,
    },
    /// Binary logs are in clear text, so they have no key.
    #[error("{server}: binary logs are not encrypted, so they have no key to rotate")]
    BinaryLogsInClear {
        /// The server.
        server: String,
    },
    /// The file exists, and no unfinished run of this command wrote it.
    #[error("{}: exists already, and a backup is never overwritten", path.display())]
    BackupExists {
        /// Path of the file.
        path: PathBuf,
    },
    /// The backup cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Backup {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The backup could not be encrypted, or not decrypted again.
    #[error("{}: {reason}", path.display())]
    Age {
        /// Path of the file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A recipient is not valid.
    #[error("{location}: {reason}")]
    Recipient {
        /// Where it was given.
        location: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An identity is not valid.
    #[error("{}: {reason}", path.display())]
    Identity {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// MariaDB has no master keys that could be rotated.
    #[error("{server}: MariaDB has no master keys that could be rotated")]
    NoMasterKey {
        /// The server.
        server: String,
    },
    /// Neither a key nor a certificate is to be new.
    #[error("nothing is to be rotated")]
    Nothing,
    /// Keys are to be made and no backup is named.
    #[error("no backup of the keyring is named")]
    NoBackup,
    /// A backup is named that nobody could open.
    #[error("no recipient is named")]
    NoRecipient,
    /// Recipients are named and no file.
    #[error("no backup is named")]
    NoBackupFile,
    /// The certificate.
    #[error(transparent)]
    Certificate(#[from] crate::tls::Error),
    /// The register, or a copy that it names, cannot be used.
    #[error(transparent)]
    Register(#[from] register::Error),
}

impl Error {
    /// Whether what was asked for cannot be meant.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        matches!(self, Self::Nothing | Self::NoBackup | Self::NoRecipient | Self::NoBackupFile)
    }

    /// The next step, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Change(error) => return of_change(error),
            Self::Privileges { account, missing } => {
                let grants = missing.iter().map(|need| format!("GRANT {need} TO {account}"));
                grants.collect::<Vec<_>>().join("; ")
            }
            Self::OtherDatadir { .. } => "give this server's own data directory with --datadir".to_owned(),
            Self::KeyringNotAFile { .. } => {
                "give the file with --keyring; keys in a Vault, KMS or encrypted file cannot be read: rotate and back up \
                 those with their own tools"
                    .to_owned()
            }
            Self::OtherKeyring { .. } => "leave --keyring out".to_owned(),
            Self::Keyring { .. } | Self::KeyringBehind { .. } => LOST.to_owned(),
            Self::NoSuchKey { .. } => {
                "add a line for it, and restart the server: it reads the file at its start only".to_owned()
            }
            Self::KeyringChanges { .. } => "something else makes keys at the same time; run it again after that".to_owned(),
            Self::NoNewKey { .. } => "is this the file that the server writes? look at its error log".to_owned(),
            Self::Unread { .. } => "run as the server's user or as root".to_owned(),
            Self::BinaryLogsInClear { .. } => {
                "leave --binlog-key out, or SET PERSIST binlog_encryption = ON first".to_owned()
            }
            Self::RedoInClear { .. } => {
                "leave --redo out, or encrypt it first: sealant encrypt run --policy logs".to_owned()
            }
            Self::RedoUnproven { .. } => "run the same command again".to_owned(),
            Self::BackupExists { .. } => "name a new file, for example with the date in it".to_owned(),
            Self::Backup { .. } => "name a file in a directory that this user may write".to_owned(),
            Self::Recipient { .. } => {
                "a recipient is what `age-keygen` prints as the public key: age1 and 58 letters and digits".to_owned()
            }
            Self::Identity { .. } => "an identity file is what `age-keygen -o FILE` writes".to_owned(),
            Self::NoMasterKey { .. } => {
                "MariaDB's file_key_management has no versions of keys: move tables to another key, which has to be in \
                 its file, with --mariadb-key-id N (ENCRYPTION_KEY_ID=N for each table)"
                    .to_owned()
            }
            Self::NoBackup => "give --keyring-backup FILE and --recipient age1…, or ask for a plan".to_owned(),
            Self::NoRecipient => "give --recipient age1…".to_owned(),
            Self::NoBackupFile => "give --keyring-backup FILE".to_owned(),
            Self::Certificate(error) => return error.hint(),
            Self::Register(error) => return error.hint().map(str::to_owned),
            Self::Age { .. } | Self::Nothing => return None,
        })
    }
}

fn of_change(error: &crate::Error) -> Option<String> {
    Some(match error {
        crate::Error::Server(error) => return error.hint().map(Cow::into_owned),
        crate::Error::Statement { .. } => "look at the server's error log, then run the same command again".to_owned(),
        crate::Error::NoKeyring { .. } => {
            "`sealant keyring init` configures component_keyring_file; then restart the server".to_owned()
        }
        crate::Error::NoKeyManagement { .. } => {
            "`sealant keyring init` configures file_key_management; then restart the server".to_owned()
        }
        crate::Error::ReadOnlyKeyring { .. } => {
            "set \"read_only\": false in the keyring component's configuration and restart the server".to_owned()
        }
        crate::Error::NoRoomForKeyring { .. } => {
            "no key was made; make room, then run the same command again".to_owned()
        }
        crate::Error::Keyring { .. } | crate::Error::KeyringOpensNotAll { .. } | crate::Error::KeyringLost { .. } => {
            LOST.to_owned()
        }
        _ => return None,
    })
}
