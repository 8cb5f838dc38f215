//! Faults of the bytes of an event.

use crate::EventType;

/// Why an event cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The bytes end within a part.
    #[error("{what} is cut off")]
    Short {
        /// The part that was read.
        what: &'static str,
    },
    /// Bytes that no server writes.
    #[error("{what} is malformed")]
    Malformed {
        /// The part that was read.
        what: &'static str,
    },
    /// The CRC-32 at the end of the event does not match.
    #[error("checksum does not match (stored {stored:#010x}, computed {computed:#010x})")]
    Checksum {
        /// The checksum in the event.
        stored: u32,
        /// The checksum of its bytes.
        computed: u32,
    },
    /// A part exceeds [`Limits`](crate::Limits).
    #[error("{what} of {bytes} bytes is larger than the limit of {limit} bytes")]
    TooLarge {
        /// The part.
        what: &'static str,
        /// Its length in bytes.
        bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// Rows without a Table_map event for their table.
    #[error("row event for table id {0} without a Table_map event")]
    UnknownTable(u64),
    /// A column of a type whose values cannot be decoded.
    #[error("values of column type {0} are not known")]
    ColumnType(u8),
    /// Compressed bytes that do not decompress.
    #[error("{what} cannot be decompressed")]
    Compression {
        /// What is compressed.
        what: &'static str,
    },
    /// An unknown compression algorithm.
    #[error("{what} is compressed with the unknown algorithm {algorithm}")]
    Algorithm {
        /// What is compressed.
        what: &'static str,
        /// Number of the algorithm.
        algorithm: u64,
    },
    /// The log uses an unknown checksum algorithm.
    #[error("checksum algorithm {0} is not known")]
    ChecksumAlgorithm(u8),
    /// An event that does not occur in compressed transactions.
    #[error("{0} inside a compressed transaction")]
    Misplaced(EventType),
}
