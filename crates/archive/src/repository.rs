//! The description of a repository: the object [`names::REPOSITORY`](crate::names::REPOSITORY), which never changes;
//! and what a host records about a repository in a bucket.

use data_encoding::HEXLOWER;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::Error;

/// Schema that this version writes.
const SCHEMA: &str = "sealant.repository/1";
/// Schema of the record of a repository.
pub const RECORD_SCHEMA: &str = "sealant.repository-record/1";
/// Length of an id in random bytes.
pub const ID_BYTES: usize = 16;
/// Maximum length of a description.
pub const MAX_BYTES: u64 = 64 << 10;

/// The description of a repository: its id and the time of its creation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RepositoryDescription {
    schema: String,
    /// Random id of the repository, in hexadecimal.
    pub id: String,
    created: Timestamp,
}

/// A host's record of a repository in a bucket, which `init` writes to `repositories` in the host's state. `O` is what
/// `init` observed of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryRecord<O> {
    /// [`RECORD_SCHEMA`]; empty in records of older releases.
    #[serde(default)]
    pub schema: String,
    /// Identifies the bucket, the prefix in it and the store.
    pub location: String,
    /// The bucket and prefix, for messages.
    #[serde(default)]
    pub url: String,
    /// Id of the repository.
    pub id: String,
    /// Whether `init` could read the repository.
    pub may_read: bool,
    /// Whether the configuration asked for locks of new objects.
    #[serde(default)]
    pub asks_for_locks: bool,
    /// What `init` observed of the store.
    #[serde(skip_serializing_if = "Option::is_none", default = "Option::default")]
    pub observed: Option<O>,
}

impl<O: for<'de> Deserialize<'de>> RepositoryRecord<O> {
    /// Parses a record.
    ///
    /// # Errors
    /// [`Error::Repository`], [`Error::Version`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let record: Self =
            serde_json::from_slice(bytes).map_err(|_| Error::Repository("its record on the host is malformed"))?;
        if record.schema.is_empty() || record.schema == RECORD_SCHEMA {
            return Ok(record);
        }
        Err(Error::Version { found: record.schema, known: RECORD_SCHEMA })
    }
}

impl RepositoryDescription {
    /// The description of a new repository.
    #[must_use]
    pub fn new(id: [u8; ID_BYTES], created: Timestamp) -> Self {
        Self { schema: SCHEMA.to_owned(), id: HEXLOWER.encode(&id), created }
    }

    /// The bytes to store.
    ///
    /// # Errors
    /// [`Error::Repository`] if serialization fails.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = serde_json::to_vec(self).map_err(|_| Error::Repository("it cannot be written"))?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Parses a description.
    ///
    /// # Errors
    /// [`Error::Repository`], [`Error::Version`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let description: Self = serde_json::from_slice(bytes).map_err(|_| Error::Repository("it is malformed"))?;
        if description.schema != SCHEMA {
            return Err(Error::Version { found: description.schema, known: SCHEMA });
        }
        let is_id = description.id.len() == 2 * ID_BYTES && description.id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_id { Ok(description) } else { Err(Error::Repository("its id is not valid")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_reads_back_and_others_are_refused() {
        let bytes = RepositoryDescription::new([7; ID_BYTES], Timestamp::UNIX_EPOCH).encode().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert_eq!(RepositoryDescription::parse(text.as_bytes()).unwrap().id, "07".repeat(ID_BYTES));
        let changed =
            |from: &str, to: &str| RepositoryDescription::parse(text.replacen(from, to, 1).as_bytes()).unwrap_err();
        assert!(matches!(changed("repository/1", "repository/2"), Error::Version { .. }));
        assert!(matches!(changed("07", "x7"), Error::Repository("its id is not valid")));
        assert!(matches!(changed("{", ""), Error::Repository("it is malformed")));
    }
}
