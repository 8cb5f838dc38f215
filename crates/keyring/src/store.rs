//! Kinds of key stores, and their contents without key bytes.

use std::collections::BTreeSet;

use innodb::file_suffix;
use serde::{Deserialize, Serialize};

use crate::{
    component, component_file,
    config::{self, COMPONENT_MANIFEST, COMPONENTS, CONFIG_ENDING, ComponentConfig, Manifest},
    error::Error,
    key_id::{KeyName, MasterKeys, master_keys},
    mariadb_file,
    openssl_enc::OPENSSL_MAGIC,
    plugin_file,
    vault::{self, VaultConfig},
    vault_settings,
};

/// Larger files are not key stores: MariaDB's limit is 1 MiB, and 16 MiB hold more than 50,000 keys in MySQL's formats.
pub const MAX_STORE_BYTES: u64 = 16 << 20;

/// The kinds of key stores and of the files that configure them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StoreKind {
    /// `component_keyring_file`: JSON, keys in clear hexadecimal.
    ComponentFile,
    /// `component_keyring_*.cnf`: location of the component's keys.
    ComponentConfig,
    /// `mysqld.my`: the components that the server loads.
    Manifest,
    /// `keyring_file` plug-in, version 1.0: obfuscated with a public constant.
    PluginFileV1,
    /// `keyring_file` plug-in, version 2.0: like 1.0, with a SHA-256 at the end.
    PluginFileV2,
    /// MariaDB `file_key_management`: lines `id;hex`.
    #[serde(rename = "mariadb-plain")]
    MariaDbPlain,
    /// Written by `openssl enc` with a password, as MariaDB uses it; content unknown.
    OpensslSalted,
    /// `keyring_aws` plug-in: wrapped keys or key ids.
    AwsPlugin,
    /// Address and credentials of a HashiCorp Vault.
    VaultConfig,
    /// `<table>.cfp`: transfer key of an exported table; opens the table without a keyring.
    CfpExportKey,
}

/// A key, without its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyEntry {
    /// Name; in MariaDB's files the key id.
    pub id: String,
    /// The parsed name.
    pub name: KeyName,
    /// Owner; empty for the server's own keys.
    pub user: String,
    /// Stored type (`AES`); empty in MariaDB's files.
    pub key_type: String,
    /// Length of the key in bytes; `None` if it cannot be determined.
    pub key_bytes: Option<u64>,
}

/// Damage to a recognised store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Damage {
    /// The end of the file is missing.
    Truncated,
    /// The format is violated from this position on.
    Malformed {
        /// Byte offset; in text formats the line, from 1.
        at: u64,
    },
    /// A key that cannot be used.
    InvalidElement {
        /// Number of the key, from 0; in MariaDB's files the line, from 1.
        index: u64,
        /// Why it cannot be used.
        reason: InvalidReason,
    },
    /// Two keys have the same name and owner.
    Duplicate {
        /// Name that both keys have.
        id: String,
    },
    /// The SHA-256 at the end does not match.
    Checksum,
    /// The version is not supported.
    UnknownVersion,
    /// MariaDB's key 1, which the server needs, is missing.
    NoSystemKey,
}

/// Why a key cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InvalidReason {
    /// The name is missing or malformed.
    Id,
    /// The type is missing.
    Type,
    /// The key bytes are missing, or not hexadecimal.
    Data,
    /// The length is not valid for this type of key.
    Length,
}

/// Contents of a key store, without key bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreSummary {
    /// Kind of the store.
    pub kind: StoreKind,
    /// Whether the file alone gives access to what it protects: keys in clear or only obfuscated, an inline Vault
    /// token, a transfer key.
    pub readable_without_password: bool,
    /// The keys, in the order of the file.
    pub entries: Vec<KeyEntry>,
    /// InnoDB master keys by server.
    pub master_keys: Vec<MasterKeys>,
    /// Names of the binary log's master keys.
    pub replication_keys: Vec<String>,
    /// Plug-in file version 2.0: whether its SHA-256 matches.
    pub checksum_ok: Option<bool>,
    /// Damage that was found.
    pub damage: Vec<Damage>,
    /// Content of a [`StoreKind::ComponentConfig`].
    pub config: Option<ComponentConfig>,
    /// Content of a [`StoreKind::Manifest`].
    pub manifest: Option<Manifest>,
    /// Content of a [`StoreKind::VaultConfig`].
    pub vault: Option<VaultConfig>,
}

impl StoreSummary {
    pub(crate) const fn new(kind: StoreKind, readable_without_password: bool) -> Self {
        Self {
            kind,
            readable_without_password,
            entries: Vec::new(),
            master_keys: Vec::new(),
            replication_keys: Vec::new(),
            checksum_ok: None,
            damage: Vec::new(),
            config: None,
            manifest: None,
            vault: None,
        }
    }

    /// Whether the store has InnoDB master key `number` of server `owner`.
    #[must_use]
    pub fn has_master_key(&self, owner: &str, number: u32) -> bool {
        self.master_keys.iter().any(|keys| keys.owner.eq_ignore_ascii_case(owner) && keys.numbers.contains(&number))
    }

    /// Fills in the fields that derive from the entries.
    fn complete(mut self) -> Self {
        self.master_keys = master_keys(self.entries.iter().map(|entry| entry.id.as_str()));
        self.replication_keys = self
            .entries
            .iter()
            .filter(|entry| matches!(entry.name, KeyName::Replication { .. }))
            .map(|entry| entry.id.clone())
            .collect();
        let mut seen = BTreeSet::new();
        for entry in &self.entries {
            if !seen.insert((&entry.id, &entry.user)) {
                self.damage.push(Damage::Duplicate { id: entry.id.clone() });
            }
        }
        self
    }
}

impl KeyEntry {
    /// What is wrong with a key of a MySQL keyring. AES keys have 16, 24 or 32 bytes, InnoDB's master keys 32.
    pub(crate) fn judge(&self) -> Option<InvalidReason> {
        let master = matches!(self.name, KeyName::InnodbMaster { .. } | KeyName::Replication { .. });
        if self.id.is_empty() {
            Some(InvalidReason::Id)
        } else if self.key_type.is_empty() {
            Some(InvalidReason::Type)
        } else {
            match self.key_bytes {
                None | Some(0) => Some(InvalidReason::Data),
                Some(32) => None,
                Some(_) if master => Some(InvalidReason::Length),
                Some(16 | 24) => None,
                Some(_) if self.key_type == "AES" => Some(InvalidReason::Length),
                Some(_) => None,
            }
        }
    }
}

/// Recognises a file by its first bytes (4 KiB suffice), its name and its length; `None` if it is not a key store. The
/// name counts only where the content is ambiguous.
#[must_use]
pub fn recognise(head: &[u8], name: &str, file_bytes: u64) -> Option<StoreKind> {
    if file_bytes > MAX_STORE_BYTES {
        return None;
    }
    by_content(head, file_bytes).or_else(|| match name {
        COMPONENT_MANIFEST => Some(StoreKind::Manifest),
        _ if name.starts_with(COMPONENTS) && name.ends_with(CONFIG_ENDING) => Some(StoreKind::ComponentConfig),
        component::NAME => Some(StoreKind::ComponentFile),
        _ if file_suffix::has(name, file_suffix::EXPORT_KEY) => Some(StoreKind::CfpExportKey),
        _ => None,
    })
}

/// Summarises a key store.
///
/// # Errors
/// [`Error::Empty`], [`Error::NotRecognised`], [`Error::TooLarge`].
pub fn inspect(bytes: &[u8]) -> Result<StoreSummary, Error> {
    let kind = kind_of(bytes)?;
    let summary = match kind {
        StoreKind::ComponentFile => component_file::inspect(bytes),
        StoreKind::PluginFileV1 | StoreKind::PluginFileV2 => plugin_file::inspect(bytes, kind),
        StoreKind::MariaDbPlain => mariadb_file::inspect(bytes),
        StoreKind::ComponentConfig => config::inspect_component(bytes),
        StoreKind::Manifest => config::inspect_manifest(bytes),
        StoreKind::VaultConfig => vault::inspect(bytes),
        StoreKind::OpensslSalted | StoreKind::AwsPlugin => StoreSummary::new(kind, false),
        StoreKind::CfpExportKey => StoreSummary::new(kind, true),
    };
    Ok(summary.complete())
}

/// The kind of a key store.
///
/// # Errors
/// [`Error::Empty`], [`Error::NotRecognised`], [`Error::TooLarge`].
pub(crate) fn kind_of(bytes: &[u8]) -> Result<StoreKind, Error> {
    let file_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if bytes.is_empty() {
        return Err(Error::Empty);
    }
    if file_bytes > MAX_STORE_BYTES {
        return Err(Error::TooLarge { limit: MAX_STORE_BYTES });
    }
    by_content(bytes, file_bytes).ok_or(Error::NotRecognised)
}

fn by_content(bytes: &[u8], file_bytes: u64) -> Option<StoreKind> {
    if file_bytes == 100 && bytes.starts_with(&[0, 0, 0, 32]) {
        return Some(StoreKind::CfpExportKey);
    }
    let magics: [(&[u8], StoreKind); 4] = [
        (b"Keyring file version:1.0", StoreKind::PluginFileV1),
        (b"Keyring file version:2.0", StoreKind::PluginFileV2),
        (b"Keyring aws version:", StoreKind::AwsPlugin),
        (OPENSSL_MAGIC, StoreKind::OpensslSalted),
    ];
    if let Some((_, kind)) = magics.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Some(*kind);
    }
    if bytes.trim_ascii_start().starts_with(b"{") {
        return json_kind(bytes);
    }
    if vault_settings::is_key_value(bytes) {
        return Some(StoreKind::VaultConfig);
    }
    mariadb_file::is_key_file(bytes).then_some(StoreKind::MariaDbPlain)
}

/// Looks for the fields that servers write. The text may be cut off, so it is not parsed.
fn json_kind(bytes: &[u8]) -> Option<StoreKind> {
    let fields = [
        ("\"data_id\"", StoreKind::ComponentFile),
        ("\"elements\"", StoreKind::ComponentFile),
        ("\"read_local_manifest\"", StoreKind::Manifest),
        ("\"components\"", StoreKind::Manifest),
        ("\"vault_url\"", StoreKind::VaultConfig),
        ("\"secret_mount_point\"", StoreKind::VaultConfig),
        ("\"read_local_config\"", StoreKind::ComponentConfig),
        ("\"read_only\"", StoreKind::ComponentConfig),
    ];
    fields.iter().find(|(field, _)| contains(bytes, field.as_bytes())).map(|(_, kind)| *kind)
}

pub(crate) fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
