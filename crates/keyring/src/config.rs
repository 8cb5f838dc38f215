//! Finds the keyring that the configuration of a component names, and rewrites such files for another keyring.

use std::path::{Path, PathBuf};

pub use server::dialect::key_store::KMS_COMPONENT;

use crate::{
    component,
    component_config::{
        COMPONENT_MANIFEST, COMPONENT_PREFIX, COMPONENTS, CONFIG_ENDING, inspect_component, inspect_manifest,
    },
    error::Error,
    file::read_file,
    mariadb_service::mariadb_service,
    store::recognise,
    summary::{ComponentConfig, StoreKind},
    vault_source::is_mysql_service,
};

/// The component whose keys can be fetched from a HashiCorp Vault.
pub const VAULT_COMPONENT: &str = "component_keyring_vault";
/// The component whose keys can be fetched from a KMIP service.
pub const KMIP_COMPONENT: &str = "component_keyring_kmip";
/// Components that read a configuration with their name.
pub const CONFIGURED_COMPONENTS: [&str; 5] =
    [component::NAME, "component_keyring_encrypted_file", VAULT_COMPONENT, KMIP_COMPONENT, KMS_COMPONENT];
/// File with the variables of `SET PERSIST`. Source: MySQL manual, "Persisted System Variables".
pub const PERSISTED_VARIABLES: &str = "mysqld-auto.cnf";
/// Prefix of the variables of keyring plug-ins, such as `keyring_file_data`.
const KEYRING_PREFIX: &str = "keyring_";

/// Finds the keyring that a component's configuration names, as the server does. For `component_keyring_file.cnf`,
/// returns the path of the keyring file, which is not opened. For a configuration of a service, returns the path of
/// that configuration. With `read_local_config`, the file of the same name in `datadir` is used. Relative
/// paths are relative to `datadir`.
///
/// Source: docs/formats, "Key stores"; confirmed on MySQL 9.7. From the server's source: it changes into its data
/// directory, and follows `read_local_config` once.
///
/// # Errors
/// Those of [`read_file`]; [`Error::OfMariaDb`], [`Error::ManifestNotConfig`], [`Error::OtherComponent`] and
/// [`Error::WrongKind`] for another file; [`Error::NeedsDatadir`] and [`Error::NoPath`] for
/// missing information.
pub fn keyring_path(config_path: &Path, datadir: Option<&Path>) -> Result<PathBuf, Error> {
    let name = Path::new(config_path.file_name().unwrap_or_default());
    let in_datadir = |wanted: &Path| match datadir {
        Some(datadir) => Ok(datadir.join(wanted)),
        None => Err(Error::NeedsDatadir { wanted: wanted.to_owned() }),
    };
    let bytes = read_file(config_path)?;
    if is_mysql_service(&bytes) {
        return Ok(config_path.to_owned());
    }
    if mariadb_service(&bytes)?.is_some() {
        return Err(Error::OfMariaDb);
    }
    let is_local = || inspect_component(&bytes).config.is_some_and(|config| config.read_local_config);
    if matches!(component(name), Some(VAULT_COMPONENT | KMIP_COMPONENT | KMS_COMPONENT)) && is_local() {
        return in_datadir(name);
    }
    let config = parse_config(config_path, &bytes)?;
    let found = if config.read_local_config {
        let path = in_datadir(name)?;
        let local = read_file(&path).and_then(|bytes| parse_config(&path, &bytes)).and_then(keyring_of);
        local.map_err(|source| Error::LocalConfig { path, source: Box::new(source) })
    } else {
        keyring_of(config)
    }?;
    if found.is_absolute() { Ok(found) } else { in_datadir(&found) }
}

/// A file in a data directory that determines which keyring the server opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyringConfigFile {
    /// The configuration of `component_keyring_file`.
    Configuration,
    /// The configuration of another keyring component.
    OtherConfiguration,
    /// The manifest, which names the components to load.
    Manifest,
    /// `mysqld-auto.cnf`: variables of `SET PERSIST`, among them `keyring_file_data` of a plug-in.
    Persisted,
}

impl KeyringConfigFile {
    /// Recognises a file by its name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name.strip_suffix(CONFIG_ENDING) {
            Some(component::NAME) => Some(Self::Configuration),
            Some(component) if component.starts_with(COMPONENTS) => Some(Self::OtherConfiguration),
            _ if name == PERSISTED_VARIABLES => Some(Self::Persisted),
            _ => (name == COMPONENT_MANIFEST).then_some(Self::Manifest),
        }
    }
}

/// The text of a manifest that loads this keyring component instead of others; `None` if `before` loads no other.
#[must_use]
pub fn manifest_of_component(component: &str, before: &[u8]) -> Option<String> {
    let components = inspect_manifest(before).manifest?.components?;
    let is_other =
        |name: &str| name.trim_start_matches(COMPONENT_PREFIX).starts_with(COMPONENTS) && !name.ends_with(component);
    let names = || components.split(',').map(str::trim);
    if !names().any(is_other) {
        return None;
    }
    let current = format!("{COMPONENT_PREFIX}{component}");
    let others = names().filter(|name| !is_other(name) && *name != current);
    let components = std::iter::once(current.as_str()).chain(others).collect::<Vec<_>>().join(",");
    Some(format!("{}\n", serde_json::json!({ "components": components })))
}

/// The text of a `mysqld-auto.cnf` without the variables of keyring plug-ins, which name the keyring of the server that
/// wrote the file. `None` if `before` has no such variables.
#[must_use]
pub fn persisted_without_keyrings(before: &[u8]) -> Option<String> {
    let mut value: serde_json::Value = serde_json::from_slice(before).ok()?;
    remove_keyring_variables(&mut value).then(|| value.to_string())
}

/// Removes the variables of keyring plug-ins; returns whether there were any. Searches all levels, because the
/// variables are in groups that differ between versions.
fn remove_keyring_variables(value: &mut serde_json::Value) -> bool {
    let Some(object) = value.as_object_mut() else { return false };
    let before = object.len();
    object.retain(|name, _| !name.to_ascii_lowercase().starts_with(KEYRING_PREFIX));
    let gone = object.len() < before;
    object.values_mut().fold(gone, |gone, below| remove_keyring_variables(below) || gone)
}

fn keyring_of(config: ComponentConfig) -> Result<PathBuf, Error> {
    config.path.filter(|path| !path.is_empty()).map(PathBuf::from).ok_or(Error::NoPath)
}

/// The component whose configuration has this name.
fn component(name: &Path) -> Option<&str> {
    name.to_str()?.strip_suffix(CONFIG_ENDING).filter(|name| name.starts_with(COMPONENTS))
}

fn parse_config(path: &Path, bytes: &[u8]) -> Result<ComponentConfig, Error> {
    let file_name = Path::new(path.file_name().unwrap_or_default());
    let name = file_name.to_string_lossy();
    let other = |name: &&str| ![component::NAME, VAULT_COMPONENT].contains(name);
    if let Some(component) = component(file_name).filter(other) {
        return Err(Error::OtherComponent { component: component.to_owned() });
    }
    let file_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    match recognise(bytes, &name, file_bytes) {
        Some(StoreKind::Manifest) => Err(manifest_error(bytes)),
        // A configuration with only a path has no distinctive field.
        None | Some(StoreKind::ComponentConfig) => inspect_component(bytes).config.ok_or(Error::NotConfiguration),
        Some(kind) => Err(Error::WrongKind { kind }),
    }
}

/// The error for a manifest; it may name a component whose keys cannot be read.
fn manifest_error(bytes: &[u8]) -> Error {
    let components = inspect_manifest(bytes).manifest.and_then(|manifest| manifest.components).unwrap_or_default();
    let mut names = components.split(',').map(|part| part.trim().trim_start_matches(COMPONENT_PREFIX));
    match names.find(|name| name.contains("keyring") && !name.ends_with(component::NAME)) {
        Some(component) => Error::OtherComponent { component: component.to_owned() },
        None => Error::ManifestNotConfig,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const CONFIG: &str = "component_keyring_file.cnf";

    #[test]
    fn the_keyring_is_found_as_the_server_finds_it() {
        let (plugins, datadir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (config, local) = (plugins.path().join(CONFIG), datadir.path().join(CONFIG));
        let found = |datadir| keyring_path(&config, datadir);
        fs::write(&config, r#"{"path":"/keys/k","read_only":false}"#).unwrap();
        assert_eq!(found(None).unwrap(), Path::new("/keys/k"));
        fs::write(&config, r#"{"path":"k"}"#).unwrap();
        assert_eq!(found(Some(datadir.path())).unwrap(), datadir.path().join("k"));
        assert!(matches!(found(None), Err(Error::NeedsDatadir { .. })));
        fs::write(&config, r#"{"read_local_config":true}"#).unwrap();
        assert!(matches!(found(None), Err(Error::NeedsDatadir { .. })));
        assert!(matches!(found(Some(datadir.path())), Err(Error::LocalConfig { path, source })
            if path == local && matches!(*source, Error::NotFound)));
        fs::write(&local, r#"{"path":"/local/k","read_only":true}"#).unwrap();
        assert_eq!(found(Some(datadir.path())).unwrap(), Path::new("/local/k"));
        let vault = plugins.path().join("component_keyring_vault.cnf");
        fs::write(&vault, r#"{"read_local_config":true}"#).unwrap();
        assert_eq!(
            keyring_path(&vault, Some(datadir.path())).unwrap(),
            datadir.path().join(vault.file_name().unwrap())
        );
        fs::write(&vault, r#"{"vault_url":"https://v","token":"t"}"#).unwrap();
        assert_eq!(keyring_path(&vault, None).unwrap(), vault);
        fs::write(&local, r#"{"read_local_config":true}"#).unwrap();
        assert!(matches!(found(Some(datadir.path())), Err(Error::LocalConfig { source, .. })
            if matches!(*source, Error::NoPath)));
    }

    #[test]
    fn configuration_files_are_recognised_and_rewritten_for_another_keyring() {
        for (name, names) in [
            (CONFIG, Some(KeyringConfigFile::Configuration)),
            ("component_keyring_kmip.cnf", Some(KeyringConfigFile::OtherConfiguration)),
            ("mysqld.my", Some(KeyringConfigFile::Manifest)),
            ("component_keyring_file", None),
            ("my.cnf", None),
        ] {
            assert_eq!(KeyringConfigFile::from_name(name), names, "{name}");
        }
        let directory = tempfile::tempdir().unwrap();
        let (config, keyring) = (directory.path().join(CONFIG), Path::new("/keys/\"of this\" host"));
        fs::write(&config, component::configuration(keyring, component::Access::ReadWrite).unwrap()).unwrap();
        assert_eq!(keyring_path(&config, None).unwrap(), keyring);
        let components = |before: &str| {
            let after = manifest_of_component(component::NAME, format!(r#"{{"components":"{before}"}}"#).as_bytes())?;
            inspect_manifest(after.as_bytes()).manifest?.components
        };
        let current = "file://component_keyring_file";
        assert_eq!(components(current), None);
        assert_eq!(components("file://component_keyring_kmip").as_deref(), Some(current));
        let others = "file://component_x, file://component_keyring_kmip,file://component_keyring_file";
        assert_eq!(components(others), Some(format!("{current},file://component_x")));
        assert_eq!(manifest_of_component(component::NAME, br#"{"read_local_manifest":true}"#), None);
        assert_eq!(manifest_of_component(component::NAME, b"{"), None);
        let vault = manifest_of_component(VAULT_COMPONENT, br#"{"components":"file://component_keyring_file"}"#);
        assert!(vault.is_some_and(|text| text.contains(r#""file://component_keyring_vault""#)));
    }

    #[test]
    fn persisted_variables_of_keyrings_are_removed() {
        assert_eq!(KeyringConfigFile::from_name("mysqld-auto.cnf"), Some(KeyringConfigFile::Persisted));
        let before = br#"{"Version":2,"mysql_dynamic_variables":{"max_connections":{"Value":"99"},
            "keyring_file_data":{"Value":"/the-donors"}},"mysql_static_variables":{"Keyring_vault_config":{}}}"#;
        let after = persisted_without_keyrings(before).unwrap();
        let expected =
            r#"{"Version":2,"mysql_dynamic_variables":{"max_connections":{"Value":"99"}},"mysql_static_variables":{}}"#;
        assert_eq!(after, expected);
        for none in [after.as_bytes(), b"{", b"[1]", b""] {
            assert_eq!(persisted_without_keyrings(none), None);
        }
    }

    #[test]
    fn other_files_are_refused_as_a_configuration() {
        let directory = tempfile::tempdir().unwrap();
        let given = |name: &str, text: &str| {
            let path = directory.path().join(name);
            fs::write(&path, text).unwrap();
            keyring_path(&path, None).unwrap_err()
        };
        let manifest = given("mysqld.my", r#"{"components":"file://component_keyring_file"}"#);
        assert!(matches!(&manifest, Error::ManifestNotConfig));
        assert!(manifest.to_string().contains(CONFIG), "{manifest}");
        let local = given("mysqld.my", r#"{"read_local_manifest":true}"#);
        assert!(matches!(local, Error::ManifestNotConfig));
        let other = given("mysqld.my", r#"{"components":"file://component_keyring_kmip"}"#);
        assert!(matches!(other, Error::OtherComponent { component } if component == "component_keyring_kmip"));
        let encrypted = given("component_keyring_encrypted_file.cnf", r#"{"path":"k","password":"x"}"#);
        assert!(matches!(encrypted, Error::OtherComponent { .. }));
        let keyring = given("x.cnf", r#"{"version":"1.0","elements":[]}"#);
        assert!(matches!(keyring, Error::WrongKind { kind: StoreKind::ComponentFile }));
        assert!(matches!(given("x.cnf", "[mysqld]\n"), Error::NotConfiguration));
        assert!(matches!(given("x.cnf", ""), Error::NotConfiguration));
        assert!(matches!(given(CONFIG, "{}"), Error::NoPath));
    }
}
