//! Bytes that show what a connection carries: parts of protocol headers, never what was sent.

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};

/// The most bytes that evidence has: a record header, and the version and suite behind it.
const MAX_BYTES: usize = 16;

/// Who sent bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The client.
    ToServer,
    /// The server.
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

/// Some bytes of a header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Who sent them.
    pub direction: Direction,
    /// Their offset from the first byte that was seen in this direction.
    pub offset: usize,
    /// The bytes, in hexadecimal digits.
    pub bytes: String,
    /// What they mean.
    pub meaning: String,
}

impl Evidence {
    /// The first `count` bytes of `bytes`, which begin at `offset`. The caller knows that they are a header.
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

    /// The same evidence, if `length` bytes precede it in this direction.
    pub(super) fn behind(self, direction: Direction, length: usize) -> Self {
        let offset = if self.direction == direction { self.offset.saturating_add(length) } else { self.offset };
        Self { offset, ..self }
    }
}
