//! What the two sides say to each other, `docs/wire-protocol.md` in code: messages in frames.
//!
//! Everything here is parsed from a peer that may be hostile: lengths are bounded before memory is
//! taken, and what is left over behind a message is an error.

pub mod frame;
pub mod message;

pub use ::codec::{
    Fields, Malformed,
    entry::{Entry, Kind},
};

pub use self::{
    frame::{HEADER_BYTES, MAX_BODY_BYTES},
    message::{Chunk, Codec, Control, Data, Material, Root, SecretBytes, Segment},
};
