//! What a server's keys are kept in, and the names of those that are there.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use keyring::KeyName;
use serde::Serialize;
use server::Flavor;
use verify::Keys;

use crate::{
    KeyManagement, KeyStore, KeyringStatus, Session,
    rotate::{Error, copy::KeyringCopy},
};

/// `performance_schema.keyring_keys` cuts names off there.
const SHOWN_NAME_BYTES: usize = 64;

/// A component or plug-in that keeps keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BackEnd {
    /// Its name.
    pub name: String,
    /// Where it keeps them.
    #[serde(flatten)]
    pub storage: Storage,
    /// Whether it takes no new keys.
    pub read_only: bool,
}

/// Where keys are kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "storage")]
pub enum Storage {
    /// In a file that was read.
    File {
        /// The file.
        path: PathBuf,
    },
    /// In a service, or in a file that cannot be read from here: names come from the server.
    Elsewhere {
        /// The file, if it is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<PathBuf>,
        /// Why it was not read.
        reason: String,
    },
}

/// What there is of keys.
pub(super) struct Holding {
    pub(super) back_end: Option<BackEnd>,
    /// Names; `None` if nobody says them.
    pub(super) held: Option<BTreeSet<String>>,
    /// To open files with; none if they could not be read.
    pub(super) keys: Keys,
    /// Whether there are keys to open files with.
    pub(super) readable: bool,
}

impl Holding {
    /// Asks the server, and reads its file.
    pub(super) fn of(session: &mut Session<'_>, given: Option<&Path>) -> Result<Self, Error> {
        if session.identity().flavor() == Flavor::MariaDb {
            return Self::of_mariadb(session, given);
        }
        let Some(status) = KeyringStatus::of(session)? else { return Ok(Self::none()) };
        let store = given.map(Path::to_owned).or(status.file).map(KeyStore::MySql);
        let shown = shown(session);
        Self::read(status.name, status.read_only, store, shown)
    }

    fn of_mariadb(session: &mut Session<'_>, given: Option<&Path>) -> Result<Self, Error> {
        let Some(plugin) = KeyManagement::of(session)? else { return Ok(Self::none()) };
        let file = given.map(Path::to_owned).or(plugin.file);
        let store = file.map(|file| KeyStore::MariaDb { file, password: plugin.password });
        // The plug-in of files never writes its file.
        Self::read(plugin.name, store.is_some(), store, None)
    }

    fn none() -> Self {
        Self { back_end: None, held: None, keys: Keys::default(), readable: false }
    }

    /// A file that cannot be read is no error: what the server's files ask for is worth to be told.
    fn read(
        name: String,
        read_only: bool,
        store: Option<KeyStore>,
        shown: Option<BTreeSet<String>>,
    ) -> Result<Self, Error> {
        let Some(store) = store else {
            let storage = Storage::Elsewhere { path: None, reason: "it keeps its keys in no file".to_owned() };
            let back_end = Some(BackEnd { name, storage, read_only });
            return Ok(Self { back_end, held: shown, keys: Keys::default(), readable: false });
        };
        let path = store.path().to_owned();
        match KeyringCopy::read(&store) {
            Ok(copy) => {
                let back_end = Some(BackEnd { name, storage: Storage::File { path }, read_only });
                let held = copy.names().into_iter().filter(|name| KeyName::parse(name) != KeyName::ReplicationMarker);
                Ok(Self { back_end, held: Some(held.collect()), keys: copy.keys()?, readable: true })
            }
            Err(error) => {
                let reason = error.to_string();
                let storage = Storage::Elsewhere { path: Some(path), reason };
                let back_end = Some(BackEnd { name, storage, read_only });
                Ok(Self { back_end, held: shown, keys: Keys::default(), readable: false })
            }
        }
    }
}

/// The server's own keys, as it names them; `None` if it does not, or if a name may be cut off.
fn shown(session: &mut Session<'_>) -> Option<BTreeSet<String>> {
    let rows = session.ask("SELECT KEY_ID FROM performance_schema.keyring_keys WHERE KEY_OWNER = ''").ok()?;
    let names: BTreeSet<String> = rows.rows.iter().filter_map(|row| row.first()?.clone()).collect();
    let own = names.into_iter().filter(|name| KeyName::parse(name) != KeyName::ReplicationMarker);
    let own: BTreeSet<String> = own.collect();
    own.iter().all(|name| name.len() < SHOWN_NAME_BYTES).then_some(own)
}
