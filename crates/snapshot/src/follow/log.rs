//! MariaDB's redo log, read while its server writes it.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::Path,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use innodb::{Lsn, log_copy::LogCopy};
use rustix::fs::{Advice, fadvise};

use super::session::Session;
use crate::Error;

/// Interval at which the server's written LSN is queried.
pub(super) const POLL: Duration = Duration::from_millis(20);
/// Time limit until log that the server reports as written can be read.
pub(super) const TAIL_TIMEOUT: Duration = Duration::from_secs(10);
/// Status variable: the LSN up to which the log is on disk.
pub(super) const WRITTEN: &str = "Innodb_lsn_flushed";

/// LSN at which the copy of the log ends; set once it is known.
#[derive(Debug, Default)]
pub(super) struct End {
    lsn: OnceLock<u64>,
}

impl End {
    pub(super) fn set(&self, lsn: u64) {
        let _ = self.lsn.set(lsn);
    }

    pub(super) fn get(&self) -> Option<u64> {
        self.lsn.get().copied()
    }
}

/// Copies the log to `to`, after the space for its header, until its end is known and reached. Returns the number of
/// bytes copied.
pub(super) fn follow(
    log: &File,
    copy: &mut LogCopy,
    to: &File,
    path: &Path,
    session: &mut Session,
    end: &End,
    stop: &AtomicBool,
) -> Result<u64, Error> {
    let head_bytes = copy.head().len() as u64;
    let (mut copied, mut buffer) = (0, Vec::new());
    loop {
        let ends = end.get();
        let written = ends.map_or_else(|| session.status(WRITTEN), Ok)?;
        let waiting_since = Instant::now();
        while copy.position().0 < written {
            if stop.load(Ordering::Relaxed) {
                return Err(Error::Stopped);
            }
            buffer.clear();
            copy.advance(log, Lsn(written), &mut buffer)?;
            to.write_all_at(&buffer, head_bytes + copied).map_err(Error::copying(path))?;
            copied += buffer.len() as u64;
            if buffer.is_empty() {
                if waiting_since.elapsed() > TAIL_TIMEOUT {
                    return Err(Error::LogEnds { position: copy.position().0, wanted: written });
                }
                // The server may write with O_DIRECT, which can leave an older version in the page cache.
                let _ = fadvise(log, 0, None, Advice::DontNeed);
                thread::sleep(Duration::from_millis(1));
            }
        }
        if ends.is_some() {
            return Ok(copied);
        }
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Stopped);
        }
        thread::sleep(POLL);
    }
}

/// Writes the header, without which no server would recover from the log.
pub(super) fn finish(copy: &LogCopy, to: &File, path: &Path, copied: u64) -> Result<u64, Error> {
    to.write_all_at(&copy.head(), 0).map_err(Error::copying(path))?;
    Ok(LogCopy::file_bytes(copied))
}
