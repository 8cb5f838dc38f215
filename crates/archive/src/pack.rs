//! Packs: rows of zstd frames in an age file, each frame behind a description of what it holds.
//!
//! The description is a skippable frame of zstd (RFC 8878, section 3.1.2), so that `age -d pack | zstd -d` writes the bytes of
//! all frames one after the other.

mod description;
mod reader;
mod writer;

pub use self::{
    description::{Description, Extent, Opened},
    reader::{Frame, PackReader},
    writer::{FrameAt, PackWriter, Packer},
};
use codec::hash::CHUNK_BYTES;

/// Of skippable frames: the last of the sixteen magic numbers.
const MAGIC: u32 = 0x184D_2A5E;
/// Magic number and length of a description.
const HEADER_BYTES: usize = 8;
/// The longest description.
pub const MAX_DESCRIPTION_BYTES: usize = 64 << 10;
/// Most bytes of a file in one frame.
pub const MAX_FRAME_BYTES: usize = CHUNK_BYTES;
/// Most bytes of a frame that does not compress: `ZSTD_compressBound` of [`MAX_FRAME_BYTES`], rounded up.
const MAX_PACKED_BYTES: usize = MAX_FRAME_BYTES + (16 << 10);
/// Most runs in one frame: as many as it has pages of the smallest size.
pub const MAX_RUNS: usize = 1024;

#[cfg(test)]
mod tests;
