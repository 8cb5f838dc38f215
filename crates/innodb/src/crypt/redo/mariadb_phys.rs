//! Mini-transactions of MariaDB's older encrypted `Phys` redo log: the body of each page record is
//! encrypted separately; page numbers and file records stay readable.
//!
//! Source: docs/formats, "Redo (`ib_logfile0`)", confirmed on MariaDB 11.4.

use crate::{
    bytes::put,
    crypt::{
        aes::{Block, CipherFault},
        redo::LogCipher,
    },
    redo::records::{PageId, Records, record_at, same_page},
};

/// Decrypts the records of a mini-transaction in place.
///
/// # Errors
/// [`CipherFault`], never in practice. Records that name no page stay as they are.
pub fn decrypt(cipher: &LogCipher, nonce: [u8; 8], records: &mut [u8]) -> Result<(), CipherFault> {
    one_by_one(nonce, records, |iv, body| cipher.decrypt(iv, body))
}

/// Encrypts decrypted records in place, to their original bytes.
///
/// # Errors
/// [`CipherFault`], never in practice.
pub fn encrypt(cipher: &LogCipher, nonce: [u8; 8], records: &mut [u8]) -> Result<(), CipherFault> {
    one_by_one(nonce, records, |iv, body| cipher.encrypt(iv, body))
}

fn one_by_one(
    nonce: [u8; 8],
    records: &mut [u8],
    transform: impl Fn(&Block, &mut [u8]) -> Result<(), CipherFault>,
) -> Result<(), CipherFault> {
    let mut iv = Block::default();
    put(&mut iv, 0, &nonce);
    let (mut page_before, mut at) = (false, 0);
    while let Some(record) = record_at(records, at) {
        at = record.end;
        let payload = records.get_mut(record.payload..record.end).ok_or(CipherFault)?;
        // A further record for the same page has no page id of its own and uses the same vector.
        let body = if same_page(record.first, page_before) {
            payload
        } else {
            page_before = record.first & 0x80 == 0;
            let Some(id) = PageId::parse(payload).filter(|_| page_before) else { continue };
            put(&mut iv, 8, &id.space.to_be_bytes());
            put(&mut iv, 12, &id.page.to_be_bytes());
            payload.get_mut(id.bytes..).ok_or(CipherFault)?
        };
        transform(&iv, body)?;
    }
    Ok(())
}

/// Whether a mini-transaction has any encrypted bytes.
#[must_use]
pub fn has_ciphertext(records: &[u8]) -> bool {
    let mut page_before = false;
    Records::new(records).any(|record| {
        if same_page(record.first, page_before) {
            return true;
        }
        page_before = record.first & 0x80 == 0;
        let payload = records.get(record.payload..record.end).unwrap_or_default();
        page_before && PageId::parse(payload).is_some_and(|id| id.bytes < payload.len())
    })
}
