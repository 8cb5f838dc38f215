//! A temporary server to measure on: empty, on the loopback interface, in a directory of its own.
//!
//! Its only account has no password. It may read one table of generated data, write in an empty database, and reload
//! certificates; the administrator's account is removed.

use std::{
    fs::{self, File},
    net::{Ipv4Addr, SocketAddr},
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::Signal;

use server::{
    Flavor,
    dialect::setting::reload_tls,
    program::{Installation, first_error, option, version_word},
};

use crate::{
    Error, Program,
    tls::{
        client::Client,
        security::{Address, Security},
    },
};

/// Name of the clients' account.
pub(crate) const USER: &str = "bench";
/// Name of the administrator's account, which has no password: only the owner of the directory can reach the socket,
/// and a TCP connection never matches an account at `localhost`.
pub(crate) const ADMINISTRATOR: &str = "administrator";
/// The database that [`USER`] may write.
pub(crate) const OLTP_DATABASE: &str = "oltp";
/// Length of each of the thousand rows of `bench.noise`.
pub(super) const ROW_BYTES: u64 = 1000;
/// The name has this suffix because MariaDB appends `.err` to a name without one.
const ERROR_LOG: &str = "log.err";
/// Output of the server before it opens its error log.
const EARLY_LOG: &str = "early.log";
const START_LIMIT: Duration = Duration::from_secs(90);
const STOP_LIMIT: Duration = Duration::from_secs(20);
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Names of MariaDB's system table scripts in order, without the prefix `mysql_` or `mariadb_`.
const SYSTEM_TABLES: [&str; 4] =
    ["system_tables.sql", "performance_tables.sql", "system_tables_data.sql", "sys_schema.sql"];

/// Additional settings for starting a server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Custom {
    /// A copy of the program to run instead, for a server that needs files beside it.
    pub(crate) program: Option<PathBuf>,
    /// Options for creating its system tables and for running it.
    pub(crate) installation: Vec<String>,
    /// Options for running it; without any, it has no binary log.
    pub(crate) options: Vec<String>,
    /// A directory with system tables to copy, made by the first server that is started with it.
    pub(crate) seed: Option<PathBuf>,
    /// Whether to create the account [`ADMINISTRATOR`] for connections through the socket.
    pub(crate) administrator: bool,
}

/// A server's certificate and private key.
#[derive(Clone, Debug)]
pub struct KeyPairFiles {
    /// The certificate, PEM.
    pub certificate: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
}

/// A running server; stopped on drop. Its directory remains.
#[derive(Debug)]
pub struct Daemon {
    child: Child,
    /// The version that the server reports.
    version: String,
    mariadb: bool,
    directory: PathBuf,
    port: u16,
}

impl Daemon {
    /// Starts the server program in an empty private directory, with these certificates.
    ///
    /// # Errors
    /// [`Error::Program`] with the server's error, [`Error::File`].
    pub fn start(server: &Path, directory: &Path, ca: &Path, pair: &KeyPairFiles) -> Result<Self, Error> {
        Self::start_with(server, directory, ca, pair, &Custom::default())
    }

    /// As [`Self::start`].
    pub(crate) fn start_with(
        server: &Path,
        directory: &Path,
        ca: &Path,
        pair: &KeyPairFiles,
        custom: &Custom,
    ) -> Result<Self, Error> {
        let version = version_of(server)?;
        let mariadb = version.contains("MariaDB");
        let mut installation = installation(server, directory)?;
        installation.extend(custom.installation.iter().cloned());
        let program = custom.program.as_deref().unwrap_or(server);
        let data = directory.join("data");
        if let Some(seed) = custom.seed.as_deref().filter(|seed| seed.is_dir()) {
            copy_directory(seed, &data)?;
        } else {
            fs::create_dir(&data).map_err(Error::file(&data))?;
            create(server, program, &installation, mariadb)?;
            custom.seed.as_deref().map_or(Ok(()), |seed| copy_directory(&data, seed))?;
        }
        copy(ca, &directory.join("ca.pem"))?;
        install(directory, pair)?;
        let init = directory.join("init.sql");
        fs::write(&init, statements(mariadb, custom.administrator)).map_err(Error::file(&init))?;
        let port = ports::free_port().map_err(|source| failed(server, &format!("no port: {source}")))?;
        let mut command = crate::program::ended_with_parent(program)?;
        command.arg("--no-defaults").args(&installation).arg(option("init-file", &init));
        command.arg(option("socket", &directory.join("sql"))).arg(option("pid-file", &directory.join("pid")));
        command.arg(option("log-error", &directory.join(ERROR_LOG))).arg(format!("--port={port}"));
        command.args(["--bind-address=127.0.0.1", "--max-connections=4000", "--skip-name-resolve"]);
        if custom.options.is_empty() {
            command.arg("--skip-log-bin");
        }
        command.arg(option("ssl-ca", &directory.join("ca.pem"))).arg("--tls-version=TLSv1.2,TLSv1.3");
        command.arg(option("ssl-cert", &certificate(directory))).arg(option("ssl-key", &key(directory)));
        // The server's compiled-in paths may not exist.
        command.arg(option("secure-file-priv", directory));
        if !mariadb {
            command.arg("--mysqlx=OFF");
        }
        command.args(&custom.options);
        // Ctrl-C is meant for this program, which shuts the server down afterwards.
        let early = directory.join(EARLY_LOG);
        let early = File::create(&early).map_err(Error::file(&early))?;
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(early);
        let child = command.spawn().map_err(|e| failed(server, &e.to_string()))?;
        let mut daemon = Self { child, version, mariadb, directory: directory.to_owned(), port };
        daemon.wait(server)?;
        Ok(daemon)
    }

    /// The version that the server reports, for example `10.11.19-MariaDB`.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The server as a program of a record.
    pub(crate) fn program(&self) -> Program {
        let name = if self.version.contains("MariaDB") { "MariaDB" } else { "MySQL" };
        Program { name: name.to_owned(), version: Some(self.version.clone()) }
    }

    /// Its address on the loopback interface.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// Its unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.directory.join("sql")
    }

    /// Its process id.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Makes the server present another certificate of the same authority.
    ///
    /// # Errors
    /// [`Error::File`], [`Error::Program`] with the server's error.
    pub fn install_certificate(&self, pair: &KeyPairFiles) -> Result<(), Error> {
        install(&self.directory, pair)?;
        let reload = reload_tls(if self.mariadb { Flavor::MariaDb } else { Flavor::MySql });
        let reloaded = Client::open(&Address::Socket(self.socket()), USER, &Security::Plain)
            .and_then(|mut client| client.query(reload).map(|_| client.quit()));
        reloaded.map_err(|error| failed(Path::new(&self.version), &format!("{reload}: {error}")))
    }

    fn wait(&mut self, server: &Path) -> Result<(), Error> {
        let begin = Instant::now();
        loop {
            let ended = self.child.try_wait().ok().flatten();
            if let Ok(client) = Client::open(&Address::Socket(self.socket()), USER, &Security::Plain) {
                client.quit();
                return Ok(());
            }
            if ended.is_some() || begin.elapsed() > START_LIMIT {
                return Err(failed(server, &last_error(&self.directory)));
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        process::signal(&self.child, Signal::TERM);
        let _ = process::wait(&mut self.child, STOP_LIMIT, &mut || ());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The version that a server program reports, for example `10.11.19-MariaDB`.
///
/// # Errors
/// [`Error::Program`] if it cannot be run, or is no server.
pub(crate) fn version_of(server: &Path) -> Result<String, Error> {
    let text = process::version_text(server, &["--no-defaults", "--version"]);
    let text = text.map_err(|error| failed(server, &error.to_string()))?;
    version_word(&text)
        .map(str::to_owned)
        .ok_or_else(|| failed(server, "is not a server: it does not print its version"))
}

/// Options with the paths of the server's installation and of its own directories, and the user that owns its files.
fn installation(server: &Path, directory: &Path) -> Result<Vec<String>, Error> {
    // A server that starts removes the temporary tables of all servers in its directory for temporary files.
    let tmp = directory.join("tmp");
    fs::create_dir_all(&tmp).map_err(Error::file(&tmp))?;
    let mut options = Installation::around(server).options();
    options.push(option("datadir", &directory.join("data")));
    options.push(option("tmpdir", &tmp));
    if rustix::process::geteuid().is_root() {
        options.push("--user=root".to_owned());
    }
    Ok(options)
}

fn create(server: &Path, program: &Path, installation: &[String], mariadb: bool) -> Result<(), Error> {
    let mut command = Command::new(program);
    command.arg("--no-defaults").args(installation);
    let input = if mariadb {
        command.arg("--bootstrap");
        system_tables(server)?
    } else {
        command.arg("--initialize-insecure");
        tempfile(b"")?
    };
    let output = command.stdin(input).output().map_err(|e| failed(server, &e.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(failed(server, first_error(&message).unwrap_or("cannot create its system tables")))
}

/// The SQL that creates MariaDB's system tables, as `mariadb-install-db` passes it to `--bootstrap`.
fn system_tables(server: &Path) -> Result<File, Error> {
    let scripts = Installation::around(server)
        .messages
        .ok_or_else(|| failed(server, "its scripts for system tables are missing"))?;
    let mut sql = b"CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket=NULL;\n".to_vec();
    for name in SYSTEM_TABLES {
        let newer = scripts.join(format!("mariadb_{name}"));
        let path = if newer.exists() { newer } else { scripts.join(format!("mysql_{name}")) };
        sql.extend(fs::read(&path).map_err(Error::file(&path))?);
        sql.push(b'\n');
    }
    tempfile(&sql)
}

/// An unlinked file, positioned at its start.
fn tempfile(bytes: &[u8]) -> Result<File, Error> {
    use std::os::unix::fs::FileExt;
    let file = rustix::fs::memfd_create("input", rustix::fs::MemfdFlags::CLOEXEC).map(File::from);
    let file = file.map_err(|errno| Error::file("memfd")(errno.into()))?;
    file.write_all_at(bytes, 0).map_err(Error::file("memfd"))?;
    Ok(file)
}

/// Statements for the init file, one a line.
fn statements(mariadb: bool, administrator: bool) -> String {
    let (reload, last) = if mariadb {
        (
            "RELOAD",
            format!(
                "DELETE FROM mysql.global_priv WHERE user NOT IN ('{USER}', '{ADMINISTRATOR}', 'mariadb.sys', 'PUBLIC');"
            ),
        )
    } else {
        ("CONNECTION_ADMIN", "DROP USER root@localhost;".to_owned())
    };
    let digits = "(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 \
                  UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)";
    let noise = ROW_BYTES / 50;
    let administrator = if administrator {
        format!("CREATE USER {ADMINISTRATOR}@localhost;\nGRANT ALL ON *.* TO {ADMINISTRATOR}@localhost;\n")
    } else {
        String::new()
    };
    format!(
        "CREATE DATABASE bench;\n\
         CREATE TABLE bench.noise (v VARCHAR({ROW_BYTES}) CHARACTER SET latin1 NOT NULL) ENGINE=InnoDB;\n\
         INSERT INTO bench.noise SELECT REPEAT(LEFT(SHA2(CONCAT(a.d, b.d, c.d), 256), 50), {noise}) \
         FROM {digits} a, {digits} b, {digits} c;\n\
         CREATE DATABASE {OLTP_DATABASE};\n\
         CREATE USER {USER}@'%';\n\
         GRANT SELECT ON bench.* TO {USER}@'%';\n\
         GRANT ALL ON {OLTP_DATABASE}.* TO {USER}@'%';\n\
         GRANT {reload} ON *.* TO {USER}@'%';\n\
         {administrator}{last}\n\
         FLUSH PRIVILEGES;\n"
    )
}

fn certificate(directory: &Path) -> PathBuf {
    directory.join("server.pem")
}

fn key(directory: &Path) -> PathBuf {
    directory.join("server.key")
}

fn install(directory: &Path, pair: &KeyPairFiles) -> Result<(), Error> {
    copy(&pair.certificate, &certificate(directory))?;
    copy(&pair.key, &key(directory))
}

/// Copies a file and its permissions: a key stays private.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    fs::copy(from, to).map(drop).map_err(Error::file(from))
}

fn copy_directory(from: &Path, to: &Path) -> Result<(), Error> {
    crate::program::succeed(Command::new("cp").arg("-a").arg(from).arg(to)).map(drop)
}

/// The error from the log, or from the output before there was one.
fn last_error(directory: &Path) -> String {
    let text = |name: &str| String::from_utf8_lossy(&fs::read(directory.join(name)).unwrap_or_default()).into_owned();
    let (log, early) = (text(ERROR_LOG), text(EARLY_LOG));
    let early = || early.lines().last().map(str::trim);
    first_error(&log).or_else(early).unwrap_or("it does not answer").to_owned()
}

fn failed(server: &Path, reason: &str) -> Error {
    Error::Program { program: server.display().to_string(), reason: reason.to_owned() }
}
