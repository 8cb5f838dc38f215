//! Errors of backup and restore.

mod hint;

use std::{io, path::PathBuf};

use archive::{Digest, Error as ArchiveError, names::Number, sshsig::SshFault};
use store::{Error as StoreError, s3::S3Fault};
use transfer::{Error as TransferError, rekey::RekeyFault};

/// Why a backup or a restore failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The configuration is not valid.
    #[error("{path}: {reason}")]
    Config {
        /// Path of the configuration.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A file on this host cannot be read or written.
    #[error("{path}: {doing}: {source}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The operation that failed: "cannot be …".
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A temporary file with what is known of all parts of a backup cannot be written or read.
    #[error("the temporary file with the list of all parts cannot be used: {0}")]
    Lists(#[source] io::Error),
    /// A file that was named cannot be read.
    #[error("{path}: {source}")]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// An answer is not the word of any recipient.
    #[error("that is not the word that was encrypted for a recipient")]
    Answer,
    /// Only a part of the packs is to be read, but there is no file that records which part comes next.
    #[error("--read-data {percent}% needs --state, which says where the next check resumes")]
    PartWithoutState {
        /// The part, in percent.
        percent: u8,
    },
    /// An option asks for a part of a streamed backup, or for a change to it.
    #[error(
        "--provider {program} sends the whole backup as {program} writes it: --dry-run, --include, --exclude and keys \
         cannot be used with it"
    )]
    WholeStream {
        /// The backup program.
        program: snapshot::backup::Program,
    },
    /// No server runs on the data directory.
    #[error("{}: no server runs on it, so there is nothing to back up", path.display())]
    NoServer {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The signing key, a signature or the allowed signers file cannot be used.
    #[error("{path}: {source}")]
    Key {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with the key.
        source: SshFault,
    },
    /// An identity file cannot be used.
    #[error("{path}: {source}")]
    Identity {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with the identity.
        source: agefile::Error,
    },
    /// The directory or bucket is not a repository.
    #[error("{location}: not a backup repository: it has no {}", archive::names::REPOSITORY)]
    NoRepository {
        /// Location of the store.
        location: String,
    },
    /// The repository was made by an unsupported version, or is damaged.
    #[error("{location}: {} cannot be used: {reason}", archive::names::REPOSITORY)]
    Repository {
        /// Location of the repository.
        location: String,
        /// What is wrong.
        reason: String,
    },
    /// The repository exists, but this host may not read it and does not know its id.
    #[error("{location}: the repository exists already, and this host may not read its id")]
    UnknownRepository {
        /// Location of the repository.
        location: String,
    },
    /// The store replaces objects although it is told not to.
    #[error("{location}: the store replaces an object although the request forbids it (If-None-Match)")]
    ReplacingStore {
        /// Location of the repository.
        location: String,
    },
    /// Another run holds the lock.
    #[error("{path}: another backup of this host is running")]
    Busy {
        /// Path of the lock file.
        path: PathBuf,
    },
    /// The state of this host is an older copy, or another machine writes as this host.
    #[error("{location}: the state of {host} is outdated: it does not know backup {number} of the repository")]
    OldBackupState {
        /// The store.
        location: String,
        /// Name of the host.
        host: String,
        /// The number that was in use.
        number: Number,
    },
    /// Another machine writes backups under the same host name.
    #[error("{location}: another machine writes as {host}: backup {number} exists and is not from this machine")]
    OtherMachine {
        /// Location of the repository.
        location: String,
        /// Name of the host.
        host: String,
        /// Number that both machines used.
        number: Number,
    },
    /// The requested backup does not exist.
    #[error("{location}: {host} has no backup {wanted}")]
    NoBackup {
        /// Location of the repository.
        location: String,
        /// Name of the host.
        host: String,
        /// The requested backup, as given.
        wanted: String,
    },
    /// No host was named, and the repository has several or none.
    #[error("{location}: {reason}")]
    Host {
        /// Location of the repository.
        location: String,
        /// What is wrong.
        reason: String,
    },
    /// A signature is not valid, or its signer is not allowed.
    #[error("{object}: {reason}")]
    Untrusted {
        /// Name of the receipt.
        object: String,
        /// Why it is not trusted.
        reason: String,
    },
    /// An object differs from what its receipt says.
    #[error("{object}: {source}")]
    Object {
        /// Name of the object.
        object: String,
        /// The difference.
        source: ArchiveError,
    },
    /// The backup is encrypted to other recipients.
    #[error(
        "{object}: none of the given identities decrypts it; it is encrypted to the recipients {}",
        recipients.join(", ")
    )]
    OtherRecipients {
        /// Name of the object.
        object: String,
        /// Start of the SHA-256 of each recipient, from the receipt.
        recipients: Vec<String>,
    },
    /// The given keys cannot encrypt pages that the backup has decrypted.
    #[error("{path}: the backup has its pages decrypted, and the given keys cannot encrypt them again{needed}")]
    Reencrypt {
        /// Path of the file.
        path: String,
        /// The key that is needed, if known.
        needed: String,
    },
    /// The keys of the files cannot be wrapped with the master keys of another keyring.
    #[error("the keys of the files cannot be wrapped again: {0}")]
    Rekey(RekeyFault),
    /// The server is MariaDB, which has no master key to wrap the keys of files.
    #[error(
        "backup {number} is of a MariaDB server, which encrypts files with the keys of its key file directly: there is \
         no key that a keyring could wrap"
    )]
    RekeyMariaDb {
        /// Number of the backup.
        number: Number,
    },
    /// The backup was made without `[keys]` recipients.
    #[error("backup {number} was made without [keys] recipients, so it does not contain the keys of its files")]
    NoFileKeys {
        /// Number of the backup.
        number: Number,
    },
    /// The proof cannot start a MariaDB, because no key file can have several versions of a key.
    #[error(
        "{}: a key has other versions than the first, and the server that proves the backup would need the plug-in of \
         the service",
        path.display()
    )]
    KeyVersions {
        /// Path of the configuration.
        path: PathBuf,
    },
    /// The proof cannot start a MariaDB, because its service does not have key 1.
    #[error(
        "{}: the service has no key 1, without which file_key_management of the server that proves the backup does not \
         start",
        path.display()
    )]
    NoSystemKey {
        /// Path of the configuration.
        path: PathBuf,
    },
    /// A signal ended the proof or the replay.
    #[error("a signal ended it: the private server is stopped, and its copies of the keys are removed")]
    ProofStopped,
    /// The restored file differs from the backup.
    #[error("{path}: what was read back from disk differs from the backup")]
    ReadBack {
        /// Path of the file.
        path: PathBuf,
    },
    /// A restore of another backup was interrupted after its commit marker.
    #[error(
        "{}: a restore of backup {number} of {host}{} is complete there but for its last step",
        path.display(),
        receipt.map_or_else(String::new, |sha256| format!(" (receipt {sha256})"))
    )]
    OtherRestore {
        /// The target directory.
        path: PathBuf,
        /// Host of the restored backup.
        host: String,
        /// Number of the restored backup.
        number: Number,
        /// SHA-256 of its receipt, unless that is lost.
        receipt: Option<Digest>,
    },
    /// The same restore was interrupted after its commit marker, and had another option, which is already applied.
    #[error("{}: a restore is complete there but for its last step, and {option} was given otherwise", path.display())]
    OtherOption {
        /// The target directory.
        path: PathBuf,
        /// The option.
        option: &'static str,
    },
    /// The target has a commit that was interrupted, and its marker does not say what was restored.
    #[error(
        "{}: a restore or a transfer is complete there but for its last step, and it is not known of what",
        path.display()
    )]
    UnknownRestore {
        /// The target directory.
        path: PathBuf,
    },
    /// The restored directory could not be proven by a server.
    #[error("{program}: the restored server was not proven: {reason}", program = program.display())]
    Prove {
        /// The server program.
        program: PathBuf,
        /// The server's error.
        reason: String,
    },
    /// A link in the restored directory leads out of it, and a server would follow it.
    #[error(
        "{}: leads to {}, which is not in the restored directory; a server would follow it, perhaps to the files of \
         another one",
        path.display(), target.display()
    )]
    LeadsOut {
        /// Path of the link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// Links in a backup lead out of the directory into which it is restored, and a server is to start there.
    #[error(
        "backup {number}: {} is a link that leads out of the directory, to {}{}; a server on the restored files would \
         follow it, perhaps to the files of another one",
        path.display(), target.display(), others(*count)
    )]
    LinksOut {
        /// Number of the backup.
        number: Number,
        /// Path of one of the links, relative to the directory.
        path: PathBuf,
        /// Where it leads, as it is written.
        target: PathBuf,
        /// Number of all such links.
        count: usize,
    },
    /// Keys cannot be loaded.
    #[error(transparent)]
    Keys(#[from] verify::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A part of the backup cannot be read or written.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The data directory cannot be read or written.
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// No snapshot could be taken.
    #[error(transparent)]
    Snapshot(#[from] snapshot::Error),
    /// The snapshot is not consistent.
    #[error("the snapshot is not valid: {0}")]
    Void(String),
    /// The run took so long that a prune may have removed the packs that it stored first.
    #[error("the run took more than {hours} hours, so a prune may have removed the packs that it stored first")]
    TooLong {
        /// The limit.
        hours: i64,
    },
    /// The key of the keeper may not sign for prunes.
    #[error("{}: does not allow the key of the keeper {name} to sign for prunes", signers.display())]
    UnknownKeeper {
        /// Name of the keeper.
        name: String,
        /// The file of allowed signers.
        signers: PathBuf,
        /// The line that would allow the key.
        line: String,
    },
    /// A prune would be unsafe.
    #[error("{host}: nothing is pruned: {reason}")]
    Prune {
        /// Name of the host.
        host: String,
        /// What would become unsafe.
        reason: String,
        /// The next step.
        hint: &'static str,
    },
    /// Another process archives the binary logs of this host.
    #[error("{path}: another process archives the binary logs of this host")]
    BinlogsBusy {
        /// Path of the lock file.
        path: PathBuf,
    },
    /// The configuration has no socket, so binary logs cannot be read.
    #[error("the configuration names no socket under [server], so no server can send its binary logs")]
    NoSocket,
    /// The server writes no binary log.
    #[error("the server writes no binary log")]
    NoBinaryLog,
    /// The server has closed the connection.
    #[error("the server has closed the connection on which it sends its binary log")]
    ServerClosed,
    /// Another server answers than before.
    #[error("another server answers than before: {now} instead of {before}")]
    OtherServer {
        /// The server that was followed.
        before: String,
        /// The one that answers now.
        now: String,
    },
    /// A run ended while parts of binary logs wait on this host.
    #[error("{location} cannot be reached: {} of binary logs wait on this host", files::quantity::size(*bytes))]
    Waiting {
        /// The store.
        location: String,
        /// Length of the parts.
        bytes: u64,
    },
    /// The list of the spool that the state names is missing.
    #[error("{}: it is missing, so the binary logs that wait on this host cannot be found", path.display())]
    SpoolMissing {
        /// Path of the list, or of the first part if the state of an older release lists the parts itself.
        path: PathBuf,
    },
    /// A file of the spool was damaged or removed.
    #[error("a part of the binary logs of {server} that waited on this host is damaged or gone")]
    SpoolLost {
        /// The server.
        server: String,
    },
    /// Another machine archives the binary logs of the same server as the same host.
    #[error("another machine archives binary logs as {host}: receipt {number} exists and is not from this machine")]
    OtherArchiver {
        /// Name of the host.
        host: String,
        /// Number that both machines used.
        number: Number,
    },
    /// The state of this host is from before receipts that it has written.
    #[error(
        "the state of {host} is older than its archive of the server {server}: it ends with receipt {number}, and \
         receipt {newest} exists"
    )]
    OldState {
        /// Name of the host.
        host: String,
        /// The server whose logs are archived, as in the name of its archive.
        server: String,
        /// Number of the newest receipt that the state knows.
        number: Number,
        /// Number of the newest receipt in the repository.
        newest: Number,
    },
    /// The archived binary logs do not lead from the backup to the target.
    #[error("the point in time cannot be reached: {reason}")]
    Unreachable {
        /// What is missing.
        reason: String,
    },
    /// The backup has changes that a point in time excludes.
    #[error("backup {number} is newer than the point in time: {reason}")]
    NewerBackup {
        /// Number of the backup.
        number: Number,
        /// How that is known.
        reason: String,
    },
    /// Every good backup has changes that a point in time excludes.
    #[error("no backup of {host} is older than the point in time: the oldest good one is {number}, and {reason}")]
    AllNewer {
        /// The host whose archive was asked for.
        host: String,
        /// Number of its oldest good backup.
        number: Number,
        /// How it is known that this one is newer.
        reason: String,
    },
    /// A host has no archive of binary logs.
    #[error("{location} has no binary logs of {host}")]
    NoBinlogArchive {
        /// Location of the repository.
        location: String,
        /// Name of the host.
        host: String,
    },
    /// A server could not replay the binary logs.
    #[error("{program}: the binary logs were not replayed: {reason}", program = program.display())]
    Replay {
        /// The server program.
        program: PathBuf,
        /// The server's error.
        reason: String,
    },
    /// Binary logs, which have rows in the clear, cannot be kept in memory for a replay.
    #[error("{}: binary logs cannot be replayed from memory: {reason}", path.display())]
    Memory {
        /// Directory in which a file system in memory is expected.
        path: PathBuf,
        /// Why this file system cannot be used.
        reason: String,
    },
    /// The server of a replay has made keys, which were lost with it.
    #[error(
        "{}: the replay of the binary logs has created keys that the given keyring does not have",
        program.display()
    )]
    NewKeys {
        /// The server program.
        program: PathBuf,
    },
    /// A replay has written an encrypted table in the clear.
    #[error("{}: the replay of the binary logs has left pages of the table in the clear", path.display())]
    ClearPages {
        /// Path of the file.
        path: PathBuf,
    },
    /// The binary log of the server cannot be read.
    #[error(transparent)]
    Binlog(#[from] binlog::Error),
    /// The system has no random bytes.
    #[error("the system has no random bytes")]
    Randomness,
    /// Another thread failed first.
    #[error("stopped because another part of the run failed")]
    Stopped,
}

impl Error {
    /// Makes an [`Self::Unreachable`].
    pub(crate) fn unreachable(reason: impl Into<String>) -> Self {
        Self::Unreachable { reason: reason.into() }
    }

    /// Makes an [`Self::Io`] of a system error.
    pub(crate) fn io(path: &std::path::Path, doing: &'static str) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |source| Self::Io { path, doing, source }
    }

    /// Why an object could not be read, decrypted or parsed. A store that fails meanwhile says nothing about the object;
    /// one that was replaced meanwhile is at fault itself.
    pub(crate) fn of_object(object: &str, source: ArchiveError) -> Self {
        let source = match source {
            ArchiveError::Io(source) | ArchiveError::Age(agefile::Error::Read(source)) => source,
            source => return Self::Object { object: object.to_owned(), source },
        };
        let source = match source.downcast::<StoreError>() {
            Ok(replaced @ StoreError::S3 { fault: S3Fault::Replaced, .. }) => io::Error::other(replaced),
            Ok(failed) => return failed.into(),
            Err(source) => source,
        };
        Self::Object { object: object.to_owned(), source: source.into() }
    }

    /// Whether the fault is in the backups, so that the command itself succeeded.
    #[must_use]
    pub const fn is_finding(&self) -> bool {
        matches!(self, Self::Prune { .. })
    }

    /// Whether the command line or the configuration is wrong.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        matches!(self, Self::Config { .. } | Self::PartWithoutState { .. } | Self::WholeStream { .. })
    }
}

/// Says how many there are besides the one that is named.
fn others(count: usize) -> String {
    match count {
        0 | 1 => String::new(),
        2 => ", and so does another".to_owned(),
        count => format!(", and so do {} others", count.saturating_sub(1)),
    }
}
