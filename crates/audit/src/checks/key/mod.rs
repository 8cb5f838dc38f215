//! Keys: whether they exist, where they are, who can read them, how old they are.

mod wrapped_files;

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use innodb::file_suffix;
use keyring::{KeyName, StoreKind, StoreSummary};
use server::Capability;
use server::dialect::key_store::{
    self, COMPONENT_QUERY, Component as LoadedComponent, KEY_FILE_VARIABLES, PLUGIN_QUERY, named_file, plugin_type,
};

use crate::access;
use crate::check::Context;
use crate::facts::files::{Content, FileFact};
use crate::facts::host::Role;
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::Evidence;
use wrapped_files::{Wrapped, wrapped};

checks! {
    CHECKS:
    not_loaded,
    cannot_open,
    local_file,
    file_clear,
    file_perms,
    same_disk,
    filekey_colocated,
    in_backup,
    backup_missing,
    master_age,
    wrap_lag,
    foreign_uuid,
    version_static,
    rotation_pending,
    binlog_age,
    retired_needed_by_backup,
    stale_backup_file,
    vault_weak,
    sql_crypto_ecb,
}

/// The key store that the server uses.
#[derive(Debug, Clone, Copy)]
struct Keyring<'a> {
    /// `component_keyring_file`, `keyring_file`, `file_key_management`, …
    name: &'a str,
    /// Whether it is active; a component can be loaded but `Disabled`.
    active: bool,
    /// Status according to the server.
    status: &'a str,
    /// Name of the query that it is from.
    source: &'static str,
}

impl Keyring<'_> {
    /// Whether its keys are in a file of this host.
    fn is_local_file(&self) -> bool {
        key_store::keeps_keys_on_host(self.name)
    }

    /// Whether it is the password-protected file of MySQL Enterprise.
    fn is_password_protected(&self) -> bool {
        key_store::is_password_protected(self.name)
    }

    fn evidence(&self, sql: &SqlFacts) -> Evidence {
        sql.evidence(self.source, format!("{}: {}", self.name, self.status))
    }
}

/// The key store that the server has loaded; `None` if there is none.
///
/// # Errors
/// [`Unavailable`] if the queries that would name one were refused.
fn keyring(sql: &SqlFacts) -> Observed<Option<Keyring<'_>>> {
    if let Some(component) = component(sql) {
        let (name, status) = (component.name, component.status);
        return Ok(Some(Keyring { name, active: component.is_active(), status, source: COMPONENT_QUERY }));
    }
    let kind = plugin_type(sql.identity.version.flavor);
    let plugins = sql.active_plugins()?;
    if let Some(plugin) = plugins.iter().find(|plugin| plugin.kind.eq_ignore_ascii_case(kind)) {
        return Ok(Some(Keyring { name: plugin.name, active: true, status: "ACTIVE", source: PLUGIN_QUERY }));
    }
    if plugins.is_empty() {
        return Err(Unavailable {
            what: "plug-ins".to_owned(),
            why: "the server listed none, but every server has some".to_owned(),
            remedy: sql.grant("SELECT ON performance_schema.*"),
        });
    }
    // Components exist since 8.0.24; then the plug-ins alone prove nothing.
    if sql.can(Capability::KeyringComponents) {
        sql.rows(COMPONENT_QUERY)?;
    }
    Ok(None)
}

/// The keyring component that is loaded.
fn component(sql: &SqlFacts) -> Option<LoadedComponent<'_>> {
    LoadedComponent::from_pairs(&sql.component_status())
}

/// Whether this version supports encryption.
pub(super) fn can_encrypt(sql: &SqlFacts) -> bool {
    sql.can(Capability::EncryptTables)
}

/// Absolute path of the key file according to the server, and the source.
fn key_path(sql: &SqlFacts) -> Option<(String, &'static str)> {
    if let Some(path) = component(sql).and_then(|component| component.data_file) {
        return Some((absolute(sql, path), COMPONENT_QUERY));
    }
    let with_keys = KEY_FILE_VARIABLES.iter().filter(|(_, holds)| holds.has_keys());
    with_keys.map(|(name, _)| *name).find_map(|name| {
        let path = named_file(name, sql.variable_or_none(name)?)?;
        Some((absolute(sql, path), name))
    })
}

/// Without `.` and `..`, like the paths of files: `../keys` is not in the data directory.
fn absolute(sql: &SqlFacts, path: &str) -> String {
    let mut plain = PathBuf::new();
    for part in Path::new(&sql.identity.datadir).join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain.to_string_lossy().into_owned()
}

/// Evidence for [`key_path`].
fn path_evidence(sql: &SqlFacts, path: &str, source: &'static str) -> Evidence {
    if source == COMPONENT_QUERY {
        sql.evidence(source, format!("Data_file = {path}"))
    } else {
        sql.variable_evidence(source)
    }
}

/// Files with keys that are not part of a backup.
///
/// Everything that `openssl enc` writes begins with `Salted__`, so only the location makes it a key file.
fn live_stores<'a>(cx: &'a Context<'_>) -> impl Iterator<Item = (&'a FileFact, &'a StoreSummary)> {
    let known = cx.facts.sql.as_ref().and_then(key_path).map(|(path, _)| path);
    stores(cx).filter(move |(file, summary)| {
        let located = file.role == Role::Key || known.as_deref() == Some(file.path.as_str());
        file.role != Role::Backup
            && !file.base_name().ends_with(".backup")
            && (located || !matches!(summary.kind, StoreKind::OpensslSalted))
    })
}

/// All files with keys.
fn stores<'a>(cx: &'a Context<'_>) -> impl Iterator<Item = (&'a FileFact, &'a StoreSummary)> {
    let files = cx.facts.files.iter().flat_map(|files| &files.files);
    files.filter_map(|file| match &file.content {
        Content::KeyStore { summary } if holds_keys(summary) => Some((file, summary)),
        _ => None,
    })
}

/// Whether it has keys: a damaged store may have some that could not be counted.
fn is_filled(summary: &StoreSummary) -> bool {
    !summary.entries.is_empty() || !summary.readable_without_password || !summary.damage.is_empty()
}

const fn holds_keys(summary: &StoreSummary) -> bool {
    use StoreKind::{AwsPlugin, ComponentFile, MariaDbPlain, OpensslSalted, PluginFileV1, PluginFileV2};
    matches!(summary.kind, ComponentFile | PluginFileV1 | PluginFileV2 | MariaDbPlain | OpensslSalted | AwsPlugin)
}

/// Description of a kind of key file.
const fn kind_text(kind: StoreKind) -> &'static str {
    match kind {
        StoreKind::ComponentFile => "JSON keyring with clear keys",
        StoreKind::PluginFileV1 | StoreKind::PluginFileV2 => "keyring_file keyring, obfuscated with a public constant",
        StoreKind::MariaDbPlain => "key file with clear keys",
        StoreKind::OpensslSalted => "key file encrypted with a password",
        StoreKind::AwsPlugin => "file of keyring_aws",
        _ => "key store",
    }
}

/// The key file as evidence: its kind and its number of keys, never a key.
fn store_evidence(file: &FileFact, summary: &StoreSummary) -> Evidence {
    Evidence::Bytes {
        path: file.path.clone(),
        offset: 0,
        hex: String::new(),
        meaning: format!("{}, {} keys", kind_text(summary.kind), summary.entries.len()),
    }
}

/// Newest master key of each server UUID, in the key files or the running keyring.
fn newest_master_keys(cx: &Context<'_>) -> BTreeMap<String, u32> {
    let mut newest = BTreeMap::new();
    for name in known_keys(cx) {
        if let KeyName::InnodbMaster { owner, number } = name {
            let known = newest.entry(owner.to_ascii_lowercase()).or_insert(number);
            *known = number.max(*known);
        }
    }
    newest
}

/// All key names in the key files and in `performance_schema.keyring_keys`.
fn known_keys(cx: &Context<'_>) -> Vec<KeyName> {
    let in_files = live_stores(cx).flat_map(|(_, summary)| summary.entries.iter().map(|entry| entry.name.clone()));
    let rows = cx.facts.sql.as_ref().and_then(|sql| sql.rows("keyring_keys").ok()).unwrap_or_default();
    let in_memory = rows.iter().map(|row| KeyName::parse(row.text("key_id")));
    in_files.chain(in_memory).collect()
}

/// The result if no file with a wrapped key was found: not applicable, or why this is not certain.
fn nothing_wrapped(cx: &Context<'_>) -> Observed<crate::check::CheckResults> {
    use crate::check::CheckResults;
    if is_mariadb(cx) {
        return Ok(CheckResults::not_applicable("MariaDB has no InnoDB master key"));
    }
    let files = cx.facts.files()?;
    let unread = |file: &&FileFact| {
        let mute = matches!(file.content, Content::UnidentifiedTablespace { .. } | Content::Unreadable { .. });
        mute && file.role != Role::Backup && file_suffix::has(&file.name, file_suffix::TABLESPACE)
    };
    if let Some(file) = files.files.iter().find(unread) {
        return Err(Unavailable {
            what: format!("page 0 of {}", file.path),
            why: "it was not written yet, or could not be read, and no other tablespace is wrapped".to_owned(),
            remedy: access::AS_SERVER_USER.to_owned(),
        });
    }
    if files.data_seen() {
        return Ok(CheckResults::not_applicable("no tablespace is wrapped by a master key"));
    }
    Err(Unavailable {
        what: "page 0 of the tablespaces".to_owned(),
        why: "the data directory could not be read".to_owned(),
        remedy: access::reading_data(),
    })
}

/// Whether the server or the files are MariaDB's.
fn is_mariadb(cx: &Context<'_>) -> bool {
    cx.facts.sql.as_ref().map_or_else(|| cx.artefacts.written_by_mariadb() == Some(true), SqlFacts::is_mariadb)
}

#[cfg(test)]
pub(super) mod tests {
    use innodb::Lsn;
    use innodb::MasterKeyId;
    use innodb::redo::RedoKey;
    use innodb::tablespace::{Encryption, MySqlMagic};
    use keyring::inspect;

    use super::*;
    use crate::testing::{FactsBuilder, tablespace_with};

    /// Server uuid of the tests.
    pub(in crate::checks) const UUID: &str = "95b2f013-e4cd-11f1-8c02-02fc00000001";

    /// A JSON keyring with these InnoDB master keys, each of 32 zero bytes.
    pub(in crate::checks) fn json(numbers: &[u32]) -> Content {
        let element = |n: &u32| {
            let data = "00".repeat(32);
            format!(
                r#"{{"user":"","data_id":"INNODBKey-{UUID}-{n}","data_type":"AES","data":"{data}","extension":[]}}"#
            )
        };
        let elements = numbers.iter().map(element).collect::<Vec<_>>().join(",");
        let text = format!(r#"{{"version":"1.0","elements":[{elements}]}}"#);
        Content::KeyStore { summary: inspect(text.as_bytes()).unwrap() }
    }

    /// A file of an encrypted redo log whose key is wrapped by this master key, and its newest checkpoint.
    pub(in crate::checks) fn redo(number: u32, checkpoint: u64) -> Content {
        let Content::Redo { mut scan } = crate::testing::redo(10, 0) else { panic!("a redo log") };
        scan.checkpoint_lsn = Some(Lsn(checkpoint));
        let (magic, master_key_id) = (MySqlMagic::V3, MasterKeyId(number));
        scan.key = Some(RedoKey::MySql { magic, master_key_id, server_uuid: Some(UUID.to_owned()) });
        Content::Redo { scan }
    }

    /// A tablespace of MySQL wrapped by this master key.
    pub(in crate::checks) fn space(number: u32, uuid: &str) -> Content {
        tablespace_with("encrypted", 10, 0, |scan| {
            scan.page0.encryption = Encryption::MySql {
                magic: MySqlMagic::V3,
                master_key_id: MasterKeyId(number),
                server_uuid: Some(uuid.to_owned()),
                flag_set: true,
            };
        })
    }

    /// MariaDB's key file, unencrypted.
    pub(in crate::checks) fn mariadb_keys() -> Content {
        let text = format!("1;{}\n2;{}\n", "0a".repeat(32), "0b".repeat(32));
        Content::KeyStore { summary: inspect(text.as_bytes()).unwrap() }
    }

    /// Makes the server name an active file component.
    pub(in crate::checks) fn with_component(made: FactsBuilder, status: &str, path: &str) -> FactsBuilder {
        let rows: &[&[&str]] =
            &[&["Component_name", "component_keyring_file"], &["Component_status", status], &["Data_file", path]];
        with_plugins(made, &[]).answer("keyring_status", &["key", "value"], rows)
    }

    #[test]
    fn keys_that_kms_has_encrypted_are_not_on_this_host() {
        let element = |data: &str| {
            format!(r#"{{"user":"","data_id":"INNODBKey-{UUID}-1","data_type":"AES","data":"{data}","extension":[]}}"#)
        };
        // Hexadecimal of a text of base64.
        let text = format!(r#"{{"version":"1.0","elements":[{}]}}"#, element(&"41".repeat(248)));
        let summary = inspect(text.as_bytes()).unwrap();
        assert!(!holds_keys(&summary) && !summary.readable_without_password);
        let Content::KeyStore { summary } = json(&[1]) else { panic!("a keyring") };
        assert!(holds_keys(&summary));
        let path = |name: &str| {
            let rows: &[&[&str]] =
                &[&["Component_name", name], &["Component_status", "Active"], &["Data_file", "/keys"]];
            let made = crate::testing::mysql().answer("keyring_status", &["key", "value"], rows);
            key_path(made.0.sql.as_ref().unwrap()).map(|(path, _)| path)
        };
        assert_eq!(path("component_keyring_file").as_deref(), Some("/keys"));
        assert_eq!(path("component_keyring_kms"), None);
    }

    /// Makes the server list its plug-ins, InnoDB among them.
    pub(in crate::checks) fn with_plugins(made: FactsBuilder, plugins: &[[&str; 2]]) -> FactsBuilder {
        let mut rows = vec![vec!["InnoDB", "ACTIVE", "STORAGE ENGINE", ""]];
        rows.extend(plugins.iter().map(|[name, kind]| vec![*name, "ACTIVE", *kind, ""]));
        let rows: Vec<&[&str]> = rows.iter().map(Vec::as_slice).collect();
        made.answer("plugins", &["name", "status", "type", "library"], &rows)
    }
}
