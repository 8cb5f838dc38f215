//! What a copy needs to know.

use std::{
    net::TcpListener,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use super::{Link, RunningServer, Scratch, Tree};
use crate::Error;

/// From where, to where, over what.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// What is copied.
    pub tree: &'a Tree,
    /// Where the copy goes.
    pub scratch: &'a Scratch,
    /// A running server on the same data, for peers that copy from one.
    pub server: Option<&'a RunningServer>,
    /// What lies between.
    pub link: &'a Link,
    /// Whether OpenSSL in peers does without AES instructions.
    pub without_aes: bool,
}

/// `OPENSSL_ia32cap` without AES and carry-less multiplication; behind the colon their vector forms.
const WITHOUT_AES: &str = "~0x200000200000000:~0x60000000000";

impl Site<'_> {
    pub(crate) fn source(&self) -> &Path {
        self.tree.root()
    }

    pub(crate) fn target(&self) -> PathBuf {
        self.scratch.target()
    }

    /// A peer's program where the sender is.
    pub(crate) fn near(&self, program: &str) -> Command {
        self.openssl(self.link.near(program))
    }

    /// A peer's program where the receiver is.
    pub(crate) fn far(&self, program: &str) -> Command {
        self.openssl(self.link.far(program))
    }

    fn openssl(&self, mut command: Command) -> Command {
        if self.without_aes {
            command.env("OPENSSL_ia32cap", WITHOUT_AES);
        }
        command
    }

    /// A port that was free a moment ago. A namespace has all of them free.
    pub(crate) fn port(&self) -> Result<u16, Error> {
        let bound = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        bound.map(|address| address.port()).map_err(|error| Error::Link { reason: error.to_string() })
    }

    /// How long the work takes, one flush of the copy's file system included.
    pub(crate) fn timed(&self, work: impl FnOnce() -> Result<(), Error>) -> Result<f64, Error> {
        let begin = Instant::now();
        work()?;
        self.scratch.sync()?;
        Ok(begin.elapsed().as_secs_f64())
    }
}
