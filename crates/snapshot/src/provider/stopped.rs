//! No server runs: the data directory is still by itself.

use std::path::{Path, PathBuf};

use super::{Prepared, Source, Way};
use crate::{Options, error::Error, still::Still};

pub(super) struct Stopped;

impl Way for Stopped {
    fn freezes(&self) -> bool {
        false
    }

    fn place(&self, source: &Source<'_>, _: &Options) -> Result<PathBuf, Error> {
        let path = source.datadir.path().to_owned();
        match &source.server {
            Some(server) => Err(Error::Runs { pid: server.pid, path }),
            None => complete(path),
        }
    }

    fn take(&self, prepared: &Prepared<'_>, _: &Options) -> Result<Still, Error> {
        Ok(Still::stopped(prepared.source.datadir.path()))
    }

    fn remove(&self, _: &Path) -> Result<(), Error> {
        Ok(())
    }
}

/// Nobody is there to ask where the rest is.
fn complete(datadir: PathBuf) -> Result<PathBuf, Error> {
    let redo = ["#innodb_redo", "ib_logfile0"];
    let missing = if !datadir.join("ibdata1").exists() {
        Some("ibdata1")
    } else if !redo.iter().any(|name| datadir.join(name).exists()) {
        Some("the redo log")
    } else {
        None
    };
    match missing {
        Some(missing) => Err(Error::Incomplete { path: datadir, missing }),
        None => Ok(datadir),
    }
}
