//! Errors of measurements.

mod hint;

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use files::quantity::size;
use server::Endpoint;

/// Requirement of peers that copy from a running server.
pub(crate) const NEEDS_SERVER: &str = "a running server: --server-socket";

/// Why a measurement failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A program could not be started, or failed.
    #[error("{program}: {reason}")]
    Program {
        /// Name of the program.
        program: String,
        /// What went wrong.
        reason: String,
    },
    /// A link between two network namespaces could not be created.
    #[error("a link of that rate cannot be made: {reason}")]
    Link {
        /// What went wrong.
        reason: String,
    },
    /// A file stays in the page cache: another process has it mapped, or its file system is in memory.
    #[error("{}: cannot be dropped from the page cache; another process may have it mapped", path.display())]
    NotCold {
        /// Path of the file.
        path: PathBuf,
    },
    /// A file of samples cannot be used.
    #[error("{}: not a file of samples: {reason}", path.display())]
    SamplesFile {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A file of samples was not written to its end.
    #[error("{}: cut off in line {line}", path.display())]
    SamplesCut {
        /// Path of the file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
    },
    /// No experiment of a file of samples has the requested arm.
    #[error("{}: no experiment has the arm {arm}", path.display())]
    NoArm {
        /// Path of the file.
        path: PathBuf,
        /// The requested arm.
        arm: String,
        /// The arms that there are.
        arms: Vec<String>,
    },
    /// A saved result or report of costs cannot be used.
    #[error("{}: not a report of costs: {reason}", path.display())]
    CostFile {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The calibration of another machine is used for a server on this one.
    #[error("{}: was measured on another machine ({cpu}) than the server's ({here})", path.display())]
    OtherMachine {
        /// Path of the report.
        path: PathBuf,
        /// The processor of the machine that wrote it.
        cpu: String,
        /// The processor of this machine.
        here: String,
    },
    /// A server's counters were set to zero while it was observed.
    #[error("{endpoint}: its counters were set to zero meanwhile, such as by FLUSH GLOBAL STATUS")]
    CountersReset {
        /// Address of the server.
        endpoint: Endpoint,
    },
    /// The time does not suffice for rounds that give an interval.
    #[error(
        "the time is too short for intervals: with {part} it takes at least {} min",
        needed.as_millis().div_ceil(60_000)
    )]
    TooLittleTime {
        /// Name of the part for which the time is too short.
        part: String,
        /// The time that is needed for all parts.
        needed: Duration,
    },
    /// A signal stopped the run.
    #[error("interrupted; nothing more was measured")]
    Interrupted,
    /// A requested program does not exist.
    #[error(
        "{}: no such program{}",
        program.display(), if *has_version { ", or it does not report its version" } else { "" }
    )]
    NoProgram {
        /// Path of the program.
        program: PathBuf,
        /// Whether the program must also report its version.
        has_version: bool,
    },
    /// `fio` is not installed.
    #[error("fio is not installed")]
    NoFio,
    /// sysbench is not installed, or cannot be used.
    #[error("sysbench {reason}")]
    Sysbench {
        /// Why not.
        reason: String,
    },
    /// sysbench cannot run the requested load.
    #[error("sysbench cannot run this load: {reason}")]
    SysbenchLoad {
        /// Why not.
        reason: &'static str,
    },
    /// No server program was found.
    #[error("no mariadbd or mysqld in PATH or /usr/sbin")]
    NoServer,
    /// The installed server is of another version than the requested one.
    #[error("{}: is of version {version}, not {wanted}", program.display())]
    OtherVersion {
        /// Path of the program.
        program: PathBuf,
        /// Its version.
        version: String,
        /// The requested one.
        wanted: String,
    },
    /// A required program or library is not at the given path.
    #[error("{}: no such file", path.display())]
    NoInstallation {
        /// Path of the file.
        path: PathBuf,
        /// The option that names it.
        option: &'static str,
    },
    /// No port of the loopback interface is available.
    #[error("a port of the loopback interface: {0}")]
    Port(io::Error),
    /// Certificates for a measurement cannot be made.
    #[error(transparent)]
    Certificate(#[from] pki::Error),
    /// An age key cannot be generated.
    #[error(transparent)]
    Age(#[from] agefile::Error),
    /// A client's TLS cannot be set up.
    #[error("TLS: {0}")]
    Tls(String),
    /// A disk is in use or cannot be read, or a volume on it cannot be created.
    #[error(transparent)]
    Luks(#[from] luks::Error),
    /// A data directory, or a snapshot of it, cannot be used.
    #[error(transparent)]
    Snapshot(#[from] snapshot::Error),
    /// A server runs on the data directory, which must not change.
    #[error("{}: a server runs on it, as process {pid}", path.display())]
    ServerRuns {
        /// Path of the directory.
        path: PathBuf,
        /// Process id of the server.
        pid: i32,
    },
    /// A working directory does not exist.
    #[error("{}: no such directory", path.display())]
    NoDirectory {
        /// Path of the file or device.
        path: PathBuf,
    },
    /// A working directory is inside the data directory.
    #[error("{}: lies in the data directory", path.display())]
    InDataDirectory {
        /// Path of the file or device.
        path: PathBuf,
    },
    /// A file to verify cannot be read.
    #[error("{}: {reason}", path.display())]
    Unread {
        /// Path of the file or device.
        path: PathBuf,
        /// The reason, as messages give it.
        reason: String,
    },
    /// There is nothing to verify.
    #[error("there is nothing to verify there")]
    NothingToVerify,
    /// There is nothing to copy.
    #[error("{}: there is nothing to copy", path.display())]
    NothingToCopy {
        /// Path of the directory.
        path: PathBuf,
    },
    /// Copies would be made inside the source directory.
    #[error("{}: is inside the directory that is to be copied", path.display())]
    WithinSource {
        /// Directory of the copies.
        path: PathBuf,
    },
    /// There is not enough space for a copy.
    #[error("{}: a copy takes {}, there is room for {}", path.display(), size(*needed), size(*room))]
    NoRoom {
        /// Directory of the copy.
        path: PathBuf,
        /// Required bytes.
        needed: u64,
        /// Free bytes.
        room: u64,
    },
    /// Programs of a requested peer are missing.
    #[error("{peer}: not in PATH: {}", programs.join(", "))]
    PeerMissing {
        /// Name of the other program.
        peer: &'static str,
        /// Its missing programs.
        programs: Vec<&'static str>,
    },
    /// A requested peer copies from a running server, and none was given.
    #[error("{peer}: needs {}", NEEDS_SERVER)]
    PeerNeedsServer {
        /// Name of the other program.
        peer: &'static str,
    },
    /// A running server was given, but no peer copies from one.
    #[error("--server-socket: no peer of --peers copies from a server")]
    NoPeerOfServer,
    /// The processor's AES instructions cannot be hidden from other programs.
    #[error("--peers-without-aes works on x86-64 only")]
    NoAesSwitch,
    /// A link was requested with a peer that uses no network.
    #[error("{peer} uses no network, so --rate does not go with it")]
    PeerWithoutNetwork {
        /// Name of the other program.
        peer: &'static str,
    },
    /// A server that data is to be made like has no tables, or the account does not see them.
    #[error("{endpoint}: the account sees no rows of InnoDB tables there")]
    NoTables {
        /// Address of the server.
        endpoint: Endpoint,
    },
    /// No account on the running server is named.
    #[error("no account is named")]
    NoAccount,
    /// The option file of the account cannot be used.
    #[error(transparent)]
    OptionFile(Box<server::Error>),
    /// The running server cannot be asked what it is.
    #[error("{}", source.naming(endpoint))]
    Server {
        /// Address that was tried.
        endpoint: Endpoint,
        /// The client's error.
        source: Box<server::Error>,
    },
    /// The running server is not MariaDB, which `mariabackup` requires.
    #[error("{}: mariabackup copies MariaDB only, and this is {version}", socket.display())]
    NotMariaDb {
        /// Socket of the server.
        socket: PathBuf,
        /// Its fork and version.
        version: String,
    },
    /// The running server's data directory cannot be read.
    #[error("{}: its data directory cannot be read: {source}", socket.display())]
    ServerUnread {
        /// Socket of the server.
        socket: PathBuf,
        /// The underlying error.
        source: Box<Self>,
    },
    /// The running server uses the directory that is copied.
    #[error("{}: the server runs in DIR, so files would change while they are copied", socket.display())]
    SourceInUse {
        /// Socket of the server.
        socket: PathBuf,
    },
    /// The running server has other data than the directory that is copied.
    #[error("{}: not the same data: {difference}", socket.display())]
    OtherData {
        /// Socket of the server.
        socket: PathBuf,
        /// What differs.
        difference: String,
    },
    /// A working directory belongs to a server.
    #[error("{}: lies in a server's data directory; only servers that this run starts are measured", path.display())]
    DataDirectory {
        /// Path of the directory.
        path: PathBuf,
    },
    /// The path given as a server program is a running server's socket, or a directory.
    #[error("{}: is no server program but {what}; only servers that this run starts are measured", path.display())]
    NotServerProgram {
        /// The path that was given.
        path: PathBuf,
        /// Type of the file.
        what: &'static str,
    },
    /// An option for the servers names a path, or sets what the measurement itself sets.
    #[error("--server-option {option}: {reason}")]
    ServerOption {
        /// The option as it was given.
        option: String,
        /// Why it is refused.
        reason: &'static str,
    },
    /// There is not enough disk space for the servers and their data.
    #[error("{}: servers and their data take {}, there is room for {}", path.display(), size(*needed), size(*room))]
    NoServerRoom {
        /// Directory of the servers.
        path: PathBuf,
        /// Required bytes.
        needed: u64,
        /// Free bytes.
        room: u64,
    },
    /// There is not enough memory for the servers.
    #[error("{servers} servers at a time take {} of memory, {} are available", size(*needed), size(*room))]
    NoMemory {
        /// Number of servers.
        servers: u64,
        /// Required bytes.
        needed: u64,
        /// Available bytes.
        room: u64,
    },
    /// Keys for a server cannot be generated.
    #[error("keys for a server: {0}")]
    Keys(#[from] keyring::Error),
    /// An arm did different work than in its previous run, so its times are not comparable.
    #[error("{arm}: {reason}")]
    Work {
        /// Name of the arm.
        arm: String,
        /// The difference.
        reason: String,
    },
}

impl Error {
    /// For `map_err` of an option file.
    pub(crate) fn option_file(source: server::Error) -> Self {
        Self::OptionFile(Box::new(source))
    }

    /// Makes an [`Self::Program`].
    pub(crate) fn program(program: &Path, reason: impl Into<String>) -> Self {
        Self::Program { program: program.display().to_string(), reason: reason.into() }
    }

    /// For `map_err` of an operation on `path`.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::File { path, source }
    }
}
