//! Copies a MariaDB server, 10.8 or newer.
//!
//! | stage | what waits | what is copied |
//! |---|---|---|
//! | `START` | nothing; each DDL statement is recorded in `ddl.log` | the log from its checkpoint on, all other files |
//! | `BLOCK_DDL` | DDL | tablespaces that are new, or whose table was changed; more of the binary log |
//! | `BLOCK_COMMIT` | commits | other files that have changed, the rest of the binary log and of the log |
//!
//! Source: `BACKUP STAGE` in MariaDB's documentation; tested on 10.11 with DDL under load.

use std::{
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use files::regular::{self, Links};
use innodb::{
    binlog::{CopyPosition, LogPosition},
    log_copy::LogCopy,
    server_file::FIRST_OLDER_REDO as REDO_LOG,
};
use server::dialect::{backup_lock, gtid, statement::SHOW_MASTER_STATUS};

use super::{
    Checkpoint, Followed, Job,
    copy::{Copier, Counts, Item, PagesOf},
    ddl_log::{self, ChangedTables},
    ddl_wait::DdlWatch,
    live_server::{Copied, CopiedLog, LiveServer, THREADS, remove_deleted},
    log::{self, End},
    session::{Privilege, Session},
};
use crate::{error::Error, external::is_tablespace};

/// Copies a server's data directory.
pub(super) fn copy(mut server: LiveServer<'_>, job: &Job<'_>) -> Result<Followed, Error> {
    let root = job.root;
    let watch = DdlWatch::open(job)?;
    server.session.lock(Privilege::Reload, backup_lock::STAGE_START)?;
    let items = server.items()?;
    let log_path = log_of(&items)?;
    let log = regular::open(&log_path, Links::Followed).map_err(Error::copying(&log_path))?;
    let mut log_copy = LogCopy::begin(&log).map_err(Error::from)?;
    let mut log_session = Session::open(job.account)?;
    let (counts, stop, end) = (Counts::default(), AtomicBool::new(false), End::default());
    let copier = Copier {
        root,
        page_bytes: server.page_bytes,
        pages_of: PagesOf::MariaDb,
        counts: &counts,
        progress: job.progress,
        stop: &stop,
    };
    let to_path = root.join(REDO_LOG);
    let to = copier.create(Path::new(REDO_LOG))?;
    let over = AtomicBool::new(false);
    let (waits, log_bytes) = thread::scope(|scope| {
        let watching = watch.map(|watch| scope.spawn(|| watch.run(&over, &stop)));
        let following = scope.spawn(|| {
            let followed = log::follow(&log, &mut log_copy, &to, &to_path, &mut log_session, &end, &stop);
            followed.inspect_err(|_| stop.store(true, Ordering::Relaxed))
        });
        let cut = server.copy_files(&copier, &items, &end, job.recover_from);
        if cut.is_err() {
            stop.store(true, Ordering::Relaxed);
        }
        let followed = following.join().unwrap_or(Err(Error::Stopped));
        over.store(true, Ordering::Relaxed);
        // If it gives way, this has stopped the others.
        watching.map_or(Ok(()), |watching| watching.join().unwrap_or(Err(Error::Stopped)))?;
        match (cut, followed) {
            (Ok(waits), Ok(bytes)) => Ok((waits, bytes)),
            // Report the error that stopped the other thread.
            (Err(Error::Stopped), Err(error)) | (Ok(_), Err(error)) => Err(error),
            (Err(error), _) => Err(error),
        }
    })?;
    // The log is read up to the LSN at which commits were blocked.
    let ended = Instant::now();
    counts.check_newest(log_copy.position().0)?;
    server.session.run_with(Privilege::Reload, backup_lock::STAGE_END)?;
    if let Checkpoint::Newest = job.recover_from {
        log_copy.recover_from_newest(&log).map_err(Error::from)?;
    }
    let bytes = log::finish(&log_copy, &to, &to_path, log_bytes)?;
    let like = log.metadata().map_err(Error::copying(&log_path))?;
    copier.finish(Path::new(REDO_LOG), &to, &like, bytes)?;
    Ok(Followed {
        start_lsn: log_copy.start().0,
        end_lsn: log_copy.position().0,
        log_bytes,
        files: counts.files.load(Ordering::Relaxed),
        bytes: counts.bytes.load(Ordering::Relaxed),
        reread_pages: counts.reread_pages.load(Ordering::Relaxed),
        unproven_pages: counts.unproven_pages.load(Ordering::Relaxed),
        damaged: counts.damaged.into_inner().unwrap_or_default(),
        copied_again: waits.copied_again,
        last_log_bytes: counts.last_log_bytes.load(Ordering::Relaxed),
        unlisted: false,
        ddl_waited: ended.duration_since(waits.ddl_from),
        commits_waited: ended.duration_since(waits.commits_from),
        others_waited: Duration::ZERO,
        position: waits.position,
    })
}

/// Start times of the waits, and the server's position in the last one.
struct CopiedFiles {
    ddl_from: Instant,
    commits_from: Instant,
    copied_again: u64,
    position: CopyPosition,
}

impl LiveServer<'_> {
    /// Copies everything but the redo log, which has to reach the last commit.
    fn copy_files(
        &mut self,
        copier: &Copier<'_>,
        items: &[Item],
        end: &End,
        recover_from: Checkpoint,
    ) -> Result<CopiedFiles, Error> {
        let copied = self.copy_first(copier, items)?;
        recover_from.wait(&mut self.session, "Innodb_lsn_current", "Innodb_lsn_last_checkpoint")?;
        let binary_log = self.copy_more_binary_log(copier, None)?;

        self.session.lock(Privilege::Reload, backup_lock::STAGE_FLUSH)?;
        let ddl_from = Instant::now();
        self.session.lock(Privilege::Reload, backup_lock::STAGE_BLOCK_DDL)?;
        self.session.wait_for_imports()?;
        let items = self.items()?;
        let copied_again = self.copy_changed_tablespaces(copier, &items, &copied)?;
        let others: Vec<Item> = items.iter().filter(|item| self.is_other(item)).cloned().collect();
        remove_deleted(copier, &items, &copied)?;
        let binary_log = self.copy_more_binary_log(copier, binary_log)?;

        let commits_from = Instant::now();
        self.session.lock(Privilege::Reload, backup_lock::STAGE_BLOCK_COMMIT)?;
        let position = self.position()?;
        let changed: Vec<Item> = others.into_iter().filter(|item| !copied.is_unchanged(item)).collect();
        copier.copy_all(&changed, false, THREADS)?;
        self.copy_binary_log(copier, &position.log, binary_log)?;
        self.session.run_with(Privilege::Reload, backup_lock::FLUSH_ENGINE_LOGS)?;
        end.set(self.session.status(log::WRITTEN)?);
        Ok(CopiedFiles { ddl_from, commits_from, copied_again, position })
    }

    /// Copies what there is of the newest binary log, so that less remains while commits wait: it can be as large as
    /// `max_binlog_size` allows.
    fn copy_more_binary_log(
        &mut self,
        copier: &Copier<'_>,
        before: Option<CopiedLog>,
    ) -> Result<Option<CopiedLog>, Error> {
        let position = self.position()?;
        self.copy_binary_log(copier, &position.log, before)
    }

    /// Copies tablespaces that are new, were replaced, or whose table was changed. DDL can write pages without the log,
    /// after the file was copied.
    fn copy_changed_tablespaces(&self, copier: &Copier<'_>, items: &[Item], copied: &Copied) -> Result<u64, Error> {
        let changed = self.changed_tables()?;
        let is_due =
            |item: &&Item| is_tablespace(&item.to) && (changed.contains(&item.to) || !copied.is_same_file(item));
        let again: Vec<Item> = items.iter().filter(is_due).cloned().collect();
        copier.copy_all(&again, true, THREADS)?;
        Ok(again.len() as u64)
    }

    fn changed_tables(&self) -> Result<ChangedTables, Error> {
        const MAX_BYTES: u64 = 256 << 20;
        let path = self.datadir.join(ddl_log::NAME);
        let text = match regular::read(&path, Links::Refused, MAX_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ChangedTables::default()),
            read => String::from_utf8_lossy(&read.map_err(Error::copying(&path))?).into_owned(),
        };
        ChangedTables::parse(&text).map_err(|line| Error::DdlLog { path, line })
    }

    fn position(&mut self) -> Result<CopyPosition, Error> {
        if self.binary_log.is_none() {
            return Ok(CopyPosition::default());
        }
        let rows = self.session.rows(SHOW_MASTER_STATUS, Privilege::BinlogMonitor)?;
        let file = rows.value(0, "File").ok_or(Error::NoAnswer("binary log"))?.to_owned();
        let offset = rows.value(0, "Position").and_then(|offset| offset.parse().ok());
        let offset = offset.ok_or(Error::NoAnswer("position in the binary log"))?;
        let gtid = self.session.scalar(gtid::MARIADB_LOGGED)?.unwrap_or_default();
        Ok(CopyPosition { log: LogPosition { file, offset }, gtid })
    }
}

fn log_of(items: &[Item]) -> Result<PathBuf, Error> {
    let found = items.iter().find(|item| item.to == Path::new(REDO_LOG));
    found.map(|item| item.from.clone()).ok_or(Error::NoAnswer("redo log"))
}
