//! The state that a run writes for other processes, and the requests that they send to the run.

use std::{
    cell::RefCell,
    fs::{DirBuilder, File},
    io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use aws_lc_rs::digest::{SHA256, digest};
use data_encoding::HEXLOWER;
use files::WriteOptions;
use jiff::Timestamp;

use crate::{
    Activity, Error,
    runs::{Request, RunState, Runs, SCHEMA, failed, locked, open_private, set},
};

/// Access of a run to its own state.
#[derive(Debug)]
pub struct Control {
    state: RefCell<RunState>,
    path: PathBuf,
    stop: Arc<AtomicBool>,
    /// Locked as long as the run continues.
    _lock: File,
}

impl Control {
    /// Creates the state of a run on the server `identity`. Setting `stop` cancels the run.
    ///
    /// # Errors
    /// [`Error::State`], [`Error::AnotherRun`].
    pub fn begin(runs: &Runs, identity: &str, server: &str, log: &Path, stop: Arc<AtomicBool>) -> Result<Self, Error> {
        let directory = &runs.directory;
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed(directory))?;
        let path = directory.join(format!("{}.json", file_name(identity)));
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
        control.update(|_| ())?;
        Ok(control)
    }

    /// Changes the state and writes it.
    ///
    /// # Errors
    /// [`Error::State`].
    pub(crate) fn update(&self, change: impl FnOnce(&mut RunState)) -> Result<(), Error> {
        let mut state = self.state.borrow_mut();
        change(&mut state);
        state.at = Timestamp::now();
        write(&self.path, &state).map_err(failed(&self.path))
    }

    /// Starts a step.
    pub(crate) fn start_step(&self, number: usize, what: &str) -> Result<(), Error> {
        self.update(|state| (state.step, state.what, state.within) = (number, what.to_owned(), None))
    }

    /// Reports progress within the step, at most once a second.
    pub(crate) fn set_progress(&self, how_far: &str) {
        const MIN_INTERVAL: Duration = Duration::from_secs(1);
        let lately = Timestamp::now().duration_since(self.state.borrow().at).unsigned_abs() < MIN_INTERVAL;
        if !lately {
            // If writing fails, the next step reports it.
            drop(self.update(|state| state.within = Some(how_far.to_owned())));
        }
    }

    /// Records activity and reason, if they changed.
    pub(crate) fn set_activity(&self, activity: Activity, why: Option<String>) -> Result<(), Error> {
        let known = {
            let state = self.state.borrow();
            state.activity == activity && state.why == why
        };
        if known {
            Ok(())
        } else {
            self.update(|state| (state.activity, state.why, state.within) = (activity, why, None))
        }
    }

    /// Whether `super_read_only` must be restored.
    pub(crate) fn must_restore_super_read_only(&self) -> bool {
        self.state.borrow().super_read_only
    }

    /// Records how the run ended.
    ///
    /// # Errors
    /// [`Error::State`].
    pub fn finish(&self, activity: Activity, why: Option<String>) -> Result<(), Error> {
        self.set_activity(activity, why)
    }

    /// Requests to this run, by signal or from another process.
    pub(crate) fn requests(&self) -> Requests {
        Requests { state: self.path.clone(), stop: Arc::clone(&self.stop) }
    }
}

/// Requests to a run; usable from any thread.
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

/// A hash, because identities contain paths and may be too long for a file name.
fn file_name(identity: &str) -> String {
    let hash = digest(&SHA256, identity.as_bytes());
    HEXLOWER.encode(hash.as_ref().get(..8).unwrap_or_default())
}

/// Replaces the state file atomically, because another process may read it at any time.
fn write(path: &Path, state: &RunState) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(state)?;
    text.push(b'\n');
    files::write_atomic(path, &text, WriteOptions::SECRET.replacing(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(runs: &Runs) -> Result<Control, Error> {
        Control::begin(runs, "uuid-1", "root@db1", Path::new("log"), Arc::default())
    }

    #[test]
    fn a_run_tells_how_far_it_is_and_hears_what_is_asked() {
        let directory = tempfile::tempdir().unwrap();
        let runs = Runs::below(directory.path());
        assert_eq!(runs.all().unwrap(), []);
        let control = begin(&runs).unwrap();
        control.update(|state| (state.step, state.steps) = (2, 7)).unwrap();
        let seen = runs.all().unwrap();
        assert_eq!((seen.len(), seen[0].step, seen[0].steps, seen[0].activity), (1, 2, 7, Activity::Running));

        let requests = control.requests();
        assert_eq!((requests.pause(), requests.cancel()), (false, false));
        Runs::request(&seen[0], Request::Pause, true).unwrap();
        Runs::request(&seen[0], Request::Cancel, true).unwrap();
        assert_eq!((requests.pause(), requests.cancel()), (true, true));
        Runs::request(&seen[0], Request::Pause, false).unwrap();
        Runs::request(&seen[0], Request::Cancel, false).unwrap();
        assert_eq!((requests.pause(), requests.cancel()), (false, false));
    }

    #[test]
    fn one_run_at_a_time_and_a_vanished_run_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let runs = Runs::below(directory.path());
        let control = begin(&runs).unwrap();
        assert!(matches!(begin(&runs), Err(Error::AnotherRun { .. })));
        Runs::request(&runs.all().unwrap()[0], Request::Cancel, true).unwrap();
        drop(control);
        assert_eq!(runs.all().unwrap()[0].activity, Activity::Interrupted);
        assert!(!begin(&runs).unwrap().requests().cancel(), "requests are for one run");
    }

    #[test]
    fn a_signal_cancels() {
        let directory = tempfile::tempdir().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let runs = Runs::below(directory.path());
        let control = Control::begin(&runs, "u", "s", Path::new("log"), Arc::clone(&stop)).unwrap();
        assert!(!control.requests().cancel());
        stop.store(true, Ordering::Relaxed);
        assert!(control.requests().cancel());
    }
}
