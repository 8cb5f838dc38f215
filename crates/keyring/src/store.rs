//! Recognises key stores; the module of each format summarises them.

use innodb::file_suffix;

use crate::{
    component,
    component_config::{self, COMPONENT_MANIFEST, COMPONENTS, CONFIG_ENDING},
    component_file::{self, Wrapping},
    error::Error,
    limits::MAX_STORE_BYTES,
    mariadb_file,
    openssl_enc::OPENSSL_MAGIC,
    plugin_file,
    summary::{StoreKind, StoreSummary},
    vault, vault_settings,
};

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
        StoreKind::ComponentConfig => component_config::inspect_component(bytes),
        StoreKind::Manifest => component_config::inspect_manifest(bytes),
        StoreKind::VaultConfig => vault::inspect(bytes),
        StoreKind::OpensslSalted
        | StoreKind::AwsPlugin
        | StoreKind::KmipConfig
        | StoreKind::KmsConfig
        | StoreKind::KmsWrappedFile => StoreSummary::new(kind, false),
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
        ("\"client_ca\"", StoreKind::KmipConfig),
        ("\"kms_key\"", StoreKind::KmsConfig),
        ("\"secret_access_key\"", StoreKind::KmsConfig),
        ("\"read_local_config\"", StoreKind::ComponentConfig),
        ("\"read_only\"", StoreKind::ComponentConfig),
    ];
    let kind = fields.iter().find(|(field, _)| contains(bytes, field.as_bytes())).map(|(_, kind)| *kind)?;
    let is_wrapped = kind == StoreKind::ComponentFile && component_file::wrapping(bytes) == Wrapping::All;
    Some(if is_wrapped { StoreKind::KmsWrappedFile } else { kind })
}

pub(crate) fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
