//! Compression and encoding of a chunk's bytes.

pub mod level;

use ::codec::compression::CompressionLevel;
pub(crate) use ::codec::{InvalidPayload, page};
use files::all_zero;
use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};
use zeroize::Zeroizing;
use zstd::{
    bulk::{Compressor, Decompressor},
    zstd_safe::CParameter,
};

use crate::{
    hash::CHUNK_BYTES,
    wire::{Codec, Segment},
};

/// Bytes of a chunk that are compressed first, to see whether the rest is worth it.
const SAMPLE_BYTES: usize = 32 << 10;

/// Compresses chunks. Contexts and buffers are allocated on first use and reused.
#[derive(Default)]
pub struct Encoder {
    zstd: Option<(i32, Compressor<'static>)>,
    /// zstd at its first level, for samples.
    sampler: Option<Compressor<'static>>,
    /// May contain compressed pages in clear text.
    out: Zeroizing<Vec<u8>>,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Encoder")
    }
}

impl Encoder {
    /// Compresses `data` if that makes it at least a sixteenth smaller, otherwise returns `None`. `decrypted`: the data
    /// is a description of pages followed by the decrypted pages.
    pub(crate) fn smaller(&mut self, data: &[u8], level: CompressionLevel, decrypted: bool) -> Option<(Codec, &[u8])> {
        if !decrypted && all_zero(data) {
            return Some((Codec::Zeros, &[]));
        }
        if level == CompressionLevel::None || data.len() < 64 {
            return None;
        }
        self.out.resize(get_maximum_output_size(CHUNK_BYTES + page::MAX_DESCRIPTION_BYTES), 0);
        if !self.seems_compressible(data, level) {
            return None;
        }
        let (codec, bytes) = match level {
            CompressionLevel::None => return None,
            CompressionLevel::Lz4 => {
                let codec = if decrypted { Codec::PagesLz4 } else { Codec::Lz4 };
                (codec, compress_into(data, &mut self.out).ok())
            }
            CompressionLevel::Zstd(level) => {
                let codec = if decrypted { Codec::PagesZstd } else { Codec::Zstd };
                (codec, self.zstd(data, level))
            }
        };
        let bytes = bytes.filter(|bytes| pays(*bytes, data.len()))?;
        self.out.get(..bytes).map(|encoded| (codec, encoded))
    }

    /// Whether samples of the data get smaller. They are compressed with the requested algorithm, since zstd compresses
    /// some data in which LZ4 finds no match.
    fn seems_compressible(&mut self, data: &[u8], level: CompressionLevel) -> bool {
        if data.len() <= 4 * SAMPLE_BYTES {
            return true;
        }
        let middle = data.get(data.len() / 2..).and_then(|rest| rest.get(..SAMPLE_BYTES)).unwrap_or_default();
        let head = data.get(..SAMPLE_BYTES).unwrap_or_default();
        [middle, head].iter().any(|sample| {
            let bytes = match level {
                CompressionLevel::Zstd(_) => self.zstd_sample(sample),
                _ => compress_into(sample, &mut self.out).ok(),
            };
            bytes.is_some_and(|bytes| pays(bytes, sample.len()))
        })
    }

    fn zstd_sample(&mut self, sample: &[u8]) -> Option<usize> {
        if self.sampler.is_none() {
            self.sampler = compressor(1);
        }
        self.sampler.as_mut()?.compress_to_buffer(sample, &mut self.out[..]).ok()
    }

    fn zstd(&mut self, data: &[u8], level: i32) -> Option<usize> {
        if self.zstd.as_ref().is_none_or(|(current, _)| *current != level) {
            // LZ4 and zstd contexts are never allocated at the same time.
            self.zstd = None;
            self.zstd = compressor(level).map(|compressor| (level, compressor));
        }
        let (_, compressor) = self.zstd.as_mut()?;
        compressor.compress_to_buffer(data, &mut self.out[..]).ok()
    }

    /// As [`smaller`](Self::smaller), but returns the data unchanged if it does not compress.
    /// Decrypted pages are always encoded.
    #[cfg(test)]
    pub(crate) fn encode<'e>(
        &'e mut self,
        data: &'e [u8],
        level: CompressionLevel,
        decrypted: bool,
    ) -> Option<(Codec, &'e [u8])> {
        let raw = if decrypted { None } else { Some((Codec::Raw, data)) };
        self.smaller(data, level, decrypted).or(raw)
    }

    /// Bytes of the allocated contexts.
    #[cfg(test)]
    fn context_bytes(&mut self) -> usize {
        let contexts = [self.zstd.as_mut().map(|(_, zstd)| zstd), self.sampler.as_mut()];
        contexts.into_iter().flatten().map(|context| context.context_mut().sizeof()).sum()
    }
}

/// A context with a window of one chunk. With the description of decrypted pages a chunk is a
/// little longer, for which zstd would allocate twice the memory.
fn compressor(level: i32) -> Option<Compressor<'static>> {
    let mut compressor = Compressor::new(level).ok()?;
    compressor.set_parameter(CParameter::WindowLog(CHUNK_BYTES.ilog2())).ok()?;
    Some(compressor)
}

fn pays(encoded_bytes: usize, bytes: usize) -> bool {
    encoded_bytes < bytes - bytes / 16
}

/// Decompresses chunks.
#[derive(Default)]
pub struct Decoder {
    zstd: Option<Decompressor<'static>>,
}

impl std::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Decoder")
    }
}

impl Decoder {
    /// Decompresses a payload into `into`, which it must fill exactly.
    ///
    /// # Errors
    /// [`InvalidPayload`] if the payload is invalid or has another length.
    pub fn decode(&mut self, codec: Codec, payload: &[u8], into: &mut [u8]) -> Result<(), InvalidPayload> {
        let bytes = self.decode_up_to(codec, payload, into)?;
        if bytes == into.len() { Ok(()) } else { Err(InvalidPayload) }
    }

    /// Decompresses a payload into the front of `into`; returns the number of bytes.
    ///
    /// # Errors
    /// [`InvalidPayload`] if the payload is invalid or too long.
    pub(crate) fn decode_up_to(
        &mut self,
        codec: Codec,
        payload: &[u8],
        into: &mut [u8],
    ) -> Result<usize, InvalidPayload> {
        match codec {
            Codec::Raw => {
                into.get_mut(..payload.len()).ok_or(InvalidPayload)?.copy_from_slice(payload);
                Ok(payload.len())
            }
            Codec::Zeros if payload.is_empty() => {
                into.fill(0);
                Ok(into.len())
            }
            Codec::Zeros => Err(InvalidPayload),
            Codec::Lz4 | Codec::PagesLz4 => decompress_into(payload, into).map_err(|_| InvalidPayload),
            Codec::Zstd | Codec::PagesZstd => {
                if self.zstd.is_none() {
                    self.zstd = Decompressor::new().ok();
                }
                let zstd = self.zstd.as_mut().ok_or(InvalidPayload)?;
                zstd.decompress_to_buffer(payload, into).map_err(|_| InvalidPayload)
            }
        }
    }
}

/// Whether all bytes outside of the segments are zero, and the segments do not exceed the chunk.
pub(crate) fn holes_are_zero(segments: &[Segment], bytes: &[u8]) -> bool {
    let mut end = 0;
    let zero = |from: usize, to: usize| bytes.get(from..to).is_some_and(all_zero);
    segments.iter().all(|segment| {
        let hole = zero(end, segment.from as usize);
        end = segment.from as usize + segment.bytes as usize;
        hole
    }) && zero(end, bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(bytes: usize) -> Vec<u8> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(b"noise");
        let mut out = vec![0; bytes];
        hasher.finalize_xof().fill(&mut out);
        out
    }

    #[test]
    fn data_of_every_level_reads_back() {
        let text: Vec<u8> = (0..CHUNK_BYTES).map(|at| b"all work and no play "[at / 3 % 21]).collect();
        let cases: [(&[u8], &[Codec]); 4] = [
            (&text, &[Codec::Raw, Codec::Lz4, Codec::Zstd, Codec::Zstd]),
            (&noise(CHUNK_BYTES), &[Codec::Raw; 4]),
            (&vec![0; CHUNK_BYTES], &[Codec::Zeros; 4]),
            (b"short", &[Codec::Raw; 4]),
        ];
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        for (data, codecs) in cases {
            for (level, expected) in
                [CompressionLevel::None, CompressionLevel::Lz4, CompressionLevel::Zstd(1), CompressionLevel::Zstd(5)]
                    .into_iter()
                    .zip(codecs)
            {
                let (codec, payload) = encoder.encode(data, level, false).unwrap();
                assert_eq!(codec, *expected, "{level:?}");
                let mut back = vec![7; data.len()];
                decoder.decode(codec, payload, &mut back).unwrap();
                assert!(back == data);
            }
        }
    }

    #[test]
    fn data_that_only_zstd_compresses_is_sampled_with_zstd() {
        let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let base64: Vec<u8> = noise(CHUNK_BYTES).iter().map(|byte| letters[usize::from(byte % 64)]).collect();
        let (mut encoder, mut decoder) = (Encoder::default(), Decoder::default());
        for level in [1, 3, 19] {
            let (codec, payload) = encoder.encode(&base64, CompressionLevel::Zstd(level), false).unwrap();
            assert!(codec == Codec::Zstd && payload.len() < CHUNK_BYTES * 4 / 5, "{codec:?}, {} bytes", payload.len());
            let mut back = vec![0; CHUNK_BYTES];
            decoder.decode(codec, payload, &mut back).unwrap();
            assert!(back == base64);
        }
        assert_eq!(encoder.encode(&base64, CompressionLevel::Lz4, false).unwrap().0, Codec::Raw);
    }

    #[test]
    fn contexts_take_no_more_memory_than_is_reserved() {
        let text: Vec<u8> = (0..CHUNK_BYTES + page::MAX_DESCRIPTION_BYTES)
            .map(|at| b"all work and no play "[(at / 3 + at / 1000) % 21])
            .collect();
        for level in 1..=19 {
            let mut encoder = Encoder::default();
            encoder.smaller(&text, CompressionLevel::Zstd(level), true).unwrap();
            let bytes = encoder.context_bytes();
            let counted = CompressionLevel::Zstd(level).context_bytes();
            assert!(bytes <= counted && counted < 2 * bytes + (1 << 20), "level {level}: {bytes} of {counted}");
        }
    }

    #[test]
    fn opened_pages_that_do_not_compress_are_not_encoded() {
        let mut encoder = Encoder::default();
        assert!(encoder.encode(&noise(CHUNK_BYTES), CompressionLevel::Zstd(1), true).is_none());
        assert!(encoder.encode(&[0; 4096], CompressionLevel::None, true).is_none());
        assert_eq!(encoder.encode(&[0; 4096], CompressionLevel::Lz4, true).unwrap().0, Codec::PagesLz4);
    }

    #[test]
    fn a_payload_of_another_length_is_refused() {
        let mut decoder = Decoder::default();
        let (mut encoder, data) = (Encoder::default(), vec![1; 5000]);
        for level in [CompressionLevel::None, CompressionLevel::Lz4, CompressionLevel::Zstd(1)] {
            let (codec, payload) = encoder.encode(&data, level, false).unwrap();
            for length in [4999, 5001] {
                assert_eq!(decoder.decode(codec, payload, &mut vec![0; length]), Err(InvalidPayload), "{level:?}");
            }
            let cut = &payload[..payload.len() - 1];
            assert_eq!(decoder.decode(codec, cut, &mut vec![0; 5000]), Err(InvalidPayload), "{level:?}");
        }
        assert_eq!(decoder.decode(Codec::Zeros, b"x", &mut [0; 10]), Err(InvalidPayload));
    }
}
