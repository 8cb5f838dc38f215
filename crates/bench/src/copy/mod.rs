//! Copies a directory into an empty one: with Sealant, and with other common programs.
//!
//! Each method starts its listener first. The measured time begins with the start of the sender and ends when both
//! sides have ended and the file system of the copy has been flushed once.

mod copy_job;
mod link;
mod local;
mod mariabackup;
mod process;
mod rsync;
mod sealant_copy;
mod stream;
mod temporary_directory;
mod tree;

pub(crate) use self::process::{Pipeline, listens};
pub use copy_job::CopyJob;
pub use link::{Link, Namespaces, Rate};
pub use mariabackup::RunningServer;
pub use sealant_copy::SealantCopy;
pub use temporary_directory::TemporaryDirectory;
pub use tree::Tree;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use server::program::MARIADB_BACKUP;

use crate::{Error, peer};

/// Copies once; returns the duration in seconds.
type Copy = fn(&CopyJob<'_>) -> Result<f64, Error>;

/// Another program, or combination of programs, that copies a directory.
#[derive(Clone, Copy, Debug)]
pub struct CopyPeer {
    /// Name, composed of its programs.
    pub name: &'static str,
    /// The programs that it needs, by their current names.
    pub programs: &'static [&'static str],
    /// Whether OpenSSL encrypts; then its AES instructions can be disabled.
    pub openssl: bool,
    /// Whether it copies over the network.
    pub networked: bool,
    /// Whether it copies from a running server, [`CopyJob::server`], and not from the directory.
    pub from_server: bool,
    pub(crate) copy: Copy,
}

/// All peers.
pub const COPY_PEERS: [CopyPeer; 8] = [
    CopyPeer { networked: false, ..CopyPeer::new("cp", &["cp"], local::cp) },
    CopyPeer::new("tar-socat", &["tar", "socat"], stream::clear),
    CopyPeer { openssl: true, ..CopyPeer::new("tar-socat-tls", &["tar", "socat", "openssl"], stream::tls) },
    CopyPeer {
        openssl: true,
        ..CopyPeer::new("tar-zstd-socat-tls", &["tar", "zstd", "socat", "openssl"], stream::zstd_tls)
    },
    CopyPeer::new("tar-age-socat", &["tar", "age", "age-keygen", "socat"], stream::age),
    CopyPeer::new("rsync", &["rsync"], rsync::one),
    CopyPeer::new("rsync-parallel", &["rsync"], rsync::parallel),
    CopyPeer {
        openssl: true,
        from_server: true,
        ..CopyPeer::new("mariabackup-socat-tls", &["mariadb-backup", "mbstream", "socat", "openssl"], mariabackup::tls)
    },
];

/// A program that was used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Name of the executable file.
    pub name: String,
    /// Its version, if it prints one.
    pub version: Option<String>,
}

impl CopyPeer {
    const fn new(name: &'static str, programs: &'static [&'static str], copy: Copy) -> Self {
        Self { name, programs, openssl: false, networked: true, from_server: false, copy }
    }

    /// Finds a peer by name.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static Self> {
        COPY_PEERS.iter().find(|peer| peer.name == name)
    }

    /// Programs that it needs and that are not in `PATH`.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        missing(self.programs)
    }
}

/// The programs among these that are not in `PATH`.
pub(crate) fn missing(programs: &[&'static str]) -> Vec<&'static str> {
    programs.iter().filter(|program| name_in_path(program).is_none()).copied().collect()
}

/// The programs of these peers with their versions, without duplicates.
#[must_use]
pub fn programs_of(peers: &[&CopyPeer]) -> Vec<Program> {
    programs(peers.iter().flat_map(|peer| peer.programs).copied())
}

/// These programs with their versions, without duplicates.
pub(crate) fn programs(all: impl IntoIterator<Item = &'static str>) -> Vec<Program> {
    let mut names: Vec<&'static str> = Vec::new();
    for name in all {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.into_iter().map(|name| Program { name: name.to_owned(), version: version(name) }).collect()
}

/// The name under which the program is in `PATH`. Older releases of MariaDB's backup program use another name.
pub(crate) fn name_in_path(program: &'static str) -> Option<&'static str> {
    let names: &[&str] = if program == MARIADB_BACKUP[0] { &MARIADB_BACKUP } else { &[program] };
    names.iter().copied().find(|name| ::process::find(name).is_some())
}

/// How long a program may take to print its version.
const VERSION_LIMIT: Duration = Duration::from_secs(30);

fn version(program: &'static str) -> Option<String> {
    let program = name_in_path(program)?;
    let option = match program {
        "socat" => "-V",
        "openssl" | "restic" => "version",
        _ => "--version",
    };
    let output = ::process::Program::at(::process::find(program)?).arg(option).limit(VERSION_LIMIT).output().ok()??;
    // mariadb-backup prints its version to stderr.
    let message = if output.stdout.is_empty() { output.error_output() } else { output.stdout };
    Some(peer::version(&message).to_owned()).filter(|version| !version.is_empty())
}
