//! A server's keyring: its status, and proof that it opens all encrypted files.

use std::{
    collections::BTreeSet,
    fs,
    io::ErrorKind,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    thread,
};

use innodb::verify::Verdict;
use serde::Serialize;
use verify::{Depth, FileResult, Keys, Plan, Report, Settings};

use crate::{Error, Session};

/// Fails unless the disk has space for a larger keyring. MySQL 9.7.4 truncates the keyring and loses keys if the disk
/// is full.
pub(crate) fn has_room(keyring: &Path) -> Result<(), Error> {
    /// Space for a few keys.
    const SPARE: u64 = 16 << 10;
    let Ok(disk) = rustix::fs::statvfs(files::parent(keyring)) else { return Ok(()) };
    // The server first writes a copy next to it.
    let size = fs::metadata(keyring).map_or(0, |metadata| metadata.len());
    let (free, needed) = (disk.f_bavail.saturating_mul(disk.f_frsize), size.saturating_mul(2).saturating_add(SPARE));
    if free >= needed {
        return Ok(());
    }
    Err(Error::NoRoomForKeyring { keyring: keyring.to_owned(), free, needed })
}

/// `performance_schema.keyring_keys` truncates names to this length.
const SHOWN_NAME_BYTES: usize = 64;

/// The remedy if the keyring on disk differs from the running server's.
pub(crate) const LOST: &str = "do not stop the server: it still has its keys in memory; put a good copy of the keyring back first \
                               (docs/rotate.md, \"When a keyring is lost\")";

/// Names of the keys that a running MySQL has in memory, truncated to 64 bytes. They prove nothing about the file: a
/// server notices only at its next start that the file is gone.
///
/// # Errors
/// [`Error::Server`], also before 8.0.16, which has no such table.
pub(crate) fn in_memory(session: &mut Session<'_>) -> Result<BTreeSet<String>, Error> {
    let rows = session.query("SELECT KEY_ID FROM performance_schema.keyring_keys WHERE KEY_OWNER = ''")?;
    Ok(rows.rows.iter().filter_map(|row| row.first()?.clone()).collect())
}

/// Whether a name from [`in_memory`] may be truncated.
pub(crate) fn is_cut_off(name: &str) -> bool {
    name.len() >= SHOWN_NAME_BYTES
}

/// A key that is in memory but not in the file.
pub(crate) fn lacking<'m>(in_memory: &'m BTreeSet<String>, held: &BTreeSet<String>) -> Option<&'m str> {
    let shown = |name: &String| name.get(..SHOWN_NAME_BYTES).unwrap_or(name).to_owned();
    let held: BTreeSet<String> = held.iter().map(shown).collect();
    in_memory.iter().find(|name| !held.contains(&shown(name))).map(String::as_str)
}

/// Status of MySQL's keyring.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyringStatus {
    /// Component or plug-in.
    pub name: String,
    /// Its file, if the server names one.
    pub file: Option<PathBuf>,
    /// Whether it accepts no new keys.
    pub read_only: bool,
}

impl KeyringStatus {
    /// Asks the server; `None` if no keyring is active.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub fn query(session: &mut Session<'_>) -> Result<Option<Self>, Error> {
        let component =
            session.query("SELECT STATUS_KEY, STATUS_VALUE FROM performance_schema.keyring_component_status");
        // The table exists since 8.0.24; older servers have only plug-ins.
        let pairs: Vec<(String, String)> = component.map_or_else(
            |_| Vec::new(),
            |rows| {
                let pair = |row: &Vec<Option<String>>| match row.as_slice() {
                    [Some(key), Some(value)] => Some((key.clone(), value.clone())),
                    _ => None,
                };
                rows.rows.iter().filter_map(pair).collect()
            },
        );
        let value = |key: &str| pairs.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_str());
        if value("Component_status") == Some("Active") {
            return Ok(Some(Self {
                name: value("Component_name").unwrap_or("a keyring component").to_owned(),
                file: value("Data_file").filter(|path| path.starts_with('/')).map(PathBuf::from),
                read_only: value("Read_only").is_some_and(|value| value.eq_ignore_ascii_case("yes")),
            }));
        }
        Self::query_plugin(session)
    }

    fn query_plugin(session: &mut Session<'_>) -> Result<Option<Self>, Error> {
        let name = session.value(
            "SELECT PLUGIN_NAME FROM information_schema.PLUGINS \
             WHERE PLUGIN_NAME LIKE 'keyring%' AND PLUGIN_STATUS = 'ACTIVE' AND PLUGIN_NAME <> 'keyring_udf'",
        )?;
        let Some(name) = name else { return Ok(None) };
        let file = session.query("SHOW GLOBAL VARIABLES LIKE 'keyring_file_data'")?;
        let file = file.value(0, "Value").filter(|path| path.starts_with('/')).map(PathBuf::from);
        Ok(Some(Self { name, file, read_only: false }))
    }
}

/// Status of MariaDB's key management.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyManagement {
    /// Plug-in.
    pub name: String,
    /// Its key file, if it has one.
    pub file: Option<PathBuf>,
    /// Password file of the key file. Other passwords exist only in the server.
    pub password: Option<PathBuf>,
}

impl KeyManagement {
    /// Asks the server; `None` if no plug-in is active.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub fn query(session: &mut Session<'_>) -> Result<Option<Self>, Error> {
        let name = session.value(
            "SELECT PLUGIN_NAME FROM information_schema.PLUGINS \
             WHERE PLUGIN_TYPE = 'ENCRYPTION' AND PLUGIN_STATUS = 'ACTIVE'",
        )?;
        let Some(name) = name else { return Ok(None) };
        let variables = session.query("SHOW GLOBAL VARIABLES LIKE 'file\\_key\\_management\\_file%'")?;
        let home = session.identity().datadir.clone();
        let value = |name: &str| {
            let row = variables.rows.iter().find(|row| row.first().and_then(Option::as_deref) == Some(name))?;
            row.get(1)?.clone().filter(|value| !value.is_empty())
        };
        // Relative paths refer to the data directory, the server's working directory.
        let file = value("file_key_management_filename").map(|file| home.join(file));
        let password = value("file_key_management_filekey");
        let password = password.as_deref().and_then(|key| key.strip_prefix("FILE:")).map(|file| home.join(file));
        Ok(Some(Self { name, file, password }))
    }
}

/// Whether a server without a key file, or with an empty one, has no keys yet: it has none in memory, and no file needs
/// one.
///
/// # Errors
/// [`Error::KeyringLost`] if there were keys.
pub(crate) fn awaits_first_key(session: &mut Session<'_>, datadir: &Path, store: &KeyStore) -> Result<bool, Error> {
    let KeyStore::MySql(path) = store else { return Ok(false) };
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() > 0 => return Ok(false),
        Err(error) if error.kind() != ErrorKind::NotFound => return Ok(false),
        _ => {}
    }
    // Before 8.0.16 the table does not exist, and only the files count.
    let remembered = in_memory(session).unwrap_or_default().len() as u64;
    let report = look(datadir, &Keys::default());
    let encrypted_files = report.files.iter().filter(|file| file.key.is_some()).count() as u64;
    if remembered == 0 && encrypted_files == 0 {
        return Ok(true);
    }
    Err(Error::KeyringLost { keyring: path.clone(), remembered, encrypted_files })
}

/// Result of proving a copy of the keyring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Opened {
    /// Number of encrypted files, all of which it opened.
    pub encrypted_files: u64,
    /// Number of files examined.
    pub files: u64,
}

/// A file with keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyStore {
    /// A MySQL keyring.
    MySql(PathBuf),
    /// The key file of MariaDB's `file_key_management`.
    MariaDb {
        /// Path of the key file.
        file: PathBuf,
        /// Path of the password file, if the key file is encrypted.
        password: Option<PathBuf>,
    },
}

impl KeyStore {
    /// Path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::MySql(path) | Self::MariaDb { file: path, .. } => path,
        }
    }

    /// A copy at another path, with the same password.
    #[must_use]
    pub fn copy(&self, path: PathBuf) -> Self {
        match self {
            Self::MySql(_) => Self::MySql(path),
            Self::MariaDb { password, .. } => Self::MariaDb { file: path, password: password.clone() },
        }
    }

    fn keys(&self) -> Result<Keys, Error> {
        let mut keys = Keys::default();
        let added = match self {
            Self::MySql(path) => keys.add_keyring(path),
            Self::MariaDb { file, password } => keys.add_key_file(file, password.as_deref()),
        };
        added?;
        Ok(keys)
    }
}

/// Proves with `verify` that only the keys of `store` suffice to open every encrypted file below `datadir`: page 0 and
/// the first pages of tablespaces, and every log.
///
/// # Errors
/// [`Error::Keyring`] if the store cannot be read; [`Error::KeyringOpensNotAll`].
pub fn prove(datadir: &Path, store: &KeyStore) -> Result<Opened, Error> {
    prove_and_list(datadir, store).map(|(opened, _)| opened)
}

/// As above; also returns the files that no keyring opens and that are damaged where they name or hold their key.
///
/// # Errors
/// As [`prove`].
pub(crate) fn prove_and_list(datadir: &Path, store: &KeyStore) -> Result<(Opened, Vec<PathBuf>), Error> {
    let keys = store.keys()?;
    let keyring = store.path();
    let report = look(datadir, &keys);
    let encrypted = |file: &&FileResult| file.key.is_some();
    // Other damage to a file is not the keyring's fault.
    let shut =
        |file: &&FileResult| matches!(file.verdict, Verdict::MissingKey | Verdict::WrongKey | Verdict::Unverifiable);
    let encrypted_files = report.files.iter().filter(encrypted).count() as u64;
    let shut = report.files.iter().filter(encrypted).filter(shut);
    let files: Vec<PathBuf> = shut.map(|file| file.path.clone()).collect();
    if !files.is_empty() {
        let opened = encrypted_files.saturating_sub(files.len() as u64);
        return Err(Error::KeyringOpensNotAll {
            keyring: keyring.to_owned(),
            opened,
            encrypted: encrypted_files,
            files,
        });
    }
    let without_key = report.files.iter().filter(|file| file.verdict == Verdict::BadKeyInfo);
    let damaged: Vec<PathBuf> = without_key.clone().map(|file| file.path.clone()).collect();
    let counted = without_key.filter(encrypted).count() as u64;
    let encrypted_files = encrypted_files.saturating_sub(counted);
    Ok((Opened { encrypted_files, files: report.summary.files }, damaged))
}

fn look(datadir: &Path, keys: &Keys) -> Report {
    let jobs = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let settings = Settings { jobs, depth: Depth::FirstPages, progress: &|_| {} };
    verify::run(&Plan::scan_server(&[datadir.to_owned()]), keys, &settings)
}
