//! LUKS2: two copies of a binary header with JSON metadata, followed by the key slots and the data.

pub(crate) mod copy;
mod metadata;
mod validity;

pub(crate) use copy::{Copy, CopyState, MAGIC_PRIMARY, Position, make_copies, read_copy};

/// Possible sizes of a copy, which are also the possible offsets of the second copy.
pub(crate) const COPY_BYTES: [u64; 9] =
    [0x4000, 0x8000, 0x1_0000, 0x2_0000, 0x4_0000, 0x8_0000, 0x10_0000, 0x20_0000, 0x40_0000];

/// Maximum number each of key slots, tokens and segments. Source: `LUKS2_OBJECTS_MAX`.
pub(crate) const MAX_OBJECTS: usize = 32;
