//! What a host records about a repository, so that it does not need permission to read it.
//!
//! A host that may only put objects gets the repository's id from `init`, and everything else from its own state.

use std::{fs, os::unix::fs::DirBuilderExt, path::PathBuf};

use archive::{Digest, RepositoryRecord, repository::RECORD_SCHEMA};
use files::{WriteOptions, write_atomic};
use store::s3::{Observed, Settings};

use crate::{Config, Error};

/// Name of the subdirectory of the state directory.
const DIRECTORY: &str = "repositories";

/// Record of a repository.
pub(crate) type Record = RepositoryRecord<Observed>;

/// The result of `init`; `None` if it was not run here, or the repository is a directory.
pub(crate) fn read(config: &Config) -> Option<Record> {
    let bytes = fs::read(path(config)).ok()?;
    let record = Record::parse(&bytes).ok()?;
    (record.location == config.repository.identity()).then_some(record)
}

/// Records the result of `init` for a bucket with these settings.
pub(crate) fn write(
    config: &Config,
    settings: &Settings,
    id: &str,
    may_read: bool,
    observed: Observed,
) -> Result<(), Error> {
    let (path, location) = (path(config), config.repository.identity());
    let directory = config.state.join(DIRECTORY);
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory);
    made.map_err(Error::io(&directory, "cannot be created"))?;
    let record = Record {
        schema: RECORD_SCHEMA.to_owned(),
        location,
        url: config.repository.to_string(),
        id: id.to_owned(),
        may_read,
        asks_for_locks: settings.lock.is_some(),
        observed: Some(observed),
    };
    let record = serde_json::to_vec(&record).unwrap_or_default();
    let written = write_atomic(&path, &record, WriteOptions::SECRET.replacing(true));
    written.map_err(Error::io(&path, "cannot be written"))
}

fn path(config: &Config) -> PathBuf {
    let hash = Digest::compute(config.repository.identity().as_bytes());
    config.state.join(DIRECTORY).join(format!("{hash}.json"))
}
