//! Reading of objects. What a receipt names is compared with it. If the newest version of an object is not the one of
//! the receipt, an older one takes its place.

use std::{
    io::{self, BufReader, Read},
    ops::Range,
    sync::PoisonError,
};

use agefile::{Decryptor, Identity};
use archive::{Error as ArchiveError, HashingStream, Manifest, manifest::Lists, pack::MAX_PACK_BYTES, receipt::Object};
use store::{Error as StoreError, Name, Store, Version, s3::S3Fault};

use super::Repository;
use crate::Error;

/// Maximum number of older versions of an object that are read. The first version is Sealant's own.
const MOST_VERSIONS_READ: usize = 8;
/// Bytes that are read and hashed at a time.
const PIECE_BYTES: usize = 256 << 10;

impl Repository {
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
}

/// Whether a store answers so if it has no list of versions: some refuse the request, others answer with a list of
/// objects.
const fn lists_no_versions(fault: &S3Fault) -> bool {
    matches!(fault, S3Fault::Denied { .. } | S3Fault::Refused { .. } | S3Fault::Answer(_))
}

/// Decrypts and parses a manifest. Its lists are kept in `lists`.
pub(crate) fn read_manifest(input: impl Read, identities: &[Identity], lists: Lists) -> Result<Manifest, ArchiveError> {
    let zstd = zstd::Decoder::with_buffer(Decryptor::new(input, identities)?)?;
    Manifest::read_with(&mut BufReader::new(zstd), lists)
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
    filled.map_err(|source| Error::of_object(object, source.into()))?;
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
    filled.map_err(|source| Error::of_object(object, source.into()))?;
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
    rest.map_err(|source| Error::of_object(object, source.into()))?;
    let (_, found, found_bytes) = read.finish();
    if (found, found_bytes) == (expected.sha256, expected.bytes) {
        return Ok(());
    }
    let source = ArchiveError::Digest { expected: expected.sha256, found, bytes: expected.bytes, found_bytes };
    Err(Error::Object { object: object.to_owned(), source })
}

/// Reads an object of at most `most_bytes` bytes; `None` if it does not exist.
pub(crate) fn read(store: &dyn Store, object: &str, most_bytes: u64) -> Result<Option<Vec<u8>>, Error> {
    let input = match store.get(&name(object)?, None) {
        Err(StoreError::Missing { .. }) => return Ok(None),
        input => input?,
    };
    let mut bytes = Vec::new();
    let read = input.take(most_bytes).read_to_end(&mut bytes);
    read.map_err(|source| Error::of_object(object, source.into()))?;
    Ok(Some(bytes))
}

/// Converts a name that this program built.
pub(crate) fn name(text: &str) -> Result<Name, Error> {
    text.parse().map_err(|error: store::InvalidName| Error::Archive(ArchiveError::Io(io::Error::other(error))))
}

/// Whether the store denied access.
pub(crate) fn is_denied(error: &Error) -> bool {
    matches!(error, Error::Store(error) if error.is_denied())
}

#[cfg(test)]
mod tests {
    use std::{
        io::Cursor,
        sync::atomic::{AtomicU64, Ordering},
    };

    use archive::{Digest, names};
    use store::Directory;

    use super::*;

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
