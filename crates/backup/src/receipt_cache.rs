//! A store with a cache on this host, for receipts, signatures and declarations of prunes.
//!
//! These objects never change, and each request to a distant store takes long. An object is taken from the cache only
//! if a listing of this run matches it in name, length, time of the put, and entity tag. So a replaced object is read
//! again, and a removed object is not found. Signatures are verified as if the object had been read. Stores without
//! entity tags, such as directories, are read directly.

mod file;

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    io::{Cursor, Read},
    ops::Range,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use archive::{Digest, names};
use store::{Error as StoreError, Listed, Name, Store, s3::S3Fault};

use self::file::CacheFile;

/// Name of the subdirectory of the state directory.
const DIRECTORY: &str = "receipt-cache";
/// Beginning of the name of a host's file.
const OF_HOST: &str = "host-";
/// Maximum length of a cached object.
const MAX_OBJECT_BYTES: u64 = 8 << 20;
/// Maximum length of all files of a repository's cache.
const MAX_BYTES: u64 = 1 << 30;

/// A store with a cache.
pub(crate) struct CachedStore {
    inner: Box<dyn Store>,
    directory: PathBuf,
    caches: Mutex<Vec<Cache>>,
}

/// The cache of one host's receipts, or of the declarations.
struct Cache {
    group: String,
    /// Objects of this cache in the latest listings.
    listed: HashMap<Name, Listed>,
    /// Prefixes of these listings.
    prefixes: BTreeSet<String>,
    file: CacheFile,
}

impl Cache {
    /// Whether the listings cover all objects that the file may contain.
    fn is_whole(&self) -> bool {
        let has = |prefix: &str| self.prefixes.contains(prefix);
        match self.group.strip_prefix(OF_HOST) {
            Some(host) => has(&names::of_host(host)) || has(&names::receipts(host)) && has(&names::binlogs(host)),
            None => has(names::PRUNES),
        }
    }
}

impl CachedStore {
    /// Wraps the store of the repository `id`. `state` is the state directory. If nothing can be written there, the
    /// store is read directly.
    pub(crate) fn new(inner: Box<dyn Store>, state: &Path, id: &str) -> Self {
        Self { inner, directory: state.join(DIRECTORY).join(id), caches: Mutex::new(Vec::new()) }
    }

    fn caches(&self) -> MutexGuard<'_, Vec<Cache>> {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a listing in the cache of its group.
    fn remember(&self, group: &str, prefix: &str, listed: &[Listed]) {
        let mut caches = self.caches();
        // Hosts are read one after the other, so the cache of only one host stays open.
        caches.retain(|cache| cache.group == group || is_declarations(&cache.group) || is_declarations(group));
        // A store without entity tags needs no file.
        let is_needed = listed.iter().any(is_kept);
        if is_needed && !caches.iter().any(|cache| cache.group == group) {
            let file = CacheFile::open(&self.directory, group, MAX_BYTES);
            caches.push(Cache { group: group.to_owned(), listed: HashMap::new(), prefixes: BTreeSet::new(), file });
        }
        let Some(cache) = caches.iter_mut().find(|cache| cache.group == group) else { return };
        cache.listed.retain(|name, _| !name.as_str().starts_with(prefix));
        cache.prefixes.insert(prefix.to_owned());
        if cache.is_whole() {
            cache.file.may_drop = true;
        }
        for one in listed.iter().filter(|one| is_kept(one)) {
            cache.file.mark(&self.identity(one));
            cache.listed.insert(one.name.clone(), one.clone());
        }
    }

    /// The entry of a cacheable object in the listings of this run.
    fn listed(&self, name: &Name) -> Option<(String, Listed)> {
        let group = group(name.as_str())?;
        let caches = self.caches();
        let cache = caches.iter().find(|cache| cache.group == group)?;
        cache.listed.get(name).map(|listed| (group, listed.clone()))
    }

    /// Hash of the listing's entry for an object, and of the location of the store.
    fn identity(&self, listed: &Listed) -> Digest {
        let Listed { name, bytes, modified, etag } = listed;
        let etag = etag.as_deref().unwrap_or_default();
        Digest::compute(format!("{} {name} {bytes} {modified} {etag}", self.inner.location()).as_bytes())
    }

    /// Calls `work` with the file of a group, unless it was closed meanwhile.
    fn with_file<T>(&self, group: &str, work: impl FnOnce(&mut CacheFile) -> Option<T>) -> Option<T> {
        self.caches().iter_mut().find(|cache| cache.group == group).and_then(|cache| work(&mut cache.file))
    }
}

impl fmt::Debug for CachedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedStore").field("inner", &self.inner).field("directory", &self.directory).finish()
    }
}

impl store::Wrapper for CachedStore {
    fn inner(&self) -> &dyn Store {
        &*self.inner
    }

    fn get(&self, name: &Name, range: Option<Range<u64>>) -> Result<Box<dyn Read + Send>, StoreError> {
        let Some((group, listed)) = self.listed(name).filter(|_| range.is_none()) else {
            return self.inner.get(name, range);
        };
        let identity = self.identity(&listed);
        if let Some(bytes) = self.with_file(&group, |file| file.read(&identity)) {
            return Ok(Box::new(Cursor::new(bytes)));
        }
        let found = match self.inner.get_listed(&listed) {
            // The object was replaced after the listing.
            Err(StoreError::S3 { fault: S3Fault::Replaced, .. }) => return self.inner.get(name, None),
            found => found?,
        };
        let mut bytes = Vec::new();
        let read = found.take(listed.bytes.saturating_add(1)).read_to_end(&mut bytes);
        let failed = |source| StoreError::Io { path: name.to_string(), doing: "cannot be read", source };
        read.map_err(failed)?;
        if bytes.len() as u64 == listed.bytes {
            self.with_file(&group, |file| file.add(&identity, &bytes));
        }
        Ok(Box::new(Cursor::new(bytes)))
    }

    fn list(&self, prefix: &str) -> Result<Vec<Listed>, StoreError> {
        let listed = self.inner.list(prefix)?;
        if let Some(group) = group(prefix) {
            self.remember(&group, prefix, &listed);
        }
        Ok(listed)
    }

    fn visit(&self, prefix: &str, visit: &mut dyn FnMut(Listed)) -> Result<(), StoreError> {
        let Some(group) = group(prefix) else { return self.inner.visit(prefix, visit) };
        let mut kept = Vec::new();
        self.inner.visit(prefix, &mut |listed| {
            if is_kept(&listed) {
                kept.push(listed.clone());
            }
            visit(listed);
        })?;
        self.remember(&group, prefix, &kept);
        Ok(())
    }
}

/// Name of the file that keeps objects of this name or prefix: one for each host, and one for the declarations.
fn group(name: &str) -> Option<String> {
    if name.starts_with(names::PRUNES) {
        return Some(names::PRUNES.trim_end_matches('/').to_owned());
    }
    names::host(name).map(|host| format!("{OF_HOST}{host}"))
}

fn is_declarations(group: &str) -> bool {
    group == names::PRUNES.trim_end_matches('/')
}

/// Whether an object is cached: a receipt, a declaration or a signature of either, with an entity tag.
fn is_kept(listed: &Listed) -> bool {
    let name = listed.name.as_str();
    let is_document = name.ends_with(names::RECEIPT) || name.ends_with(names::SIGNATURE);
    is_document && listed.etag.is_some() && listed.bytes <= MAX_OBJECT_BYTES
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeMap,
        fs,
        sync::{
            Arc,
            atomic::{AtomicU64, Ordering},
        },
    };

    use jiff::Timestamp;
    use store::{Body, Deletion, Put};

    use super::*;

    /// A store in memory with entity tags, which counts what is read from it.
    #[derive(Clone, Debug, Default)]
    struct Remote {
        objects: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
        reads: Arc<AtomicU64>,
    }

    impl Remote {
        fn set(&self, name: &str, bytes: &[u8]) {
            self.objects.lock().unwrap().insert(name.to_owned(), bytes.to_vec());
        }

        fn reads(&self) -> u64 {
            self.reads.swap(0, Ordering::Relaxed)
        }
    }

    impl Store for Remote {
        fn put_new(&self, _: &Name, _: &mut dyn Body, _: u64) -> Result<Put, StoreError> {
            unreachable!("nothing is put")
        }

        fn get(&self, name: &Name, _: Option<Range<u64>>) -> Result<Box<dyn Read + Send>, StoreError> {
            self.reads.fetch_add(1, Ordering::Relaxed);
            let found = self.objects.lock().unwrap().get(name.as_str()).cloned();
            let missing = || StoreError::Missing { location: self.location(), name: name.clone() };
            Ok(Box::new(Cursor::new(found.ok_or_else(missing)?)))
        }

        fn head(&self, _: &Name) -> Result<Option<u64>, StoreError> {
            unreachable!("nobody asks")
        }

        fn list(&self, prefix: &str) -> Result<Vec<Listed>, StoreError> {
            let objects = self.objects.lock().unwrap();
            let found = objects.iter().filter(|(name, _)| name.starts_with(prefix)).map(|(name, body)| Listed {
                name: name.parse().unwrap(),
                bytes: body.len() as u64,
                modified: Timestamp::UNIX_EPOCH,
                etag: Some(Digest::compute(body).to_string().into()),
            });
            Ok(found.collect())
        }

        fn delete(&self, _: &Name) -> Result<Deletion, StoreError> {
            unreachable!("nothing is deleted")
        }

        fn location(&self) -> String {
            "memory".to_owned()
        }
    }

    fn read(store: &CachedStore, name: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        store.get(&name.parse().unwrap(), None).unwrap().read_to_end(&mut bytes).unwrap();
        bytes
    }

    fn receipt(number: u64) -> String {
        names::receipt("db1", number)
    }

    /// Reads the receipts that are listed, in a new run.
    fn read_all(remote: &Remote, state: &Path) -> Vec<Vec<u8>> {
        let store = CachedStore::new(Box::new(remote.clone()), state, "id");
        let listed = store.list(&names::of_host("db1")).unwrap();
        listed.iter().map(|listed| read(&store, listed.name.as_str())).collect()
    }

    fn cache_file(state: &Path) -> PathBuf {
        state.join(DIRECTORY).join("id").join("host-db1")
    }

    #[test]
    fn a_receipt_is_read_once_unless_it_was_replaced() {
        let (state, remote) = (tempfile::tempdir().unwrap(), Remote::default());
        (1..=9).for_each(|number| remote.set(&receipt(number), format!("receipt {number}").as_bytes()));
        let first = read_all(&remote, state.path());
        assert_eq!((first.len(), remote.reads()), (9, 9));
        assert_eq!((read_all(&remote, state.path()), remote.reads()), (first, 0));
        remote.set(&receipt(4), b"forged! 4");
        let second = read_all(&remote, state.path());
        assert_eq!((second[3].as_slice(), remote.reads()), (b"forged! 4".as_slice(), 1));
        remote.objects.lock().unwrap().remove(&receipt(4));
        assert_eq!((read_all(&remote, state.path()).len(), remote.reads()), (8, 0));
        let store = CachedStore::new(Box::new(remote), state.path(), "id");
        store.list(&names::receipts("db1")).unwrap();
        assert!(matches!(store.get(&receipt(4).parse().unwrap(), None), Err(StoreError::Missing { .. })));
    }

    #[test]
    fn without_a_listing_the_store_is_read() {
        let (state, remote) = (tempfile::tempdir().unwrap(), Remote::default());
        remote.set(&receipt(1), b"one");
        read_all(&remote, state.path());
        remote.reads();
        let store = CachedStore::new(Box::new(remote.clone()), state.path(), "id");
        assert_eq!((read(&store, &receipt(1)), remote.reads()), (b"one".to_vec(), 1));
        let other = CachedStore::new(Box::new(remote.clone()), state.path(), "another-repository");
        other.list(&names::receipts("db1")).unwrap();
        assert_eq!((read(&other, &receipt(1)), remote.reads()), (b"one".to_vec(), 1));
    }

    #[test]
    fn a_damaged_cache_is_ignored_and_written_again() {
        let (state, remote) = (tempfile::tempdir().unwrap(), Remote::default());
        (1..=9).for_each(|number| remote.set(&receipt(number), format!("receipt {number}").as_bytes()));
        let expected = read_all(&remote, state.path());
        let path = cache_file(state.path());
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x40;
            fs::write(&path, &damaged).unwrap();
            assert_eq!(read_all(&remote, state.path()), expected, "byte {at}");
        }
        for length in 0..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            assert_eq!(read_all(&remote, state.path()), expected, "{length} bytes");
        }
        remote.reads();
        assert_eq!((read_all(&remote, state.path()), remote.reads()), (expected, 0));
    }

    #[test]
    fn what_is_gone_is_dropped_and_the_size_is_bounded() {
        let (state, remote) = (tempfile::tempdir().unwrap(), Remote::default());
        let body = |number: u64| vec![u8::try_from(number).unwrap(); 100_000];
        (1..=9).for_each(|number| remote.set(&receipt(number), &body(number)));
        read_all(&remote, state.path());
        let length = || fs::metadata(cache_file(state.path())).unwrap().len();
        assert!(length() > 900_000);
        remote.objects.lock().unwrap().retain(|name, _| *name == receipt(9));
        read_all(&remote, state.path());
        assert!((100_000..200_000).contains(&length()), "{}", length());
        remote.reads();
        assert_eq!((read_all(&remote, state.path()), remote.reads()), (vec![body(9)], 0));

        let mut file = CacheFile::open(state.path(), "small", 1000);
        let identity = Digest::compute(b"some");
        assert!(file.add(&identity, &[7; 500]).is_some() && file.add(&identity, &[7; 500]).is_none());
    }

    #[test]
    fn a_listing_of_a_part_drops_nothing_of_the_rest() {
        let (state, remote) = (tempfile::tempdir().unwrap(), Remote::default());
        (1..=9).for_each(|number| remote.set(&receipt(number), &[7; 100_000]));
        remote.set(&names::binlog_receipt("db1", "server", 1), b"binlogs");
        read_all(&remote, state.path());
        remote.reads();
        let store = CachedStore::new(Box::new(remote.clone()), state.path(), "id");
        store.list(&names::binlogs("db1")).unwrap();
        drop(store);
        assert_eq!((read_all(&remote, state.path()).len(), remote.reads()), (10, 0));
    }

    #[test]
    fn a_store_without_entity_tags_needs_no_file() {
        let (state, directory) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let inner = store::Directory::open(directory.path()).unwrap();
        inner.put_new(&receipt(1).parse().unwrap(), &mut Cursor::new(b"one"), 3).unwrap();
        let store = CachedStore::new(Box::new(inner), state.path(), "id");
        assert_eq!(store.list(&names::receipts("db1")).unwrap().len(), 1);
        assert_eq!(read(&store, &receipt(1)), b"one");
        assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
    }

    #[test]
    fn packs_are_not_kept() {
        let (state, remote) = (tempfile::tempdir().unwrap(), Remote::default());
        let pack = names::pack("db1", &Digest::compute(b"pack"));
        remote.set(&pack, b"pack");
        for _ in 0..2 {
            let store = CachedStore::new(Box::new(remote.clone()), state.path(), "id");
            store.list(&names::of_host("db1")).unwrap();
            assert_eq!((read(&store, &pack), remote.reads()), (b"pack".to_vec(), 1));
        }
    }
}
