//! Errors of changes. Their hints are in `hint`, longer parts of their texts in `message`; `statement` classifies failed
//! statements for a run.

mod hint;
mod message;
mod statement;

use std::{io, path::PathBuf};

use keyring::LostKeys;
use server::Endpoint;

pub(crate) use self::hint::{KEYRING_LOST, LOST_IN_SERVICE};
use self::message::{after_semicolons, evidence, room, too_old, unopened};
use crate::Activity;

/// Why a change was refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The server refused a query, or is gone.
    #[error("{0}")]
    Server(#[from] server::Error),
    /// The facts could not be collected.
    #[error("{0}")]
    Audit(#[from] audit::Error),
    /// A statement failed.
    #[error("`{statement}`: {source}")]
    Statement {
        /// The statement, without secrets.
        statement: String,
        /// The server's error.
        source: server::Error,
    },
    /// The statement log cannot be written; nothing may be changed that is not logged.
    #[error("{}: the log of statements cannot be written: {source}", path.display())]
    Log {
        /// Path of the log.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The state of a run cannot be written or read.
    #[error("{}: {source}", path.display())]
    State {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another run works on the server; two would undo each other's settings.
    #[error("{server}: another run is working on this server")]
    AnotherRun {
        /// Address or socket of the server.
        server: String,
    },
    /// Several runs are active, and none was named.
    #[error("several runs are active")]
    SeveralRuns {
        /// Their servers.
        servers: Vec<String>,
    },
    /// There is no run to control.
    #[error("no run is active")]
    NoRun {
        /// The last run that was not complete, and how it ended.
        last: Option<(String, Activity)>,
    },
    /// A limit names a status variable that the server does not have.
    #[error("the server has no status variable {name}")]
    NoSuchStatus {
        /// Name of the variable.
        name: String,
    },
    /// A named schema does not exist.
    #[error("{server}: there is no schema {name}")]
    NoSuchSchema {
        /// Address or socket of the server.
        server: String,
        /// Name of the schema.
        name: String,
    },
    /// An online tool could not be started.
    #[error("{program} cannot be run: {source}")]
    Tool {
        /// Name of the program.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// The run was canceled.
    #[error("canceled")]
    Canceled,
    /// No keyring is active.
    #[error("{server}: no keyring is active, so nothing can be encrypted")]
    NoKeyring {
        /// Address or socket of the server.
        server: String,
    },
    /// No key management plug-in is active.
    #[error("{server}: no key management plug-in is active, so nothing can be encrypted")]
    NoKeyManagement {
        /// Address or socket of the server.
        server: String,
    },
    /// The keyring takes no new keys.
    #[error("{server}: the keyring {keyring} is read-only, so no key can be created")]
    ReadOnlyKeyring {
        /// Address or socket of the server.
        server: String,
        /// Component or plug-in.
        keyring: String,
    },
    /// The disk has no space for the keyring, and MySQL would truncate it.
    #[error(
        "{}: {}: MySQL truncates a keyring that it cannot write completely",
        keyring.display(),
        room(*free, *needed)
    )]
    NoRoomForKeyring {
        /// Path of the keyring.
        keyring: PathBuf,
        /// Free bytes.
        free: u64,
        /// Required bytes.
        needed: u64,
    },
    /// The key store cannot be used.
    #[error("{0}")]
    Keyring(#[from] verify::Error),
    /// The keyring on disk does not open all encrypted files.
    #[error(
        "{}: opens only {opened} of {encrypted} encrypted files; {}{}",
        keyring.display(),
        unopened(files),
        after_semicolons(lost)
    )]
    KeyringOpensNotAll {
        /// Path of the keyring.
        keyring: PathBuf,
        /// Number of files that it opens.
        opened: u64,
        /// Number of encrypted files.
        encrypted: u64,
        /// The files that it does not open; at least one.
        files: Vec<PathBuf>,
        /// Keys that it names, but does not give.
        lost: LostKeys,
    },
    /// The keyring's file is missing or empty although keys existed.
    #[error(
        "{}: is missing or empty, although there are {}",
        keyring.display(),
        evidence(*remembered, *encrypted_files)
    )]
    KeyringLost {
        /// Path of the keyring.
        keyring: PathBuf,
        /// Number of keys in the server's memory.
        remembered: u64,
        /// Number of files that need a key.
        encrypted_files: u64,
    },
    /// The server's keys are in a service, and the file that should name it does not exist.
    #[error("{}: does not exist, and the server's keys are in a service", _0.display())]
    NoServiceFile(PathBuf),
    /// The server is not supported.
    #[error("{server}: {reason}")]
    Unsupported {
        /// Address or socket of the server.
        server: String,
        /// The missing feature.
        reason: String,
    },

    /// The account lacks privileges.
    #[error("{account} lacks {}", missing.join(" and "))]
    Privileges {
        /// The account, in the server's notation.
        account: String,
        /// Missing privileges, each as `PRIVILEGE ON OBJECT`.
        missing: Vec<String>,
    },
    /// The server denied something, perhaps because the account lacks one of these privileges.
    #[error("{error}")]
    Denied {
        /// The server's error, with the statement.
        error: String,
        /// The account, in the server's notation.
        account: String,
        /// Privileges that its grants do not cover, each as `PRIVILEGE ON OBJECT`.
        missing: Vec<String>,
    },
    /// The data directory belongs to another server, or to none.
    #[error("{}: {reason}", datadir.display())]
    OtherDatadir {
        /// Path of the directory.
        datadir: PathBuf,
        /// Why it does not belong to this server.
        reason: String,
    },
    /// The keys are not in a readable file.
    #[error("{keyring} does not name the file with its keys, so they cannot be copied or proven")]
    KeyringNotAFile {
        /// Component or plug-in.
        keyring: String,
    },
    /// The given keyring is not the one that the server uses.
    #[error("{}: the server keeps its keys in {}", given.display(), used.display())]
    OtherKeyring {
        /// The given file.
        given: PathBuf,
        /// The server's file.
        used: PathBuf,
    },
    /// The running server has a key that its file does not have.
    #[error("{}: does not have {key}, which the running server has{}", path.display(), after_semicolons(lost))]
    KeyringBehind {
        /// Path of the file.
        path: PathBuf,
        /// Name of the key.
        key: String,
        /// Whether the file only names the service that has the keys.
        is_in_service: bool,
        /// Keys that it names, but does not give.
        lost: LostKeys,
    },
    /// MariaDB's key file lacks the key for the tables.
    #[error("{}: has no key {key_id}", path.display())]
    NoSuchKey {
        /// Path of the key file.
        path: PathBuf,
        /// Id of the key.
        key_id: u32,
    },
    /// The keyring changed while it was proven.
    #[error("{}: changed during every attempt to prove it", path.display())]
    KeyringChanges {
        /// Path of the file.
        path: PathBuf,
    },
    /// The keyring has no newer key after a rotation.
    #[error("{}: has no key newer than {} after the rotation", path.display(), older.as_deref().unwrap_or("none"))]
    NoNewKey {
        /// Path of the file.
        path: PathBuf,
        /// The newest key before the rotation.
        older: Option<String>,
        /// Whether the file only says in which service the keys are.
        is_in_service: bool,
    },
    /// Files could not be read, so nothing is proven.
    #[error("{}: {reason}", path.display())]
    Unread {
        /// Path of the first such file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The redo log is in clear text, so it has no key.
    #[error("{server}: the redo log is not encrypted, so it has no key to rotate")]
    RedoInClear {
        /// Address or socket of the server.
        server: String,
    },
    /// No file of the redo log names the new key.
    #[error("{server}: no redo log file names {key} after the rotation")]
    RedoUnproven {
        /// Address or socket of the server.
        server: String,
        /// The newest master key.
        key: String,
    },
    /// Binary logs are in clear text, so they have no key.
    #[error("{server}: binary logs are not encrypted, so they have no key to rotate")]
    BinaryLogsInClear {
        /// Address or socket of the server.
        server: String,
    },
    /// The file exists, and no unfinished run of this command wrote it.
    #[error("{}: already exists, and backups are never overwritten", path.display())]
    BackupExists {
        /// Path of the file.
        path: PathBuf,
    },
    /// The backup cannot be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Backup {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The backup could not be encrypted, or not decrypted again.
    #[error("{}: {reason}", path.display())]
    Age {
        /// Path of the file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A recipient is not valid.
    #[error("{location}: {reason}")]
    Recipient {
        /// Where it was given.
        location: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An identity is not valid.
    #[error("{}: {reason}", path.display())]
    Identity {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// MariaDB has no master keys that could be rotated.
    #[error("{server}: MariaDB has no master keys that could be rotated")]
    NoMasterKey {
        /// Address or socket of the server.
        server: String,
    },
    /// No key and no certificate was requested.
    #[error("no key or certificate to rotate was named")]
    Nothing,
    /// Keys are to be generated, but no backup was requested.
    #[error("no file for the backup of the keyring was given")]
    NoBackup,
    /// A backup was requested, but no recipient.
    #[error("no recipient of the backup was given")]
    NoRecipient,
    /// Recipients were given, but no file.
    #[error("recipients were given, but no file for the backup")]
    NoBackupFile,
    /// The register, or a copy that it names, cannot be used.
    #[error(transparent)]
    Register(#[from] register::Error),
    /// The keyring on disk cannot be read.
    #[error("{}: {source}", path.display())]
    KeyringFile {
        /// Path of the file.
        path: PathBuf,
        /// Error of the key store.
        source: keyring::Error,
    },
    /// A keyring has different keys of one name.
    #[error("{}: {source}", path.display())]
    SeveralKeys {
        /// Path of the file.
        path: PathBuf,
        /// Error of the key store.
        source: keyring::Error,
    },
    /// The keys cannot be fetched from the service that a configuration names.
    #[error("{}: {source}", path.display())]
    KeyService {
        /// Path of the configuration.
        path: PathBuf,
        /// Error of the key store.
        source: keyring::Error,
    },

    /// No server was given.
    #[error("no server was given")]
    NoServer,
    /// A keyring or key management plug-in is already active.
    #[error("{server}: {keyring} is already active")]
    Active {
        /// Address or socket of the server.
        server: String,
        /// Component or plug-in.
        keyring: String,
    },
    /// Another configuration exists.
    #[error("{}: {reason}", path.display())]
    Configured {
        /// Path of the file.
        path: PathBuf,
        /// What it contains.
        reason: String,
    },
    /// A key file exists.
    #[error("{}: already exists, and keys are never overwritten", path.display())]
    KeysExist {
        /// Path of the file.
        path: PathBuf,
    },
    /// The keyring would be in the data directory.
    #[error(
        "{}: is inside the data directory {}, beside the files that it protects",
        keyring.display(),
        datadir.display()
    )]
    InsideDatadir {
        /// Path of the keyring.
        keyring: PathBuf,
        /// Path of the data directory.
        datadir: PathBuf,
    },
    /// The directory is not a data directory of a supported server.
    #[error("{}: {reason}", path.display())]
    NoDatadir {
        /// Path of the directory.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The server's installation was not found on this host.
    #[error("{server}: {reason}")]
    NotFound {
        /// Address or socket of the server.
        server: String,
        /// What was not found.
        reason: String,
    },
    /// A directory for keys is accessible to others, or owned by another user.
    #[error("{}: {reason}", path.display())]
    Unsafe {
        /// Path of the directory.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A file could not be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Look {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// An option file cannot be read.
    #[error("{0}")]
    OptionFile(#[source] server::Error),
    /// A file could not be written.
    #[error("{}: cannot be written: {source}", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The service took a new version of a key, but does not return it.
    #[error(
        "{}: nothing is rotated: the Vault took a new version of key {key_id}, but still returns version {version} as the \
         newest",
        path.display()
    )]
    NoNewVersion {
        /// The configuration of the service.
        path: PathBuf,
        /// Number of the key.
        key_id: u32,
        /// The version that it returns.
        version: u32,
    },
    /// The service removed older versions of a key when it took a new one.
    #[error("{}: the Vault removed older versions of key {key_id} when it took a new one", path.display())]
    VersionsRemoved {
        /// The configuration of the service.
        path: PathBuf,
        /// Number of the key.
        key_id: u32,
    },
    /// The server does not use the newest version of a key.
    #[error(
        "{server}: no table is rotated: the server still encrypts with version {used} of key {key_id}, although the Vault \
         has version {newest}"
    )]
    OldVersionInUse {
        /// Address or socket of the server.
        server: String,
        /// Number of the key.
        key_id: u32,
        /// The version that the server uses.
        used: u32,
        /// The newest version in the service.
        newest: u32,
    },
    /// A keyring that keys are migrated from or to cannot be used.
    #[error("{keyring}: {source}")]
    KeyLocation {
        /// The keyring, as messages name it.
        keyring: String,
        /// Error of the key store.
        source: keyring::Error,
    },
    /// Source and target of a migration are the same.
    #[error("{keyring}: is the source and the target")]
    SameKeyring {
        /// The keyring.
        keyring: String,
    },
    /// The source of a migration has no keys.
    #[error("{keyring}: has no keys")]
    NoKeysToMigrate {
        /// The source.
        keyring: String,
    },
    /// The Vault no longer has keys of the source of a migration.
    #[error("{keyring}: has withdrawn keys: {}", keys.join("; "))]
    SourceKeysWithdrawn {
        /// The source.
        keyring: String,
        /// The keys, with the paths of their secrets and why they no longer exist; at least one.
        keys: Vec<String>,
    },
    /// The target of a migration has a newer master key of a server than the source.
    #[error("{keyring}: holds {key}, which is newer than the keys of that server in the source")]
    TargetIsNewer {
        /// The target.
        keyring: String,
        /// Name of the key.
        key: String,
    },
    /// A running server could not be asked which keyring it uses.
    #[error("the running server with process id {pid} cannot be examined, and may use the target")]
    ServerUnseen {
        /// The server's process.
        pid: u32,
    },
    /// A running server uses the target of a migration.
    #[error("{keyring}: the running server with process id {pid} uses it")]
    KeyringInUse {
        /// The target.
        keyring: String,
        /// The server's process.
        pid: u32,
    },
    /// The target of a migration has different keys under the same names.
    #[error("{keyring}: holds another key of the same name: {}", keys.join(", "))]
    OtherKeys {
        /// The target.
        keyring: String,
        /// Names of the keys; at least one.
        keys: Vec<String>,
    },
    /// A key was deleted in the target of a migration, where its name cannot be used again.
    #[error("{keyring}: {reason}")]
    KeyWithdrawn {
        /// The target.
        keyring: String,
        /// The key, and why it no longer exists.
        reason: String,
    },
    /// A key was written into the target of a migration, but is not there.
    #[error("{keyring}: accepted {key}, but does not have it")]
    KeyNotStored {
        /// The target.
        keyring: String,
        /// Name of the key.
        key: String,
    },
    /// A key was created in the source during the migration.
    #[error("{keyring}: got the key {key} during the migration, which the target does not have")]
    KeyMadeMeanwhile {
        /// The source.
        keyring: String,
        /// Name of the key.
        key: String,
    },
    /// No keys could be generated, or a key file is not valid.
    #[error("{}: {source}", path.display())]
    KeyFile {
        /// Path of the file.
        path: PathBuf,
        /// Error of the key store.
        source: keyring::Error,
    },

    /// The given files cannot be used.
    #[error(transparent)]
    Certificate(#[from] pki::Error),
    /// The server is too old to reload a certificate while it runs.
    #[error("{server}: reads certificates only at startup; {statement} exists since {since}{}", too_old(tls_version))]
    ReadsAtStart {
        /// Address or socket of the server.
        server: String,
        /// The statement that it lacks.
        statement: &'static str,
        /// Feature that came with the statement.
        since: String,
        /// The server's `tls_version`, if it allows no version of TLS with which the certificate could be proven.
        tls_version: Option<String>,
    },
    /// A TLS variable of the server names no file.
    #[error("{server}: {variable} names no file, and it cannot be set while the server runs")]
    MissingVariable {
        /// Address or socket of the server.
        server: String,
        /// Name of the variable.
        variable: &'static str,
    },
    /// An account has set the name of a file at run time.
    #[error(
        "{server}: {variable} is {}, which an account has set ({origin}), not an option file or the command line",
        path.display()
    )]
    SetByAccount {
        /// Address or socket of the server.
        server: String,
        /// Name of the variable.
        variable: &'static str,
        /// The file that it names.
        path: PathBuf,
        /// The origin of the value, in the server's words.
        origin: String,
    },
    /// The existing file may not be replaced.
    #[error("{}: {why}; the file was not replaced", path.display())]
    NotReplaced {
        /// The file or link.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Two variables name the same file.
    #[error("{}: the server has its {one} and its {other} in the same file", path.display())]
    SameFile {
        /// Path of the file.
        path: PathBuf,
        /// One variable.
        one: &'static str,
        /// The other variable.
        other: &'static str,
    },
    /// A file of the server cannot be read or replaced.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The handshake from outside failed.
    #[error("{endpoint}: the handshake from outside failed: {source}")]
    Unseen {
        /// Address or socket of the server.
        endpoint: Endpoint,
        /// Error of the server, or of the connection.
        source: server::Error,
    },
    /// The server still presents another certificate after reloading.
    #[error("{endpoint}: still serves the certificate {found}, not the new one {wanted}")]
    NotServed {
        /// Address or socket of the server.
        endpoint: Endpoint,
        /// SHA-256 of the certificate that it presents.
        found: String,
        /// SHA-256 of the new certificate.
        wanted: String,
    },
    /// Installation failed, and everything is restored.
    #[error("{cause}; all files are restored")]
    RolledBack {
        /// Why it failed.
        cause: Box<Self>,
    },
    /// Installation failed, and the roll-back is not proven.
    #[error("{cause}; restoring the old files failed too: {why}")]
    NotRolledBack {
        /// Why it failed.
        cause: Box<Self>,
        /// Why the roll-back failed.
        why: Box<Self>,
    },
    /// The certificate is not acceptable.
    #[error("{}: {reason}", path.display())]
    CertificateRefused {
        /// Path of the certificate.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

impl Error {
    /// Whether the command line is wrong.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        matches!(
            self,
            Self::SeveralRuns { .. }
                | Self::Nothing
                | Self::NoBackup
                | Self::NoRecipient
                | Self::Recipient { .. }
                | Self::Identity { .. }
                | Self::NoBackupFile
        )
    }
}
