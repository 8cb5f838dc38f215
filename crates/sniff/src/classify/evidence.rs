//! Bytes that show which protocol a connection carries: parts of protocol headers, never user data.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

/// Maximum number of bytes in one piece of evidence: a record header, version and cipher suite.
const MAX_BYTES: usize = 16;

/// Direction in which bytes were sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From client to server.
    ToServer,
    /// From server to client.
    ToClient,
}

impl Direction {
    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ToServer => "to the server",
            Self::ToClient => "to the client",
        }
    }
}

/// Some bytes of a protocol header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Direction in which they were sent.
    pub direction: Direction,
    /// Their offset from the first byte captured in this direction.
    pub offset: usize,
    /// The bytes, in hexadecimal digits.
    pub bytes: String,
    /// What they mean.
    pub meaning: String,
}

impl Evidence {
    /// The first `count` bytes of `bytes`, which begin at `offset`. The caller ensures that they are part of a header.
    pub(super) fn new(
        direction: Direction,
        offset: usize,
        bytes: &[u8],
        count: usize,
        meaning: impl Into<String>,
    ) -> Self {
        let shown = bytes.get(..count.min(MAX_BYTES)).unwrap_or(bytes);
        Self { direction, offset, bytes: HEXLOWER.encode(shown), meaning: meaning.into() }
    }

    /// The same evidence with its offset increased by `length` if it is in this direction: as many bytes precede it.
    pub(super) fn behind(self, direction: Direction, length: usize) -> Self {
        let offset = if self.direction == direction { self.offset.saturating_add(length) } else { self.offset };
        Self { offset, ..self }
    }
}
