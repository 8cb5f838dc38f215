//! Key stores for proving files: those of the server that were found, and copies that the operator named.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ::verify::Keys;
use keyring::Damage;

use super::page_proofs::{self, KeyFileSettings};
use super::proofs;
use super::view::View;
use crate::Error;
use crate::facts::files::FileFact;
use crate::facts::proof::ProofStore;

/// Copies of key stores, to be proven.
#[derive(Debug, Clone, Default)]
pub struct KeyCopies {
    /// Copies of MySQL's keyring file.
    pub keyrings: Vec<PathBuf>,
    /// Copies of MariaDB's key file.
    pub key_files: Vec<PathBuf>,
    /// The password file of these, if they are encrypted.
    pub key_file_password_file: Option<PathBuf>,
}

/// A key store to read.
#[derive(Debug, Clone)]
pub(super) struct Store {
    /// Name in findings.
    name: String,
    /// Path on this host.
    path: PathBuf,
    family: StoreFamily,
}

#[derive(Debug, Clone)]
enum StoreFamily {
    MySql,
    MariaDb { password_file: Option<PathBuf> },
}

/// Keys in memory, and the stores they are from.
#[derive(Debug, Default)]
pub(super) struct LoadedStores {
    pub(super) keys: Keys,
    pub(super) stores: Vec<ProofStore>,
}

impl KeyCopies {
    /// Whether the operator named no copy.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.keyrings.is_empty() && self.key_files.is_empty()
    }

    /// Loads them, if any is named.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub(super) fn load(&self) -> Result<Option<LoadedStores>, Error> {
        if self.is_empty() { Ok(None) } else { self.open().map(Some) }
    }

    /// Loads them once: a copy may come through a pipe.
    ///
    /// # Errors
    /// [`Error::KeyStore`] if a path does not exist, is not readable, or is not a key store. A damaged copy is not an
    /// error but a result.
    pub(super) fn open(&self) -> Result<LoadedStores, Error> {
        let name = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string();
        let store = |path: &PathBuf, family| Store { name: name(path), path: path.clone(), family };
        let keyrings = self.keyrings.iter().map(|path| store(path, StoreFamily::MySql));
        let password_file = &self.key_file_password_file;
        let key_files = self
            .key_files
            .iter()
            .map(|path| store(path, StoreFamily::MariaDb { password_file: password_file.clone() }));
        let mut opened = LoadedStores::default();
        for copy in keyrings.chain(key_files) {
            match opened.read(&copy) {
                Err(error) if error.key_store_fault().is_some_and(keyring::Error::is_mistake) => {
                    return Err(error.into());
                }
                result => opened.note(&copy, result),
            }
        }
        Ok(opened)
    }

    /// Records why a given file is not a copy: it is the file that the server uses, it names a service, or it is in the
    /// data directory, with which it would be lost.
    pub(super) fn reject_non_copies(opened: &mut LoadedStores, found: &[Store], datadir: &Path) {
        let datadir = std::fs::canonicalize(datadir).ok();
        let found: Vec<_> = found.iter().filter_map(|store| identity(&store.path)).collect();
        for copy in &mut opened.stores {
            let path = Path::new(&copy.path);
            let inside =
                || std::fs::canonicalize(path).ok().zip(datadir.as_ref()).is_some_and(|(p, d)| p.starts_with(d));
            copy.no_copy = match identity(path) {
                Some(id) if found.contains(&id) => Some("is the key store itself, not a copy".to_owned()),
                _ if copy.names_service => Some("only says in which service the keys are".to_owned()),
                _ if inside() => Some("lies in the data directory, and is lost together with it".to_owned()),
                _ => None,
            };
        }
    }
}

/// Whether the file leads to the keys themselves, which are somewhere else.
fn names_service(path: &Path) -> bool {
    path.is_file() && keyring::read_file(path).is_ok_and(|bytes| keyring::names_service(&bytes))
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// The key stores of the server, or of a directory, that were found.
pub(super) fn found(view: &View, files: &[FileFact], live_stores: &[PathBuf], named: &KeyFileSettings) -> Vec<Store> {
    let store =
        |file: &FileFact, family| Store { name: file.path.clone(), path: view.reach(Path::new(&file.path)), family };
    let password_file = named.password_file().map(|path| view.reach(path));
    let keyrings = files.iter().filter(|file| proofs::is_store(file, live_stores));
    let key_files = files.iter().filter(|file| page_proofs::is_store(file, named));
    keyrings
        .map(|file| store(file, StoreFamily::MySql))
        .chain(key_files.map(|file| store(file, StoreFamily::MariaDb { password_file: password_file.clone() })))
        .collect()
}

impl LoadedStores {
    /// Loads these stores.
    pub(super) fn load(stores: &[Store]) -> Self {
        let mut opened = Self::default();
        for store in stores {
            let result = opened.read(store);
            opened.note(store, result);
        }
        opened
    }

    /// Whether any store could be loaded.
    pub(super) fn is_usable(&self) -> bool {
        self.stores.iter().any(|store| store.why.is_none())
    }

    fn read(&mut self, store: &Store) -> Result<Vec<Damage>, ::verify::Error> {
        match &store.family {
            StoreFamily::MySql => self.keys.add_keyring(&store.path),
            StoreFamily::MariaDb { password_file } => self.keys.add_key_file(&store.path, password_file.as_deref()),
        }
    }

    fn note(&mut self, store: &Store, result: Result<Vec<Damage>, ::verify::Error>) {
        let (why, damaged) = match result {
            Ok(damage) => (None, damage.len()),
            Err(error) => (Some(error.key_store_fault().map_or_else(|| error.to_string(), ToString::to_string)), 0),
        };
        self.stores.push(ProofStore {
            path: store.name.clone(),
            why,
            no_copy: None,
            damaged_entries: u64::try_from(damaged).unwrap_or(u64::MAX),
            names_service: names_service(&store.path),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const KEYRING: &[u8] = include_bytes!("../../../../testdata/keyring/mysql97-component-file.json");

    fn copies(path: &Path) -> KeyCopies {
        KeyCopies { keyrings: vec![path.to_owned()], ..KeyCopies::default() }
    }

    #[test]
    fn a_damaged_copy_is_a_result_and_a_wrong_file_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("copy");
        assert!(matches!(copies(&path).open(), Err(Error::KeyStore(_))));
        fs::write(&path, "[mysqld]\n").unwrap();
        assert!(copies(&path).open().unwrap().stores[0].why.is_some());
        fs::write(&path, format!("1;{}\n", "0a".repeat(32))).unwrap();
        assert!(matches!(copies(&path).open(), Err(Error::KeyStore(_))));
        fs::write(&path, &KEYRING[..KEYRING.len() / 2]).unwrap();
        let cut = copies(&path).open().unwrap();
        assert!(cut.stores[0].why.is_some() && !cut.is_usable());
        fs::write(&path, KEYRING).unwrap();
        assert!(copies(&path).open().unwrap().is_usable());
    }

    #[test]
    fn the_key_store_itself_and_what_lies_beside_the_data_are_no_copies() {
        let (dir, datadir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (current, link, copy) = (dir.path().join("own"), dir.path().join("link"), dir.path().join("copy"));
        let inside = datadir.path().join("copy");
        for path in [&current, &copy, &inside] {
            fs::write(path, KEYRING).unwrap();
        }
        std::os::unix::fs::symlink(&current, &link).unwrap();
        let found = [Store { name: "own".to_owned(), path: current.clone(), family: StoreFamily::MySql }];
        let masked = |path: &Path| {
            let mut opened = copies(path).open().unwrap();
            KeyCopies::reject_non_copies(&mut opened, &found, datadir.path());
            opened.stores[0].no_copy.is_some()
        };
        assert!(masked(&current) && masked(&link) && masked(&inside));
        assert!(!masked(&copy));
    }
}
