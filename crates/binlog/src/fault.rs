//! What is wrong with the bytes of an event.

use crate::EventType;

/// Why an event cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The bytes end inside something.
    #[error("{what} is cut off")]
    Short {
        /// What was read.
        what: &'static str,
    },
    /// Bytes that no server writes.
    #[error("{what} is malformed")]
    Malformed {
        /// What was read.
        what: &'static str,
    },
    /// The CRC-32 at the end of the event is another.
    #[error("checksum does not match (stored {stored:#010x}, computed {computed:#010x})")]
    Checksum {
        /// The checksum in the event.
        stored: u32,
        /// The checksum of its bytes.
        computed: u32,
    },
    /// Something exceeds [`Limits`](crate::Limits).
    #[error("{what} of {bytes} bytes is larger than the limit of {limit} bytes")]
    TooLarge {
        /// What it is.
        what: &'static str,
        /// Its length.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// Rows of a table that no table map describes.
    #[error("rows of table {0}, which no event describes")]
    UnknownTable(u64),
    /// A column of a type whose values are not known.
    #[error("values of column type {0} are not known")]
    ColumnType(u8),
    /// Compressed bytes that do not decompress.
    #[error("{what} does not decompress")]
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
    /// The log's checksum algorithm is not known.
    #[error("checksum algorithm {0} is not known")]
    ChecksumAlgorithm(u8),
    /// An event that may not occur here.
    #[error("{0} inside a compressed transaction")]
    Misplaced(EventType),
}
