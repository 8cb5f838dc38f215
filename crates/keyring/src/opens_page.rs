//! Whether a key of MariaDB's key file opens a page. Key bytes stay in memory that is wiped, and only
//! the answer leaves.
//!
//! Source: formats, "Page encryption" and "Key files (file_key_management)"; both of its vectors are
//! tests below. Only pages of the format full_crc32 say something in their first block: the space's
//! number, which stands inside what is encrypted.

use aws_lc_rs::cipher::{
    AES_128, AES_192, AES_256, Algorithm, DecryptingKey, DecryptionContext, EncryptingKey, PaddedBlockDecryptingKey,
    UnboundCipherKey,
};
use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use aws_lc_rs::iv::FixedLength;
use zeroize::Zeroizing;

use crate::store::{StoreKind, recognise};

/// Bytes of one block of AES.
const BLOCK: usize = 16;
/// Where the space's number stands in the first encrypted block: it begins at byte 26 of the page.
const SPACE_AT: usize = 34 - 26;

/// What a trial needs of one encrypted page of the format full_crc32 without page compression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSample {
    /// Initialisation vector of the tablespace, from page 0.
    pub space_iv: [u8; BLOCK],
    /// Number of the tablespace, from page 0.
    pub space_id: u32,
    /// Number of the page.
    pub page_no: u32,
    /// Log sequence number in the page's header.
    pub lsn: u64,
    /// Bytes 26 to 41 of the page.
    pub sealed: [u8; BLOCK],
}

/// Tries key `id` of a key file, all bytes of which are given, on pages of one tablespace: whether one
/// of them opens. `password` opens the key file if it is encrypted (`openssl enc`, with SHA-1).
///
/// `None` if there is nothing to try: no sample, no such key, or no password for an encrypted file.
#[must_use]
pub fn opens_page(store: &[u8], password: Option<&[u8]>, id: u32, samples: &[PageSample]) -> Option<bool> {
    let size = u64::try_from(store.len()).ok()?;
    if samples.is_empty() {
        return None;
    }
    let unsealed;
    let lines = match recognise(store, "", size)? {
        StoreKind::MariaDbPlain => store,
        StoreKind::OpensslSalted => match without_password(store, password?) {
            Some(clear) => {
                unsealed = clear;
                unsealed.as_slice()
            }
            // The server would not get in with this password, either.
            None => return Some(false),
        },
        _ => return None,
    };
    let key = key_of(lines, id)?;
    Some(samples.iter().any(|sample| fits(&key, sample) == Some(true)))
}

/// EVP_BytesToKey with SHA-1 and one round, then AES-256-CBC.
fn without_password(store: &[u8], password: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let salt = store.get(8..BLOCK)?;
    let mut material = Zeroizing::new(Vec::with_capacity(60));
    let mut last = Zeroizing::new(Vec::new());
    for _ in 0..3 {
        let input = Zeroizing::new([last.as_slice(), password, salt].concat());
        last = Zeroizing::new(digest(&SHA1_FOR_LEGACY_USE_ONLY, &input).as_ref().to_vec());
        material.extend_from_slice(&last);
    }
    let key = UnboundCipherKey::new(&AES_256, material.get(..32)?).ok()?;
    let iv = DecryptionContext::Iv128(FixedLength::from(<[u8; BLOCK]>::try_from(material.get(32..48)?).ok()?));
    let mut clear = Zeroizing::new(store.get(BLOCK..)?.to_vec());
    let length = PaddedBlockDecryptingKey::cbc_pkcs7(key).ok()?.decrypt(clear.as_mut_slice(), iv).ok()?.len();
    clear.truncate(length);
    let text = crate::mariadb_file::is_key_file(&clear);
    text.then_some(clear)
}

fn key_of(lines: &[u8], wanted: u32) -> Option<Zeroizing<Vec<u8>>> {
    let line = lines.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).find(|line| {
        let id = line.split(|byte| *byte == b';').next().and_then(|id| str::from_utf8(id).ok());
        id.and_then(|id| id.trim().parse::<u32>().ok()) == Some(wanted)
    })?;
    let at = line.iter().position(|byte| *byte == b';')?;
    let digits = line.get(at.checked_add(1)?..)?.trim_ascii();
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let bytes = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some(digit(high)? << 4 | digit(low)?),
        _ => None,
    });
    bytes.collect::<Option<Vec<u8>>>().map(Zeroizing::new)
}

/// Whether the first block holds the space's number once it is open, by CBC or by CTR.
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
    let cbc = xor(decrypted(page_key.as_slice(), sample.sealed)?, iv);
    let ctr = xor(encrypted(&AES_128, page_key.as_slice(), iv)?, sample.sealed);
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
    use aws_lc_rs::cipher::{EncryptionContext, PaddedBlockEncryptingKey};

    use super::*;

    const KEY: &str = "3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82";

    fn hex(text: &str) -> [u8; 16] {
        let bytes: Vec<u8> = (0..32).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect();
        bytes.try_into().unwrap()
    }

    /// Page 4 of `demo/enc.ibd` of the formats' vectors.
    fn page() -> PageSample {
        PageSample {
            space_iv: hex("8e10d01aef75db581092f15f8ae03fd8"),
            space_id: 7,
            page_no: 4,
            lsn: 178_541,
            sealed: hex("b8d5e0be2496dc84806b42d1f77f65b2"),
        }
    }

    fn lines(key: &str) -> Vec<u8> {
        format!("# keys\n1;{key}\n 2 ; 8a1f0c3c5e2d4b6a7988776655443322\n").into_bytes()
    }

    #[test]
    fn the_page_of_the_vectors_opens_with_its_key_alone() {
        assert_eq!(opens_page(&lines(KEY), None, 1, &[page()]), Some(true));
        assert_eq!(opens_page(&lines(&"ab".repeat(32)), None, 1, &[page()]), Some(false));
        assert_eq!(opens_page(&lines(KEY), None, 2, &[page()]), Some(false));
        assert_eq!(opens_page(&lines(KEY), None, 3, &[page()]), None);
        assert_eq!(opens_page(&lines(KEY), None, 1, &[]), None);
    }

    #[test]
    fn a_page_of_ctr_opens_too() {
        let sample = page();
        let page_key = hex("5cba177f09ab6faaea973a47e62d5cb2");
        let iv = hex("07000000040000006db9020000000000");
        let sealed = xor(encrypted(&AES_128, &page_key, iv).unwrap(), hex("00000000000000000000000700331658"));
        assert_eq!(opens_page(&lines(KEY), None, 1, &[PageSample { sealed, ..sample }]), Some(true));
    }

    #[test]
    fn an_encrypted_key_file_needs_its_password() {
        let (password, salt) = (b"secret".as_slice(), [9; 8]);
        let mut material = Vec::new();
        let mut last = Vec::new();
        for _ in 0..3 {
            let input = [last.as_slice(), password, &salt].concat();
            last = digest(&SHA1_FOR_LEGACY_USE_ONLY, &input).as_ref().to_vec();
            material.extend(&last);
        }
        let key = UnboundCipherKey::new(&AES_256, &material[..32]).unwrap();
        let iv = EncryptionContext::Iv128(FixedLength::from(<[u8; 16]>::try_from(&material[32..48]).unwrap()));
        let mut body = lines(KEY);
        PaddedBlockEncryptingKey::cbc_pkcs7(key).unwrap().less_safe_encrypt(&mut body, iv).unwrap();
        let store = [b"Salted__".as_slice(), &salt, &body].concat();
        assert_eq!(opens_page(&store, Some(password), 1, &[page()]), Some(true));
        assert_eq!(opens_page(&store, Some(b"wrong"), 1, &[page()]), Some(false));
        assert_eq!(opens_page(&store, None, 1, &[page()]), None);
    }
}
