//! One data connection of the receiver: decodes, encrypts, checks, writes.

use std::{collections::HashMap, sync::Arc, time::Instant};

use files::Buffer;
use zeroize::Zeroize;

use crate::{
    codec::{
        Decoder, holes_are_zero,
        page::{DecryptedChunk, MAX_DESCRIPTION_BYTES, SpaceCipher},
    },
    error::Error,
    hash::{CHUNK_BYTES, chunk_bytes, chunk_hash, chunks_of},
    progress::Progress,
    receiver::{
        parent_cache::ParentCache,
        round::{Receiving, Round},
        target::TargetFile,
    },
    tls::{DataChannel, MessageBuffer},
    wire::{CHUNK_HEADER_BYTES, Chunk, Codec, Data, Entry, Kind, SLOTS, Segment},
};

/// Maximum decompressed length: a chunk and the description of its pages.
const DECODED_BYTES: usize = CHUNK_BYTES + MAX_DESCRIPTION_BYTES;

/// State of one connection; buffers are reused for each chunk.
pub(super) struct ChunkReceiver<'r> {
    receiving: &'r Receiving<'r>,
    /// The list that chunks belong to, from its first chunk to its end.
    round: Option<Arc<Round>>,
    channel: DataChannel,
    worker: Worker,
    parents: ParentCache<'r>,
    open: Option<(u32, TargetFile)>,
}

/// Buffers and keys for decoding.
struct Worker {
    decoder: Decoder,
    ciphers: HashMap<u16, SpaceCipher>,
    /// Decompressed data, including pages in clear text; then data to write that is not aligned.
    decoded: Buffer,
    bytes: Buffer,
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.decoded.take(DECODED_BYTES).zeroize();
    }
}

impl<'r> ChunkReceiver<'r> {
    pub(super) fn new(receiving: &'r Receiving<'r>, channel: DataChannel) -> Self {
        let worker = Worker {
            decoder: Decoder::default(),
            ciphers: HashMap::new(),
            decoded: Buffer::new(DECODED_BYTES),
            bytes: Buffer::new(CHUNK_BYTES),
        };
        let parents = receiving.staging.parents();
        Self { receiving, round: None, channel, worker, parents, open: None }
    }

    /// Receives until the sender is done.
    pub(super) fn run(mut self) -> Result<(), Error> {
        let mut body = MessageBuffer::new(CHUNK_HEADER_BYTES);
        let peer = self.channel.peer().to_owned();
        let mut drained = false;
        loop {
            let message = match self.channel.receive_aligned(&mut body) {
                // Everything that was sent is written: the control connection reports why the transfer ended.
                Err(error) if drained && (error.is_connection_loss() || self.receiving.stop.is_set()) => return Ok(()),
                // Other connections may still be receiving, or the source is being scanned. The
                // control connection handles the timeout.
                Err(Error::Stalled { .. }) if drained => continue,
                message => message?,
            };
            Progress::add_time(&self.receiving.progress.network_wait, self.channel.take_waited());
            self.receiving.stop.check()?;
            match message.decode(&peer)? {
                Data::Chunk(chunk) => {
                    drained = false;
                    self.chunk(&chunk, &peer)?;
                }
                Data::Key { slot, material } => {
                    if slot >= SLOTS {
                        return Err(Error::protocol(&peer, "too many keys"));
                    }
                    let cipher = SpaceCipher::decode(material.0).map_err(Error::malformed(&peer))?;
                    self.worker.ciphers.insert(slot, cipher);
                }
                Data::HashQuery { file, first, count } => {
                    drained = false;
                    let reported = self.answer_hash_query(file, first, count, &peer)?;
                    self.channel.send(&Data::Hashes { hashes: &reported })?;
                }
                Data::Ping => {}
                Data::End => {
                    (self.round, self.open, drained) = (None, None, true);
                    self.worker.ciphers.clear();
                    // In the next list, another directory may have the same path.
                    self.parents = self.receiving.staging.parents();
                    self.channel.send(&Data::Drained)?;
                }
                _ => return Err(Error::protocol(&peer, "unexpected message")),
            }
        }
    }

    /// Answers a query for the hashes of present chunks.
    fn answer_hash_query(&mut self, file: u32, first: u64, count: u16, peer: &str) -> Result<Vec<u8>, Error> {
        let number = usize::try_from(file).unwrap_or(usize::MAX);
        let chunk_index = &self.round.get_or_insert_with(|| self.receiving.round()).chunk_index;
        let hashes = chunk_index.hashes(number, first..first.saturating_add(u64::from(count)));
        let hashes = hashes.map_err(self.receiving.staging.hashes_failed())?;
        let hashes = hashes.ok_or_else(|| Error::protocol(peer, "it asks for chunks that are not present"))?;
        Ok(hashes.iter().flat_map(|hash| hash.0).collect())
    }

    fn chunk(&mut self, chunk: &Chunk<'_>, peer: &str) -> Result<(), Error> {
        let number = usize::try_from(chunk.file).unwrap_or(usize::MAX);
        let round = self.round.get_or_insert_with(|| self.receiving.round()).clone();
        let (entry, file_bytes) = file_of(&round, number, chunk, peer)?;
        let length = chunk_bytes(file_bytes, chunk.number);
        let decoded = self.worker.decode(chunk, length);
        let (bytes, spare) = decoded.ok_or_else(|| Error::protocol(peer, "a chunk that cannot be decoded"))?;
        if chunk_hash(file_bytes, chunk.number, bytes) != chunk.hash {
            let path = self.receiving.staging.path_of(&entry.path);
            return Err(Error::Damaged { path, chunk: chunk.number });
        }
        // Add the chunk to the index before it is written. A second copy that arrives at the same time is then rejected
        // and cannot overwrite the first.
        add_to_index(self.receiving, &round, number, chunk, peer)?;
        let rewrapped = match &self.receiving.rekeying {
            Some(rekeying) if chunk.number == 0 => {
                let path = || self.receiving.staging.path_of(&entry.path);
                rekeying.first_chunk(number, path, file_bytes, bytes, spare)?
            }
            _ => false,
        };
        // If the key was rewrapped, the received bytes are no longer needed and their buffer is free.
        let (bytes, spare) = match rewrapped {
            true => (&*self.worker.decoded.take(length), &mut self.worker.bytes),
            false => (bytes, spare),
        };
        if self.open.as_ref().is_none_or(|(open, _)| *open != chunk.file) {
            let file = TargetFile::open_for_chunks(
                self.receiving.staging,
                &mut self.parents,
                entry,
                file_bytes,
                round.resumed,
            )?;
            self.open = Some((chunk.file, file));
        }
        let Some((_, file)) = &self.open else { return Ok(()) };
        let began = Instant::now();
        let kept = |chunks| round.resumed && round.chunk_index.has_kept(number, chunks);
        let written = file.write(chunk, bytes, kept, spare);
        // A rewrapped first chunk is not recorded: another attempt has to receive it again.
        let note = || self.receiving.journal.add(&entry.path, chunk.number, chunk.hash);
        let noted = written.and_then(|()| if rewrapped { Ok(()) } else { note() });
        noted.map_err(|source| Error::Target {
            path: self.receiving.staging.path_of(&entry.path),
            doing: "cannot be written",
            source,
        })?;
        Progress::add_time(&self.receiving.progress.disk_wait, began.elapsed());
        Progress::add(&self.receiving.progress.bytes, length as u64);
        Progress::add(&self.receiving.progress.wire_bytes, chunk.payload.len() as u64);
        Ok(())
    }
}

/// The file that a chunk belongs to, and its length.
fn file_of<'r>(round: &'r Round, number: usize, chunk: &Chunk<'_>, peer: &str) -> Result<(&'r Entry, u64), Error> {
    let entry = round.entries.get(number);
    let Some((entry, file_bytes)) = entry.and_then(|entry| Some((entry, file_bytes(entry)?))) else {
        return Err(Error::protocol(peer, "a chunk of no file"));
    };
    if chunk.number >= chunks_of(file_bytes) {
        return Err(Error::protocol(peer, "a chunk beyond the end of its file"));
    }
    Ok((entry, file_bytes))
}

/// Adds a received chunk to those that are present.
fn add_to_index(
    receiving: &Receiving<'_>,
    round: &Round,
    number: usize,
    chunk: &Chunk<'_>,
    peer: &str,
) -> Result<(), Error> {
    let added = round.chunk_index.add(number, chunk.number, chunk.hash);
    if !added.map_err(receiving.staging.hashes_failed())? {
        return Err(Error::protocol(peer, "a duplicate chunk, or one after the end"));
    }
    if round.chunk_index.has_too_many_gaps() {
        return Err(Error::protocol(peer, "too many gaps between chunks"));
    }
    Ok(())
}

fn file_bytes(entry: &Entry) -> Option<u64> {
    match entry.kind {
        Kind::File { bytes } => Some(bytes),
        _ => None,
    }
}

impl Worker {
    /// The bytes of a chunk of `length`, holes included, and a free buffer; `None` if the payload
    /// is not such a chunk.
    fn decode<'w>(&'w mut self, chunk: &Chunk<'w>, length: usize) -> Option<(&'w [u8], &'w mut Buffer)> {
        if chunk.codec == Codec::Raw && chunk.segments.is_none() {
            return (chunk.payload.len() == length).then_some((chunk.payload, &mut self.decoded));
        }
        let bytes = self.bytes.take(length);
        match (chunk.codec, &chunk.segments) {
            (codec, _) if codec.has_decrypted_pages() => {
                let room = self.decoded.take(DECODED_BYTES);
                let count = self.decoder.decode_up_to(chunk.codec, chunk.payload, room).ok()?;
                let decoded = room.get(..count)?;
                let opened = DecryptedChunk::parse(decoded).ok()?;
                let offset = chunk.number.saturating_mul(CHUNK_BYTES as u64);
                opened.encrypt(self.ciphers.get(&opened.slot)?, offset, bytes).ok()?;
                // The hash covers all bytes, but only the segments are written.
                if chunk.segments.as_ref().is_some_and(|segments| !holes_are_zero(segments, bytes)) {
                    return None;
                }
            }
            (codec, None) => self.decoder.decode(codec, chunk.payload, bytes).ok()?,
            (codec, Some(segments)) => {
                let count = segments.iter().map(|segment| segment.bytes as usize).sum();
                let parts = self.decoded.take(DECODED_BYTES).get_mut(..count)?;
                self.decoder.decode(codec, chunk.payload, parts).ok()?;
                scatter(parts, segments, bytes)?;
            }
        }
        Some((bytes, &mut self.decoded))
    }
}

/// Copies parts to their positions, with zeros between them.
fn scatter(mut parts: &[u8], segments: &[Segment], bytes: &mut [u8]) -> Option<()> {
    bytes.fill(0);
    for segment in segments {
        let (from, count) = (segment.from as usize, segment.bytes as usize);
        let (part, rest) = parts.split_at_checked(count)?;
        bytes.get_mut(from..from + count)?.copy_from_slice(part);
        parts = rest;
    }
    Some(())
}

#[cfg(test)]
#[path = "mutation.rs"]
mod mutation;
