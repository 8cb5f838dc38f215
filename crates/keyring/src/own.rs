//! A keyring that keys are wrapped under: the master keys it has, and making those it lacks.

use std::{
    fmt::Write as _,
    fs::{File, OpenOptions},
    io::{self, ErrorKind, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown},
    path::{Path, PathBuf},
};

use aws_lc_rs::rand::{SecureRandom, SystemRandom};
use serde::Deserialize;
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use crate::{
    config::{is_read_only, keyring_path},
    error::KeyringError,
    file::read_file,
    key::Key,
    key_id::KeyName,
    mysql::MysqlKeyring,
    store::{StoreKind, kind_of, recognise},
};

/// Bytes of a master key.
const KEY_BYTES: usize = 32;

/// What a master key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Tablespaces and the redo log: `INNODBKey-<uuid>-<number>`.
    Innodb,
    /// Binary and relay logs: `MySQLReplicationKey_<uuid>_<number>`.
    Replication,
}

/// The keyring file of one server, to take master keys from and to add some.
///
/// The server must not be running: it keeps its keys in memory and writes the whole file.
#[derive(Debug)]
pub struct OwnKeyring {
    path: PathBuf,
    read_only: bool,
}

/// A master key and what its name says.
#[derive(Clone, Debug)]
pub struct OwnKey {
    /// Uuid in its name.
    pub server_uuid: String,
    /// Number in its name.
    pub number: u32,
    /// The key.
    pub key: Key,
}

impl OwnKeyring {
    /// Opens a keyring file, or the one that a component's configuration names. The keyring file may
    /// not be there yet: then it has no keys.
    ///
    /// # Errors
    /// [`KeyringError`].
    pub fn open(given: &Path) -> Result<Self, KeyringError> {
        let (path, read_only) = match read_file(given) {
            Err(KeyringError::NotFound) if !is_configuration(given, &[]) => (given.to_owned(), false),
            Err(error) => return Err(error),
            Ok(bytes) if is_configuration(given, &bytes) => (keyring_path(given, None)?, is_read_only(&bytes)),
            Ok(_) => (given.to_owned(), false),
        };
        // A link stays one: what it points at is replaced.
        let path = path.canonicalize().unwrap_or(path);
        let own = Self { path, read_only };
        own.load().map(|_| own)
    }

    fn load(&self) -> Result<MysqlKeyring, KeyringError> {
        match read_file(&self.path) {
            Ok(bytes) => MysqlKeyring::load(&bytes),
            Err(KeyringError::NotFound) => Ok(MysqlKeyring::default()),
            Err(error) => Err(error),
        }
    }

    /// The keyring file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The newest master key, if all of them are of one server: of several it cannot be told which
    /// server will use them.
    ///
    /// # Errors
    /// [`KeyringError`].
    pub fn newest(&self, purpose: Purpose) -> Result<Option<OwnKey>, KeyringError> {
        let keys = self.load()?;
        let found: Vec<OwnKey> = keys.iter().filter_map(|(name, key)| own_key(purpose, name, key)).collect();
        let newest = found.iter().max_by_key(|own| own.number);
        let of_one = |newest: &&OwnKey| found.iter().all(|other| other.server_uuid == newest.server_uuid);
        Ok(newest.filter(of_one).cloned())
    }

    /// The newest master key, or a new one with a uuid of its own, which is in the file and on disk
    /// when this returns.
    ///
    /// # Errors
    /// [`KeyringError::ReadOnly`] and [`KeyringError::CannotWrite`], if one has to be made; the file
    /// is then as it was.
    pub fn ensure(&self, purpose: Purpose) -> Result<OwnKey, KeyringError> {
        if let Some(newest) = self.newest(purpose)? {
            return Ok(newest);
        }
        if self.read_only {
            return Err(KeyringError::ReadOnly);
        }
        let before = match read_file(&self.path) {
            Err(KeyringError::NotFound) => Zeroizing::default(),
            other => other?,
        };
        let uuid = new_uuid()?;
        let name = match purpose {
            Purpose::Innodb => format!("INNODBKey-{uuid}-1"),
            Purpose::Replication => format!("MySQLReplicationKey_{uuid}_1"),
        };
        let after = with_key(&before, &name)?;
        replace(&self.path, &after).map_err(KeyringError::CannotWrite)?;
        let key = self.load()?.get(&name).cloned().ok_or(KeyringError::Truncated)?;
        Ok(OwnKey { server_uuid: uuid, number: 1, key })
    }
}

fn own_key(purpose: Purpose, name: &str, key: &Key) -> Option<OwnKey> {
    let ((Purpose::Innodb, KeyName::InnodbMaster { owner, number })
    | (Purpose::Replication, KeyName::Replication { owner, number })) = (purpose, KeyName::parse(name))
    else {
        return None;
    };
    // Keys of 5.7.11 have a server id there, which newer servers cannot ask for.
    let is_uuid = owner.len() == 36;
    (is_uuid && key.as_bytes().len() == KEY_BYTES).then(|| OwnKey { server_uuid: owner, number, key: key.clone() })
}

/// Whether a file is a configuration rather than a keyring.
fn is_configuration(path: &Path, bytes: &[u8]) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let file_bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    let kind = recognise(bytes, &name, file_bytes);
    matches!(kind, Some(StoreKind::ComponentConfig | StoreKind::Manifest)) || name.ends_with(".cnf")
}

/// The file with one more key.
fn with_key(before: &[u8], name: &str) -> Result<Zeroizing<Vec<u8>>, KeyringError> {
    #[derive(Deserialize)]
    struct Whole<'a> {
        #[serde(borrow)]
        elements: Vec<&'a RawValue>,
    }
    let elements = if before.is_empty() {
        Vec::new()
    } else {
        match kind_of(before)? {
            StoreKind::ComponentFile => {
                let whole: Whole<'_> = serde_json::from_slice(before).map_err(|_| KeyringError::Truncated)?;
                whole.elements
            }
            kind => return Err(KeyringError::CannotAdd { kind }),
        }
    };
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    SystemRandom::new().fill(key.as_mut_slice()).map_err(|_| KeyringError::Cipher)?;
    let mut digits = Zeroizing::new(String::with_capacity(2 * KEY_BYTES));
    for byte in key.iter() {
        let _ = write!(digits, "{byte:02X}");
    }
    // Room from the start: a vector that grows leaves keys behind.
    let mut after = Zeroizing::new(Vec::with_capacity(before.len().saturating_add(1024)));
    after.extend(br#"{"version":"1.0","elements":["#);
    for element in elements {
        after.extend(element.get().as_bytes());
        after.push(b',');
    }
    after.extend(br#"{"user":"","data_id":""#);
    after.extend(name.as_bytes());
    after.extend(br#"","data_type":"AES","data":""#);
    after.extend(digits.as_bytes());
    after.extend(br#"","extension":[]}]}"#);
    Ok(after)
}

/// Puts a file in another's place, with its owner and permissions, when it is on disk.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?.to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}.part", std::process::id()));
    let written = write_new(&beside, path, bytes).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
        return written;
    }
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    File::open(directory.unwrap_or_else(|| Path::new(".")))?.sync_all()
}

fn write_new(beside: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(beside)?;
    file.write_all(bytes)?;
    match path.metadata() {
        Ok(found) => {
            fchown(&file, Some(found.uid()), Some(found.gid()))?;
            file.set_permissions(std::fs::Permissions::from_mode(found.mode() & 0o7777))?;
        }
        // A new keyring belongs to whom its directory belongs: the server that is to use it.
        Err(_) => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let parent = parent.unwrap_or_else(|| Path::new(".")).metadata()?;
            match fchown(&file, Some(parent.uid()), Some(parent.gid())) {
                Err(error) if error.kind() != ErrorKind::PermissionDenied => return Err(error),
                _ => {}
            }
        }
    }
    file.sync_all()
}

/// A random uuid (version 4).
fn new_uuid() -> Result<String, KeyringError> {
    let mut bytes = [0; 16];
    SystemRandom::new().fill(&mut bytes).map_err(|_| KeyringError::Cipher)?;
    let mut number = u128::from_be_bytes(bytes);
    number = number & !(0xf << 76) | 4 << 76;
    number = number & !(0x3 << 62) | 2 << 62;
    let text = format!("{number:032x}");
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default();
    Ok(format!("{}-{}-{}-{}-{}", part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_keyring_that_is_not_there_is_made_with_one_key_of_each_kind() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keyring");
        let own = OwnKeyring::open(&path).unwrap();
        assert!(own.newest(Purpose::Innodb).unwrap().is_none());
        assert!(!path.exists());
        let innodb = own.ensure(Purpose::Innodb).unwrap();
        let replication = own.ensure(Purpose::Replication).unwrap();
        assert_ne!(innodb.key.as_bytes(), replication.key.as_bytes());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let read = MysqlKeyring::load(&fs::read(&path).unwrap()).unwrap();
        let name = format!("INNODBKey-{}-1", innodb.server_uuid);
        assert_eq!(read.get(&name).unwrap().as_bytes(), innodb.key.as_bytes());
        assert_eq!(read.names().count(), 2);
        // What is there is used again.
        let again = OwnKeyring::open(&path).unwrap().ensure(Purpose::Innodb).unwrap();
        assert_eq!(again.key.as_bytes(), innodb.key.as_bytes());
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn other_keys_and_permissions_stay() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("keyring");
        let uuids = ["11111111-2222-3333-4444-555555555555", "21111111-2222-3333-4444-555555555555"];
        let element = |id: &str| {
            let data = "AB".repeat(32);
            format!(r#"{{"user":"u@%","data_id":"{id}","data_type":"AES","data":"{data}","extension":[1]}}"#)
        };
        let own = |uuid: &str, number| element(&format!("INNODBKey-{uuid}-{number}")).replace("u@%", "");
        let elements = [element("mine"), own(uuids[0], 9), own(uuids[0], 10)].join(",");
        let text = |elements: &str| format!(r#"{{"version":"1.0","elements":[{elements}]}}"#);
        fs::write(&path, text(&elements)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let keyring = OwnKeyring::open(&path).unwrap();
        assert_eq!(keyring.ensure(Purpose::Innodb).unwrap().number, 10);
        assert_eq!(fs::read_to_string(&path).unwrap(), text(&elements));
        keyring.ensure(Purpose::Replication).unwrap();
        assert!(fs::read_to_string(&path).unwrap().starts_with(text(&elements).trim_end_matches("]}")));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        // Of two servers' keys none is taken.
        fs::write(&path, text(&[own(uuids[0], 1), own(uuids[1], 5)].join(","))).unwrap();
        let made = OwnKeyring::open(&path).unwrap().ensure(Purpose::Innodb).unwrap();
        assert!(!uuids.contains(&made.server_uuid.as_str()));
    }

    #[test]
    fn what_cannot_be_written_is_said_and_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let (config, path) = (directory.path().join("component_keyring_file.cnf"), directory.path().join("k"));
        fs::write(&config, format!(r#"{{"path":"{}","read_only":true}}"#, path.display())).unwrap();
        let refused = OwnKeyring::open(&config).unwrap().ensure(Purpose::Innodb);
        assert!(matches!(refused, Err(KeyringError::ReadOnly)));
        assert!(!path.exists());
        let absent = directory.path().join("component_keyring_other.cnf");
        assert!(matches!(OwnKeyring::open(&absent), Err(KeyringError::NotFound)));
        fs::write(&path, r#"{"version":"1.0","elements":[{"user":"","da"#).unwrap();
        assert!(matches!(OwnKeyring::open(&path), Err(KeyringError::Truncated)));
        let nowhere = directory.path().join("not/there");
        assert!(matches!(
            OwnKeyring::open(&nowhere).unwrap().ensure(Purpose::Innodb),
            Err(KeyringError::CannotWrite(_))
        ));
    }

    #[test]
    fn uuids_are_random_ones_of_version_4() {
        let (one, other) = (new_uuid().unwrap(), new_uuid().unwrap());
        assert_ne!(one, other);
        for uuid in [one, other] {
            assert_eq!((uuid.len(), uuid.as_bytes()[14]), (36, b'4'), "{uuid}");
            assert!(matches!(uuid.as_bytes()[19], b'8' | b'9' | b'a' | b'b'), "{uuid}");
        }
    }
}
