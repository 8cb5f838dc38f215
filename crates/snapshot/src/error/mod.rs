//! Errors of snapshots, by cause.

mod hint;

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use files::quantity::size;
use innodb::{log_copy::LogCopyFault, redo_copy::RedoCopyFault};
use rustix::process::Pid;

use crate::{
    choice::Provider,
    estimate::Estimate,
    lock_holder::{self, Holder},
    prepare_fault::PrepareFault,
    program::Program,
};

/// Why no copy was made. The server keeps running in every case.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or directory cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Unreadable {
        /// Path of the file or directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// No copy has this name.
    #[error("{name}: there is no such copy of {}", datadir.display())]
    NoSuchCopy {
        /// The name that was asked for.
        name: String,
        /// The data directory.
        datadir: PathBuf,
    },
    /// The directory is not a data directory.
    #[error("{}: is not the data directory of a MySQL or MariaDB server", path.display())]
    NotADataDir {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The named process does not use this data directory.
    #[error("{}: process {pid}, {found_by}, does not have this data directory open", path.display())]
    NotItsServer {
        /// Process id.
        pid: Pid,
        /// How the process was found.
        found_by: &'static str,
        /// The data directory.
        path: PathBuf,
    },
    /// Several processes have the directory open.
    #[error("{}: processes {one} and {other} both have files of it open", path.display())]
    SeveralServers {
        /// The data directory.
        path: PathBuf,
        /// Process id of one of them.
        one: Pid,
        /// Process id of another one.
        other: Pid,
    },
    /// The server is in a PID namespace that is hidden from this process.
    #[error("{}: locked by a process that this one cannot see, perhaps in another container", path.display())]
    OutOfSight {
        /// The locked file.
        path: PathBuf,
    },
    /// The server's open files are hidden from this user.
    #[error("process {pid}: its open files are hidden from this user, so what it keeps elsewhere could be missed")]
    Hidden {
        /// Process id of the server.
        pid: Pid,
    },
    /// A table is outside the data directory.
    #[error("{}: is a table outside the data directory, where a copy cannot put it", path.display())]
    TablespaceOutside {
        /// Path of its file.
        path: PathBuf,
    },
    /// The server has other files outside of the data directory.
    #[error("{}: holds files of the server, outside the data directory", path.display())]
    KeptOutside {
        /// Path of the directory.
        path: PathBuf,
    },
    /// A link leads out of the data directory, and the provider does not follow it.
    #[error(
        "{}: a link that leads out of the data directory, to {}; what it points at would not be in the copy",
        path.display(), target.display()
    )]
    LeadsOut {
        /// Path of the link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// A link leads out of the data directory, and nothing is there.
    #[error(
        "{}: a link that leads out of the data directory, to {}, where nothing can be found",
        path.display(), target.display()
    )]
    LeadsNowhere {
        /// Path of the link.
        path: PathBuf,
        /// Where it leads, as it is written.
        target: PathBuf,
    },
    /// A link leads into the data directory, but in a copy it would lead to the original.
    #[error(
        "{}: a link to {} in the data directory that {how}: in a copy it would lead to the original",
        path.display(), target.display()
    )]
    LeadsBack {
        /// Path of the link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
        /// What is wrong with it, and how to mend it.
        how: &'static str,
    },
    /// A server is running, but the provider requires a stopped one.
    #[error("{}: its server is running, as process {pid}", path.display())]
    Runs {
        /// Process id of the server.
        pid: Pid,
        /// The data directory.
        path: PathBuf,
    },
    /// No server is running, and some files are outside of the data directory.
    #[error("{}: {missing} is not in it, and no running server tells where it is", path.display())]
    Incomplete {
        /// The data directory.
        path: PathBuf,
        /// What is missing.
        missing: &'static str,
    },
    /// Another program has already stopped the server.
    #[error("process {pid}: is already stopped, by another program")]
    AlreadyStopped {
        /// Process id of the server.
        pid: Pid,
    },
    /// The server has ended.
    #[error("process {pid}: the server has ended")]
    ServerGone {
        /// Process id of the server.
        pid: Pid,
    },
    /// This user may not stop the server process.
    #[error("process {pid}: cannot be stopped for the copy: {source}")]
    Signal {
        /// Process id of the server.
        pid: Pid,
        /// Error of the operating system.
        source: io::Error,
    },
    /// Another program resumed the server during the copy.
    #[error("process {pid}: another program resumed the server during the copy, so the copy is invalid")]
    Resumed {
        /// Process id of the server.
        pid: Pid,
    },
    /// The server is sending write-sets to a joining node, which a stop would cut off.
    #[error(
        "process {pid}: sends write-sets to a node that joins the cluster, which would wait forever for the rest if \
            this server were stopped meanwhile"
    )]
    Sending {
        /// Process id of the server.
        pid: Pid,
    },
    /// As [`Self::Sending`], but detected only after the server was resumed.
    #[error(
        "process {pid}: sent write-sets to a node that joins the cluster while it was stopped for the copy; they may \
            be incomplete, and that node would wait forever for the rest"
    )]
    CutOff {
        /// Process id of the server.
        pid: Pid,
    },
    /// The longest allowed freeze ended before the copy was complete.
    #[error("the copy was not complete within the maximum freeze of {} ms; the server continues and the copy is \
        invalid", limit.as_millis())]
    TooSlow {
        /// The longest freeze that is allowed.
        limit: Duration,
    },
    /// The estimated freeze is too long.
    #[error(
        "the server would be frozen for about {:.0} ms ({} files, {} extents, {} to flush), longer than the {} ms \
            allowed",
        estimate.freeze_ms, estimate.files, estimate.extents, size(estimate.dirty_bytes), limit.as_millis()
    )]
    OverBudget {
        /// The estimated freeze, and what it was estimated from.
        estimate: Box<Estimate>,
        /// The longest freeze that is allowed.
        limit: Duration,
    },
    /// The watchdog process cannot be started.
    #[error("the watchdog that resumes the server does not run: {0}")]
    Watchdog(io::Error),
    /// The file system cannot share extents between files.
    #[error("{}: {kind} cannot clone files", path.display())]
    NoClones {
        /// The data directory.
        path: PathBuf,
        /// Name of the file system.
        kind: String,
    },
    /// The given location is on another file system.
    #[error("{}: is on another file system than {}, and clones cannot cross", path.display(), datadir.display())]
    OtherFileSystem {
        /// The location.
        path: PathBuf,
        /// The data directory.
        datadir: PathBuf,
    },
    /// The server's files are on two file systems.
    #[error("{}: is on another file system than the rest, so no copy is of one instant", path.display())]
    TwoFileSystems {
        /// The path on the second file system.
        path: PathBuf,
    },
    /// The data directory is not on btrfs.
    #[error("{}: is on {kind}, not on btrfs", path.display())]
    NotBtrfs {
        /// The data directory.
        path: PathBuf,
        /// Name of its file system.
        kind: String,
    },
    /// The data directory is not on ZFS.
    #[error("{}: is on {kind}, not on ZFS", path.display())]
    NotZfs {
        /// The data directory.
        path: PathBuf,
        /// Name of its file system.
        kind: String,
    },
    /// The data directory is not on a logical volume.
    #[error("{}: its file system is not on a logical volume of LVM, or not directly", path.display())]
    NotLvm {
        /// The data directory.
        path: PathBuf,
    },
    /// The file system cannot be mounted twice: its snapshot cannot be read next to the original.
    #[error("{}: is on {kind}, and only XFS and ext4 are copied by a snapshot of their volume", path.display())]
    NotThisFileSystem {
        /// The data directory.
        path: PathBuf,
        /// Name of its file system.
        kind: String,
    },
    /// The provider needs root.
    #[error("only root may take a snapshot with {provider}")]
    NeedsRoot {
        /// Name of the provider.
        provider: &'static str,
    },
    /// A required program is missing.
    #[error("{program}: no such program is on the path")]
    NoTool {
        /// Name of the program.
        program: &'static str,
    },
    /// A program failed.
    #[error("{program}: {reason}")]
    Tool {
        /// Name of the program.
        program: &'static str,
        /// Its error message.
        reason: String,
    },
    /// A backup failed.
    #[error("{program}: {reason}")]
    Backup {
        /// Name of the program.
        program: String,
        /// Its error message.
        reason: String,
    },
    /// The program makes a stream and no copy.
    #[error("{program} streams a backup and makes no copy that stays; only `sealant send --live` takes it")]
    OnlyAStream {
        /// The backup program that was chosen.
        program: Program,
    },
    /// A streamed backup was not prepared.
    #[error("{}: received, but not prepared: {fault}", directory.display())]
    Unprepared {
        /// The directory that the backup is in.
        directory: PathBuf,
        /// The program that made it.
        program: Program,
        /// What is wrong.
        fault: PrepareFault,
    },
    /// A volume group has too little free space for a snapshot.
    #[error(
        "volume group {group}: {} are free, and a snapshot needs {} more at least",
        size(*free_bytes), size(wanted_bytes.saturating_sub(*free_bytes))
    )]
    NoRoom {
        /// The volume group.
        group: String,
        /// Bytes that are free there.
        free_bytes: u64,
        /// Bytes that a snapshot needs at least.
        wanted_bytes: u64,
    },
    /// The snapshot of a volume ran full.
    #[error("snapshot {name}: became full or failed while it was used, so the copy is invalid")]
    Overflowed {
        /// Name of the snapshot.
        name: String,
    },
    /// The snapshot of a volume was removed.
    #[error("snapshot {name}: is missing, so the copy is invalid")]
    SnapshotGone {
        /// Name of the snapshot.
        name: String,
    },
    /// The snapshot to remove was not made by this program.
    #[error("{name}: is not a snapshot that sealant made, and is not touched")]
    NotOurs {
        /// Name of the snapshot.
        name: String,
    },
    /// Part of the data is in another subvolume.
    #[error("{}: is in another subvolume, which one snapshot does not cover", path.display())]
    OtherSubvolume {
        /// Path of that part.
        path: PathBuf,
    },
    /// The subvolume belongs to another user.
    #[error(
        "{}: this subvolume belongs to another user, and only its owner or root may take a snapshot of it",
        path.display()
    )]
    NotItsOwner {
        /// Root of the subvolume.
        path: PathBuf,
    },
    /// This user could not remove a snapshot of the subvolume again.
    #[error(
        "{}: a snapshot of this subvolume could not be removed again by this user (mount option \
         user_subvol_rm_allowed)",
        path.display()
    )]
    NotRemovable {
        /// Root of the subvolume.
        path: PathBuf,
    },
    /// The directory for copies cannot be used.
    #[error("{}: no copy can be kept there: {source}", path.display())]
    CopyDirectory {
        /// Path of the directory.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file cannot be copied.
    #[error("{}: cannot be copied: {source}", path.display())]
    Copy {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A copy cannot be removed.
    #[error("{}: the copy cannot be removed: {source}", path.display())]
    Release {
        /// Path that was not removed.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A program uses the copy.
    #[error("{name}: a program uses this copy")]
    InUse {
        /// Name of the copy.
        name: String,
    },
    /// The provider needs an account on the server, and none was given.
    #[error("an account is needed to take the server's backup locks and read its position, and none was given")]
    NoAccount,
    /// No server runs on the data directory.
    #[error("{}: no server runs on it", path.display())]
    NotRunning {
        /// The data directory.
        path: PathBuf,
    },
    /// This version of the server cannot be copied while it works.
    #[error("{version} cannot be copied while it works: {reason}")]
    Unsupported {
        /// The server's version.
        version: String,
        /// What is missing.
        reason: String,
    },
    /// The server that answers has another data directory than the one to copy.
    #[error("the server that answers has its data in {}, not in {}", found.display(), expected.display())]
    OtherServer {
        /// The data directory that the server reports.
        found: PathBuf,
        /// The directory to copy.
        expected: PathBuf,
    },
    /// The server cannot be reached, or rejects a statement.
    #[error("{doing}: {source}")]
    Server {
        /// The statement, or what was attempted.
        doing: String,
        /// Error of the connection or of the server.
        source: Box<server::Error>,
    },
    /// The account lacks a privilege.
    #[error("{doing}: {source}")]
    Privilege {
        /// SQL text of the statement.
        doing: String,
        /// The server's error.
        source: Box<server::Error>,
        /// A statement that grants the privilege.
        grant: &'static str,
    },
    /// A backup lock was not granted in time.
    #[error("{statement}: the lock was not granted within {} s{}", waited.as_secs(), lock_holder::list(holders.as_deref()))]
    Lock {
        /// SQL text of the statement.
        statement: String,
        /// How long it waited.
        waited: Duration,
        /// Sessions that held it up; `None` if the account may not see them.
        holders: Option<Vec<Holder>>,
        /// A statement that grants the privilege to see them.
        grant: &'static str,
    },
    /// A change of definitions has waited too long for a copy.
    #[error("the copy gave way to a change of definitions that had waited for {} s: {session}", longest.as_secs())]
    DdlWaited {
        /// The session that waited.
        session: Holder,
        /// The limit.
        longest: Duration,
    },
    /// The wait of changes of definitions is limited, but the account may not see it.
    #[error("ddl_wait_max is set, but the account does not see which sessions wait for the copy")]
    DdlUnseen {
        /// What makes them visible.
        advice: &'static str,
    },
    /// The server returned no value, or one that does not parse.
    #[error("the server returned no {0}")]
    NoAnswer(&'static str),
    /// The log could not be copied.
    #[error(transparent)]
    Log(#[from] LogCopyFault),
    /// A file of MySQL's log could not be copied.
    #[error("{}: {source}", path.display())]
    Redo {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with the file.
        source: RedoCopyFault,
    },
    /// The next file of MySQL's redo log is not the one that was expected.
    #[error("{}: the files of the redo log changed while it was copied", path.display())]
    Moving {
        /// Directory of the redo log.
        path: PathBuf,
    },
    /// MySQL's redo log is encrypted. Its last block has to be cut, which needs the key.
    #[error(
        "the redo log is encrypted (innodb_redo_log_encrypt), and cannot be cut at the position of the copy without \
         its key"
    )]
    RedoEncrypted,
    /// Redo logging is disabled, so the log lacks changes.
    #[error("redo logging is disabled (ALTER INSTANCE DISABLE INNODB REDO_LOG), so a copy could not be recovered")]
    RedoDisabled,
    /// Another session is the consumer of MySQL's redo log. A server has one at a time.
    #[error("another session is registered as consumer of the redo log: another backup runs")]
    OtherConsumer,
    /// The session is no longer the consumer of MySQL's redo log, so the server may have overwritten parts of it.
    #[error("the server no longer knows this session as consumer of its redo log")]
    NotConsumer,
    /// A page is newer than the end of the copied log.
    #[error("{}: a page was changed at LSN {newest}, and the redo log of the copy ends at {end}", path.display())]
    NewerPage {
        /// File of the page.
        path: PathBuf,
        /// LSN of the newest page.
        newest: u64,
        /// LSN at which the log ends.
        end: u64,
    },
    /// The server kept starting new binary logs while the newest one was copied.
    #[error("the server started a new binary log during each copy of the newest one")]
    BinaryLogs,
    /// Two files of the copy have the same tablespace ID: a table is being imported. No server starts on such a copy.
    #[error("{} and {} have the same tablespace ID, {id}: no server would start on the copy", files[0].display(), files[1].display())]
    SameTablespaceId {
        /// The ID.
        id: u32,
        /// Both files, relative to the data directory.
        files: [PathBuf; 2],
    },
    /// The server has committed more than the copied log contains.
    #[error("the redo log was read up to LSN {position}, and the server has written up to {wanted}")]
    LogEnds {
        /// LSN at which the log ends.
        position: u64,
        /// LSN that it has to reach.
        wanted: u64,
    },
    /// `ddl.log` has a line that does not parse.
    #[error("{}: a line that cannot be parsed: {line}", path.display())]
    DdlLog {
        /// Path of the log.
        path: PathBuf,
        /// The line, as it was read.
        line: String,
    },
    /// Each read of a page found other contents, and none had a valid checksum.
    #[error("{}: page {page} changed each time it was read", path.display())]
    Changing {
        /// Path of the file.
        path: PathBuf,
        /// Number of the page.
        page: u64,
    },
    /// The file system has too little free space.
    #[error(
        "{}: {} are free, and the copy needs {} more",
        path.display(), size(*free_bytes), size(wanted_bytes.saturating_sub(*free_bytes))
    )]
    NoSpace {
        /// Directory for the copy.
        path: PathBuf,
        /// Bytes that are free there.
        free_bytes: u64,
        /// Bytes that the copy needs.
        wanted_bytes: u64,
    },
    /// Another thread failed first.
    #[error("ended because another part of the copy failed")]
    Stopped,
    /// No provider is suitable.
    #[error("{}: there is no sound way to copy it: {}", path.display(), reasons(refused))]
    NoProvider {
        /// The data directory.
        path: PathBuf,
        /// The reason for each provider.
        refused: Vec<(Provider, Self)>,
    },
}

impl Error {
    /// Converts an error of a file that is being copied.
    pub(crate) fn copying(path: &Path) -> impl Fn(io::Error) -> Self + '_ {
        |source| Self::Copy { path: path.to_owned(), source }
    }

    /// The error for a link that leads out of the data directory `root`, or is absolute.
    #[must_use]
    pub fn leads_out(root: &Path, path: PathBuf) -> Self {
        let written = fs::read_link(&path).unwrap_or_default();
        let how = if written.is_absolute() {
            "is absolute; make it relative"
        } else {
            "leaves that directory on its way; let it stay inside"
        };
        match fs::canonicalize(&path) {
            Ok(target) if target.starts_with(root) => Self::LeadsBack { path, target, how },
            Ok(target) => Self::LeadsOut { path, target },
            Err(_) if written.starts_with(root) => Self::LeadsBack { path, target: written, how },
            Err(_) => Self::LeadsNowhere { path, target: written },
        }
    }

    /// The error if no provider can be used: the reason itself if there is only one.
    pub(crate) fn from_refusals(path: &Path, mut refused: Vec<(Provider, Self)>) -> Self {
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
