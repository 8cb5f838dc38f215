//! How a run is watched and steered from another process: a directory with a file for each server, in
//! which its run says how far it is, and beside it what it is asked to do.

use std::{
    cell::RefCell,
    fmt,
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::sleep,
    time::Duration,
};

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::HEXLOWER;
use files::WriteOptions;
use jiff::Timestamp;
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::Error;

/// Name and version of a state file.
const SCHEMA: &str = "sealant.encrypt-state/1";

/// What a run does just now, or how it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// It works on a step.
    #[default]
    Running,
    /// It was asked to wait.
    Paused,
    /// It waits by its own rules: lag, load, the time of day.
    Waiting,
    /// It ended, and everything is encrypted.
    Done,
    /// It ended with leftovers.
    Leftovers,
    /// It ended since it was asked to.
    Canceled,
    /// It ended with an error.
    Failed,
    /// Its process is gone and did not say why.
    Interrupted,
}

impl Activity {
    /// Whether the run goes on.
    #[must_use]
    pub const fn is_alive(self) -> bool {
        matches!(self, Self::Running | Self::Paused | Self::Waiting)
    }
}

impl fmt::Display for Activity {
    /// What is said of a run after the name of its server.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Waiting => "waiting",
            Self::Done => "ended, everything is encrypted",
            Self::Leftovers => "ended with leftovers",
            Self::Canceled => "was canceled",
            Self::Failed => "failed",
            Self::Interrupted => "was interrupted",
        })
    }
}

/// How far a run is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunState {
    /// Name and version of the document, `sealant.encrypt-state/1`.
    pub schema: String,
    /// The server, as the run reached it.
    pub server: String,
    /// The run's process.
    pub pid: u32,
    /// When it began.
    pub began: Timestamp,
    /// When this was written.
    pub at: Timestamp,
    /// What it does.
    pub activity: Activity,
    /// Why it waits, or what went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The step it is at, from 1 on.
    pub step: usize,
    /// How many steps there are.
    pub steps: usize,
    /// What that step does.
    pub what: String,
    /// How far it is within that step, if that can be told: a tool's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Bytes of tables and tablespaces that are written anew by now.
    pub bytes_done: u64,
    /// Bytes of all that are to be.
    pub bytes_total: u64,
    /// The log of its statements.
    pub log: PathBuf,
    /// Whether the server's `super_read_only` has to be put back at the end, of this run or of one before that was killed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub super_read_only: bool,
    /// Where this was read.
    #[serde(skip)]
    path: PathBuf,
}

/// What a run may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// To wait before the next step.
    Pause,
    /// To end.
    Cancel,
}

impl Request {
    const fn ending(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Cancel => "cancel",
        }
    }
}

/// All runs whose state is kept in one directory.
#[derive(Clone, Debug)]
pub struct Runs {
    directory: PathBuf,
}

impl Runs {
    /// Those below that directory for state.
    #[must_use]
    pub fn of(state_directory: &Path) -> Self {
        Self { directory: state_directory.join("encrypt") }
    }

    /// Every run that is known, the latest of each server.
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

    /// Those of one server, or all.
    ///
    /// # Errors
    /// [`Error::State`].
    pub fn of_server(&self, server: Option<&str>) -> Result<Vec<RunState>, Error> {
        let mut runs = self.all()?;
        runs.retain(|run| server.is_none_or(|server| run.server == server));
        Ok(runs)
    }

    /// The one run that goes on, of that server or of any.
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

    /// Asks a run for something, or takes that back.
    ///
    /// # Errors
    /// [`Error::State`].
    pub fn ask(run: &RunState, request: Request, wanted: bool) -> Result<(), Error> {
        set(&run.path.with_extension(request.ending()), wanted)
    }

    fn read(path: &Path) -> Result<RunState, Error> {
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

/// One run's own side.
#[derive(Debug)]
pub struct Control {
    state: RefCell<RunState>,
    path: PathBuf,
    stop: Arc<AtomicBool>,
    /// Held for as long as the run goes on.
    _lock: File,
}

impl Control {
    /// Begins to tell of a run on the server of that identity. When `stop` is set, the run is to end.
    ///
    /// # Errors
    /// [`Error::State`], [`Error::AnotherRun`].
    pub fn begin(runs: &Runs, identity: &str, server: &str, log: &Path, stop: Arc<AtomicBool>) -> Result<Self, Error> {
        let directory = &runs.directory;
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed(directory))?;
        let path = directory.join(format!("{}.json", name_of(identity)));
        let lock_path = path.with_extension("lock");
        let lock = open_private(&lock_path).map_err(failed(&lock_path))?;
        if !locked(&lock) {
            return Err(Error::AnotherRun { server: server.to_owned() });
        }
        for request in [Request::Pause, Request::Cancel] {
            set(&path.with_extension(request.ending()), false)?;
        }
        let now = Timestamp::now();
        let state = RunState {
            schema: SCHEMA.to_owned(),
            server: server.to_owned(),
            pid: std::process::id(),
            began: now,
            at: now,
            activity: Activity::Running,
            why: None,
            step: 0,
            steps: 0,
            what: "planning".to_owned(),
            within: None,
            bytes_done: 0,
            bytes_total: 0,
            log: std::path::absolute(log).unwrap_or_else(|_| log.to_owned()),
            super_read_only: Runs::read(&path).is_ok_and(|before| before.super_read_only),
            path: path.clone(),
        };
        let control = Self { state: RefCell::new(state), path, stop, _lock: lock };
        control.tell(|_| ())?;
        Ok(control)
    }

    /// Changes what is told.
    ///
    /// # Errors
    /// [`Error::State`].
    pub(crate) fn tell(&self, change: impl FnOnce(&mut RunState)) -> Result<(), Error> {
        let mut state = self.state.borrow_mut();
        change(&mut state);
        state.at = Timestamp::now();
        write(&self.path, &state).map_err(failed(&self.path))
    }

    /// Begins with a step.
    pub(crate) fn at_step(&self, number: usize, what: &str) -> Result<(), Error> {
        self.tell(|state| (state.step, state.what, state.within) = (number, what.to_owned(), None))
    }

    /// Tells how far it is within the step, not more often than somebody would look.
    pub(crate) fn is_within(&self, how_far: &str) {
        const OFTEN: Duration = Duration::from_secs(1);
        let lately = Timestamp::now().duration_since(self.state.borrow().at).unsigned_abs() < OFTEN;
        if !lately {
            // Where the state cannot be written, the next step ends the run.
            drop(self.tell(|state| state.within = Some(how_far.to_owned())));
        }
    }

    /// Tells what the run does and why, if that is something else than before.
    pub(crate) fn is_now(&self, activity: Activity, why: Option<String>) -> Result<(), Error> {
        let known = {
            let state = self.state.borrow();
            state.activity == activity && state.why == why
        };
        if known {
            Ok(())
        } else {
            self.tell(|state| (state.activity, state.why, state.within) = (activity, why, None))
        }
    }

    /// Whether `super_read_only` has to be put back.
    pub(crate) fn owes_super_read_only(&self) -> bool {
        self.state.borrow().super_read_only
    }

    /// Tells how it ended.
    ///
    /// # Errors
    /// [`Error::State`].
    pub fn ended(&self, activity: Activity, why: Option<String>) -> Result<(), Error> {
        self.is_now(activity, why)
    }

    /// What is asked of the run, by a signal or by another process.
    pub(crate) fn requests(&self) -> Requests {
        Requests { state: self.path.clone(), stop: Arc::clone(&self.stop) }
    }
}

/// What is asked of a run; may be looked at from any thread.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    state: PathBuf,
    stop: Arc<AtomicBool>,
}

impl Requests {
    pub(crate) fn cancel(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.state.with_extension(Request::Cancel.ending()).exists()
    }

    pub(crate) fn pause(&self) -> bool {
        self.state.with_extension(Request::Pause.ending()).exists()
    }
}

/// Identities hold paths and are long; a file's name must not.
fn name_of(identity: &str) -> String {
    let hash = digest(&SHA256, identity.as_bytes());
    HEXLOWER.encode(hash.as_ref().get(..8).unwrap_or_default())
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::State { path, source }
}

/// Whoever asks for the state holds the lock for a moment.
fn locked(lock: &File) -> bool {
    const TRIES: u32 = 20;
    (0..TRIES).any(|_| {
        let got = flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok();
        if !got {
            sleep(Duration::from_millis(25));
        }
        got
    })
}

fn open_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)
}

fn set(path: &Path, wanted: bool) -> Result<(), Error> {
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

/// Another process may read at any moment, so the file is whole at any moment.
fn write(path: &Path, state: &RunState) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(state)?;
    text.push(b'\n');
    files::write_atomic(path, &text, WriteOptions::SECRET.replacing(true))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let runs = Runs::of(dir.path());
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
    fn a_run_tells_how_far_it_is_and_hears_what_is_asked() {
        let directory = tempfile::tempdir().unwrap();
        let runs = Runs::of(directory.path());
        assert_eq!(runs.all().unwrap(), []);
        let control = begin(&runs).unwrap();
        control.tell(|state| (state.step, state.steps) = (2, 7)).unwrap();
        let seen = runs.all().unwrap();
        assert_eq!((seen.len(), seen[0].step, seen[0].steps, seen[0].activity), (1, 2, 7, Activity::Running));

        let requests = control.requests();
        assert_eq!((requests.pause(), requests.cancel()), (false, false));
        Runs::ask(&seen[0], Request::Pause, true).unwrap();
        Runs::ask(&seen[0], Request::Cancel, true).unwrap();
        assert_eq!((requests.pause(), requests.cancel()), (true, true));
        Runs::ask(&seen[0], Request::Pause, false).unwrap();
        Runs::ask(&seen[0], Request::Cancel, false).unwrap();
        assert_eq!((requests.pause(), requests.cancel()), (false, false));
    }

    #[test]
    fn one_run_at_a_time_and_one_that_vanished_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let runs = Runs::of(directory.path());
        let control = begin(&runs).unwrap();
        assert!(matches!(begin(&runs), Err(Error::AnotherRun { .. })));
        Runs::ask(&runs.all().unwrap()[0], Request::Cancel, true).unwrap();
        drop(control);
        assert_eq!(runs.all().unwrap()[0].activity, Activity::Interrupted);
        assert!(!begin(&runs).unwrap().requests().cancel(), "requests are for one run");
    }

    #[test]
    fn a_signal_cancels() {
        let directory = tempfile::tempdir().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let runs = Runs::of(directory.path());
        let control = Control::begin(&runs, "u", "s", Path::new("log"), Arc::clone(&stop)).unwrap();
        assert!(!control.requests().cancel());
        stop.store(true, Ordering::Relaxed);
        assert!(control.requests().cancel());
    }

    #[test]
    fn damaged_state_is_an_error_that_names_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let runs = Runs::of(directory.path());
        fs::create_dir(directory.path().join("encrypt")).unwrap();
        fs::write(directory.path().join("encrypt/x.json"), "{").unwrap();
        assert!(runs.all().unwrap_err().to_string().contains("x.json"));
    }
}
