//! A server's keyring: its status, and proof that it opens all encrypted files.

use std::{
    collections::BTreeSet,
    fs,
    io::ErrorKind,
    mem,
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
    let Ok(free) = files::free_bytes(files::parent(keyring)) else { return Ok(()) };
    // The server first writes a copy next to the keyring.
    let size = fs::metadata(keyring).map_or(0, |metadata| metadata.len());
    let needed = size.saturating_mul(2).saturating_add(SPARE);
    if free >= needed {
        return Ok(());
    }
    Err(Error::NoRoomForKeyring { keyring: keyring.to_owned(), free, needed })
}

/// `performance_schema.keyring_keys` truncates names to this length.
const SHOWN_NAME_BYTES: usize = 64;

/// Names of the keys that a running MySQL has in memory, truncated to 64 bytes. They prove nothing about the file: a
/// server notices a missing file only at its next start. `None` before 8.0.16, which does not list keys.
///
/// # Errors
/// [`Error::Server`].
pub(crate) fn in_memory(session: &mut Session<'_>) -> Result<Option<BTreeSet<String>>, Error> {
    let Some(rows) = session.logical("keyring_keys")? else { return Ok(None) };
    let of_server = |row: &usize| rows.value(*row, "key_owner").unwrap_or_default().is_empty();
    let names = (0..rows.rows.len()).filter(of_server).filter_map(|row| rows.value(row, "key_id"));
    Ok(Some(names.map(str::to_owned).collect()))
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

/// Whether a server without a key file, or with an empty one, has no keys yet: it has none in memory, and no file needs
/// one.
///
/// # Errors
/// [`Error::KeyringLost`] if there were keys, [`Error::NoServiceFile`] if they are in a service.
pub(crate) fn awaits_first_key(session: &mut Session<'_>, datadir: &Path, store: &KeyStore) -> Result<bool, Error> {
    let is_in_service = session.active_key_store(datadir)?.is_some_and(|active| active.file.is_none());
    if is_in_service && !store.path().exists() {
        return Err(Error::NoServiceFile(store.path().to_owned()));
    }
    let KeyStore::MySql(path) = store else { return Ok(false) };
    match fs::metadata(path) {
        Ok(metadata) if metadata.len() > 0 => return Ok(false),
        Err(error) if error.kind() != ErrorKind::NotFound => return Ok(false),
        _ => {}
    }
    // If they are not listed, only the files count.
    let remembered = in_memory(session).ok().flatten().unwrap_or_default().len() as u64;
    let report = look(datadir, &Keys::default());
    let encrypted_files = report.files.iter().filter(|file| file.key.is_some()).count() as u64;
    if remembered == 0 && encrypted_files == 0 {
        return Ok(true);
    }
    Err(Error::KeyringLost { keyring: path.clone(), remembered, encrypted_files })
}

/// Result of proving a copy of the keyring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeyringProof {
    /// Number of encrypted files, all of which the keys decrypt.
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

    /// Whether the file only says in which service the keys are.
    #[must_use]
    pub fn names_service(&self) -> bool {
        keyring::read_file(self.path()).is_ok_and(|bytes| keyring::names_service(&bytes))
    }

    /// Whether the file names a service that takes new versions of MariaDB's keys from this program.
    #[must_use]
    pub fn takes_new_versions(&self) -> bool {
        keyring::read_file(self.path()).is_ok_and(|bytes| keyring::takes_new_versions(&bytes))
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
/// [`Error::Keyring`] if the store cannot be read; [`Error::Unread`] if a file cannot; [`Error::KeyringOpensNotAll`].
pub fn prove(datadir: &Path, store: &KeyStore) -> Result<KeyringProof, Error> {
    prove_and_list(datadir, store).map(|(opened, _)| opened)
}

/// As [`prove`]. Also returns the files that no keyring opens because they are damaged where they name or hold their
/// key.
///
/// # Errors
/// As [`prove`].
pub(crate) fn prove_and_list(datadir: &Path, store: &KeyStore) -> Result<(KeyringProof, Vec<PathBuf>), Error> {
    let keys = store.keys()?;
    let keyring = store.path();
    let mut report = look(datadir, &keys);
    // Ignore a file that the server has dropped in the meantime.
    let unread = mem::take(&mut report.errors).into_iter().find(|unread| unread.path.symlink_metadata().is_ok());
    if let Some(unread) = unread {
        return Err(Error::Unread { path: unread.path, reason: unread.reason });
    }
    let encrypted = |file: &&FileResult| file.key.is_some();
    // Other damage to a file is not the keyring's fault.
    let is_unopened =
        |file: &&FileResult| matches!(file.verdict, Verdict::MissingKey | Verdict::WrongKey | Verdict::Unverifiable);
    let encrypted_files = report.files.iter().filter(encrypted).count() as u64;
    let unopened = report.files.iter().filter(encrypted).filter(is_unopened);
    let files: Vec<PathBuf> = unopened.map(|file| file.path.clone()).collect();
    if !files.is_empty() {
        let opened = encrypted_files.saturating_sub(files.len() as u64);
        return Err(Error::KeyringOpensNotAll {
            keyring: keyring.to_owned(),
            opened,
            encrypted: encrypted_files,
            files,
            lost: keys.lost(),
        });
    }
    let without_key = report.files.iter().filter(|file| file.verdict == Verdict::BadKeyInfo);
    let damaged: Vec<PathBuf> = without_key.clone().map(|file| file.path.clone()).collect();
    let counted = without_key.filter(encrypted).count() as u64;
    let encrypted_files = encrypted_files.saturating_sub(counted);
    Ok((KeyringProof { encrypted_files, files: report.summary.files }, damaged))
}

fn look(datadir: &Path, keys: &Keys) -> Report {
    let jobs = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let settings = Settings { jobs, depth: Depth::FirstPages, progress: &|_| {} };
    verify::run(&Plan::scan_server(&[datadir.to_owned()]), keys, &settings)
}
