//! What the server hears on standard output. A line that it does not know makes it stop listening, so
//! nothing else is ever written there.

use std::{
    fmt,
    io::{self, Write},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{error::SstError, position::Position};

/// The way to the server.
pub struct Speech {
    out: Mutex<Box<dyn Write + Send>>,
    /// Whether the server reads how far it is.
    progress: bool,
    /// Whether the last line is said, or about to be: the server need not listen any longer.
    over: AtomicBool,
}

impl fmt::Debug for Speech {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Speech")
    }
}

/// The server cuts the line that has the joiner's address here.
const MAX_READY_BYTES: usize = 511;

impl Speech {
    /// Speaks to `out`.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>, progress: bool) -> Self {
        Self { out: Mutex::new(out), progress, over: AtomicBool::new(false) }
    }

    /// Whether the server has heard everything that it is waiting for, so that it may close its end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn last_line(&self, text: &str) -> Result<(), SstError> {
        self.over.store(true, Ordering::Relaxed);
        self.line(text)
    }

    fn line(&self, text: &str) -> Result<(), SstError> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let said = out.write_all(format!("{text}\n").as_bytes()).and_then(|()| out.flush());
        said.map_err(|_| SstError::ServerGone)
    }

    /// Joiner: the donor may come. `token` is what only the donor is to know.
    pub(crate) fn ready(&self, token: &str, address: &str) -> Result<(), SstError> {
        let line = zeroize::Zeroizing::new(format!("ready {token}@{address}"));
        if line.len() > MAX_READY_BYTES {
            let source = io::ErrorKind::InvalidFilename.into();
            return Err(SstError::Address { address: address.to_owned(), source });
        }
        self.line(&line)
    }

    /// Joiner: this is in place.
    pub(crate) fn position(&self, position: &Position) -> Result<(), SstError> {
        self.last_line(&position.to_string())
    }

    /// Donor: stop writing.
    pub(crate) fn flush_tables(&self) -> Result<(), SstError> {
        self.line("flush tables")
    }

    /// Donor: go on.
    pub(crate) fn go_on(&self) -> Result<(), SstError> {
        self.line("continue")
    }

    /// Donor: this was sent.
    pub(crate) fn done(&self, position: &Position) -> Result<(), SstError> {
        self.last_line(&format!("done {position}"))
    }

    /// Either: how far it is. A server that is gone shows elsewhere.
    pub(crate) fn far(&self, bytes: u64, total_bytes: u64) {
        if self.progress && total_bytes > 0 {
            let _ = self.line(&format!("total {total_bytes}"));
            let _ = self.line(&format!("complete {}", bytes.min(total_bytes)));
        }
    }
}
