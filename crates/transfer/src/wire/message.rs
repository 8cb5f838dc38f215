//! Messages of the control connection and of data connections.

use zeroize::Zeroizing;

use ::codec::{entry::Entry, put_length_prefixed};

use crate::{
    hash::{CHUNK_BYTES, HASH_BYTES, Hash},
    wire::{Fields, Malformed},
};

/// Bytes of a proof.
pub const PROOF_BYTES: usize = 32;

/// Version of the protocol; both sides must have the same.
pub const VERSION: u16 = 4;
/// Bytes of the token that authenticates data connections.
pub const TOKEN_BYTES: usize = 16;
/// Number of cipher suites whose rates are compared.
pub const SUITES: usize = 3;
/// Bytes before the payload of a chunk without holes.
pub const CHUNK_HEADER_BYTES: usize = 4 + 8 + HASH_BYTES + 1 + 2;
/// Stored instead of the number of segments if the chunk has no hole.
const NO_HOLE: u16 = u16::MAX;
/// Maximum number of hashes in one [`Control::Have`].
pub const MAX_HAVE: usize = 16 << 10;

/// Maximum number of hashes in one [`Data::Hashes`].
pub const MAX_QUERIED_HASHES: usize = 32;
/// Number of key slots per connection, for files that are sent in turns. Each expanded key takes
/// some 3 KiB, and there may be many connections.
pub const SLOTS: u16 = 16;

/// Messages of the control connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Control {
    /// Sender: first message, with version and proof.
    Hello {
        /// The sender's [`VERSION`].
        version: u16,
        /// Proof of the pairing code's secret; zeros with certificates.
        proof: [u8; PROOF_BYTES],
        /// Rate of each cipher suite on this host, in MB/s.
        speeds: [u32; SUITES],
        /// Number of data connections requested.
        streams: u16,
    },
    /// Receiver: accepts the sender, with its own proof.
    Welcome {
        /// Proof of the pairing code's secret; zeros with certificates.
        proof: [u8; PROOF_BYTES],
        /// Token that data connections start with.
        token: [u8; TOKEN_BYTES],
        /// Rate of each cipher suite on this host, in MB/s.
        speeds: [u32; SUITES],
        /// Number of data connections allowed.
        streams: u16,
    },
    /// Sender: one entry of the list. Entries are numbered in this order, from 0.
    Entry(Entry),
    /// Sender: end of the list.
    PlanEnd {
        /// Number of entries.
        entries: u32,
        /// Bytes of the files, holes excluded.
        allocated_bytes: u64,
        /// Whether another list follows after the chunks of this one: the source is in use, and the
        /// next list has what changed meanwhile.
        more: bool,
        /// Attributes of the source directory.
        root: Root,
    },
    /// Receiver: chunks that are present from an earlier transfer, from `first` on.
    Have {
        /// Number of the file.
        file: u32,
        /// Number of the first chunk.
        first: u64,
        /// Hashes of consecutive chunks.
        hashes: Vec<Hash>,
    },
    /// Receiver: ready for data connections.
    Ready {
        /// Whether the sender must first send the unwrapped keys of files: this side wraps them
        /// with its own master key.
        rekey: bool,
    },
    /// Sender: the unwrapped secret of one file.
    Unwrapped {
        /// Number of the file.
        file: u32,
        /// A key and its initialisation vector, or the password of a binary log.
        secret: SecretBytes,
    },
    /// Sender: end of the unwrapped secrets.
    UnwrappedEnd {
        /// Number of files with a secret.
        files: u32,
    },
    /// Sender: everything was sent.
    Finish {
        /// Hash of the manifest's list of files, which the receiver must have too.
        tree: Hash,
    },
    /// Receiver: everything is committed and on disk.
    Committed {
        /// Hash of the manifest's list of files.
        tree: Hash,
    },
    /// Receiver: keepalive with progress. Sent at least once a second.
    Progress {
        /// Bytes of files written so far.
        bytes: u64,
        /// Share of the time that its connections waited for the network, in thousandths.
        starving: u16,
    },
    /// Sender: keepalive.
    Ping,
    /// Either side: aborts the transfer.
    Failed {
        /// Human-readable reason.
        reason: String,
    },
    /// A line for the program that uses the peer; it has no meaning in the protocol.
    Note {
        /// The text; one line.
        text: String,
    },
}

/// Bytes of a key. Wiped on drop; `Debug` shows nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretBytes(pub Zeroizing<Vec<u8>>);

impl std::fmt::Debug for SecretBytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SecretBytes")
    }
}

/// Encoded key in a message. `Debug` shows nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Material<'b>(pub &'b [u8]);

impl std::fmt::Debug for Material<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Material")
    }
}

/// Attributes of the root directory of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// Permission bits.
    pub mode: u32,
    /// User id.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
}

/// Messages of data connections.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Data<'b> {
    /// Sender: first message, authenticates the connection.
    Attach {
        /// From [`Control::Welcome`].
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

impl Codec {
    const ALL: [Self; 6] = [Self::Raw, Self::Zeros, Self::Lz4, Self::Zstd, Self::PagesLz4, Self::PagesZstd];

    /// Whether the payload is decrypted pages, which must be encrypted again.
    #[must_use]
    pub(crate) const fn has_opened_pages(self) -> bool {
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

mod kind {
    pub(super) const HELLO: u8 = 1;
    pub(super) const WELCOME: u8 = 2;
    pub(super) const ENTRY: u8 = 3;
    pub(super) const PLAN_END: u8 = 4;
    pub(super) const HAVE: u8 = 5;
    pub(super) const READY: u8 = 6;
    pub(super) const FINISH: u8 = 7;
    pub(super) const COMMITTED: u8 = 8;
    pub(super) const PROGRESS: u8 = 9;
    pub(super) const PING: u8 = 10;
    pub(super) const FAILED: u8 = 11;
    pub(super) const UNWRAPPED: u8 = 12;
    pub(super) const UNWRAPPED_END: u8 = 13;
    pub(super) const NOTE: u8 = 14;
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

impl Control {
    /// Appends the body to `out` and returns the type.
    pub fn encode(&self, out: &mut Vec<u8>) -> u8 {
        self.encode_body(out);
        self.kind()
    }

    const fn kind(&self) -> u8 {
        match self {
            Self::Hello { .. } => kind::HELLO,
            Self::Welcome { .. } => kind::WELCOME,
            Self::Entry(_) => kind::ENTRY,
            Self::PlanEnd { .. } => kind::PLAN_END,
            Self::Have { .. } => kind::HAVE,
            Self::Ready { .. } => kind::READY,
            Self::Unwrapped { .. } => kind::UNWRAPPED,
            Self::UnwrappedEnd { .. } => kind::UNWRAPPED_END,
            Self::Finish { .. } => kind::FINISH,
            Self::Committed { .. } => kind::COMMITTED,
            Self::Progress { .. } => kind::PROGRESS,
            Self::Ping => kind::PING,
            Self::Failed { .. } => kind::FAILED,
            Self::Note { .. } => kind::NOTE,
        }
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        match self {
            Self::Hello { version, proof, speeds, streams } => {
                out.extend(version.to_be_bytes());
                out.extend(proof);
                put_speeds(out, *speeds);
                out.extend(streams.to_be_bytes());
            }
            Self::Welcome { proof, token, speeds, streams } => {
                out.extend(proof);
                out.extend(token);
                put_speeds(out, *speeds);
                out.extend(streams.to_be_bytes());
            }
            Self::Entry(entry) => entry.encode(out),
            Self::PlanEnd { entries, allocated_bytes, more, root } => {
                out.extend(entries.to_be_bytes());
                out.extend(allocated_bytes.to_be_bytes());
                out.push(u8::from(*more));
                root.encode(out);
            }
            Self::Have { file, first, hashes } => {
                out.extend(file.to_be_bytes());
                out.extend(first.to_be_bytes());
                hashes.iter().take(MAX_HAVE).for_each(|hash| out.extend(hash.0));
            }
            Self::Ready { rekey } => out.push(u8::from(*rekey)),
            Self::Unwrapped { file, secret } => {
                out.extend(file.to_be_bytes());
                out.extend(secret.0.as_slice());
            }
            Self::UnwrappedEnd { files } => out.extend(files.to_be_bytes()),
            Self::Finish { tree } | Self::Committed { tree } => out.extend(tree.0),
            Self::Progress { bytes, starving } => {
                out.extend(bytes.to_be_bytes());
                out.extend(starving.to_be_bytes());
            }
            Self::Ping => {}
            Self::Failed { reason: text } | Self::Note { text } => put_length_prefixed(out, text.as_bytes()),
        }
    }

    /// Decodes a body.
    ///
    /// # Errors
    /// [`Malformed`] if the type is unknown or the body invalid.
    pub fn decode(kind: u8, body: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields(body);
        let message = match kind {
            kind::HELLO => Self::Hello {
                version: fields.u16()?,
                proof: fields.array()?,
                speeds: speeds(&mut fields)?,
                streams: fields.u16()?,
            },
            kind::WELCOME => Self::Welcome {
                proof: fields.array()?,
                token: fields.array()?,
                speeds: speeds(&mut fields)?,
                streams: fields.u16()?,
            },
            kind::ENTRY => Self::Entry(Entry::decode(&mut fields)?),
            kind::PLAN_END => Self::PlanEnd {
                entries: fields.u32()?,
                allocated_bytes: fields.u64()?,
                more: flag(&mut fields)?,
                root: Root::decode(&mut fields)?,
            },
            kind::HAVE => {
                let (file, first) = (fields.u32()?, fields.u64()?);
                let (hashes, rest) = fields.rest().as_chunks::<HASH_BYTES>();
                if !rest.is_empty() || hashes.len() > MAX_HAVE {
                    return Err(Malformed);
                }
                Self::Have { file, first, hashes: hashes.iter().copied().map(Hash).collect() }
            }
            kind::READY => Self::Ready { rekey: flag(&mut fields)? },
            kind::UNWRAPPED => {
                let file = fields.u32()?;
                let secret = Zeroizing::new(fields.rest().to_vec());
                if !matches!(secret.len(), 32 | 64) {
                    return Err(Malformed);
                }
                Self::Unwrapped { file, secret: SecretBytes(secret) }
            }
            kind::UNWRAPPED_END => Self::UnwrappedEnd { files: fields.u32()? },
            kind::FINISH => Self::Finish { tree: Hash(fields.array()?) },
            kind::COMMITTED => Self::Committed { tree: Hash(fields.array()?) },
            kind::PROGRESS => Self::Progress { bytes: fields.u64()?, starving: fields.u16()? },
            kind::PING => Self::Ping,
            kind::FAILED => Self::Failed { reason: String::from_utf8_lossy(fields.length_prefixed()?).into_owned() },
            kind::NOTE => Self::Note { text: String::from_utf8_lossy(fields.length_prefixed()?).into_owned() },
            _ => return Err(Malformed),
        };
        fields.end()?;
        Ok(message)
    }
}

/// Valid permission bits.
const PERMISSIONS: u32 = 0o7777;

impl Root {
    fn encode(self, out: &mut Vec<u8>) {
        [self.mode, self.uid, self.gid].into_iter().for_each(|field| out.extend(field.to_be_bytes()));
    }

    fn decode(fields: &mut Fields<'_>) -> Result<Self, Malformed> {
        let root = Self { mode: fields.u32()?, uid: fields.u32()?, gid: fields.u32()? };
        if root.mode & !PERMISSIONS == 0 { Ok(root) } else { Err(Malformed) }
    }
}

fn flag(fields: &mut Fields<'_>) -> Result<bool, Malformed> {
    match fields.u8()? {
        flag @ (0 | 1) => Ok(flag == 1),
        _ => Err(Malformed),
    }
}

fn put_speeds(out: &mut Vec<u8>, speeds: [u32; SUITES]) {
    speeds.iter().for_each(|speed| out.extend(speed.to_be_bytes()));
}

fn speeds(fields: &mut Fields<'_>) -> Result<[u32; SUITES], Malformed> {
    Ok([fields.u32()?, fields.u32()?, fields.u32()?])
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

fn query_count(count: u16) -> Result<u16, Malformed> {
    if (1..=MAX_QUERIED_HASHES).contains(&usize::from(count)) { Ok(count) } else { Err(Malformed) }
}

fn whole_hashes(hashes: &[u8]) -> Result<&[u8], Malformed> {
    let (all, rest) = hashes.as_chunks::<HASH_BYTES>();
    if rest.is_empty() && (1..=MAX_QUERIED_HASHES).contains(&all.len()) { Ok(hashes) } else { Err(Malformed) }
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
    use ::codec::entry::Kind;
    use proptest::prelude::*;

    use super::*;
    use crate::path::RelativePath;

    #[test]
    fn debug_shows_no_key() {
        let shown = format!("{:?}", Data::Key { slot: 1, material: Material(&[0xa7; 64]) });
        assert!(!shown.contains("167") && !shown.to_lowercase().contains("a7"), "{shown}");
    }

    fn path(text: &str) -> RelativePath {
        RelativePath::parse(text.as_bytes()).unwrap()
    }

    fn entry(kind: Kind) -> Control {
        let modified = (-5, 999_999_999);
        Control::Entry(Entry { path: path("sakila/actor.ibd"), kind, mode: 0o640, uid: 27, gid: 28, modified })
    }

    #[test]
    fn control_messages_read_back() {
        let messages = [
            Control::Hello { version: VERSION, proof: [1; 32], speeds: [1, 2, 3], streams: 4 },
            Control::Welcome { proof: [2; 32], token: [3; 16], speeds: [4, 5, 6], streams: 7 },
            entry(Kind::File { bytes: 1 << 40 }),
            entry(Kind::Directory),
            entry(Kind::Link { target: b"../x".to_vec() }),
            Control::PlanEnd {
                entries: 3,
                allocated_bytes: 4096,
                more: true,
                root: Root { mode: 0o750, uid: 27, gid: 28 },
            },
            Control::Have { file: 1, first: 2, hashes: vec![Hash([9; 32]); 3] },
            Control::Ready { rekey: true },
            Control::Unwrapped { file: 3, secret: SecretBytes(Zeroizing::new(vec![7; 32])) },
            Control::UnwrappedEnd { files: 1 },
            Control::Finish { tree: Hash([7; 32]) },
            Control::Committed { tree: Hash([8; 32]) },
            Control::Progress { bytes: 1 << 33, starving: 1000 },
            Control::Ping,
            Control::Failed { reason: "no space left".to_owned() },
            Control::Note { text: "for the other side".to_owned() },
        ];
        for message in messages {
            let mut body = Vec::new();
            let kind = message.encode(&mut body);
            assert_eq!(Control::decode(kind, &body), Ok(message.clone()));
            body.push(0);
            let longer = Control::decode(kind, &body);
            assert!(longer.is_err(), "{message:?} with a byte after it is {longer:?}");
        }
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
            let _ = Control::decode(kind, &body);
            let _ = Data::decode(kind, &body);
        }
    }
}
