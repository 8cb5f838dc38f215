//! The wire protocol, specified in `docs/wire-protocol.md`: messages in frames.
//!
//! Everything here is parsed from an untrusted peer: lengths are checked before memory is
//! allocated, and trailing bytes after a message are an error.

pub mod frame;
pub mod message;

pub use ::codec::{
    Fields, Malformed,
    entry::{Entry, Kind},
};

pub use self::{
    frame::{HEADER_BYTES, MAX_BODY_BYTES},
    message::{Chunk, Codec, Control, Data, Material, PROOF_BYTES, Root, SecretBytes, Segment},
};
