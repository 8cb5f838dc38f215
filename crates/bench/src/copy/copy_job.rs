//! The parameters of a copy.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use super::{Link, RunningServer, TemporaryDirectory, Tree};
use crate::Error;

/// Source, target and network of a copy.
#[derive(Clone, Copy, Debug)]
pub struct CopyJob<'a> {
    /// The source.
    pub tree: &'a Tree,
    /// The directory of the copy.
    pub scratch: &'a TemporaryDirectory,
    /// A running server on the same data, for peers that copy from a server.
    pub server: Option<&'a RunningServer>,
    /// The network.
    pub link: &'a Link,
    /// Whether OpenSSL in peers runs without AES instructions.
    pub without_aes: bool,
}

/// `OPENSSL_ia32cap` that hides AES and carry-less multiplication; after the colon, their vector variants.
const WITHOUT_AES: &str = "~0x200000200000000:~0x60000000000";

impl CopyJob<'_> {
    pub(crate) fn source(&self) -> &Path {
        self.tree.root()
    }

    pub(crate) fn target(&self) -> PathBuf {
        self.scratch.target()
    }

    /// A peer's command on the sender's side.
    pub(crate) fn on_sender(&self, program: &str) -> Command {
        self.openssl(self.link.on_sender(program))
    }

    /// A peer's command on the receiver's side.
    pub(crate) fn on_receiver(&self, program: &str) -> Command {
        self.openssl(self.link.on_receiver(program))
    }

    fn openssl(&self, mut command: Command) -> Command {
        if self.without_aes {
            command.env("OPENSSL_ia32cap", WITHOUT_AES);
        }
        command
    }

    /// A port that was free on this host a moment ago. In a namespace of the link, every port is free.
    pub(crate) fn port(&self) -> Result<u16, Error> {
        let bound = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        bound.map(|address| address.port()).map_err(|error| Error::Link { reason: error.to_string() })
    }

    /// Duration of `work` in seconds, including a sync of the copy's file system.
    pub(crate) fn timed(&self, work: impl FnOnce() -> Result<(), Error>) -> Result<f64, Error> {
        let begin = Instant::now();
        work()?;
        self.scratch.sync()?;
        Ok(begin.elapsed().as_secs_f64())
    }
}
