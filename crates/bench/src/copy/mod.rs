//! Copying a directory into an empty one: by ours, and by what people use today.
//!
//! Every way starts its listener first. The time goes from the start of the sender until both sides
//! have ended and the file system of the copy was flushed once.

mod link;
mod local;
mod mariabackup;
mod ours;
mod process;
mod rsync;
mod scratch;
mod site;
mod stream;
mod tree;

pub use link::{Link, Namespaces, Rate};
pub use mariabackup::RunningServer;
pub use ours::Ours;
pub(crate) use process::listens;
pub use scratch::Scratch;
pub use site::Site;
pub use tree::Tree;

use std::{
    ffi::OsStr,
    process::{Command, Stdio},
};

use serde::Serialize;

use crate::{Error, peer, program::find_program};

/// Copies once; returns the seconds.
type Copy = fn(&Site<'_>) -> Result<f64, Error>;

/// Another way to copy a directory.
#[derive(Clone, Copy, Debug)]
pub struct CopyPeer {
    /// Its name, which says what is connected with what.
    pub name: &'static str,
    /// Programs it is made of, by their names of today.
    pub programs: &'static [&'static str],
    /// Whether OpenSSL does its encryption, whose AES instructions can be switched off.
    pub openssl: bool,
    /// Whether it goes over the network.
    pub networked: bool,
    /// Whether it copies from a running server, [`Site::server`], instead of from the directory.
    pub from_server: bool,
    pub(crate) copy: Copy,
}

/// Every other way.
pub const COPY_PEERS: [CopyPeer; 8] = [
    CopyPeer { networked: false, ..CopyPeer::of("cp", &["cp"], local::cp) },
    CopyPeer::of("tar-socat", &["tar", "socat"], stream::clear),
    CopyPeer { openssl: true, ..CopyPeer::of("tar-socat-tls", &["tar", "socat", "openssl"], stream::tls) },
    CopyPeer {
        openssl: true,
        ..CopyPeer::of("tar-zstd-socat-tls", &["tar", "zstd", "socat", "openssl"], stream::zstd_tls)
    },
    CopyPeer::of("tar-age-socat", &["tar", "age", "age-keygen", "socat"], stream::age),
    CopyPeer::of("rsync", &["rsync"], rsync::one),
    CopyPeer::of("rsync-parallel", &["rsync"], rsync::parallel),
    CopyPeer {
        openssl: true,
        from_server: true,
        ..CopyPeer::of("mariabackup-socat-tls", &["mariadb-backup", "mbstream", "socat", "openssl"], mariabackup::tls)
    },
];

/// What peers need that copy from a running server.
pub(crate) const NEEDS_SERVER: &str = "a running server: --server-socket";
/// Programs of today, and their names in older releases.
const OLDER_NAMES: [(&str, &str); 1] = [("mariadb-backup", "mariabackup")];

/// A program that took part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Its version, if it says one.
    pub version: Option<String>,
}

impl CopyPeer {
    const fn of(name: &'static str, programs: &'static [&'static str], copy: Copy) -> Self {
        Self { name, programs, openssl: false, networked: true, from_server: false, copy }
    }

    /// The peer of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        COPY_PEERS.iter().find(|peer| peer.name == name)
    }

    /// Programs of it that are not in `PATH`.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        self.programs.iter().filter(|program| name_in_path(program).is_none()).copied().collect()
    }
}

/// The programs of these peers, each once, with their versions.
#[must_use]
pub fn programs_of(peers: &[&CopyPeer]) -> Vec<Program> {
    let mut names: Vec<&'static str> = Vec::new();
    for name in peers.iter().flat_map(|peer| peer.programs) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    names.into_iter().map(|name| Program { name: name.to_owned(), version: version(name) }).collect()
}

/// The name that a program has here, if it is in `PATH`.
pub(crate) fn name_in_path(program: &'static str) -> Option<&'static str> {
    let older = OLDER_NAMES.iter().filter(|(today, _)| *today == program).map(|(_, older)| *older);
    std::iter::once(program).chain(older).find(|name| find_program(OsStr::new(name)).is_some())
}

fn version(program: &'static str) -> Option<String> {
    let program = name_in_path(program)?;
    let option = match program {
        "socat" => "-V",
        "openssl" => "version",
        _ => "--version",
    };
    let output = Command::new(program).arg(option).stdin(Stdio::null()).output().ok()?;
    // mariadb-backup says it on the error stream.
    let said = if output.stdout.is_empty() { &output.stderr } else { &output.stdout };
    let words = String::from_utf8_lossy(said).into_owned();
    Some(peer::version(&words).to_owned()).filter(|version| !version.is_empty())
}
