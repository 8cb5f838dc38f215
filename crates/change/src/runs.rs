//! The runs of `encrypt` on this host, as other processes see them: a directory with one state file for each server.
//! Requests to a run are files next to its state file.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    thread::sleep,
    time::Duration,
};

use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::{Activity, Error};

/// Name and version of a state file.
pub(crate) const SCHEMA: &str = "sealant.encrypt-state/1";

/// State of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunState {
    /// Name and version of the document, `sealant.encrypt-state/1`.
    pub schema: String,
    /// Name of the server in messages.
    pub server: String,
    /// Process id of the run.
    pub pid: u32,
    /// Start of the run.
    pub began: Timestamp,
    /// Time of this state.
    pub at: Timestamp,
    /// What the run does.
    pub activity: Activity,
    /// Why it waits, or what failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Number of the current step, from 1.
    pub step: usize,
    /// Number of steps.
    pub steps: usize,
    /// Description of the current step.
    pub what: String,
    /// Progress within the step, in the tool's own words, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Bytes of tables and tablespaces rewritten so far.
    pub bytes_done: u64,
    /// Bytes of tables and tablespaces to rewrite.
    pub bytes_total: u64,
    /// Path of the statement log.
    pub log: PathBuf,
    /// Whether `super_read_only` must be restored at the end, because this run or one that was killed has lifted it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub super_read_only: bool,
    /// Path of the state file.
    #[serde(skip)]
    pub(crate) path: PathBuf,
}

/// A request to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Pause before the next step.
    Pause,
    /// Cancel.
    Cancel,
}

impl Request {
    pub(crate) const fn ending(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Cancel => "cancel",
        }
    }
}

/// The runs whose state is in one directory.
#[derive(Clone, Debug)]
pub struct Runs {
    pub(crate) directory: PathBuf,
}

impl Runs {
    /// The runs below a state directory.
    #[must_use]
    pub fn below(state_directory: &Path) -> Self {
        Self { directory: state_directory.join("encrypt") }
    }

    /// The latest run of each server.
    ///
    /// # Errors
    /// [`Error::State`].
    pub fn all(&self) -> Result<Vec<RunState>, Error> {
        let entries = match fs::read_dir(&self.directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(failed(&self.directory))?,
        };
        let mut runs = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed(&self.directory))?.path();
            if path.extension().is_some_and(|ending| ending == "json") {
                runs.push(Self::read(&path)?);
            }
        }
        runs.sort_by(|a: &RunState, b| a.server.cmp(&b.server));
        Ok(runs)
    }

    /// The runs of one server, or of all.
    ///
    /// # Errors
    /// [`Error::State`].
    pub fn of_server(&self, server: Option<&str>) -> Result<Vec<RunState>, Error> {
        let mut runs = self.all()?;
        runs.retain(|run| server.is_none_or(|server| run.server == server));
        Ok(runs)
    }

    /// The only active run of one server, or of all.
    ///
    /// # Errors
    /// [`Error::SeveralRuns`] and [`Error::NoRun`].
    pub fn alive(&self, server: Option<&str>) -> Result<RunState, Error> {
        let known = self.of_server(server)?;
        let mut alive: Vec<_> = known.iter().filter(|run| run.activity.is_alive()).cloned().collect();
        if alive.len() > 1 {
            return Err(Error::SeveralRuns { servers: alive.into_iter().map(|run| run.server).collect() });
        }
        let last = known.first().filter(|run| run.activity != Activity::Done);
        alive.pop().ok_or_else(|| Error::NoRun { last: last.map(|run| (run.server.clone(), run.activity)) })
    }

    /// Removes the state of runs that have ended, of one server or of all. Returns them. Keeps runs whose server still
    /// has a setting to restore.
    ///
    /// # Errors
    /// [`Error::State`].
    pub fn forget(&self, server: Option<&str>) -> Result<Vec<RunState>, Error> {
        let mut forgotten = Vec::new();
        for run in self.of_server(server)? {
            let lock_path = run.path.with_extension("lock");
            let lock = open_private(&lock_path).map_err(failed(&lock_path))?;
            if run.activity.is_alive() || run.super_read_only || !locked(&lock) {
                continue;
            }
            fs::remove_file(&run.path).map_err(failed(&run.path))?;
            for request in [Request::Pause, Request::Cancel] {
                Self::request(&run, request, false)?;
            }
            forgotten.push(run);
        }
        Ok(forgotten)
    }

    /// Makes a request to a run, or withdraws it if not `wanted`.
    ///
    /// # Errors
    /// [`Error::State`].
    pub fn request(run: &RunState, request: Request, wanted: bool) -> Result<(), Error> {
        set(&run.path.with_extension(request.ending()), wanted)
    }

    pub(crate) fn read(path: &Path) -> Result<RunState, Error> {
        let text = fs::read(path).map_err(failed(path))?;
        let mut state: RunState =
            serde_json::from_slice(&text).map_err(|error| failed(path)(io::Error::other(error)))?;
        path.clone_into(&mut state.path);
        if state.activity.is_alive() && !is_locked(&path.with_extension("lock"))? {
            state.activity = Activity::Interrupted;
        }
        Ok(state)
    }
}

pub(crate) fn failed(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::State { path, source }
}

/// Locks the file. Retries, since a process that reads the state holds the lock for a moment.
pub(crate) fn locked(lock: &File) -> bool {
    const TRIES: u32 = 20;
    (0..TRIES).any(|_| {
        let got = flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        if !got {
            sleep(Duration::from_millis(25));
        }
        got
    })
}

pub(crate) fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)
}

pub(crate) fn set(path: &Path, wanted: bool) -> Result<(), Error> {
    let result = if wanted { open_private(path).map(drop) } else { fs::remove_file(path) };
    match result {
        Err(error) if !wanted && error.kind() == ErrorKind::NotFound => Ok(()),
        other => other.map_err(failed(path)),
    }
}

fn is_locked(path: &Path) -> Result<bool, Error> {
    match File::open(path) {
        Ok(lock) => Ok(flock(&lock, FlockOperation::NonBlockingLockShared).is_err()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(failed(path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::Control;

    fn known(dir: &Path, server: &str, activity: Activity) {
        let directory = dir.join("encrypt");
        fs::create_dir_all(&directory).unwrap();
        let now = Timestamp::UNIX_EPOCH;
        let state = RunState {
            schema: SCHEMA.to_owned(),
            server: server.to_owned(),
            pid: 1,
            began: now,
            at: now,
            activity,
            why: None,
            step: 1,
            steps: 2,
            what: String::new(),
            within: None,
            bytes_done: 0,
            bytes_total: 0,
            log: PathBuf::new(),
            super_read_only: false,
            path: PathBuf::new(),
        };
        fs::write(directory.join(format!("{server}.json")), serde_json::to_vec(&state).unwrap()).unwrap();
    }

    #[test]
    fn a_run_that_ended_is_not_steered_and_the_last_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let runs = Runs::below(dir.path());
        assert!(matches!(runs.alive(None), Err(Error::NoRun { last: None })));
        known(dir.path(), "db1", Activity::Failed);
        known(dir.path(), "db2", Activity::Done);
        let none = runs.alive(None).unwrap_err();
        assert!(none.hint().unwrap().contains("the last on db1 failed"), "{none:?}");
        assert!(matches!(runs.alive(Some("db2")), Err(Error::NoRun { last: None })));
    }

    fn begin(runs: &Runs) -> Result<Control, Error> {
        Control::begin(runs, "uuid-1", "root@db1", Path::new("log"), Arc::default())
    }

    #[test]
    fn runs_that_have_ended_are_forgotten_unless_they_left_something() {
        let directory = tempfile::tempdir().unwrap();
        let runs = Runs::below(directory.path());
        known(directory.path(), "db1", Activity::Done);
        known(directory.path(), "db2", Activity::Interrupted);
        let control = begin(&runs).unwrap();
        let names = |runs: &[RunState]| runs.iter().map(|run| run.server.clone()).collect::<Vec<_>>();
        assert_eq!(names(&runs.forget(Some("db2")).unwrap()), ["db2"]);
        assert_eq!(names(&runs.forget(None).unwrap()), ["db1"]);
        assert_eq!(names(&runs.all().unwrap()), ["root@db1"]);
        control.update(|state| state.super_read_only = true).unwrap();
        drop(control);
        assert_eq!(runs.forget(None).unwrap(), []);
    }

    #[test]
    fn damaged_state_is_an_error_that_names_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let runs = Runs::below(directory.path());
        fs::create_dir(directory.path().join("encrypt")).unwrap();
        fs::write(directory.path().join("encrypt/x.json"), "{").unwrap();
        assert!(runs.all().unwrap_err().to_string().contains("x.json"));
    }
}
