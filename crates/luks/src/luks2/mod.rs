//! LUKS2: two copies of a binary header with JSON metadata, then the key slots, then the data.

pub(crate) mod copy;
mod metadata;
mod validity;

pub(crate) use copy::{Copy, CopyState, MAGIC_PRIMARY, Position, make_copies, read_copy};

/// Sizes that a copy can have, which are also the places of the second copy.
pub(crate) const COPY_BYTES: [u64; 9] =
    [0x4000, 0x8000, 0x1_0000, 0x2_0000, 0x4_0000, 0x8_0000, 0x10_0000, 0x20_0000, 0x40_0000];

/// Keyslots, tokens and segments of a header, each. Source: `LUKS2_OBJECTS_MAX`.
pub(crate) const MAX_OBJECTS: usize = 32;
