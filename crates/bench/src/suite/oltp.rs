//! The cost of encryption for transactions: at rest, and on the connection.

use std::{
    fs,
    os::unix::fs::FileTypeExt,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use innodb::server_file::{DICTIONARY, FIRST_SYSTEM};
use pki::KeyType;
use server::option_name;

use super::{Collected, Outcome, Watch, authority, issue, server_program};
use crate::{
    Arms, Environment, Error, Experiment, Pace, Scale, Security, ServerArm, Settings, Subject, TableSet,
    TemporaryDirectory, TlsSettings, TlsVersion, Unit, WireArm,
    oltp::{BenchServer, Load, REDO_BYTES, ServerSetup, Wire},
    tls::version_of,
};

/// Experiment with encryption at rest, in its name.
pub(crate) const AT_REST: &str = "encrypted at rest";
/// Experiment with encryption on the wire, in its name.
pub(crate) const ON_THE_WIRE: &str = "connections, open all the time";
/// The second of two equal servers.
const CLEAR_AGAIN: &str = "clear again";
/// Files that every InnoDB data directory has exactly once.
const SERVER_FILES: [&str; 2] = [FIRST_SYSTEM, DICTIONARY];
/// Memory of a server besides its buffer pool.
const SERVER_MEMORY_BYTES: u64 = 500 << 20;
/// Disk space of a server besides its tables and redo log: system tables, undo, binary logs of a run.
const SERVER_DISK_BYTES: u64 = 512 << 20;

/// Parameters of the measurement.
#[derive(Debug)]
pub struct OltpSuite<'a> {
    /// The server program; by default the first of `families` that is found.
    pub server: Option<&'a Path>,
    /// Names of server programs.
    pub families: &'a [&'static str],
    /// Directory below which servers live.
    pub directory: &'a Path,
    /// The compared arms.
    pub arms: Arms,
    /// Operations, data, clients and times.
    pub scale: Scale,
    /// Rate of the clients.
    pub pace: Pace,
    /// Further options of all servers.
    pub server_options: &'a [String],
    /// Rounds and time budget of each experiment.
    pub settings: Settings,
    /// Set to true to end the measurement.
    pub stopped: &'a AtomicBool,
}

impl OltpSuite<'_> {
    /// Checks the parameters before anything is started; returns the server program.
    ///
    /// # Errors
    /// [`Error`]: a directory or socket of another server is named, or there is too little disk or memory.
    pub fn check(&self) -> Result<PathBuf, Error> {
        let program = self.find_program()?;
        version_of(&program)?;
        Ok(program)
    }

    /// As [`Self::check`], without running the program.
    fn find_program(&self) -> Result<PathBuf, Error> {
        self.server_options.iter().try_for_each(|option| check_option(option))?;
        if let Some(named) = self.server {
            check_program(named)?;
        }
        let directory = fs::canonicalize(self.directory).map_err(Error::file(self.directory))?;
        if let Some(of_server) = directory.ancestors().find(|path| is_data_directory(path)) {
            return Err(Error::DataDirectory { path: of_server.to_owned() });
        }
        let program = server_program(self.server, self.families)?;
        self.check_memory()?;
        Ok(program)
    }

    /// Number of servers that run at the same time: two equal ones, then one for each arm.
    fn servers(&self) -> u64 {
        u64::try_from(self.arms.servers.len()).unwrap_or(u64::MAX).max(2)
    }

    fn check_memory(&self) -> Result<(), Error> {
        let needed = self.servers().saturating_mul(self.scale.pool_bytes.saturating_add(SERVER_MEMORY_BYTES));
        match files::proc::available_memory() {
            Some(room) if room < needed => Err(Error::NoMemory { servers: self.servers(), needed, room }),
            _ => Ok(()),
        }
    }

    fn check_room(&self, scratch: &TemporaryDirectory) -> Result<(), Error> {
        // Creating an index sorts a copy of a table.
        let one = self.scale.tables.bytes().saturating_mul(5) / 4;
        let one = one.saturating_add(REDO_BYTES).saturating_add(SERVER_DISK_BYTES);
        let (needed, room) = (one.saturating_mul(self.servers()), scratch.free_bytes()?);
        if room < needed {
            return Err(Error::NoServerRoom { path: self.directory.to_owned(), needed, room });
        }
        Ok(())
    }

    /// Runs the measurement with the program that [`Self::check`] returned.
    ///
    /// # Errors
    /// [`Error`]: a server could not be started or used, or it was interrupted.
    pub fn run(&self, program: &Path, watch: &Watch<'_>) -> Result<Outcome, Error> {
        let outcome = self.measure(program, watch);
        // After the signal that ends this program, errors are only its consequences.
        if self.stopped.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { outcome }
    }

    fn measure(&self, program: &Path, watch: &Watch<'_>) -> Result<Outcome, Error> {
        let environment = Environment::now(self.directory);
        let scratch = TemporaryDirectory::below(self.directory)?;
        self.check_room(&scratch)?;
        let (ca, authority) = authority(&scratch.path().join("certificates"))?;
        let pair = issue(&authority, "server", KeyType::EcdsaP256)?;
        let setup = ServerSetup {
            server: program,
            directory: scratch.path(),
            authority: &ca,
            pair: &pair,
            mariadb: version_of(program)?.contains("MariaDB"),
            pool_bytes: self.scale.pool_bytes,
            options: self.server_options,
            tables: self.scale.tables,
            stopped: self.stopped,
        };
        let mut collected = Collected::default();
        watch("a server in the clear");
        let clear = BenchServer::start(&setup, ServerArm::Clear, "a")?;
        self.equal_arms(&setup, &clear, &mut collected, watch)?;
        let resolution = collected.resolution();
        if self.at_rest(&setup, &clear, &mut collected, watch)? {
            collected.resolve(resolution);
        }
        if !self.arms.wires.is_empty() {
            self.on_the_wire(&clear, &ca, &mut collected, watch)?;
            collected.resolve(resolution);
        }
        collected.programs.push(clear.program());
        collected.notes.extend(self.method());
        Ok(collected.finish(environment, Subject::default()))
    }

    /// Compares two servers with the same settings and data: their difference is the resolution.
    fn equal_arms<'p>(
        &self,
        setup: &'p ServerSetup<'p>,
        clear: &BenchServer<'p>,
        collected: &mut Collected,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        watch("a second server in the clear");
        let again = BenchServer::start(setup, ServerArm::Clear, "b")?;
        let arms = [(CLEAR_AGAIN, &again), (ServerArm::Clear.as_str(), clear)];
        let arms = arms.map(|(name, server)| server.arm(name, server.socket(), self.load()));
        let experiment = self.experiment("two equal servers").arms(arms);
        collected.run(experiment, &self.settings, &pairs([CLEAR_AGAIN], ServerArm::Clear.as_str()), watch)?;
        again.end();
        Ok(())
    }

    /// Compares the servers with encryption to the one without; returns whether there is one with encryption.
    fn at_rest<'p>(
        &self,
        setup: &'p ServerSetup<'p>,
        clear: &BenchServer<'p>,
        collected: &mut Collected,
        watch: &Watch<'_>,
    ) -> Result<bool, Error> {
        let mut others = Vec::new();
        for (arm, directory) in self.arms.servers.iter().skip(1).zip(["c", "d", "e"]) {
            watch(&format!("a server with {}", arm.as_str()));
            let server = BenchServer::start(setup, *arm, directory)?;
            let switches = server.switched_on()?;
            if !switches.is_empty() {
                collected.notes.push(format!("{} switches on {}", arm.as_str(), switches.join(", ")));
            }
            others.push((arm.as_str(), server));
        }
        if others.is_empty() {
            return Ok(false);
        }
        let servers = std::iter::once((ServerArm::Clear.as_str(), clear));
        let servers = servers.chain(others.iter().map(|(name, server)| (*name, server)));
        let arms = servers.map(|(name, server)| server.arm(name, server.socket(), self.load()));
        let experiment = self.experiment(AT_REST).arms(arms);
        let names = others.iter().map(|(name, _)| *name);
        collected.run(experiment, &self.settings, &pairs(names, ServerArm::Clear.as_str()), watch)?;
        others.into_iter().for_each(|(_, server)| server.end());
        Ok(true)
    }

    fn on_the_wire(
        &self,
        clear: &BenchServer<'_>,
        ca: &Path,
        collected: &mut Collected,
        watch: &Watch<'_>,
    ) -> Result<(), Error> {
        let tls = TlsSettings::new(TlsVersion::Tls13, ca, false).map_err(|error| Error::Tls(error.to_string()))?;
        let wire = |arm: &WireArm| -> Wire {
            match arm {
                WireArm::Socket => clear.socket(),
                WireArm::Tcp => clear.tcp(Security::Plain),
                WireArm::Tls => clear.tcp(Security::Tls(tls.clone())),
            }
        };
        let arms = self.arms.wires.iter().map(|arm| clear.arm(arm.as_str(), wire(arm), self.load()));
        let names = self.arms.wires.iter().skip(1).map(|arm| arm.as_str());
        let experiment = self.experiment(ON_THE_WIRE).arms(arms);
        let mut compared = pairs(names, WireArm::Socket.as_str());
        if [WireArm::Tcp, WireArm::Tls].iter().all(|arm| self.arms.wires.contains(arm)) {
            // What TLS costs is hidden in the comparison of the socket with TCP.
            compared.extend(pairs([WireArm::Tls.as_str()], WireArm::Tcp.as_str()));
        }
        collected.run(experiment, &self.settings, &compared, watch)
    }

    fn load(&self) -> Load<'_> {
        Load {
            workload: self.scale.workload,
            tables: self.scale.tables,
            clients: self.scale.clients,
            pace: self.pace,
            span: self.scale.span,
            stopped: self.stopped,
        }
    }

    fn experiment<'e>(&self, what: &str) -> Experiment<'e> {
        Experiment::new(format!("{}, {what}", self.scale.workload.as_str())).unit(Unit::Transactions)
    }

    /// Notes on the method.
    fn method(&self) -> Vec<String> {
        let TableSet { tables, rows, uniform } = self.scale.tables;
        let access = if uniform { "all rows equally often" } else { "mostly one row in a hundred, as sysbench does" };
        let pace = match self.pace {
            Pace::Closed => "each sends the next transaction when the last one is done".to_owned(),
            Pace::Open(rate) => {
                format!("{rate} transactions begin per second; latencies count from when they were due")
            }
        };
        vec![
            format!(
                "{tables} tables of {rows} rows; {access}; buffer pool of {}",
                files::quantity::size(self.scale.pool_bytes)
            ),
            format!("{} clients, {} s a run; {pace}", self.scale.clients, self.scale.span.as_secs_f64()),
            "CPU time and bytes of the server include what it wrote after a run, until no page was changed".to_owned(),
            "sync_binlog and innodb_flush_log_at_trx_commit are 1; fsyncs are those that InnoDB counts, without \
             those of the binary log"
                .to_owned(),
        ]
    }
}

fn pairs<'n>(names: impl IntoIterator<Item = &'n str>, to: &str) -> Vec<(String, String)> {
    names.into_iter().map(|name| (name.to_owned(), to.to_owned())).collect()
}

fn is_data_directory(path: &Path) -> bool {
    SERVER_FILES.iter().any(|name| path.join(name).exists())
}

/// Refuses a socket or a directory: the user may have named a running server.
fn check_program(named: &Path) -> Result<(), Error> {
    let Ok(metadata) = fs::metadata(named) else { return Ok(()) };
    let what = match metadata.file_type() {
        kind if kind.is_socket() => "the socket of a running server",
        kind if kind.is_dir() => "a directory",
        _ => return Ok(()),
    };
    Err(Error::NotServerProgram { path: named.to_owned(), what })
}

/// Refuses options that would make a server use files other than its own, or accept other clients.
fn check_option(option: &str) -> Result<(), Error> {
    const OWN: [&str; 9] =
        ["datadir", "socket", "port", "bind-address", "log-bin", "init-file", "plugin-load", "user", "defaults-file"];
    let refused = |reason| Err(Error::ServerOption { option: option.to_owned(), reason });
    let Some(assignment) = option.strip_prefix("--") else { return refused("an option begins with --") };
    let (name, value) = assignment.split_once('=').unwrap_or((assignment, ""));
    let name = option_name::with_hyphens(name);
    if OWN.contains(&option_name::without_loose(&name)) {
        return refused("the measurement sets it itself");
    }
    if value.contains('/') {
        return refused("names a path; the files of a measured server are all in its scratch directory");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::time::Duration;

    use super::*;
    use crate::Workload;

    fn suite<'a>(directory: &'a Path, stopped: &'a AtomicBool) -> OltpSuite<'a> {
        OltpSuite {
            server: None,
            families: &["sh"],
            directory,
            arms: Arms::named(&[]),
            scale: scale(),
            pace: Pace::Closed,
            server_options: &[],
            settings: Settings::default(),
            stopped,
        }
    }

    fn scale() -> Scale {
        Scale {
            workload: Workload::ReadWrite,
            tables: TableSet { tables: 1, rows: 10, uniform: false },
            clients: 1,
            span: Duration::from_secs(1),
            pool_bytes: 8 << 20,
        }
    }

    #[test]
    fn paths_of_other_servers_are_refused() {
        let (scratch, stopped) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
        let inner = scratch.path().join("db");
        fs::create_dir(&inner).unwrap();
        assert!(suite(&inner, &stopped).find_program().is_ok());
        fs::write(scratch.path().join("ibdata1"), "").unwrap();
        for directory in [scratch.path(), &inner] {
            let error = suite(directory, &stopped).find_program().unwrap_err();
            assert!(matches!(error, Error::DataDirectory { .. }), "{error}");
        }
        let socket = scratch.path().join("mysqld.sock");
        let _listener = UnixListener::bind(&socket).unwrap();
        let named = OltpSuite { server: Some(&socket), ..suite(Path::new("/tmp"), &stopped) };
        assert!(matches!(named.check(), Err(Error::NotServerProgram { .. })));
    }

    #[test]
    fn too_little_memory_or_disk_is_reported_before_the_run() {
        let stopped = AtomicBool::new(false);
        let scale_of_memory = Scale { pool_bytes: 1 << 50, ..scale() };
        let large = OltpSuite { scale: scale_of_memory, ..suite(Path::new("/tmp"), &stopped) };
        assert!(matches!(large.find_program(), Err(Error::NoMemory { servers: 3, .. })));
        let parent = tempfile::tempdir().unwrap();
        let scratch = TemporaryDirectory::below(parent.path()).unwrap();
        let tables = TableSet { tables: 1000, rows: u32::MAX, uniform: false };
        let error = OltpSuite { scale: Scale { tables, ..scale() }, ..suite(Path::new("/tmp"), &stopped) }
            .check_room(&scratch)
            .unwrap_err();
        assert!(error.to_string().contains("there is room for"), "{error}");
    }

    #[test]
    fn options_with_paths_and_ports_are_refused() {
        for option in ["--datadir=x", "--log_bin=x", "--loose-socket=s", "--tmpdir=/tmp", "innodb=1", "--port=3306"] {
            assert!(matches!(check_option(option), Err(Error::ServerOption { .. })), "{option}");
        }
        assert!(check_option("--innodb-doublewrite=OFF").is_ok());
    }
}
