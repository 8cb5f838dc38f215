//! What a host records about a repository, so that it does not need permission to read it.
//!
//! A host that may only put objects gets the repository's id from `init`, and everything else from its own state.

use std::{fs, os::unix::fs::DirBuilderExt, path::PathBuf};

use archive::Digest;
use files::{WriteOptions, write_atomic};
use serde::{Deserialize, Serialize};
use store::s3::Observed;

use crate::{Config, Error};

/// Name of the subdirectory of the state directory.
const DIRECTORY: &str = "repositories";

/// Record of a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RepositoryRecord {
    /// Location of the repository; the file is named after a hash of it.
    location: String,
    /// Id of the repository.
    pub(crate) id: String,
    /// Whether `init` could read the repository.
    pub(crate) may_read: bool,
    /// What `init` observed of the store.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) observed: Option<Observed>,
}

impl RepositoryRecord {
    /// The result of `init`; `None` if it was not run here, or the repository is a directory.
    pub(crate) fn read(config: &Config) -> Option<Self> {
        let bytes = fs::read(path(config)).ok()?;
        let known: Self = serde_json::from_slice(&bytes).ok()?;
        (known.location == config.repository.identity()).then_some(known)
    }

    pub(crate) fn write(config: &Config, id: &str, may_read: bool, observed: Option<Observed>) -> Result<(), Error> {
        let (path, location) = (path(config), config.repository.identity());
        let directory = config.state.join(DIRECTORY);
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory);
        made.map_err(Error::io(&directory, "cannot be created"))?;
        let known = serde_json::to_vec(&Self { location, id: id.to_owned(), may_read, observed }).unwrap_or_default();
        let written = write_atomic(&path, &known, WriteOptions::SECRET.replacing(true));
        written.map_err(Error::io(&path, "cannot be written"))
    }
}

fn path(config: &Config) -> PathBuf {
    let hash = Digest::compute(config.repository.identity().as_bytes());
    config.state.join(DIRECTORY).join(format!("{hash}.json"))
}
