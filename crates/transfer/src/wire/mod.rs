//! The wire protocol, specified in `docs/wire-protocol.md`: messages in frames.
//!
//! Everything here is parsed from an untrusted peer: lengths are checked before memory is
//! allocated, and trailing bytes after a message are an error.

mod control;
mod data;
pub mod frame;

pub(crate) use ::codec::{
    Fields, Malformed,
    entry::{Entry, Kind},
};

pub use self::{
    control::{Control, MAX_HAVE, PROOF_BYTES, Root, SUITES, SecretBytes, TOKEN_BYTES, VERSION},
    data::{CHUNK_HEADER_BYTES, Chunk, Codec, Data, MAX_QUERIED_HASHES, Material, SLOTS, Segment},
};
