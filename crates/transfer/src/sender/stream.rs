//! One data connection of the sender: takes work from the queue, reads, decrypts, compresses,
//! sends.

use std::{
    sync::atomic::Ordering,
    thread::sleep,
    time::{Duration, Instant},
};

use ::codec::compression::CompressionLevel;
use files::{Buffer, all_zero};
use innodb::KeyVersion;

use crate::{
    codec::{
        holes_are_zero,
        page::{HEAD_BYTES, KeyFileKeys, SpaceCipher, SpaceKeys},
    },
    error::Error,
    hash::{CHUNK_BYTES, Hash, chunk_bytes},
    progress::Progress,
    sender::{KEEPALIVE_INTERVAL, Source, encoders::Encoding, queue::Part, session::Sending},
    source::SourceFile,
    tls::DataChannel,
    wire::{Chunk, Codec, Data, MAX_QUERIED_HASHES, Material, SLOTS, Segment},
};

/// State of one connection; buffers are reused for each chunk.
pub(super) struct ChunkSender<'s> {
    sending: &'s Sending<'s>,
    channel: DataChannel,
    buffer: Buffer,
    keys: Option<FileKeys>,
    next_slot: u16,
    /// Chunks and hashes that the receiver reported for the current part.
    peer_hashes: Vec<(u64, Hash)>,
    last_sent: Instant,
}

/// Keys of the file that is being sent.
struct FileKeys {
    file: usize,
    space: Option<SpaceKeys>,
    cipher: Option<(KeyVersion, u16, SpaceCipher)>,
    /// The keys that would decrypt it if keys of the key file were sent.
    withheld: Option<SpaceKeys>,
}

impl<'s> ChunkSender<'s> {
    pub(super) fn new(sending: &'s Sending<'s>, channel: DataChannel) -> Self {
        let buffer = Buffer::new(CHUNK_BYTES);
        Self { sending, channel, buffer, keys: None, next_slot: 0, peer_hashes: Vec::new(), last_sent: Instant::now() }
    }

    /// Sends until the queue is empty, and waits until the receiver has written everything. The
    /// connection can be used for another list afterwards.
    pub(super) fn run(mut self) -> Result<DataChannel, Error> {
        while let Some(part) = self.sending.queue.next() {
            self.part(&part)?;
        }
        self.channel.send(&Data::End)?;
        let mut body = Vec::new();
        let peer = self.channel.peer().to_owned();
        match self.channel.receive(&mut body)?.decode(&peer)? {
            Data::Drained => Ok(self.channel),
            _ => Err(Error::protocol(&peer, "unexpected message")),
        }
    }

    fn part(&mut self, part: &Part) -> Result<(), Error> {
        match self.try_part(part) {
            // A changed file is read again for the next list; a removed one is no longer in it.
            Err(error) if self.sending.source != Source::Static && error.is_change() => Ok(()),
            other => other,
        }
    }

    fn try_part(&mut self, part: &Part) -> Result<(), Error> {
        let unchanged = self.sending.source == Source::Static;
        let open = if unchanged { SourceFile::open } else { SourceFile::open_in_use };
        let source = open(self.sending.plan, part.file)?;
        self.query_hashes(part, source.bytes())?;
        for chunk in part.chunks.clone() {
            self.sending.stop.check()?;
            let hash = self.chunk(&source, part.file, chunk)?;
            self.sending.hash_collector.add(part.file, source.bytes(), chunk, hash);
        }
        if unchanged { source.check() } else { Ok(()) }
    }

    /// Queries the hashes of the receiver's chunks of a part, if they are not known here.
    fn query_hashes(&mut self, part: &Part, bytes: u64) -> Result<(), Error> {
        self.peer_hashes.clear();
        let known = self.sending.known(part.file);
        let unknown = known.map(|known| known.unknown(bytes, part.chunks.clone())).unwrap_or_default();
        let file = u32::try_from(part.file).unwrap_or(u32::MAX);
        for run in unknown.iter() {
            for first in run.clone().step_by(MAX_QUERIED_HASHES) {
                let count = (run.end - first).min(MAX_QUERIED_HASHES as u64);
                self.channel.send(&Data::HashQuery { file, first, count: u16::try_from(count).unwrap_or_default() })?;
                let (mut body, peer) = (Vec::new(), self.channel.peer().to_owned());
                let Data::Hashes { hashes } = self.channel.receive(&mut body)?.decode(&peer)? else {
                    return Err(Error::protocol(&peer, "unexpected message"));
                };
                let (hashes, _) = hashes.as_chunks();
                if hashes.len() as u64 != count {
                    return Err(Error::protocol(&peer, "hashes of other chunks"));
                }
                self.peer_hashes.extend((first..).zip(hashes.iter().copied().map(Hash)));
            }
        }
        Ok(())
    }

    /// Whether the receiver has this chunk of a file of `bytes`.
    fn has(&self, file: usize, bytes: u64, chunk: u64, hash: Hash) -> bool {
        self.peer_hashes.contains(&(chunk, hash))
            || self.sending.known(file).is_some_and(|known| known.has(bytes, chunk, hash))
    }

    /// Sends one chunk, unless the receiver has it; returns its hash.
    fn chunk(&mut self, source: &SourceFile<'_>, file: usize, number: u64) -> Result<Hash, Error> {
        let progress = self.sending.progress;
        let began = Instant::now();
        let segments = source.segments(number)?;
        let mut buffer = std::mem::replace(&mut self.buffer, Buffer::new(0));
        let read = match self.sending.source {
            Source::InUseCached => source.read_and_cache(number, &mut buffer),
            Source::Static | Source::InUse => source.read(number, &mut buffer),
        };
        let (bytes, hash) = match read {
            Ok(read) => read,
            Err(error) => {
                self.buffer = buffer;
                return Err(error);
            }
        };
        Progress::add_time(&progress.disk_wait, began.elapsed());
        let length = bytes.len() as u64;
        if self.has(file, source.bytes(), number, hash) {
            Progress::add(&progress.kept_bytes, length);
            self.ping()?;
        } else {
            // In a file in use a hole may have been filled before it was read.
            let segments = segments.filter(|segments| holes_are_zero(segments, bytes));
            self.encode_and_send(source, file, number, hash, segments, bytes)?;
            Progress::add(&self.sending.sent_bytes, length);
            self.last_sent = Instant::now();
        }
        self.buffer = buffer;
        Progress::add(&progress.bytes, length);
        progress.chunks.fetch_add(1, Ordering::Relaxed);
        Ok(hash)
    }

    /// Sends a keepalive if necessary: reading chunks that the receiver already has takes long.
    fn ping(&mut self) -> Result<(), Error> {
        if self.last_sent.elapsed() >= KEEPALIVE_INTERVAL {
            self.channel.send(&Data::Ping)?;
            self.last_sent = Instant::now();
        }
        Ok(())
    }

    fn encode_and_send(
        &mut self,
        source: &SourceFile<'_>,
        file: usize,
        number: u64,
        hash: Hash,
        segments: Option<Vec<Segment>>,
        bytes: &mut [u8],
    ) -> Result<(), Error> {
        let file_number = u32::try_from(file).unwrap_or(u32::MAX);
        let level = self.sending.controller.level();
        let mut chunk = Chunk { file: file_number, number, hash, codec: Codec::Raw, segments, payload: &[] };
        let payload_bytes = self.encode(source, level, &mut chunk, bytes)?;
        let payload = bytes.get(..payload_bytes).unwrap_or_default();
        send(self.sending, &mut self.channel, chunk, payload)
    }

    /// Replaces the chunk's bytes by what is sent, and describes it in the message; returns its
    /// length. The encoder is returned before anything waits for the network.
    fn encode(
        &mut self,
        source: &SourceFile<'_>,
        level: CompressionLevel,
        chunk: &mut Chunk<'_>,
        bytes: &mut [u8],
    ) -> Result<usize, Error> {
        let sending = self.sending;
        let mut guard = match level {
            CompressionLevel::None => None,
            _ => Some(sending.encoders.acquire(KEEPALIVE_INTERVAL, || {
                sending.stop.check()?;
                self.channel.send(&Data::Ping)
            })?),
        };
        if let Some(Encoding { encoder, pages, check }) = guard.as_deref_mut()
            && self.open_pages(source, chunk, bytes, pages, check)?
            && let Some((codec, encoded)) = encoder.smaller(pages, level, true)
            && let Some(room) = bytes.get_mut(..encoded.len())
        {
            Progress::add(&sending.progress.opened_bytes, chunk_bytes(source.bytes(), chunk.number) as u64);
            room.copy_from_slice(encoded);
            chunk.codec = codec;
            return Ok(encoded.len());
        }
        let kept = chunk.segments.as_ref().map_or(bytes.len(), |segments| compact(bytes, segments));
        let data = bytes.get(..kept).unwrap_or_default();
        let smaller = match &mut guard {
            Some(guard) => guard.encoder.smaller(data, level, false),
            None => all_zero(data).then_some((Codec::Zeros, &[][..])),
        };
        let Some((codec, encoded)) = smaller else { return Ok(kept) };
        if let Some(room) = bytes.get_mut(..encoded.len()) {
            room.copy_from_slice(encoded);
        }
        chunk.codec = codec;
        Ok(encoded.len())
    }

    /// Decrypts the chunk's pages if its file is an encrypted tablespace or log with an available
    /// key.
    fn open_pages(
        &mut self,
        source: &SourceFile<'_>,
        chunk: &Chunk<'_>,
        bytes: &[u8],
        pages: &mut Vec<u8>,
        check: &mut Vec<u8>,
    ) -> Result<bool, Error> {
        let Some(keys) = self.sending.keys else { return Ok(false) };
        let file = usize::try_from(chunk.file).unwrap_or(usize::MAX);
        if self.keys.as_ref().is_none_or(|known| known.file != file) {
            let redo = || self.sending.redo.for_log(self.sending.plan, file);
            let (head, travel) = (source.head(HEAD_BYTES)?, KeyFileKeys::Send);
            let space = SpaceKeys::from_head(&head, keys, self.sending.key_file_keys, redo);
            let withheld = if space.is_none() { SpaceKeys::from_head(&head, keys, travel, || None) } else { None };
            self.keys = Some(FileKeys { file, space, cipher: None, withheld });
        }
        let offset = chunk.number.saturating_mul(CHUNK_BYTES as u64);
        let Some(FileKeys { space: Some(space), cipher, .. }) = &mut self.keys else {
            let withheld = self.keys.as_ref().and_then(|known| known.withheld.as_ref());
            if withheld.is_some_and(|space| space.cipher(KeyVersion(0), offset, bytes, keys).is_some()) {
                Progress::add(&self.sending.progress.withheld_bytes, bytes.len() as u64);
            }
            return Ok(false);
        };
        let version = space.version_of(bytes);
        if cipher.as_ref().is_none_or(|(known, ..)| *known != version) {
            let Some(made) = space.cipher(version, offset, bytes, keys) else { return Ok(false) };
            let slot = self.next_slot;
            self.next_slot = (slot + 1) % SLOTS;
            self.channel.queue(&Data::Key { slot, material: Material(&made.encode()) }, &[])?;
            *cipher = Some((version, slot, made));
        }
        let Some((_, slot, cipher)) = cipher else { return Ok(false) };
        Ok(cipher.decrypt(*slot, offset, bytes, pages, check) > 0)
    }
}

fn send(sending: &Sending<'_>, channel: &mut DataChannel, chunk: Chunk<'_>, payload: &[u8]) -> Result<(), Error> {
    let mut waited = Duration::ZERO;
    if let Some(limiter) = sending.limiter {
        let reserved = limiter.reserve(payload.len() as u64);
        waited = reserved.wait;
        let mut left = waited;
        while left > KEEPALIVE_INTERVAL {
            sleep(KEEPALIVE_INTERVAL);
            channel.send(&Data::Ping)?;
            left -= KEEPALIVE_INTERVAL;
        }
        sleep(left);
    }
    let wire_bytes = channel.queue(&Data::Chunk(chunk), payload)?;
    Progress::add(&sending.progress.wire_bytes, wire_bytes);
    Progress::add_time(&sending.progress.network_wait, waited + channel.take_waited());
    Ok(())
}

/// Moves the parts that are not holes to the front; returns their total length.
fn compact(bytes: &mut [u8], segments: &[Segment]) -> usize {
    let mut to = 0;
    for segment in segments {
        let (from, count) = (segment.from as usize, segment.bytes as usize);
        if from + count <= bytes.len() {
            bytes.copy_within(from..from + count, to);
            to += count;
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_moved_to_the_front() {
        let mut bytes = *b"ab..cd.e";
        let segments = [(0, 2), (4, 2), (7, 1)].map(|(from, bytes)| Segment { from, bytes });
        assert_eq!(compact(&mut bytes, &segments), 5);
        assert_eq!(&bytes[..5], b"abcde");
    }
}
