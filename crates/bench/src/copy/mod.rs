//! Copying a directory into an empty one: by ours, and by what people use today.
//!
//! Every way starts its listener first. The time goes from the start of the sender until both sides
//! have ended and the file system of the copy was flushed once.

mod link;
mod local;
mod ours;
mod process;
mod rsync;
mod scratch;
mod site;
mod stream;
mod tree;

pub use link::{Link, Namespaces, Rate};
pub use ours::Ours;
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
    /// Programs it is made of.
    pub programs: &'static [&'static str],
    /// Whether OpenSSL does its encryption, whose AES instructions can be switched off.
    pub openssl: bool,
    /// Whether it goes over the network.
    pub networked: bool,
    pub(crate) copy: Copy,
}

/// Every other way.
pub const COPY_PEERS: [CopyPeer; 7] = [
    CopyPeer { name: "cp", programs: &["cp"], openssl: false, networked: false, copy: local::cp },
    CopyPeer { name: "tar-socat", programs: &["tar", "socat"], openssl: false, networked: true, copy: stream::clear },
    CopyPeer {
        name: "tar-socat-tls",
        programs: &["tar", "socat", "openssl"],
        openssl: true,
        networked: true,
        copy: stream::tls,
    },
    CopyPeer {
        name: "tar-zstd-socat-tls",
        programs: &["tar", "zstd", "socat", "openssl"],
        openssl: true,
        networked: true,
        copy: stream::zstd_tls,
    },
    CopyPeer {
        name: "tar-age-socat",
        programs: &["tar", "age", "age-keygen", "socat"],
        openssl: false,
        networked: true,
        copy: stream::age,
    },
    CopyPeer { name: "rsync", programs: &["rsync"], openssl: false, networked: true, copy: rsync::one },
    CopyPeer { name: "rsync-parallel", programs: &["rsync"], openssl: false, networked: true, copy: rsync::parallel },
];

/// A program that took part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Its version, if it says one.
    pub version: Option<String>,
}

impl CopyPeer {
    /// The peer of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        COPY_PEERS.iter().find(|peer| peer.name == name)
    }

    /// Programs of it that are not in `PATH`.
    #[must_use]
    pub fn missing(&self) -> Vec<&'static str> {
        self.programs.iter().filter(|program| find_program(OsStr::new(program)).is_none()).copied().collect()
    }
}

/// The programs of these peers, each once, with their versions.
#[must_use]
pub fn programs_of(peers: &[&CopyPeer]) -> Vec<Program> {
    let mut names: Vec<&str> = Vec::new();
    for name in peers.iter().flat_map(|peer| peer.programs) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    names.into_iter().map(|name| Program { name: name.to_owned(), version: version(name) }).collect()
}

fn version(program: &str) -> Option<String> {
    let option = match program {
        "socat" => "-V",
        "openssl" => "version",
        _ => "--version",
    };
    let output = Command::new(program).arg(option).stdin(Stdio::null()).output().ok()?;
    let words = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(peer::version(&words).to_owned()).filter(|version| !version.is_empty())
}
