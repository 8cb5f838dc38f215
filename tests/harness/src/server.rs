//! A running server, and the operations of tests on it.

use std::env;
use std::fs;
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;

use rustix::process::{Pid, test_kill_process};
use tempfile::TempDir;

use crate::builder::expand;
use crate::command::run;
use crate::options::Ports;
use crate::process::Daemon;
use crate::{Binaries, Error, Kind, ServerBuilder, limit, within};

const START_SECONDS: u64 = 90;
const STOP_SECONDS: u64 = 90;
const SQL_SECONDS: u64 = 120;
/// Time limit in seconds for the children of a server that has ended. They end once they notice that.
const EXIT_MESSAGE_SECONDS: u64 = 10;

/// A database server with its own directory, removed on drop.
///
/// Set `SEALANT_KEEP` to keep its directory for debugging.
#[derive(Debug)]
pub struct Server {
    // Dropped before `dir`: the process must end before its files are removed.
    daemon: Option<Daemon>,
    kind: Kind,
    binaries: Binaries,
    fixed_options: Vec<String>,
    instance_options: Vec<String>,
    options: Vec<String>,
    /// Whether all options are in the option file.
    by_file: bool,
    ports: Ports,
    admin_port: bool,
    socket: PathBuf,
    datadir: PathBuf,
    /// Length of the error log before the last start.
    seen: usize,
    /// Directory of programs that takes precedence over the system's.
    pub(crate) programs: Option<PathBuf>,
    /// User that runs it, if not the one that runs the test.
    pub(crate) user: Option<u32>,
    /// Network namespace in which it runs, if not the one of the test.
    pub(crate) namespace: Option<String>,
    dir: TempDir,
}

impl Server {
    /// Creates a builder for a server.
    #[must_use]
    pub fn builder(kind: Kind) -> ServerBuilder {
        ServerBuilder::new(kind)
    }

    pub(crate) fn assemble(
        kind: Kind,
        binaries: Binaries,
        dir: TempDir,
        fixed_options: Vec<String>,
        options: Vec<String>,
    ) -> Self {
        Self {
            daemon: None,
            kind,
            binaries,
            fixed_options,
            instance_options: Vec::new(),
            options,
            by_file: false,
            ports: Ports { sql: 0, x: 0, admin: 0 },
            admin_port: false,
            socket: dir.path().join("sql.sock"),
            datadir: dir.path().join("data"),
            seen: 0,
            programs: None,
            user: None,
            namespace: None,
            dir,
        }
    }

    pub(crate) fn set_ports(&mut self, ports: Ports, admin_port: bool, options: Vec<String>) {
        self.ports = ports;
        self.admin_port = admin_port;
        self.instance_options = options;
    }

    /// Rewrites the option file with the options of the command line before `rest`; the server then starts with that
    /// file only.
    pub(crate) fn move_options_to_file(&mut self, rest: &str) -> Result<(), Error> {
        let all = self.fixed_options.iter().chain(&self.instance_options).chain(&self.options);
        let lines =
            all.filter_map(|option| option.strip_prefix("--")).filter(|line| !line.starts_with("defaults-file="));
        let text = format!("[mysqld]\n{}\n{rest}", lines.collect::<Vec<_>>().join("\n"));
        let path = self.option_file();
        fs::write(&path, text).map_err(Error::file(&path))?;
        self.by_file = true;
        Ok(())
    }

    pub(crate) fn set_datadir(&mut self, datadir: PathBuf) {
        self.datadir = datadir;
    }

    /// What kind of server this is.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The installation it runs from.
    #[must_use]
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// The Unix socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.ports.sql
    }

    /// The port of the X Protocol, in MySQL 8.0 and newer.
    #[must_use]
    pub fn x_port(&self) -> Option<u16> {
        self.kind.has_x_protocol().then_some(self.ports.x)
    }

    /// The administrative port, if the builder asked for one.
    #[must_use]
    pub fn admin_port(&self) -> Option<u16> {
        (self.admin_port && (self.kind.has_x_protocol() || self.kind.is_mariadb())).then_some(self.ports.admin)
    }

    /// The data directory.
    #[must_use]
    pub fn datadir(&self) -> &Path {
        &self.datadir
    }

    /// The private directory: data, socket, keys, logs, temporary files.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Path of its option file, `my.cnf` in the private directory.
    #[must_use]
    pub fn option_file(&self) -> PathBuf {
        self.dir().join("my.cnf")
    }

    /// The process id, while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.daemon.as_ref().map(Daemon::id)
    }

    /// Whether it was started and has ended by itself.
    #[must_use]
    pub fn has_ended(&mut self) -> bool {
        self.daemon.as_mut().is_some_and(|daemon| daemon.ended().is_some())
    }

    /// The error log so far.
    #[must_use]
    pub fn error_log(&self) -> String {
        let bytes = fs::read(self.dir().join("error.log")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The server's own client, as root over the socket.
    #[must_use]
    pub fn client(&self) -> Command {
        let mut command = Command::new(&self.binaries.client);
        command.args(["--no-defaults", "--batch", "--skip-column-names", "--user=root"]);
        command.arg(format!("--socket={}", self.socket().display()));
        match self.kind {
            // Permits DELIMITER and other commands, which this client refuses by default.
            Kind::MySql97 => command.arg("--commands"),
            // The newer client does not support such old TLS.
            Kind::MySql56 | Kind::MySql57 => command.arg("--skip-ssl"),
            _ => &mut command,
        };
        command
    }

    /// Runs statements as root and returns the rows: columns separated by tabs,
    /// one row per line, no column names.
    ///
    /// # Errors
    /// [`Error::Failed`] with the client's message at the first SQL error.
    pub fn sql(&self, statements: &str) -> Result<String, Error> {
        let output = run(&mut self.client(), statements.as_bytes(), limit(SQL_SECONDS))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Like [`Self::sql`], for a single value: without the final line break.
    ///
    /// # Errors
    /// As [`Self::sql`].
    pub fn value(&self, query: &str) -> Result<String, Error> {
        self.sql(query).map(|rows| rows.trim_end_matches('\n').to_owned())
    }

    /// Starts a stopped server on its data and waits until it answers.
    ///
    /// # Errors
    /// [`Error::NotStarted`] with the end of the error log.
    pub fn start(&mut self) -> Result<(), Error> {
        self.launch()?;
        self.wait()
    }

    /// Starts a stopped server on its data, without waiting.
    ///
    /// # Errors
    /// [`Error::Spawn`].
    pub fn launch(&mut self) -> Result<(), Error> {
        self.kill();
        // A killed server leaves its socket file, which would look like a running server.
        let _ = fs::remove_file(self.socket());
        self.seen = self.error_log().len();
        let daemon =
            Daemon::spawn(self.command()?).map_err(|source| Error::Spawn { program: "setpriv".to_owned(), source })?;
        self.daemon = Some(daemon);
        Ok(())
    }

    /// Waits until a launched server answers.
    ///
    /// # Errors
    /// [`Error::NotStarted`] with the end of the error log.
    pub fn wait(&mut self) -> Result<(), Error> {
        self.wait_until_ready(self.seen)
    }

    /// The part of the error log since the last start.
    #[must_use]
    pub fn new_log(&self) -> String {
        let log = self.error_log();
        log.get(self.seen..).unwrap_or(&log).to_owned()
    }

    /// Sets the directory that is searched first for programs that the server calls, from its next start on.
    pub fn set_programs(&mut self, directory: Option<PathBuf>) {
        self.programs = directory;
    }

    /// Shuts down cleanly, adds options for this and later starts, and starts again.
    /// Placeholders are replaced as in [`ServerBuilder::option`].
    ///
    /// # Errors
    /// As [`Self::stop`] and [`Self::start`].
    pub fn restart_with(&mut self, options: &[&str]) -> Result<(), Error> {
        self.stop()?;
        let options = options.iter().map(|option| expand(option, self.dir.path()));
        self.options.extend(options);
        self.start()
    }

    /// Shuts down cleanly; the files stay until the value is dropped.
    ///
    /// # Errors
    /// [`Error::TimedOut`] if the server does not end; it is then killed.
    pub fn stop(&mut self) -> Result<(), Error> {
        let Some(mut daemon) = self.daemon.take() else { return Ok(()) };
        let limit = limit(STOP_SECONDS);
        if daemon.terminate(limit) {
            return Ok(());
        }
        Err(Error::TimedOut { what: "clean shutdown".to_owned(), limit })
    }

    /// Kills the server with SIGKILL, as in a crash; the files stay.
    pub fn kill(&mut self) {
        self.daemon = None;
    }

    fn command(&self) -> Result<Command, Error> {
        let mut command = match self.user {
            Some(id) => Daemon::command_of(id, &self.binaries.daemon),
            None => Daemon::command(&self.binaries.daemon),
        };
        if let Some(namespace) = &self.namespace {
            command = Daemon::within_namespace(namespace, &command);
        }
        if self.by_file {
            command.arg(format!("--defaults-file={}", self.option_file().display()));
        } else {
            command.args(&self.fixed_options).args(&self.instance_options).args(&self.options);
        }
        command.current_dir(self.dir()).stdin(Stdio::null());
        // Receives output from before the error log is opened and after it is closed.
        let path = self.dir().join("output.log");
        let log = fs::File::options().create(true).append(true).open(&path);
        let log = log.map_err(Error::file(&path))?;
        command.stdout(log.try_clone().map_err(Error::file(&path))?).stderr(log);
        command.env("PATH", self.path());
        Ok(command)
    }

    /// The `PATH` of the server: state transfers call programs by name, and the server's own programs come first.
    fn path(&self) -> String {
        let rest = env::var("PATH").unwrap_or_else(|_| "/usr/sbin:/usr/bin:/sbin:/bin".to_owned());
        let current = self.programs.iter().map(|directory| format!("{}:", directory.display())).collect::<String>();
        format!("{current}{}:{rest}", self.binaries.basedir.join("bin").display())
    }

    fn wait_until_ready(&mut self, seen: usize) -> Result<(), Error> {
        let limit = limit(START_SECONDS);
        let outcome = within(limit, || {
            let ended = self.daemon.as_mut().and_then(Daemon::ended);
            (ended.is_some() || greets(&self.socket)).then_some(ended)
        });
        let why = match outcome {
            Ok(None) => return Ok(()),
            Ok(Some(ended)) => ended,
            Err(_) => format!("no answer within {} s", limit.as_secs()),
        };
        self.wait_for_exit_message();
        self.kill();
        Err(Error::NotStarted { why, log_tail: self.log_tail(seen) })
    }

    /// Waits for messages that children of a server write after it has ended.
    fn wait_for_exit_message(&mut self) {
        if let Some(daemon) = &mut self.daemon
            && daemon.ended().is_some()
        {
            daemon.wait_for_group(limit(EXIT_MESSAGE_SECONDS));
        }
    }

    /// The last lines of the error log since this start.
    fn log_tail(&self, seen: usize) -> String {
        let output = fs::read_to_string(self.dir().join("output.log")).unwrap_or_default();
        let log = self.error_log();
        let text = output + log.get(seen..).unwrap_or(&log);
        let lines: Vec<&str> = text.lines().collect();
        lines.get(lines.len().saturating_sub(30)..).unwrap_or_default().join("\n")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        if env::var_os("SEALANT_KEEP").is_some() {
            self.dir.disable_cleanup(true);
        }
    }
}

/// Whether a server sends the first bytes of its handshake.
fn greets(socket: &Path) -> bool {
    let Ok(mut stream) = UnixStream::connect(socket) else { return false };
    let _ = stream.set_read_timeout(Some(limit(10)));
    stream.read_exact(&mut [0; 5]).is_ok()
}

/// Maximum length of the base path that leaves room for the socket's name in 107 bytes.
const LONGEST_BASE_BYTES: usize = 60;

/// Creates a directory in the system's directory for temporary files. Its name contains the process id, by which
/// [`sweep`] finds the owner, and a random suffix.
pub(crate) fn new_directory() -> Result<TempDir, Error> {
    static SWEEP: Once = Once::new();
    let mut base = env::temp_dir();
    if base.as_os_str().len() > LONGEST_BASE_BYTES {
        base = PathBuf::from("/tmp");
    }
    SWEEP.call_once(|| sweep(&base));
    new_directory_in(&base)
}

/// Creates a directory below `base`, which the caller removes.
pub(crate) fn new_directory_in(base: &Path) -> Result<TempDir, Error> {
    let prefix = format!("sealant-{}-", std::process::id());
    tempfile::Builder::new().prefix(&prefix).tempdir_in(base).map_err(Error::file(base))
}

/// Removes directories of killed test processes.
fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten() {
        let owner = entry.file_name().to_str().and_then(owner);
        if owner.is_some_and(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn owner(name: &str) -> Option<Pid> {
    let pid = name.strip_prefix("sealant-")?.split('-').next()?;
    pid.parse().ok().and_then(Pid::from_raw)
}
