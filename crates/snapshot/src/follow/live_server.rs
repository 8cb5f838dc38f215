//! A server and the location of its files. Copies the files that are handled in the same way for MariaDB and MySQL.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs::{self, File, Metadata},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    time::SystemTime,
};

use files::regular::{self, Links};
use innodb::{
    binlog::LogPosition,
    binlog::{MAGIC_ENCRYPTED, MYSQL_HEADER_BYTES},
    server_file,
};

use super::{
    Job,
    copy::{Copier, Item},
    ddl_log,
    session::Session,
    version::Version,
};
use crate::{
    error::Error,
    external::{ExternalFiles, is_tablespace},
    listing::Listing,
};

/// Number of threads that copy files.
pub(super) const THREADS: usize = 4;

/// A server, and what is known of its files.
pub(super) struct LiveServer<'a> {
    pub(super) session: Session,
    pub(super) datadir: &'a Path,
    external: &'a [ExternalFiles],
    pub(super) page_bytes: usize,
    /// Path and base name of the binary logs; `None` if the server writes none.
    pub(super) binary_log: Option<PathBuf>,
}

impl<'a> LiveServer<'a> {
    pub(super) fn open(job: &Job<'a>) -> Result<Self, Error> {
        let (datadir, external) = (job.datadir, job.external);
        let mut session = Session::open(job.account)?;
        session.check_supported()?;
        session.wait_for_locks(job.lock_wait)?;
        let found = session.value("SELECT @@datadir AS datadir", "datadir")?.unwrap_or_default();
        let found = PathBuf::from(found);
        if fs::canonicalize(&found).ok().as_deref() != Some(datadir) {
            return Err(Error::OtherServer { found, expected: datadir.to_owned() });
        }
        let page_bytes = session.value("SELECT @@innodb_page_size AS bytes", "bytes")?;
        let page_bytes = page_bytes.and_then(|bytes| bytes.parse().ok()).ok_or(Error::NoAnswer("page size"))?;
        let binary_log = session.value("SELECT @@log_bin_basename AS base", "base")?.map(PathBuf::from);
        Ok(Self { session, datadir, external, page_bytes, binary_log })
    }

    /// All files that the server has now, the largest first.
    pub(super) fn items(&self) -> Result<Vec<Item>, Error> {
        let listing = Listing::scan(self.datadir)?;
        let inside = listing.files.into_iter().map(|to| (to.clone(), self.datadir.join(&to)));
        let mut files: BTreeMap<PathBuf, PathBuf> = inside.collect();
        for external in self.external {
            // The server uses its external files; those of the same name in the data directory are left from before
            // they were moved.
            files.extend(external.files()?.into_iter().map(|file| (file.to, file.from)));
        }
        let mut items: Vec<Item> = files.into_iter().map(|(to, from)| Item { from, to }).collect();
        let bytes = |item: &Item| fs::metadata(&item.from).map_or(0, |metadata| metadata.len());
        items.sort_by_cached_key(|item| std::cmp::Reverse(bytes(item)));
        Ok(items)
    }

    /// Copies everything while commits continue. Files that are not tablespaces and stay unchanged need not be copied
    /// again while commits wait.
    pub(super) fn copy_first(&self, copier: &Copier<'_>, items: &[Item]) -> Result<Copied, Error> {
        let mut copied = Copied { began: SystemTime::now(), versions: BTreeMap::new() };
        let (tablespaces, others): (Vec<Item>, Vec<Item>) = items
            .iter()
            .filter(|item| is_tablespace(&item.to) || self.is_other(item))
            .cloned()
            .partition(|item| is_tablespace(&item.to));
        let bytes = |item: &Item| fs::metadata(&item.from).map_or(0, |metadata| metadata.len());
        copier.progress.begin(tablespaces.iter().chain(&others).map(bytes).sum());
        for (items, pages) in [(tablespaces, true), (others, false)] {
            let versions = copier.copy_all(&items, pages, THREADS)?;
            let paths = items.into_iter().map(|item| item.to);
            copied.versions.extend(paths.zip(versions).filter_map(|(path, version)| Some((path, version?))));
        }
        Ok(copied)
    }

    /// Whether a file is copied as a whole: not a tablespace, not a log that is copied by position, and not a file of
    /// the backup itself.
    pub(super) fn is_other(&self, item: &Item) -> bool {
        let name = item.to.file_name().unwrap_or_default();
        !is_tablespace(&item.to)
            && !server_file::is_redo(name)
            && name != ddl_log::NAME
            && !is_doublewrite(name)
            && !self.is_binary_log(&item.from)
    }

    fn is_binary_log(&self, path: &Path) -> bool {
        let Some(base) = &self.binary_log else { return false };
        let name = |path: &Path| path.file_name().and_then(OsStr::to_str).map(str::to_owned);
        let (Some(name), Some(base_name)) = (name(path), name(base)) else { return false };
        path.parent() == base.parent() && server_file::is_log_of(&name, &base_name)
    }

    /// Copies the newest binary log up to the position, as the only one: from it recovery decides which prepared
    /// transactions to commit. Bytes copied earlier are not read again, since a binary log is only appended to.
    pub(super) fn copy_binary_log(
        &self,
        copier: &Copier<'_>,
        position: &LogPosition,
        before: Option<CopiedLog>,
    ) -> Result<Option<CopiedLog>, Error> {
        let Some(base) = &self.binary_log else { return Ok(None) };
        let (from, name) = (base.with_file_name(&position.file), Path::new(&position.file));
        let source = regular::open(&from, Links::Followed).map_err(Error::copying(&from))?;
        let like = source.metadata().map_err(Error::copying(&from))?;
        let id = Version::from_metadata(&like).id;
        let (to, copied) = match before {
            Some(before) if (&*before.name, before.id) == (&*position.file, id) => (before.to, before.bytes),
            Some(before) => {
                remove_if_there(&copier.root.join(before.name))?;
                (copier.create(name)?, 0)
            }
            None => (copier.create(name)?, 0),
        };
        let bytes = position.offset + header_bytes(&source).map_err(Error::copying(&from))?;
        copy_range(&source, &to, copied, bytes).map_err(Error::copying(&from))?;
        copier.counts.last_log_bytes.store(bytes.saturating_sub(copied), Ordering::Relaxed);
        copier.finish(name, &to, &like, bytes)?;
        self.write_index(copier, position, &like)?;
        Ok(Some(CopiedLog { name: position.file.clone(), id, bytes, to, _from: source }))
    }

    fn write_index(&self, copier: &Copier<'_>, position: &LogPosition, like: &Metadata) -> Result<(), Error> {
        let Some(base) = &self.binary_log else { return Ok(()) };
        let index = base.with_extension("index");
        let index = Path::new(index.file_name().unwrap_or_default());
        let (line, to) = (format!("./{}\n", position.file), copier.create(index)?);
        io::Write::write_all(&mut &to, line.as_bytes()).map_err(Error::copying(index))?;
        copier.finish(index, &to, like, line.len() as u64)
    }
}

/// A binary log that was copied up to a position.
pub(super) struct CopiedLog {
    name: String,
    /// Device and inode.
    id: (u64, u64),
    /// Bytes in the copy.
    bytes: u64,
    to: File,
    /// Kept open so that no other log gets its inode.
    _from: File,
}

/// Files that were copied while nothing waited.
pub(super) struct Copied {
    began: SystemTime,
    pub(super) versions: BTreeMap<PathBuf, Version>,
}

impl Copied {
    pub(super) fn is_same_file(&self, item: &Item) -> bool {
        let now = fs::metadata(&item.from).ok().map(|metadata| Version::from_metadata(&metadata).id);
        now.is_some() && now == self.versions.get(&item.to).map(|version| version.id)
    }

    pub(super) fn is_unchanged(&self, item: &Item) -> bool {
        let now = fs::metadata(&item.from).ok().map(|metadata| Version::from_metadata(&metadata));
        now.is_some_and(|now| self.versions.get(&item.to) == Some(&now) && now.is_older_than(self.began))
    }
}

/// Removes copies of files that no longer exist.
pub(super) fn remove_deleted(copier: &Copier<'_>, items: &[Item], copied: &Copied) -> Result<(), Error> {
    let there: BTreeSet<&PathBuf> = items.iter().map(|item| &item.to).collect();
    for gone in copied.versions.keys().filter(|path| !there.contains(path)) {
        let path = copier.root.join(gone);
        remove_if_there(&path)?;
    }
    Ok(())
}

fn remove_if_there(path: &Path) -> Result<(), Error> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::copying(path)(error)),
        _ => Ok(()),
    }
}

/// Whether a file is MySQL's doublewrite buffer. It is not copied: its pages are of another moment, and the copy has no
/// torn pages.
fn is_doublewrite(name: &OsStr) -> bool {
    name.to_str().is_some_and(server_file::is_doublewrite)
}

/// Bytes at the start of a binary log that positions do not count: the header of an encrypted log of MySQL.
fn header_bytes(binary_log: &File) -> io::Result<u64> {
    let mut found = [0; MAGIC_ENCRYPTED.len()];
    binary_log.read_exact_at(&mut found, 0)?;
    Ok(if found == *MAGIC_ENCRYPTED { MYSQL_HEADER_BYTES as u64 } else { 0 })
}

/// Copies the bytes from `start` to `end`.
fn copy_range(from: &File, to: &File, start: u64, end: u64) -> io::Result<()> {
    let wanted = end.checked_sub(start).ok_or(io::ErrorKind::InvalidInput)?;
    let (mut from, mut to) = (from, to);
    from.seek(SeekFrom::Start(start))?;
    to.seek(SeekFrom::Start(start))?;
    let copied = io::copy(&mut from.take(wanted), &mut to)?;
    if copied == wanted { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
