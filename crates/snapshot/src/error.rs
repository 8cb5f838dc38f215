//! What can go wrong, by cause.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::Pid;

use crate::{estimate::Estimate, provider::Provider};

/// Why there is no copy. The server runs on in any case.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Something cannot be looked at.
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        /// What.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No server has ever worked there.
    #[error("{}: is not the data directory of a MySQL or MariaDB server", path.display())]
    NotADataDir {
        /// The directory.
        path: PathBuf,
    },
    /// A process was named that works elsewhere.
    #[error("{}: process {pid}, {found_by}, does not have this data directory open", path.display())]
    NotItsServer {
        /// The process.
        pid: Pid,
        /// What led to it.
        found_by: &'static str,
        /// The data directory.
        path: PathBuf,
    },
    /// Several processes have the directory open.
    #[error("{}: processes {one} and {other} both have files of it open", path.display())]
    SeveralServers {
        /// The data directory.
        path: PathBuf,
        /// One of them.
        one: Pid,
        /// Another.
        other: Pid,
    },
    /// The server is in a PID namespace that cannot be seen.
    #[error("{}: locked by a process that this one cannot see, as of another container", path.display())]
    OutOfSight {
        /// The locked file.
        path: PathBuf,
    },
    /// A server runs, and the provider is for those that do not.
    #[error("{}: its server runs, as process {pid}", path.display())]
    Runs {
        /// The server.
        pid: Pid,
        /// The data directory.
        path: PathBuf,
    },
    /// The server was stopped before.
    #[error("process {pid}: is stopped already, by someone else")]
    AlreadyStopped {
        /// The server.
        pid: Pid,
    },
    /// The server ended.
    #[error("process {pid}: the server has ended")]
    ServerGone {
        /// The server.
        pid: Pid,
    },
    /// The server cannot be stopped by this user.
    #[error("process {pid}: cannot be stopped for the copy: {source}")]
    Signal {
        /// The server.
        pid: Pid,
        /// Why.
        source: io::Error,
    },
    /// Someone else let the server go on.
    #[error("process {pid}: something woke the server while it was copied, so the copy is void")]
    Woken {
        /// The server.
        pid: Pid,
    },
    /// The freeze was as long as it may be, and the copy was not complete.
    #[error("the copy was not complete within the longest freeze of {} ms; the server runs on and the copy is void", limit.as_millis())]
    TooSlow {
        /// The limit.
        limit: Duration,
    },
    /// The freeze would be too long.
    #[error(
        "the server would stand for about {:.0} ms ({} files, {} extents, {} MiB to write out), longer than the {} ms allowed",
        estimate.freeze_ms, estimate.files, estimate.extents, estimate.dirty_bytes >> 20, limit.as_millis()
    )]
    OverBudget {
        /// What it would take.
        estimate: Box<Estimate>,
        /// The limit.
        limit: Duration,
    },
    /// The process that is to save the server cannot be had.
    #[error("the watchdog that lets the server go on does not run: {0}")]
    Watchdog(io::Error),
    /// The file system cannot share extents between files.
    #[error("{}: {kind} cannot clone files", path.display())]
    NoClones {
        /// The data directory.
        path: PathBuf,
        /// What the file system is called.
        kind: String,
    },
    /// The place given is on another file system.
    #[error("{}: is on another file system than {}, and clones cannot cross", path.display(), datadir.display())]
    OtherFileSystem {
        /// The place.
        path: PathBuf,
        /// The data directory.
        datadir: PathBuf,
    },
    /// Files of one server are on two file systems.
    #[error("{}: is on another file system than the rest, so no copy is of one instant", path.display())]
    TwoFileSystems {
        /// What is elsewhere.
        path: PathBuf,
    },
    /// Not on btrfs.
    #[error("{}: is on {kind}, not on btrfs", path.display())]
    NotBtrfs {
        /// The data directory.
        path: PathBuf,
        /// What the file system is called.
        kind: String,
    },
    /// A part of the data is in another subvolume.
    #[error("{}: is in another subvolume, which one snapshot does not cover", path.display())]
    OtherSubvolume {
        /// That part.
        path: PathBuf,
    },
    /// The directory for copies cannot be used.
    #[error("{}: no copy can be kept there: {source}", path.display())]
    Place {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be copied.
    #[error("{}: cannot be copied: {source}", path.display())]
    Copy {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A copy cannot be removed.
    #[error("{}: the copy cannot be removed: {source}", path.display())]
    Release {
        /// What is left.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A copy is in use.
    #[error("{name}: a program uses this copy")]
    InUse {
        /// Its name.
        name: String,
    },
    /// No provider will do.
    #[error("{}: there is no sound way to copy it: {}", path.display(), reasons(refused))]
    NoProvider {
        /// The data directory.
        path: PathBuf,
        /// Why each is refused.
        refused: Vec<(Provider, Self)>,
    },
}

impl Error {
    /// Why no provider will do: the one reason if there is only one.
    pub(crate) fn of_refusals(path: &Path, mut refused: Vec<(Provider, Self)>) -> Self {
        match refused.pop() {
            Some((_, only)) if refused.is_empty() => only,
            last => {
                refused.extend(last);
                Self::NoProvider { path: path.to_owned(), refused }
            }
        }
    }
}

fn reasons(refused: &[(Provider, Error)]) -> String {
    let each = refused.iter().map(|(provider, error)| format!("{provider}: {error}"));
    each.collect::<Vec<_>>().join("; ")
}
