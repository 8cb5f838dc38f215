//! Why a key store cannot be read.

use std::{
    io::{self, ErrorKind},
    path::PathBuf,
};

use crate::{
    salted::MAX_ROUNDS,
    store::{InvalidReason, StoreKind},
};

/// A key store cannot be read.
///
/// [`inspect`](crate::inspect) reports damage inside a recognised store as
/// [`StoreSummary::damage`](crate::StoreSummary::damage); the loaders refuse what is damaged as a whole.
/// No message holds key bytes or a password, nor the path of the file, which its reader knows.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyringError {
    /// No bytes. For MySQL's file keyrings that means "no keys".
    #[error("the key store is empty")]
    Empty,
    /// None of the known stores.
    #[error(
        "not a keyring or key file this program knows; if it is an encrypted keyring of MySQL Enterprise, \
         migrate a copy of its keys to component_keyring_file and give that"
    )]
    NotRecognised,
    /// Larger than any key store.
    #[error("larger than {limit} bytes, not a key store")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// A known store that holds no keys, or none of the wanted kind.
    #[error("{}", instead(*.kind))]
    WrongKind {
        /// What it is.
        kind: StoreKind,
    },
    /// The end, or the mark there, is missing.
    #[error("damaged: its end is missing; take another copy")]
    Truncated,
    /// Text that is no JSON of the component's form.
    #[error("damaged: not in its format at line {line}, column {column}; take another copy")]
    NotJson {
        /// From 1.
        line: u64,
        /// From 1.
        column: u64,
    },
    /// Records that do not follow on each other.
    #[error("damaged: not in its format from byte {offset} on; take another copy")]
    Malformed {
        /// From the start of the file.
        offset: u64,
    },
    /// The SHA-256 at the end does not match.
    #[error("damaged: its checksum does not match its keys; take another copy")]
    Checksum,
    /// A version this program does not know.
    #[error("a keyring of a version this program does not know")]
    UnknownVersion,
    /// Text without a key, where a MariaDB key file was wanted.
    #[error("no line is a key (number;hexadecimal), so this is no key file of MariaDB")]
    NoKeyLine,
    /// A line of a MariaDB key file that is neither key nor comment.
    #[error("line {line} of the key file is invalid ({}); the server refuses the whole file, too", invalid(*.reason))]
    InvalidLine {
        /// From 1.
        line: u64,
        /// Why.
        reason: InvalidReason,
    },
    /// An encrypted MariaDB key file.
    #[error("the key file is encrypted; give its password too (file_key_management_filekey)")]
    NeedsPassword,
    /// An encrypted MariaDB key file that is no text once opened.
    #[error(
        "the password does not open the key file, or the file is damaged, or more than {MAX_ROUNDS} rounds of PBKDF2 \
         were used and not told"
    )]
    WrongPassword,
    /// A password that the server would not read.
    #[error("the password of the key file is longer than {limit} bytes")]
    PasswordTooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// A configuration that does not say where the keyring is.
    #[error("names no keyring file (\"path\")")]
    NoPath,
    /// A configuration that points into the data directory.
    #[error("refers to the data directory; give that too, or {} from there", .wanted.display())]
    NeedsDatadir {
        /// What would do instead.
        wanted: PathBuf,
    },
    /// The configuration in the data directory, to which the given one refers, cannot be used.
    #[error("refers to {}: {source}", .path.display())]
    LocalConfig {
        /// The configuration in the data directory.
        path: PathBuf,
        /// Why.
        source: Box<Self>,
    },
    /// A manifest where a component's configuration was wanted.
    #[error(
        "only names the keyring component; give component_keyring_file.cnf from the server's plug-in or data \
         directory instead"
    )]
    ManifestGiven,
    /// The configuration of a component that keeps its keys elsewhere or encrypted.
    #[error("keys of {component} cannot be read; migrate a copy of them to component_keyring_file and give that")]
    OtherComponent {
        /// The component.
        component: String,
    },
    /// Not a configuration of a keyring component.
    #[error("not the configuration of a keyring component")]
    NotConfiguration,
    /// No such file.
    #[error("does not exist")]
    NotFound,
    /// The system forbids it.
    #[error("no permission to read it; run as a user who has it, such as the server's")]
    NotPermitted,
    /// Neither a file nor an open descriptor.
    #[error("{found}, not a file; copy its content into a file and give that")]
    NotAFile {
        /// What it is.
        found: &'static str,
    },
    /// The configuration says that the keyring is not to be written.
    #[error("is configured to be read-only, so no key can be added")]
    ReadOnly,
    /// A keyring that a server with components does not load, or that is damaged.
    #[error(
        "is a keyring of the older plug-in, to which no keys can be added for this server; migrate it to \
         component_keyring_file"
    )]
    CannotAdd,
    /// A keyring that MySQL 5.7 does not load.
    #[error(
        "is a keyring of component_keyring_file, which MySQL 5.7 does not load; give that of its plug-in keyring_file, \
         or a file that is not there yet"
    )]
    NotForPlugin,
    /// A server was interrupted while it wrote the keyring.
    #[error("has a .backup beside it, which the server will put in its place; start and stop the server first")]
    Backup,
    /// A symbolic link whose target is not there.
    #[error("is a link to nothing; is the disk mounted that it leads to?")]
    LinkToNothing,
    /// The keyring could not be replaced.
    #[error("cannot be written: {0}")]
    CannotWrite(io::Error),
    /// The operating system refused.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// No memory to keep keys in.
    #[error("no memory for keys: {0}")]
    Memory(io::Error),
    /// The cipher library refused what it never refuses.
    #[error("the cipher library refused a key")]
    Cipher,
}

/// What a store is that was given in the wrong place, and what to give.
const fn instead(kind: StoreKind) -> &'static str {
    match kind {
        StoreKind::ComponentFile | StoreKind::PluginFileV1 | StoreKind::PluginFileV2 => {
            "a keyring of MySQL; give it as the keyring"
        }
        StoreKind::ComponentConfig => {
            "the configuration of a keyring component, which holds no keys; give it as the keyring's configuration"
        }
        StoreKind::Manifest => {
            "the manifest mysqld.my, which holds no keys; give component_keyring_file.cnf as the keyring's configuration"
        }
        StoreKind::MariaDbPlain | StoreKind::OpensslSalted => "a key file of MariaDB; give it as MariaDB's key file",
        StoreKind::AwsPlugin => {
            "keys of the keyring_aws plug-in are wrapped by AWS KMS; migrate a copy of them to a keyring file and give that"
        }
        StoreKind::VaultConfig => {
            "the configuration of a Vault, where the keys are; migrate a copy of them to a keyring file and give that"
        }
        StoreKind::CfpExportKey => {
            "the transfer key of one exported table (.cfp), which opens the tablespace file exported with it and no other"
        }
    }
}

const fn invalid(reason: InvalidReason) -> &'static str {
    match reason {
        InvalidReason::Id => "it does not begin with the number of a key and a semicolon",
        InvalidReason::Type => "it names no type",
        InvalidReason::Data => "what follows the semicolon is not hexadecimal",
        InvalidReason::Length => "the key has not 128, 192 or 256 bits",
    }
}

impl From<io::Error> for KeyringError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Self::NotFound,
            ErrorKind::PermissionDenied => Self::NotPermitted,
            _ => Self::Io(error),
        }
    }
}
