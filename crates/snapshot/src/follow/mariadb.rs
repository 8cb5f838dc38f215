//! A MariaDB server, 10.8 or newer.
//!
//! | stage | what waits | what is copied |
//! |---|---|---|
//! | `START` | nothing; each change of a definition is noted in `ddl.log` | the log from its checkpoint on, all tablespaces |
//! | `BLOCK_DDL` | changes of definitions | tablespaces that are new, or whose table was changed |
//! | `BLOCK_COMMIT` | commits | all other files, the newest binary log, the rest of the log |
//!
//! Source: `BACKUP STAGE` in MariaDB's documentation; tried on 10.11 with changes of definitions under load.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Instant, SystemTime},
};

use files::regular::{self, Links};
use innodb::{file_kind, log_copy::LogCopy};

use super::{
    Account, FollowError, Followed, Position,
    copy::{Copier, Counts, Item, Version},
    ddl_log::{self, ChangedTables},
    log::{self, End},
    session::Session,
};
use crate::{
    error::Error,
    external::{ExternalFiles, is_tablespace},
    listing::Listing,
};

/// Threads that copy tablespaces.
const THREADS: usize = 4;
const REDO_LOG: &str = "ib_logfile0";

/// What a server has, and where.
struct Server<'a> {
    session: Session,
    datadir: &'a Path,
    external: &'a [ExternalFiles],
    variables: Variables,
}

struct Variables {
    page_bytes: usize,
    /// Base name of the binary logs; none if there are none.
    binary_log: Option<PathBuf>,
}

/// Copies a server's data directory into `root`, which exists and is empty.
pub(super) fn copy(
    datadir: &Path,
    external: &[ExternalFiles],
    account: &Account,
    root: &Path,
) -> Result<Followed, Error> {
    let mut server = Server::open(datadir, external, account)?;
    server.session.run("BACKUP STAGE START")?;
    let items = server.items()?;
    let log_path = log_of(&items)?;
    let log = regular::open(&log_path, Links::Followed).map_err(FollowError::file(&log_path))?;
    let mut log_copy = LogCopy::begin(&log).map_err(FollowError::from)?;
    let mut log_session = Session::open(account)?;
    let (counts, stop, end) = (Counts::default(), AtomicBool::new(false), End::default());
    let copier = Copier { root, page_bytes: server.variables.page_bytes, counts: &counts, stop: &stop };
    let to_path = root.join(REDO_LOG);
    let to = copier.create(Path::new(REDO_LOG))?;
    let (waits, log_bytes) = thread::scope(|scope| {
        let following = scope.spawn(|| {
            let followed = log::follow(&log, &mut log_copy, &to, &to_path, &mut log_session, &end, &stop);
            followed.inspect_err(|_| stop.store(true, Ordering::Relaxed))
        });
        let cut = server.copy_files(&copier, &items, &end);
        if cut.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        let followed = following.join().unwrap_or(Err(FollowError::Stopped));
        match (cut, followed) {
            (Ok(waits), Ok(bytes)) => Ok((waits, bytes)),
            // What stopped the other one is said.
            (Err(Error::Follow(FollowError::Stopped)), Err(error)) | (Ok(_), Err(error)) => Err(error.into()),
            (Err(error), _) => Err(error),
        }
    })?;
    // The log is read up to the position that commits waited at.
    let ended = Instant::now();
    server.session.run("BACKUP STAGE END")?;
    let bytes = log::finish(&log_copy, &to, &to_path, log_bytes)?;
    let like = log.metadata().map_err(FollowError::file(&log_path))?;
    copier.finish(Path::new(REDO_LOG), &to, &like, bytes)?;
    Ok(Followed {
        start_lsn: log_copy.start().0,
        end_lsn: log_copy.position().0,
        log_bytes,
        files: counts.files.load(Ordering::Relaxed),
        bytes: counts.bytes.load(Ordering::Relaxed),
        reread_pages: counts.reread_pages.load(Ordering::Relaxed),
        damaged: counts.damaged.into_inner().unwrap_or_default(),
        copied_again: waits.copied_again,
        ddl_waited: ended.duration_since(waits.ddl_from),
        commits_waited: ended.duration_since(waits.commits_from),
        position: waits.position,
    })
}

/// Since when something waited, and what the server was at then.
struct Waits {
    ddl_from: Instant,
    commits_from: Instant,
    copied_again: u64,
    position: Position,
}

impl<'a> Server<'a> {
    fn open(datadir: &'a Path, external: &'a [ExternalFiles], account: &Account) -> Result<Self, FollowError> {
        let mut session = Session::open(account)?;
        session.check_supported()?;
        let found = session.value("SELECT @@datadir AS datadir", "datadir")?.unwrap_or_default();
        let found = PathBuf::from(found);
        if fs::canonicalize(&found).ok().as_deref() != Some(datadir) {
            return Err(FollowError::OtherServer { found, expected: datadir.to_owned() });
        }
        let page_bytes = session.value("SELECT @@innodb_page_size AS bytes", "bytes")?;
        let page_bytes = page_bytes.and_then(|bytes| bytes.parse().ok()).ok_or(FollowError::NoAnswer("page size"))?;
        let binary_log = session.value("SELECT @@log_bin_basename AS base", "base")?.map(PathBuf::from);
        Ok(Self { session, datadir, external, variables: Variables { page_bytes, binary_log } })
    }

    /// Everything that the server has now, the largest files first.
    fn items(&self) -> Result<Vec<Item>, Error> {
        let listing = Listing::scan(self.datadir)?;
        let inside = listing.files.into_iter().map(|to| (to.clone(), self.datadir.join(&to)));
        let mut files: BTreeMap<PathBuf, PathBuf> = inside.collect();
        for external in self.external {
            // What the server has elsewhere is what it uses; the same in its data directory is left from before.
            files.extend(external.files()?.into_iter().map(|file| (file.to, file.from)));
        }
        let mut items: Vec<Item> = files.into_iter().map(|(to, from)| Item { from, to }).collect();
        let bytes = |item: &Item| fs::metadata(&item.from).map_or(0, |metadata| metadata.len());
        items.sort_by_cached_key(|item| std::cmp::Reverse(bytes(item)));
        Ok(items)
    }

    /// Copies everything but the redo log, which is to reach what was committed.
    fn copy_files(&mut self, copier: &Copier<'_>, items: &[Item], end: &End) -> Result<Waits, Error> {
        let copied = self.copy_first(copier, items)?;

        self.session.run("BACKUP STAGE FLUSH")?;
        let ddl_from = Instant::now();
        self.session.run("BACKUP STAGE BLOCK_DDL")?;
        let items = self.items()?;
        let copied_again = self.copy_changed_tablespaces(copier, &items, &copied)?;
        let others: Vec<Item> = items.iter().filter(|item| self.is_other(item)).cloned().collect();
        remove_gone(copier, &items, &copied)?;

        let commits_from = Instant::now();
        self.session.run("BACKUP STAGE BLOCK_COMMIT")?;
        let position = self.position()?;
        let changed: Vec<Item> = others.into_iter().filter(|item| !copied.is_unchanged(item)).collect();
        copier.copy_all(&changed, false, THREADS)?;
        self.copy_binary_log(copier, &position)?;
        self.session.run("FLUSH NO_WRITE_TO_BINLOG ENGINE LOGS")?;
        end.set(self.session.status(log::WRITTEN)?);
        Ok(Waits { ddl_from, commits_from, copied_again, position })
    }

    /// Copies all that is there while nothing waits. Of files that are no tablespaces, those that do not change meanwhile need
    /// not be copied while commits wait.
    fn copy_first(&self, copier: &Copier<'_>, items: &[Item]) -> Result<Copied, FollowError> {
        let mut copied = Copied { began: SystemTime::now(), versions: BTreeMap::new() };
        let (tablespaces, others): (Vec<Item>, Vec<Item>) =
            items.iter().filter(|item| is_tablespace(&item.to) || self.is_other(item)).cloned().partition(is_of_innodb);
        for (items, pages) in [(tablespaces, true), (others, false)] {
            let versions = copier.copy_all(&items, pages, THREADS)?;
            let paths = items.into_iter().map(|item| item.to);
            copied.versions.extend(paths.zip(versions).filter_map(|(path, version)| Some((path, version?))));
        }
        Ok(copied)
    }

    /// Copies tablespaces that are new, are another file by now, or whose table was changed: what a change writes without the
    /// log may have come after the file was copied.
    fn copy_changed_tablespaces(
        &self,
        copier: &Copier<'_>,
        items: &[Item],
        copied: &Copied,
    ) -> Result<u64, FollowError> {
        let changed = self.changed_tables()?;
        let is_due = |item: &&Item| is_of_innodb(item) && (changed.contains(&item.to) || !copied.is_same_file(item));
        let again: Vec<Item> = items.iter().filter(is_due).cloned().collect();
        copier.copy_all(&again, true, THREADS)?;
        Ok(again.len() as u64)
    }

    fn changed_tables(&self) -> Result<ChangedTables, FollowError> {
        const MOST_BYTES: u64 = 256 << 20;
        let path = self.datadir.join(ddl_log::NAME);
        let text = match regular::read(&path, Links::Refused, MOST_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ChangedTables::default()),
            read => String::from_utf8_lossy(&read.map_err(FollowError::file(&path))?).into_owned(),
        };
        ChangedTables::parse(&text).map_err(|line| FollowError::DdlLog { path, line })
    }

    /// Whether a file is neither a tablespace, nor a log that is copied by position, nor of the backup itself.
    fn is_other(&self, item: &Item) -> bool {
        let name = item.to.file_name().unwrap_or_default();
        !is_tablespace(&item.to)
            && !file_kind::is_redo(name)
            && name != ddl_log::NAME
            && !self.is_binary_log(&item.from)
    }

    fn is_binary_log(&self, path: &Path) -> bool {
        let Some(base) = &self.variables.binary_log else { return false };
        let is_numbered =
            path.file_name().and_then(OsStr::to_str).is_some_and(|name| file_kind::log_base(name).is_some());
        let is_index = path.extension().is_some_and(|ending| ending == "index");
        path.with_extension("") == *base && (is_numbered || is_index)
    }

    fn position(&mut self) -> Result<Position, FollowError> {
        if self.variables.binary_log.is_none() {
            return Ok(Position::default());
        }
        let rows = self.session.rows("SHOW MASTER STATUS")?;
        let file = rows.value(0, "File").ok_or(FollowError::NoAnswer("binary log"))?.to_owned();
        let offset = rows.value(0, "Position").and_then(|offset| offset.parse().ok());
        let offset = offset.ok_or(FollowError::NoAnswer("position in the binary log"))?;
        let gtid = self.session.value("SELECT @@gtid_binlog_pos AS gtid", "gtid")?.unwrap_or_default();
        Ok(Position { file, offset, gtid })
    }

    /// Copies the newest binary log up to the position, and makes it the only one: recovery decides by it which transactions
    /// that were prepared are committed.
    fn copy_binary_log(&self, copier: &Copier<'_>, position: &Position) -> Result<(), FollowError> {
        let Some(base) = &self.variables.binary_log else { return Ok(()) };
        let (from, name) = (base.with_file_name(&position.file), Path::new(&position.file));
        let source = regular::open(&from, Links::Followed).map_err(FollowError::file(&from))?;
        let like = source.metadata().map_err(FollowError::file(&from))?;
        let to = copier.create(name)?;
        copy_up_to(&source, &to, position.offset).map_err(FollowError::file(&from))?;
        copier.finish(name, &to, &like, position.offset)?;
        let index = base.with_extension("index");
        let index = Path::new(index.file_name().unwrap_or_default());
        let (line, to) = (format!("./{}\n", position.file), copier.create(index)?);
        io::Write::write_all(&mut &to, line.as_bytes()).map_err(FollowError::file(index))?;
        copier.finish(index, &to, &like, line.len() as u64)
    }
}

/// Files that were copied before anything waited.
struct Copied {
    began: SystemTime,
    versions: BTreeMap<PathBuf, Version>,
}

impl Copied {
    fn is_same_file(&self, item: &Item) -> bool {
        let now = fs::metadata(&item.from).ok().map(|metadata| Version::from_metadata(&metadata).id);
        now.is_some() && now == self.versions.get(&item.to).map(|version| version.id)
    }

    fn is_unchanged(&self, item: &Item) -> bool {
        let now = fs::metadata(&item.from).ok().map(|metadata| Version::from_metadata(&metadata));
        now.is_some_and(|now| self.versions.get(&item.to) == Some(&now) && now.is_older_than(self.began))
    }
}

fn is_of_innodb(item: &Item) -> bool {
    is_tablespace(&item.to)
}

/// Removes copies of files that are not there any more.
fn remove_gone(copier: &Copier<'_>, items: &[Item], copied: &Copied) -> Result<(), FollowError> {
    let there: BTreeSet<&PathBuf> = items.iter().map(|item| &item.to).collect();
    for gone in copied.versions.keys().filter(|path| !there.contains(path)) {
        let path = copier.root.join(gone);
        fs::remove_file(&path).map_err(FollowError::file(&path))?;
    }
    Ok(())
}

fn copy_up_to(from: &File, to: &File, bytes: u64) -> io::Result<()> {
    let copied = io::copy(&mut io::Read::take(from, bytes), &mut &*to)?;
    if copied == bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}

fn log_of(items: &[Item]) -> Result<PathBuf, FollowError> {
    let found = items.iter().find(|item| item.to == Path::new(REDO_LOG));
    found.map(|item| item.from.clone()).ok_or(FollowError::NoAnswer("redo log"))
}

impl From<FollowError> for Error {
    fn from(error: FollowError) -> Self {
        Self::Follow(error)
    }
}
