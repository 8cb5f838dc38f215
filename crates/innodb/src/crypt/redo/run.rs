//! Consecutive encrypted mini-transactions in a part of MariaDB's log.
//!
//! The checksum of a mini-transaction covers the stored bytes, so its end, and the first
//! mini-transaction in a part of a log, are found without a key. The fields that mark the end of
//! records are not encrypted, so encryption finds the same boundaries again.
//!
//! Source: docs/formats, "Redo (`ib_logfile0`)".

use zeroize::Zeroizing;

use crate::{
    bytes::Bytes,
    crypt::redo::{
        LogCipher,
        mariadb_encrypted::{ScratchBuffer, decrypt_in, encrypt_in},
        mariadb_phys,
    },
    redo::records::{self, Framing, frame, frame_within},
};

/// Which part of the records is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLayout {
    /// All records as one stream: first bytes f0 9f 97 9d.
    OneStream,
    /// The body of each record about a page: the older `Phys`.
    PageRecords,
}

const SEQUENCE_BYTES: usize = 1;
const NONCE_BYTES: usize = 8;
const CHECKSUM_BYTES: usize = 4;
/// Bytes after the records.
const TAIL_BYTES: usize = SEQUENCE_BYTES + NONCE_BYTES + CHECKSUM_BYTES;
/// Maximum number of records that the search for the first mini-transaction reads: some milliseconds of work.
const SEARCH_WORK: usize = 1 << 21;
/// Bytes that are checksummed in the time one record takes.
const BYTES_PER_RECORD: usize = 64;

/// Offset of the first whole mini-transaction in a part of a log. It follows another mini-transaction,
/// or the file's header, which ends with zeros. Only offsets at which the tail of a mini-transaction
/// can end are tried: trying every byte would take too long in long mini-transactions.
#[must_use]
pub fn first(part: &[u8]) -> Option<usize> {
    let mut work = SEARCH_WORK;
    let begins = |at: &usize| at.checked_sub(TAIL_BYTES).is_none_or(|end| matches!(part.get(end), Some(0 | 1)));
    let offsets = (0..part.len()).take_while(|at| part.len().saturating_sub(*at) > TAIL_BYTES);
    offsets.filter(begins).find(|at| {
        let rest = part.get(*at..).unwrap_or_default();
        let Framing::Records(count) = frame_within(rest, &mut work) else { return false };
        work = work.saturating_sub(count / BYTES_PER_RECORD);
        Unit::parse(rest, count).is_some_and(|unit| unit.holds(rest))
    })
}

/// Decrypts the mini-transactions of `run`, which starts with one, up to the first whose checksum
/// does not match. Returns the end of the last one; the bytes after it stay.
pub fn decrypt(cipher: &LogCipher, layout: RunLayout, run: &mut [u8]) -> usize {
    let mut buffer = ScratchBuffer::default();
    each(run, |rest, unit| unit.holds(rest) && unit.crypt(rest, cipher, layout, Direction::Decrypt, &mut buffer))
}

/// Encrypts every mini-transaction of `run` to its original bytes. [`decrypt`] must have decrypted them all.
pub fn encrypt(cipher: &LogCipher, layout: RunLayout, run: &mut [u8]) -> usize {
    let mut buffer = ScratchBuffer::default();
    each(run, |rest, unit| unit.crypt(rest, cipher, layout, Direction::Encrypt, &mut buffer))
}

/// How many of the first mini-transactions of `run` decrypt to valid and to invalid records. Those
/// without encrypted bytes are not counted.
#[must_use]
pub fn count_valid(cipher: &LogCipher, layout: RunLayout, run: &[u8]) -> (u32, u32) {
    const MAX_TESTED: u32 = 64;
    let (mut fits, mut misfits, mut at) = (0_u32, 0_u32, 0_usize);
    let mut buffer = ScratchBuffer::default();
    while fits.saturating_add(misfits) < MAX_TESTED
        && let Some(rest) = run.get(at..)
        && let Framing::Records(count) = frame(rest)
        && let Some(unit) = Unit::parse(rest, count).filter(|unit| unit.holds(rest))
    {
        let mut decrypted = Zeroizing::new(rest.range(0, count).to_vec());
        let silent = layout == RunLayout::PageRecords && !mariadb_phys::has_ciphertext(&decrypted);
        if !silent && unit.crypt(&mut decrypted, cipher, layout, Direction::Decrypt, &mut buffer) {
            let fit = records::contents(&decrypted).is_some();
            fits = fits.saturating_add(u32::from(fit));
            misfits = misfits.saturating_add(u32::from(!fit));
        }
        at = at.saturating_add(unit.bytes());
    }
    (fits, misfits)
}

#[derive(Clone, Copy)]
enum Direction {
    Decrypt,
    Encrypt,
}

/// A complete mini-transaction at the start of some bytes.
struct Unit {
    /// Bytes of its records.
    records: usize,
    nonce: [u8; NONCE_BYTES],
    checksum: u32,
}

impl Unit {
    const fn bytes(&self) -> usize {
        self.records.saturating_add(TAIL_BYTES)
    }

    fn parse(bytes: &[u8], records: usize) -> Option<Self> {
        let nonce = records.checked_add(SEQUENCE_BYTES)?;
        let checksum = nonce.checked_add(NONCE_BYTES)?;
        Some(Self { records, nonce: bytes.array_at(nonce)?, checksum: bytes.be32(checksum)? })
    }

    fn holds(&self, bytes: &[u8]) -> bool {
        records::checksum(bytes.range(0, self.records), &self.nonce) == self.checksum
    }

    fn crypt(
        &self,
        bytes: &mut [u8],
        cipher: &LogCipher,
        layout: RunLayout,
        direction: Direction,
        buffer: &mut ScratchBuffer,
    ) -> bool {
        let Some(records) = bytes.get_mut(..self.records) else { return false };
        let crypted = match (layout, direction) {
            (RunLayout::OneStream, Direction::Decrypt) => decrypt_in(cipher, self.nonce, records, buffer),
            (RunLayout::OneStream, Direction::Encrypt) => encrypt_in(cipher, self.nonce, records, buffer),
            (RunLayout::PageRecords, Direction::Decrypt) => mariadb_phys::decrypt(cipher, self.nonce, records),
            (RunLayout::PageRecords, Direction::Encrypt) => mariadb_phys::encrypt(cipher, self.nonce, records),
        };
        crypted.is_ok()
    }
}

/// Calls `crypt` for each mini-transaction as long as it returns `true`. Returns where it stopped.
fn each(run: &mut [u8], mut crypt: impl FnMut(&mut [u8], &Unit) -> bool) -> usize {
    let mut at = 0_usize;
    while let Some(rest) = run.get_mut(at..)
        && let Framing::Records(records) = frame(rest)
        && let Some(unit) = Unit::parse(rest, records)
        && crypt(rest, &unit)
    {
        at = at.saturating_add(unit.bytes());
    }
    at
}
