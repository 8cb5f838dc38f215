//! MariaDB tablespace encryption: crypt data of page 0, page keys, and pages of both formats.
//!
//! A key of the key management plug-in never encrypts pages itself. It and the vector on page 0 give
//! the page key. Space id, page number and LSN of a page give the vector of that page; they stay
//! readable, so encrypting a decrypted page gives identical bytes. The mode of operation (CBC or
//! CTR) is stored nowhere: [`Mode`] has to be found by trying.
//! Decryption changes only the ciphertext: key version, checksums and lengths stay. That is why
//! [`encrypt`] needs no result of [`decrypt`].
//!
//! Source: docs/formats, "Crypt data on page 0", "Page encryption" of MariaDB, "Page_compressed"; both formats, both
//! modes, all page sizes and all compression algorithms confirmed on MariaDB 10.11.

use std::{fmt, ops::Range};

use zeroize::Zeroizing;

use crate::{
    bytes::Bytes,
    crypt::{
        CryptFault,
        aes::{self, Aes, BLOCK, Block, KeyLength},
        multi_buffer::{MultiBufferCbc, Run},
    },
    ids::{KeyVersion, SpaceId},
    page::{
        layout::{LSN, PAGE_NO},
        mariadb::{self as stored, Layout, PlaintextCheck, check_plaintext, key_version},
    },
    tablespace::{MARIADB_MAGIC, MariaDbMode, Page0},
};

/// MariaDB's crypt data on page 0 of a tablespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CryptData {
    /// 0: pages are not encrypted; 1: they are.
    pub scheme: u8,
    /// Makes the page key of this tablespace differ from that of others. Not a secret.
    pub iv: Block,
    /// Lower bound of the pages' key versions.
    pub min_key_version: KeyVersion,
    /// Number of the key.
    pub key_id: u32,
    /// The table's ENCRYPTED option.
    pub mode: MariaDbMode,
}

impl CryptData {
    /// Parses the record. `info_offset` is the offset of MySQL's encryption information, 38 bytes
    /// before it. `None` if there is no record, or its vector has a length that no server writes.
    #[must_use]
    pub fn parse(page0: &[u8], info_offset: usize) -> Option<Self> {
        const AFTER_MYSQL_INFO: usize = 38;
        let record = page0.get(info_offset.checked_add(AFTER_MYSQL_INFO)?..)?;
        let [scheme, iv_bytes] = record.strip_prefix(MARIADB_MAGIC)?.array_at(0)?;
        let [mode] = record.array_at(32)?;
        (usize::from(iv_bytes) == BLOCK).then_some(Self {
            scheme,
            iv: record.array_at(8)?,
            min_key_version: KeyVersion(record.be32(24)?),
            key_id: record.be32(28)?,
            mode: match mode {
                0 => MariaDbMode::Default,
                1 => MariaDbMode::On,
                2 => MariaDbMode::Off,
                _ => MariaDbMode::Unknown,
            },
        })
    }

    /// Parses the record on a parsed page 0 whose bytes are `bytes`.
    #[must_use]
    pub fn from_page0(bytes: &[u8], page0: &Page0) -> Option<Self> {
        Self::parse(bytes, page0.info_offset())
    }
}

/// The key of one tablespace's pages for one key version. Wiped on drop.
pub struct PageKey {
    aes: Aes,
    bytes: Zeroizing<Block>,
}

impl PageKey {
    /// Derives the page key from a key of 16, 24 or 32 bytes and the vector on page 0.
    ///
    /// # Errors
    /// [`KeyLength`] if the key has another length.
    pub fn derive(key: &[u8], space_iv: &Block) -> Result<Self, KeyLength> {
        Self::from_bytes(&*aes::derive(key, space_iv)?)
    }

    /// Restores a page key from [`expose`](Self::expose).
    ///
    /// # Errors
    /// [`KeyLength`], never in practice.
    pub fn from_bytes(bytes: &Block) -> Result<Self, KeyLength> {
        Ok(Self { aes: Aes::new(bytes)?, bytes: Zeroizing::new(*bytes) })
    }

    /// The secret key bytes, for sending to another host.
    #[must_use]
    pub fn expose(&self) -> &Block {
        &self.bytes
    }

    /// The same key, prepared for the runs of [`prepare_encryption`].
    ///
    /// # Errors
    /// [`KeyLength`], never in practice.
    pub fn multi_buffer(&self) -> Result<MultiBufferCbc, KeyLength> {
        MultiBufferCbc::new(self.bytes.as_slice())
    }
}

impl fmt::Debug for PageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PageKey")
    }
}

/// Mode of operation (`file_key_management_encryption_algorithm`). Stored nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// `aes_cbc`, the default.
    Cbc,
    /// `aes_ctr`.
    Ctr,
}

impl Mode {
    /// Both modes, the default first.
    pub const ALL: [Self; 2] = [Self::Cbc, Self::Ctr];
}

/// The bytes of an encrypted page that are ciphertext.
///
/// # Errors
/// [`CryptFault::NotEncrypted`], [`CryptFault::Length`].
pub fn ciphertext_range(page: &[u8], layout: Layout) -> Result<Range<usize>, CryptFault> {
    if key_version(page, layout) == KeyVersion(0) {
        return Err(CryptFault::NotEncrypted);
    }
    stored::ciphertext_range(page, layout).ok_or(CryptFault::Length)
}

/// Initialisation vector of a page. It uses the page number in the page, not the page's position.
fn page_iv(page: &[u8], space_id: SpaceId) -> Option<Block> {
    let parts = [space_id.0, page.be32(PAGE_NO)?].map(u32::to_le_bytes);
    let lsn = page.be64(LSN)?.to_le_bytes();
    let mut iv = [0; BLOCK];
    iv.iter_mut().zip(parts.as_flattened().iter().chain(&lsn)).for_each(|(to, from)| *to = *from);
    Some(iv)
}

/// A decrypted page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decrypted {
    /// The bytes that were decrypted.
    pub range: Range<usize>,
    /// Whether the plain text passes its checks.
    pub plain: PlaintextCheck,
}

/// Decrypts a page in place and checks the plain text; `image` is a buffer for a decompressed page.
///
/// A page whose checks fail is decrypted all the same: [`encrypt`] reverts it.
///
/// # Errors
/// [`CryptFault`]; the page is then unchanged.
pub fn decrypt(
    page: &mut [u8],
    layout: Layout,
    mode: Mode,
    space_id: SpaceId,
    key: &PageKey,
    image: &mut Vec<u8>,
) -> Result<Decrypted, CryptFault> {
    let range = decrypt_unchecked(page, layout, mode, space_id, key)?;
    Ok(Decrypted { range, plain: check_plaintext(page, layout, space_id, image) })
}

/// Decrypts a page in place without checks, for callers that encrypt it again and compare: checking
/// a compressed page costs many times its decryption. Returns the range that was ciphertext.
///
/// # Errors
/// [`CryptFault`]; the page is then unchanged.
pub fn decrypt_unchecked(
    page: &mut [u8],
    layout: Layout,
    mode: Mode,
    space_id: SpaceId,
    key: &PageKey,
) -> Result<Range<usize>, CryptFault> {
    let range = ciphertext_range(page, layout)?;
    let iv = page_iv(page, space_id).ok_or(CryptFault::Length)?;
    let data = page.get_mut(range.clone()).ok_or(CryptFault::Length)?;
    match mode {
        Mode::Cbc => key.aes.mariadb_cbc_decrypt(&iv, data)?,
        Mode::Ctr => key.aes.ctr(&iv, data)?,
    }
    Ok(range)
}

/// Encrypts a decrypted page in place, to the original bytes: the key version stays, the checksum
/// over the ciphertext is computed again.
///
/// # Errors
/// [`CryptFault`]; the page is then unchanged.
pub fn encrypt(
    page: &mut [u8],
    layout: Layout,
    mode: Mode,
    space_id: SpaceId,
    key: &PageKey,
) -> Result<(), CryptFault> {
    let range = ciphertext_range(page, layout)?;
    let iv = page_iv(page, space_id).ok_or(CryptFault::Length)?;
    let data = page.get_mut(range).ok_or(CryptFault::Length)?;
    match mode {
        Mode::Cbc => key.aes.mariadb_cbc_encrypt(&iv, data)?,
        Mode::Ctr => key.aes.ctr(&iv, data)?,
    }
    finish_encryption(page, layout);
    Ok(())
}

/// First half of encrypting a page in [`Mode::Cbc`]: everything but the chained blocks.
/// [`PageKey::multi_buffer`] encrypts the returned run together with those of other pages; then
/// [`finish_encryption`] follows.
///
/// # Errors
/// [`CryptFault`]; the page is then unchanged.
pub fn prepare_encryption<'p>(
    page: &'p mut [u8],
    layout: Layout,
    space_id: SpaceId,
    key: &PageKey,
) -> Result<Run<'p>, CryptFault> {
    let range = ciphertext_range(page, layout)?;
    let iv = page_iv(page, space_id).ok_or(CryptFault::Length)?;
    let data = page.get_mut(range).ok_or(CryptFault::Length)?;
    let (blocks, rest) = data.as_chunks_mut::<BLOCK>();
    key.aes.mariadb_cbc_encrypt(&iv, rest)?;
    Ok(Run { iv, data: blocks.as_flattened_mut() })
}

/// Writes the checksum over the ciphertext of an encrypted page. Lengths in the header must fit the
/// page, which [`prepare_encryption`] checks. Bytes after a compressed page stay.
pub fn finish_encryption(page: &mut [u8], layout: Layout) {
    stored::update_ciphertext_checksum(page, layout);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_key() {
        let key = PageKey::derive(&[7; 32], &[9; 16]).unwrap();
        assert_eq!(format!("{key:?}"), "PageKey");
    }

    #[test]
    fn keys_have_a_length_of_aes() {
        for len in 0..40 {
            let derived = PageKey::derive(&vec![1; len], &[0; 16]);
            assert_eq!(derived.is_ok(), matches!(len, 16 | 24 | 32), "{len}");
        }
    }
}
