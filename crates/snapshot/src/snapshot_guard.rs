//! Holds a copy while it is used, and releases it in every case.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{error::Error, snapshot_copy::SnapshotCopy};

/// Polling interval for the stop flag.
const TICK: Duration = Duration::from_millis(20);

/// Callbacks of a copy in use.
pub struct Listener {
    /// Called after the copy was released because the program was told to stop. Work that this callback does not end
    /// continues without the copy.
    pub stopped: Box<dyn FnOnce() + Send>,
    /// Called if the copy could not be removed.
    pub kept: Arc<dyn Fn(&Error) + Send + Sync>,
}

/// A copy in use. It is released on drop, and also when the program is told to stop.
pub struct SnapshotGuard {
    root: PathBuf,
    copy: Arc<Mutex<Option<SnapshotCopy>>>,
    over: Arc<AtomicBool>,
    kept: Arc<dyn Fn(&Error) + Send + Sync>,
}

impl SnapshotGuard {
    /// Holds a copy until this value is dropped, or `stop` becomes true.
    #[must_use]
    pub fn new(copy: SnapshotCopy, stop: Arc<AtomicBool>, listener: Listener) -> Self {
        let root = copy.root().to_owned();
        let (copy, over) = (Arc::new(Mutex::new(Some(copy))), Arc::new(AtomicBool::new(false)));
        let guard = Self { root, copy: Arc::clone(&copy), over: Arc::clone(&over), kept: Arc::clone(&listener.kept) };
        thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                if stop.load(Ordering::Relaxed) {
                    release(&copy, &*listener.kept);
                    return (listener.stopped)();
                }
                thread::sleep(TICK);
            }
        });
        guard
    }

    /// Checks that the copy is still of its instant.
    ///
    /// # Errors
    /// As [`SnapshotCopy::prove`].
    pub fn prove(&self) -> Result<(), Error> {
        let copy = self.copy.lock().unwrap_or_else(PoisonError::into_inner);
        copy.as_ref().map_or(Ok(()), SnapshotCopy::prove)
    }

    /// The copy's data directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}

impl Drop for SnapshotGuard {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        release(&self.copy, &*self.kept);
    }
}

impl fmt::Debug for SnapshotGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotGuard").field("root", &self.root).finish_non_exhaustive()
    }
}

fn release(copy: &Mutex<Option<SnapshotCopy>>, kept: &dyn Fn(&Error)) {
    // Hold the lock until the copy is removed: the other thread waits for it, and so does the exit of the program.
    let mut copy = copy.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(Err(error)) = copy.take().map(SnapshotCopy::release) {
        kept(&error);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    fn guard(stop: &Arc<AtomicBool>, stopped: impl FnOnce() + Send + 'static) -> SnapshotGuard {
        let listener = Listener { stopped: Box::new(stopped), kept: Arc::new(|_| {}) };
        SnapshotGuard::new(SnapshotCopy::stopped(Path::new("/data")), Arc::clone(stop), listener)
    }

    #[test]
    fn a_stop_releases_the_copy_and_is_reported() {
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, reported) = channel();
        let guard = guard(&stop, move || sender.send(()).unwrap());
        assert!(guard.root() == Path::new("/data") && guard.prove().is_ok());
        stop.store(true, Ordering::Relaxed);
        reported.recv_timeout(Duration::from_secs(10)).unwrap();
        assert!(guard.copy.lock().unwrap().is_none());
    }

    #[test]
    fn a_released_copy_is_not_reported() {
        let (stop, (sender, reported)) = (Arc::new(AtomicBool::new(false)), channel());
        drop(guard(&stop, move || sender.send(()).unwrap()));
        stop.store(true, Ordering::Relaxed);
        assert!(reported.recv_timeout(Duration::from_secs(1)).is_err());
    }
}
