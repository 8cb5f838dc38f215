//! Encrypted pages of a tablespace: one by one, and many together.

use std::fmt;

use zeroize::Zeroize;

use crate::{
    bytes::Bytes,
    crypt::{
        CryptFault,
        aes::{Aes, BLOCK, Block},
        multi_buffer::{MultiBufferCbc, Run},
    },
    page::{
        compressed::{self, compressed_bytes},
        layout::{HEADER_BYTES, TYPE},
        types::PageType,
    },
};

/// Encrypts and decrypts pages of one tablespace, and blocks of a redo log.
pub struct PageCipher {
    pub(crate) aes: Aes,
    pub(crate) iv: Block,
}

impl Drop for PageCipher {
    fn drop(&mut self) {
        self.iv.zeroize();
    }
}

impl fmt::Debug for PageCipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PageCipher")
    }
}

/// How a page was encrypted: what [`PageCipher::encrypt`] needs to restore the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageEncryption {
    /// Type of the page on disk: 15, 16 or 17.
    pub page_type: PageType,
    /// End of the encrypted bytes, from the start of the page.
    pub end: usize,
}

/// Offset of the page type before encryption.
const ORIGINAL_TYPE: usize = 28;

impl PageCipher {
    /// Decrypts a page in place. The checksum in it is that of the decrypted page (for page
    /// compression, of the decompressed page) and is not checked here.
    ///
    /// # Errors
    /// [`CryptFault`]; the page is then unchanged.
    pub fn decrypt(&self, page: &mut [u8]) -> Result<PageEncryption, CryptFault> {
        let page_type = PageType(page.be16(TYPE).unwrap_or_default());
        let encryption = match page_type {
            PageType::ENCRYPTED | PageType::ENCRYPTED_RTREE => PageEncryption { page_type, end: page.len() },
            PageType::COMPRESSED_ENCRYPTED => PageEncryption { page_type, end: self.compressed_end(page)? },
            _ => return Err(CryptFault::NotEncrypted),
        };
        let body = page.get_mut(HEADER_BYTES..encryption.end).ok_or(CryptFault::Length)?;
        self.aes.mysql_decrypt(&self.iv, body)?;
        match page_type {
            PageType::ENCRYPTED => {
                let original = page.be16(ORIGINAL_TYPE).unwrap_or_default();
                put16(page, TYPE, original);
                put16(page, ORIGINAL_TYPE, 0);
            }
            PageType::ENCRYPTED_RTREE => put16(page, TYPE, PageType::RTREE.0),
            _ => put16(page, TYPE, PageType::COMPRESSED.0),
        }
        Ok(encryption)
    }

    /// Encrypts a decrypted page in place, to its original bytes.
    ///
    /// # Errors
    /// [`CryptFault::Length`] if the page is shorter than it was; it is then unchanged.
    pub fn encrypt(&self, page: &mut [u8], encryption: PageEncryption) -> Result<(), CryptFault> {
        let body = page.get_mut(HEADER_BYTES..encryption.end).ok_or(CryptFault::Length)?;
        self.aes.mysql_encrypt(&self.iv, body)?;
        mark_encrypted(page, encryption);
        Ok(())
    }

    /// End of the encrypted part of a compressed page.
    ///
    /// Source: docs/formats, "Page compression". Version 2 stores the length. Version 1 rounded up to the block size of
    /// the file system without storing it, so the size that decompresses is taken. If several sizes do, encrypting with
    /// any of them gives the same bytes.
    fn compressed_end(&self, page: &[u8]) -> Result<usize, CryptFault> {
        const SMALLEST: usize = 70;
        let payload = compressed_bytes(page).ok_or(CryptFault::Length)?;
        let end = HEADER_BYTES.checked_add(payload).filter(|end| *end <= page.len()).ok_or(CryptFault::Length)?;
        if page.get(26) != Some(&1) {
            return Ok(end.max(SMALLEST).min(page.len()));
        }
        let mut decrypted = vec![0; page.len()];
        let mut rebuilt = vec![0; page.len()];
        for block in BLOCK_SIZES {
            let end = end.next_multiple_of(block).min(page.len());
            decrypted.copy_from_slice(page);
            let Some(body) = decrypted.get_mut(HEADER_BYTES..end) else { continue };
            self.aes.mysql_decrypt(&self.iv, body)?;
            if compressed::rebuild_mysql(&decrypted, &mut rebuilt).is_ok() {
                return Ok(end);
            }
        }
        Err(CryptFault::NoLength)
    }
}

/// A decrypted page, and how it was encrypted.
#[derive(Debug)]
pub struct DecryptedPage<'p> {
    /// Bytes of the page.
    pub page: &'p mut [u8],
    /// The result of [`PageCipher::decrypt`].
    pub encryption: PageEncryption,
}

/// Encrypts many pages of one tablespace together, several times as fast as one by one.
pub struct PageEncryptor {
    pub(super) cipher: MultiBufferCbc,
    pub(super) iv: Block,
}

impl Drop for PageEncryptor {
    fn drop(&mut self) {
        self.iv.zeroize();
    }
}

impl fmt::Debug for PageEncryptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PageEncryptor")
    }
}

impl PageEncryptor {
    /// Encrypts the pages in place, each to its original bytes.
    ///
    /// # Errors
    /// [`CryptFault::Length`] if a page is shorter than it was; then no page is changed.
    pub fn encrypt(&self, pages: &mut [DecryptedPage<'_>]) -> Result<(), CryptFault> {
        if pages.iter().any(|decrypted| decrypted.page.len() < decrypted.encryption.end) {
            return Err(CryptFault::Length);
        }
        self.pass(pages, HEADER_BYTES, |_| true);
        // If a body does not end with a whole block, its last 32 bytes are encrypted a second time.
        self.pass(pages, TAIL, |body| !body.is_multiple_of(BLOCK) && body >= TAIL);
        for decrypted in pages {
            mark_encrypted(decrypted.page, decrypted.encryption);
        }
        Ok(())
    }

    fn pass(&self, pages: &mut [DecryptedPage<'_>], from: usize, wanted: impl Fn(usize) -> bool) {
        let mut runs: Vec<Run<'_>> = pages
            .iter_mut()
            .filter(|decrypted| wanted(decrypted.encryption.end.saturating_sub(HEADER_BYTES)))
            .filter_map(|decrypted| {
                let end = decrypted.encryption.end;
                let begin = if from == HEADER_BYTES { from } else { end.checked_sub(from)? };
                Some(Run { iv: self.iv, data: decrypted.page.get_mut(begin..end)? })
            })
            .collect();
        self.cipher.cbc_encrypt(&mut runs);
    }
}

/// Bytes that are encrypted twice if a body ends with part of a block.
const TAIL: usize = 32;

/// Block sizes of file systems, the most common one first.
const BLOCK_SIZES: [usize; 8] = [4096, 512, 1024, 2048, 8192, 16384, 32768, 65536];

/// Sets the header of a page whose body has been encrypted.
fn mark_encrypted(page: &mut [u8], encryption: PageEncryption) {
    if encryption.page_type == PageType::ENCRYPTED {
        let original = page.be16(TYPE).unwrap_or_default();
        put16(page, ORIGINAL_TYPE, original);
    }
    put16(page, TYPE, encryption.page_type.0);
}

fn put16(page: &mut [u8], at: usize, value: u16) {
    if let Some(bytes) = page.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<2>()) {
        *bytes = value.to_be_bytes();
    }
}
