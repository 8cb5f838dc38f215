//! Encrypted pages and logs are sent decrypted, so that they compress, and encrypted again on
//! arrival.
//!
//! A unit is decrypted as a whole. It is a page of a tablespace, a block of a redo log, or all of a
//! chunk of a binary log. Encrypting a decrypted unit gives identical bytes, given the key and
//! how the unit was encrypted. The sender checks this: it encrypts each unit again, compares, and
//! sends a unit that differs unchanged. Keys are sent through TLS and are never written to disk.
//!
//! Before compression, the payload of decrypted units is a description and the bytes of the chunk:
//!
//! ```text
//! 2            slot of the key
//! 2            number of units described
//!              pages of tablespaces, for each:
//! 1            0: unchanged   1: MySQL type 15   2: MySQL type 16   3: MySQL type 17   4: MariaDB
//! 4            MySQL: end of the encrypted bytes in the page
//!              logs, per eight units, the first in the highest bit:
//! 1            0: unchanged   1: decrypted
//!              logs of MariaDB without blocks, for the one unit:
//! 4            start of the decrypted part in the chunk, 0 if there is none
//! 4            its end, 0 if there is none
//! then         the bytes of the chunk, holes included as zeros
//! ```

mod binlog;
mod events;
#[cfg(test)]
mod hostile;
mod keys;
mod mariadb;
mod mariadb_blocks;
mod mariadb_redo;
mod marks;
mod mysql;
mod redo;
#[cfg(test)]
mod samples;

use std::fmt;

use innodb::crypt::mariadb::Mode;
use innodb::page::layout::{MAX_PAGE_BYTES, MIN_PAGE_BYTES};
use zeroize::Zeroizing;

use self::{
    binlog::BinlogStream, events::LogEvents, mariadb::MariaDbPages, mariadb_blocks::LogBlocks,
    mariadb_redo::MiniTransactions, marks::Mark, mysql::MySqlPages, redo::RedoBlocks,
};
pub use self::{
    keys::{HEAD_BYTES, KeyFileKeys, SpaceKeys},
    marks::MarkEncoding,
};
use crate::{Fields, Malformed, hash::CHUNK_BYTES};

/// A payload cannot be decoded, or does not fit its chunk or its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a payload that cannot be decoded")]
pub struct InvalidPayload;

/// Slot and number of units.
const COUNT_BYTES: usize = 4;
/// Maximum length of a description, reached with the smallest pages.
pub const MAX_DESCRIPTION_BYTES: usize = COUNT_BYTES + MarkEncoding::Pages.bytes(CHUNK_BYTES / MIN_PAGE_BYTES);

/// Maximum length of an encoded key, reached by MySQL's pages. Buffers have this capacity from the start: growing would
/// leave an unwiped copy.
const MAX_KEY_BYTES: usize = 1 + 4 + 32 + 32;

/// Decryption and encryption of one kind of file.
trait Scheme: fmt::Debug + Send + Sync {
    /// Number of the kind in a key message.
    fn kind(&self) -> u8;

    /// Bytes of a unit in a chunk of `chunk_bytes` (more than 0); by default the whole chunk. Bytes
    /// after the last whole unit are never decrypted.
    fn unit_bytes(&self, chunk_bytes: usize) -> usize {
        chunk_bytes.max(1)
    }

    /// Encoding of the marks of these units.
    fn form(&self) -> MarkEncoding;

    /// Whether the mode is AES-CTR, for kinds of files that do not record the mode.
    fn counter_mode(&self) -> bool {
        false
    }

    /// Whether a unit of this length can have been encrypted as `mark` claims.
    fn accepts(&self, mark: Mark, unit_bytes: usize) -> bool {
        match self.form() {
            MarkEncoding::Parts => mark.is_part_of(unit_bytes),
            MarkEncoding::Pages | MarkEncoding::Bits => matches!(mark, Mark::Unchanged | Mark::Decrypted),
        }
    }

    /// Appends the encoding that [`DecodeScheme`] reads.
    fn encode(&self, out: &mut Vec<u8>);

    /// Decrypts units in place as far as possible, and returns a mark for each. There is at least one; the first starts
    /// at `offset` of the file. A wrong result does no harm: the comparison detects it, or encrypting it restores the
    /// right bytes.
    fn decrypt(&self, offset: u64, units: &mut [u8]) -> Vec<Mark>;

    /// Encrypts marked units in place, to their original bytes.
    fn encrypt(&self, offset: u64, marks: &[Mark], units: &mut [u8]);
}

/// Decodes one kind of key; [`Malformed`] if the fields are invalid.
type DecodeScheme = fn(&mut Fields<'_>) -> Result<Box<dyn Scheme>, Malformed>;

/// Kinds of keys by number.
const KINDS: [(u8, DecodeScheme); 7] = [
    (MySqlPages::KIND, MySqlPages::read),
    (MariaDbPages::KIND, MariaDbPages::read),
    (BinlogStream::KIND, BinlogStream::read),
    (RedoBlocks::KIND, RedoBlocks::read),
    (LogEvents::KIND, LogEvents::read),
    (MiniTransactions::KIND, MiniTransactions::read),
    (LogBlocks::KIND, LogBlocks::read),
];

/// Decryption and encryption of the pages of one tablespace, or of the units of a log.
#[derive(Debug)]
pub struct SpaceCipher {
    scheme: Box<dyn Scheme>,
}

impl SpaceCipher {
    fn new(scheme: impl Scheme + 'static) -> Self {
        Self { scheme: Box::new(scheme) }
    }

    /// Encodes the cipher for a key message.
    ///
    /// ```text
    /// 1   1: MySQL   2: MariaDB   3: MySQL's binary log   4: MySQL's redo log
    /// 5: MariaDB's binary log   6, 7: MariaDB's redo log, since 10.8 and before
    /// MySQL:      4 bytes of a page   32 key   32 initialisation vector
    /// MariaDB:    4 bytes of a page   16 page key   1 full_crc32: 0, older: 1
    ///             1 compression algorithm, or row-compressed   1 CBC: 0, CTR: 1   4 space id
    /// binary log: 32 key   8 first half of the counter blocks
    /// redo log:   32 key   32 initialisation vector
    /// MariaDB's binary log:   1 CBC: 0, CTR: 1   12 nonce   16, 24 or 32 key
    /// MariaDB's redo log:     1 all records as one: 0, page by page: 1   1 CBC: 0, CTR: 1   16 key
    /// before 10.8:            1 with key versions: 1, without: 0   1 CBC: 0, CTR: 1   16 key   4 nonce
    ///                         8 a position near that of every block
    /// ```
    #[must_use]
    pub fn encode(&self) -> Zeroizing<Vec<u8>> {
        let mut out = Zeroizing::new(Vec::with_capacity(MAX_KEY_BYTES));
        out.push(self.scheme.kind());
        self.scheme.encode(&mut out);
        debug_assert!(out.len() <= MAX_KEY_BYTES, "an unwiped copy of a key is left behind");
        out
    }

    /// Decodes a key message.
    ///
    /// # Errors
    /// [`Malformed`] if the kind or the fields are invalid.
    pub fn decode(material: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Fields(material);
        let kind = fields.u8()?;
        let (_, read) = KINDS.iter().find(|(number, _)| *number == kind).ok_or(Malformed)?;
        let scheme = read(&mut fields)?;
        fields.end()?;
        Ok(Self { scheme })
    }

    /// Number of its kind, as in a key message.
    #[must_use]
    pub fn kind(&self) -> u8 {
        self.scheme.kind()
    }

    /// Whether the mode is AES-CTR, for kinds of files that do not record the mode.
    #[must_use]
    pub fn counter_mode(&self) -> bool {
        self.scheme.counter_mode()
    }

    /// Encoding of the marks of its units.
    #[must_use]
    pub fn form(&self) -> MarkEncoding {
        self.scheme.form()
    }

    /// Bytes of a unit in a chunk of this length.
    #[must_use]
    pub fn unit_bytes(&self, chunk_bytes: usize) -> usize {
        self.scheme.unit_bytes(chunk_bytes)
    }

    /// As [`decrypt`](Self::decrypt), but with marks and bytes separate in `memory`. Returns the number
    /// of decrypted units.
    pub fn decrypt_marked(&self, offset: u64, chunk: &[u8], memory: &mut DecryptBuffers, marks: &mut Vec<u8>) -> usize {
        let DecryptBuffers { out, check } = memory;
        out.clear();
        out.extend(chunk);
        let units = self.decrypt_in_place(offset, chunk, out, check);
        let form = self.scheme.form();
        marks.clear();
        marks.resize(form.bytes(units.len()), 0);
        form.write(&units, marks);
        count_decrypted(&units)
    }

    /// Encrypts the units of a chunk in place, each as its mark says.
    ///
    /// # Errors
    /// [`InvalidPayload`] if the marks do not fit the cipher or the chunk; nothing is changed then.
    pub fn encrypt(&self, offset: u64, marks: &[u8], chunk: &mut [u8]) -> Result<(), InvalidPayload> {
        let unit_bytes = self.scheme.unit_bytes(chunk.len());
        let mut fields = Fields(marks);
        let marks = self.scheme.form().read(&mut fields, chunk.len() / unit_bytes).map_err(|_| InvalidPayload)?;
        fields.end().map_err(|_| InvalidPayload)?;
        if !marks.iter().all(|mark| self.scheme.accepts(*mark, unit_bytes)) {
            return Err(InvalidPayload);
        }
        self.scheme.encrypt(offset, &marks, chunk);
        Ok(())
    }

    /// Decrypts a chunk that starts at `offset` of its file: `out` becomes description and bytes,
    /// ready for compression. `check` is a buffer for encrypting them again. Returns the number of
    /// decrypted units.
    pub fn decrypt(&self, slot: u16, offset: u64, chunk: &[u8], out: &mut Vec<u8>, check: &mut Vec<u8>) -> usize {
        let (unit_bytes, form) = (self.scheme.unit_bytes(chunk.len()), self.scheme.form());
        let units = chunk.len() / unit_bytes;
        let description_bytes = COUNT_BYTES + form.bytes(units);
        out.clear();
        out.reserve(description_bytes + chunk.len());
        out.resize(description_bytes, 0);
        out.extend(chunk);
        let (description, decrypted) = out.split_at_mut(description_bytes);
        let marks = self.decrypt_in_place(offset, chunk, decrypted, check);
        let (count, described) = description.split_at_mut(COUNT_BYTES);
        let units = u16::try_from(units).unwrap_or_default();
        count.copy_from_slice(&((u32::from(slot) << 16) | u32::from(units)).to_be_bytes());
        form.write(&marks, described);
        count_decrypted(&marks)
    }

    /// Decrypts the units of `decrypted`, a copy of `chunk`. Restores the units that encryption would not reproduce.
    fn decrypt_in_place(&self, offset: u64, chunk: &[u8], decrypted: &mut [u8], check: &mut Vec<u8>) -> Vec<Mark> {
        let unit_bytes = self.scheme.unit_bytes(chunk.len());
        let mut marks = if chunk.len() < unit_bytes { Vec::new() } else { self.scheme.decrypt(offset, decrypted) };
        check.clear();
        check.extend(&*decrypted);
        self.scheme.encrypt(offset, &marks, check);
        let originals = chunk.chunks_exact(unit_bytes);
        let copies = decrypted.chunks_exact_mut(unit_bytes).zip(check.chunks_exact(unit_bytes));
        for ((mark, original), (unit, encrypted)) in marks.iter_mut().zip(originals).zip(copies) {
            if encrypted != original {
                *mark = Mark::Unchanged;
                unit.copy_from_slice(original);
            }
        }
        marks
    }
}

/// Reusable buffers for decrypting chunks. They contain pages in clear text.
#[derive(Default)]
pub struct DecryptBuffers {
    out: Zeroizing<Vec<u8>>,
    check: Zeroizing<Vec<u8>>,
}

impl DecryptBuffers {
    /// The bytes that were decrypted last.
    #[must_use]
    pub fn decrypted(&self) -> &[u8] {
        &self.out
    }
}

impl fmt::Debug for DecryptBuffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DecryptBuffers")
    }
}

/// A received chunk of decrypted units.
pub struct DecryptedChunk<'p> {
    /// Slot of the key to encrypt the units with.
    pub slot: u16,
    units: u16,
    rest: &'p [u8],
}

impl fmt::Debug for DecryptedChunk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecryptedChunk").field("slot", &self.slot).field("units", &self.units).finish_non_exhaustive()
    }
}

impl<'p> DecryptedChunk<'p> {
    /// Parses the description of a decompressed payload.
    ///
    /// # Errors
    /// [`Malformed`] if it is too short.
    pub fn parse(payload: &'p [u8]) -> Result<Self, Malformed> {
        let mut fields = Fields(payload);
        Ok(Self { slot: fields.u16()?, units: fields.u16()?, rest: fields.rest() })
    }

    /// Encrypts the bytes after the description into `chunk`, which starts at `offset` of its file.
    ///
    /// # Errors
    /// [`InvalidPayload`] if the description does not fit the cipher or the chunk.
    pub fn encrypt(&self, cipher: &SpaceCipher, offset: u64, chunk: &mut [u8]) -> Result<(), InvalidPayload> {
        let scheme = &cipher.scheme;
        let units = chunk.len() / scheme.unit_bytes(chunk.len());
        if usize::from(self.units) != units {
            return Err(InvalidPayload);
        }
        let mut fields = Fields(self.rest);
        let marks = scheme.form().read(&mut fields, units).map_err(|_| InvalidPayload)?;
        let decrypted = fields.rest();
        let unit_bytes = scheme.unit_bytes(chunk.len());
        if decrypted.len() != chunk.len() || !marks.iter().all(|mark| scheme.accepts(*mark, unit_bytes)) {
            return Err(InvalidPayload);
        }
        chunk.copy_from_slice(decrypted);
        scheme.encrypt(offset, &marks, chunk);
        Ok(())
    }
}

fn count_decrypted(marks: &[Mark]) -> usize {
    marks.iter().filter(|mark| **mark != Mark::Unchanged).count()
}

/// Decodes MariaDB's mode of operation.
fn mode(fields: &mut Fields<'_>) -> Result<Mode, Malformed> {
    match fields.u8()? {
        0 => Ok(Mode::Cbc),
        1 => Ok(Mode::Ctr),
        _ => Err(Malformed),
    }
}

fn is_ctr(mode: Mode) -> u8 {
    u8::from(mode == Mode::Ctr)
}

/// Decodes a page size; only those of servers are valid.
fn page_bytes(fields: &mut Fields<'_>) -> Result<usize, Malformed> {
    let bytes = usize::try_from(fields.u32()?).map_err(|_| Malformed)?;
    let sound = bytes.is_power_of_two() && (MIN_PAGE_BYTES..=MAX_PAGE_BYTES).contains(&bytes);
    sound.then_some(bytes).ok_or(Malformed)
}

fn put_page_bytes(out: &mut Vec<u8>, bytes: usize) {
    out.extend(u32::try_from(bytes).unwrap_or_default().to_be_bytes());
}
