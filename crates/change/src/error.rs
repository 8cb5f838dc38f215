//! What can go wrong with a change.

use std::{borrow::Cow, io, path::PathBuf};

use crate::{Activity, Outcome};

/// Why a change was refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server refused, or is gone.
    #[error("{0}")]
    Server(#[from] server::Error),
    /// The facts could not be gathered.
    #[error("{0}")]
    Audit(#[from] audit::Error),
    /// A statement failed.
    #[error("`{statement}`: {source}")]
    Statement {
        /// The statement, without secrets.
        statement: String,
        /// What the server said.
        source: server::Error,
    },
    /// The log of statements cannot be written, and nothing is changed that is not in it.
    #[error("{}: the log of statements cannot be written: {source}", path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What a run tells of itself cannot be written, or read.
    #[error("{}: {source}", path.display())]
    State {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Two runs at a time would undo each other's settings.
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
    /// A limit is set for something that the server does not count.
    #[error("the server has no status variable {name}")]
    NoSuchStatus {
        /// Its name.
        name: String,
    },
    /// A schema was named that is not there.
    #[error("{server}: there is no schema {name}")]
    NoSuchSchema {
        /// The server.
        server: String,
        /// Its name.
        name: String,
    },
    /// A tool could not be run.
    #[error("{program} cannot be run: {source}")]
    Tool {
        /// The program.
        program: String,
        /// Why.
        source: io::Error,
    },
    /// Somebody asked the run to end.
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
        /// The component or plug-in.
        keyring: String,
    },
    /// The keyring could not be written whole, and MySQL would leave it cut off.
    #[error("{}: {free} bytes are free on its disk and {needed} are needed: MySQL cuts a keyring off that it cannot write whole", keyring.display())]
    NoRoomForKeyring {
        /// The keyring.
        keyring: PathBuf,
        /// Bytes.
        free: u64,
        /// Bytes.
        needed: u64,
    },
    /// The file with the keys cannot be used.
    #[error("{0}")]
    Keyring(#[from] verify::KeysError),
    /// The keyring on disk does not open what is encrypted.
    #[error("{}: opens {opened} of {encrypted} encrypted files; the first that stays shut is {}", keyring.display(), file.display())]
    KeyringOpensNotAll {
        /// The keyring.
        keyring: PathBuf,
        /// Files it opens.
        opened: u64,
        /// Files that are encrypted.
        encrypted: u64,
        /// One that it does not open.
        file: PathBuf,
    },
    /// The keyring's file is gone or empty although there were keys.
    #[error("{}: is gone or empty, although {} there", keyring.display(), evidence(*remembered, *encrypted_files))]
    KeyringLost {
        /// The keyring.
        keyring: PathBuf,
        /// Keys that the running server has in memory.
        remembered: u64,
        /// Files that ask for one.
        encrypted_files: u64,
    },
    /// This kind of server is not supported.
    #[error("{server}: {reason}")]
    Unsupported {
        /// The server.
        server: String,
        /// What is missing.
        reason: String,
    },
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

    /// The next step, where there is one.
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
            Self::AnotherRun { .. } => "look at it with `sealant encrypt status`",
            Self::Tool { .. } => "install it, or choose another --method",
            Self::NoRoomForKeyring { .. } => "nothing was changed; make room and run it again",
            Self::ReadOnlyKeyring { .. } => "set read_only to false in its configuration and restart",
            Self::Keyring(_) | Self::KeyringOpensNotAll { .. } | Self::KeyringLost { .. } => {
                "nothing was changed; restore the keyring from a backup before anything else"
            }
            _ => return None,
        })
    }

    /// Whether there is no use in going on.
    pub(crate) fn is_fatal(&self) -> bool {
        match self {
            Self::Statement { source, .. } => {
                !matches!(source, server::Error::Server { .. } | server::Error::AccessDenied { .. })
            }
            _ => true,
        }
    }

    /// Whether somebody ended the statement.
    pub(crate) fn is_interrupted(&self) -> bool {
        const QUERY_INTERRUPTED: u16 = 1317;
        matches!(self, Self::Statement { source: server::Error::Server { code: QUERY_INTERRUPTED, .. }, .. })
    }

    /// Whether others held the lock for too long.
    pub(crate) fn is_lock_timeout(&self) -> bool {
        const LOCK_WAIT_TIMEOUT: u16 = 1205;
        matches!(self, Self::Statement { source: server::Error::Server { code: LOCK_WAIT_TIMEOUT, .. }, .. })
    }

    /// Whether the server does not find the file of a table, or its key.
    pub(crate) fn is_tablespace_lost(&self) -> bool {
        const TABLESPACE_MISSING: u16 = 1812;
        const CANNOT_FIND_MASTER_KEY: u16 = 3185;
        let lost = |code: u16| code == TABLESPACE_MISSING || code == CANNOT_FIND_MASTER_KEY;
        matches!(self, Self::Statement { source: server::Error::Server { code, .. }, .. } if lost(*code))
    }

    /// What becomes of such a table: MySQL 9.7.4 that was killed during a copy, where a name has other signs than letters, digits
    /// and `_`, finds the file, or its key, again after a clean restart.
    pub(crate) fn lost_in_a_crash(&self) -> Outcome {
        let next = "if it was killed before, stop the server cleanly, start it, and run this again: its file is whole";
        Outcome::Failed { reason: format!("{self}; {next}") }
    }

    /// Whether a data file may not have its name, as when there is such a file.
    pub(crate) fn is_wrong_file_name(&self) -> bool {
        const WRONG_FILE_NAME: u16 = 3121;
        matches!(self, Self::Statement { source: server::Error::Server { code: WRONG_FILE_NAME, .. }, .. })
    }

    /// Whether this server does not have that variable.
    pub(crate) fn is_unknown_variable(&self) -> bool {
        const UNKNOWN_SYSTEM_VARIABLE: u16 = 1193;
        matches!(self, Self::Statement { source: server::Error::Server { code: UNKNOWN_SYSTEM_VARIABLE, .. }, .. })
    }

    /// Whether the statement was about something that is not there any more.
    pub(crate) fn is_no_such_table(&self) -> bool {
        matches!(self, Self::Statement { source: server::Error::Server { code, .. }, .. } if GONE.contains(code))
    }
}
