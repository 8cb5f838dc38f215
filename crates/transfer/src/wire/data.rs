//! Messages of data connections: keys, and chunks of files.

use ::codec::{Fields, Malformed};

use super::control::TOKEN_BYTES;
use crate::hash::{CHUNK_BYTES, HASH_BYTES, Hash};

/// Bytes before the payload of a chunk without holes.
pub const CHUNK_HEADER_BYTES: usize = 4 + 8 + HASH_BYTES + 1 + 2;

/// Stored instead of the number of segments if the chunk has no hole.
const NO_HOLE: u16 = u16::MAX;

/// Maximum number of hashes in one [`Data::Hashes`].
pub const MAX_QUERIED_HASHES: usize = 32;

/// Number of key slots per connection, for files that are sent in turns. Each expanded key takes
/// some 3 KiB, and there may be many connections.
pub const SLOTS: u16 = 16;

/// Types of messages.
mod kind {
    pub(super) const ATTACH: u8 = 32;
    pub(super) const ATTACHED: u8 = 33;
    pub(super) const KEY: u8 = 34;
    pub(super) const CHUNK: u8 = 35;
    pub(super) const END: u8 = 36;
    pub(super) const DRAINED: u8 = 37;
    pub(super) const DATA_PING: u8 = 38;
    pub(super) const HASH_QUERY: u8 = 39;
    pub(super) const HASHES: u8 = 40;
}

/// Messages of data connections.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Data<'b> {
    /// Sender: first message, authenticates the connection.
    Attach {
        /// From [`Control::Welcome`](super::Control::Welcome).
        token: [u8; TOKEN_BYTES],
    },
    /// Receiver: accepts the connection.
    Attached,
    /// Sender: key of a tablespace or a log. Later messages on this connection refer to it by
    /// `slot`.
    Key {
        /// Slot number, less than [`SLOTS`].
        slot: u16,
        /// The key, encoded by [`codec::page`].
        material: Material<'b>,
    },
    /// Sender: a chunk of a file.
    Chunk(Chunk<'b>),
    /// Sender: no more chunks of this list.
    End,
    /// Receiver: everything is written.
    Drained,
    /// Sender: keepalive while there is nothing to send.
    Ping,
    /// Sender: asks for the hashes of chunks that the receiver has.
    HashQuery {
        /// Number of the file.
        file: u32,
        /// Number of the first chunk.
        first: u64,
        /// Number of chunks, at most [`MAX_QUERIED_HASHES`].
        count: u16,
    },
    /// Receiver: the hashes, in order.
    Hashes {
        /// Concatenated hashes of [`HASH_BYTES`] each.
        hashes: &'b [u8],
    },
}

/// A chunk of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk<'b> {
    /// Number of the file.
    pub file: u32,
    /// Number of the chunk in the file.
    pub number: u64,
    /// Hash of the chunk's bytes in the file.
    pub hash: Hash,
    /// Encoding of the payload.
    pub codec: Codec,
    /// The parts that are not holes; `None` if there is no hole.
    pub segments: Option<Vec<Segment>>,
    /// The encoded bytes of the segments.
    pub payload: &'b [u8],
}

/// A part of a chunk that is not a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Offset in the chunk, in bytes.
    pub from: u32,
    /// Length in bytes, more than 0.
    pub bytes: u32,
}

/// Encodings of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Codec {
    /// Not compressed.
    Raw,
    /// All zeros, without a payload.
    Zeros,
    /// One LZ4 block.
    Lz4,
    /// One zstd frame.
    Zstd,
    /// Decrypted pages, as [`codec::page`] describes them, in one LZ4 block.
    PagesLz4,
    /// Decrypted pages in one zstd frame.
    PagesZstd,
}

/// Encoded key in a message. `Debug` shows nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Material<'b>(pub &'b [u8]);

impl std::fmt::Debug for Material<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Material")
    }
}

impl<'b> Data<'b> {
    /// Appends the body without a chunk's payload, which the caller sends after it, and returns the
    /// type.
    pub fn encode(&self, out: &mut Vec<u8>) -> u8 {
        match self {
            Self::Attach { token } => {
                out.extend(token);
                kind::ATTACH
            }
            Self::Attached => kind::ATTACHED,
            Self::Key { slot, material } => {
                out.extend(slot.to_be_bytes());
                out.extend(material.0);
                kind::KEY
            }
            Self::Chunk(chunk) => {
                chunk.encode(out);
                kind::CHUNK
            }
            Self::End => kind::END,
            Self::Drained => kind::DRAINED,
            Self::Ping => kind::DATA_PING,
            Self::HashQuery { file, first, count } => {
                out.extend(file.to_be_bytes());
                out.extend(first.to_be_bytes());
                out.extend(count.to_be_bytes());
                kind::HASH_QUERY
            }
            Self::Hashes { hashes } => {
                out.extend(*hashes);
                kind::HASHES
            }
        }
    }

    /// Decodes a body.
    ///
    /// # Errors
    /// [`Malformed`] if the type is unknown or the body invalid.
    pub fn decode(kind: u8, body: &'b [u8]) -> Result<Self, Malformed> {
        let mut fields = Fields(body);
        let message = match kind {
            kind::ATTACH => Self::Attach { token: fields.array()? },
            kind::ATTACHED => Self::Attached,
            kind::KEY => Self::Key { slot: fields.u16()?, material: Material(fields.rest()) },
            kind::CHUNK => Self::Chunk(Chunk::decode(&mut fields)?),
            kind::END => Self::End,
            kind::DRAINED => Self::Drained,
            kind::DATA_PING => Self::Ping,
            kind::HASH_QUERY => {
                Self::HashQuery { file: fields.u32()?, first: fields.u64()?, count: query_count(fields.u16()?)? }
            }
            kind::HASHES => Self::Hashes { hashes: whole_hashes(fields.rest())? },
            _ => return Err(Malformed),
        };
        fields.end()?;
        Ok(message)
    }
}

impl<'b> Chunk<'b> {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.file.to_be_bytes());
        out.extend(self.number.to_be_bytes());
        out.extend(self.hash.0);
        out.push(self.codec.number());
        let segments = self.segments.as_ref();
        let count = segments.and_then(|segments| u16::try_from(segments.len()).ok()).unwrap_or(NO_HOLE);
        out.extend(count.to_be_bytes());
        for segment in segments.into_iter().flatten() {
            out.extend(segment.from.to_be_bytes());
            out.extend(segment.bytes.to_be_bytes());
        }
    }

    fn decode(fields: &mut Fields<'b>) -> Result<Self, Malformed> {
        let (file, number, hash) = (fields.u32()?, fields.u64()?, Hash(fields.array()?));
        let codec = *Codec::ALL.get(usize::from(fields.u8()?)).ok_or(Malformed)?;
        let count = fields.u16()?;
        let segments = (0..count).map(|_| Ok(Segment { from: fields.u32()?, bytes: fields.u32()? }));
        let segments = match count {
            NO_HOLE => None,
            _ => Some(segments.collect::<Result<Vec<_>, Malformed>>()?),
        };
        if segments.as_ref().is_some_and(|segments| !in_order(segments)) {
            return Err(Malformed);
        }
        Ok(Self { file, number, hash, codec, segments, payload: fields.rest() })
    }
}

impl Codec {
    const ALL: [Self; 6] = [Self::Raw, Self::Zeros, Self::Lz4, Self::Zstd, Self::PagesLz4, Self::PagesZstd];

    /// Whether the payload is decrypted pages, which must be encrypted again.
    #[must_use]
    pub(crate) const fn has_decrypted_pages(self) -> bool {
        match self {
            Self::Raw | Self::Zeros | Self::Lz4 | Self::Zstd => false,
            Self::PagesLz4 | Self::PagesZstd => true,
        }
    }

    fn number(self) -> u8 {
        let location = Self::ALL.iter().position(|codec| *codec == self);
        location.and_then(|location| u8::try_from(location).ok()).unwrap_or_default()
    }
}

fn query_count(count: u16) -> Result<u16, Malformed> {
    if (1..=MAX_QUERIED_HASHES).contains(&usize::from(count)) { Ok(count) } else { Err(Malformed) }
}

fn whole_hashes(hashes: &[u8]) -> Result<&[u8], Malformed> {
    let (all, rest) = hashes.as_chunks::<HASH_BYTES>();
    if rest.is_empty() && (1..=MAX_QUERIED_HASHES).contains(&all.len()) { Ok(hashes) } else { Err(Malformed) }
}

/// Whether segments are sorted, disjoint and inside a chunk.
fn in_order(segments: &[Segment]) -> bool {
    let mut end = 0_u64;
    segments.iter().all(|segment| {
        let follows = u64::from(segment.from) >= end && segment.bytes > 0;
        end = u64::from(segment.from) + u64::from(segment.bytes);
        follows && end <= CHUNK_BYTES as u64
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn debug_shows_no_key() {
        let shown = format!("{:?}", Data::Key { slot: 1, material: Material(&[0xa7; 64]) });
        assert!(!shown.contains("167") && !shown.to_lowercase().contains("a7"), "{shown}");
    }

    #[test]
    fn data_messages_read_back() {
        let chunk = Chunk {
            file: 1,
            number: 2,
            hash: Hash([3; 32]),
            codec: Codec::Zstd,
            segments: Some(vec![Segment { from: 0, bytes: 4096 }, Segment { from: 8192, bytes: 4096 }]),
            payload: &[],
        };
        for message in [
            Data::Attach { token: [1; 16] },
            Data::Attached,
            Data::Key { slot: 9, material: Material(b"key") },
            Data::Chunk(chunk),
            Data::End,
            Data::Drained,
            Data::Ping,
            Data::HashQuery { file: 1, first: 2, count: 32 },
            Data::Hashes { hashes: &[5; 32 * HASH_BYTES] },
        ] {
            let mut body = Vec::new();
            let kind = message.encode(&mut body);
            assert_eq!(Data::decode(kind, &body), Ok(message));
        }
    }

    #[test]
    fn segments_that_overlap_or_leave_the_chunk_are_refused() {
        let bad = [
            vec![Segment { from: 0, bytes: 0 }],
            vec![Segment { from: 1 << 20, bytes: 1 }],
            vec![Segment { from: u32::MAX, bytes: u32::MAX }],
            vec![Segment { from: 0, bytes: 10 }, Segment { from: 9, bytes: 10 }],
            vec![Segment { from: 20, bytes: 10 }, Segment { from: 0, bytes: 10 }],
        ];
        for segments in bad {
            assert!(!in_order(&segments), "{segments:?}");
        }
    }

    proptest! {
        #[test]
        fn any_body_is_read_or_refused(kind in any::<u8>(), body in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Data::decode(kind, &body);
        }
    }
}
