//! Facts about files, from their bytes.

use std::path::Path;

use archive::KeyCheckRecord;
use innodb::aria::{AriaScan, AriaTable};
use innodb::binlog::BinlogHead;
use innodb::binlog_scan::EventScan;
use innodb::doublewrite::DoublewriteScan;
use innodb::galera::CacheScan;
use innodb::redo::RedoScan;
use innodb::tablespace::TablespaceScan;
use keyring::StoreSummary;
use pki::Certificate;
use serde::{Deserialize, Serialize};

use super::backup::{BackupReceipt, BucketRecord, RecordedRestore};
use super::host::Role;
use super::proof::Proof;

/// Files below the data directory, and wherever else variables point.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct FileFacts {
    /// Directories that were read.
    pub roots: Vec<Root>,
    /// The files, sorted by path.
    pub files: Vec<FileFact>,
    /// The roots and the directories below them.
    #[serde(default)]
    pub directories: Vec<DirectoryFact>,
    /// Unlinked files that the server has open.
    pub unlinked: Vec<UnlinkedFile>,
    /// Why the unlinked files could not be read; `None` if they were.
    pub unlinked_unseen: Option<String>,
    /// UUID in the data directory's `auto.cnf`.
    pub server_uuid: Option<String>,
    /// Total number of bytes read.
    pub bytes_read: u64,
    /// Tests of key files on page 0 of tablespaces.
    #[serde(default)]
    pub key_proofs: Vec<KeyProof>,
    /// Result of opening every page with the key stores that were found; `None` without `--deep`.
    #[serde(default)]
    pub proof: Option<Proof>,
    /// Result of opening files with the copies of the key stores; `None` without copies.
    #[serde(default)]
    pub copy_proof: Option<Proof>,
}

/// Whether the key that page 0 names opens it: the unwrapped tablespace key matches its checksum.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyProof {
    /// Absolute path of the tablespace's file.
    pub path: String,
    /// Name of the master key, `INNODBKey-<uuid>-<number>`.
    pub key: String,
    /// The key file that was tested.
    pub store: String,
    /// Whether it opens; `None` if it could not be tested.
    pub opens: Option<bool>,
    /// Why it could not be tested.
    pub why: Option<String>,
}

/// A directory that was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// Absolute path.
    pub path: String,
    /// Its role.
    pub role: Role,
    /// The variable or option that names it.
    pub via: String,
    /// Why it could not be read; `None` if it was.
    pub error: Option<String>,
    /// Whether the path does not exist.
    #[serde(default)]
    pub missing: bool,
}

/// Permissions of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DirectoryFact {
    /// Absolute path.
    pub path: String,
    /// Role of its root.
    pub role: Role,
    /// Permission bits.
    pub mode: u32,
    /// User id of the owner.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

/// Facts about a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FileFact {
    /// Absolute path.
    pub path: String,
    /// Path below its root: the artefact's name in findings.
    pub name: String,
    /// Role of its root.
    pub role: Role,
    /// Length in bytes.
    pub size_bytes: u64,
    /// Permission bits.
    pub mode: u32,
    /// User id of the owner.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Modification time, seconds since 1970.
    pub modified: i64,
    /// Its content.
    pub content: Content,
}

/// Content of a file, by its bytes; the name counts only where they are ambiguous.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Content {
    /// An InnoDB tablespace.
    Tablespace {
        /// Counts of its pages.
        scan: Box<TablespaceScan>,
    },
    /// Named or placed like a tablespace, but not recognised: empty, zeroed, truncated, foreign.
    UnidentifiedTablespace {
        /// The reason.
        why: String,
        /// Whether the server has created the file but not written its first page yet; then the server's report counts.
        #[serde(default)]
        unwritten: bool,
    },
    /// A redo log file.
    Redo {
        /// Counts of its blocks.
        scan: Box<RedoScan>,
    },
    /// A doublewrite file.
    Doublewrite {
        /// Counts of its slots.
        scan: Box<DoublewriteScan>,
    },
    /// A binary or relay log.
    BinaryLog {
        /// Its encryption and key.
        log: BinlogHead,
        /// Events of a clear log that matter to an audit; `None` if they were not read.
        #[serde(default)]
        events: Option<EventScan>,
    },
    /// Data file of an Aria table.
    AriaData {
        /// Counts of its pages.
        scan: AriaScan,
    },
    /// Index file of an Aria table.
    AriaIndex {
        /// Its header.
        table: AriaTable,
    },
    /// An Aria log, which no server encrypts.
    AriaLog,
    /// Table file of an engine that cannot encrypt.
    PlainTable {
        /// `MyISAM`, `CSV`, `ARCHIVE`, `MyRocks`, …
        engine: String,
    },
    /// Only structure: `.frm`, `.MYI`, `.sdi`, `.opt`, index files, `auto.cnf`, pid files.
    Structure,
    /// A keyring, a key file, or the configuration of one.
    KeyStore {
        /// Its content, without keys.
        summary: StoreSummary,
    },
    /// The clear key that `FLUSH TABLES … FOR EXPORT` writes next to a table.
    ExportKey,
    /// A PEM private key.
    PrivateKey {
        /// Whether it is protected by a passphrase.
        encrypted: bool,
    },
    /// Identities that decrypt age files.
    AgeIdentity {
        /// Fingerprints of their recipients, as receipts of backups name them.
        recipients: Vec<String>,
    },
    /// PEM certificates.
    Certificates {
        /// The certificates.
        certificates: Vec<Certificate>,
    },
    /// `master.info` or `relay-log.info` of MariaDB and old MySQL.
    ReplicaState {
        /// Whether it has a password.
        password: bool,
    },
    /// A clear-text log: general, slow, error, audit.
    TextLog {
        /// `general`, `slow`, `error`, `audit`, `unknown`.
        log: String,
    },
    /// Galera's cache of write-sets.
    GaleraCache {
        /// Its encryption.
        cache: CacheScan,
    },
    /// A dump, backup or archive.
    Backup {
        /// Its kind, and whether it is readable.
        backup: BackupFile,
    },
    /// The receipt of a backup, in a repository of `sealant backup`.
    BackupReceipt {
        /// Facts about the backup, from the receipt.
        receipt: Box<BackupReceipt>,
    },
    /// What a host that makes backups in a bucket has recorded about it.
    BucketRecord {
        /// The record.
        record: BucketRecord,
    },
    /// Records of tests of keyring copies, as `sealant backup keyring check --record` writes them.
    KeyCheckRecords {
        /// The tests, oldest first.
        checks: Vec<KeyCheckRecord>,
    },
    /// Records of restores, as `sealant restore --record` writes them.
    RestoreRecords {
        /// The restores, oldest first.
        restores: Vec<RecordedRestore>,
    },
    /// An ELF core dump.
    CoreDump,
    /// `mysqld-auto.cnf`.
    PersistedVariables {
        /// Names of variables with sensitive clear values.
        sensitive: Vec<String>,
        /// Names of all persisted variables.
        names: Vec<String>,
    },
    /// A symbolic link, not followed.
    Link {
        /// Its target.
        target: String,
    },
    /// A pipe, socket or device.
    Special,
    /// Empty.
    Empty,
    /// Unknown.
    Unknown {
        /// Whether its bytes look random; `None` if it is too short.
        looks_random: Option<bool>,
    },
    /// Could not be read.
    Unreadable {
        /// The reason.
        why: String,
    },
}

/// Kind of a dump or backup file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupFile {
    /// Layers from outside in, then the content: `gzip`, `tar`, `sql`, `xbstream`, `innodb`, `age`, …
    pub layers: Vec<String>,
    /// Whether rows or pages can be read without a key; `None` if unknown.
    pub readable: Option<bool>,
    /// Whether it contains a keyring or key file.
    pub holds_keys: bool,
}

/// An unlinked file that the server has open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnlinkedFile {
    /// `/proc/PID/fd/N`.
    pub path: String,
    /// Its former name.
    pub name: String,
    /// Length in bytes.
    pub size_bytes: u64,
    /// Whether the sampled bytes look like cipher text; `None` if there are too few.
    pub looks_random: Option<bool>,
    /// Offset of a clear sample.
    pub clear_offset: Option<u64>,
    /// Number of sampled bytes.
    pub sampled_bytes: u64,
    /// Device of its directory, as `major:minor`.
    pub device: String,
}

impl FileFacts {
    /// The file at an absolute path.
    #[must_use]
    pub fn at(&self, path: &str) -> Option<&FileFact> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether a key was tried on the tablespace at an absolute path and opens it.
    #[must_use]
    pub fn is_opened(&self, path: &str) -> bool {
        self.key_proofs.iter().any(|proof| proof.path == path && proof.opens == Some(true))
    }

    /// Whether the data directory itself was walked.
    #[must_use]
    pub fn data_seen(&self) -> bool {
        self.roots.iter().any(|root| root.role == Role::Data && root.error.is_none())
    }

    /// Data directories that could not be walked: files that were not found may be in them.
    pub fn unwalked_data(&self) -> impl Iterator<Item = &Root> {
        self.unseen_roots().filter(|root| matches!(root.role, Role::Data | Role::ExternalData) && !root.missing)
    }

    /// Roots that could not be walked.
    pub fn unseen_roots(&self) -> impl Iterator<Item = &Root> {
        self.roots.iter().filter(|root| root.error.is_some())
    }
}

impl Content {
    /// Whether it has pages, blocks or events that `verify` decrypts and checks.
    #[must_use]
    pub const fn has_pages(&self) -> bool {
        matches!(
            self,
            Self::Tablespace { .. }
                | Self::UnidentifiedTablespace { .. }
                | Self::Redo { .. }
                | Self::Doublewrite { .. }
                | Self::BinaryLog { .. }
                | Self::AriaData { .. }
                | Self::AriaIndex { .. }
        )
    }

    /// Whether it can only come from a database server or a backup of one. Other programs also use the names of
    /// structure files, such as `.cfg` and `.lock`, and compressed text can be anyone's.
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
                    | Self::AgeIdentity { .. }
                    | Self::Certificates { .. }
                    | Self::CoreDump
                    | Self::TextLog { .. }
            ),
        }
    }
}

impl BackupFile {
    /// Whether it contains server data, or is encrypted as a whole.
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
}
