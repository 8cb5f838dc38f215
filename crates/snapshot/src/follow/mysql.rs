//! Copies a MySQL or Percona server, 8.0.30 or newer.
//!
//! | while | what waits | what is copied |
//! |---|---|---|
//! | `LOCK INSTANCE FOR BACKUP` | DDL | all tablespaces, all other files |
//! | the session is a consumer of the redo log | nothing; no file of the log is reused before it was read | the log
//! from its checkpoint on |
//! | `FLUSH TABLES … WITH READ LOCK`, if there are tables of other engines | changes of these tables | these |
//! | `performance_schema.log_status` is read | commits, for a moment | the newest binary log and the redo log, up to that position |
//!
//! Source: MySQL manual, "LOCK INSTANCE FOR BACKUP Statement", "The log_status Table"; tested on 9.7 and 8.0.33 under
//! load. MySQL's own backup uses the same functions to become a consumer; the registration ends with its session (seen
//! on 9.7).

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use innodb::binlog::{CopyPosition, LogPosition};
use innodb::file_suffix;
use innodb::server_file::ROCKSDB_DIRECTORIES;
use innodb::{Lsn, file_name, keys::KeySource};
use serde_json::Value;
use server::dialect::{backup_lock, statement::show_status, variable};
use server::{quote, switch};

use super::{
    Checkpoint, Followed, Job,
    copy::{Copier, Counts, Item, PagesOf},
    data_files,
    ddl_wait::DdlWatch,
    live_server::{Copied, CopiedLog, LiveServer, THREADS, remove_deleted},
    log::End,
    redo_files::RedoFiles,
    session::{Privilege, Session},
    tablespace_ids,
};
use crate::error::Error;

/// Number of times the position is read again because the server started another binary log in between.
const CUT_ATTEMPTS: u32 = 5;

const LSN: &str = "Innodb_redo_log_current_lsn";
const CHECKPOINT: &str = "Innodb_redo_log_checkpoint_lsn";

/// Copies a server's data directory.
pub(super) fn copy(mut server: LiveServer<'_>, job: &Job<'_>) -> Result<Followed, Error> {
    let (root, keys): (_, &dyn KeySource) = (job.root, &*job.keys.0);
    check_settings(&mut server)?;
    let watch = DdlWatch::open(job)?;
    server.session.lock(Privilege::Backup, backup_lock::LOCK_INSTANCE)?;
    let ddl_from = Instant::now();
    check_privileges(&mut server.session)?;
    // Register only after the lock is granted. While the lock waits for a statement, nothing reads the log; a full log
    // would block every change, including that statement.
    let mut consumer = Session::open(job.account)?;
    register(&mut consumer)?;
    let items = server.items()?;
    let unlisted = !data_files::check_copied(&mut server, &items)?;
    let (counts, stop, end) = (Counts::default(), AtomicBool::new(false), End::default());
    let pages_of = PagesOf::MySql(keys);
    let copier =
        Copier { root, page_bytes: server.page_bytes, pages_of, counts: &counts, progress: job.progress, stop: &stop };
    let mut redo = RedoFiles::begin(&items, &copier, keys)?;
    if !redo.has_key() && is_on(&mut server.session, variable::MYSQL_REDO)? {
        return Err(Error::RedoEncrypted);
    }
    let over = AtomicBool::new(false);
    let cut = thread::scope(|scope| {
        let watching = watch.map(|watch| scope.spawn(|| watch.run(&over, &stop)));
        let following = scope.spawn(|| {
            let followed = redo.follow(&mut consumer, &end, &stop);
            followed.inspect_err(|_| stop.store(true, Ordering::Relaxed))
        });
        let cut = server.copy_up_to_cut(&copier, &items, job.recover_from);
        match &cut {
            Ok(cut) => end.set(cut.end),
            Err(_) => stop.store(true, Ordering::Relaxed),
        }
        let followed = following.join().unwrap_or(Err(Error::Stopped));
        over.store(true, Ordering::Relaxed);
        // If it gives way, this has stopped the others.
        watching.map_or(Ok(()), |watching| watching.join().unwrap_or(Err(Error::Stopped)))?;
        match (cut, followed) {
            (Ok(cut), Ok(_)) => Ok(cut),
            // Report the error that stopped the other thread.
            (Err(Error::Stopped), Err(error)) | (Ok(_), Err(error)) => Err(error),
            (Err(error), _) => Err(error),
        }
    })?;
    let recover_from = cut.recover_from.unwrap_or_else(|| redo.checkpoint());
    redo.finish(recover_from)?;
    counts.check_newest(cut.end)?;
    // Success of both proves that nothing was lost while files were copied: neither the registration nor redo logging.
    unregister(&mut consumer)?;
    check_redo_enabled(&mut server.session)?;
    server.session.run_with(Privilege::Backup, backup_lock::UNLOCK_INSTANCE)?;
    let ddl_waited = ddl_from.elapsed();
    // Only now, so that DDL does not wait for it: it reads a page of each file of the copy.
    tablespace_ids::check_distinct(root, &items)?;
    let (start_lsn, log_bytes) = (redo.checkpoint().0, redo.bytes_to(cut.end));
    Ok(Followed { unlisted, ..cut.into_result(start_lsn, log_bytes, counts, ddl_waited) })
}

/// The moment that the copy represents.
struct CopyPoint {
    /// LSN at which the redo log ends.
    end: u64,
    position: CopyPosition,
    /// Upper bound of how long commits waited, and changes of tables other than InnoDB's.
    commits_waited: Duration,
    others_waited: Duration,
    /// Set if recovery is to begin at another checkpoint than the first.
    recover_from: Option<Lsn>,
}

impl CopyPoint {
    fn into_result(self, start_lsn: u64, log_bytes: u64, counts: Counts, ddl_waited: Duration) -> Followed {
        Followed {
            start_lsn,
            end_lsn: self.end,
            log_bytes,
            files: counts.files.into_inner(),
            bytes: counts.bytes.into_inner(),
            reread_pages: counts.reread_pages.into_inner(),
            unproven_pages: counts.unproven_pages.into_inner(),
            damaged: counts.damaged.into_inner().unwrap_or_default(),
            copied_again: 0,
            last_log_bytes: counts.last_log_bytes.into_inner(),
            unlisted: false,
            ddl_waited,
            commits_waited: self.commits_waited,
            others_waited: self.others_waited,
            position: self.position,
        }
    }
}

/// One row of `performance_schema.log_status`.
struct LogStatus {
    position: CopyPosition,
    lsn: u64,
    waited: Duration,
}

impl LiveServer<'_> {
    /// Copies everything but the redo log, and determines its end.
    fn copy_up_to_cut(
        &mut self,
        copier: &Copier<'_>,
        items: &[Item],
        recover_from: Checkpoint,
    ) -> Result<CopyPoint, Error> {
        let copied = self.copy_first(copier, items)?;
        recover_from.wait(&mut self.session, LSN, CHECKPOINT)?;
        // Copy what is there now, so that less remains while others wait.
        let position = self.log_status()?.position;
        let binary_log = self.copy_binary_log(copier, &position.log, None)?;
        let tables = tables_of_other_engines(items);
        let locked_from = Instant::now();
        if !tables.is_empty() {
            self.session.run_with(Privilege::LockTables, &backup_lock::lock_tables(&tables))?;
        }
        let status = self.cut(copier, &copied, binary_log)?;
        if !tables.is_empty() {
            self.session.run(backup_lock::UNLOCK_TABLES)?;
        }
        let others_waited = if tables.is_empty() { Duration::ZERO } else { locked_from.elapsed() };
        self.session.run_with(Privilege::Reload, backup_lock::FLUSH_ENGINE_LOGS)?;
        let newest = match recover_from {
            Checkpoint::First => None,
            Checkpoint::Newest => Some(Lsn(self.session.status(CHECKPOINT)?.min(status.lsn))),
        };
        Ok(CopyPoint {
            end: status.lsn,
            position: status.position,
            commits_waited: status.waited,
            others_waited,
            recover_from: newest,
        })
    }

    /// Reads the position and copies everything up to it: changed files and the newest binary log. Repeats if the
    /// server has started another binary log: the previous one is then marked as closed, and recovery would not use it.
    fn cut(
        &mut self,
        copier: &Copier<'_>,
        copied: &Copied,
        mut binary_log: Option<CopiedLog>,
    ) -> Result<LogStatus, Error> {
        let mut waited = Duration::ZERO;
        for _ in 0..CUT_ATTEMPTS {
            let status = self.log_status()?;
            // The relay logs of a replica come and go.
            let items = self.items()?;
            let changed = items.iter().filter(|item| self.is_other(item) && !copied.is_unchanged(item)).cloned();
            copier.copy_all(&changed.collect::<Vec<_>>(), false, THREADS)?;
            remove_deleted(copier, &items, copied)?;
            binary_log = self.copy_binary_log(copier, &status.position.log, binary_log)?;
            let after = self.log_status()?;
            waited = waited.max(status.waited).max(after.waited);
            if after.position.log.file == status.position.log.file {
                return Ok(LogStatus { waited, ..status });
            }
        }
        Err(Error::BinaryLogs)
    }

    fn log_status(&mut self) -> Result<LogStatus, Error> {
        let asked = Instant::now();
        let rows = self.session.rows(backup_lock::LOG_STATUS, Privilege::LogStatus)?;
        let waited = asked.elapsed();
        let parsed = |column: &str| -> Option<Value> { serde_json::from_str(rows.value(0, column)?).ok() };
        let (local, engines) = (parsed("local"), parsed("engines"));
        let lsn = engines.as_ref().and_then(|engines| engines["InnoDB"]["LSN"].as_u64());
        let lsn = lsn.ok_or(Error::NoAnswer("position in the redo log"))?;
        let local = local.ok_or(Error::NoAnswer("position in the binary log"))?;
        let text = |name: &str| local[name].as_str().unwrap_or_default().to_owned();
        let log = LogPosition {
            file: text("binary_log_file"),
            offset: local["binary_log_position"].as_u64().unwrap_or_default(),
        };
        let position = CopyPosition { log, gtid: text("gtid_executed").replace('\n', "") };
        if self.binary_log.is_some() && (position.log.file.is_empty() || position.log.offset == 0) {
            return Err(Error::NoAnswer("position in the binary log"));
        }
        Ok(LogStatus { position, lsn, waited })
    }
}

/// Rejects settings that make a copy impossible.
fn check_settings(server: &mut LiveServer<'_>) -> Result<(), Error> {
    check_redo_enabled(&mut server.session)?;
    let unsupported = |server: &LiveServer<'_>, reason: &str| {
        let version = server.session.identity.version.text.clone();
        Err(Error::Unsupported { version, reason: reason.to_owned() })
    };
    if !is_on(&mut server.session, "innodb_log_checksums")? {
        return unsupported(server, "its redo log has no checksums (innodb_log_checksums)");
    }
    if ROCKSDB_DIRECTORIES.iter().any(|name| server.datadir.join(name).exists()) {
        return unsupported(server, "it has tables of RocksDB, whose log is not followed");
    }
    Ok(())
}

/// Runs early what is needed at the end, so that a missing privilege is found at once.
fn check_privileges(session: &mut Session) -> Result<(), Error> {
    session.run_with(Privilege::LogStatus, backup_lock::MAY_READ_LOG_STATUS)?;
    session.run_with(Privilege::Reload, backup_lock::FLUSH_ENGINE_LOGS)
}

fn check_redo_enabled(session: &mut Session) -> Result<(), Error> {
    let enabled = session.value(&show_status("Innodb_redo_log_enabled"), "Value")?;
    if enabled.as_deref().is_some_and(switch::is_on) { Ok(()) } else { Err(Error::RedoDisabled) }
}

fn is_on(session: &mut Session, variable: &'static str) -> Result<bool, Error> {
    let value = session.value(&format!("SELECT @@GLOBAL.{variable} AS value"), "value")?;
    Ok(value.as_deref().is_some_and(switch::is_on))
}

/// Makes the server keep its redo log until it was read. A server has one such consumer at a time.
fn register(session: &mut Session) -> Result<(), Error> {
    let answer = session.value_with(Privilege::Backup, backup_lock::REGISTER_REDO_CONSUMER, "failed")?;
    if answer.as_deref() == Some("0") { Ok(()) } else { Err(Error::OtherConsumer) }
}

fn unregister(session: &mut Session) -> Result<(), Error> {
    let answer = session.value_with(Privilege::Backup, backup_lock::UNREGISTER_REDO_CONSUMER, "failed")?;
    if answer.as_deref() == Some("0") { Ok(()) } else { Err(Error::NotConsumer) }
}

/// Names of the tables of other engines than InnoDB, from their file names, quoted for statements. The general and the
/// slow log cannot be locked; they are copied as a crash would leave them.
fn tables_of_other_engines(items: &[Item]) -> Vec<String> {
    const ENDINGS: [&str; 5] = [
        file_suffix::MYISAM_INDEX,
        file_suffix::CSV_META,
        file_suffix::ARCHIVE,
        file_suffix::MERGE,
        file_suffix::PARTITIONS,
    ];
    let name = |text: &OsStr| Some(file_name::decoded(text.to_str()?));
    let tables = items.iter().filter_map(|item| {
        let ending = item.to.extension()?.to_str()?;
        let (schema, stem) = (item.to.parent()?.file_name()?, item.to.file_stem()?);
        let is_log = schema == "mysql" && (stem == "general_log" || stem == "slow_log");
        // Interrupted DDL leaves files that are not tables.
        let is_table = ENDINGS.contains(&ending) && !is_log && !stem.to_str()?.starts_with("#sql");
        is_table.then(|| Some((name(schema)?, name(stem)?)))?
    });
    let tables: BTreeSet<(String, String)> = tables.collect();
    tables.iter().map(|(schema, table)| quote::table(schema, table)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_other_engines_are_recognised_by_their_files() {
        let item = |to: &str| Item { from: to.into(), to: to.into() };
        let files = [
            "x/a@002db.MYI",
            "x/a@002db.MYD",
            "x/t.ibd",
            "mysql/general_log.CSM",
            "y/c`d.CSM",
            "y/#sql-1.MYI",
            "z.MYI",
        ];
        assert_eq!(tables_of_other_engines(&files.map(item)), ["`x`.`a-b`", "`y`.`c``d`"]);
    }
}
