//! Tests whether a key of MariaDB's key file decrypts a page. Only the result leaves this module.
//!
//! Source: docs/formats, "Page encryption"; its vector is a test below. Only the format full_crc32 has known plain text
//! in the first encrypted block: the space id.

use aws_lc_rs::cipher::{
    AES_128, AES_192, AES_256, Algorithm, DecryptingKey, DecryptionContext, EncryptingKey, UnboundCipherKey,
};
use zeroize::Zeroizing;

use crate::{mariadb::MariaDbKeys, mariadb_file::FIRST_VERSION};

/// Length of an AES block.
const BLOCK: usize = 16;
/// Offset of the space id in the first encrypted block, which begins at byte 26 of the page.
const SPACE_AT: usize = 34 - 26;

/// The parts of an encrypted page that a test needs; format full_crc32, no page compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSample {
    /// Initialisation vector of the tablespace, from page 0.
    pub space_iv: [u8; BLOCK],
    /// Space id, from page 0.
    pub space_id: u32,
    /// Page number.
    pub page_no: u32,
    /// Page LSN, from the page header.
    pub lsn: u64,
    /// Bytes 26 to 41 of the page.
    pub encrypted_block: [u8; BLOCK],
}

/// Whether version 1 of key `id`, the only version that samples can have, decrypts at least one of these pages of a
/// tablespace. `None` without samples, or if there is no such key.
#[must_use]
pub fn decrypts_page(keys: &MariaDbKeys, id: u32, samples: &[PageSample]) -> Option<bool> {
    let key = keys.get(id, FIRST_VERSION).filter(|_| !samples.is_empty())?;
    Some(samples.iter().any(|sample| fits(key.as_bytes(), sample) == Some(true)))
}

/// Whether the first block, decrypted by CBC or by CTR, contains the space id.
fn fits(key: &[u8], sample: &PageSample) -> Option<bool> {
    let algorithm: &Algorithm = match key.len() {
        16 => &AES_128,
        24 => &AES_192,
        32 => &AES_256,
        _ => return None,
    };
    let page_key = Zeroizing::new(encrypted(algorithm, key, sample.space_iv)?);
    let mut iv = [0; BLOCK];
    let parts =
        sample.space_id.to_le_bytes().into_iter().chain(sample.page_no.to_le_bytes()).chain(sample.lsn.to_le_bytes());
    iv.iter_mut().zip(parts).for_each(|(to, from)| *to = from);
    let cbc = xor(decrypted(page_key.as_slice(), sample.encrypted_block)?, iv);
    let ctr = xor(encrypted(&AES_128, page_key.as_slice(), iv)?, sample.encrypted_block);
    let names = |clear: &[u8; BLOCK]| clear.iter().skip(SPACE_AT).take(4).eq(sample.space_id.to_be_bytes().iter());
    Some(names(&cbc) || names(&ctr))
}

fn encrypted(algorithm: &'static Algorithm, key: &[u8], mut block: [u8; BLOCK]) -> Option<[u8; BLOCK]> {
    let cipher = EncryptingKey::ecb(UnboundCipherKey::new(algorithm, key).ok()?).ok()?;
    cipher.encrypt(&mut block).ok()?;
    Some(block)
}

fn decrypted(key: &[u8], mut block: [u8; BLOCK]) -> Option<[u8; BLOCK]> {
    let cipher = DecryptingKey::ecb(UnboundCipherKey::new(&AES_128, key).ok()?).ok()?;
    cipher.decrypt(&mut block, DecryptionContext::None).ok()?;
    Some(block)
}

fn xor(mut a: [u8; BLOCK], b: [u8; BLOCK]) -> [u8; BLOCK] {
    a.iter_mut().zip(b).for_each(|(a, b)| *a ^= b);
    a
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, clippy::indexing_slicing, reason = "tests build their own bytes")]
mod tests {
    use super::*;

    const KEY: &str = "3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82";

    fn hex(text: &str) -> [u8; 16] {
        let bytes: Vec<u8> = (0..32).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect();
        bytes.try_into().unwrap()
    }

    /// Page 4 of `demo/enc.ibd`, a vector of docs/formats.
    fn page() -> PageSample {
        PageSample {
            space_iv: hex("8e10d01aef75db581092f15f8ae03fd8"),
            space_id: 7,
            page_no: 4,
            lsn: 178_541,
            encrypted_block: hex("b8d5e0be2496dc84806b42d1f77f65b2"),
        }
    }

    fn keys(key: &str) -> MariaDbKeys {
        let text = format!("# keys\n1;{key}\n 2;8a1f0c3c5e2d4b6a7988776655443322\n");
        MariaDbKeys::load(text.as_bytes(), None).unwrap()
    }

    #[test]
    fn the_page_of_the_vectors_opens_with_its_key_alone() {
        assert_eq!(decrypts_page(&keys(KEY), 1, &[page()]), Some(true));
        assert_eq!(decrypts_page(&keys(&"ab".repeat(32)), 1, &[page()]), Some(false));
        assert_eq!(decrypts_page(&keys(KEY), 2, &[page()]), Some(false));
        assert_eq!(decrypts_page(&keys(KEY), 3, &[page()]), None);
        assert_eq!(decrypts_page(&keys(KEY), 1, &[]), None);
    }

    #[test]
    fn a_page_of_ctr_opens_too() {
        let sample = page();
        let page_key = hex("5cba177f09ab6faaea973a47e62d5cb2");
        let iv = hex("07000000040000006db9020000000000");
        let encrypted_block = xor(encrypted(&AES_128, &page_key, iv).unwrap(), hex("00000000000000000000000700331658"));
        assert_eq!(decrypts_page(&keys(KEY), 1, &[PageSample { encrypted_block, ..sample }]), Some(true));
    }
}
