//! A log of every statement that changed something, for auditors: JSON lines, one when a statement is sent and one when
//! it ends.

use std::{
    fs::{DirBuilder, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::Mutex,
    time::Duration,
};

use jiff::Timestamp;
use rustix::fs::OFlags;
use serde::Serialize;
use server::Target;

use crate::Error;

/// Name of the log in a directory for state.
const NAME: &str = "statements.jsonl";

/// An append-only file of statements.
#[derive(Debug)]
pub struct StatementLog {
    path: PathBuf,
    file: Mutex<File>,
    server: String,
    account: String,
}

#[derive(Serialize)]
struct Line<'a> {
    at: Timestamp,
    server: &'a str,
    account: &'a str,
    event: &'a str,
    statement: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl StatementLog {
    /// Path of the log in a directory for state.
    #[must_use]
    pub fn within(state_directory: &Path) -> PathBuf {
        state_directory.join(NAME)
    }

    /// Opens the log of statements to a server; only its owner may read it. Creates the directory of a log with the
    /// usual name (see [`Self::within`]).
    ///
    /// # Errors
    /// [`Error::Log`].
    pub fn open(path: &Path, server: &str, account: &str) -> Result<Self, Error> {
        // A link that another user placed here could lead to any file.
        let no_link = OFlags::NOFOLLOW.bits().cast_signed();
        let open = || OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(no_link).open(path);
        let make_directory = || DirBuilder::new().recursive(true).mode(0o700).create(files::parent(path));
        let file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound && path.ends_with(NAME) => {
                make_directory().and_then(|()| open())
            }
            opened => opened,
        };
        let file = file.map_err(|source| Error::Log { path: path.to_owned(), source })?;
        Ok(Self {
            path: path.to_owned(),
            file: Mutex::new(file),
            server: server.to_owned(),
            account: account.to_owned(),
        })
    }

    /// As [`Self::open`], for the server and account of a connection.
    ///
    /// # Errors
    /// [`Error::Log`].
    pub fn of_target(path: &Path, target: &Target) -> Result<Self, Error> {
        Self::open(path, &target.to_string(), &target.user)
    }

    /// A log that discards everything, for a session that changes nothing.
    ///
    /// # Errors
    /// [`Error::Log`].
    pub fn none(target: &Target) -> Result<Self, Error> {
        Self::of_target(Path::new("/dev/null"), target)
    }

    /// Path of the log.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Logs that a statement is about to be sent. Durable when this returns.
    pub(crate) fn sent(&self, statement: &str) -> Result<(), Error> {
        self.write("sent", statement, None, None)
    }

    /// Logs a change that is not a statement, such as replacing a file of the server, before it is made.
    pub(crate) fn note(&self, what: &str) -> Result<(), Error> {
        self.write("change", what, None, None)
    }

    /// Logs that a statement has ended.
    pub(crate) fn ended(&self, statement: &str, took: Duration, error: Option<String>) -> Result<(), Error> {
        let event = if error.is_some() { "failed" } else { "done" };
        self.write(event, statement, Some(took), error)
    }

    fn write(&self, event: &str, statement: &str, took: Option<Duration>, error: Option<String>) -> Result<(), Error> {
        let seconds = took.map(|took| took.as_secs_f64());
        let (server, account) = (self.server.as_str(), self.account.as_str());
        let line = Line { at: Timestamp::now(), server, account, event, statement, seconds, error };
        let written = self.append(&line);
        written.map_err(|source| Error::Log { path: self.path.clone(), source })
    }

    fn append(&self, line: &Line<'_>) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        let mut file = self.file.lock().map_err(|_| io::Error::other("another thread failed while it was writing"))?;
        file.write_all(&bytes)?;
        file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn lines_are_added_and_only_the_owner_reads_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        for _ in 0..2 {
            let log = StatementLog::open(&path, "db1:3306", "root").unwrap();
            log.sent("SET PERSIST x = 1").unwrap();
            log.ended("SET PERSIST x = 1", Duration::from_millis(1500), None).unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<serde_json::Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines.len(), 4);
        assert_eq!((lines[0]["event"].as_str(), lines[3]["event"].as_str()), (Some("sent"), Some("done")));
        assert_eq!(lines[3]["seconds"], 1.5);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn links_are_not_followed() {
        let directory = tempfile::tempdir().unwrap();
        let (target, link) = (directory.path().join("target"), directory.path().join("link"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        assert!(matches!(StatementLog::open(&link, "s", "a"), Err(Error::Log { .. })));
        assert!(!target.exists());
    }

    #[test]
    fn a_log_that_cannot_be_written_is_an_error() {
        let log = StatementLog::open(Path::new("/dev/full"), "s", "a").unwrap();
        assert!(matches!(log.sent("SET PERSIST x = 1"), Err(Error::Log { .. })));
    }
}
