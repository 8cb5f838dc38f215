//! Mini-transactions of MariaDB's newest encrypted redo log (first bytes f0 9f 97 9d): everything
//! but types and lengths of the records is one stream of ciphertext.
//!
//! Source: formats, "Redo (`ib_logfile0`)", confirmed on MariaDB 10.11 and 11.8.

use zeroize::Zeroizing;

use crate::{
    bytes::Bytes,
    crypt::{
        aes::{Block, CipherFault},
        redo::{
            LogCipher, put,
            records::{Records, record_at},
        },
    },
};

/// Opens the records of a mini-transaction in place.
///
/// # Errors
/// [`CipherFault`], never seen.
pub fn open(cipher: &LogCipher, nonce: [u8; 8], records: &mut [u8]) -> Result<(), CipherFault> {
    open_in(cipher, nonce, records, &mut Room::default())
}

/// Seals opened records in place, to the bytes they were opened from.
///
/// # Errors
/// [`CipherFault`], never seen.
pub fn seal(cipher: &LogCipher, nonce: [u8; 8], records: &mut [u8]) -> Result<(), CipherFault> {
    seal_in(cipher, nonce, records, &mut Room::default())
}

/// Memory for the ciphertext of one mini-transaction after the other, most of which are short: taken and wiped once.
#[derive(Default)]
pub(crate) struct Room(Zeroizing<Vec<u8>>);

impl Room {
    /// Empty, with so much room that it is not moved.
    fn take(&mut self, bytes: usize) -> &mut Vec<u8> {
        if self.0.capacity() < bytes {
            self.0 = Zeroizing::new(Vec::with_capacity(bytes.next_power_of_two()));
        }
        self.0.clear();
        &mut self.0
    }
}

pub(crate) fn open_in(
    cipher: &LogCipher,
    nonce: [u8; 8],
    records: &mut [u8],
    room: &mut Room,
) -> Result<(), CipherFault> {
    as_one(nonce, records, room, |iv, stream| cipher.open(iv, stream))
}

pub(crate) fn seal_in(
    cipher: &LogCipher,
    nonce: [u8; 8],
    records: &mut [u8],
    room: &mut Room,
) -> Result<(), CipherFault> {
    as_one(nonce, records, room, |iv, stream| cipher.seal(iv, stream))
}

fn as_one(
    nonce: [u8; 8],
    records: &mut [u8],
    room: &mut Room,
    transform: impl Fn(&Block, &mut [u8]) -> Result<(), CipherFault>,
) -> Result<(), CipherFault> {
    let mut iv = Block::default();
    put(&mut iv, 0, &nonce);
    // Type and length of the first record: at most 6 bytes.
    let first = record_at(records, 0).map_or(&[][..], |first| records.range(first.begin, first.payload));
    put(&mut iv, nonce.len(), first);
    let stream = room.take(records.len());
    for place in Records::new(records) {
        stream.extend_from_slice(records.range(place.payload, place.end));
    }
    transform(&iv, stream)?;
    let (mut rest, mut at) = (stream.as_slice(), 0);
    // A list of places would take many times the bytes of the records, if these are short.
    while let Some(place) = record_at(records, at) {
        at = place.end;
        let to = records.get_mut(place.payload..place.end).ok_or(CipherFault)?;
        let (from, behind) = rest.split_at_checked(to.len()).ok_or(CipherFault)?;
        to.copy_from_slice(from);
        rest = behind;
    }
    Ok(())
}
