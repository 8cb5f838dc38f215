//! Where the keys of a MySQL server are: in a keyring file, a Vault, a KMIP service, or a file that AWS KMS decrypts. Keys
//! can be read from each of them, but added only to a keyring file or a Vault. Moving keys needs both.

use std::{
    ffi::OsString,
    fmt, fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use crate::{
    component_config::{CONFIG_ENDING, inspect_component},
    component_file::{self, Wrapping},
    config::keyring_path,
    error::Error,
    file::read_file,
    kmip_source::KmipSource,
    kms_source::{self, KmsSource},
    mysql::MysqlKeyring,
    service::{self, MysqlDirectory, Owners},
    store::kind_of,
    stored_key::StoredKey,
    summary::StoreKind,
    vault_source::{self, VaultSource},
    writable::{LoadedBy, WritableKeyring},
};

/// Ending of the name that Percona's documentation gives the plug-in's configuration.
const PLUGIN_CONFIG_ENDING: &str = ".conf";

/// A keyring file, a directory of a Vault, a KMIP service, or a file that AWS KMS decrypts.
pub struct KeyLocation(Place);

enum Place {
    File(PathBuf),
    Vault { source: Box<VaultSource>, configuration: PathBuf },
    Kmip { source: Box<KmipSource>, configuration: PathBuf },
    Kms { source: Box<KmsSource>, configuration: PathBuf },
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
            Place::Kms { source, .. } => write!(f, "{}, decrypted by AWS KMS", source.path.display()),
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
        // It is read several times, and a pipe can be read once.
        if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
            return Err(Error::NotAFile { found: "a pipe, device or directory" });
        }
        let bytes = match read_file(path) {
            Err(Error::NotFound) if !path.to_string_lossy().ends_with(CONFIG_ENDING) => {
                return Ok(Self(Place::File(path.to_owned())));
            }
            bytes => bytes?,
        };
        match kind_of(&bytes) {
            Ok(StoreKind::VaultConfig | StoreKind::KmipConfig | StoreKind::KmsConfig) => Self::service(path, &bytes),
            // Without its configuration, it may be a file of another component.
            Ok(StoreKind::ComponentFile) if component_file::wrapping(&bytes) == Wrapping::Unknown => {
                Err(Error::MaybeWrapped)
            }
            Ok(StoreKind::ComponentFile | StoreKind::PluginFileV1 | StoreKind::PluginFileV2) | Err(Error::Empty) => {
                Ok(Self(Place::File(path.to_owned())))
            }
            Ok(StoreKind::ComponentConfig) | Err(Error::NotRecognised) => Self::configured(path, datadir),
            Ok(kind) => Err(Error::WrongKind { kind }),
            Err(error) => Err(error),
        }
    }

    /// As [`open`](Self::open), for a location to which keys will be added.
    ///
    /// # Errors
    /// Those of [`open`](Self::open); [`Error::NamedLikeConfiguration`] for a missing or empty file that would become a
    /// keyring file by mistake; [`Error::ReadOnly`].
    pub fn open_target(path: &Path, datadir: Option<&Path>) -> Result<Self, Error> {
        let has_content = fs::metadata(path).is_ok_and(|found| found.len() > 0);
        let name = path.to_string_lossy();
        if !has_content && [CONFIG_ENDING, PLUGIN_CONFIG_ENDING].iter().any(|ending| name.ends_with(ending)) {
            return Err(Error::NamedLikeConfiguration);
        }
        let location = Self::open(path, datadir)?;
        if is_read_only(path, datadir) { Err(Error::ReadOnly) } else { Ok(location) }
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
            StoreKind::KmsConfig => Place::Kms { source: Box::new(kms_source::percona(bytes)?), configuration },
            _ => Place::Vault { source: Box::new(vault_source::percona(bytes)?), configuration },
        }))
    }

    /// Path of the keyring file, or of the service's configuration. Commands that decrypt accept this path as a
    /// keyring.
    #[must_use]
    pub fn path(&self) -> &Path {
        match &self.0 {
            Place::File(path)
            | Place::Vault { configuration: path, .. }
            | Place::Kmip { configuration: path, .. }
            | Place::Kms { configuration: path, .. } => path,
        }
    }

    /// Whether the keys are in a service.
    #[must_use]
    pub const fn is_service(&self) -> bool {
        !matches!(self.0, Place::File(_))
    }

    /// Whether the keys are in a file that does not exist yet, or is empty.
    #[must_use]
    pub fn is_new_file(&self) -> bool {
        matches!(&self.0, Place::File(path) if !fs::metadata(path).is_ok_and(|found| found.len() > 0))
    }

    /// Translates a path inside `root`, the root directory of another process, into a path of this process. Relative
    /// paths, paths that already begin with `root`, and services stay unchanged.
    #[must_use]
    pub fn below(self, root: &Path) -> Self {
        match self.0 {
            Place::File(path) if path.is_absolute() && !path.starts_with(root) => {
                Self(Place::File(root.join(path.strip_prefix("/").unwrap_or(&path))))
            }
            place => Self(place),
        }
    }

    /// Whether both are the same file, the same directory of the same Vault, or the same group of the same KMIP
    /// service, or the same file that AWS KMS decrypts.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Place::File(one), Place::File(other)) => is_same_file(one, other),
            (Place::Vault { source: one, .. }, Place::Vault { source: other, .. }) => vault_of(one) == vault_of(other),
            (Place::Kmip { source: one, .. }, Place::Kmip { source: other, .. }) => {
                let names =
                    |source: &KmipSource| (source.access.host.clone(), source.access.port, source.group.clone());
                names(one) == names(other)
            }
            (Place::Kms { source: one, .. }, Place::Kms { source: other, .. }) => is_same_file(&one.path, &other.path),
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
            Place::Vault { source, .. } => MysqlKeyring::from_vault(&MysqlDirectory::connect(source)?, Owners::All),
            Place::Kmip { source, .. } => MysqlKeyring::from_kmip(source),
            Place::Kms { source, .. } => MysqlKeyring::from_kms(source, Owners::All),
        }
    }

    /// As [`keys`](Self::keys), but a file that does not exist and a service without keys yield an empty keyring.
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

    /// Fails if [`add`](Self::add) could not add these keys. Changes nothing.
    ///
    /// # Errors
    /// As [`add`](Self::add); [`Error::ReadableByOthers`].
    pub fn can_add(&self, keys: &[StoredKey], new_file: LoadedBy) -> Result<(), Error> {
        /// Permission bits of users who are neither the owner nor in the group.
        const OTHERS: u32 = 0o007;
        match &self.0 {
            Place::File(path) if fs::metadata(path).is_ok_and(|found| found.mode() & OTHERS != 0) => {
                Err(Error::ReadableByOthers)
            }
            Place::File(path) => WritableKeyring::at_file(path)?.can_add_all(keys, new_file),
            Place::Vault { .. } => service::check_names(keys),
            Place::Kmip { .. } => Err(Error::KmipIsReadOnly),
            Place::Kms { .. } => Err(Error::KmsIsReadOnly),
        }
    }

    /// Adds keys; replaces and removes none. A file gets all keys or none. A Vault gets them one after the other, so
    /// some may have been added before an error. A new file gets the format that `new_file` reads.
    ///
    /// # Errors
    /// [`Error`].
    pub fn add(&self, keys: &[StoredKey], new_file: LoadedBy) -> Result<(), Error> {
        match &self.0 {
            Place::File(path) => WritableKeyring::at_file(path)?.add_all(keys, new_file),
            Place::Vault { source, .. } => {
                // Before the first write, so that no key is added if any of them cannot be.
                service::check_names(keys)?;
                let directory = MysqlDirectory::connect(source)?;
                keys.iter().try_for_each(|key| directory.add(key.as_new()))
            }
            Place::Kmip { .. } => Err(Error::KmipIsReadOnly),
            Place::Kms { .. } => Err(Error::KmsIsReadOnly),
        }
    }
}

/// Whether the keyring is read-only according to the effective configuration: the given one, or the one in the data
/// directory to which it refers.
fn is_read_only(path: &Path, datadir: Option<&Path>) -> bool {
    let config = |path: &Path| read_file(path).ok().and_then(|bytes| inspect_component(&bytes).config);
    let local = || config(&datadir?.join(path.file_name()?));
    let given = config(path).unwrap_or_default();
    let counts = if given.read_local_config { local().unwrap_or_default() } else { given };
    counts.read_only == Some(true)
}

/// Whether both paths lead to one file, also by links, mounts, or the root directory of another process. A file that
/// does not exist is known by its directory and name.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    let place = |path: &Path| -> Option<((u64, u64), OsString)> {
        Some((id(files::parent(path))?, path.file_name()?.to_owned()))
    };
    one == other || (id(one).is_some() && id(one) == id(other)) || (place(one).is_some() && place(one) == place(other))
}

/// Address, namespace and directory, as the Vault compares them.
fn vault_of(source: &VaultSource) -> (String, &str, &str) {
    // Only scheme, host and port, which have no case.
    let address = source.access.address.trim_end_matches('/').to_ascii_lowercase();
    let namespace = source.access.namespace.as_deref().unwrap_or_default();
    (address, namespace.trim_matches('/'), source.path.trim_matches('/'))
}

#[cfg(test)]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt};

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
        // Adding the same keys again changes nothing.
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
        for (address, mount) in [("https://V:8200", "mysql/db1/"), ("HTTPS://v:8200//", "/mysql/db1")] {
            let lines = format!("vault_url = {address}\nsecret_mount_point = {mount}\ntoken = t\n");
            fs::write(at("same.conf"), lines).unwrap();
            assert!(one.is_same(&open("same.conf").unwrap()), "{address} {mount}");
        }
        let other = "vault_url = https://v:8200\nsecret_mount_point = mysql/DB1\ntoken = t\n";
        fs::write(at("other.conf"), other).unwrap();
        assert!(!one.is_same(&open("other.conf").unwrap()));
        fs::write(at("keys"), "1;3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82\n").unwrap();
        assert!(matches!(open("keys"), Err(Error::WrongKind { .. })));
        assert!(matches!(open("."), Err(Error::NotAFile { .. })));
    }

    #[test]
    fn a_file_is_the_same_by_every_path() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| KeyLocation::open(&directory.path().join(name), None).unwrap();
        fs::create_dir(directory.path().join("real")).unwrap();
        std::os::unix::fs::symlink("real", directory.path().join("link")).unwrap();
        for _ in ["missing", "there"] {
            assert!(at("real/k").is_same(&at("link/k")) && at("real/k").is_same(&at("link/../real/./k")));
            assert!(!at("real/k").is_same(&at("k")) && !at("real/k").is_same(&at("link/other")));
            fs::write(directory.path().join("real/k"), ELEMENTS).unwrap();
        }
        let inside = KeyLocation(Place::File(PathBuf::from("/real/k")));
        assert!(inside.below(directory.path()).is_same(&at("link/k")));
    }

    #[test]
    fn impossible_targets_are_refused_before_a_key_is_added() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let target = |name: &str| KeyLocation::open_target(&at(name), None);
        for name in ["vault.conf", "component_keyring_file.cnf"] {
            assert!(matches!(target(name), Err(Error::NamedLikeConfiguration)), "{name}");
            fs::write(at(name), "").unwrap();
            assert!(matches!(target(name), Err(Error::NamedLikeConfiguration)), "{name}, empty");
        }
        let configuration = format!(r#"{{"path":{:?},"read_only":true}}"#, at("k"));
        fs::write(at("component_keyring_file.cnf"), configuration).unwrap();
        assert!(matches!(target("component_keyring_file.cnf"), Err(Error::ReadOnly)));
        assert!(target("k").unwrap().is_new_file());
        fs::write(at("from"), ELEMENTS.replace("INNODBKey-u-1", "123?")).unwrap();
        let keys = target("from").unwrap().keys().unwrap().stored();
        target("k").unwrap().can_add(&keys, LoadedBy::Component).unwrap();
        assert!(!at("k").exists());
        fs::write(at("v"), r#"{"vault_url":"https://v:8200","secret_mount_point":"mysql","token":"t"}"#).unwrap();
        let refused = target("v").unwrap().can_add(&keys, LoadedBy::Component);
        assert!(matches!(refused, Err(Error::NotForVault { name }) if name == "123?"));
        fs::write(at("open"), ELEMENTS).unwrap();
        fs::set_permissions(at("open"), Permissions::from_mode(0o644)).unwrap();
        let open = target("open").unwrap();
        assert!(matches!(open.can_add(&[], LoadedBy::Component), Err(Error::ReadableByOthers)));
        fs::set_permissions(at("open"), Permissions::from_mode(0o640)).unwrap();
        open.can_add(&[], LoadedBy::Component).unwrap();
    }
}
