//! Encryption of Aria pages (MariaDB).
//!
//! The key of the key file encrypts the table's own 16-byte record; the result is the key of the
//! table's pages. Each page has its own initialisation vector, built from the table's number, the
//! page number, and the log sequence number at the start of the page (a random number in tables
//! without a log). The page checksum at the end is that of the clear page and stays readable.
//!
//! Source: docs/formats, "Aria"; the encrypted range of blob pages and of tables without a log: `ma_crypt.c`. Head,
//! tail, blob and index pages, both modes, with and without a log, confirmed on tables that MariaDB 10.11 and 11.8
//! wrote.

use std::fmt;

use crate::{
    aria::layout::{LSN_BYTES, PageLayout},
    bytes::Bytes,
    crypt::{
        aes::{self, Aes, Block, CipherFault, KeyLength},
        mariadb::Mode,
    },
};

/// The encryption record after the header of an encrypted table's index file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CryptRecord {
    /// A random number that identifies the table in initialisation vectors.
    pub space: u32,
    iv: Block,
}

impl CryptRecord {
    /// Bytes of the record.
    pub const BYTES: usize = 22;

    /// Parses the record; `None` unless it has the one known scheme.
    #[must_use]
    pub fn parse(record: &[u8]) -> Option<Self> {
        const SCHEME: u8 = 1;
        const LENGTH: u8 = 20;
        let known = record.array_at(0)? == [SCHEME, LENGTH];
        known.then_some(Self { space: record.le32(2)?, iv: record.array_at(6)? })
    }
}

/// Encrypts and decrypts the pages of one table with one version of its key.
pub struct AriaPages {
    key: Aes,
    space: u32,
}

impl AriaPages {
    /// `key` is the key with id 1 from the key file, or id 2 for temporary tables if the file has one.
    ///
    /// # Errors
    /// [`KeyLength`] unless the key has 16, 24 or 32 bytes.
    pub fn new(key: &[u8], record: &CryptRecord) -> Result<Self, KeyLength> {
        let page_key = aes::derive(key, &record.iv)?;
        Ok(Self { key: Aes::new(page_key.as_slice())?, space: record.space })
    }

    /// Decrypts `page` in place; its key version stays, so that it can be encrypted again.
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn decrypt(&self, mode: Mode, layout: &PageLayout, page_no: u32, page: &mut [u8]) -> Result<(), CipherFault> {
        let iv = self.iv(page_no, page);
        let encrypted = page.get_mut(layout.encrypted.clone()).unwrap_or_default();
        match mode {
            Mode::Cbc => self.key.mariadb_cbc_decrypt(&iv, encrypted),
            Mode::Ctr => self.key.ctr(&iv, encrypted),
        }
    }

    /// Encrypts a decrypted page to identical bytes: the page number and log sequence number stay.
    ///
    /// # Errors
    /// [`CipherFault`], never in practice.
    pub fn encrypt(&self, mode: Mode, layout: &PageLayout, page_no: u32, page: &mut [u8]) -> Result<(), CipherFault> {
        let iv = self.iv(page_no, page);
        let open = page.get_mut(layout.encrypted.clone()).unwrap_or_default();
        match mode {
            Mode::Cbc => self.key.mariadb_cbc_encrypt(&iv, open),
            Mode::Ctr => self.key.ctr(&iv, open),
        }
    }

    /// Initialisation vector: table, page, and log sequence number (file number in 3 bytes, offset
    /// in 4).
    fn iv(&self, page_no: u32, page: &[u8]) -> Block {
        let [low, mid, high, offset @ ..]: [u8; LSN_BYTES] = page.array_at(0).unwrap_or_default();
        let lsn = (u64::from(u32::from_le_bytes([low, mid, high, 0])) << 32) | u64::from(u32::from_le_bytes(offset));
        let number = u128::from(self.space) | (u128::from(page_no) << 32) | (u128::from(lsn) << 64);
        number.to_le_bytes()
    }
}

impl fmt::Debug for AriaPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AriaPages")
    }
}
