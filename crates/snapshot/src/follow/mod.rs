//! Copies a server that keeps working, on any file system.
//!
//! Tablespaces are copied while the server writes them, and its redo log is read continuously from a checkpoint on. At
//! the end commits wait until the log is read up to the last one. The copy equals what a power failure at that moment
//! could have left, had the server written only the copied pages since the checkpoint. So the server's own recovery
//! makes the copy consistent.
//!
//! Three rules make this sound. The log is kept from the *first* checkpoint on, so it covers every page: no page is
//! newer than the end of the log, and no page lacks a change from before its beginning. A page that was read during a
//! write is read again. The files of a table that DDL has changed since they were copied are copied again.

mod copy;
mod data_files;
mod ddl_log;
mod ddl_wait;
mod live_server;
mod log;
mod mariadb;
mod mysql;
mod pages;
mod redo_files;
mod session;
mod tablespace_ids;
mod version;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use innodb::binlog::CopyPosition;
use innodb::keys::{KeySource, NoKeys};

pub use self::session::Account;
use self::session::Session;
use crate::{Error, external::ExternalFiles, progress::CopyProgress};

/// The privileges that the account needs, as the end of a sentence: "on MariaDB …; on MySQL …".
pub const PRIVILEGES: &str = crate::privileges::follow_privileges!();

/// Estimate of how long commits wait, before anything is known of the server.
pub(crate) const EXPECTED_WAIT: Duration = Duration::from_millis(300);

/// Results of a copy of a running server.
#[derive(Clone, Debug)]
pub struct Followed {
    /// LSN at which the copied log begins: the checkpoint.
    pub start_lsn: u64,
    /// LSN at which it ends.
    pub end_lsn: u64,
    /// Bytes of log copied.
    pub log_bytes: u64,
    /// Number of files copied.
    pub files: u64,
    /// Bytes read from these files.
    pub bytes: u64,
    /// Pages that were read during a write, and read again.
    pub reread_pages: u64,
    /// Pages that were read twice with the same result and cannot be checked: encrypted pages of MySQL without the key,
    /// and pages of servers that write no checksums.
    pub unproven_pages: u64,
    /// Damaged pages of the original: path and page number.
    pub damaged: Vec<(PathBuf, u64)>,
    /// Tablespaces that were copied again because their table changed in the meantime.
    pub copied_again: u64,
    /// Bytes of the binary log that were copied last. MariaDB's commits wait for them.
    pub last_log_bytes: u64,
    /// Whether the account may not list the files of MySQL's tables, so that tables outside of the data directory were
    /// not found unless the server had them open.
    pub unlisted: bool,
    /// How long DDL waited.
    pub ddl_waited: Duration,
    /// How long commits waited.
    pub commits_waited: Duration,
    /// How long changes of tables other than InnoDB's waited, if they waited separately.
    pub others_waited: Duration,
    /// Position of the last commit in the copy.
    pub position: CopyPosition,
}

/// Keys of the server's keyring, to check MySQL's encrypted pages and encrypted redo log. None by default.
#[derive(Clone)]
pub struct Keys(Arc<dyn KeySource + Send>);

impl Keys {
    /// Uses these keys.
    pub fn new(keys: impl KeySource + Send + 'static) -> Self {
        Self(Arc::new(keys))
    }
}

impl Default for Keys {
    fn default() -> Self {
        Self::new(NoKeys)
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys")
    }
}

/// Where recovery of a copy begins.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub enum Checkpoint {
    /// At the newest checkpoint from before anything was copied.
    #[default]
    First,
    /// At the newest checkpoint once it has passed what was copied: **such a copy is wrong**. Tests use it to show that
    /// they would detect that.
    Newest,
}

impl Checkpoint {
    /// Waits until recovery from the newest checkpoint would miss changes. `lsn` and `checkpoint` are the status
    /// variables of the server's LSN and of its newest checkpoint.
    fn wait(self, session: &mut Session, lsn: &'static str, checkpoint: &'static str) -> Result<(), Error> {
        const PAUSE: Duration = Duration::from_millis(50);
        if let Self::Newest = self {
            let copied = session.status(lsn)?;
            while session.status(checkpoint)? <= copied {
                thread::sleep(PAUSE);
            }
        }
        Ok(())
    }
}

/// Source, target and options of a copy.
pub(crate) struct Job<'a> {
    pub(crate) datadir: &'a Path,
    pub(crate) external: &'a [ExternalFiles],
    pub(crate) account: &'a Account,
    pub(crate) keys: &'a Keys,
    pub(crate) recover_from: Checkpoint,
    pub(crate) lock_wait: Duration,
    pub(crate) ddl_wait_max: Option<Duration>,
    pub(crate) progress: &'a CopyProgress,
    /// An empty directory.
    pub(crate) root: &'a Path,
}

/// Copies the data directory of a running server into an empty directory.
pub(crate) fn copy(job: &Job<'_>) -> Result<Followed, Error> {
    let source = live_server::LiveServer::open(job)?;
    match source.session.identity.version.flavor.is_mysql_like() {
        true => mysql::copy(source, job),
        false => mariadb::copy(source, job),
    }
}

/// Checks that this server can be copied while it works.
pub(crate) fn check_supported(account: &Account) -> Result<(), Error> {
    Session::open(account)?.check_supported()
}

/// Checks that `path` has `wanted_bytes` of free space.
pub(crate) fn check_room(path: &Path, wanted_bytes: u64) -> Result<(), Error> {
    let free_bytes = files::free_bytes(path).map_err(Error::copying(path))?;
    if free_bytes >= wanted_bytes {
        return Ok(());
    }
    Err(Error::NoSpace { path: path.to_owned(), free_bytes, wanted_bytes })
}
