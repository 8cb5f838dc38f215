//! A repository: its description, its objects, and the receipts of its hosts.

mod objects;
mod receipts;

use std::{
    collections::BTreeMap,
    io::Cursor,
    path::Path,
    sync::{Mutex, PoisonError},
};

use archive::{RepositoryDescription, names, repository};
use jiff::Timestamp;
use store::{Put, Store};

pub use self::receipts::StoredReceipt;
pub(crate) use self::{
    objects::{check_sum, is_denied, name, read, read_manifest, read_pack, read_range, read_whole},
    receipts::{Attempt, put_signed, receipt_fault},
};
use crate::{Error, paced::PacedStore, receipt_cache::CachedStore};

/// An opened repository.
#[derive(Debug)]
pub struct Repository {
    store: Box<dyn Store>,
    /// Random id of the repository, in hexadecimal.
    pub id: String,
    may_read: bool,
    /// Whether the id is from `init`, because the store could not be reached.
    is_assumed: bool,
    /// Objects of which an older version was used, and its id.
    replaced: Mutex<BTreeMap<String, String>>,
    /// Receipts that cannot be used, and why.
    unused: Mutex<BTreeMap<String, String>>,
}

impl Repository {
    /// Opens a repository.
    ///
    /// # Errors
    /// [`Error::NoRepository`], [`Error::Repository`], [`Error::Store`].
    pub fn open(store: Box<dyn Store>) -> Result<Self, Error> {
        let id = read_id(&*store)?;
        Ok(Self { store, id, may_read: true, is_assumed: false, replaced: Mutex::default(), unused: Mutex::default() })
    }

    /// Caches receipts in the directory `state`, from which the next run reads them.
    #[must_use]
    pub fn with_cache(self, state: &Path) -> Self {
        let store = Box::new(CachedStore::new(self.store, state, &self.id));
        Self { store, ..self }
    }

    /// Sends at most so many bytes per second to the store, if there is a limit.
    #[must_use]
    pub fn paced(self, bytes_per_second: Option<u64>) -> Self {
        let Some(bytes_per_second) = bytes_per_second else { return self };
        let store = Box::new(PacedStore::new(self.store, bytes_per_second));
        Self { store, ..self }
    }

    /// A repository that this host may not read, but whose id it knows.
    pub(crate) fn unread(store: Box<dyn Store>, id: String) -> Self {
        Self { store, id, may_read: false, is_assumed: false, replaced: Mutex::default(), unused: Mutex::default() }
    }

    /// A repository whose store cannot be reached now, and whose id an earlier `init` has read.
    pub(crate) fn assumed(store: Box<dyn Store>, id: String, may_read: bool) -> Self {
        Self { store, id, may_read, is_assumed: may_read, replaced: Mutex::default(), unused: Mutex::default() }
    }

    /// Refuses a repository whose id is not the assumed one.
    ///
    /// # Errors
    /// [`Error::Repository`], [`Error::NoRepository`], [`Error::Store`].
    pub(crate) fn verify_id(&self) -> Result<(), Error> {
        if self.is_assumed {
            read_id(&*self.store).and_then(|id| self.check_id(names::REPOSITORY, &id))
        } else {
            Ok(())
        }
    }

    /// Creates a repository in a store that has none. Returns its id. Verifies that the store refuses to replace an
    /// object.
    ///
    /// # Errors
    /// [`Error::ReplacingStore`], [`Error::Store`], [`Error::Randomness`].
    pub(crate) fn create(store: &dyn Store) -> Result<(Put, String), Error> {
        let existing = match read(store, names::REPOSITORY, repository::MAX_BYTES) {
            Err(error) if is_denied(&error) => None,
            existing => existing?,
        };
        if let Some(existing) = existing {
            return refuses_again(store, &existing).map(|()| (Put::Exists, String::new()));
        }
        let mut id = [0; repository::ID_BYTES];
        aws_lc_rs::rand::fill(&mut id).map_err(|_| Error::Randomness)?;
        let description = RepositoryDescription::new(id, Timestamp::now());
        let bytes = description.encode()?;
        let put = store.put_new(&name(names::REPOSITORY)?, &mut Cursor::new(&bytes), bytes.len() as u64)?;
        refuses_again(store, &bytes)?;
        Ok((put, description.id))
    }

    /// Whether this host may read the repository. Otherwise it makes backups from its own state.
    #[must_use]
    pub fn may_read(&self) -> bool {
        self.may_read
    }

    /// Lengths of all objects of a host, by name.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub(crate) fn lengths(&self, host: &str) -> Result<BTreeMap<String, u64>, Error> {
        let listed = self.store.list(&names::of_host(host))?;
        Ok(listed.into_iter().map(|of| (of.name.to_string(), of.bytes)).collect())
    }

    /// The store with the objects.
    #[must_use]
    pub fn store(&self) -> &dyn Store {
        &*self.store
    }

    /// Warnings from operations that succeeded: of the store, of objects of which an older version was used, of
    /// receipts that were left out, and of links that were not restored.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let replaced = self.replaced.lock().unwrap_or_else(PoisonError::into_inner);
        let used = |(object, version): (&String, &String)| {
            format!(
                "{object} is damaged, replaced or hidden in {}; its older version {version} is intact and was used",
                self.store.location()
            )
        };
        let unused = self.unused.lock().unwrap_or_else(PoisonError::into_inner);
        let left_out = |(object, reason): (&String, &String)| format!("{object} was left out: {reason}");
        let own = replaced.iter().map(used).chain(unused.iter().map(left_out));
        self.store.warnings().into_iter().chain(own).collect()
    }

    /// Warns that a receipt cannot be used, or that a link is not restored.
    pub(crate) fn leave_out(&self, object: String, reason: String) {
        self.unused.lock().unwrap_or_else(PoisonError::into_inner).insert(object, reason);
    }

    /// Names of the hosts that have receipts.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn hosts(&self) -> Result<Vec<String>, Error> {
        // The names of all objects of all hosts would be millions.
        let mut hosts = self.store.children(names::HOSTS)?;
        hosts.retain(|host| names::is_host(host));
        let mut with_receipts = Vec::new();
        for host in hosts {
            let listed = self.store.list(&names::receipts(&host))?;
            if listed.iter().any(|listed| names::receipt_number(&host, listed.name.as_str()).is_some()) {
                with_receipts.push(host);
            }
        }
        Ok(with_receipts)
    }

    /// Resolves a host: the named one, or the only one in the repository.
    ///
    /// # Errors
    /// [`Error::Host`].
    pub fn host(&self, named: Option<&str>) -> Result<String, Error> {
        if let Some(host) = named {
            return Ok(host.to_owned());
        }
        let unclear = |reason: String| Error::Host { location: self.store.location(), reason };
        match self.hosts()?.as_slice() {
            [only] => Ok(only.clone()),
            [] => Err(unclear("it has no backups".to_owned())),
            several => Err(unclear(format!("it has backups of several hosts, so name one: {}", several.join(", ")))),
        }
    }

    /// The error that a host has no such backup.
    pub(crate) fn no_backup(&self, host: &str, wanted: &str) -> Error {
        Error::NoBackup { location: self.store.location(), host: host.to_owned(), wanted: wanted.to_owned() }
    }

    /// Refuses a document of another repository.
    pub(crate) fn check_id(&self, object: &str, id: &str) -> Result<(), Error> {
        if id == self.id {
            return Ok(());
        }
        let reason = "it was written for another repository".to_owned();
        Err(Error::Untrusted { object: object.to_owned(), reason })
    }
}

/// Puts the description of an existing repository again. A store that accepts it would also replace backups.
fn refuses_again(store: &dyn Store, description: &[u8]) -> Result<(), Error> {
    let put = store.put_new(&name(names::REPOSITORY)?, &mut Cursor::new(description), description.len() as u64)?;
    if put == Put::New { Err(Error::ReplacingStore { location: store.location() }) } else { Ok(()) }
}

/// Reads the id of the repository in a store.
fn read_id(store: &dyn Store) -> Result<String, Error> {
    let location = store.location();
    let Some(bytes) = read(store, names::REPOSITORY, repository::MAX_BYTES)? else {
        return Err(Error::NoRepository { location });
    };
    let description = RepositoryDescription::parse(&bytes);
    Ok(description.map_err(|error| Error::Repository { location, reason: error.to_string() })?.id)
}

#[cfg(test)]
pub(crate) mod tests {
    use archive::{
        Digest,
        names::Number,
        receipt::NAMESPACE,
        sshsig::{self, SigningKey},
    };
    use store::Directory;

    use super::*;

    /// A repository in a directory, and the key of its host db1.
    pub(crate) struct TestRepository {
        _directory: tempfile::TempDir,
        pub(crate) repository: Repository,
        pub(crate) key: SigningKey,
    }

    impl TestRepository {
        pub(crate) fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            let store = Directory::make(&directory.path().join("repository")).unwrap();
            Repository::create(&store).unwrap();
            let repository = Repository::open(Box::new(store)).unwrap();
            Self { _directory: directory, repository, key: SigningKey::generate().unwrap() }
        }

        /// The bytes of a receipt of a backup without packs.
        pub(crate) fn receipt(&self, number: Number) -> Vec<u8> {
            let (id, sha256) = (&self.repository.id, Digest::compute(b""));
            let text = format!(
                r#"{{"schema":"sealant.receipt/1","repo":"{id}","host":"db1","number":{number},"kind":"backup",
                "began":"2026-11-23T01:00:00Z","ended":"2026-11-23T01:00:00Z","full":true,"provider":"stopped",
                "manifest":{{"sha256":"{sha256}","bytes":1}},"packs":[],
                "bytes":{{"data":0,"read":0,"changed":0,"stored":0}},
                "pages":{{"seen":0,"changed":0,"damaged":0,"unproven":0}},"recipients":[],"tool":"sealant"}}"#
            );
            text.into_bytes()
        }

        pub(crate) fn put(&self, object: &str, bytes: &[u8]) {
            let length = bytes.len() as u64;
            let put = self.repository.store().put_new(&name(object).unwrap(), &mut Cursor::new(bytes), length);
            assert_eq!(put.unwrap(), Put::New);
        }

        /// Puts a receipt and its signature under the names for a number; returns its SHA-256.
        pub(crate) fn put_signed(&self, number: Number, receipt: &[u8]) -> Digest {
            let signature = sshsig::sign(&self.key, NAMESPACE, receipt);
            self.put(&names::signature("db1", number), signature.as_bytes());
            self.put(&names::receipt("db1", number), receipt);
            Digest::compute(receipt)
        }
    }
}
