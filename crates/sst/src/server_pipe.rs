//! Standard output, which the server reads. A line that the server does not know makes it stop
//! reading, so nothing else is ever written to it.

use std::{
    fmt,
    io::{self, Write},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crate::{error::Error, galera_state::GaleraState};

/// The pipe to the server.
pub struct ServerPipe {
    out: Mutex<Box<dyn Write + Send>>,
    /// Whether the server reads progress reports.
    progress: bool,
    /// Whether the last line is written or about to be: the server may stop reading.
    over: AtomicBool,
}

impl fmt::Debug for ServerPipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerPipe")
    }
}

/// The server truncates the line with the joiner's address at this length.
const MAX_READY_BYTES: usize = 511;

impl ServerPipe {
    /// Writes to `out`.
    #[must_use]
    pub fn new(out: Box<dyn Write + Send>, progress: bool) -> Self {
        Self { out: Mutex::new(out), progress, over: AtomicBool::new(false) }
    }

    /// Whether the server has read everything that it waits for, so that it may close its end.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn last_line(&self, text: &str) -> Result<(), Error> {
        self.over.store(true, Ordering::Relaxed);
        self.line(text)
    }

    fn line(&self, text: &str) -> Result<(), Error> {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        let said = out.write_all(format!("{text}\n").as_bytes()).and_then(|()| out.flush());
        said.map_err(|_| Error::ServerGone)
    }

    /// Joiner: the donor may connect. `token` is a secret for the donor alone.
    pub(crate) fn ready(&self, token: &str, address: &str) -> Result<(), Error> {
        let line = zeroize::Zeroizing::new(format!("ready {token}@{address}"));
        if line.len() > MAX_READY_BYTES {
            let source = io::ErrorKind::InvalidFilename.into();
            return Err(Error::Address { address: address.to_owned(), source });
        }
        self.line(&line)
    }

    /// Joiner: the state is installed, at this position.
    pub(crate) fn position(&self, position: &GaleraState) -> Result<(), Error> {
        self.last_line(&position.to_string())
    }

    /// Donor: asks the server to stop writing.
    pub(crate) fn flush_tables(&self) -> Result<(), Error> {
        self.line("flush tables")
    }

    /// Donor: the server may write again.
    pub(crate) fn resume_writes(&self) -> Result<(), Error> {
        self.line("continue")
    }

    /// Donor: the state was sent, at this position.
    pub(crate) fn done(&self, position: &GaleraState) -> Result<(), Error> {
        self.last_line(&format!("done {position}"))
    }

    /// Either role: reports progress. Errors are ignored, because the end of the server is detected
    /// elsewhere.
    pub(crate) fn report_progress(&self, bytes: u64, total_bytes: u64) {
        if self.progress && total_bytes > 0 {
            let _ = self.line(&format!("total {total_bytes}"));
            let _ = self.line(&format!("complete {}", bytes.min(total_bytes)));
        }
    }
}
