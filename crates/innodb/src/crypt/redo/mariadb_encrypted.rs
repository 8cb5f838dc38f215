//! Mini-transactions of MariaDB's newest encrypted redo log (first bytes f0 9f 97 9d): everything
//! except types and lengths of the records is one stream of ciphertext.
//!
//! Source: docs/formats, "Redo (`ib_logfile0`)", confirmed on MariaDB 10.11 and 11.8.

use zeroize::Zeroizing;

use crate::{
    bytes::{Bytes, put},
    crypt::{
        aes::{Block, CipherFault},
        redo::LogCipher,
    },
    redo::records::{Records, record_at},
};

/// Decrypts the records of a mini-transaction in place.
///
/// # Errors
/// [`CipherFault`], never in practice.
pub fn decrypt(cipher: &LogCipher, nonce: [u8; 8], records: &mut [u8]) -> Result<(), CipherFault> {
    decrypt_in(cipher, nonce, records, &mut ScratchBuffer::default())
}

/// Encrypts decrypted records in place, to their original bytes.
///
/// # Errors
/// [`CipherFault`], never in practice.
pub fn encrypt(cipher: &LogCipher, nonce: [u8; 8], records: &mut [u8]) -> Result<(), CipherFault> {
    encrypt_in(cipher, nonce, records, &mut ScratchBuffer::default())
}

/// Reusable buffer for the ciphertext of a mini-transaction; most are short. Wiped on drop.
#[derive(Default)]
pub(crate) struct ScratchBuffer(Zeroizing<Vec<u8>>);

impl ScratchBuffer {
    /// Clears the buffer and gives it a capacity of `bytes`, so that it is not reallocated.
    fn take(&mut self, bytes: usize) -> &mut Vec<u8> {
        if self.0.capacity() < bytes {
            self.0 = Zeroizing::new(Vec::with_capacity(bytes.next_power_of_two()));
        }
        self.0.clear();
        &mut self.0
    }
}

pub(crate) fn decrypt_in(
    cipher: &LogCipher,
    nonce: [u8; 8],
    records: &mut [u8],
    buffer: &mut ScratchBuffer,
) -> Result<(), CipherFault> {
    apply_as_one_stream(nonce, records, buffer, |iv, stream| cipher.decrypt(iv, stream))
}

pub(crate) fn encrypt_in(
    cipher: &LogCipher,
    nonce: [u8; 8],
    records: &mut [u8],
    buffer: &mut ScratchBuffer,
) -> Result<(), CipherFault> {
    apply_as_one_stream(nonce, records, buffer, |iv, stream| cipher.encrypt(iv, stream))
}

fn apply_as_one_stream(
    nonce: [u8; 8],
    records: &mut [u8],
    buffer: &mut ScratchBuffer,
    transform: impl Fn(&Block, &mut [u8]) -> Result<(), CipherFault>,
) -> Result<(), CipherFault> {
    let mut iv = Block::default();
    put(&mut iv, 0, &nonce);
    // Type and length of the first record: at most 6 bytes.
    let first = record_at(records, 0).map_or(&[][..], |first| records.range(first.begin, first.payload));
    iv.iter_mut().skip(nonce.len()).zip(first).for_each(|(to, from)| *to = *from);
    let stream = buffer.take(records.len());
    for record in Records::new(records) {
        stream.extend_from_slice(records.range(record.payload, record.end));
    }
    transform(&iv, stream)?;
    let (mut rest, mut at) = (stream.as_slice(), 0);
    // Iterates instead of collecting ranges, which would take many times the memory of short records.
    while let Some(record) = record_at(records, at) {
        at = record.end;
        let to = records.get_mut(record.payload..record.end).ok_or(CipherFault)?;
        let (from, behind) = rest.split_at_checked(to.len()).ok_or(CipherFault)?;
        to.copy_from_slice(from);
        rest = behind;
    }
    Ok(())
}
