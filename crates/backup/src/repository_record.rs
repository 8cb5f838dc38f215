//! What a host records about a repository, so that it does not need permission to read it.
//!
//! A host that may only put objects gets the repository's id from `init`, and everything else from its own state.

use archive::{Digest, RepositoryRecord, repository::RECORD_SCHEMA};
use store::s3::Observed;

use crate::{Config, Error, note_file::NoteFile};

/// Name of the subdirectory of the state directory.
const DIRECTORY: &str = "repositories";
/// Maximum length of a record.
const MAX_BYTES: u64 = 1 << 20;

/// Record of a repository.
pub(crate) type Record = RepositoryRecord<Observed>;

/// The result of `init`; `None` if it was not run here, or the repository is a directory.
pub(crate) fn read(config: &Config) -> Option<Record> {
    let record = Record::parse(&file(config).read(MAX_BYTES)).ok()?;
    (record.location == config.repository.identity()).then_some(record)
}

/// Records the result of `init` for a bucket.
pub(crate) fn write(
    config: &Config,
    asks_for_locks: bool,
    id: &str,
    may_read: bool,
    observed: Option<Observed>,
) -> Result<(), Error> {
    let record = Record {
        schema: RECORD_SCHEMA.to_owned(),
        location: config.repository.identity(),
        url: config.repository.to_string(),
        id: id.to_owned(),
        may_read,
        asks_for_locks,
        observed,
    };
    let record = serde_json::to_vec(&record).unwrap_or_default();
    let file = file(config);
    file.replace(&record).map_err(Error::io(file.path(), "cannot be written"))
}

fn file(config: &Config) -> NoteFile {
    let hash = Digest::compute(config.repository.identity().as_bytes());
    NoteFile::new(config.state.join(DIRECTORY).join(format!("{hash}.json")))
}
