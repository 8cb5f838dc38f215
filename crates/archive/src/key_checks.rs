//! Records of tests of keyring copies: `sealant backup keyring check --record` appends a line of JSON for each.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Digest, Error, names::Number};

/// Schema of a record.
pub const SCHEMA: &str = "sealant.key-check/1";

/// A test of whether a copy of the keys opens a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyCheckRecord {
    schema: String,
    /// SHA-256 of the receipt of the backup.
    pub receipt: Digest,
    /// Name of the host.
    pub host: String,
    /// Number of the backup.
    pub number: Number,
    /// When it was tested.
    pub tested: Timestamp,
    /// Number of files and MariaDB keys that need a key.
    pub needed: u64,
    /// How many of these the copy does not open.
    pub missing: u64,
}

impl KeyCheckRecord {
    /// The record of a test.
    #[must_use]
    pub fn new((receipt, host, number): (Digest, &str, Number), tested: Timestamp, needed: u64, missing: u64) -> Self {
        Self { schema: SCHEMA.to_owned(), receipt, host: host.to_owned(), number, tested, needed, missing }
    }

    /// Parses a file of records, one line for each test. Ignores a last line without a newline.
    ///
    /// # Errors
    /// [`Error::KeyCheckRecord`] if a line is not a record.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, Error> {
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let lines = whole.lines().filter(|line| !line.trim().is_empty());
        lines.map(Self::parse).collect()
    }

    fn parse(line: &str) -> Result<Self, Error> {
        let record: Self = serde_json::from_str(line).map_err(|error| Error::KeyCheckRecord(error.to_string()))?;
        if record.schema == SCHEMA {
            return Ok(record);
        }
        Err(Error::Version { found: record.schema, known: SCHEMA })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_read_back_and_a_wrong_line_is_an_error() {
        let record = KeyCheckRecord::new((Digest::compute(b"receipt"), "db1", 7), Timestamp::UNIX_EPOCH, 9, 1);
        let line = serde_json::to_string(&record).unwrap();
        assert!(line.starts_with(&format!("{{\"schema\":\"{SCHEMA}\"")), "{line}");
        assert_eq!(KeyCheckRecord::parse_all(&format!("{line}\n{line}\n{{\"sch")).unwrap(), [record.clone(), record]);
        let newer = line.replace(SCHEMA, "sealant.key-check/2") + "\n";
        assert!(matches!(KeyCheckRecord::parse_all(&newer), Err(Error::Version { .. })));
        assert!(KeyCheckRecord::parse_all("{}\n").unwrap_err().to_string().contains("not a record"));
    }
}
