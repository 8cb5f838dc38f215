//! A server that nobody else can reach, and that ends with this process.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use archive::Digest;
use process::{EndSignal, Program, Unguarded};
use replication::gtid::Executed;
use rustix::process::geteuid;
use server::{
    Connection, Endpoint, Flavor, NotStarted, Options, Rows, ServerProcess, ServerVersion, Target, TlsMode, TlsOptions,
    dialect::{gtid, statement::SHOW_BINARY_LOGS},
    quote,
};

use super::{
    Prover, RecoveredGtids, links,
    private_files::PrivateDirectories,
    program::{self as prove_program, KEYRING, prepare},
};
use crate::Error;

/// Time limit of the shutdown, in which the server writes out what it recovered.
const STOP_LIMIT: Duration = Duration::from_secs(600);
/// Time limit of a statement: checking a large table takes long.
const STATEMENT_LIMIT: Duration = Duration::from_secs(24 * 3600);

/// Options of every private server. Those with `loose` exist on some versions only.
const OPTIONS: [&str; 13] = [
    "--skip-networking",
    "--skip-grant-tables",
    "--server-id=1",
    "--event-scheduler=DISABLED",
    "--loose-skip-replica-start",
    "--loose-skip-slave-start",
    "--loose-auto-generate-certs=OFF",
    "--loose-sha256-password-auto-generate-rsa-keys=OFF",
    "--loose-caching-sha2-password-auto-generate-rsa-keys=OFF",
    "--loose-performance-schema=OFF",
    "--local-infile=OFF",
    "--general-log=OFF",
    "--slow-query-log=OFF",
];

/// The directory on which a private server starts, and its settings.
pub(crate) struct Start<'s> {
    pub(crate) datadir: &'s Path,
    /// The program's version.
    pub(crate) version: &'s ServerVersion,
    pub(crate) prover: &'s Prover,
    /// UUID of the server that was backed up, if it is known.
    pub(crate) server_uuid: Option<&'s str>,
}

/// A running server, killed on drop.
pub(crate) struct PrivateServer {
    // Dropped before the directories: it must have ended before its files are removed.
    process: ServerProcess,
    connection: Option<Connection>,
    directories: PrivateDirectories,
    /// SHA-256 of the copy of the keyring, if there is one.
    keyring: Option<Digest>,
    program: PathBuf,
    /// Set by the user to end it.
    stop: Arc<AtomicBool>,
}

/// A table's schema and name.
pub(crate) type Table = (String, String);

impl Start<'_> {
    /// Starts a server as the owner of the directory, and waits until it has recovered.
    pub(crate) fn on_disk(&self, options: &[String]) -> Result<PrivateServer, Error> {
        let keys = prove_program::key_source(self.version, self.prover)?;
        let directories = PrivateDirectories::create(self.datadir, keys)?;
        let program = prepare(&directories.own, &directories.secrets, self.version, self.prover)?;
        PrivateServer::start(self, directories, program, options)
    }

    /// Like [`Self::on_disk`], for a server that reads and writes rows outside of its data directory: these rows, its
    /// temporary files and its log are in a directory in memory. Files that `options` writes there are given to the
    /// server's user.
    pub(crate) fn in_memory<T>(
        &self,
        options: impl FnOnce(&Path) -> Result<(Vec<String>, T), Error>,
    ) -> Result<(PrivateServer, T), Error> {
        let directories = PrivateDirectories::in_memory(self.datadir)?;
        let program = prepare(&directories.own, &directories.secrets, self.version, self.prover)?;
        let (options, made) = options(&directories.secrets)?;
        Ok((PrivateServer::start(self, directories, program, &options)?, made))
    }
}

impl PrivateServer {
    fn start(
        start: &Start<'_>,
        directories: PrivateDirectories,
        program: prove_program::Program,
        found: &[String],
    ) -> Result<Self, Error> {
        links::check_inside(start.datadir)?;
        let owner = fs::metadata(start.datadir).map_err(Error::io(start.datadir, "cannot be read"))?;
        let user = (owner.uid(), owner.gid());
        let keyring = keyring_digest(&directories.secrets);
        directories.give(user, start.server_uuid)?;
        let own = program.options.iter().map(String::as_str).chain(OPTIONS);
        // The prover's options may name another place for large temporary files.
        let options = own.chain(found.iter().chain(&start.prover.options).map(String::as_str));
        let files = directories.files();
        let process = ServerProcess::start(guarded(&program.path, user).directory(&directories.own), &files, options);
        let process = process.map_err(|fault| match fault {
            NotStarted::Log(error) => Error::io(&files.log, "cannot be written")(error),
            NotStarted::Program(error) => Error::io(&program.path, "cannot be run")(error),
        })?;
        let stop = Arc::clone(&start.prover.stop);
        let mut server = Self { process, connection: None, directories, keyring, program: program.path, stop };
        server.wait(start.prover.limit)?;
        Ok(server)
    }

    fn wait(&mut self, limit: Duration) -> Result<(), Error> {
        let tls = TlsOptions { mode: Some(TlsMode::Off), ..TlsOptions::default() };
        let options = Options { tls, statement_timeout: STATEMENT_LIMIT, ..Options::default() };
        // Outer `None`: not yet. Inner `None`: a signal.
        let answer = self.process.connect(limit, |socket| {
            if self.stop.load(Ordering::Relaxed) {
                return Some(None);
            }
            let target = Target { user: "root".to_owned(), endpoint: Endpoint::Socket(socket.to_owned()) };
            Connection::open(&target, &options).ok().map(Some)
        });
        self.connection = match answer {
            Some(None) => return Err(Error::ProofStopped),
            answer => answer.flatten(),
        };
        if self.connection.is_some() {
            return Ok(());
        }
        Err(if self.process.has_ended() {
            self.failed("it ended while it recovered")
        } else {
            self.failed(&format!("it did not recover within {} s", limit.as_secs()))
        })
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
        let is_whole = is_whole(&gtid, expected);
        Ok(RecoveredGtids { gtid, expected: expected.to_owned(), is_whole })
    }

    /// The server's binary logs, as `SHOW BINARY LOGS` lists them; none if it writes none.
    pub(crate) fn binary_logs(&mut self) -> Result<Rows, Error> {
        let is_written = self.value("SELECT @@GLOBAL.log_bin")? == "1";
        if is_written { self.rows(SHOW_BINARY_LOGS) } else { Ok(Rows::default()) }
    }

    /// The server's executed GTIDs; empty if there are none.
    pub(crate) fn gtids(&mut self, flavor: Flavor) -> Result<String, Error> {
        self.value(gtid::logged(flavor))
    }

    /// The server's executed GTIDs; for MariaDB, including those that it has applied as a replica.
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
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::ProofStopped);
        }
        let Some(connection) = &mut self.connection else { return Ok(Rows::default()) };
        match connection.query(sql) {
            Ok(rows) => Ok(rows),
            Err(error) => Err(self.refused(&error.to_string())),
        }
    }

    /// Whether the server has changed its copy of the keyring. New keys are lost with the copy.
    pub(crate) fn has_new_keys(&self) -> bool {
        keyring_digest(&self.directories.secrets) != self.keyring
    }

    /// Shuts the server down cleanly.
    pub(crate) fn stop(mut self) -> Result<(), Error> {
        self.connection = None;
        match self.process.stop(STOP_LIMIT) {
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(Some(status)) => Err(self.failed(&format!("it did not stop in order ({status})"))),
            Ok(None) | Err(_) => Err(self.failed("it did not stop")),
        }
    }

    /// The error after a server refused a statement. Its log is the reason only if the server has ended: the log of a
    /// running server may have unrelated errors, such as those of channels whose relay logs were not restored.
    pub(crate) fn refused(&mut self, reason: &str) -> Error {
        if self.process.has_ended() {
            return self.failed(reason);
        }
        Error::Prove { program: self.program.clone(), reason: reason.to_owned() }
    }

    /// The error whose reason is the first error in the server's log, or `otherwise` if the log has none.
    pub(crate) fn failed(&self, otherwise: &str) -> Error {
        let reason = self.process.first_error().unwrap_or_else(|| otherwise.to_owned());
        Error::Prove { program: self.program.clone(), reason }
    }
}

/// Whether recovered GTIDs match those of a position; `false` if either text cannot be parsed.
fn is_whole(recovered: &str, expected: &str) -> bool {
    let positions = (recovered.parse::<Executed>(), expected.parse::<Executed>());
    matches!(positions, (Ok(recovered), Ok(expected)) if recovered.is_recovery_of(&expected))
}

fn keyring_digest(secrets: &Path) -> Option<Digest> {
    keyring::read_file(&secrets.join(KEYRING)).ok().map(|bytes| Digest::compute(&bytes))
}

/// The program, run as this user and killed when this process ends. A host without `setpriv` can still prove its
/// backups. On such a host, the server keeps running if this process is killed, but nobody except its user can reach
/// it.
fn guarded(program: &Path, (uid, gid): (u32, u32)) -> Program<'static> {
    let program = Program::at(program).ended_with_parent(EndSignal::Kill, Unguarded::Run).with_children();
    let program = program.env_remove("MYSQL_HOME").env_remove("LD_PRELOAD");
    if geteuid().is_root() && uid != 0 { program.user(uid, gid) } else { program }
}

#[cfg(test)]
mod tests {
    use super::is_whole;

    #[test]
    fn a_text_that_is_no_gtid_is_not_whole() {
        assert!(is_whole("0-1-9", "0-1-9"));
        assert!(!is_whole("x", "0-1-9") && !is_whole("0-1-9", "x") && !is_whole("x", "x"));
    }
}
