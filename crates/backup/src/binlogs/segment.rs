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
    pub(super) bytes: Zeroizing<Vec<u8>>,
    extent: Extent,
    /// Its beginning, up to the last place where no transaction is open.
    whole: Extent,
}

/// What a part, or the beginning of one, has.
#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    /// Length of its events.
    bytes: usize,
    /// Where it ends in its log.
    end: u64,
    events: u64,
    first: u32,
    last: u32,
}

impl PendingSegment {
    /// An empty part that begins at this position.
    pub(super) fn at(file: &str, start: u64) -> Self {
        let extent = Extent { end: start, ..Extent::default() };
        Self { file: file.to_owned(), start, bytes: Zeroizing::default(), extent, whole: extent }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.extent.events == 0
    }

    /// Where it ends in its log.
    pub(super) fn end(&self) -> u64 {
        self.extent.end
    }

    /// Adds an event that ends at `end` in its log.
    pub(super) fn add(&mut self, event: &[u8], timestamp: u32, end: u64) {
        self.bytes.extend_from_slice(event);
        let extent = &mut self.extent;
        extent.bytes = self.bytes.len();
        extent.events = extent.events.saturating_add(1);
        extent.end = extent.end.max(end);
        if timestamp > 0 {
            extent.first = if extent.first == 0 { timestamp } else { extent.first };
            extent.last = extent.last.max(timestamp);
        }
    }

    /// Records that no transaction is open at its end.
    pub(super) fn mark_whole(&mut self) {
        self.whole = self.extent;
    }

    /// Drops the events of a transaction that has not ended.
    pub(super) fn cut_to_whole(&mut self) {
        self.extent = self.whole;
        self.bytes.truncate(self.extent.bytes);
    }

    /// Compresses and encrypts it; returns it with the object to store.
    pub(super) fn encrypt(&self, recipients: &[Recipient]) -> Result<(Segment, Vec<u8>), Error> {
        let failed = |source| Error::Archive(ArchiveError::Io(source));
        let age = Encryptor::new(Vec::new(), recipients).map_err(ArchiveError::Age)?;
        let mut out = zstd::Encoder::new(age, LEVEL).map_err(failed)?;
        out.write_all(&self.bytes).map_err(failed)?;
        let encrypted = out.finish().and_then(Encryptor::finish).map_err(failed)?;
        let object = Object { sha256: Digest::compute(&encrypted), bytes: encrypted.len() as u64 };
        let Extent { end, events, first, last, .. } = self.extent;
        let segment = Segment {
            file: self.file.clone(),
            start: self.start,
            end,
            object,
            event_bytes: self.bytes.len() as u64,
            events,
            first,
            last,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_can_end_with_its_last_whole_transaction() {
        let mut part = PendingSegment::at("b.000001", 100);
        part.add(b"BEGIN", 0, 110);
        part.cut_to_whole();
        assert!(part.is_empty() && part.end() == 100 && part.bytes.is_empty());
        part.add(b"BEGIN", 7, 110);
        part.add(b"COMMIT", 8, 120);
        part.mark_whole();
        part.add(b"BEGIN", 9, 130);
        part.cut_to_whole();
        let (segment, _) = part.encrypt(&[Identity::generate().unwrap().recipient()]).unwrap();
        assert_eq!((part.bytes.as_slice(), segment.event_bytes, segment.events), (&b"BEGINCOMMIT"[..], 11, 2));
        assert_eq!((segment.start, segment.end, segment.first, segment.last), (100, 120, 7, 8));
    }
}
