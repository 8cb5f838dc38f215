//! Positions in the binary logs of a server.

use std::{cmp::Ordering, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::server_file::log_order;

/// A position in the binary logs of a server: `FILE:OFFSET` as text. A position in a later log is greater.
///
/// Receipts of `archive` contain it as JSON, so its fields are part of that format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogPosition {
    /// Name of the log, without its directory.
    pub file: String,
    /// Offset of an event, or the end of the log, in bytes.
    pub offset: u64,
}

impl Ord for LogPosition {
    fn cmp(&self, other: &Self) -> Ordering {
        (log_order(&self.file), self.offset).cmp(&(log_order(&other.file), other.offset))
    }
}

impl PartialOrd for LogPosition {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl FromStr for LogPosition {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (file, offset) = text.rsplit_once(':').unwrap_or_default();
        let offset = offset.parse().map_err(|_| "the name of a log, a colon and an offset")?;
        Ok(Self { file: file.to_owned(), offset })
    }
}

impl fmt::Display for LogPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.offset)
    }
}

/// Position of a copy of a data directory in the binary logs of its server; empty if the server writes none.
///
/// Manifests of `archive` contain it as JSON, so its fields are part of that format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyPosition {
    /// End of the newest log in the copy.
    #[serde(flatten)]
    pub log: LogPosition,
    /// GTIDs of the transactions before it, as the server writes them.
    pub gtid: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(file: &str, offset: u64) -> LogPosition {
        LogPosition { file: file.to_owned(), offset }
    }

    #[test]
    fn a_position_is_a_log_and_an_offset() {
        let position = at("b.000002", 900);
        assert_eq!(position.to_string(), "b.000002:900");
        assert_eq!("b.000002:900".parse(), Ok(position));
        assert!("b.000002".parse::<LogPosition>().is_err() && "b.000002:x".parse::<LogPosition>().is_err());
    }

    #[test]
    fn positions_are_ordered_by_the_number_of_their_file() {
        assert!(at("b.000009", 900) < at("b.000010", 4));
        assert!(at("b.999999", 900) < at("b.1000000", 4));
        assert!(at("b.000001", 899) < at("b.000001", 900));
        assert!(at("", 0) < at("b.000001", 4));
    }

    #[test]
    fn formats_have_the_fields_on_one_level() {
        let position = CopyPosition { log: at("b.000002", 900), gtid: "0-1-7".to_owned() };
        let json = r#"{"file":"b.000002","offset":900,"gtid":"0-1-7"}"#;
        assert_eq!(serde_json::to_string(&position).unwrap(), json);
        assert_eq!(serde_json::from_str::<CopyPosition>(json).unwrap(), position);
    }
}
