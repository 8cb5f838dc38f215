//! A server that this program starts for its own use, on files that no other server uses.
//!
//! It uses only the options that it is given: no option files, and no options that are persisted in its data directory.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
    thread,
    time::{Duration, Instant},
};

use process::{Program, Running};
use rustix::process::Signal;

use crate::program::{first_error, option};

/// Options of every such server. Those with `loose` exist on some versions only.
const OPTIONS: [&str; 3] = ["--loose-persisted-globals-load=OFF", "--loose-mysqlx=OFF", "--loose-wsrep-on=OFF"];
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Files of a [`ServerProcess`].
#[derive(Clone, Debug)]
pub struct ServerFiles {
    /// Its data directory.
    pub datadir: PathBuf,
    /// Its socket. The path of a socket has at most 107 bytes.
    pub socket: PathBuf,
    /// The file of its process id.
    pub pid_file: PathBuf,
    /// Directory of its temporary files, and the only directory in which statements may read and write files. Must not
    /// be shared: at its start, a server removes the temporary tables that other servers have there.
    pub temporary: PathBuf,
    /// Its error log, which also receives its standard error.
    pub log: PathBuf,
}

/// Why a server was not started.
#[derive(Debug)]
pub enum NotStarted {
    /// Its log cannot be written.
    Log(io::Error),
    /// Its program cannot be run.
    Program(io::Error),
}

/// A started server. If it still runs when this is dropped, it is killed.
#[derive(Debug)]
pub struct ServerProcess {
    running: Running,
    files: ServerFiles,
}

impl ServerProcess {
    /// Starts a server program with further options. They may name another directory for temporary files, but none of
    /// the other files.
    ///
    /// # Errors
    /// [`NotStarted`].
    pub fn start<A: AsRef<OsStr>>(
        program: Program<'_>,
        files: &ServerFiles,
        options: impl IntoIterator<Item = A>,
    ) -> Result<Self, NotStarted> {
        let needs_user = program.runs_as_root();
        let log = File::create(&files.log).map_err(NotStarted::Log)?;
        let program = program.arg("--no-defaults").args(OPTIONS).arg(option("tmpdir", &files.temporary)).args(options);
        let mut program = program.args([
            option("datadir", &files.datadir),
            option("socket", &files.socket),
            option("pid-file", &files.pid_file),
            // The directory that was compiled in may not exist.
            option("secure-file-priv", &files.temporary),
        ]);
        if needs_user {
            program = program.arg("--user=root");
        }
        let running = program.start(Stdio::null(), log).map_err(NotStarted::Program)?;
        Ok(Self { running, files: files.clone() })
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.running.id()
    }

    /// Tries to connect to its socket until that succeeds; `None` if the server has ended, or after `limit`.
    pub fn connect<T>(&mut self, limit: Duration, mut connect: impl FnMut(&Path) -> Option<T>) -> Option<T> {
        let begin = Instant::now();
        loop {
            let connected = connect(&self.files.socket);
            if connected.is_some() || self.has_ended() || begin.elapsed() > limit {
                return connected;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.running.status().ok().flatten().is_some()
    }

    /// The first error in its log; later ones are consequences of it.
    #[must_use]
    pub fn first_error(&self) -> Option<String> {
        first_error(&self.log()).map(str::to_owned)
    }

    /// The last line of its log: a program that cannot be loaded ends without an error of its own.
    #[must_use]
    pub fn last_line(&self) -> Option<String> {
        self.log().lines().map(str::trim).rfind(|line| !line.is_empty()).map(str::to_owned)
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.files.log).unwrap_or_default()).into_owned()
    }

    /// Asks it to shut down; returns its exit status, or `None` if it is still running after `limit`.
    ///
    /// # Errors
    /// Errors of the system.
    pub fn stop(&mut self, limit: Duration) -> io::Result<Option<ExitStatus>> {
        self.running.signal(Signal::TERM);
        self.running.wait(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts a script as a server in a new directory.
    fn started(script: &str) -> (tempfile::TempDir, ServerProcess) {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let files = ServerFiles {
            datadir: at("data"),
            socket: at("s"),
            pid_file: at("pid"),
            temporary: at("tmp"),
            log: at("log"),
        };
        harness::script(&at("mysqld"), script).unwrap();
        let process = ServerProcess::start(Program::at(at("mysqld")), &files, ["--datadir=/elsewhere"]).unwrap();
        (directory, process)
    }

    #[test]
    fn a_server_that_ends_says_why() {
        let (_directory, mut server) = started("echo 'x [ERROR] no space' >&2; echo 'x [ERROR] aborting' >&2; exit 1");
        assert_eq!(server.connect(Duration::from_secs(60), |_| None::<()>), None);
        assert!(server.has_ended());
        assert_eq!(server.first_error().as_deref(), Some("x [ERROR] no space"));
        let (_directory, mut server) = started("echo 'mysqld: cannot load libaio' >&2; exit 127");
        server.connect(Duration::from_secs(60), |_| None::<()>);
        assert_eq!((server.first_error(), server.last_line().as_deref()), (None, Some("mysqld: cannot load libaio")));
    }

    #[test]
    fn no_option_replaces_the_files_and_no_option_file_is_read() {
        let (directory, mut server) = started("echo \"$@\" >&2");
        server.connect(Duration::from_secs(60), |_| None::<()>);
        let options = server.last_line().unwrap();
        let options: Vec<&str> = options.split(' ').collect();
        assert_eq!(options.first(), Some(&"--no-defaults"));
        let mut datadirs = options.iter().filter(|option| option.starts_with("--datadir="));
        assert_eq!(datadirs.next_back(), Some(&option("datadir", &directory.path().join("data")).as_str()));
    }
}
