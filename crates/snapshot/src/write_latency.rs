//! Measures how long writes have to wait while a snapshot of the file system under a running server
//! is made.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use rustix::fs::OFlags;

/// Pause between two writes.
const PAUSE: Duration = Duration::from_micros(500);

/// Repeatedly writes a byte to an unnamed file on the file system of the data.
#[derive(Debug)]
pub(crate) struct WriteLatencyProbe {
    over: Arc<AtomicBool>,
    probe: Option<JoinHandle<Duration>>,
}

impl WriteLatencyProbe {
    /// Starts to measure.
    pub(crate) fn watch(datadir: &Path) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let file = file_beside(datadir);
        let reported = Arc::clone(&over);
        let probe = file.map(|file| thread::spawn(move || longest(&file, &reported)));
        Self { over, probe }
    }

    /// The longest wait of a write; zero if no file could be created there.
    pub(crate) fn end(mut self) -> Duration {
        self.over.store(true, Ordering::Relaxed);
        self.probe.take().and_then(|probe| probe.join().ok()).unwrap_or_default()
    }
}

impl Drop for WriteLatencyProbe {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// An unnamed file on the file system of the data, outside of the data directory if possible.
fn file_beside(datadir: &Path) -> Option<File> {
    let device = |path: &Path| std::fs::metadata(path).map(|metadata| metadata.dev()).ok();
    let above = datadir.parent().filter(|above| device(above) == device(datadir));
    let flags = i32::try_from(OFlags::TMPFILE.bits()).unwrap_or_default();
    let make = |directory: &Path| OpenOptions::new().write(true).mode(0o600).custom_flags(flags).open(directory).ok();
    above.and_then(make).or_else(|| make(datadir))
}

fn longest(file: &File, over: &AtomicBool) -> Duration {
    let mut longest = Duration::ZERO;
    while !over.load(Ordering::Relaxed) {
        let began = Instant::now();
        if file.write_all_at(&[0], 0).is_err() {
            break;
        }
        longest = longest.max(began.elapsed());
        thread::sleep(PAUSE);
    }
    longest
}
