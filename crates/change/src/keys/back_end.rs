//! The back end that stores a server's keys, and the names of these keys.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use keyring::KeyName;
use register::Fingerprints;
use serde::Serialize;
use server::Flavor;
use verify::Keys;

use crate::{
    Error, KeyStore, Session,
    keyring::{in_memory, is_cut_off, lacking},
    rotate::copy::ParsedKeys,
};

/// A component or plug-in that stores keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BackEnd {
    /// Name of the component or plug-in.
    pub name: String,
    /// Location of the keys.
    #[serde(flatten)]
    pub storage: Storage,
    /// Whether it accepts no new keys.
    pub read_only: bool,
}

/// Location of the keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "storage")]
pub enum Storage {
    /// A file that was read.
    File {
        /// Path of the file.
        path: PathBuf,
    },
    /// A service, from which the keys were fetched.
    Service {
        /// Path of the configuration that says where they are.
        path: PathBuf,
    },
    /// A service, whose key names the server reports; or an unreadable file.
    #[serde(rename = "elsewhere")]
    External {
        /// Path, if it is a file.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<PathBuf>,
        /// Why it was not read.
        reason: String,
    },
}

/// The keys that are available to a server, and the back end that stores them.
pub(super) struct AvailableKeys {
    pub(super) back_end: Option<BackEnd>,
    /// Names; `None` if unknown.
    pub(super) held: Option<BTreeSet<String>>,
    /// Names that the running server has in memory; `None` if unknown. They do not prove that the server finds the keys
    /// at its next start.
    pub(super) in_memory: Option<BTreeSet<String>>,
    /// Keys to open files with; empty if they are not readable, or there are none.
    pub(super) keys: Keys,
    /// Fingerprints of these keys.
    pub(super) fingerprints: Fingerprints,
    /// Whether these are all keys.
    pub(super) readable: bool,
}

impl AvailableKeys {
    /// Queries the server and reads its key file.
    pub(super) fn query(session: &mut Session<'_>, given: Option<&Path>, datadir: &Path) -> Result<Self, Error> {
        let Some(active) = session.active_key_store(datadir)? else { return Ok(Self::none()) };
        let file = given.map(Path::to_owned).or(active.file);
        if session.identity().flavor() == Flavor::MariaDb {
            let store = file.map(|file| KeyStore::MariaDb { file, password: active.password });
            // The file plug-in never writes its file.
            return Self::read(active.name, store.is_some(), store, None);
        }
        let mut listed = || in_memory(session).ok().flatten().map(without_markers);
        let mut available = Self::read(active.name, active.read_only, file.map(KeyStore::MySql), listed())?;
        if available.has_lost_keys() {
            // The server may have removed binary log keys since then.
            available.in_memory = listed();
        }
        Ok(available)
    }

    pub(super) fn none() -> Self {
        Self {
            back_end: None,
            held: None,
            in_memory: None,
            keys: Keys::default(),
            fingerprints: Fingerprints::new(),
            readable: false,
        }
    }

    /// An unreadable file is not an error: the report still shows which keys files need.
    fn read(
        name: String,
        read_only: bool,
        store: Option<KeyStore>,
        in_memory: Option<BTreeSet<String>>,
    ) -> Result<Self, Error> {
        let keys = Keys::default();
        let Some(store) = store else {
            let storage = Storage::External { path: None, reason: "its keys are not in a file".to_owned() };
            let back_end = Some(BackEnd { name, storage, read_only });
            let held = in_memory.clone().filter(|names| names.iter().all(|name| !is_cut_off(name)));
            return Ok(Self { back_end, held, in_memory, keys, fingerprints: Fingerprints::new(), readable: false });
        };
        let path = store.path().to_owned();
        match ParsedKeys::open(&store) {
            Ok(parsed) => {
                let storage = if store.names_service() { Storage::Service { path } } else { Storage::File { path } };
                Ok(Self {
                    back_end: Some(BackEnd { name, storage, read_only }),
                    held: Some(without_markers(parsed.names())),
                    in_memory,
                    fingerprints: parsed.fingerprints(),
                    keys: parsed.into_keys(),
                    readable: true,
                })
            }
            // A user who names a service wants its keys, not the names that the server knows.
            Err(error @ Error::KeyService { .. }) => Err(error),
            Err(error) => {
                // A missing file has no keys, whatever the running server has in memory.
                let readable = holds_nothing(&error, &path);
                let storage = Storage::External { path: Some(path), reason: error.to_string() };
                let back_end = Some(BackEnd { name, storage, read_only });
                let (held, fingerprints) = (readable.then(BTreeSet::new), Fingerprints::new());
                Ok(Self { back_end, held, in_memory, keys, fingerprints, readable })
            }
        }
    }

    pub(super) fn holds(&self, name: &str) -> bool {
        self.held.as_ref().is_some_and(|held| held.contains(name))
    }

    /// Whether the running server has keys in memory that its file does not have.
    pub(super) fn has_lost_keys(&self) -> bool {
        match (&self.in_memory, &self.held) {
            (Some(memory), Some(held)) => lacking(memory, held).is_some(),
            _ => false,
        }
    }
}

/// Whether the key file is missing or empty.
fn holds_nothing(error: &Error, file: &Path) -> bool {
    use keyring::Error::{Empty, NotFound};
    matches!(error, Error::KeyringFile { path, source: NotFound | Empty } if path == file)
}

fn without_markers(names: BTreeSet<String>) -> BTreeSet<String> {
    names.into_iter().filter(|name| KeyName::parse(name) != KeyName::ReplicationMarker).collect()
}
