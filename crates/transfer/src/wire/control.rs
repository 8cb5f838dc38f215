//! Messages of the control connection: who the sides are, the list of entries, and the result.

use zeroize::Zeroizing;

use ::codec::{Fields, Malformed, entry::Entry, put_length_prefixed};

use crate::hash::{HASH_BYTES, Hash};

/// Bytes of a proof.
pub const PROOF_BYTES: usize = 32;

/// Version of the protocol; both sides must have the same.
pub const VERSION: u16 = 4;
/// Bytes of the token that authenticates data connections.
pub const TOKEN_BYTES: usize = 16;
/// Number of cipher suites whose rates are compared.
pub const SUITES: usize = 3;
/// Maximum number of hashes in one [`Control::Have`].
pub const MAX_HAVE: usize = 16 << 10;

/// Types of messages.
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
}

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

#[cfg(test)]
mod tests {
    use ::codec::entry::Kind;
    use proptest::prelude::*;

    use super::*;
    use crate::path::RelativePath;

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

    proptest! {
        #[test]
        fn any_body_is_read_or_refused(kind in any::<u8>(), body in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = Control::decode(kind, &body);
        }
    }
}
