//! What is collected, and its limits: the requests for [`super::live()`] and [`super::offline()`].

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use files::quantity::size;
use server::Target;
use server::probe::ProbeLimits;

use super::stores::KeyCopies;
use super::traffic::Packets;

/// Progress, for a status line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// The current step.
    pub step: &'static str,
    /// Number of files read, or statements answered.
    pub files: usize,
    /// Number of bytes read.
    pub bytes: u64,
}

impl fmt::Display for Progress {
    /// One human-readable line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.files, self.bytes) {
            (0, _) => f.write_str(self.step),
            (files, 0) => write!(f, "{}: {files}", self.step),
            (files, bytes) => write!(f, "{}: {files}, {} read", self.step, size(bytes)),
        }
    }
}

/// Limits of a collection.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Maximum bytes of undo, redo, doublewrite and temporary files that are read completely without `--deep`.
    pub special_bytes: u64,
    /// Maximum number of files.
    pub files: usize,
    /// Number of reading threads.
    pub readers: usize,
    /// How long to wait for the first pages of new tablespaces.
    pub settle_time: Duration,
    /// Limits of a probe of a listener.
    pub probe: ProbeLimits,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            special_bytes: 1 << 30,
            files: 2_000_000,
            readers: 2,
            settle_time: Duration::from_millis(1500),
            probe: ProbeLimits::default(),
        }
    }
}

/// Options of a live audit.
#[derive(Clone)]
pub struct LiveOptions<'a> {
    /// Endpoint and account of the server.
    pub target: Target,
    /// Password, TLS and timeouts.
    pub connect: server::Options,
    /// The data directory, if its path here differs from the server's.
    pub datadir: Option<PathBuf>,
    /// Directories with backups.
    pub backup_dirs: Vec<PathBuf>,
    /// Names that clients use for this server.
    pub client_names: Vec<String>,
    /// Additional option files.
    pub option_files: Vec<PathBuf>,
    /// Copies of the key stores, to be proven.
    pub key_copies: KeyCopies,
    /// The directory of the register of keys; `None` to omit it.
    pub state_dir: Option<PathBuf>,
    /// Read every page.
    pub deep: bool,
    /// Read files.
    pub files: bool,
    /// Collect host facts.
    pub host: bool,
    /// Probe the ports.
    pub wire: bool,
    /// Try to log in without TLS, only on this host.
    pub plaintext_probe: bool,
    /// Judge the packets of its ports.
    pub packets: Option<Packets>,
    /// Limits.
    pub limits: Limits,
    /// Receives progress, on the calling thread.
    pub progress: Option<&'a dyn Fn(Progress)>,
}

impl LiveOptions<'_> {
    /// Everything except the clear-text login and reading every page.
    #[must_use]
    pub fn new(target: Target, connect: server::Options) -> Self {
        Self {
            target,
            connect,
            datadir: None,
            backup_dirs: Vec::new(),
            client_names: Vec::new(),
            option_files: Vec::new(),
            key_copies: KeyCopies::default(),
            state_dir: None,
            deep: false,
            files: true,
            host: true,
            wire: true,
            plaintext_probe: false,
            packets: None,
            limits: Limits::default(),
            progress: None,
        }
    }
}

/// Options of an offline audit.
#[derive(Clone, Default)]
pub struct OfflineOptions<'a> {
    /// Read every page.
    pub deep: bool,
    /// Whether it is a backup rather than a data directory.
    pub backup: bool,
    /// Directories with backups.
    pub backup_dirs: Vec<PathBuf>,
    /// Names that clients use for the server.
    pub client_names: Vec<String>,
    /// Copies of the key stores, to be proven.
    pub key_copies: KeyCopies,
    /// Limits.
    pub limits: Limits,
    /// Receives progress, on the calling thread.
    pub progress: Option<&'a dyn Fn(Progress)>,
}

impl fmt::Debug for LiveOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveOptions").field("target", &self.target).field("deep", &self.deep).finish_non_exhaustive()
    }
}

/// Reports progress.
pub(super) fn report(progress: Option<&dyn Fn(Progress)>, step: &'static str, files: usize, bytes: u64) {
    if let Some(tell) = progress {
        tell(Progress { step, files, bytes });
    }
}
