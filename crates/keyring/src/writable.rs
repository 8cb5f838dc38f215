//! Writable keyrings: master keys are added to the keyring file of a stopped server, or to a Vault.

use std::{
    fs::File,
    io::{self, ErrorKind},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use files::WriteOptions;
use innodb::keys::{binary_log_key_name, master_key_name};
use rustix::fs::{Access, AtFlags, CWD, FlockOperation, accessat, flock};
use zeroize::Zeroizing;

use crate::{
    component_config::is_read_only,
    component_file::{self, Wrapping},
    config::keyring_path,
    error::Error,
    file::read_file,
    key::Key,
    key_id::KeyName,
    mysql::MysqlKeyring,
    plugin_file,
    record::NewKey,
    service::{MysqlDirectory, Owners},
    store::{kind_of, recognise},
    stored_key::StoredKey,
    summary::StoreKind,
    vault_source::{self, VaultSource},
};

/// Length of a master key.
const KEY_BYTES: usize = 32;

/// What a master key encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Tablespaces and the redo log: `INNODBKey-<uuid>-<number>`.
    Innodb,
    /// Binary and relay logs: `MySQLReplicationKey_<uuid>_<number>`.
    Replication,
}

/// The part of the server that loads the keyring file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadedBy {
    /// `component_keyring_file` of MySQL 8.0 and newer.
    #[default]
    Component,
    /// The `keyring_file` plug-in of MySQL 5.7, with a file format of its own.
    Plugin,
}

/// The keyring of one server, to which master keys can be added: a file, or a directory of a Vault.
///
/// The server must not run: it keeps its keys in memory and rewrites the whole file.
#[derive(Debug)]
pub struct WritableKeyring {
    /// The keyring file, or the configuration of the Vault.
    path: PathBuf,
    vault: Option<Box<VaultSource>>,
}

/// A master key and the parts of its name.
#[derive(Clone, Debug)]
pub struct AddedKey {
    /// Full name.
    pub name: String,
    /// UUID in the name.
    pub server_uuid: String,
    /// Number in the name.
    pub number: u32,
    /// The key, 32 bytes.
    pub key: Key,
}

impl WritableKeyring {
    /// Opens a keyring file, the one named by a component's configuration, or the Vault that a configuration names, and
    /// checks that it can be read and that keys can be added; a Vault is asked what the token may do, and nothing is
    /// written. A keyring file that does not exist yet has no keys.
    ///
    /// # Errors
    /// [`Error`].
    pub fn open(path: &Path) -> Result<Self, Error> {
        let bytes = match read_file(path) {
            Err(Error::NotFound) if !is_configuration(path, &[]) => return Self::at_file(path),
            bytes => bytes?,
        };
        match kind_of(&bytes) {
            Ok(StoreKind::VaultConfig) => return Self::in_vault_of(path, &bytes),
            Ok(StoreKind::KmipConfig) => return Err(Error::KmipIsReadOnly),
            Ok(StoreKind::KmsConfig) => return Err(Error::KmsIsReadOnly),
            Ok(StoreKind::ComponentFile) if component_file::wrapping(&bytes) == Wrapping::Unknown => {
                return Err(Error::MaybeWrapped);
            }
            _ => {}
        }
        if !is_configuration(path, &bytes) {
            return Self::at_file(path);
        }
        if is_read_only(&bytes) {
            return Err(Error::ReadOnly);
        }
        Self::at_file(&keyring_path(path, None)?)
    }

    /// Opens the directory in a Vault.
    fn in_vault_of(path: &Path, configuration: &[u8]) -> Result<Self, Error> {
        let source = vault_source::percona(configuration)?;
        let directory = MysqlDirectory::connect(&source)?;
        let next = NewMasterKey::after(&in_vault(&directory)?, Purpose::Innodb)?;
        directory.check_may_add(&next.name)?;
        drop(directory);
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        Ok(Self { path, vault: Some(Box::new(source)) })
    }

    /// Opens a keyring file, which may not exist yet.
    pub(crate) fn at_file(path: &Path) -> Result<Self, Error> {
        // A link remains a link: its target is replaced. If the target is missing, its disk may not be mounted.
        let path = match path.canonicalize() {
            Ok(found) => found,
            Err(_) if path.is_symlink() => return Err(Error::LinkToNothing),
            Err(_) => path.to_owned(),
        };
        let keyring = Self { path, vault: None };
        keyring.load()?;
        let bytes = keyring.bytes()?;
        let loaded_by = if is_plugin_file(&bytes)? { LoadedBy::Plugin } else { LoadedBy::Component };
        with_key(&bytes, NewKey::of_server("", &[0; KEY_BYTES]), loaded_by)?;
        keyring.refuse_backup()?;
        accessat(CWD, keyring.directory(), Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS)
            .map_err(|error| Error::CannotWrite(error.into()))?;
        Ok(keyring)
    }

    /// Path of the keyring file, or of the configuration of the Vault.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the keys are in a Vault.
    #[must_use]
    pub const fn is_in_vault(&self) -> bool {
        self.vault.is_some()
    }

    /// Those of the names under which the keyring has a key.
    ///
    /// # Errors
    /// [`Error`].
    pub fn those_it_has(&self, mut names: Vec<String>) -> Result<Vec<String>, Error> {
        if !names.is_empty() {
            let keys = self.load()?;
            names.retain(|name| keys.get(name).is_some());
        }
        Ok(names)
    }

    /// Adds a new master key under a new UUID; when this returns, it is durable.
    ///
    /// An existing key is never reused: another server with which keys must not be shared could have it. The number is
    /// above all others, so a server that increments it finds no key under the next name.
    ///
    /// # Errors
    /// [`Error::CannotWrite`]; [`Error::CannotAdd`] and [`Error::NotForPlugin`] if the file has the other format;
    /// errors of reading. The file is then unchanged. [`Error::Service`] of a Vault, which may have the key then;
    /// [`Error::OtherKey`] if it returns another one.
    pub fn add(&self, purpose: Purpose, loaded_by: LoadedBy) -> Result<AddedKey, Error> {
        if let Some(source) = &self.vault {
            return add_to_vault(source, purpose);
        }
        let directory = self.lock()?;
        let NewMasterKey { name, server_uuid, number, key } = NewMasterKey::after(&self.load()?, purpose)?;
        let after = with_key(&self.bytes()?, NewKey::of_server(&name, key.as_slice()), loaded_by)?;
        replace(&self.path, &after).map_err(Error::CannotWrite)?;
        directory.sync_all().map_err(Error::CannotWrite)?;
        let key = self.load()?.get(&name).cloned().ok_or(Error::Truncated)?;
        Ok(AddedKey { name, server_uuid, number, key })
    }

    /// Adds keys of another store unchanged: all of them or none. When this returns, they are durable. A key that the
    /// keyring already has stays. A new file gets the format that `new_file` reads, an existing one keeps its own.
    ///
    /// # Errors
    /// [`Error::OtherKey`] if the keyring has a different key of the same name and user; those of [`add`](Self::add).
    pub fn add_all(&self, keys: &[StoredKey], new_file: LoadedBy) -> Result<(), Error> {
        let directory = self.lock()?;
        let bytes = self.with_all(keys, new_file)?;
        replace(&self.path, &bytes).and_then(|()| directory.sync_all()).map_err(Error::CannotWrite)
    }

    /// Fails if [`add_all`](Self::add_all) could not add these keys.
    pub(crate) fn can_add_all(&self, keys: &[StoredKey], new_file: LoadedBy) -> Result<(), Error> {
        self.with_all(keys, new_file).map(drop)
    }

    /// The content of the file after adding the keys that it lacks.
    fn with_all(&self, keys: &[StoredKey], new_file: LoadedBy) -> Result<Zeroizing<Vec<u8>>, Error> {
        let (mut bytes, before) = (self.bytes()?, self.load()?);
        let loaded_by = match bytes.is_empty() {
            true => new_file,
            false if is_plugin_file(&bytes)? => LoadedBy::Plugin,
            false => LoadedBy::Component,
        };
        for key in keys {
            match before.for_user(&key.name, &key.user) {
                None => bytes = with_key(&bytes, key.as_new(), loaded_by)?,
                Some(found) if found.is_same(&key.key) => {}
                Some(_) => return Err(Error::OtherKey { name: key.name.clone() }),
            }
        }
        Ok(bytes)
    }

    /// Locks the keyring against other runs that add keys, from reading the file until it is replaced.
    fn lock(&self) -> Result<File, Error> {
        let directory = File::open(self.directory()).map_err(Error::CannotWrite)?;
        flock(&directory, FlockOperation::LockExclusive).map_err(|error| Error::CannotWrite(error.into()))?;
        self.refuse_backup()?;
        Ok(directory)
    }

    fn bytes(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        match read_file(&self.path) {
            Err(Error::NotFound) => Ok(Zeroizing::default()),
            other => other,
        }
    }

    fn load(&self) -> Result<MysqlKeyring, Error> {
        match &self.vault {
            Some(source) => in_vault(&MysqlDirectory::connect(source)?),
            None => MysqlKeyring::load(&self.bytes()?),
        }
    }

    /// Directory of the keyring file, or of the configuration of the Vault.
    #[must_use]
    pub fn directory(&self) -> &Path {
        files::parent(&self.path)
    }

    /// Fails if the keyring has a `.backup`, which an interrupted server left: at its next start the server restores
    /// it, and keys added since would be lost.
    fn refuse_backup(&self) -> Result<(), Error> {
        let mut backup = self.path.clone().into_os_string();
        backup.push(".backup");
        if Path::new(&backup).symlink_metadata().is_ok() { Err(Error::Backup) } else { Ok(()) }
    }
}

/// A random master key, and its name.
struct NewMasterKey {
    name: String,
    server_uuid: String,
    number: u32,
    key: Zeroizing<[u8; KEY_BYTES]>,
}

impl NewMasterKey {
    /// A key of a new server with a number above all in the keyring.
    fn after(there: &MysqlKeyring, purpose: Purpose) -> Result<Self, Error> {
        let number = there.names().filter_map(|name| key_number(purpose, name)).max().unwrap_or(0);
        let number = number.checked_add(1).ok_or(Error::Cipher)?;
        let server_uuid = new_uuid()?;
        let name = match purpose {
            Purpose::Innodb => master_key_name(&server_uuid, number),
            Purpose::Replication => binary_log_key_name(&server_uuid, number),
        };
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        SystemRandom::new().fill(key.as_mut_slice()).map_err(|_| Error::Cipher)?;
        Ok(Self { name, server_uuid, number, key })
    }
}

/// The server's keys in a Vault; none if its directory is empty or does not exist.
fn in_vault(directory: &MysqlDirectory<'_>) -> Result<MysqlKeyring, Error> {
    match MysqlKeyring::from_vault(directory, Owners::Server) {
        Err(Error::NoKeysInVault { .. }) => Ok(MysqlKeyring::default()),
        keyring => keyring,
    }
}

fn add_to_vault(source: &VaultSource, purpose: Purpose) -> Result<AddedKey, Error> {
    let directory = MysqlDirectory::connect(source)?;
    let NewMasterKey { name, server_uuid, number, key } = NewMasterKey::after(&in_vault(&directory)?, purpose)?;
    directory.add(NewKey::of_server(&name, key.as_slice()))?;
    let found = in_vault(&directory)?.get(&name).cloned().ok_or_else(|| Error::Vanished { name: name.clone() })?;
    if found.as_bytes() != key.as_slice() {
        return Err(Error::OtherKey { name });
    }
    Ok(AddedKey { name, server_uuid, number, key: found })
}

fn key_number(purpose: Purpose, name: &str) -> Option<u32> {
    match (purpose, KeyName::parse(name)) {
        (Purpose::Innodb, KeyName::InnodbMaster { number, .. })
        | (Purpose::Replication, KeyName::Replication { number, .. }) => Some(number),
        _ => None,
    }
}

/// Whether the file is a configuration and not a keyring.
fn is_configuration(path: &Path, bytes: &[u8]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let file_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let kind = recognise(bytes, &name, file_bytes);
    matches!(kind, Some(StoreKind::ComponentConfig | StoreKind::Manifest)) || name.ends_with(".cnf")
}

fn is_plugin_file(bytes: &[u8]) -> Result<bool, Error> {
    Ok(!bytes.is_empty() && matches!(kind_of(bytes)?, StoreKind::PluginFileV1 | StoreKind::PluginFileV2))
}

/// The file with this key added, in the format that `loaded_by` reads.
fn with_key(before: &[u8], key: NewKey<'_>, loaded_by: LoadedBy) -> Result<Zeroizing<Vec<u8>>, Error> {
    if loaded_by == LoadedBy::Component {
        if !before.is_empty() && kind_of(before)? != StoreKind::ComponentFile {
            return Err(Error::CannotAdd);
        }
        return component_file::with_key(before, key);
    }
    let kind = if before.is_empty() { StoreKind::PluginFileV1 } else { kind_of(before)? };
    if !matches!(kind, StoreKind::PluginFileV1 | StoreKind::PluginFileV2) {
        return Err(Error::NotForPlugin);
    }
    plugin_file::with_key(before, kind, key).ok_or(Error::CannotAdd)
}

/// Replaces a keyring atomically; it keeps its owner and permissions. A new keyring gets the owner of its directory:
/// the server that will use it.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Ok(found) = path.metadata() {
        return files::write_atomic(path, bytes, WriteOptions::replacing_file(&found));
    }
    let directory = files::parent(path).metadata()?;
    let new = WriteOptions::SECRET.replacing(true);
    match files::write_atomic(path, bytes, WriteOptions { owner: Some((directory.uid(), directory.gid())), ..new }) {
        // Only root may change the owner of files.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => files::write_atomic(path, bytes, new),
        written => written,
    }
}

/// A random UUID (version 4).
fn new_uuid() -> Result<String, Error> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| Error::Cipher)?;
    let mut number = u128::from_be_bytes(bytes);
    number = number & !(0xf << 76) | 4 << 76;
    number = number & !(0x3 << 62) | 2 << 62;
    let text = format!("{number:032x}");
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    Ok(format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    fn add(keyring: &WritableKeyring, purpose: Purpose) -> AddedKey {
        keyring.add(purpose, LoadedBy::Component).unwrap()
    }

    #[test]
    fn keys_are_added_only_to_the_format_that_the_server_loads() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keyring");
        let keyring = WritableKeyring::open(&path).unwrap();
        let keys = [1, 2].map(|_| keyring.add(Purpose::Innodb, LoadedBy::Plugin).unwrap());
        assert_eq!(keys.each_ref().map(|key| key.number), [1, 2]);
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.starts_with(b"Keyring file version:1.0") && bytes.ends_with(b"EOF"));
        let keyring = WritableKeyring::open(&path).unwrap();
        let names = keys.map(|key| key.name).to_vec();
        assert_eq!(keyring.those_it_has(names.clone()).unwrap(), names);
        let component = keyring.add(Purpose::Innodb, LoadedBy::Component);
        assert!(matches!(component, Err(Error::CannotAdd)));
        assert_eq!(fs::read(&path).unwrap(), bytes);
        fs::remove_file(&path).unwrap();
        add(&keyring, Purpose::Innodb);
        let bytes = fs::read(&path).unwrap();
        assert!(matches!(keyring.add(Purpose::Innodb, LoadedBy::Plugin), Err(Error::NotForPlugin)));
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }

    #[test]
    fn a_missing_keyring_is_created() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keyring");
        let keyring = WritableKeyring::open(&path).unwrap();
        assert!(!path.exists());
        let (innodb, replication) = (add(&keyring, Purpose::Innodb), add(&keyring, Purpose::Replication));
        assert_ne!(innodb.key.as_bytes(), replication.key.as_bytes());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let read = MysqlKeyring::load(&fs::read(&path).unwrap()).unwrap();
        let name = format!("INNODBKey-{}-1", innodb.server_uuid);
        assert_eq!(innodb.name, name);
        assert_eq!(read.get(&name).unwrap().as_bytes(), innodb.key.as_bytes());
        assert_eq!(read.names().count(), 2);
        let names = vec![name.clone(), "INNODBKey-x-1".to_owned()];
        assert_eq!(keyring.those_it_has(names).unwrap(), [name]);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn existing_keys_and_their_numbers_are_never_reused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keyring");
        let uuid = "11111111-2222-3333-4444-555555555555";
        let element = |id: &str, user: &str| {
            let data = "AB".repeat(32);
            format!(r#"{{"user":"{user}","data_id":"{id}","data_type":"AES","data":"{data}","extension":[1]}}"#)
        };
        let innodb = |number| element(&format!("INNODBKey-{uuid}-{number}"), "");
        let text =
            format!(r#"{{"version":"1.0","elements":[{},{},{}]}}"#, element("mine", "u@%"), innodb(9), innodb(10));
        fs::write(&path, &text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let keyring = WritableKeyring::open(&path).unwrap();
        let added = add(&keyring, Purpose::Innodb);
        assert_eq!(added.number, 11);
        assert!(added.server_uuid != uuid && added.key.as_bytes() != [0xab; 32]);
        assert_eq!(add(&keyring, Purpose::Replication).number, 1);
        // Other keys and permissions stay.
        assert!(fs::read_to_string(&path).unwrap().starts_with(text.trim_end_matches("]}")));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn keys_added_at_the_same_time_are_all_kept() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keyring");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| add(&WritableKeyring::open(&path).unwrap(), Purpose::Innodb));
            }
        });
        let read = MysqlKeyring::load(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(read.names().count(), 8);
    }

    #[test]
    fn unusable_keyrings_are_refused_when_opened() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let (config, path) = (at("component_keyring_file.cnf"), at("k"));
        fs::write(&config, format!(r#"{{"path":"{}","read_only":true}}"#, path.display())).unwrap();
        assert!(matches!(WritableKeyring::open(&config), Err(Error::ReadOnly)));
        assert!(matches!(WritableKeyring::open(&at("component_keyring_other.cnf")), Err(Error::NotFound)));
        fs::write(&path, r#"{"version":"1.0","elements":[{"user":"","da"#).unwrap();
        assert!(matches!(WritableKeyring::open(&path), Err(Error::Truncated)));
        assert!(matches!(WritableKeyring::open(&at("not/there")), Err(Error::CannotWrite(_))));
        std::os::unix::fs::symlink(at("nowhere"), at("link")).unwrap();
        assert!(matches!(WritableKeyring::open(&at("link")), Err(Error::LinkToNothing)));
        fs::write(at("plain.backup"), "").unwrap();
        assert!(matches!(WritableKeyring::open(&at("plain")), Err(Error::Backup)));
    }

    #[test]
    fn uuids_are_random_and_of_version_4() {
        let (one, other) = (new_uuid().unwrap(), new_uuid().unwrap());
        assert_ne!(one, other);
        for uuid in [one, other] {
            assert_eq!((uuid.len(), uuid.as_bytes()[14]), (36, b'4'), "{uuid}");
            assert!(matches!(uuid.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{uuid}");
        }
    }
}
