//! What the two sides say to each other, `docs/wire-protocol.md` in code: messages in frames.
//!
//! Everything here is parsed from a peer that may be hostile: lengths are bounded before memory is
//! taken, and what is left over behind a message is an error.

mod field;
pub mod frame;
pub mod message;

pub use self::{
    field::{Fields, Malformed},
    frame::{HEADER_BYTES, MAX_BODY_BYTES},
    message::{Chunk, Codec, Control, Data, Entry, Kind, Material, Root, SecretBytes, Segment},
};
