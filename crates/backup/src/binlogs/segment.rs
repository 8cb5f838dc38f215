//! Parts of binary logs: events in a zstd frame in an age file.

use std::io::{Cursor, Read, Write};

use agefile::{Decryptor, Encryptor, Identity, Recipient};
use archive::{
    Digest, Error as ArchiveError,
    binlog::{MAX_SEGMENT_BYTES, Segment},
    receipt::Object,
};
use store::Put;
use zeroize::Zeroizing;

use crate::{
    Error, Repository,
    repository::{name, read_whole},
};

/// Events of logs compress well even at a low level.
const LEVEL: i32 = 3;

/// Events that are not stored yet, all from one log.
#[derive(Debug, Default)]
pub(super) struct PendingSegment {
    pub(super) file: String,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) bytes: Zeroizing<Vec<u8>>,
    events: u64,
    first: u32,
    last: u32,
}

impl PendingSegment {
    /// An empty part that begins at this position.
    pub(super) fn at(file: &str, start: u64) -> Self {
        Self { file: file.to_owned(), start, end: start, ..Self::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events == 0
    }

    /// Adds an event that ends at `end` in its log.
    pub(super) fn add(&mut self, event: &[u8], timestamp: u32, end: u64) {
        self.bytes.extend_from_slice(event);
        self.events = self.events.saturating_add(1);
        self.end = self.end.max(end);
        if timestamp > 0 {
            self.first = if self.first == 0 { timestamp } else { self.first };
            self.last = self.last.max(timestamp);
        }
    }

    /// Compresses and encrypts it; returns it with the object to store.
    pub(super) fn encrypt(&self, recipients: &[Recipient]) -> Result<(Segment, Vec<u8>), Error> {
        let failed = |source| Error::Archive(ArchiveError::Io(source));
        let age = Encryptor::new(Vec::new(), recipients).map_err(ArchiveError::Age)?;
        let mut out = zstd::Encoder::new(age, LEVEL).map_err(failed)?;
        out.write_all(&self.bytes).map_err(failed)?;
        let encrypted = out.finish().and_then(Encryptor::finish).map_err(failed)?;
        let object = Object { sha256: Digest::compute(&encrypted), bytes: encrypted.len() as u64 };
        let segment = Segment {
            file: self.file.clone(),
            start: self.start,
            end: self.end,
            object,
            event_bytes: self.bytes.len() as u64,
            events: self.events,
            first: self.first,
            last: self.last,
        };
        Ok((segment, encrypted))
    }
}

/// Stores the object of a part.
pub(super) fn put(
    repository: &Repository,
    (host, server): (&str, &str),
    segment: &Segment,
    encrypted: &[u8],
) -> Result<(), Error> {
    let object = segment.name(host, server);
    let put = repository.store().put_new(&name(&object)?, &mut Cursor::new(encrypted), segment.object.bytes)?;
    if put == Put::New || repository.is_ours(&object, segment.object)? {
        return Ok(());
    }
    let source = ArchiveError::Receipt("another object has its name".to_owned());
    Err(Error::Object { object, source })
}

/// Reads the events of a part, after comparing the object with its receipt.
pub(super) fn read(
    repository: &Repository,
    object: &str,
    segment: &Segment,
    identities: &[Identity],
) -> Result<Zeroizing<Vec<u8>>, Error> {
    let wrong = |source: ArchiveError| Error::Object { object: object.to_owned(), source };
    let limit = segment.event_bytes.min(MAX_SEGMENT_BYTES);
    let mut encrypted = Vec::new();
    read_whole(repository, object, segment.object, &mut encrypted)?;
    let age = Decryptor::new(encrypted.as_slice(), identities).map_err(|source| wrong(ArchiveError::Age(source)))?;
    let mut events = Zeroizing::new(Vec::with_capacity(usize::try_from(limit).unwrap_or(0)));
    let plain = zstd::Decoder::new(age).map_err(|source| wrong(source.into()))?;
    plain.take(limit.saturating_add(1)).read_to_end(&mut events).map_err(|source| wrong(source.into()))?;
    if events.len() as u64 == segment.event_bytes {
        return Ok(events);
    }
    Err(wrong(ArchiveError::Receipt(format!(
        "it has {} bytes of events instead of {}",
        events.len(),
        segment.event_bytes
    ))))
}
