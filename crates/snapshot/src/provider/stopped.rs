//! No server is running: the data directory itself is consistent.

use std::path::{Path, PathBuf};

use super::{Driver, Prepared, Source, covered::check_nothing_outside};
use crate::{Options, error::Error, snapshot_copy::SnapshotCopy};

pub(super) struct Stopped;

impl Driver for Stopped {
    fn location(&self, source: &Source<'_>, _: &Options) -> Result<PathBuf, Error> {
        let path = source.datadir.path().to_owned();
        match &source.server {
            Some(server) => Err(Error::Runs { pid: server.pid, path }),
            None => check_nothing_outside(source).map(|()| path),
        }
    }

    fn take(&self, prepared: &Prepared<'_>, _: &Options) -> Result<SnapshotCopy, Error> {
        Ok(SnapshotCopy::stopped(prepared.source.datadir.path()))
    }

    fn remove(&self, _: &Path, _: &[String]) -> Result<(), Error> {
        Ok(())
    }
}
