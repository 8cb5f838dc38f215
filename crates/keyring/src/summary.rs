//! Contents of key stores and of the files that configure them, without key bytes.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::key_id::{KeyName, MasterKeys, master_keys};

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
    /// `component_keyring_kmip.cnf`: address of a KMIP service, and the files with this client's certificate and key.
    KmipConfig,
    /// `component_keyring_kms.cnf`: path of keys that AWS KMS has encrypted, and credentials for it.
    KmsConfig,
    /// File of `component_keyring_kms`: keys that AWS KMS has encrypted, which it alone can decrypt.
    KmsWrappedFile,
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
    /// The name is missing or malformed, or the text of name, user or type is not UTF-8.
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
    pub(crate) fn complete(mut self) -> Self {
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

/// Content of a component's configuration, `component_keyring_*.cnf`.
///
/// Source: docs/formats, "Key stores", confirmed on MySQL 9.7.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentConfig {
    /// Path of the keyring file.
    pub path: Option<String>,
    /// Whether the server must not write the keyring.
    pub read_only: Option<bool>,
    /// Whether the effective configuration is in the data directory instead.
    pub read_local_config: bool,
}

/// Content of the manifest, `mysqld.my`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The components to load, e.g. `file://component_keyring_file`.
    pub components: Option<String>,
    /// Whether the effective manifest is in the data directory instead.
    pub read_local_manifest: bool,
}

/// The configuration, without its token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VaultConfig {
    /// Scheme, host and port of the Vault; no credentials, no path.
    pub address: Option<String>,
    /// Mount point of the keys in the Vault.
    pub mount_point: Option<String>,
    /// File with the certificate authority.
    pub ca_file: Option<String>,
    /// Whether the file contains a token.
    pub token_inline: bool,
    /// Weaknesses of the configuration.
    pub issues: Vec<VaultIssue>,
}

/// A weakness of a Vault configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VaultIssue {
    /// Keys and token are sent in clear text.
    PlainHttp,
    /// The Vault's certificate is checked only against the system's authorities, if at all.
    NoCa,
    /// Anyone who can read the file can fetch the keys.
    TokenInline,
    /// The address is missing.
    NoUrl,
}

impl Damage {
    /// Damage to a file in JSON, from the error of its parser.
    pub(crate) fn from_json(error: &serde_json::Error) -> Self {
        if error.is_eof() {
            Self::Truncated
        } else {
            Self::Malformed { at: u64::try_from(error.line()).unwrap_or(u64::MAX) }
        }
    }
}
