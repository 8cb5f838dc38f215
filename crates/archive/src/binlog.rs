//! The archive of binary logs: each receipt names the parts of logs that were stored since the previous receipt.
//!
//! Receipts are signed and chained like those of backups, one chain for each server. A part is an age file with a zstd
//! frame of events, as the server sends them to a replica. `docs/formats/backup.md` specifies the format.

use innodb::binlog::{FIRST_EVENT, LogPosition};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Digest, Error, document, names, receipt::Object};

/// Schema that this version writes.
pub const SCHEMA: &str = "sealant.binlog-receipt/1";
/// Maximum length of a receipt.
pub const MAX_BYTES: u64 = 64 << 20;
/// Maximum length of the events of a part, unless a single one is longer.
pub const SEGMENT_BYTES: usize = 16 << 20;
/// Maximum length of the events of a part: the longest event of a server, and a part before it.
pub const MAX_SEGMENT_BYTES: u64 = (1 << 30) + (32 << 20);

/// Names the parts of binary logs that were stored since the previous receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinlogReceipt {
    /// [`SCHEMA`].
    pub schema: String,
    /// Id of the repository.
    pub repo: String,
    /// Name of the host.
    pub host: String,
    /// `server_uuid` of MySQL, or `server_id` of MariaDB.
    pub server: String,
    /// Version that the server reports to clients.
    pub version: String,
    /// Number of the receipt, from 1 for each server.
    pub number: names::Number,
    /// SHA-256 of the previous receipt's stored bytes; `None` in the first.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub previous: Option<Digest>,
    /// Time of the receipt, by the host's clock.
    pub written: Timestamp,
    /// In the first receipt of a server that took over from another one: the server whose archive it continues.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub predecessor: Option<Predecessor>,
    /// Logs that are missing before the first part, if any.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub gap: Option<Gap>,
    /// The parts, in order.
    pub segments: Vec<Segment>,
    /// Position at which the next part begins.
    pub end: LogPosition,
    /// GTIDs of the server up to `end`; empty if it has none.
    pub gtid: String,
    /// Recipients, each as the first digits of the SHA-256 of its text.
    pub recipients: Vec<String>,
    /// Program and version that wrote it.
    pub tool: String,
}

/// The server that was the source before a failover. The new server has all of its archived transactions. The archive
/// of the new server begins with a log that is preceded by no other transactions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Predecessor {
    /// Its `server_uuid`.
    pub server: String,
    /// GTIDs up to the end of its archive.
    pub gtid: String,
}

/// Logs that were lost: the server had removed them before they were read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// Position from which logs are missing.
    pub from: LogPosition,
    /// How the loss was noticed, such as the server's error message.
    pub reason: String,
    /// When it was noticed, by the host's clock.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub noticed: Option<Timestamp>,
}

/// A part of a binary log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Name of the log.
    pub file: String,
    /// Offset of the first event in that log.
    pub start: u64,
    /// Offset after the last event.
    pub end: u64,
    /// The stored object.
    #[serde(flatten)]
    pub object: Object,
    /// Length of the events.
    pub event_bytes: u64,
    /// Number of events.
    pub events: u64,
    /// Time of the first event, in seconds since 1970 UTC.
    pub first: u32,
    /// Time of the newest event, in seconds since 1970 UTC.
    pub last: u32,
}

impl Segment {
    /// Whether the part begins at this position, or at the beginning of another log.
    #[must_use]
    pub fn follows(&self, end: &LogPosition) -> bool {
        if self.file == end.file { self.start == end.offset } else { self.start == FIRST_EVENT }
    }

    /// Position at the end of the part.
    #[must_use]
    pub fn end(&self) -> LogPosition {
        LogPosition { file: self.file.clone(), offset: self.end }
    }

    /// Name of the object.
    #[must_use]
    pub fn name(&self, host: &str, server: &str) -> String {
        names::segment(host, server, &self.file, (self.start, self.end), &self.object.sha256)
    }
}

impl BinlogReceipt {
    /// The bytes to sign and store.
    ///
    /// # Errors
    /// [`Error::Receipt`] if serialization fails.
    pub fn encode(&self) -> Result<Vec<u8>, Error> {
        document::encode(self, Error::Receipt)
    }

    /// Parses a receipt.
    ///
    /// # Errors
    /// [`Error::Version`], [`Error::Receipt`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let receipt: Self = document::parse(bytes, SCHEMA, Error::Receipt)?;
        let files = receipt.segments.iter().map(|segment| &segment.file).chain([&receipt.end.file, &receipt.server]);
        let files = files.chain(receipt.predecessor.iter().map(|before| &before.server));
        if !names::is_host(&receipt.host)
            || receipt.number == 0
            || !files.into_iter().all(|name| names::is_log_name(name))
        {
            return Err(Error::Receipt("a name or number in it is not valid".to_owned()));
        }
        Ok(receipt)
    }

    /// Whether the parts follow one another without gaps, from the given position on. A part may begin a new log.
    #[must_use]
    pub fn continues(&self, from: &LogPosition) -> bool {
        let mut at = from.clone();
        self.segments.iter().all(|segment| {
            let follows = segment.follows(&at);
            at = segment.end();
            follows
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(file: &str, start: u64, end: u64) -> Segment {
        let object = Object { sha256: Digest::compute(b"part"), bytes: 9 };
        let file = file.to_owned();
        Segment { file, start, end, object, event_bytes: end - start, events: 3, first: 1, last: 2 }
    }

    fn receipt(segments: Vec<Segment>) -> BinlogReceipt {
        BinlogReceipt {
            schema: SCHEMA.to_owned(),
            repo: "00112233445566778899aabbccddeeff".to_owned(),
            host: "db1".to_owned(),
            server: "7".to_owned(),
            version: "10.11.19-MariaDB".to_owned(),
            number: 3,
            previous: None,
            written: "2026-11-26T01:00:00Z".parse().unwrap(),
            predecessor: None,
            gap: None,
            segments,
            end: LogPosition { file: "b.000002".to_owned(), offset: 900 },
            gtid: "0-7-12".to_owned(),
            recipients: Vec::new(),
            tool: "sealant".to_owned(),
        }
    }

    #[test]
    fn a_receipt_reads_back_and_one_with_a_path_is_refused() {
        let receipt = receipt(vec![segment("b.000001", 4, 800)]);
        let text = String::from_utf8(receipt.encode().unwrap()).unwrap();
        assert_eq!(BinlogReceipt::parse(text.as_bytes()).unwrap(), receipt);
        for bad in [text.replace("b.000001", "../x"), text.replace("\"7\"", "\"a/b\""), text.replace(":3,", ":0,")] {
            assert!(matches!(BinlogReceipt::parse(bad.as_bytes()), Err(Error::Receipt(_))), "{bad}");
        }
        assert!(matches!(
            BinlogReceipt::parse(text.replace("receipt/1", "receipt/2").as_bytes()),
            Err(Error::Version { .. })
        ));
    }

    #[test]
    fn parts_follow_one_another_or_begin_a_log() {
        let from = LogPosition { file: "b.000001".to_owned(), offset: 400 };
        let whole = [segment("b.000001", 400, 800), segment("b.000002", 4, 600), segment("b.000002", 600, 900)];
        assert!(receipt(whole.to_vec()).continues(&from));
        for missing in 0..2 {
            let mut some = whole.to_vec();
            some.remove(missing);
            assert!(!receipt(some).continues(&from) || missing == 0, "{missing}");
        }
        assert!(!receipt(vec![segment("b.000001", 500, 800)]).continues(&from));
    }
}
