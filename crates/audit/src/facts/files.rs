//! What the files hold, told from their bytes.

use std::path::Path;

use innodb::aria::{AriaScan, AriaTable};
use innodb::binlog::{BinlogHead, EventScan};
use innodb::doublewrite::DoublewriteScan;
use innodb::galera::CacheScan;
use innodb::redo::RedoScan;
use innodb::tablespace::TablespaceScan;
use keyring::StoreSummary;
use serde::{Deserialize, Serialize};
use server::certificate::Certificate;

use super::host::Role;
use super::proof::Proof;

/// Every file below the data directory and wherever else variables point.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FileFacts {
    /// The directories that were walked.
    pub roots: Vec<Root>,
    /// The files, sorted by path.
    pub files: Vec<FileFact>,
    /// The roots and the directories below them.
    #[serde(default)]
    pub directories: Vec<DirectoryFact>,
    /// Files that the server holds open although they have no name any more.
    pub unlinked: Vec<UnlinkedFile>,
    /// Why the server's unlinked files could not be looked at; none if they were.
    pub unlinked_unseen: Option<String>,
    /// `auto.cnf`'s server uuid in the data directory.
    pub server_uuid: Option<String>,
    /// Bytes read in all.
    pub bytes_read: u64,
    /// Trials of the key file on page 0 of tablespaces.
    #[serde(default)]
    pub key_proofs: Vec<KeyProof>,
    /// What every page proved when opened with the key stores that were found; none without `--deep`.
    #[serde(default)]
    pub proof: Option<Proof>,
    /// The same with the copies of the key stores that the operator named; none without.
    #[serde(default)]
    pub copy_proof: Option<Proof>,
}

/// Whether the key that page 0 names opens it: the unwrapped tablespace key matches its checksum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyProof {
    /// The tablespace's file, absolute.
    pub path: String,
    /// Name of the master key, `INNODBKey-<uuid>-<number>`.
    pub key: String,
    /// The key file that was tried.
    pub store: String,
    /// Whether it opens; none if it could not be tried.
    pub opens: Option<bool>,
    /// Why it could not be tried.
    pub why: Option<String>,
}

/// A directory that was walked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// Absolute path.
    pub path: String,
    /// What the server keeps there.
    pub role: Role,
    /// The variable or option that points there.
    pub via: String,
    /// Why it could not be walked; none if it was.
    pub error: Option<String>,
    /// Whether there is nothing at that path.
    #[serde(default)]
    pub missing: bool,
}

/// A directory and who may enter it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryFact {
    /// Absolute path.
    pub path: String,
    /// What its root is for.
    pub role: Role,
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

/// One file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FileFact {
    /// Absolute path.
    pub path: String,
    /// Path below its root, which findings use as the artefact's name.
    pub name: String,
    /// What its root is for.
    pub role: Role,
    /// Length in bytes.
    pub size_bytes: u64,
    /// Permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Last change, seconds since 1970.
    pub modified: i64,
    /// What the bytes are.
    pub content: Content,
}

/// What the bytes of a file are; told by content, with the name as a hint where bytes are mute.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Content {
    /// An InnoDB tablespace.
    Tablespace {
        /// Its pages, counted.
        scan: Box<TablespaceScan>,
    },
    /// Named or placed like a tablespace, and not to be told: empty, all zero, cut, foreign.
    UnidentifiedTablespace {
        /// Why.
        why: String,
        /// Whether its first page is one that a server has made and not written yet, in which case
        /// the server knows more than the file.
        #[serde(default)]
        unwritten: bool,
    },
    /// A redo log file.
    Redo {
        /// Its blocks, counted.
        scan: Box<RedoScan>,
    },
    /// A doublewrite file.
    Doublewrite {
        /// Its slots, counted.
        scan: Box<DoublewriteScan>,
    },
    /// A binary or relay log.
    BinaryLog {
        /// Encrypted or not, and by which key.
        log: BinlogHead,
        /// Events of a clear log that matter to an audit; none if they were not read.
        #[serde(default)]
        events: Option<EventScan>,
    },
    /// Rows of an Aria table.
    AriaData {
        /// Its pages, counted.
        scan: AriaScan,
    },
    /// Header and index of an Aria table.
    AriaIndex {
        /// Its header.
        table: AriaTable,
    },
    /// An Aria log, which no server encrypts.
    AriaLog,
    /// Rows of a table in an engine that cannot encrypt.
    PlainTable {
        /// `MyISAM`, `CSV`, `ARCHIVE`, `MyRocks`, …
        engine: String,
    },
    /// Structure only: `.frm`, `.MYI`, `.sdi`, `.opt`, index files, `auto.cnf`, pid files.
    Structure,
    /// A keyring, a key file, or the configuration of one.
    KeyStore {
        /// What it holds, without any key.
        summary: StoreSummary,
    },
    /// The clear key that `FLUSH TABLES … FOR EXPORT` leaves beside a table.
    ExportKey,
    /// A PEM private key.
    PrivateKey {
        /// Whether a passphrase protects it.
        encrypted: bool,
    },
    /// PEM certificates.
    Certificates {
        /// Each, parsed.
        certificates: Vec<Certificate>,
    },
    /// `master.info` or `relay-log.info` of MariaDB and old MySQL.
    ReplicaState {
        /// Whether it holds a password.
        password: bool,
    },
    /// A log in clear text: general, slow, error, audit.
    TextLog {
        /// `general`, `slow`, `error`, `audit`, `unknown`.
        log: String,
    },
    /// Galera's cache of write-sets.
    GaleraCache {
        /// Encrypted or not.
        cache: CacheScan,
    },
    /// A dump, backup or archive.
    Backup {
        /// What it is and whether its content is readable.
        backup: BackupFile,
    },
    /// An ELF core dump.
    CoreDump,
    /// `mysqld-auto.cnf`.
    PersistedVariables {
        /// Names of variables whose clear value is sensitive.
        sensitive: Vec<String>,
        /// All persisted names.
        names: Vec<String>,
    },
    /// A symbolic link, not followed.
    Link {
        /// Where it leads.
        target: String,
    },
    /// A pipe, socket or device.
    Special,
    /// No byte in it.
    Empty,
    /// Nothing that we know; whether it looks like cipher text.
    Unknown {
        /// Whether its bytes look random; none if too short to tell.
        looks_random: Option<bool>,
    },
    /// Could not be read.
    Unreadable {
        /// Why.
        why: String,
    },
}

/// What a dump or backup file is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupFile {
    /// Containers from outside in, then the content: `gzip`, `tar`, `sql`, `xbstream`, `innodb`, `age`, …
    pub layers: Vec<String>,
    /// Whether rows or pages can be read without a key; none if it cannot be told.
    pub readable: Option<bool>,
    /// Whether it contains a keyring or key file.
    pub holds_keys: bool,
}

/// A file without a name that the server still holds open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnlinkedFile {
    /// `/proc/PID/fd/N`.
    pub path: String,
    /// The name that it once had.
    pub name: String,
    /// Length in bytes.
    pub size_bytes: u64,
    /// Whether the sampled bytes look like cipher text; none if there are too few.
    pub looks_random: Option<bool>,
    /// Offset of a sample that is clear.
    pub clear_offset: Option<u64>,
    /// Bytes sampled.
    pub sampled_bytes: u64,
    /// What its directory lies on, as `major:minor`.
    pub device: String,
}

impl FileFacts {
    /// The file at an absolute path.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<&FileFact> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether the data directory itself was walked.
    #[must_use]
    pub fn data_seen(&self) -> bool {
        self.roots.iter().any(|root| root.role == Role::Data && root.error.is_none())
    }

    /// Directories of data that could not be walked: what is not among the files may lie there.
    pub fn unwalked_data(&self) -> impl Iterator<Item = &Root> {
        self.unseen_roots().filter(|root| matches!(root.role, Role::Data | Role::ExternalData) && !root.missing)
    }

    /// Roots that could not be walked.
    pub fn unseen_roots(&self) -> impl Iterator<Item = &Root> {
        self.roots.iter().filter(|root| root.error.is_some())
    }
}

impl Content {
    /// Whether it can only be a database server's, or a backup of one. Files of structure have names that others use
    /// too, `.cfg` and `.lock`, and compressed texts are anybody's.
    #[must_use]
    pub fn is_of_a_server(&self) -> bool {
        match self {
            Self::Backup { backup } => backup.is_of_a_server(),
            content => !matches!(
                content,
                Self::Unknown { .. }
                    | Self::Unreadable { .. }
                    | Self::Empty
                    | Self::Link { .. }
                    | Self::Special
                    | Self::Structure
                    | Self::PrivateKey { .. }
                    | Self::Certificates { .. }
                    | Self::CoreDump
                    | Self::TextLog { .. }
            ),
        }
    }
}

impl BackupFile {
    /// Whether something of a server was seen in it, or it is encrypted as a whole.
    fn is_of_a_server(&self) -> bool {
        let text = self.layers.last().is_none_or(|layer| layer == "text");
        self.holds_keys || self.readable == Some(false) || self.readable == Some(true) && !text
    }
}

impl FileFact {
    /// The last part of its name.
    #[must_use]
    pub fn base_name(&self) -> &str {
        Path::new(&self.name).file_name().and_then(|n| n.to_str()).unwrap_or(&self.name)
    }

    /// Whether others than its owner and group may read it.
    #[must_use]
    pub const fn world_readable(&self) -> bool {
        self.mode & 0o004 != 0
    }
}
