//! Where the keys of a MySQL server are: in a keyring file, a Vault, or a KMIP service. From each, all keys can be read;
//! to a file and a Vault, keys can be added, so that they can be moved.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use crate::{
    component_config::CONFIG_ENDING,
    config::keyring_path,
    error::Error,
    file::read_file,
    kmip_source::KmipSource,
    mysql::MysqlKeyring,
    service::{self, Owners},
    store::kind_of,
    stored_key::StoredKey,
    summary::StoreKind,
    vault_source::{self, VaultSource},
    writable::{LoadedBy, WritableKeyring},
};

/// A keyring file, or a directory of a Vault.
pub struct KeyLocation(Place);

enum Place {
    File(PathBuf),
    Vault { source: Box<VaultSource>, configuration: PathBuf },
    Kmip { source: Box<KmipSource>, configuration: PathBuf },
}

impl fmt::Debug for KeyLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for KeyLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::File(path) => write!(f, "{}", path.display()),
            Place::Vault { source, .. } => write!(f, "{} in the Vault {}", source.path, source.access.address),
            Place::Kmip { source, .. } => write!(f, "the KMIP service {}:{}", source.access.host, source.access.port),
        }
    }
}

impl KeyLocation {
    /// The location that a path names: a keyring file, which may not exist yet, or a configuration of a component or
    /// plug-in. `datadir` is as in [`keyring_path`].
    ///
    /// # Errors
    /// [`Error`].
    pub fn open(path: &Path, datadir: Option<&Path>) -> Result<Self, Error> {
        let bytes = match read_file(path) {
            Err(Error::NotFound) if !path.to_string_lossy().ends_with(CONFIG_ENDING) => {
                return Ok(Self(Place::File(path.to_owned())));
            }
            bytes => bytes?,
        };
        match kind_of(&bytes) {
            Ok(StoreKind::VaultConfig | StoreKind::KmipConfig) => Self::service(path, &bytes),
            Ok(StoreKind::ComponentFile | StoreKind::PluginFileV1 | StoreKind::PluginFileV2) | Err(Error::Empty) => {
                Ok(Self(Place::File(path.to_owned())))
            }
            Ok(StoreKind::ComponentConfig) | Err(Error::NotRecognised) => Self::configured(path, datadir),
            Ok(kind) => Err(Error::WrongKind { kind }),
            Err(error) => Err(error),
        }
    }

    /// The location that a component's configuration names.
    fn configured(path: &Path, datadir: Option<&Path>) -> Result<Self, Error> {
        let found = keyring_path(path, datadir)?;
        match read_file(&found) {
            Ok(bytes) if vault_source::is_mysql_service(&bytes) => Self::service(&found, &bytes),
            Ok(_) | Err(Error::NotFound) => Ok(Self(Place::File(found))),
            Err(error) => Err(error),
        }
    }

    /// The location that a configuration of a service names.
    fn service(configuration: &Path, bytes: &[u8]) -> Result<Self, Error> {
        let configuration = configuration.to_owned();
        Ok(Self(match kind_of(bytes)? {
            StoreKind::KmipConfig => Place::Kmip { source: Box::new(KmipSource::parse(bytes)?), configuration },
            _ => Place::Vault { source: Box::new(vault_source::percona(bytes)?), configuration },
        }))
    }

    /// Path of the keyring file, or of the configuration of the Vault: what the verbs that decrypt take as a keyring.
    #[must_use]
    pub fn path(&self) -> &Path {
        match &self.0 {
            Place::File(path) | Place::Vault { configuration: path, .. } | Place::Kmip { configuration: path, .. } => {
                path
            }
        }
    }

    /// Whether the keys are in a service.
    #[must_use]
    pub const fn is_service(&self) -> bool {
        !matches!(self.0, Place::File(_))
    }

    /// Whether both are the same file, or the same directory of the same Vault.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        match (&self.0, &other.0) {
            (Place::File(one), Place::File(other)) => real(one) == real(other),
            (Place::Vault { source: one, .. }, Place::Vault { source: other, .. }) => {
                let names = |source: &VaultSource| {
                    (source.access.address.clone(), source.access.namespace.clone(), source.path.clone())
                };
                names(one) == names(other)
            }
            (Place::Kmip { source: one, .. }, Place::Kmip { source: other, .. }) => {
                let names =
                    |source: &KmipSource| (source.access.host.clone(), source.access.port, source.group.clone());
                names(one) == names(other)
            }
            _ => false,
        }
    }

    /// All keys, of the server and of users.
    ///
    /// # Errors
    /// Those of [`MysqlKeyring::load`] and [`MysqlKeyring::open`]; [`Error::NotFound`].
    pub fn keys(&self) -> Result<MysqlKeyring, Error> {
        match &self.0 {
            Place::File(path) => MysqlKeyring::load(&read_file(path)?),
            Place::Vault { source, .. } => MysqlKeyring::from_vault(source, Owners::All),
            Place::Kmip { source, .. } => MysqlKeyring::from_kmip(source),
        }
    }

    /// As [`keys`](Self::keys); a file or directory that does not exist yet has none.
    ///
    /// # Errors
    /// Those of [`keys`](Self::keys).
    pub fn keys_so_far(&self) -> Result<MysqlKeyring, Error> {
        match self.keys() {
            Err(Error::NotFound | Error::NoKeysInVault { .. } | Error::NoKeysInKmip { .. }) => {
                Ok(MysqlKeyring::default())
            }
            keys => keys,
        }
    }

    /// Adds keys; replaces and removes none. To a file, all are added or none; to a Vault, one after the other, so that
    /// after an error some may be there. A new file gets the format that `new_file` reads.
    ///
    /// # Errors
    /// [`Error`].
    pub fn add(&self, keys: &[StoredKey], new_file: LoadedBy) -> Result<(), Error> {
        match &self.0 {
            Place::File(path) => WritableKeyring::open(path)?.add_all(keys, new_file),
            Place::Vault { source, .. } => service::add_mysql(source, keys),
            Place::Kmip { .. } => Err(Error::KmipIsReadOnly),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const ELEMENTS: &str = r#"{"version":"1.0","elements":[
        {"user":"","data_id":"INNODBKey-u-1","data_type":"AES","data":"0101010101010101010101010101010101010101010101010101010101010101","extension":[]},
        {"user":"me@%","data_id":"a \"b\"","data_type":"SECRET","data":"02030405","extension":[]}]}"#;

    #[test]
    fn all_keys_are_moved_between_the_formats_of_files() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| KeyLocation::open(&directory.path().join(name), None).unwrap();
        fs::write(directory.path().join("from"), ELEMENTS).unwrap();
        let (from, plugin, component) = (at("from"), at("plugin"), at("component"));
        let same = |one: &KeyLocation, other: &KeyLocation| {
            let (one, other) = (one.keys().unwrap().stored(), other.keys().unwrap().stored());
            one.len() == 2 && other.len() == 2 && one.iter().zip(&other).all(|(one, other)| one.is_same(other))
        };
        assert!(plugin.keys_so_far().unwrap().stored().is_empty());
        plugin.add(&from.keys().unwrap().stored(), LoadedBy::Plugin).unwrap();
        component.add(&plugin.keys().unwrap().stored(), LoadedBy::Component).unwrap();
        assert!(same(&from, &plugin) && same(&plugin, &component));
        assert!(fs::read(plugin.path()).unwrap().starts_with(b"Keyring file version:1.0"));
        // Once more: all are there.
        component.add(&from.keys().unwrap().stored(), LoadedBy::Component).unwrap();
        assert!(same(&from, &component));
        fs::write(directory.path().join("other"), ELEMENTS.replace("\"01", "\"77")).unwrap();
        let before = fs::read(component.path()).unwrap();
        let refused = component.add(&at("other").keys().unwrap().stored(), LoadedBy::Component);
        assert!(matches!(refused, Err(Error::OtherKey { name }) if name == "INNODBKey-u-1"));
        assert_eq!(fs::read(component.path()).unwrap(), before);
    }

    #[test]
    fn configurations_lead_to_the_location() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("component_keyring_file.cnf"), format!(r#"{{"path":{:?},"read_only":false}}"#, at("k"))).unwrap();
        let vault = r#"{"vault_url":"https://v:8200","secret_mount_point":"mysql/db1","token":"hvs.secret"}"#;
        fs::write(at("component_keyring_vault.cnf"), vault).unwrap();
        fs::write(at("vault.conf"), "vault_url = https://v:8200/\nsecret_mount_point = mysql/db1\ntoken = t\n")
            .unwrap();
        let open = |name: &str| KeyLocation::open(&at(name), None);
        assert!(open("component_keyring_file.cnf").unwrap().is_same(&open("k").unwrap()));
        let one = open("component_keyring_vault.cnf").unwrap();
        assert!(one.is_same(&open("vault.conf").unwrap()) && one.is_service());
        assert!(!one.is_same(&open("k").unwrap()) && !format!("{one:?} {one}").contains("hvs."));
        assert!(matches!(open("component_keyring_other.cnf"), Err(Error::NotFound)));
        fs::write(at("keys"), "1;3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n").unwrap();
        assert!(matches!(open("keys"), Err(Error::WrongKind { .. })));
    }
}
