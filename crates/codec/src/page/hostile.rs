//! Tests with invalid descriptions of units by a hostile sender, and with files that only look like another kind.

use std::{fs, path::PathBuf};

use innodb::{
    KeyVersion, MasterKeyId,
    crypt::mariadb::{self, CryptData, Mode, PageKey},
    keys::KeySource,
    page::mariadb::PlaintextCheck,
    tablespace::Page0,
};
use proptest::prelude::*;
use verify::Keys;
use zeroize::Zeroizing;

use super::{
    DecryptedChunk, HEAD_BYTES, KeyFileKeys, SpaceCipher, SpaceKeys,
    samples::{decrypt_and_encrypt, keys, mariadb_keys, sample},
};

/// Kind of a key, optional fields, and bytes of the key itself.
fn material() -> impl Strategy<Value = Vec<u8>> {
    let page_bytes = prop_oneof![Just(1024_u32), Just(4096), Just(65536)];
    let bytes = |count: usize| proptest::collection::vec(any::<u8>(), count);
    prop_oneof![
        (page_bytes.clone(), bytes(64)).prop_map(|(page, key)| [&[1][..], &page.to_be_bytes(), &key].concat()),
        (page_bytes, bytes(16), 0..2_u8, any::<u8>(), 0..2_u8, bytes(4)).prop_map(
            |(page, key, form, more, mode, id)| {
                let more = if form == 1 { more % 2 } else { more };
                [&[2][..], &page.to_be_bytes(), &key, &[form, more, mode], &id].concat()
            }
        ),
        bytes(40).prop_map(|key| [&[3][..], &key].concat()),
        bytes(64).prop_map(|key| [&[4][..], &key].concat()),
        (0..2_u8, bytes(36)).prop_map(|(mode, key)| [&[5, mode][..], &key].concat()),
        (0..2_u8, 0..2_u8, bytes(16)).prop_map(|(form, mode, key)| [&[6, form, mode][..], &key].concat()),
        (0..2_u8, 0..2_u8, bytes(28)).prop_map(|(form, mode, key)| [&[7, form, mode][..], &key].concat()),
    ]
}

/// Bytes in which lengths, types and versions often have values of real units.
fn units() -> impl Strategy<Value = Vec<u8>> {
    let small = prop_oneof![Just(0_u8), Just(1), Just(4), Just(12), Just(0x10), Just(0xff), any::<u8>()];
    let page_type = prop_oneof![Just(15_u16), Just(16), Just(17), Just(34354), Just(37401), Just(0x8001), any::<u16>()];
    let header = (proptest::collection::vec(small, 64), page_type);
    (proptest::collection::vec(header, 1..9), prop_oneof![Just(512_usize), Just(1024), Just(4096), 1..3000_usize])
        .prop_map(|(headers, apart)| {
            let unit = |(mut header, page_type): (Vec<u8>, u16)| {
                header[24..26].copy_from_slice(&page_type.to_be_bytes());
                header.resize(apart.max(64), 0x35);
                header
            };
            headers.into_iter().flat_map(unit).collect()
        })
}

proptest! {
    /// No description makes encryption panic, and encrypted units decrypt to be encrypted again.
    #[test]
    fn any_description_of_a_sender_is_encrypted_or_refused(
        material in material(),
        units in units(),
        number in prop_oneof![Just(0_u16), Just(1), Just(2), 1..64_u16, any::<u16>()],
        marks in proptest::collection::vec(prop_oneof![Just(0_u8), Just(1), Just(4), Just(0x80), Just(0xff), any::<u8>()], 0..64),
        offset in prop_oneof![Just(0_u64), Just(1 << 20), Just(u64::MAX), any::<u64>()],
    ) {
        let cipher = SpaceCipher::decode(&material).unwrap();
        prop_assert!(cipher.encode().as_slice() == material);
        let payload = [&[0, 7][..], &number.to_be_bytes(), &marks, &units].concat();
        for length in [units.len(), marks.len() + units.len(), 0, 1, 1 << 20] {
            let _ = DecryptedChunk::parse(&payload).unwrap().encrypt(&cipher, offset, &mut vec![0; length]);
        }
        // The actual number of units, each of them marked, in every form.
        for (unit_bytes, mark) in [(1024, &[1, 0, 0, 4, 0][..]), (4096, &[2, 0, 0, 0, 9]), (65536, &[4, 0, 0, 0, 0]), (512, &[0xff])] {
            let count = units.len() / unit_bytes;
            let mut marks = mark.repeat(if mark.len() == 1 { count.div_ceil(8) } else { count });
            if let (1, Some(last), over @ 1..) = (mark.len(), marks.last_mut(), count % 8) {
                *last <<= 8 - over;
            }
            let payload = [&[0, 7][..], &(count as u16).to_be_bytes(), &marks, &units].concat();
            let _ = DecryptedChunk::parse(&payload).unwrap().encrypt(&cipher, offset, &mut vec![0; units.len()]);
        }
        let part = [0_u32, units.len() as u32].map(u32::to_be_bytes).concat();
        let payload = [&[0, 7, 0, 1][..], &part, &units].concat();
        let _ = DecryptedChunk::parse(&payload).unwrap().encrypt(&cipher, offset, &mut vec![0; units.len()]);
        decrypt_and_encrypt(&cipher, offset, &units);
    }
}

/// Keys of everything in testdata. Several servers use the same key numbers, so every key set is
/// tried.
fn all_keys() -> Vec<Keys> {
    let names = ["mariadb1011-keyfile", "mariadb1011-ctr-keyfile", "mariadb-redo-versions-keyfile"];
    names.into_iter().map(mariadb_keys).chain([keys()]).collect()
}

/// Decrypts chunks of a file in some order, as connections take them, with the cipher of the first
/// chunk that has one. Returns the number of decrypted units.
fn count_decrypted(file: &[u8], keys: &dyn KeySource, chunk_bytes: usize) -> usize {
    let head = &file[..file.len().min(HEAD_BYTES)];
    let Some(space) = SpaceKeys::from_head(head, keys, KeyFileKeys::Send, || None) else { return 0 };
    let mut cipher = None;
    let mut decrypted = 0;
    for (number, chunk) in file.chunks(chunk_bytes).enumerate().collect::<Vec<_>>().into_iter().rev() {
        let (offset, version) = ((number * chunk_bytes) as u64, space.version_of(chunk));
        if cipher.as_ref().is_none_or(|(known, _)| *known != version) {
            let Some(made) = space.cipher(version, offset, chunk, keys) else { continue };
            cipher = Some((version, made));
        }
        let Some((_, cipher)) = &cipher else { continue };
        decrypted += decrypt_and_encrypt(cipher, offset, chunk).0;
    }
    decrypted
}

fn all_samples() -> Vec<(String, Vec<u8>)> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata");
    let mut all = Vec::new();
    for kind in ["tablespace", "redo", "binlog"] {
        for file in fs::read_dir(root.join(kind)).unwrap() {
            let name = format!("{kind}/{}", file.unwrap().file_name().to_str().unwrap());
            let name = name.strip_suffix(".zst").unwrap_or(&name).to_owned();
            let mut bytes = sample(&name);
            bytes.truncate(3 << 20);
            all.push((name, bytes));
        }
    }
    all.sort();
    all
}

#[test]
fn damaged_and_foreign_files_are_restored_exactly() {
    let all_keys = all_keys();
    let mut opening = 0;
    for (name, bytes) in all_samples() {
        let Some(keys) = all_keys.iter().max_by_key(|keys| count_decrypted(&bytes, *keys, 1 << 20)) else { continue };
        if count_decrypted(&bytes, keys, 1 << 20) == 0 {
            continue;
        }
        opening += 1;
        // Empty, shorter than a header, and truncated at many lengths.
        for length in [0, 1, 3, 4, 18, 19, 38, 511, 512, 513, 2047, 2048, 4095, 12287, 12289, bytes.len() - 1] {
            count_decrypted(&bytes[..length.min(bytes.len())], keys, 1 << 20);
        }
        let mut random = blake3::Hasher::new().update(name.as_bytes()).finalize_xof();
        for round in 0..24 {
            let mut damaged = bytes.clone();
            let mut number = [0; 8];
            for _ in 0..=round {
                random.fill(&mut number);
                let at = u64::from_le_bytes(number) as usize % damaged.len();
                let end = (at + usize::from(number[7] % 40)).min(damaged.len());
                damaged[at..end].fill(number[6] & [0, 0xff, 0x13][usize::from(number[5] % 3)]);
            }
            count_decrypted(&damaged, keys, [1 << 20, 64 << 10, 4096][round % 3]);
        }
        // Content of another file after the head.
        let (middle, shift) = (bytes.len() / 2, bytes.len() / 3);
        let foreign: Vec<u8> = bytes[..middle].iter().chain(&bytes[shift..]).copied().collect();
        count_decrypted(&foreign, keys, 1 << 20);
    }
    assert!(opening > 40, "{opening}");
}

#[test]
fn debug_shows_no_key() {
    let secret = 0xa7;
    for (kind, more, bytes) in
        [(1, &[0, 0, 0x10, 0][..], 64), (3, &[], 40), (4, &[], 64), (5, &[0; 13], 32), (6, &[0, 0], 16)]
    {
        let material = [&[kind], more, &vec![secret; bytes]].concat();
        let shown = format!("{:?}", SpaceCipher::decode(&material).unwrap());
        assert!(!shown.contains("167") && !shown.to_lowercase().contains("a7"), "{shown}");
    }
}

/// Adds a second version of key 1.
struct Rotated(Keys);

impl KeySource for Rotated {
    fn mysql(&self, _: &str) -> Option<Zeroizing<[u8; 32]>> {
        None
    }

    fn mysql_numbered(&self, _: MasterKeyId) -> Vec<Zeroizing<[u8; 32]>> {
        Vec::new()
    }

    fn mariadb(&self, id: u32, version: KeyVersion) -> Option<Zeroizing<Vec<u8>>> {
        match version.0 {
            2 => Some(Zeroizing::new(vec![0x2b; 32])),
            _ => self.0.mariadb(id, version),
        }
    }

    fn has_mysql(&self) -> bool {
        false
    }

    fn has_mariadb(&self) -> bool {
        true
    }
}

#[test]
fn pages_of_several_key_versions_are_restored_exactly() {
    const PAGE_BYTES: usize = 16 << 10;
    for mode in Mode::ALL {
        let keys = Rotated(mariadb_keys("mariadb1011-keyfile"));
        let mut space = sample("tablespace/mariadb1011-16k-encrypted.ibd");
        let page0 = Page0::parse(&space).unwrap();
        let (crypt, layout) = (CryptData::from_page0(&space, &page0).unwrap(), page0.mariadb_layout().unwrap());
        let key = |version| PageKey::derive(&keys.mariadb(1, KeyVersion(version)).unwrap(), &crypt.iv).unwrap();
        let (mut versions, mut image) = ([0; 3], Vec::new());
        for (number, page) in space.chunks_exact_mut(PAGE_BYTES).enumerate().skip(1) {
            let Ok(decrypted) = mariadb::decrypt(page, layout, Mode::Cbc, page0.space_id, &key(1), &mut image) else {
                continue;
            };
            assert_eq!(decrypted.plain, PlaintextCheck::Holds);
            // Every other page was written after the rotation.
            let version = 1 + number as u32 % 2;
            page[..4].copy_from_slice(&version.to_be_bytes());
            mariadb::encrypt(page, layout, mode, page0.space_id, &key(version)).unwrap();
            versions[version as usize] += 1;
        }
        let [_, old, new] = versions;
        assert!(old > 1 && new > 1, "{versions:?}");
        // In chunks of one page each has its own key. In longer ones only pages of the newest
        // version decrypt, and all pages are restored to identical bytes.
        for (chunk_bytes, least) in [(PAGE_BYTES, old + new), (4 * PAGE_BYTES, new), (1 << 20, new)] {
            let decrypted = count_decrypted(&space, &keys, chunk_bytes);
            assert!(decrypted >= least, "{mode:?}, {chunk_bytes}: {decrypted} of {versions:?}");
        }
    }
}
