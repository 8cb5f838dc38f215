//! Errors of reading and writing key stores.

use std::{
    io::{self, ErrorKind},
    path::PathBuf,
};

use crate::{
    limits::MAX_ROUNDS,
    summary::{InvalidReason, StoreKind},
};

/// Why a key store cannot be read or written.
///
/// [`inspect`](crate::inspect) reports damage in a recognised store as
/// [`StoreSummary::damage`](crate::StoreSummary::damage); the loaders refuse a store that is damaged as a whole. No
/// message contains key bytes, a password, or the path of the file, which the caller knows.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file is empty. For MySQL's file keyrings that means "no keys".
    #[error("the key store is empty")]
    Empty,
    /// Not a known kind of store.
    #[error(
        "not a supported keyring or key file; if it is an encrypted keyring of MySQL Enterprise, \
         migrate a copy of its keys to component_keyring_file and give that"
    )]
    NotRecognised,
    /// The file is larger than any key store.
    #[error("larger than {limit} bytes, not a key store")]
    TooLarge {
        /// The limit in bytes.
        limit: u64,
    },
    /// A known store without keys, or without keys of the wanted kind.
    #[error("{}", wrong_kind(*.kind))]
    WrongKind {
        /// Kind of the store.
        kind: StoreKind,
    },
    /// The end of the file, or its end mark, is missing.
    #[error("damaged: its end is missing; take another copy")]
    Truncated,
    /// The text is not JSON of the component's form.
    #[error("damaged: not in its format at line {line}, column {column}; take another copy")]
    NotJson {
        /// Line, from 1.
        line: u64,
        /// Column, from 1.
        column: u64,
    },
    /// The records are not contiguous.
    #[error("damaged: not in its format from byte {offset} on; take another copy")]
    Malformed {
        /// Offset of the first bad byte.
        offset: u64,
    },
    /// The SHA-256 at the end of the file does not match.
    #[error("damaged: its checksum does not match its keys; take another copy")]
    Checksum,
    /// An unsupported version of the format.
    #[error("a keyring of an unsupported version")]
    UnknownVersion,
    /// The text has no key, where a MariaDB key file was expected.
    #[error("no line is a key (number;hexadecimal), so this is not a key file of MariaDB")]
    NoKeyLine,
    /// A line of a MariaDB key file that is neither key nor comment.
    #[error(
        "line {line} of the key file is invalid ({}); the server refuses the whole file, too",
        invalid_line(*.reason)
    )]
    InvalidLine {
        /// Line, from 1.
        line: u64,
        /// What is wrong with it.
        reason: InvalidReason,
    },
    /// The MariaDB key file is encrypted, and no password was given.
    #[error("the key file is encrypted; give its password too (file_key_management_filekey)")]
    NeedsPassword,
    /// The decrypted content of a MariaDB key file is not text.
    #[error(
        "the password does not open the key file, or the file is damaged, or it uses more than {MAX_ROUNDS} rounds of \
         PBKDF2 and their number was not given"
    )]
    WrongPassword,
    /// The server would not accept the password.
    #[error("the password of the key file is longer than {limit} bytes")]
    PasswordTooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// The configuration does not name the keyring file.
    #[error("names no keyring file (\"path\")")]
    NoPath,
    /// The configuration refers to the data directory, whose path was not given.
    #[error("refers to the data directory; give that too, or {} from there", .wanted.display())]
    NeedsDatadir {
        /// The file that can be given instead.
        wanted: PathBuf,
    },
    /// The configuration in the data directory, to which the given one refers, cannot be used.
    #[error("refers to {}: {source}", .path.display())]
    LocalConfig {
        /// Path of the configuration in the data directory.
        path: PathBuf,
        /// Why it cannot be used.
        source: Box<Self>,
    },
    /// A manifest was given, where a component's configuration was expected.
    #[error(
        "only names the keyring component; give component_keyring_file.cnf from the server's plug-in or data \
         directory instead"
    )]
    ManifestNotConfig,
    /// The component stores its keys encrypted or on another host.
    #[error("keys of {component} cannot be read; migrate a copy of them to component_keyring_file and give that")]
    OtherComponent {
        /// Name of the component.
        component: String,
    },
    /// The file is not the configuration of a keyring component.
    #[error("not the configuration of a keyring component")]
    NotConfiguration,
    /// The configuration of a Vault does not suffice to fetch keys.
    #[error("the configuration of a Vault {what}")]
    VaultConfig {
        /// What is wrong with it.
        what: &'static str,
    },
    /// The configuration of a KMIP service does not suffice to fetch keys.
    #[error("the configuration of a KMIP service {what}")]
    KmipConfig {
        /// What is wrong with it.
        what: &'static str,
    },
    /// The configuration of AWS KMS does not suffice to decrypt keys.
    #[error("the configuration of AWS KMS {what}")]
    KmsConfig {
        /// What is wrong with it.
        what: &'static str,
    },
    /// The files with keys that AWS KMS has encrypted cannot be read.
    #[error("the wrapped keys in {}: {source}", .path.display())]
    WrappedKeys {
        /// The file or directory.
        path: PathBuf,
        /// Why it cannot be read.
        source: Box<Self>,
    },
    /// The directory has no files of MariaDB's plug-in for AWS KMS.
    #[error("{} has no files aws-kms-key.ID.VERSION", .directory.display())]
    NoWrappedKeys {
        /// The directory.
        directory: PathBuf,
    },
    /// The option file has the variables of two plug-ins, of which a server uses one.
    #[error("names both hashicorp_key_management and aws_key_management; give a copy of the file with one of them")]
    TwoServices,
    /// Keys were to be added that AWS KMS would have to encrypt.
    #[error("keys that AWS KMS encrypts can only be read")]
    KmsIsReadOnly,
    /// The KMIP service has no keys with names.
    #[error("the KMIP service has no keys with names{}", group_text(.group.as_deref()))]
    NoKeysInKmip {
        /// The object group that was asked for.
        group: Option<String>,
    },
    /// A keyring file has keys in clear beside keys that AWS KMS has encrypted.
    #[error("has keys in clear text beside keys that look as AWS KMS has encrypted them, which no server writes")]
    PartlyWrapped,
    /// A keyring file may be one whose keys AWS KMS has encrypted.
    #[error(
        "each of its secrets looks as AWS KMS has encrypted it, and none is a key of a server, so its kind is not known"
    )]
    MaybeWrapped,
    /// The file of keys that AWS KMS should have encrypted has keys in clear.
    #[error("its keys are in clear text, not encrypted by any KMS{}", list(names))]
    NotWrapped {
        /// Names of these keys.
        names: Vec<String>,
    },
    /// The configuration of a MySQL keyring in a service was given as MariaDB's keys.
    #[error("the configuration of a keyring of MySQL in a service; give it as the keyring")]
    OfMySql,
    /// The option file of a MariaDB with its keys in a service was given as MySQL's keyring.
    #[error("the option file of a MariaDB whose keys are in a service; give it as MariaDB's key file")]
    OfMariaDb,
    /// A copy of the keys would lack some.
    #[error("{entries} of its keys cannot be used, so a copy of them would not be complete{}", list(names))]
    Incomplete {
        /// Number of these keys.
        entries: usize,
        /// Their names, as far as they have one.
        names: Vec<String>,
    },
    /// A copy of the keys would have only one of several under the same name.
    #[error("has different keys of the same name, of which a copy would keep one{}", list(names))]
    SeveralKeys {
        /// These names.
        names: Vec<String>,
    },
    /// Keys were to be added to a KMIP service.
    #[error("keys can only be read from a KMIP service")]
    KmipIsReadOnly,
    /// The key service cannot be used.
    #[error(transparent)]
    Service(#[from] keyservice::Error),
    /// The service does not permit listing the keys.
    #[error("{0}")]
    MayNotList(keyservice::Error),
    /// The directory in the Vault has no keys of a server.
    #[error("the Vault has no keys of a server at {}", .path.escape_debug())]
    NoKeysInVault {
        /// The path in the Vault.
        path: String,
    },
    /// A key was listed, but no longer existed when it was fetched.
    #[error("the Vault lists {}, but does not have it", .name.escape_debug())]
    Vanished {
        /// The key, as messages name it.
        name: String,
    },
    /// The newest version of a MariaDB key was deleted or destroyed.
    #[error("{key}, and it is the newest version, which a server uses")]
    NewestWithdrawn {
        /// The version, and why it no longer exists.
        key: String,
    },
    /// The Vault would remove a version of a MariaDB key if it took a new one.
    #[error("the Vault keeps {limit} versions of key {id}, so a new one would remove version {version}")]
    VersionWouldBeLost {
        /// Number of the key.
        id: u32,
        /// The oldest version.
        version: u32,
        /// How many the Vault keeps.
        limit: u32,
    },
    /// The Vault may remove a version of a MariaDB key if it takes a new one.
    #[error("a new version of key {id} may remove version {version}: the token may not ask how many the Vault keeps")]
    VersionMayBeLost {
        /// Number of the key.
        id: u32,
        /// The oldest version.
        version: u32,
    },
    /// The name of a key cannot be the name of a secret.
    #[error("key {} cannot be stored in a Vault: its name in base64 has a slash", .name.escape_debug())]
    NotForVault {
        /// Name of the key.
        name: String,
    },
    /// A key was to be added, but another one has its name.
    #[error("has another key of the name {}", .name.escape_debug())]
    OtherKey {
        /// Name of the key.
        name: String,
    },
    /// The file does not exist.
    #[error("does not exist")]
    NotFound,
    /// The system denies permission.
    #[error("no permission to read it; run as a user who has it, such as the server's")]
    NotPermitted,
    /// Neither a regular file nor an open descriptor.
    #[error("{found}, not a file; copy its content into a file and give that")]
    NotAFile {
        /// What the path leads to.
        found: &'static str,
    },
    /// The configuration makes the keyring read-only.
    #[error("is configured to be read-only, so no key can be added")]
    ReadOnly,
    /// Every user of the host can read the keyring.
    #[error("can be read or written by every user of this host, so no key is added")]
    ReadableByOthers,
    /// The target is missing or empty, but has the name of a configuration, which may have been forgotten.
    #[error("has the name of a configuration, but does not exist or is empty")]
    NamedLikeConfiguration,
    /// The keyring has the plug-in's format although the server loads components, or it is damaged.
    #[error(
        "is a keyring of the older plug-in, to which keys for this server cannot be added; migrate it to \
         component_keyring_file"
    )]
    CannotAdd,
    /// The keyring has the component's format, but MySQL 5.7 loads the plug-in.
    #[error(
        "is a keyring of component_keyring_file, which MySQL 5.7 does not load; give that of its plug-in keyring_file, \
         or the name of a new file"
    )]
    NotForPlugin,
    /// A server was interrupted while it wrote the keyring.
    #[error("has a .backup beside it, which the server will put in its place; start and stop the server first")]
    Backup,
    /// A symbolic link whose target does not exist.
    #[error("is a link to a file that does not exist; is the disk of that file mounted?")]
    LinkToNothing,
    /// The keyring could not be written.
    #[error("cannot be written: {0}")]
    CannotWrite(io::Error),
    /// The system could not read the file.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// No memory for keys could be allocated.
    #[error("no memory for keys: {0}")]
    Memory(io::Error),
    /// The cipher library failed.
    #[error("the cipher library refused a key")]
    Cipher,
}

impl Error {
    /// The error for a file that is not JSON of the expected form.
    pub(crate) fn not_json(error: &serde_json::Error) -> Self {
        if error.is_eof() {
            return Self::Truncated;
        }
        let from_1 = |number| u64::try_from(number).unwrap_or(u64::MAX);
        Self::NotJson { line: from_1(error.line()), column: from_1(error.column()) }
    }

    /// Whether the wrong file was given, or what it needs is not there or not permitted, so that the error says nothing
    /// about a copy of keys. Otherwise, the copy is damaged.
    #[must_use]
    pub const fn is_mistake(&self) -> bool {
        match self {
            Self::WrongKind { .. }
            | Self::NeedsPassword
            | Self::PasswordTooLong { .. }
            | Self::VaultConfig { .. }
            | Self::KmipConfig { .. }
            | Self::KmsConfig { .. }
            | Self::TwoServices
            | Self::OfMySql
            | Self::OfMariaDb
            | Self::MaybeWrapped
            | Self::NotWrapped { .. }
            | Self::WrappedKeys { .. }
            | Self::NoWrappedKeys { .. }
            | Self::NoKeysInKmip { .. }
            | Self::Service(_)
            | Self::MayNotList(_)
            | Self::NoKeysInVault { .. }
            | Self::Vanished { .. }
            | Self::NotFound
            | Self::NotPermitted
            | Self::NotAFile { .. }
            | Self::Io(_)
            | Self::Memory(_) => true,
            Self::Empty
            | Self::NotRecognised
            | Self::TooLarge { .. }
            | Self::Truncated
            | Self::NotJson { .. }
            | Self::Malformed { .. }
            | Self::Checksum
            | Self::UnknownVersion
            | Self::NoKeyLine
            | Self::InvalidLine { .. }
            | Self::WrongPassword
            | Self::NoPath
            | Self::NeedsDatadir { .. }
            | Self::LocalConfig { .. }
            | Self::ManifestNotConfig
            | Self::OtherComponent { .. }
            | Self::NotConfiguration
            | Self::KmsIsReadOnly
            | Self::PartlyWrapped
            | Self::Incomplete { .. }
            | Self::SeveralKeys { .. }
            | Self::KmipIsReadOnly
            | Self::NewestWithdrawn { .. }
            | Self::VersionWouldBeLost { .. }
            | Self::VersionMayBeLost { .. }
            | Self::NotForVault { .. }
            | Self::OtherKey { .. }
            | Self::ReadOnly
            | Self::ReadableByOthers
            | Self::NamedLikeConfiguration
            | Self::CannotAdd
            | Self::NotForPlugin
            | Self::Backup
            | Self::LinkToNothing
            | Self::CannotWrite(_)
            | Self::Cipher => false,
        }
    }

    /// The next step for the user, if the message does not say it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Service(error) => error.hint(),
            Self::MayNotList(_) => Some(
                "the policy of the token needs `list` for metadata/, or the file `sealant_key_ids = 1,2` in a group \
                 [sealant]",
            ),
            Self::NoKeysInKmip { .. } => Some("check object_group, and which client the service lets read the keys"),
            Self::Incomplete { .. } => Some(
                "give an undamaged copy; in a service they are damaged, wrapped by another key, or not in raw form: remove \
                 them there if no server needs them",
            ),
            Self::SeveralKeys { .. } => Some(
                "remove those that the server does not use: `sealant verify` with a copy that has only one of them shows \
                 which that is",
            ),
            Self::KmipIsReadOnly => Some("register them with the server's own mysql_migrate_keyring"),
            Self::KmsIsReadOnly => Some(
                "let the server make them: mysql_migrate_keyring, or on MariaDB SET GLOBAL aws_key_management_rotate_key",
            ),
            Self::PartlyWrapped => Some("find out who changed it, and take an undamaged copy"),
            Self::MaybeWrapped => Some(
                "give the configuration that names it instead: component_keyring_file.cnf, or component_keyring_kms.cnf if the \
                 server loads that component",
            ),
            Self::NotWrapped { .. } => {
                Some("if the server uses this file, give the file itself as the keyring; nothing was sent to KMS")
            }
            Self::NoWrappedKeys { .. } => {
                Some("name the data directory with sealant_key_directory in a group [sealant]")
            }
            Self::WrappedKeys { source, .. } => source.hint(),
            Self::NoKeysInVault { .. } => Some("check the path, and the namespace"),
            Self::Vanished { .. } => Some("try again"),
            Self::NewestWithdrawn { .. } => Some("restore it first (`vault kv undelete`)"),
            Self::VersionWouldBeLost { .. } => {
                Some("raise it first: `vault kv metadata put -max-versions=N` with the path of the key's secret")
            }
            Self::VersionMayBeLost { .. } => {
                Some("let its policy `read` the path of the key with metadata/ instead of data/, and MOUNT/config")
            }
            Self::ReadableByOthers => Some("`chmod 0640` it, or 0600"),
            Self::NamedLikeConfiguration => {
                Some("write the configuration first, or give the name of a keyring file another ending")
            }
            _ => None,
        }
    }
}

/// Names after a message, such as `: a, b`.
fn list(names: &[String]) -> String {
    let names: Vec<String> = names.iter().map(|name| name.escape_debug().to_string()).collect();
    if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) }
}

fn group_text(group: Option<&str>) -> String {
    group.map_or_else(String::new, |group| format!(" in the object group {}", group.escape_debug()))
}

/// The kind of store that was given instead of the expected one, and what to give instead.
const fn wrong_kind(kind: StoreKind) -> &'static str {
    match kind {
        StoreKind::ComponentFile | StoreKind::PluginFileV1 | StoreKind::PluginFileV2 => {
            "a keyring of MySQL; give it as the keyring"
        }
        StoreKind::ComponentConfig => {
            "the configuration of a keyring component, which holds no keys; give it as the keyring's configuration"
        }
        StoreKind::Manifest => {
            "the manifest mysqld.my, which holds no keys; give component_keyring_file.cnf as the keyring's \
             configuration"
        }
        StoreKind::MariaDbPlain | StoreKind::OpensslSalted => "a key file of MariaDB; give it as MariaDB's key file",
        StoreKind::AwsPlugin => {
            "keys of the keyring_aws plug-in are wrapped by AWS KMS; migrate a copy of them to a keyring file and give \
             that"
        }
        StoreKind::VaultConfig => {
            "the configuration of a Vault, where the keys are; migrate a copy of them to a keyring file and give that"
        }
        StoreKind::KmipConfig => {
            "the configuration of a KMIP service, where the keys are; migrate a copy of them to a keyring file and give \
             that"
        }
        StoreKind::KmsConfig => {
            "the configuration of keys that AWS KMS has encrypted; migrate a copy of them to a keyring file and give that"
        }
        StoreKind::KmsWrappedFile => {
            "keys that AWS KMS has encrypted; give component_keyring_kms.cnf, which names this file"
        }
        StoreKind::CfpExportKey => {
            "the transfer key of one exported table (.cfp), which opens the tablespace file exported with it and no \
             other"
        }
    }
}

const fn invalid_line(reason: InvalidReason) -> &'static str {
    match reason {
        InvalidReason::Id => "it does not begin with the number of a key and a semicolon",
        InvalidReason::Type => "it names no type",
        InvalidReason::Data => "what follows the semicolon is not hexadecimal",
        InvalidReason::Length => "the key has not 128, 192 or 256 bits",
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Self::NotFound,
            ErrorKind::PermissionDenied => Self::NotPermitted,
            _ => Self::Io(error),
        }
    }
}
