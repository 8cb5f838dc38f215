//! A copy of a server that works on, on any file system.
//!
//! Tablespaces are copied while the server writes them, and its redo log is read continuously from a checkpoint on. At
//! the end commits wait for a moment, until the log is read up to the last commit. The copy then equals what a power
//! cut at that moment could have left if, since the checkpoint, the server had written only the pages that were copied:
//! its own recovery makes the copy consistent.
//!
//! What makes it sound: the log is kept from the *first* checkpoint on, so that every page is older than where the log ends and
//! not older than where it begins; a page that was read while it was written is read again; definitions of tables are changed
//! either before their files are copied, or those are copied again.

mod copy;
mod ddl_log;
mod log;
mod mariadb;
mod mysql;
mod pages;
mod redo_files;
mod session;
mod source;

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use innodb::keys::{KeySource, NoKeys};
use rustix::fs::statvfs;

pub use self::session::Account;
use self::session::Session;
pub(crate) use self::session::follow_privileges;
use crate::{Error, external::ExternalFiles};

/// The privileges that the account needs, as the end of a sentence: "on MariaDB …; on MySQL …".
pub const PRIVILEGES: &str = follow_privileges!();

/// How long commits are expected to wait, before anything is known of the server.
pub(crate) const EXPECTED_WAIT: Duration = Duration::from_millis(300);

/// A copy of a working server, and what it took.
#[derive(Clone, Debug)]
pub struct Followed {
    /// Where its log begins, in LSN: the checkpoint.
    pub start_lsn: u64,
    /// Where it ends.
    pub end_lsn: u64,
    /// Bytes of log.
    pub log_bytes: u64,
    /// Files copied.
    pub files: u64,
    /// Bytes of them, as they were read.
    pub bytes: u64,
    /// Pages that were read while the server wrote them, and read again.
    pub reread_pages: u64,
    /// Pages that were read the same twice, and that nothing proves: encrypted ones of MySQL without the key, and those of servers
    /// that write no checksums.
    pub unproven_pages: u64,
    /// Pages that are damaged where they are: path, and number of the page.
    pub damaged: Vec<(PathBuf, u64)>,
    /// Tablespaces that were copied again because their table changed in the meantime.
    pub copied_again: u64,
    /// How long changes of definitions waited.
    pub ddl_waited: Duration,
    /// How long commits waited.
    pub commits_waited: Duration,
    /// How long changes of tables waited that are not InnoDB's, where others do not wait with them.
    pub others_waited: Duration,
    /// What was committed.
    pub position: Position,
}

/// A position in the binary log; empty if the server writes none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The log.
    pub file: String,
    /// Where it ended, in bytes.
    pub offset: u64,
    /// The position as GTIDs.
    pub gtid: String,
}

/// Keys of the server's keyring, with which encrypted pages and an encrypted redo log of MySQL are checked. None by default.
#[derive(Clone)]
pub struct Keys(Arc<dyn KeySource + Send>);

impl Keys {
    /// These keys.
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

/// Where the recovery of a copy begins.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub enum Checkpoint {
    /// At the checkpoint that was the newest one before anything was copied.
    #[default]
    First,
    /// At the newest one, when that has passed what was copied: **such a copy is wrong**. Tests show by it that they would see that.
    Newest,
}

impl Checkpoint {
    /// Waits until recovery from the newest checkpoint would miss changes. The names of the server's LSN and that of its newest
    /// checkpoint are those of status variables.
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

/// What is copied, and how.
pub(crate) struct Job<'a> {
    pub(crate) datadir: &'a Path,
    pub(crate) external: &'a [ExternalFiles],
    pub(crate) account: &'a Account,
    pub(crate) keys: &'a Keys,
    pub(crate) recover_from: Checkpoint,
    /// An empty directory.
    pub(crate) root: &'a Path,
}

/// Copies a data directory, whose server works on it, into an empty directory.
pub(crate) fn copy(job: &Job<'_>) -> Result<Followed, Error> {
    let source = source::Source::open(job)?;
    match source.session.identity.version.flavor.is_mysql_like() {
        true => mysql::copy(source, job),
        false => mariadb::copy(source, job),
    }
}

/// Makes sure that the server can be copied while it works.
pub(crate) fn check_supported(account: &Account) -> Result<(), Error> {
    Session::open(account)?.check_supported()
}

/// Checks that there is space for a copy of that many bytes.
pub(crate) fn check_room(path: &Path, wanted_bytes: u64) -> Result<(), Error> {
    let found = statvfs(path).map_err(|error| Error::copying(path)(error.into()))?;
    let free_bytes = found.f_bavail.saturating_mul(found.f_frsize);
    if free_bytes >= wanted_bytes {
        return Ok(());
    }
    Err(Error::NoSpace { path: path.to_owned(), free_bytes, wanted_bytes })
}
