//! Facts about the host: devices below paths, the server's process, option files, swap.

use serde::{Deserialize, Serialize};

/// All facts about the host.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct HostFacts {
    /// Whether the host is a virtual machine: its disks may be encrypted outside of it.
    pub virtual_machine: bool,
    /// The device below each relevant path.
    pub paths: Vec<PathOnDisk>,
    /// Swap areas.
    pub swaps: Vec<Swap>,
    /// Why the swap areas could not be read; `None` if `swaps` lists all of them.
    #[serde(default)]
    pub swaps_unseen: Option<String>,
    /// The server's process.
    pub process: Option<Process>,
    /// `kernel.core_pattern`.
    pub core_pattern: Option<String>,
    /// Entries of the option files that the server and its clients read.
    pub options: Vec<OptionEntry>,
    /// Option files that exist and could not be read, with the reason.
    pub unreadable_options: Vec<(String, String)>,
    /// Passwords in clear text outside option files.
    pub secrets: Vec<SecretLocation>,
    /// Possible locations of credentials that could not be read, such as `/proc/7/environ`.
    #[serde(default)]
    pub secrets_unseen: Vec<String>,
    /// Names of other programs that run as the server's user; `None` if they could not be listed.
    #[serde(default)]
    pub same_user: Option<Vec<String>>,
    /// Entries of `/etc/crypttab`; `None` if it could not be read, empty if it does not exist.
    #[serde(default)]
    pub crypttab: Option<Vec<CrypttabEntry>>,
    /// Open LUKS volumes and the findings about their headers; `None` if they were not looked for.
    #[serde(default)]
    pub luks: Option<Vec<LuksDisk>>,
    /// Permissions of files that must be private, wherever variables point: keys, certificates, option files.
    pub modes: Vec<FileMode>,
    /// Whether `stunnel` is installed, which Galera's rsync transfer needs for TLS; `None` if it was not looked for.
    #[serde(default)]
    pub stunnel: Option<bool>,
}

/// Purpose of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// `datadir`.
    Data,
    /// `innodb_log_group_home_dir`.
    Redo,
    /// `innodb_undo_directory`.
    Undo,
    /// `innodb_doublewrite_dir`.
    Doublewrite,
    /// `tmpdir`, `innodb_tmpdir`, `slave_load_tmpdir`, `innodb_temp_tablespaces_dir`.
    Temporary,
    /// `log_bin_basename`.
    BinaryLog,
    /// `relay_log_basename`.
    RelayLog,
    /// General, slow, error and audit logs.
    Log,
    /// A keyring or key file.
    Key,
    /// A backup directory that the operator named, or `secure_file_priv`.
    Backup,
    /// A tablespace's file outside the data directory.
    ExternalData,
    /// A certificate or private key of a listener.
    Tls,
}

impl Role {
    /// Name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Data => "data directory",
            Self::Redo => "redo log directory",
            Self::Undo => "undo directory",
            Self::Doublewrite => "doublewrite directory",
            Self::Temporary => "temporary directory",
            Self::BinaryLog => "binary log directory",
            Self::RelayLog => "relay log directory",
            Self::Log => "log directory",
            Self::Key => "key store",
            Self::Backup => "backup directory",
            Self::ExternalData => "external data directory",
            Self::Tls => "TLS file",
        }
    }
}

/// A path and the layers below it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathOnDisk {
    /// Absolute path, in the server's view, like the files below it.
    pub path: String,
    /// The path with links resolved.
    #[serde(default)]
    pub resolved: String,
    /// Its purpose.
    pub role: Role,
    /// The variable or option that names it.
    pub via: String,
    /// Mount point of its file system.
    pub mount_point: String,
    /// File system type.
    pub fs_type: String,
    /// Device number as `major:minor`.
    pub device: String,
    /// Names of the block devices below the file system, such as `dm-0`, `nvme0n1p2`.
    pub chain: Vec<String>,
    /// Encryption by those layers.
    pub layer: DiskLayer,
}

/// How the disk below a path protects the data.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum DiskLayer {
    /// Encrypted by this layer: `dm-crypt CRYPT-LUKS2-…`, `zfs aes-256-gcm`, `fscrypt`, `ecryptfs`.
    Encrypted {
        /// The layer.
        by: String,
    },
    /// Not encrypted: every layer down to the hardware was examined.
    Plain,
    /// In memory only (tmpfs, ramfs). Swap is judged separately.
    Memory,
    /// Cannot be determined from this host.
    Unknown {
        /// The reason, for messages.
        why: String,
    },
}

/// An active swap area.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swap {
    /// Device or file.
    pub name: String,
    /// The layer below it; zram is [`DiskLayer::Memory`].
    pub layer: DiskLayer,
}

/// The server's process.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// Process id.
    pub pid: i32,
    /// How it was identified: `socket peer`, `listening socket`, `pid file`.
    pub found_by: String,
    /// Effective user id.
    pub uid: u32,
    /// Its command line, without values that look secret.
    pub command_line: Vec<String>,
    /// Soft limit of the core file size in bytes; `u64::MAX` for unlimited.
    pub core_limit: Option<u64>,
    /// Locked memory in KiB.
    pub locked_kib: Option<u64>,
    /// Swapped memory in KiB.
    pub swapped_kib: Option<u64>,
    /// Addresses it listens on, as `address:port`.
    pub listeners: Vec<String>,
    /// What could not be read about it, and why.
    pub unreadable: Vec<String>,
}

/// A line of `/etc/crypttab`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrypttabEntry {
    /// Name of the mapped device.
    pub name: String,
    /// The key file; `None` if the key is prompted for, random, or held by a token.
    pub key_file: Option<String>,
    /// The disk layer below the key file; `None` if there is no key file or it was not found.
    pub key_layer: Option<DiskLayer>,
}

/// An open LUKS volume.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LuksDisk {
    /// The kernel's name of the volume, such as `dm-0`.
    pub kernel_name: String,
    /// Its name in `/dev/mapper`.
    pub name: String,
    /// The device with its header.
    pub device: String,
    /// The findings about its header, as in `sealant luks audit`.
    pub findings: Vec<LuksFinding>,
    /// Why the header could not be read.
    pub unseen: Option<String>,
}

/// A finding of `sealant luks audit`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LuksFinding {
    /// Its code, such as `cipher-cbc`.
    pub code: String,
    /// Its severity: `info` to `critical`.
    pub severity: String,
    /// Location, and what to do.
    pub detail: String,
}

/// An entry of an option file. Secret values are never kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OptionEntry {
    /// The file.
    pub file: String,
    /// Its line, from 1.
    pub line: u32,
    /// The group, without brackets.
    pub group: String,
    /// The option with `_` for `-`, as in names of variables.
    pub key: String,
    /// Its value; `None` for a bare option, and for a secret.
    pub value: Option<String>,
    /// Whether the value was secret and omitted.
    pub secret: bool,
    /// Whether the running server reads this file. It does not read files for clients only, or files that
    /// `--no-defaults` or `--defaults-file` on its command line excludes.
    #[serde(default)]
    pub read_by_server: bool,
}

/// A location of a credential in clear text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretLocation {
    /// File, or `process PID (name)`.
    #[serde(rename = "place")]
    pub location: String,
    /// `password in option file`, `MYSQL_PWD in environment`, `password on command line`, `client history`, `login path
    /// (obfuscated only)`.
    pub kind: String,
    /// Permission bits of the file.
    pub mode: Option<u32>,
}

/// Permissions of a file that must be private.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileMode {
    /// Absolute path.
    pub path: String,
    /// `keyring`, `key file`, `key file password`, `tls key`, `ca key`, `certificate`, `ca certificate`, `option file`.
    pub what: String,
    /// The variable, option or rule that names it.
    pub via: String,
    /// Permission bits; `None` if the file does not exist or cannot be examined.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Whether an access control list grants more than the permission bits.
    pub acl: bool,
    /// Permission bits of its directory.
    pub directory_mode: Option<u32>,
    /// Why it could not be examined.
    pub error: Option<String>,
}

impl HostFacts {
    /// The layer below `path`: that of the longest known path that contains it.
    #[must_use]
    pub fn layer_of(&self, path: &str) -> Option<&DiskLayer> {
        let below = |known: &&PathOnDisk| std::path::Path::new(path).starts_with(&known.path);
        self.paths.iter().filter(below).max_by_key(|known| known.path.len()).map(|known| &known.layer)
    }

    /// The last value of `key` in any of `groups`; as in the server, the last file and line win.
    #[must_use]
    pub fn option(&self, groups: &[&str], key: &str) -> Option<&OptionEntry> {
        self.options.iter().rev().find(|entry| groups.contains(&entry.group.as_str()) && entry.key == key)
    }
}
