//! Packs: age files of zstd frames, each preceded by a description.
//!
//! The description is a skippable zstd frame (RFC 8878, section 3.1.2), so `age -d pack | zstd -d` writes the data of
//! all frames.

mod description;
mod part;
mod reader;
mod writer;

pub use self::{
    description::{DecryptedUnits, Description, Extent},
    part::{FrameRange, PartialPack},
    reader::{Frame, PackReader},
    writer::{Compression, FrameAt, PackWriter, Packer},
};
use codec::hash::CHUNK_BYTES;

/// Magic number of skippable frames: the last of sixteen.
const MAGIC: u32 = 0x184D_2A5E;
/// Magic number and length of a description.
const HEADER_BYTES: usize = 8;
/// Maximum length of a description.
pub const MAX_DESCRIPTION_BYTES: usize = 64 << 10;
/// Maximum length of a pack.
pub const MAX_PACK_BYTES: u64 = 32 << 20;
/// Maximum length of a frame's data.
pub const MAX_FRAME_BYTES: usize = CHUNK_BYTES;
/// Maximum length of a packed frame that does not compress: `ZSTD_compressBound` of [`MAX_FRAME_BYTES`], rounded up.
const MAX_PACKED_BYTES: usize = MAX_FRAME_BYTES + (16 << 10);
/// Maximum number of runs in a frame: its number of pages of the smallest size.
pub const MAX_RUNS: usize = 1024;

#[cfg(test)]
mod tests;
