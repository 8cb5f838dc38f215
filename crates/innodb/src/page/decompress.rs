//! Compression algorithms of pages.
//!
//! The page size is known before decompression, so the result goes into a buffer of the caller that
//! it must fill exactly. No length in the page decides how much memory is used.
//!
//! Source: docs/formats, "Flags and page size", "Page_compressed" (MariaDB) and "Page compression" (MySQL); all
//! algorithms confirmed on MariaDB 10.11, zlib and lz4 on MySQL.

use bzip2_rs::decoder::{Decoder as Bzip2, ReadState, WriteState};
use flate2::{Decompress, FlushDecompress, Status};
use lzma_rust2::{Action, Status as XzStatus, XzStream};

use crate::bytes::as_usize;

/// How a page was compressed. The numbers are MariaDB's; MySQL uses the first two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Algorithm {
    /// zlib stream (RFC 1950).
    Zlib = 1,
    /// LZ4 block without frame or length.
    Lz4 = 2,
    /// LZO1X block.
    Lzo = 3,
    /// LZMA2 in an xz container without checksum.
    Lzma = 4,
    /// bzip2 stream with blocks of 100 kB.
    Bzip2 = 5,
    /// Snappy block without frame.
    Snappy = 6,
}

/// Why bytes cannot be decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecompressFault {
    /// Unknown algorithm number, or the tablespace is not declared compressed.
    #[error("unknown compression algorithm {0}")]
    Algorithm(u64),
    /// A length in the header does not fit the page.
    #[error("the compressed length does not fit the page")]
    Length,
    /// The bytes do not decompress to exactly one page.
    #[error("the page cannot be decompressed")]
    Corrupt,
}

impl Algorithm {
    /// All algorithms, in the order of their numbers.
    pub const ALL: [Self; 6] = [Self::Zlib, Self::Lz4, Self::Lzo, Self::Lzma, Self::Bzip2, Self::Snappy];

    /// The algorithm with this number in a page header or in tablespace flags.
    ///
    /// # Errors
    /// [`DecompressFault::Algorithm`], also for 0, which means "not compressed".
    pub fn from_number(number: u64) -> Result<Self, DecompressFault> {
        let known = Self::ALL.into_iter().find(|algorithm| u64::from(*algorithm as u8) == number);
        known.ok_or(DecompressFault::Algorithm(number))
    }

    /// Whether the compressed data must be cut at its exact end. The other formats mark their end
    /// themselves.
    #[must_use]
    pub const fn needs_exact_length(self) -> bool {
        matches!(self, Self::Lz4 | Self::Lzo | Self::Snappy)
    }

    /// Decompresses `payload` into the whole of `out`. Bytes after the end of a zlib, xz or bzip2
    /// stream are ignored, as the servers do.
    ///
    /// # Errors
    /// [`DecompressFault::Corrupt`] if the result does not have exactly the length of `out`, whose
    /// contents are then undefined.
    pub fn decompress(self, payload: &[u8], out: &mut [u8]) -> Result<(), DecompressFault> {
        let wanted = out.len();
        let count = match self {
            Self::Zlib => zlib(payload, out),
            Self::Lz4 => lz4_flex::block::decompress_into(payload, out).ok(),
            Self::Lzo => lzo::decompress_into(payload, out).ok(),
            Self::Lzma => xz(payload, out),
            Self::Bzip2 => bzip2(payload, out),
            Self::Snappy => snap::raw::Decoder::new().decompress(payload, out).ok(),
        };
        if count == Some(wanted) { Ok(()) } else { Err(DecompressFault::Corrupt) }
    }
}

fn zlib(payload: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut stream = Decompress::new(true);
    match stream.decompress(payload, out, FlushDecompress::Finish) {
        Ok(Status::StreamEnd) => Some(as_usize(stream.total_out())),
        _ => None,
    }
}

/// The window size in an xz header is not allocated at once: the window grows with the output, at
/// most by one chunk of 2 MiB before `out` is full.
fn xz(payload: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut stream = XzStream::new(false);
    let (mut consumed, mut produced) = (0_usize, 0_usize);
    loop {
        let (input, room) = (payload.get(consumed..)?, out.get_mut(produced..)?);
        let step = stream.process(input, room, Action::Finish).ok()?;
        consumed = consumed.checked_add(step.bytes_consumed)?;
        produced = produced.checked_add(step.bytes_produced)?;
        match step.status {
            XzStatus::StreamEnd => return Some(produced),
            XzStatus::Ok if step.bytes_consumed == 0 && step.bytes_produced == 0 => return None,
            XzStatus::Ok => {}
        }
    }
}

/// MariaDB compresses with the smallest block size, so the 3.6 MB of the largest are never needed.
fn bzip2(payload: &[u8], out: &mut [u8]) -> Option<usize> {
    const SMALLEST_BLOCKS: &[u8] = b"BZh1";
    /// The decoder asks for input before and after each block, and every block gives output.
    const REQUESTS_PER_BLOCK: u32 = 4;
    let mut rest = payload.starts_with(SMALLEST_BLOCKS).then_some(payload)?;
    let mut stream = Bzip2::new();
    let (mut produced, mut requests) = (0_usize, 0);
    loop {
        // One byte more than a page, to detect excess output and to check the checksum of the last
        // block.
        let mut beyond = [0];
        let room = match out.get_mut(produced..)? {
            [] => &mut beyond,
            room => room,
        };
        match stream.read(room).ok()? {
            ReadState::Eof => return Some(produced),
            ReadState::Read(count) => (produced, requests) = (produced.checked_add(count)?, 0),
            ReadState::NeedsWrite(_) if requests == REQUESTS_PER_BLOCK && rest.is_empty() => return None,
            ReadState::NeedsWrite(_) => {
                requests = requests.saturating_add(1);
                let WriteState::Written(count) = stream.write(rest).ok()? else { return None };
                rest = rest.get(count..)?;
            }
        }
    }
}
