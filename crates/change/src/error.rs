//! Errors of changes.

use std::{borrow::Cow, io, path::PathBuf};

use crate::{Activity, Outcome};

/// Why a change was refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server refused a query, or is gone.
    #[error("{0}")]
    Server(#[from] server::Error),
    /// The facts could not be collected.
    #[error("{0}")]
    Audit(#[from] audit::Error),
    /// A statement failed.
    #[error("`{statement}`: {source}")]
    Statement {
        /// The statement, without secrets.
        statement: String,
        /// The server's error.
        source: server::Error,
    },
    /// The statement log cannot be written; nothing may be changed that is not logged.
    #[error("{}: the log of statements cannot be written: {source}", path.display())]
    Log {
        /// Path of the log.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The state of a run cannot be written or read.
    #[error("{}: {source}", path.display())]
    State {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another run works on the server; two would undo each other's settings.
    #[error("{server}: another run is at work on this server")]
    AnotherRun {
        /// The server.
        server: String,
    },
    /// Several runs go on, and none was named.
    #[error("several runs go on")]
    SeveralRuns {
        /// Their servers.
        servers: Vec<String>,
    },
    /// There is no run to steer.
    #[error("no run goes on")]
    NoRun {
        /// The last one that did not do all, and how it ended.
        last: Option<(String, Activity)>,
    },
    /// A limit names a status variable that the server does not have.
    #[error("the server has no status variable {name}")]
    NoSuchStatus {
        /// Name of the variable.
        name: String,
    },
    /// A named schema does not exist.
    #[error("{server}: there is no schema {name}")]
    NoSuchSchema {
        /// The server.
        server: String,
        /// Name of the schema.
        name: String,
    },
    /// An online tool could not be started.
    #[error("{program} cannot be run: {source}")]
    Tool {
        /// Name of the program.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// The run was canceled.
    #[error("canceled")]
    Canceled,
    /// No keyring is active.
    #[error("{server}: no keyring is active, so nothing can be encrypted")]
    NoKeyring {
        /// The server.
        server: String,
    },
    /// No key management plug-in is active.
    #[error("{server}: no key management plug-in is active, so nothing can be encrypted")]
    NoKeyManagement {
        /// The server.
        server: String,
    },
    /// The keyring takes no new keys.
    #[error("{server}: the keyring {keyring} is read-only, so no key can be made")]
    ReadOnlyKeyring {
        /// The server.
        server: String,
        /// Component or plug-in.
        keyring: String,
    },
    /// The disk has no space for the keyring, and MySQL would truncate it.
    #[error("{}: {free} bytes are free on its disk and {needed} are needed: MySQL truncates a keyring that it cannot write completely", keyring.display())]
    NoRoomForKeyring {
        /// Path of the keyring.
        keyring: PathBuf,
        /// Free bytes.
        free: u64,
        /// Required bytes.
        needed: u64,
    },
    /// The key store cannot be used.
    #[error("{0}")]
    Keyring(#[from] verify::KeysError),
    /// The keyring on disk does not open all encrypted files.
    #[error("{}: opens {opened} of {encrypted} encrypted files; {}", keyring.display(), unopened(files))]
    KeyringOpensNotAll {
        /// Path of the keyring.
        keyring: PathBuf,
        /// Number of files that it opens.
        opened: u64,
        /// Number of encrypted files.
        encrypted: u64,
        /// The files that it does not open; at least one.
        files: Vec<PathBuf>,
    },
    /// The keyring's file is missing or empty although keys existed.
    #[error("{}: is gone or empty, although {} there", keyring.display(), evidence(*remembered, *encrypted_files))]
    KeyringLost {
        /// Path of the keyring.
        keyring: PathBuf,
        /// Number of keys in the server's memory.
        remembered: u64,
        /// Number of files that need a key.
        encrypted_files: u64,
    },
    /// The server is not supported.
    #[error("{server}: {reason}")]
    Unsupported {
        /// The server.
        server: String,
        /// The missing feature.
        reason: String,
    },
}

/// Maximum number of files that a message names.
const MAX_NAMED: usize = 20;

fn unopened(files: &[PathBuf]) -> String {
    let mut names = files.iter().take(MAX_NAMED).map(|file| file.display().to_string());
    let first = names.next().unwrap_or_default();
    let others: Vec<String> = names.collect();
    let mut message = format!("the first that it does not open is {first}");
    if !others.is_empty() {
        message.push_str(&format!("; the others are {}", others.join(", ")));
    }
    match files.len().saturating_sub(MAX_NAMED) {
        0 => message,
        more => message + &format!(" and {more} more"),
    }
}

fn evidence(remembered: u64, encrypted_files: u64) -> String {
    format!("{encrypted_files} encrypted files, and {remembered} keys in the server's memory, are")
}

/// `ER_NO_SUCH_TABLE`, `ER_BAD_TABLE_ERROR`, `ER_BAD_DB_ERROR`.
const GONE: [u16; 3] = [1146, 1051, 1049];

impl Error {
    /// Whether what was asked for cannot be meant.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        matches!(self, Self::SeveralRuns { .. })
    }

    /// The next step, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Server(error) | Self::Statement { source: error, .. } => error.hint(),
            Self::Audit(error) => error.hint(),
            Self::SeveralRuns { servers } => Some(format!("name one of {}", servers.join(", ")).into()),
            Self::NoRun { last: Some((server, activity)) } => {
                let last = format!("the last on {server} {activity}");
                Some(format!("{last}; `sealant encrypt run` goes on where it ended").into())
            }
            _ => self.fixed_hint().map(Cow::Borrowed),
        }
    }

    const fn fixed_hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoKeyring { .. } => {
                "make one with `sealant keyring init`, or configure a key service, and restart the server"
            }
            Self::NoKeyManagement { .. } => {
                "make one with `sealant keyring init`, or load another key management plug-in, and restart the server"
            }
            Self::State { .. } => "name another directory with --state-dir",
            Self::AnotherRun { .. } => "see its state with `sealant encrypt status`",
            Self::Tool { .. } => "install it, or choose another --method",
            Self::NoRoomForKeyring { .. } => "nothing was changed; make room and run it again",
            Self::ReadOnlyKeyring { .. } => "set read_only to false in its configuration and restart",
            Self::Keyring(_) | Self::KeyringOpensNotAll { .. } | Self::KeyringLost { .. } => {
                "nothing was changed; restore the keyring from a backup before anything else"
            }
            _ => return None,
        })
    }

    /// Whether the run cannot continue.
    pub(crate) fn is_fatal(&self) -> bool {
        match self {
            Self::Statement { source, .. } => {
                !matches!(source, server::Error::Server { .. } | server::Error::AccessDenied { .. })
            }
            _ => true,
        }
    }

    /// Whether the statement was interrupted.
    pub(crate) fn is_interrupted(&self) -> bool {
        const QUERY_INTERRUPTED: u16 = 1317;
        matches!(self, Self::Statement { source: server::Error::Server { code: QUERY_INTERRUPTED, .. }, .. })
    }

    /// Whether a lock wait timed out.
    pub(crate) fn is_lock_timeout(&self) -> bool {
        const LOCK_WAIT_TIMEOUT: u16 = 1205;
        matches!(self, Self::Statement { source: server::Error::Server { code: LOCK_WAIT_TIMEOUT, .. }, .. })
    }

    /// Whether the server does not find a table's file or key.
    pub(crate) fn is_tablespace_lost(&self) -> bool {
        const TABLESPACE_MISSING: u16 = 1812;
        const CANNOT_FIND_MASTER_KEY: u16 = 3185;
        let lost = |code: u16| code == TABLESPACE_MISSING || code == CANNOT_FIND_MASTER_KEY;
        matches!(self, Self::Statement { source: server::Error::Server { code, .. }, .. } if lost(*code))
    }

    /// The outcome for such a table. If MySQL 9.7.4 was killed during a copy, and the table's name has characters other
    /// than letters, digits and `_`, it finds the file or key again after a clean restart.
    pub(crate) fn lost_in_a_crash(&self) -> Outcome {
        let next = "if it was killed before, stop the server cleanly, start it, and run this again: its file is whole";
        Outcome::Failed { reason: format!("{self}; {next}") }
    }

    /// Whether a data file cannot have this name, for example because the file exists.
    pub(crate) fn is_wrong_file_name(&self) -> bool {
        const WRONG_FILE_NAME: u16 = 3121;
        matches!(self, Self::Statement { source: server::Error::Server { code: WRONG_FILE_NAME, .. }, .. })
    }

    /// Whether the server does not have the variable.
    pub(crate) fn is_unknown_variable(&self) -> bool {
        const UNKNOWN_SYSTEM_VARIABLE: u16 = 1193;
        matches!(self, Self::Statement { source: server::Error::Server { code: UNKNOWN_SYSTEM_VARIABLE, .. }, .. })
    }

    /// Whether the object of the statement no longer exists.
    pub(crate) fn is_no_such_table(&self) -> bool {
        matches!(self, Self::Statement { source: server::Error::Server { code, .. }, .. } if GONE.contains(code))
    }
}
