//! Encryption is deterministic: decrypted data that is encrypted again has the same bytes, one page at a time or many
//! in lockstep, and with two implementations of AES.

mod common;

use aes::cipher::{BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};
use common::{keys_of, sample, samples};
use innodb::{
    crypt::{
        aes::Aes,
        multi_buffer::{MultiBufferCbc, Run},
        mysql::{DecryptedPage, PageCipher, TablespaceKey, WrappedKey},
    },
    page::{checksum, mysql::is_encrypted},
    tablespace::{Encryption, Page0},
};
use proptest::prelude::*;

/// The key of a sample, if MySQL encrypted it.
fn key_of(name: &str, bytes: &[u8]) -> Option<(TablespaceKey, usize)> {
    let page0 = Page0::parse(bytes).ok()?;
    let Encryption::MySql { .. } = page0.encryption else { return None };
    let magic = bytes[..16384].windows(3).position(|window| matches!(window, b"lCA" | b"lCB" | b"lCC"))?;
    let wrapped = WrappedKey::parse(&bytes[magic..])?;
    let key = wrapped.unwrap(&keys_of(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    Some((key, page0.physical_page_bytes as usize))
}

#[test]
fn every_page_of_every_sample_seals_to_the_same_bytes() {
    let (mut files, mut pages) = (0, 0);
    for (name, bytes) in samples("tablespace") {
        let Some((key, page_bytes)) = key_of(&name, &bytes) else { continue };
        files += 1;
        let cipher = key.cipher().unwrap();
        let mut opened = bytes.clone();
        let mut together = Vec::new();
        for (number, page) in opened.chunks_mut(page_bytes).enumerate().filter(|(_, page)| is_encrypted(page)) {
            let original = &bytes[number * page_bytes..][..page_bytes];
            let encryption = cipher.decrypt(page).unwrap();
            assert_ne!(page, original);
            let mut again = page.to_vec();
            cipher.encrypt(&mut again, encryption).unwrap();
            assert_eq!(again, original, "{name} page {number}");
            together.push(DecryptedPage { page, encryption });
            pages += 1;
        }
        key.encryptor().unwrap().encrypt(&mut together).unwrap();
        assert_eq!(opened, bytes, "{name} together");
    }
    assert!(files >= 18 && pages > 100, "{files} files, {pages} pages");
}

#[test]
fn the_vectors_of_the_format_description_decrypt() {
    let bytes = sample("tablespace/mysql97-16k-encrypted.ibd");
    let (key, _) = key_of("mysql97-16k-encrypted.ibd", &bytes).unwrap();
    let mut page = bytes[5 * 16384..6 * 16384].to_vec();
    assert_eq!(page[38..54], hex("927a515dd29adfb50b58a46748308577"));
    assert_eq!(page[16352..], hex("8581a82c7085640e1fe43a5bfc4dac72572d259b52c07946d4b751dd75e490fa"));
    key.cipher().unwrap().decrypt(&mut page).unwrap();
    assert_eq!(page[38..54], hex("0033165880ca000000001643000200c7"));
    assert_eq!(page[16352..], hex("053304c3045303e3037303030293022301b3014300d3006370d62831012b335b"));
    assert_eq!(page[..4], hex("70d62831"));
    assert!(checksum::classic(&page).is_ok());
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hexadecimal")).collect()
}

/// MySQL's encryption by the second implementation, block by block as described in the format.
fn reference_seal(key: &[u8; 32], iv: [u8; 16], data: &mut [u8]) {
    let cipher = aes::Aes256::new(key.into());
    let chain = |data: &mut [u8]| {
        let mut last = iv;
        for block in data.chunks_exact_mut(16) {
            block.iter_mut().zip(last).for_each(|(byte, chained)| *byte ^= chained);
            let mut one = aes::Block::default();
            one.0.copy_from_slice(block);
            cipher.encrypt_block(&mut one);
            block.copy_from_slice(&one.0);
            last = one.0;
        }
    };
    chain(data);
    let length = data.len();
    if !length.is_multiple_of(16) && length >= 32 {
        chain(&mut data[length - 32..]);
    }
}

fn reference_open(key: &[u8; 32], iv: [u8; 16], data: &mut [u8]) {
    let cipher = aes::Aes256::new(key.into());
    let chain = |data: &mut [u8]| {
        let mut last = iv;
        for block in data.chunks_exact_mut(16) {
            let mut one = aes::Block::default();
            one.0.copy_from_slice(block);
            let encryption = one.0;
            cipher.decrypt_block(&mut one);
            block.iter_mut().zip(one.0.iter().zip(last)).for_each(|(to, (byte, chained))| *to = byte ^ chained);
            last = encryption;
        }
    };
    let length = data.len();
    if !length.is_multiple_of(16) && length >= 32 {
        chain(&mut data[length - 32..]);
    }
    chain(data);
}

proptest! {
    #[test]
    fn two_implementations_of_aes_agree(
        key in any::<[u8; 32]>(),
        iv in any::<[u8; 16]>(),
        data in proptest::collection::vec(any::<u8>(), 0..600),
    ) {
        let aes = Aes::new(&key).unwrap();
        let (mut ours, mut book) = (data.clone(), data.clone());
        aes.mysql_encrypt(&iv, &mut ours).unwrap();
        reference_seal(&key, iv, &mut book);
        prop_assert_eq!(&ours, &book);
        aes.mysql_decrypt(&iv, &mut ours).unwrap();
        reference_open(&key, iv, &mut book);
        prop_assert_eq!(&ours, &data);
        prop_assert_eq!(&book, &data);
    }

    #[test]
    fn lockstep_gives_the_same_bytes_as_one_by_one(
        key in any::<[u8; 32]>(),
        runs in proptest::collection::vec((any::<[u8; 16]>(), proptest::collection::vec(any::<u8>(), 0..400)), 0..140),
    ) {
        let aes = Aes::new(&key).unwrap();
        let mut serial = runs.clone();
        for (iv, data) in &mut serial {
            aes.cbc_encrypt(iv, data).unwrap();
        }
        let mut together = runs;
        let mut lanes: Vec<Run<'_>> = together.iter_mut().map(|(iv, data)| Run { iv: *iv, data }).collect();
        MultiBufferCbc::new(&key).unwrap().cbc_encrypt(&mut lanes);
        drop(lanes);
        prop_assert_eq!(together, serial);
    }

    #[test]
    fn opening_hostile_pages_never_panics_and_sealing_reverts_it(
        page in proptest::collection::vec(any::<u8>(), 0..5000),
        page_type in prop_oneof![Just(15_u16), Just(16), Just(17), any::<u16>()],
        control in any::<[u8; 8]>(),
    ) {
        let mut page = page;
        if page.len() >= 34 {
            page[24..26].copy_from_slice(&page_type.to_be_bytes());
            page[26..34].copy_from_slice(&control);
        }
        let cipher: PageCipher = TablespaceKey::from_parts(&[3; 32], &[5; 32]).cipher().unwrap();
        let mut opened = page.clone();
        match cipher.decrypt(&mut opened) {
            Err(_) => prop_assert_eq!(opened, page),
            Ok(encryption) => {
                cipher.encrypt(&mut opened, encryption).unwrap();
                prop_assert_eq!(opened, page);
            }
        }
    }
}
