//! Servers with the same data, one for each arm, and a run on one of them.

use std::{
    cell::{Cell, RefCell},
    fs,
    net::SocketAddr,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use server::{
    Connection, Endpoint, Flavor, Identity, Options, Rows, ServerVersion, Target, describe,
    dialect::{self, activity, statement, variable},
};
use zeroize::Zeroizing;

use super::{
    arms::ServerArm,
    keys::{encryption_setup, key_stores},
    load::{Done, Load, Wire},
    rotation::{self, Dip},
    tables::{TableFormat, TableSet},
    usage::{Switches, Usage},
    volume::Volume,
};
use crate::{
    Arm, Detail, Error, Operations, Program, ServerWork, Work,
    perf::Profile,
    predict::{self, Calibration, Prediction},
    processor::busy_seconds,
    tls::{ADMINISTRATOR, Address, Client, KeyPairFiles, OLTP_DATABASE, Security, StartOptions, TemporaryServer, USER},
};

/// Size of the redo log: large enough that a run of some seconds forces no checkpoint.
const REDO_BYTES: u64 = 512 << 20;
/// Disk space of a server besides its tables and redo log: system tables, undo, binary logs of a run.
const SERVER_BYTES: u64 = 512 << 20;
/// Maximum time until a server has encrypted its tablespaces, or written its pages.
const SETTLE_LIMIT: Duration = Duration::from_secs(300);
const POLL_INTERVAL: Duration = Duration::from_millis(50);
/// Maximum number of dirty pages of a server at rest. An idle server keeps writing a few pages itself.
const FEW_PAGES: u64 = 64;
/// Maximum history list length of a server at rest.
const SHORT_HISTORY: u64 = 256;
/// How long a server at rest has not shortened a longer list.
pub(crate) const PURGE_PAUSE: Duration = Duration::from_secs(3);
/// After how many batches of purged transactions MySQL shortens its undo history.
const TRUNCATE_FREQUENCY: &str = "innodb_purge_rseg_truncate_frequency";
/// Default of `innodb_max_dirty_pages_pct` in both families.
const DIRTY_PERCENT: u32 = 90;

/// Settings that all servers of a measurement share.
pub(crate) struct ServerSetup<'a> {
    /// Path of the server program.
    pub(crate) server: &'a Path,
    /// The private directory of the measurement.
    pub(crate) directory: &'a Path,
    pub(crate) authority: &'a Path,
    pub(crate) pair: &'a KeyPairFiles,
    pub(crate) mariadb: bool,
    pub(crate) pool_bytes: u64,
    /// Further options of all servers.
    pub(crate) options: &'a [String],
    pub(crate) tables: TableSet,
    /// Whether the first run of each arm is not measured.
    pub(crate) warm_up: bool,
    pub(crate) stopped: &'a Arc<AtomicBool>,
}

/// Disk space of a server with these tables.
pub(crate) fn disk_bytes(tables: &TableSet) -> u64 {
    // Creating an index sorts a copy of a table.
    let tables = tables.bytes().saturating_mul(5) / 4;
    tables.saturating_add(REDO_BYTES).saturating_add(SERVER_BYTES)
}

/// A running server with its data.
pub(crate) struct BenchServer<'a> {
    arm: ServerArm,
    setup: &'a ServerSetup<'a>,
    administrator: RefCell<Connection>,
    identity: Identity,
    /// Effects of the rotations in its runs.
    dips: RefCell<Vec<Dip>>,
    /// Where its time goes in runs that are not measured, by the name of the experiment's arm.
    profiles: RefCell<Vec<(String, Profile)>>,
    /// Ends before its volume does.
    daemon: TemporaryServer,
    _volume: Option<Volume>,
    directory: PathBuf,
}

impl<'a> BenchServer<'a> {
    /// Starts a server, fills its tables, and verifies that exactly the intended data is encrypted. `name` is the name
    /// of its directory; it must be short, because the length of a socket path is limited.
    pub(crate) fn start(setup: &'a ServerSetup<'a>, arm: ServerArm, name: &str) -> Result<Self, Error> {
        let directory = setup.directory.join(name);
        fs::create_dir(&directory).map_err(Error::file(&directory))?;
        let bytes = disk_bytes(&setup.tables);
        let volume = arm.volume.map(|kind| Volume::mount(kind, &directory, bytes)).transpose()?;
        let temporary = directory.join("tmp");
        fs::create_dir(&temporary).map_err(Error::file(&temporary))?;
        let mut extra = encryption_setup(setup.server, setup.mariadb, arm.counter_mode, &directory)?;
        extra.options.extend(setup.server_options(&directory));
        extra.options.extend(arm.switches().iter().map(|name| format!("--loose-{name}=ON")));
        // MariaDB encrypts existing data, here the system tablespace, in the background.
        let threads = if arm.everything || arm.rotates { rotation::THREADS } else { 0 };
        extra.options.push(format!("--loose-innodb-encryption-threads={threads}"));
        if arm.rotates {
            let pages = rotation::PAGES_PER_SECOND;
            extra.options.push(format!("--loose-innodb-encryption-rotation-iops={pages}"));
            extra.options.push(format!("--loose-{}=ON", variable::MARIADB_TABLESPACES));
        }
        let seed = Some(setup.directory.join("seed"));
        let stopped = Some(Arc::clone(setup.stopped));
        let extra = StartOptions { seed, administrator: true, stopped, ..extra };
        let daemon = TemporaryServer::start_with(setup.server, &directory, setup.authority, setup.pair, &extra)?;
        let (administrator, identity) = connect(&daemon.socket())?;
        let administrator = RefCell::new(administrator);
        let (dips, profiles) = <(RefCell<_>, RefCell<_>)>::default();
        let server = Self { arm, setup, administrator, identity, dips, profiles, daemon, _volume: volume, directory };
        server.fill()?;
        if arm.everything && !setup.mariadb {
            server.ask(statement::ENCRYPT_DICTIONARY)?;
        }
        server.prove()?;
        server.settle()?;
        Ok(server)
    }

    /// Removes a server and its data.
    pub(crate) fn end(self) {
        let directory = self.directory.clone();
        drop(self);
        let _ = fs::remove_dir_all(directory);
    }

    /// Shuts the server down, and returns its data directory, which remains.
    pub(crate) fn shut_down(self) -> Result<PathBuf, Error> {
        drop(self.administrator);
        self.daemon.shut_down()?;
        Ok(self.directory.join("data"))
    }

    /// Creates the account that state transfers of MariaDB log in with.
    pub(crate) fn create_root(&self) -> Result<(), Error> {
        self.ask("CREATE USER root@localhost")?;
        self.ask("GRANT ALL ON *.* TO root@localhost WITH GRANT OPTION").map(drop)
    }

    /// Creates an account with all privileges that logs in over TLS. The statement is not part of errors.
    pub(crate) fn create_account(&self, name: &str, password: &str) -> Result<(), Error> {
        let create = Zeroizing::new(format!("CREATE USER {name}@'%' IDENTIFIED BY '{password}' REQUIRE SSL"));
        self.ask_secretly(&create, &format!("cannot create the account {name}"))?;
        self.ask(&format!("GRANT ALL ON *.* TO {name}@'%'")).map(drop)
    }

    /// Runs a statement that is not part of errors, and neither is what the server says of it, which may repeat a part of
    /// it; `what` is instead.
    pub(crate) fn ask_secretly(&self, sql: &str, what: &str) -> Result<(), Error> {
        let done = self.administrator.borrow_mut().query(sql);
        done.map(drop).map_err(|error| match error {
            server::Error::Server { code, .. } => self.failed(&format!("{what}: server error {code}")),
            error => self.failed(&format!("{what}: {error}")),
        })
    }

    /// Checksums of the rows of the first tables, by the server itself.
    pub(crate) fn checksums(&self, tables: u32) -> Result<Vec<Option<String>>, Error> {
        let names: Vec<String> = (1..=tables).map(|table| format!("{OLTP_DATABASE}.sbtest{table}")).collect();
        let rows = self.ask(&format!("CHECKSUM TABLE {}", names.join(", ")))?;
        Ok((0..rows.rows.len()).map(|row| rows.value(row, "Checksum").map(str::to_owned)).collect())
    }

    /// CPU time since its start, in seconds.
    pub(crate) fn cpu_seconds(&self) -> Result<f64, Error> {
        Ok(Usage::read(self.daemon.process())?.cpu_seconds)
    }

    /// Version of the server.
    pub(crate) const fn version(&self) -> &ServerVersion {
        &self.identity.version
    }

    /// Its address on the loopback interface.
    pub(crate) fn address(&self) -> SocketAddr {
        self.daemon.address()
    }

    /// The stores of its keys.
    pub(crate) fn key_stores(&self) -> verify::KeyStores {
        key_stores(self.setup.mariadb, &self.directory)
    }

    /// Fork of the server.
    pub(crate) fn flavor(&self) -> Flavor {
        self.identity.flavor()
    }

    /// The server, as a program of a record.
    pub(crate) fn program(&self) -> Program {
        self.daemon.program()
    }

    /// Variables of the arm that are enabled.
    fn switched_on(&self) -> Result<Vec<&'static str>, Error> {
        Ok(self.switches()?.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect())
    }

    /// The arm's variables that this server has, and whether they are enabled.
    fn switches(&self) -> Result<Vec<(&'static str, bool)>, Error> {
        let variables = self.ask("SHOW GLOBAL VARIABLES")?;
        let state = |name: &'static str| variables.of_name(name).map(|value| (name, value != "OFF"));
        Ok(self.arm.switches().into_iter().filter_map(state).collect())
    }

    /// Its directory.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Path of its socket.
    pub(crate) fn socket_path(&self) -> PathBuf {
        self.daemon.socket()
    }

    /// A connection through the socket.
    pub(crate) fn socket(&self) -> Wire {
        Wire { address: Address::Socket(self.socket_path()), security: Security::Plain, certificate: None }
    }

    /// A connection through TCP.
    pub(crate) fn tcp(&self, security: Security) -> Wire {
        Wire { address: Address::Tcp(self.daemon.address()), security, certificate: None }
    }

    /// An arm that runs a load on this server. A run ends when the server has written all changes, so that no later arm
    /// is disturbed and all writes are counted.
    pub(crate) fn arm<'s>(&'s self, name: &str, wire: Wire, load: Load<'s>) -> Arm<'s> {
        let seed = Cell::new(0);
        let arm = name.to_owned();
        Arm::self_timed(name, move || {
            seed.set(seed.get() + 1);
            // Sampling takes time, so that only a run that is not measured is sampled.
            let perf = load.perf.filter(|_| self.is_warm_up(seed.get()));
            let recording = perf.and_then(|perf| Some((perf, perf.record(self.daemon.process())?)));
            let work = self.run(&wire, &load, seed.get())?;
            if let Some((perf, recording)) = recording {
                self.profiles.borrow_mut().extend(perf.end(recording).map(|profile| (arm.clone(), profile)));
            }
            Ok(work)
        })
    }

    const fn is_warm_up(&self, seed: u64) -> bool {
        self.setup.warm_up && seed == 1
    }

    /// Where the time went in the runs of an experiment's arm, if they were sampled.
    pub(crate) fn profile(&self, arm: &str) -> Option<Profile> {
        self.profiles.borrow().iter().rev().find(|(name, _)| name == arm).map(|(_, profile)| *profile)
    }

    fn run(&self, wire: &Wire, load: &Load<'_>, seed: u64) -> Result<Work, Error> {
        wire.certificate.as_ref().map_or(Ok(()), |pair| self.daemon.install_certificate(pair))?;
        let (before, syncs, machine) = (Usage::read(self.daemon.process())?, self.syncs()?, busy_seconds());
        let (counters, switches) = (self.counters()?, Switches::read(self.daemon.process()));
        let done = if self.arm.rotates { self.run_with_rotation(wire, load, seed)? } else { load.run(wire, seed)? };
        let machine = (busy_seconds() - machine).max(0.0);
        let switches = Switches::read(self.daemon.process()).since(&switches);
        let client_bytes = self.counters()?.client_bytes.saturating_sub(counters.client_bytes);
        let binlog_bytes = self.binary_log_bytes()?;
        self.settle()?;
        let used = Usage::read(self.daemon.process())?.since(&before);
        let work = self.counters()?.since(&counters);
        let [voluntary_switches, involuntary_switches] = switches;
        let work = ServerWork { client_bytes, binlog_bytes, voluntary_switches, involuntary_switches, ..work };
        let detail = Detail {
            p50_seconds: done.latencies.percentile(50.0),
            p99_seconds: done.latencies.percentile(99.0),
            p999_seconds: done.latencies.percentile(99.9),
            cpu_seconds: machine,
        };
        let operations = Operations {
            latencies: done.latencies.counts(),
            statements: done.statements,
            restarts: done.restarts,
            client_cpu_seconds: done.cpu_seconds,
            server_cpu_seconds: used.cpu_seconds,
            server_kernel_seconds: used.kernel_seconds,
            read_bytes: used.read_bytes,
            written_bytes: used.written_bytes,
            fsyncs: self.syncs()?.saturating_sub(syncs),
            by_client: done.by_client,
            work,
        };
        let amount = operations.by_client.iter().sum();
        Ok(Work { amount, seconds: Some(done.seconds), detail: Some(detail), operations: Some(operations) })
    }

    /// Runs a load, and rotates keys in its middle. The run ends when both are done.
    fn run_with_rotation(&self, wire: &Wire, load: &Load<'_>, seed: u64) -> Result<Done, Error> {
        let (socket, setup) = (self.daemon.socket(), self.setup);
        let rotated = Mutex::new(Ok((Duration::ZERO, Duration::ZERO)));
        let done = load.run_with(wire, seed, &|begin| {
            let result = connect(&socket).and_then(|(mut connection, _)| {
                while begin.elapsed() < load.span / 2 {
                    setup.pause()?;
                }
                let start = begin.elapsed();
                Ok((start, rotation::rotate(&mut connection, setup)?))
            });
            if let Ok(mut rotated) = rotated.lock() {
                *rotated = result;
            }
        })?;
        let rotated = rotated.into_inner().unwrap_or_else(|_| Err(self.failed("the rotation panicked")));
        let (start, took) = rotated?;
        if !self.is_warm_up(seed) {
            self.dips.borrow_mut().extend(Dip::measure(&done.slices, load.span, start, took));
        }
        Ok(done)
    }

    /// Notes on what this arm showed besides its figures.
    pub(crate) fn notes(&self) -> Vec<String> {
        let name = self.arm.as_str();
        let mut notes = Vec::new();
        if let Ok(switches) = self.switched_on()
            && !switches.is_empty()
        {
            notes.push(format!("{name} switches on {}", switches.join(", ")));
        }
        notes.extend(Dip::note(&self.dips.borrow(), self.setup.mariadb));
        if self.arm.tables.compressed {
            notes.push(self.saved_by_compression());
        }
        notes
    }

    /// How much of the tables' files is stored.
    fn saved_by_compression(&self) -> String {
        let files = fs::read_dir(self.directory.join("data").join(OLTP_DATABASE)).into_iter().flatten().flatten();
        let files = files.filter_map(|entry| entry.metadata().ok());
        let (length, stored) = files
            .fold((0, 0), |(length, stored), file| (length + file.len(), stored + file.blocks().saturating_mul(512)));
        let [length, stored] = [length, stored].map(files::quantity::size);
        format!("{}: {stored} are stored of files of {length}", self.arm.as_str())
    }

    /// Predicts what encryption costs this server, while a load runs.
    pub(crate) fn predict(&self, wire: &Wire, load: &Load<'_>, calibration: Calibration) -> Result<Prediction, Error> {
        let (prediction, done) = thread::scope(|scope| {
            let clients = scope.spawn(|| load.run(wire, 0));
            // Clients connect and prepare their statements first.
            thread::sleep(load.span / 8);
            let mut administrator = self.administrator.borrow_mut();
            let span = load.span * 3 / 4;
            let prediction = predict::predict(&mut administrator, &self.identity, calibration, span, &|_| {});
            (prediction, clients.join())
        });
        done.unwrap_or_else(|_| Err(self.failed("a client panicked")))?;
        let prediction = prediction.map_err(|error| self.failed(&error.to_string()))?;
        self.settle()?;
        Ok(prediction)
    }

    /// Creates the tables, several at a time.
    fn fill(&self) -> Result<(), Error> {
        let tables: Vec<u32> = (1..=self.setup.tables.tables).collect();
        let (flavor, format) = (self.identity.flavor(), self.arm.tables);
        let (socket, setup) = (self.daemon.socket(), self.setup);
        let workers = thread::available_parallelism().map_or(1, usize::from).min(tables.len()).max(1);
        let fill = |of: &[u32]| fill(&socket, setup, of, flavor, format);
        let filled: Vec<_> = thread::scope(|scope| {
            let workers = tables.chunks(tables.len().div_ceil(workers).max(1)).map(|of| scope.spawn(move || fill(of)));
            let workers: Vec<_> = workers.collect();
            workers.into_iter().map(thread::ScopedJoinHandle::join).collect()
        });
        let panicked = || Err(self.failed("a client panicked"));
        filled.into_iter().try_for_each(|one| one.unwrap_or_else(|_| panicked()))?;
        // ANALYZE gives every server statistics of the whole table.
        tables.iter().try_for_each(|table| self.ask(&format!("ANALYZE TABLE {OLTP_DATABASE}.sbtest{table}")).map(drop))
    }

    /// Verifies that the server matches its arm: tables are encrypted or clear as the arm requires, and variables are
    /// enabled.
    pub(crate) fn prove(&self) -> Result<(), Error> {
        let begin = Instant::now();
        loop {
            let wrong = self.first_wrongly_encrypted()?;
            let Some(wrong) = wrong else { break };
            if begin.elapsed() > SETTLE_LIMIT {
                return Err(self.failed(&format!("{wrong} is not encrypted as its arm requires")));
            }
            self.setup.pause()?;
        }
        match self.switches()?.into_iter().find(|(_, on)| !on) {
            Some((name, _)) => Err(self.failed(&format!("{name} is off, although it was switched on"))),
            None => Ok(()),
        }
    }

    /// A tablespace whose encryption differs from what the arm requires.
    fn first_wrongly_encrypted(&self) -> Result<Option<String>, Error> {
        let query = dialect::query(&self.identity.version, "tablespaces");
        let query = query.ok_or_else(|| self.failed("does not say which tablespaces are encrypted"))?;
        let rows = query.run(&mut self.administrator.borrow_mut()).map_err(|error| self.failed(&error.to_string()))?;
        for row in 0..rows.rows.len() {
            let text = |column| rows.value(row, column).unwrap_or_default();
            let (name, kind) = (text("name"), text("type"));
            let ours = name.starts_with(&format!("{OLTP_DATABASE}/"));
            let wanted = match self.arm {
                arm if arm.everything => ours || !matches!(kind, "Single" | "Temporary"),
                // InnoDB's own tablespaces are not checked: the server decides about them.
                _ if ours => self.arm.tables.encrypted,
                _ => continue,
            };
            let is_system = kind == "System" && !self.setup.mariadb;
            if !is_system && wanted != (text("encrypted") == "Y") && (wanted || ours) {
                return Ok(Some(name.to_owned()));
            }
        }
        Ok(None)
    }

    /// Waits until undo logs are purged and changed pages are written, and removes binary logs.
    pub(crate) fn settle(&self) -> Result<(), Error> {
        self.ask("SET GLOBAL innodb_max_dirty_pages_pct = 0")?;
        let frequency = self.truncate_after_each_purge()?;
        let begin = Instant::now();
        let (mut shortest, mut shortened) = (u64::MAX, begin);
        loop {
            let (dirty, history) = (self.status("Innodb_buffer_pool_pages_dirty")?, self.history()?);
            if history < shortest {
                (shortest, shortened) = (history, Instant::now());
            }
            let is_purged = history <= SHORT_HISTORY || shortened.elapsed() > PURGE_PAUSE;
            if dirty <= FEW_PAGES && is_purged {
                break;
            }
            if begin.elapsed() > SETTLE_LIMIT {
                return Err(self.failed("does not write its changed pages"));
            }
            self.setup.pause()?;
        }
        self.ask(&format!("SET GLOBAL innodb_max_dirty_pages_pct = {DIRTY_PERCENT}"))?;
        if let Some(frequency) = frequency {
            self.ask(&format!("SET GLOBAL {TRUNCATE_FREQUENCY} = {frequency}"))?;
        }
        self.ask(statement::FLUSH_BINARY_LOGS)?;
        let logs = self.ask(statement::SHOW_BINARY_LOGS)?;
        if let Some(Some(newest)) = logs.rows.last().and_then(|row| row.first()) {
            self.ask(&format!("PURGE BINARY LOGS TO '{newest}'"))?;
        }
        Ok(())
    }

    /// Lets MySQL shorten its undo history after each batch of purged transactions instead of each 128th one: with the
    /// default, an idle server keeps a long list until later transactions come. The value before; `None` for MariaDB, which
    /// shortens the list anyway.
    fn truncate_after_each_purge(&self) -> Result<Option<u64>, Error> {
        if self.setup.mariadb {
            return Ok(None);
        }
        let rows = self.ask(&format!("SELECT @@GLOBAL.{TRUNCATE_FREQUENCY}"))?;
        self.ask(&format!("SET GLOBAL {TRUNCATE_FREQUENCY} = 1"))?;
        Ok(rows.scalar().and_then(|text| text.parse().ok()))
    }

    /// Length of the undo history; 0 if the server does not report it.
    fn history(&self) -> Result<u64, Error> {
        let sql = "SELECT `COUNT` FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'";
        Ok(self.ask(sql)?.scalar().and_then(|text| text.parse().ok()).unwrap_or_default())
    }

    /// `fsync` calls that InnoDB counts. MySQL has a separate counter for the log, which is included in this one.
    fn syncs(&self) -> Result<u64, Error> {
        self.status("Innodb_data_fsyncs")
    }

    /// Totals of the work that the server counts.
    fn counters(&self) -> Result<ServerWork, Error> {
        let rows = self.ask(&activity::show_counters())?;
        let number = |name: &str| rows.of_name(name).and_then(|value| value.parse().ok()).unwrap_or_default();
        Ok(ServerWork {
            pages_read: number(activity::PAGES_READ),
            pages_written: number(activity::PAGES_WRITTEN),
            redo_bytes: number(activity::REDO_BYTES),
            client_bytes: number(activity::RECEIVED_BYTES) + number(activity::SENT_BYTES),
            ..ServerWork::default()
        })
    }

    /// Size of the binary logs, which are removed after each run.
    fn binary_log_bytes(&self) -> Result<u64, Error> {
        let logs = self.ask(statement::SHOW_BINARY_LOGS)?;
        let sizes = logs.rows.iter().filter_map(|row| row.get(1)?.as_deref()?.parse::<u64>().ok());
        Ok(sizes.sum())
    }

    fn status(&self, name: &str) -> Result<u64, Error> {
        let rows = self.ask(&format!("SHOW GLOBAL STATUS LIKE '{name}'"))?;
        let number = rows.value(0, "Value").and_then(|text| text.parse().ok());
        number.ok_or_else(|| self.failed(&format!("has no status variable {name}")))
    }

    /// Runs a statement as the administrator.
    pub(crate) fn ask(&self, sql: &str) -> Result<Rows, Error> {
        let answer = self.administrator.borrow_mut().query(sql);
        answer.map_err(|error| self.failed(&format!("{sql}: {error}")))
    }

    fn failed(&self, reason: &str) -> Error {
        self.setup.failed(reason)
    }
}

impl ServerSetup<'_> {
    pub(super) fn failed(&self, reason: &str) -> Error {
        Error::program(self.server, reason)
    }

    /// Waits for a short time.
    ///
    /// # Errors
    /// [`Error::Interrupted`].
    pub(super) fn pause(&self) -> Result<(), Error> {
        if self.stopped.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        thread::sleep(POLL_INTERVAL);
        Ok(())
    }

    fn server_options(&self, directory: &Path) -> Vec<String> {
        let options = [
            format!("--tmpdir={}", directory.join("tmp").display()),
            format!("--innodb-buffer-pool-size={}", self.pool_bytes),
            // Each server has one of these two options.
            format!("--loose-innodb-redo-log-capacity={REDO_BYTES}"),
            format!("--loose-innodb-log-file-size={REDO_BYTES}"),
            "--log-bin=binlog".to_owned(),
            "--server-id=1".to_owned(),
            "--loose-binlog-format=ROW".to_owned(),
            "--sync-binlog=1".to_owned(),
            "--innodb-flush-log-at-trx-commit=1".to_owned(),
            // Settling should not take longer than the run.
            "--innodb-io-capacity=10000".to_owned(),
            "--innodb-io-capacity-max=20000".to_owned(),
        ];
        options.into_iter().chain(self.options.iter().cloned()).collect()
    }
}

fn connect(socket: &Path) -> Result<(Connection, Identity), Error> {
    let options = Options { changes: true, statement_timeout: SETTLE_LIMIT, ..Options::default() };
    let target = Target { endpoint: Endpoint::Socket(socket.to_owned()), user: ADMINISTRATOR.to_owned() };
    let connected = Connection::open(&target, &options).and_then(|mut connection| {
        let identity = describe(&mut connection)?;
        Ok((connection, identity))
    });
    connected.map_err(|source| Error::Server { endpoint: target.endpoint, source: Box::new(source) })
}

fn fill(socket: &Path, setup: &ServerSetup<'_>, of: &[u32], flavor: Flavor, format: TableFormat) -> Result<(), Error> {
    let failed = |error: std::io::Error| Error::Work { arm: "creating tables".to_owned(), reason: error.to_string() };
    let mut client = Client::open(&Address::Socket(socket.to_owned()), USER, &Security::Plain).map_err(failed)?;
    client.query(&format!("USE {OLTP_DATABASE}")).map_err(failed)?;
    for table in of {
        for sql in setup.tables.statements(*table, flavor, format) {
            if setup.stopped.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            client.query(&sql).map_err(failed)?;
        }
    }
    client.quit();
    Ok(())
}
