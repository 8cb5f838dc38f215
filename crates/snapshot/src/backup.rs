//! Backups streamed by mariabackup or xtrabackup, for servers that cannot be copied atomically.
//! The stream is not of one instant: prepare it before a server starts on it.

use std::{
    ffi::OsString,
    io::BufReader,
    path::{Path, PathBuf},
    process::{ChildStdout, Stdio},
    thread::{self, JoinHandle},
    time::Duration,
};

use process::{Running, Stopper};

use crate::error::Error;
pub use crate::program::Program;

/// Options of both programs for a backup to standard output, in the xbstream format.
pub const TO_STDOUT: [&str; 2] = ["--backup", "--stream=xbstream"];

/// Settings of a backup.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The backup program.
    pub program: Program,
    /// Path of the program, if it is not on the search path.
    pub path: Option<PathBuf>,
    /// Option file with the account for the backup.
    pub defaults: Option<PathBuf>,
    /// Socket of the server.
    pub socket: Option<PathBuf>,
}

/// A running backup. The program is killed when this is dropped.
#[derive(Debug)]
pub struct Backup {
    file: String,
    running: Running,
    log: Option<JoinHandle<String>>,
}

impl Backup {
    /// Starts a backup of the server of a data directory. The child's output is a stream of chunks
    /// in the xbstream format.
    ///
    /// # Errors
    /// [`Error::NoTool`], or [`Error::Backup`] if the program cannot be started.
    pub fn begin(datadir: &Path, settings: &Settings) -> Result<(Self, ChildStdout), Error> {
        let file = settings.path.clone().unwrap_or_else(|| settings.program.found());
        // The option for the option file must be the first one.
        let defaults = settings.defaults.iter().map(|defaults| with("--defaults-file=", defaults));
        let socket = settings.socket.iter().map(|socket| with("--socket=", socket));
        let program = process::Program::at(&file).args(defaults).args(TO_STDOUT);
        let program = program.arg(with("--datadir=", datadir)).args(socket);
        let file = file.display().to_string();
        let failed = |reason: String| Error::Backup { program: file.clone(), reason };
        let started = program.start(Stdio::piped(), Stdio::piped());
        let mut running = started.map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::NoTool { program: settings.program.file() },
            _ => failed(error.to_string()),
        })?;
        let (stream, log) = (running.stdout.take(), running.stderr.take());
        let (Some(stream), Some(log)) = (stream, log) else { return Err(failed("it has no output".to_owned())) };
        let log = thread::spawn(move || process::last_error(BufReader::new(log)));
        Ok((Self { file, running, log: Some(log) }, stream))
    }

    /// Returns a handle to end the program from another thread.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.running.stopper()
    }

    /// Waits for the program to end, and checks that it reported success. Its stream must have been
    /// read to the end before.
    ///
    /// # Errors
    /// [`Error::Backup`] with the program's last error message if it failed.
    pub fn finish(&mut self) -> Result<(), Error> {
        let status = self.running.wait(Duration::MAX).transpose();
        let said = self.log.take().and_then(|log| log.join().ok()).unwrap_or_default();
        let failed = |reason| Error::Backup { program: self.file.clone(), reason };
        match status {
            Some(Ok(status)) if status.success() => Ok(()),
            Some(Ok(status)) if said.is_empty() => Err(failed(status.to_string())),
            Some(Ok(_)) => Err(failed(said)),
            Some(Err(error)) => Err(failed(error.to_string())),
            None => Err(failed("it does not end".to_owned())),
        }
    }
}

fn with(option: &str, path: &Path) -> OsString {
    let mut text = OsString::from(option);
    text.push(path);
    text
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    /// A script in place of the program; integration tests use the real ones.
    fn settings(directory: &Path, script: &str) -> Settings {
        let path = directory.join("program");
        harness::script(&path, script).unwrap();
        Settings { program: Program::MariaBackup, path: Some(path), defaults: None, socket: Some("/s".into()) }
    }

    #[test]
    fn a_program_that_fails_says_why() {
        let directory = tempfile::tempdir().unwrap();
        let script = "echo \"$@\"; echo '[00] Failed to connect' >&2; echo 'bye' >&2; exit 1";
        let (mut backup, mut stream) =
            Backup::begin(Path::new("/d"), &settings(directory.path(), script)).expect("it starts");
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert_eq!(said, "--backup --stream=xbstream --datadir=/d --socket=/s\n");
        let reason = backup.finish().unwrap_err().to_string();
        assert!(reason.ends_with("program: [00] Failed to connect"), "{reason}");
    }

    #[test]
    fn a_program_ends_with_its_backup() {
        let directory = tempfile::tempdir().unwrap();
        let (backup, mut stream) =
            Backup::begin(Path::new("/d"), &settings(directory.path(), "exec sleep 600")).unwrap();
        drop(backup);
        assert_eq!(stream.read(&mut [0]).unwrap(), 0);
        let missing = Settings { path: Some("/nowhere/mariadb-backup".into()), ..settings(directory.path(), "") };
        assert!(matches!(Backup::begin(Path::new("/d"), &missing), Err(Error::NoTool { .. })));
    }
}
