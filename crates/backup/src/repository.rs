//! A repository: its description, and the receipts of its hosts.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, BufReader, Cursor, Read},
    ops::Range,
    path::Path,
    sync::{Mutex, PoisonError},
};

use agefile::{Decryptor, Identity};
use archive::{
    Digest, Error as ArchiveError, HashingStream, Manifest, Receipt, RepositoryDescription,
    chain::Link,
    names::{self, Number},
    pack::MAX_PACK_BYTES,
    receipt::{self, NAMESPACE, Object},
    repository,
    sshsig::{AllowedSigners, MAX_SIGNATURE_BYTES, PublicKey, Signature},
};
use jiff::Timestamp;
use store::{Error as StoreError, Name, Put, Store, Version, s3::S3Fault};

use crate::{Error, paced::PacedStore, receipt_cache::CachedStore};

/// Maximum number of older versions of an object that are read. The first version is Sealant's own.
const MOST_VERSIONS_READ: usize = 8;
/// Bytes that are read and hashed at a time.
const PIECE_BYTES: usize = 256 << 10;

/// A receipt in a repository.
#[derive(Debug)]
pub struct StoredReceipt {
    /// SHA-256 of the stored bytes.
    pub sha256: Digest,
    /// The receipt, parsed from these bytes.
    pub receipt: Receipt,
    /// The stored bytes, for which the signature was made.
    pub bytes: Vec<u8>,
}

impl StoredReceipt {
    /// The receipt without its list of packs.
    #[must_use]
    pub fn link(&self) -> Link {
        Link { sha256: self.sha256, receipt: self.receipt.summary() }
    }
}

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

    /// Whether an existing object is the one that this host wanted to put: the store's answer to an earlier attempt may
    /// have been lost. A host that may not read assumes that it is.
    pub(crate) fn is_ours(&self, object: &str, expected: Object) -> Result<bool, Error> {
        if !self.may_read {
            return Ok(true);
        }
        match check_sum(object, self.object(object)?, expected) {
            Err(Error::Object { source: ArchiveError::Digest { .. }, .. }) => Ok(false),
            checked => checked.map(|()| true),
        }
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

    /// Numbers of a host's receipts, in order, and all numbers in use.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn numbers(&self, host: &str) -> Result<(Vec<Number>, BTreeSet<Number>), Error> {
        let listed = self.store.list(&names::receipts(host))?;
        let found: Vec<_> = listed.iter().filter_map(|of| names::receipt_number(host, of.name.as_str())).collect();
        // An interrupted run may have left a manifest without a receipt.
        let manifests = self.store.list(&names::manifests(host))?;
        let manifests = manifests.iter().filter_map(|of| names::manifest_number(host, of.name.as_str()));
        let used = found.iter().map(|(number, _)| *number).chain(manifests).collect();
        let numbers: BTreeMap<_, _> = found.into_iter().filter(|(_, is_receipt)| *is_receipt).collect();
        Ok((numbers.into_keys().collect(), used))
    }

    /// A receipt; `None` if it does not exist.
    ///
    /// # Errors
    /// [`Error::Object`], [`Error::Store`].
    pub fn receipt(&self, host: &str, number: Number) -> Result<Option<StoredReceipt>, Error> {
        self.judged_receipt(host, number, None)
    }

    /// A receipt; `None` if it does not exist. If `signers` are given, one of them must have signed it; only then is it
    /// parsed.
    ///
    /// # Errors
    /// [`Error::Untrusted`], [`Error::Object`], [`Error::Store`]; [`receipt_fault`] distinguishes them.
    pub(crate) fn judged_receipt(
        &self,
        host: &str,
        number: Number,
        signers: Option<&AllowedSigners>,
    ) -> Result<Option<StoredReceipt>, Error> {
        let object = names::receipt(host, number);
        let Some(bytes) = read(&*self.store, &object, receipt::MAX_BYTES)? else { return Ok(None) };
        if let Some(signers) = signers {
            self.judge(host, number, &bytes, signers)?;
        }
        let unusable = |source| Error::Object { object: object.clone(), source };
        let receipt = Receipt::parse(&bytes).map_err(unusable)?;
        if (receipt.repo.as_str(), receipt.host.as_str(), receipt.number) != (self.id.as_str(), host, number) {
            let reason = "it was written for another name, host or repository".to_owned();
            return Err(Error::Untrusted { object, reason });
        }
        Ok(Some(StoredReceipt { sha256: Digest::compute(&bytes), receipt, bytes }))
    }

    /// Verifies that the receipt is signed by an allowed signer of the host. Returns the signer's key.
    ///
    /// # Errors
    /// [`Error::Untrusted`].
    pub fn judge(
        &self,
        host: &str,
        number: Number,
        receipt: &[u8],
        signers: &AllowedSigners,
    ) -> Result<PublicKey, Error> {
        self.judge_object(&names::signature(host, number), host, receipt, signers)
    }

    /// Like [`Self::judge`], for any receipt of the host; `object` is the name of the signature.
    pub(crate) fn judge_object(
        &self,
        object: &str,
        host: &str,
        receipt: &[u8],
        signers: &AllowedSigners,
    ) -> Result<PublicKey, Error> {
        let signer = self.signer(object, (host, NAMESPACE), receipt, signers)?;
        signer.map_err(|reason| Error::Untrusted { object: object.to_owned(), reason })
    }

    /// Returns the key that has signed a document, or what is wrong with the signature: the object `signature`, by
    /// `principal` for `namespace`.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub(crate) fn signer(
        &self,
        signature: &str,
        (principal, namespace): (&str, &str),
        document: &[u8],
        signers: &AllowedSigners,
    ) -> Result<Result<PublicKey, String>, Error> {
        let Some(text) = read(&*self.store, signature, MAX_SIGNATURE_BYTES as u64)? else {
            return Ok(Err("there is no signature".to_owned()));
        };
        Ok(Signature::parse(&text).map_err(|fault| fault.to_string()).and_then(|signature| {
            let key = signature.verify(namespace, document).map_err(|fault| fault.to_string())?;
            signers.allow(key, principal, namespace).map_err(|fault| fault.to_string())?;
            Ok(*key)
        }))
    }

    /// Refuses a document of another repository.
    pub(crate) fn check_id(&self, object: &str, id: &str) -> Result<(), Error> {
        if id == self.id {
            return Ok(());
        }
        let reason = "it was written for another repository".to_owned();
        Err(Error::Untrusted { object: object.to_owned(), reason })
    }

    /// Opens an object for reading.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub fn object(&self, object: &str) -> Result<HashingStream<Box<dyn Read + Send>>, Error> {
        Ok(HashingStream::new(self.store.get(&name(object)?, None)?))
    }

    /// Opens a version of an object for reading; the newest if none is given.
    pub(crate) fn version(
        &self,
        object: &str,
        version: Option<&Version>,
    ) -> Result<HashingStream<Box<dyn Read + Send>>, Error> {
        match version {
            Some(version) => Ok(HashingStream::new(self.store.get_version(&name(object)?, version)?)),
            None => self.object(object),
        }
    }

    /// Compares an object with its receipt. If it is damaged, replaced or hidden, looks for an older version that is
    /// intact, and warns; `None` if the newest is.
    fn intact_version(&self, object: &str, expected: Object) -> Result<Option<Version>, Error> {
        match self.object(object).and_then(|read| check_sum(object, read, expected)) {
            Err(error) => self.older_instead(object, expected, error).map(Some),
            Ok(()) => Ok(None),
        }
    }

    /// Parses an object, after it was compared with its receipt as a whole. Whoever keeps the objects could answer the
    /// second request with other bytes, so what was parsed is compared, too.
    pub(crate) fn parse<T>(
        &self,
        object: &str,
        expected: Object,
        parse: impl FnOnce(&mut dyn Read) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let version = self.intact_version(object, expected)?;
        let mut read = self.version(object, version.as_ref())?;
        let parsed = parse(&mut read)?;
        check_sum(object, read, expected)?;
        Ok(parsed)
    }

    /// The older version to use instead of an object that could not be used. Warns of it.
    ///
    /// # Errors
    /// `error` if there is none, or it cannot be found.
    fn older_instead(&self, object: &str, expected: Object, error: Error) -> Result<Version, Error> {
        if !matches!(error, Error::Object { .. } | Error::Store(StoreError::Missing { .. })) {
            return Err(error);
        }
        let Ok(Some(version)) = self.older_version(object, expected) else { return Err(error) };
        let mut replaced = self.replaced.lock().unwrap_or_else(PoisonError::into_inner);
        replaced.insert(object.to_owned(), version.id.clone());
        Ok(version)
    }

    /// An older version of an object that has the hash of its receipt. `None` if there is none, the store keeps or
    /// lists none, or this user may not read them.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub(crate) fn older_version(&self, object: &str, expected: Object) -> Result<Option<Version>, Error> {
        for version in self.older_of_length(object, expected.bytes)?.into_iter().take(MOST_VERSIONS_READ) {
            match self.version(object, Some(&version)).and_then(|read| check_sum(object, read, expected)) {
                Ok(()) => return Ok(Some(version)),
                Err(Error::Object { .. } | Error::Store(StoreError::Missing { .. })) => {}
                Err(error) if is_denied(&error) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Older versions of an object with this length, oldest first. Empty if the store lists none, or this user may not
    /// list them.
    ///
    /// # Errors
    /// [`Error::Store`].
    pub(crate) fn older_of_length(&self, object: &str, bytes: u64) -> Result<Vec<Version>, Error> {
        let mut versions = match self.store.older_versions(&name(object)?) {
            Err(StoreError::S3 { fault, .. }) if lists_no_versions(&fault) => return Ok(Vec::new()),
            versions => versions?,
        };
        versions.retain(|version| version.bytes == bytes);
        Ok(versions)
    }
}

/// Whether a store answers so if it has no list of versions: some refuse the request, others answer with a list of
/// objects.
const fn lists_no_versions(fault: &S3Fault) -> bool {
    matches!(fault, S3Fault::Denied { .. } | S3Fault::Refused { .. } | S3Fault::Answer(_))
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

/// Decrypts and parses a manifest.
pub(crate) fn read_manifest(input: impl Read, identities: &[Identity]) -> Result<Manifest, ArchiveError> {
    let zstd = zstd::Decoder::with_buffer(Decryptor::new(input, identities)?)?;
    Manifest::read(&mut BufReader::new(zstd))
}

/// Reads a pack into `bytes` in one pass, since the store may be slow, and compares it with its receipt.
pub(crate) fn read_pack(
    repository: &Repository,
    object: &str,
    expected: Object,
    bytes: &mut Vec<u8>,
) -> Result<(), Error> {
    let wrong = |source: ArchiveError| Error::Object { object: object.to_owned(), source };
    if expected.bytes > MAX_PACK_BYTES {
        return Err(wrong(ArchiveError::Pack("it is longer than any pack")));
    }
    read_whole(repository, object, expected, bytes)
}

/// Reads a range of an object into `bytes`. Nothing is compared.
pub(crate) fn read_range(
    repository: &Repository,
    object: &str,
    range: Range<u64>,
    bytes: &mut Vec<u8>,
) -> Result<(), Error> {
    let wrong = |source: ArchiveError| Error::Object { object: object.to_owned(), source };
    let length = range.end.saturating_sub(range.start);
    if length > MAX_PACK_BYTES {
        return Err(wrong(ArchiveError::Pack("it is longer than any pack")));
    }
    bytes.clear();
    let input = repository.store.get(&name(object)?, Some(range))?;
    let filled = input.take(length).read_to_end(bytes);
    filled.map_err(|source| unreadable(object, source))?;
    if bytes.len() as u64 == length { Ok(()) } else { Err(wrong(ArchiveError::Pack("it is truncated"))) }
}

/// Reads an object into `bytes`, and compares it with its receipt. If the newest version is not the one of the receipt,
/// an older one that is takes its place.
pub(crate) fn read_whole(
    repository: &Repository,
    object: &str,
    expected: Object,
    bytes: &mut Vec<u8>,
) -> Result<(), Error> {
    read_version(repository, object, None, expected, bytes).or_else(|error| {
        let version = repository.older_instead(object, expected, error)?;
        read_version(repository, object, Some(&version), expected, bytes)
    })
}

fn read_version(
    repository: &Repository,
    object: &str,
    version: Option<&Version>,
    expected: Object,
    bytes: &mut Vec<u8>,
) -> Result<(), Error> {
    let mut read = repository.version(object, version)?;
    let filled = fill(&mut read, bytes, expected.bytes);
    filled.map_err(|source| unreadable(object, source))?;
    check_sum(object, read, expected)
}

/// Replaces `bytes` by at most `most_bytes` bytes of the input. Memory that `bytes` has is not set to zero again, and
/// each piece is in the processor's cache when it is hashed.
fn fill(input: &mut HashingStream<Box<dyn Read + Send>>, bytes: &mut Vec<u8>, most_bytes: u64) -> io::Result<()> {
    bytes.resize(usize::try_from(most_bytes.min(MAX_PACK_BYTES)).unwrap_or(usize::MAX), 0);
    let mut read = 0_usize;
    for piece in bytes.chunks_mut(PIECE_BYTES) {
        let mut filled = 0;
        files::fill(input, piece, &mut filled)?;
        read = read.saturating_add(filled);
        if filled < piece.len() {
            break;
        }
    }
    bytes.truncate(read);
    input.take(most_bytes.saturating_sub(read as u64)).read_to_end(bytes)?;
    Ok(())
}

/// Reads the rest of an object and compares it with its receipt.
pub(crate) fn check_sum(
    object: &str,
    read: HashingStream<Box<dyn Read + Send>>,
    expected: Object,
) -> Result<(), Error> {
    let mut read = read;
    let rest = io::copy(&mut read, &mut io::sink());
    rest.map_err(|source| unreadable(object, source))?;
    let (_, found, found_bytes) = read.finish();
    if (found, found_bytes) == (expected.sha256, expected.bytes) {
        return Ok(());
    }
    let source = ArchiveError::Digest { expected: expected.sha256, found, bytes: expected.bytes, found_bytes };
    Err(Error::Object { object: object.to_owned(), source })
}

/// What is wrong with a receipt that could not be used. Whoever may put objects may have put it, so it is no reason to
/// stop. `is_signed`: whether signatures were verified; a signed receipt that cannot be parsed is of a newer release.
///
/// # Errors
/// `error` if it is not the fault of the receipt.
pub(crate) fn receipt_fault(error: Error, is_signed: bool) -> Result<String, Error> {
    match error {
        Error::Untrusted { reason, .. } => Ok(reason),
        Error::Object { source, .. } if !is_signed && !matches!(source, ArchiveError::Io(_)) => Ok(source.to_string()),
        error => Err(error),
    }
}

/// Whether the store denied access.
pub(crate) fn is_denied(error: &Error) -> bool {
    matches!(error, Error::Store(error) if error.is_denied())
}

/// Whether an earlier attempt may have put the same receipt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attempt {
    First,
    Again,
}

/// Writes a signature, then its receipt. Returns `false` if other objects have these names.
pub(crate) fn put_signed(
    repository: &Repository,
    [signature_name, receipt_name]: &[String; 2],
    signature: &[u8],
    receipt: &[u8],
    attempt: Attempt,
) -> Result<bool, Error> {
    for (object, bytes) in [(signature_name, signature), (receipt_name, receipt)] {
        let expected = Object { sha256: Digest::compute(bytes), bytes: bytes.len() as u64 };
        let put = repository.store().put_new(&name(object)?, &mut Cursor::new(bytes), expected.bytes)?;
        let is_ours = match put {
            Put::New => true,
            Put::Exists if attempt == Attempt::First && !repository.may_read() => false,
            Put::Exists | Put::Unclear => repository.is_ours(object, expected)?,
        };
        if !is_ours {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Converts a name that this program built.
pub(crate) fn name(text: &str) -> Result<Name, Error> {
    text.parse().map_err(|error: store::InvalidName| Error::Archive(ArchiveError::Io(io::Error::other(error))))
}

/// Reads an object of at most `most_bytes` bytes; `None` if it does not exist.
pub(crate) fn read(store: &dyn Store, object: &str, most_bytes: u64) -> Result<Option<Vec<u8>>, Error> {
    let input = match store.get(&name(object)?, None) {
        Err(StoreError::Missing { .. }) => return Ok(None),
        input => input?,
    };
    let mut bytes = Vec::new();
    let read = input.take(most_bytes).read_to_end(&mut bytes);
    read.map_err(|source| unreadable(object, source))?;
    Ok(Some(bytes))
}

/// Why an object could not be read to its end. A store that fails meanwhile says nothing about the object; one that was
/// replaced meanwhile is at fault itself.
fn unreadable(object: &str, source: io::Error) -> Error {
    let source = match source.downcast::<StoreError>() {
        Ok(replaced @ StoreError::S3 { fault: S3Fault::Replaced, .. }) => io::Error::other(replaced),
        Ok(failed) => return failed.into(),
        Err(source) => source,
    };
    Error::Object { object: object.to_owned(), source: source.into() }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use archive::sshsig::{self, SigningKey};
    use store::{Body, Deletion, Directory};

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

    #[test]
    fn what_anyone_may_have_put_is_a_fault_of_the_receipt() {
        let test = TestRepository::new();
        let signers = AllowedSigners::only(test.key.public(), "db1");
        test.put_signed(1, &test.receipt(1));
        let newer = String::from_utf8(test.receipt(2)).unwrap().replace("receipt/1", "receipt/2");
        test.put_signed(2, newer.as_bytes());
        test.put(&names::receipt("db1", 3), newer.as_bytes());
        let judged =
            |number: Number, signers: Option<&AllowedSigners>| test.repository.judged_receipt("db1", number, signers);
        assert!(judged(1, Some(&signers)).unwrap().is_some() && judged(4, Some(&signers)).unwrap().is_none());
        let fault = |number: Number, signers: Option<&AllowedSigners>| {
            receipt_fault(judged(number, signers).unwrap_err(), signers.is_some())
        };
        assert!(matches!(fault(2, Some(&signers)), Err(Error::Object { .. })), "signed, and of a newer release");
        assert_eq!(fault(3, Some(&signers)).unwrap(), "there is no signature");
        assert!(fault(3, None).unwrap().contains("use a newer release"));
    }

    /// A store that answers each request for a manifest but the first with other bytes.
    #[derive(Debug)]
    struct Changing {
        inner: Directory,
        asked: AtomicU64,
    }

    impl store::Wrapper for Changing {
        fn inner(&self) -> &dyn Store {
            &self.inner
        }

        fn get(&self, name: &Name, range: Option<Range<u64>>) -> Result<Box<dyn Read + Send>, StoreError> {
            match name.as_str().contains("manifests") && self.asked.fetch_add(1, Ordering::Relaxed) > 0 {
                true => Ok(Box::new(Cursor::new(b"two"))),
                false => self.inner.get(name, range),
            }
        }
    }

    #[test]
    fn what_is_parsed_has_the_hash_of_its_receipt() {
        let directory = tempfile::tempdir().unwrap();
        let open = || Directory::make(&directory.path().join("repository")).unwrap();
        Repository::create(&open()).unwrap();
        let (object, expected) = (names::manifest("db1", 1), Object { sha256: Digest::compute(b"one"), bytes: 3 });
        open().put_new(&name(&object).unwrap(), &mut Cursor::new(b"one"), 3).unwrap();
        let parse = |store: Box<dyn Store>| {
            let read = |input: &mut dyn Read| Ok(io::read_to_string(input).unwrap());
            Repository::open(store).unwrap().parse(&object, expected, read)
        };
        assert_eq!(parse(Box::new(open())).unwrap(), "one");
        let changed = parse(Box::new(Changing { inner: open(), asked: AtomicU64::new(0) }));
        assert!(matches!(changed, Err(Error::Object { source: ArchiveError::Digest { .. }, .. })), "{changed:?}");
    }
}
