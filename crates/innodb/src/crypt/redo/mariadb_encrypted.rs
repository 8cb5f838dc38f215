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
            records::{Record, Records},
        },
    },
};

/// Opens the records of a mini-transaction in place.
///
/// # Errors
/// [`CipherFault`], never seen.
pub fn open(cipher: &LogCipher, nonce: [u8; 8], records: &mut [u8]) -> Result<(), CipherFault> {
    as_one(nonce, records, |iv, stream| cipher.open(iv, stream))
}

/// Seals opened records in place, to the bytes they were opened from.
///
/// # Errors
/// [`CipherFault`], never seen.
pub fn seal(cipher: &LogCipher, nonce: [u8; 8], records: &mut [u8]) -> Result<(), CipherFault> {
    as_one(nonce, records, |iv, stream| cipher.seal(iv, stream))
}

fn as_one(
    nonce: [u8; 8],
    records: &mut [u8],
    transform: impl Fn(&Block, &mut [u8]) -> Result<(), CipherFault>,
) -> Result<(), CipherFault> {
    let places: Vec<Record> = Records::new(records).collect();
    let mut iv = Block::default();
    put(&mut iv, 0, &nonce);
    // Type and length of the first record: at most 6 bytes.
    let first = places.first().map_or(&[][..], |first| records.range(first.begin, first.payload));
    put(&mut iv, nonce.len(), first);
    let mut stream = Zeroizing::new(Vec::with_capacity(records.len()));
    for place in &places {
        stream.extend_from_slice(records.range(place.payload, place.end));
    }
    transform(&iv, &mut stream)?;
    let mut rest = stream.as_slice();
    for place in &places {
        let to = records.get_mut(place.payload..place.end).ok_or(CipherFault)?;
        let (from, behind) = rest.split_at_checked(to.len()).ok_or(CipherFault)?;
        to.copy_from_slice(from);
        rest = behind;
    }
    Ok(())
}
