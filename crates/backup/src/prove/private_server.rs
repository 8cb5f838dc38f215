//! A server that nobody else can reach, and that ends with this process.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

use archive::Digest;
use process::{EndSignal, Program, Running, Unguarded};
use replication::gtid::Executed;
use rustix::process::{Signal, geteuid};
use server::{
    Connection, Endpoint, Flavor, Options, Rows, ServerVersion, Target, TlsMode, TlsOptions, auto_cnf, dialect::gtid,
    program, quote,
};

use super::{
    Prover, RecoveredGtids, memory,
    private_files::{clean_up, give, private_directory, write_identity},
    program::{KEYRING, prepare},
};
use crate::Error;

const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Time limit of the shutdown, in which the server writes out what it recovered.
const STOP_LIMIT: Duration = Duration::from_secs(600);
/// Time limit of a statement: checking a large table takes long.
const STATEMENT_LIMIT: Duration = Duration::from_secs(24 * 3600);
/// Name of the socket. Short, since the path of a socket has at most 107 bytes.
const SOCKET: &str = "s";

/// Options of every private server. Those with `loose` exist on some versions only.
const OPTIONS: [&str; 16] = [
    "--skip-networking",
    "--skip-grant-tables",
    "--server-id=1",
    "--event-scheduler=DISABLED",
    "--loose-skip-replica-start",
    "--loose-skip-slave-start",
    "--loose-persisted-globals-load=OFF",
    "--loose-mysqlx=OFF",
    "--loose-wsrep-on=OFF",
    "--loose-auto-generate-certs=OFF",
    "--loose-sha256-password-auto-generate-rsa-keys=OFF",
    "--loose-caching-sha2-password-auto-generate-rsa-keys=OFF",
    "--loose-performance-schema=OFF",
    "--local-infile=OFF",
    "--general-log=OFF",
    "--slow-query-log=OFF",
];

/// A running server, killed on drop.
pub(crate) struct PrivateServer {
    running: Running,
    connection: Option<Connection>,
    directory: PathBuf,
    /// Copies of the keys, in memory where the system has such a file system.
    secrets: PathBuf,
    /// The server's log.
    log: PathBuf,
    /// SHA-256 of the copy of the keyring, if there is one.
    keyring: Option<Digest>,
    program: PathBuf,
    /// The `auto.cnf` that was created, to be removed afterwards.
    made_identity: Option<PathBuf>,
}

/// A table's schema and name.
pub(crate) type Table = (String, String);

impl PrivateServer {
    /// Starts a server as the owner of the directory, and waits until it has recovered.
    pub(crate) fn start(
        datadir: &Path,
        version: &ServerVersion,
        prover: &Prover,
        server_uuid: Option<&str>,
        found: &[String],
    ) -> Result<Self, Error> {
        let directory = private_directory(&std::env::temp_dir())?;
        let secrets = private_directory(Path::new(memory::DIRECTORY)).or_else(|_| private_directory(&directory))?;
        let options = |_: &Path| Ok((found.to_vec(), ()));
        let rows = directory.clone();
        let started = Self::start_in((directory, secrets, rows), datadir, version, prover, server_uuid, options);
        started.map(|(server, ())| server)
    }

    /// The same, for a server that reads and writes rows outside of its data directory: they, its temporary files and
    /// its log are in a directory in memory. What `options` writes there is given to the server's user.
    pub(crate) fn start_in_memory<T>(
        datadir: &Path,
        version: &ServerVersion,
        prover: &Prover,
        server_uuid: Option<&str>,
        options: impl FnOnce(&Path) -> Result<(Vec<String>, T), Error>,
    ) -> Result<(Self, T), Error> {
        memory::free_bytes(Path::new(memory::DIRECTORY))?;
        let directory = private_directory(&std::env::temp_dir())?;
        let secrets =
            private_directory(Path::new(memory::DIRECTORY)).inspect_err(|_| clean_up(&directory, &directory, None))?;
        let rows = secrets.clone();
        Self::start_in((directory, secrets, rows), datadir, version, prover, server_uuid, options)
    }

    /// Starts a server with these directories: its own, the one of keys, and the one of its log and temporary files.
    fn start_in<T>(
        (directory, secrets, rows): (PathBuf, PathBuf, PathBuf),
        datadir: &Path,
        version: &ServerVersion,
        prover: &Prover,
        server_uuid: Option<&str>,
        options: impl FnOnce(&Path) -> Result<(Vec<String>, T), Error>,
    ) -> Result<(Self, T), Error> {
        let owner = fs::metadata(datadir).map_err(Error::io(datadir, "cannot be read"))?;
        let user = (owner.uid(), owner.gid());
        let (identity, log_path) = (datadir.join(auto_cnf::NAME), rows.join("log"));
        let is_made = !identity.exists();
        let prepared =
            prepare(&directory, &secrets, version, prover).and_then(|program| Ok((program, options(&secrets)?)));
        let started = prepared.and_then(|(program, (found, made))| {
            let keyring = keyring_digest(&secrets);
            give(&secrets, user)?;
            give(&directory, user)?;
            if let Some(uuid) = server_uuid.filter(|_| is_made) {
                write_identity(&identity, uuid, user)?;
            }
            let mut server = guarded(&program.path, user).directory(&directory);
            server = server.arg("--no-defaults").args(&program.options).args(OPTIONS).args(&found);
            // Another place may be given for large temporary files.
            server = server.arg(program::option("tmpdir", &rows)).args(&prover.options);
            server = server.args([
                program::option("datadir", datadir),
                program::option("socket", &directory.join(SOCKET)),
                program::option("pid-file", &directory.join("pid")),
                program::option("secure-file-priv", &rows),
            ]);
            if user.0 == 0 {
                server = server.arg("--user=root");
            }
            let log = File::create(&log_path).map_err(Error::io(&log_path, "cannot be written"))?;
            let running = server.start(Stdio::null(), log).map_err(Error::io(&program.path, "cannot be run"))?;
            Ok((running, program.path, keyring, made))
        });
        let made_identity = is_made.then_some(identity);
        let (running, program, keyring, made) =
            started.inspect_err(|_| clean_up(&directory, &secrets, made_identity.as_deref()))?;
        let log = log_path;
        let mut server = Self { running, connection: None, directory, secrets, log, keyring, program, made_identity };
        server.wait(prover.limit)?;
        Ok((server, made))
    }

    fn wait(&mut self, limit: Duration) -> Result<(), Error> {
        let endpoint = Endpoint::Socket(self.directory.join(SOCKET));
        let target = Target { user: "root".to_owned(), endpoint };
        let tls = TlsOptions { mode: Some(TlsMode::Off), ..TlsOptions::default() };
        let options = Options { tls, statement_timeout: STATEMENT_LIMIT, ..Options::default() };
        let began = Instant::now();
        loop {
            if let Ok(connection) = Connection::open(&target, &options) {
                self.connection = Some(connection);
                return Ok(());
            }
            if self.has_ended() {
                return Err(self.failed("it ended while it recovered"));
            }
            if began.elapsed() > limit {
                return Err(self.failed(&format!("it did not recover within {} s", limit.as_secs())));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// All tables, the largest first.
    pub(crate) fn tables(&mut self) -> Result<Vec<Table>, Error> {
        let rows = self.query(
            "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' \
             AND TABLE_SCHEMA NOT IN ('information_schema', 'performance_schema') ORDER BY DATA_LENGTH DESC",
        )?;
        let table = |row: Vec<Option<String>>| {
            let mut row = row.into_iter();
            Some((row.next()??, row.next()??))
        };
        Ok(rows.into_iter().filter_map(table).collect())
    }

    /// Compares the recovered GTIDs with those of a backup's position.
    pub(crate) fn recovered_gtids(&mut self, expected: &str, flavor: Flavor) -> Result<RecoveredGtids, Error> {
        let gtid = self.gtids(flavor)?;
        let positions = (gtid.parse::<Executed>(), expected.parse::<Executed>());
        let is_whole = matches!(positions, (Ok(recovered), Ok(recorded)) if recovered.is_recovery_of(&recorded));
        Ok(RecoveredGtids { gtid, expected: expected.to_owned(), is_whole })
    }

    /// The server's executed GTIDs; empty if there are none.
    pub(crate) fn gtids(&mut self, flavor: Flavor) -> Result<String, Error> {
        self.value(gtid::logged(flavor))
    }

    /// The GTIDs that it has executed, with those that MariaDB has as a replica.
    pub(crate) fn executed(&mut self, flavor: Flavor) -> Result<String, Error> {
        self.value(gtid::executed(flavor))
    }

    /// Scheduled events of MySQL that are disabled because a replica has them, by their quoted names.
    pub(crate) fn events_of_source(&mut self) -> Result<BTreeSet<String>, Error> {
        let rows = self.query(
            "SELECT CONCAT('`', EVENT_SCHEMA, '`.`', EVENT_NAME, '`') FROM information_schema.EVENTS \
             WHERE STATUS IN ('SLAVESIDE_DISABLED', 'REPLICA_SIDE_DISABLED')",
        )?;
        Ok(rows.into_iter().flatten().flatten().collect())
    }

    /// The first value of an answer; empty for NULL.
    fn value(&mut self, sql: &str) -> Result<String, Error> {
        Ok(self.query(sql)?.into_iter().flatten().next().flatten().unwrap_or_default())
    }

    /// Checks a table. Returns the first error, if any.
    pub(crate) fn check(&mut self, (schema, table): &Table) -> Result<Option<String>, Error> {
        let rows = self.query(&format!("CHECK TABLE {}", quote::table(schema, table)))?;
        // The columns are Table, Op, Msg_type, Msg_text. Notes and warnings do not count; a status other than OK does.
        let error = rows.into_iter().find_map(|row| {
            let [_, _, Some(kind), Some(text)] = <[Option<String>; 4]>::try_from(row).ok()? else { return None };
            let is_bad = kind.eq_ignore_ascii_case("error")
                || kind.eq_ignore_ascii_case("status") && text != "OK" && text != "Table is already up to date";
            is_bad.then_some(text)
        });
        Ok(error.map(|text| format!("{schema}.{table}: {text}")))
    }

    pub(crate) fn query(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Error> {
        self.rows(sql).map(|rows| rows.rows)
    }

    /// Executes a statement. Returns the rows with column names.
    pub(crate) fn rows(&mut self, sql: &str) -> Result<Rows, Error> {
        let Some(connection) = &mut self.connection else { return Ok(Rows::default()) };
        match connection.query(sql) {
            Ok(rows) => Ok(rows),
            Err(error) => Err(self.refused(&error.to_string())),
        }
    }

    /// Whether it has written into its copy of the keyring. New keys go with the copy.
    pub(crate) fn has_new_keys(&self) -> bool {
        keyring_digest(&self.secrets) != self.keyring
    }

    /// Stops it in order.
    pub(crate) fn stop(mut self) -> Result<(), Error> {
        self.connection = None;
        self.running.signal(Signal::TERM);
        match self.running.wait(STOP_LIMIT) {
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(Some(status)) => Err(self.failed(&format!("it did not stop in order ({status})"))),
            Ok(None) | Err(_) => Err(self.failed("it did not stop")),
        }
    }

    fn has_ended(&mut self) -> bool {
        self.running.status().ok().flatten().is_some()
    }

    /// What a server that runs has refused. Its log may have errors that are no reason, such as those on channels of
    /// the restored server whose relay logs are not here.
    pub(crate) fn refused(&mut self, reason: &str) -> Error {
        if self.has_ended() {
            return self.failed(reason);
        }
        Error::Prove { program: self.program.clone(), reason: reason.to_owned() }
    }

    /// The first error of its log is the reason; if there is none, `otherwise`.
    pub(crate) fn failed(&self, otherwise: &str) -> Error {
        let log = fs::read(&self.log).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let reason = program::first_error(&log).unwrap_or(otherwise).to_owned();
        Error::Prove { program: self.program.clone(), reason }
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        self.running.kill();
        // It must have ended before its files are removed.
        let _ = self.running.wait(STOP_LIMIT);
        clean_up(&self.directory, &self.secrets, self.made_identity.as_deref());
    }
}

fn keyring_digest(secrets: &Path) -> Option<Digest> {
    keyring::read_file(&secrets.join(KEYRING)).ok().map(|bytes| Digest::compute(&bytes))
}

/// The program, run as this user, and killed when this process ends. A host without `setpriv` can still prove its
/// backups; only if this process is killed itself, its server runs on, which nobody but its user can reach.
fn guarded(program: &Path, (uid, gid): (u32, u32)) -> Program<'static> {
    let program = Program::at(program).ended_with_parent(EndSignal::Kill, Unguarded::Run).with_children();
    let program = program.env_remove("MYSQL_HOME").env_remove("LD_PRELOAD");
    if geteuid().is_root() && uid != 0 { program.user(uid, gid) } else { program }
}
