//! Estimates how large a full backup would be and how long it would take, from a few chunks of the data.

use std::{
    io,
    time::{Duration, Instant},
};

use archive::{
    Description, PackWriter,
    pack::{Extent, Packer},
};
use codec::{
    hash::{CHUNK_BYTES, Hash, UnitHasher},
    page::{DecryptBuffers, HEAD_BYTES},
};
use files::{Buffer, all_zero};
use transfer::{plan::Plan, sender::SourceFile};
use verify::Keys;

use crate::{Config, Error, heads::RedoKeys};

/// Number of chunks: some tenths of a second of work.
const CHUNKS: u64 = 32;
const UNIT_BYTES: usize = 16 << 10;

/// A full backup, as the samples say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullEstimate {
    /// Bytes that it would store.
    pub stored_bytes: u64,
    /// Time for reading, decrypting and compressing, with all threads of the configuration.
    pub duration: Duration,
}

/// Packs chunks from all over the data; `None` if there is nothing to read. A running server changes its files, so
/// what cannot be read is left out.
pub(super) fn estimate(plan: &Plan, keys: &Keys, config: &Config) -> Result<Option<FullEstimate>, Error> {
    let mut sampler = Sampler::new(config)?;
    for (number, chunk) in chunks_of_plan(plan) {
        let _ = sampler.sample(plan, number, chunk, keys);
    }
    Ok(sampler.conclude(plan.allocated_bytes, config.streams))
}

/// Chunks at equal distances: number of the entry, and number of the chunk in it.
fn chunks_of_plan(plan: &Plan) -> Vec<(usize, u64)> {
    let (step, mut next, mut begin) = (plan.bytes.div_ceil(CHUNKS).max(1), 0_u64, 0_u64);
    let mut chunks = Vec::new();
    for (number, bytes) in plan.entries.iter().enumerate().filter_map(|(at, entry)| Some((at, entry.file_bytes()?))) {
        let end = begin.saturating_add(bytes);
        while next < end {
            chunks.push((number, next.saturating_sub(begin) / CHUNK_BYTES as u64));
            next = next.saturating_add(step);
        }
        begin = end;
    }
    chunks
}

struct Sampler {
    decrypts: bool,
    packer: Packer,
    pack: PackWriter<io::Sink>,
    buffer: Buffer,
    memory: DecryptBuffers,
    marks: Vec<u8>,
    /// Bytes of chunks that are not holes, and the time that these took.
    bytes: u64,
    duration: Duration,
}

impl Sampler {
    fn new(config: &Config) -> Result<Self, Error> {
        Ok(Self {
            decrypts: config.pages.are_decrypted(),
            packer: Packer::new(config.compression)?,
            pack: PackWriter::new(io::sink(), &config.recipients)?,
            buffer: Buffer::new(CHUNK_BYTES),
            memory: DecryptBuffers::default(),
            marks: Vec::new(),
            bytes: 0,
            duration: Duration::ZERO,
        })
    }

    fn sample(&mut self, plan: &Plan, number: usize, chunk: u64, keys: &Keys) -> Result<(), Error> {
        let Some(planned) = plan.entries.get(number) else { return Ok(()) };
        let source = SourceFile::open(plan, number)?;
        let space = RedoKeys::default().space(&planned.entry.path, &source.head(HEAD_BYTES)?, keys);
        let space = space.filter(|_| self.decrypts);
        let began = Instant::now();
        let mut hasher = UnitHasher::new(source.bytes(), chunk, UNIT_BYTES);
        let bytes: &[u8] = source.read_units(chunk, &mut self.buffer, &mut hasher)?;
        if all_zero(bytes) {
            return Ok(());
        }
        let at = chunk.saturating_mul(CHUNK_BYTES as u64);
        let cipher = space.and_then(|space| space.cipher(space.version_of(bytes), at, bytes, keys));
        let decrypted = cipher.map(|cipher| cipher.decrypt_marked(at, bytes, &mut self.memory, &mut self.marks));
        let data = if decrypted.is_some_and(|units| units > 0) { self.memory.decrypted() } else { bytes };
        let description = Description {
            path: planned.entry.path.clone(),
            extents: vec![Extent { at, bytes: bytes.len() as u64 }],
            hash: Hash::compute(bytes),
            decrypted: None,
        };
        self.pack.add(&mut self.packer, &description, data)?;
        self.bytes = self.bytes.saturating_add(bytes.len() as u64);
        self.duration = self.duration.saturating_add(began.elapsed());
        Ok(())
    }

    /// What the chunks say of this many bytes.
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate"
    )]
    fn conclude(&self, all_bytes: u64, streams: u16) -> Option<FullEstimate> {
        let times = all_bytes as f64 / self.bytes as f64;
        let seconds = self.duration.as_secs_f64() * times / f64::from(streams.max(1));
        (self.bytes > 0).then(|| FullEstimate {
            stored_bytes: (self.pack.bytes() as f64 * times) as u64,
            duration: Duration::try_from_secs_f64(seconds).unwrap_or_default(),
        })
    }
}
