//! A log as a sequence of decrypted events, read in bounded memory.

use crc_fast::{CrcAlgorithm::Crc32IsoHdlc, Digest};
use files::ReadAt;
use zeroize::Zeroizing;

use crate::{
    binlog::{EVENT_HEADER_BYTES, EventHeader, FORMAT_DESCRIPTION},
    bytes::{Bytes, all_zero, as_u64, as_usize},
    crypt::{
        aes::{BLOCK, CipherFault},
        binlog::{EventPieces, MariaDbEvents, MySqlStream},
    },
    error::ScanError,
    read::fill,
};

/// Number of bytes of an event that are read at once. [`EventPieces`] must accept it.
pub(super) const PIECE_BYTES: usize = 65536 + 4;
/// Bytes of the checksum at the end of an event.
pub(super) const CHECKSUM_BYTES: u32 = 4;
/// Offset of the low byte of the flags. The server changes its lowest bit when it closes a log, so
/// the checksum of a format description event is computed with that bit cleared.
const IN_USE_AT: usize = 17;

/// How events are encrypted in the file.
pub(super) enum Cipher {
    Clear,
    MySql(MySqlStream),
    MariaDb(MariaDbEvents),
}

/// A log. All offsets are in the clear stream, which starts `base` bytes into the file.
pub(super) struct Log<'s, R: ?Sized> {
    pub(super) source: &'s R,
    pub(super) base: u64,
    pub(super) end: u64,
    pub(super) cipher: Cipher,
}

/// Result of checking an event's checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sum {
    Right,
    Wrong {
        stored: u32,
        computed: u32,
    },
    /// The file became shorter while it was read.
    Gone,
}

impl<R: ReadAt + ?Sized> Log<'_, R> {
    pub(super) const fn file_offset(&self, at: u64) -> u64 {
        self.base.saturating_add(at)
    }

    /// Length of the encrypted event at `at` in MariaDB's log. Lengths are never encrypted.
    fn encrypted_bytes(&self, at: u64) -> Result<Option<u32>, ScanError> {
        let mut buf = [0; EVENT_HEADER_BYTES];
        Ok(fill(self.source, self.file_offset(at), &mut buf)?.le32(9))
    }

    /// The header of the event at `at`; `None` if the log ends before its end, or the event gives a
    /// length shorter than its header.
    pub(super) fn header(&self, at: u64) -> Result<Option<EventHeader>, ScanError> {
        let mut buf = Zeroizing::new([0; EventPieces::FIRST_BYTES]);
        Ok(EventHeader::parse(self.start(at, buf.as_mut_slice())?))
    }

    /// The first bytes of the event at `at`, as many of `buf` as the file has.
    fn start<'b>(&self, at: u64, buf: &'b mut [u8]) -> Result<&'b [u8], ScanError> {
        let event_bytes = match self.cipher {
            Cipher::MariaDb(_) => self.encrypted_bytes(at)?.map_or(0, u64::from),
            _ => u64::MAX,
        };
        let wanted = buf.len().min(as_usize(event_bytes)).min(as_usize(self.end.saturating_sub(at)));
        let mut reader = self.reader(at, event_bytes);
        let found = reader.next(buf.get_mut(..wanted).unwrap_or_default())?;
        Ok(buf.get(..found).unwrap_or_default())
    }

    /// The whole event at `at` if it is no longer than `max_bytes`.
    pub(super) fn event(&self, at: u64, event: EventHeader, max_bytes: u32) -> Result<Option<Vec<u8>>, ScanError> {
        if event.bytes > max_bytes {
            return Ok(None);
        }
        let mut bytes = vec![0; as_usize(u64::from(event.bytes))];
        let found = self.reader(at, u64::from(event.bytes)).next(&mut bytes)?;
        Ok((found == bytes.len()).then_some(bytes))
    }

    /// Bytes of the stream from `at` on. Does not decrypt MariaDB's events.
    pub(super) fn bytes<'b>(&self, at: u64, buf: &'b mut [u8]) -> Result<&'b [u8], ScanError> {
        let wanted = buf.len().min(as_usize(self.end.saturating_sub(at)));
        let found = self.reader(at, u64::MAX).next(buf.get_mut(..wanted).unwrap_or_default())?;
        Ok(buf.get(..found).unwrap_or_default())
    }

    /// Whether every byte of the file is zero from `at` on.
    pub(super) fn zero_from(&self, mut at: u64) -> Result<bool, ScanError> {
        let mut buf = vec![0; PIECE_BYTES];
        while at < self.end {
            let piece = fill(self.source, self.file_offset(at), &mut buf)?;
            if piece.is_empty() {
                break;
            }
            if !all_zero(piece) {
                return Ok(false);
            }
            at = at.saturating_add(as_u64(piece.len()));
        }
        Ok(true)
    }

    /// Compares the CRC-32 of the event at `at` with its last four bytes.
    pub(super) fn sum(&self, at: u64, event: EventHeader) -> Result<Sum, ScanError> {
        let mut left = event.bytes.saturating_sub(CHECKSUM_BYTES);
        let mut digest = Digest::new(Crc32IsoHdlc);
        let mut stored = Vec::with_capacity(as_usize(u64::from(CHECKSUM_BYTES)));
        let mut reader = self.reader(at, u64::from(event.bytes));
        let mut buf = vec![0; PIECE_BYTES.min(as_usize(u64::from(event.bytes)))];
        let mut first = true;
        while reader.left() > 0 {
            let found = reader.next(&mut buf)?;
            if found == 0 {
                return Ok(Sum::Gone);
            }
            let piece = buf.get_mut(..found).unwrap_or_default();
            if first && event.kind == FORMAT_DESCRIPTION {
                piece.iter_mut().skip(IN_USE_AT).take(1).for_each(|flags| *flags &= !1);
            }
            first = false;
            let (covered, tail) = piece.split_at(piece.len().min(as_usize(u64::from(left))));
            digest.update(covered);
            stored.extend_from_slice(tail);
            left = left.saturating_sub(u32::try_from(covered.len()).unwrap_or(u32::MAX));
        }
        let stored = stored.le32(0).unwrap_or(0);
        let computed = u32::try_from(digest.finalize()).unwrap_or(0);
        Ok(if stored == computed { Sum::Right } else { Sum::Wrong { stored, computed } })
    }

    fn reader(&self, at: u64, event_bytes: u64) -> Reader<'_, R> {
        let decryptor = match &self.cipher {
            Cipher::Clear => Decryptor::None,
            Cipher::MySql(stream) => Decryptor::Stream(stream),
            Cipher::MariaDb(events) => Decryptor::Event(events.pieces(self.file_offset(at), event_bytes)),
        };
        Reader {
            source: self.source,
            base: self.base,
            at,
            end: at.saturating_add(event_bytes),
            begun: false,
            decryptor,
        }
    }
}

enum Decryptor<'k> {
    None,
    Stream(&'k MySqlStream),
    Event(EventPieces<'k>),
}

/// Reads and decrypts one event from its start.
struct Reader<'l, R: ?Sized> {
    source: &'l R,
    base: u64,
    at: u64,
    end: u64,
    begun: bool,
    decryptor: Decryptor<'l>,
}

/// Only the first piece of an encrypted event has bytes before its first block.
const fn whole_blocks(bytes: usize) -> usize {
    bytes.saturating_sub(bytes % BLOCK)
}

impl<R: ReadAt + ?Sized> Reader<'_, R> {
    const fn left(&self) -> u64 {
        self.end.saturating_sub(self.at)
    }

    /// Fills `buf`, limited by the length of a piece and by the end of the event; returns 0 if the
    /// file ends inside the event.
    fn next(&mut self, buf: &mut [u8]) -> Result<usize, ScanError> {
        let whole = if self.begun { whole_blocks(buf.len()) } else { buf.len() };
        let wanted = whole.min(as_usize(self.left()));
        let piece = buf.get_mut(..wanted).unwrap_or_default();
        let offset = self.base.saturating_add(self.at);
        if fill(self.source, offset, piece)?.len() < wanted {
            return Ok(0);
        }
        let decrypted = match &mut self.decryptor {
            Decryptor::None => Ok(()),
            Decryptor::Stream(stream) => stream.apply(self.at, piece),
            Decryptor::Event(pieces) => pieces.decrypt(piece),
        };
        self.at = self.at.saturating_add(as_u64(wanted));
        self.begun = true;
        // Decryption cannot fail: no caller reads an event that is shorter than its header.
        Ok(decrypted.map_or_else(|CipherFault| 0, |()| wanted))
    }
}
