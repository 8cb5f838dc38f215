//! No server runs: the data directory is still by itself.

use std::path::{Path, PathBuf};

use super::{Prepared, Source, Way};
use crate::{Options, error::Error, still::Still};

pub(super) struct Stopped;

impl Way for Stopped {
    fn place(&self, source: &Source<'_>, _: &Options) -> Result<PathBuf, Error> {
        let path = source.datadir.path().to_owned();
        match &source.server {
            Some(server) => Err(Error::Runs { pid: server.pid, path }),
            None => Ok(path),
        }
    }

    fn take(&self, prepared: &Prepared<'_>, _: &Options) -> Result<Still, Error> {
        Ok(Still::stopped(prepared.source.datadir.path()))
    }

    fn remove(&self, _: &Path, _: &[String]) -> Result<(), Error> {
        Ok(())
    }
}
