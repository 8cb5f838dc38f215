//! Pages of MariaDB: decrypted, encrypted, decompressed, and refused.
#![allow(clippy::unwrap_used, reason = "what fails in a helper is a failed test as well")]

mod common;

use std::collections::BTreeMap;

use common::{sample, samples};
use innodb::{
    KeyVersion, SpaceId,
    crypt::CryptFault,
    crypt::mariadb::{
        CryptData, Mode, PageKey, ciphertext_range, decrypt, encrypt, finish_encryption, prepare_encryption,
    },
    page::{
        checksum::crc32,
        decompress::{Algorithm, DecompressFault},
        flags::SpaceFlags,
        mariadb::{
            Layout, PlaintextCheck, PlaintextFault, check_plaintext, ciphertext_holds, decompress, is_page_compressed,
            key_version,
        },
    },
    tablespace::{Depth, Page0, ScanOptions, scan},
};
use proptest::prelude::*;

/// Lines `id;hex` of a key file.
fn keys(name: &str) -> BTreeMap<u32, Vec<u8>> {
    let text = String::from_utf8(sample(&format!("keyring/{name}"))).unwrap();
    let lines = text.lines().filter_map(|line| line.trim().split_once(';'));
    lines.map(|(id, key)| (id.parse().unwrap(), bytes(key.trim()))).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// A tablespace of the samples, and the keys that open it.
struct Space {
    name: String,
    file: Vec<u8>,
    page0: Page0,
    layout: Layout,
    mode: Mode,
    key: Option<PageKey>,
}

impl Space {
    fn load(name: &str) -> Option<Self> {
        let file = sample(&format!("tablespace/{name}"));
        let page0 = Page0::parse(&file).expect(name);
        let layout = page0.mariadb_layout()?;
        let counted = name.contains("-ctr-");
        let store = keys(if counted { "mariadb1011-ctr-keyfile" } else { "mariadb1011-keyfile" });
        let data = CryptData::from_page0(&file, &page0);
        let key =
            data.filter(|data| data.scheme == 1).map(|data| PageKey::derive(&store[&data.key_id], &data.iv).unwrap());
        let mode = if counted { Mode::Ctr } else { Mode::Cbc };
        Some(Self { name: name.to_owned(), file, page0, layout, mode, key })
    }

    fn all() -> Vec<Self> {
        let spaces: Vec<_> = samples("tablespace").iter().filter_map(|(name, _)| Self::load(name)).collect();
        assert!(spaces.len() >= 33, "{}", spaces.len());
        spaces
    }

    fn page_bytes(&self) -> usize {
        self.page0.physical_page_bytes as usize
    }

    fn space_id(&self) -> SpaceId {
        self.page0.space_id
    }

    /// Pages with content except page 0.
    fn pages(&self) -> impl Iterator<Item = &[u8]> {
        self.file.chunks_exact(self.page_bytes()).skip(1).filter(|page| page.iter().any(|byte| *byte != 0))
    }

    fn encrypted(&self) -> impl Iterator<Item = &[u8]> {
        self.pages().filter(|page| key_version(page, self.layout) != KeyVersion(0))
    }

    fn decrypt(&self, page: &mut [u8]) -> PlaintextCheck {
        self.open_with(page, self.mode, self.key.as_ref().unwrap())
    }

    fn open_with(&self, page: &mut [u8], mode: Mode, key: &PageKey) -> PlaintextCheck {
        decrypt(page, self.layout, mode, self.space_id(), key, &mut Vec::new()).expect(&self.name).plain
    }

    /// A page with this byte flipped and the checksum over the ciphertext corrected.
    fn forged(&self, page: &[u8], at: usize) -> Vec<u8> {
        let mut page = page.to_vec();
        page[at] ^= 1;
        finish_encryption(&mut page, self.layout);
        assert!(ciphertext_holds(&page, self.layout), "{} {at}", self.name);
        page
    }
}

#[test]
fn every_encrypted_page_opens_and_seals_to_the_same_bytes() {
    for space in Space::all() {
        let found = scan(&space.file, Depth::All, &ScanOptions::default()).unwrap();
        assert_eq!(space.encrypted().count() as u64, found.counts.encrypted, "{}", space.name);
        for page in space.encrypted() {
            assert!(ciphertext_holds(page, space.layout), "{}", space.name);
            let mut opened = page.to_vec();
            assert_eq!(space.decrypt(&mut opened), PlaintextCheck::Holds, "{}", space.name);
            assert_ne!(opened, page, "{}", space.name);
            let key = space.key.as_ref().unwrap();
            encrypt(&mut opened, space.layout, space.mode, space.space_id(), key).unwrap();
            assert!(opened == page, "{}", space.name);
        }
    }
}

#[test]
fn only_the_ciphertext_changes() {
    for space in Space::all() {
        for page in space.encrypted() {
            let range = ciphertext_range(page, space.layout).unwrap();
            let mut opened = page.to_vec();
            space.decrypt(&mut opened);
            assert_eq!(opened[..range.start], page[..range.start], "{}", space.name);
            assert_eq!(opened[range.end..], page[range.end..], "{}", space.name);
        }
    }
}

#[test]
fn sealing_in_lockstep_gives_the_same_bytes() {
    for space in Space::all().into_iter().filter(|space| space.mode == Mode::Cbc && space.key.is_some()) {
        let key = space.key.as_ref().unwrap();
        let mut pages: Vec<Vec<u8>> = space.encrypted().map(<[u8]>::to_vec).collect();
        for page in &mut pages {
            space.decrypt(page);
        }
        let prepare = |page| prepare_encryption(page, space.layout, space.space_id(), key).unwrap();
        let mut runs: Vec<_> = pages.iter_mut().map(|page| prepare(page.as_mut_slice())).collect();
        key.multi_buffer().unwrap().cbc_encrypt(&mut runs);
        drop(runs);
        for (page, original) in pages.iter_mut().zip(space.encrypted()) {
            finish_encryption(page, space.layout);
            assert!(page == original, "{}", space.name);
        }
    }
}

#[test]
fn wrong_keys_and_modes_are_refused() {
    for space in Space::all().into_iter().filter(|space| space.key.is_some()) {
        let wrong = PageKey::derive(&[7; 32], &[9; 16]).unwrap();
        let other = Mode::ALL.into_iter().find(|mode| *mode != space.mode).unwrap();
        for page in space.encrypted() {
            for (mode, key) in [(space.mode, &wrong), (other, space.key.as_ref().unwrap())] {
                let mut opened = page.to_vec();
                let plain = space.open_with(&mut opened, mode, key);
                assert!(matches!(plain, PlaintextCheck::Fails(_)), "{} {plain:?}", space.name);
                encrypt(&mut opened, space.layout, mode, space.space_id(), key).unwrap();
                assert!(opened == page, "{}", space.name);
            }
        }
    }
}

#[test]
fn every_compressed_page_decompresses_to_a_sound_page() {
    let mut seen = BTreeMap::new();
    for space in Space::all() {
        for page in space.pages().filter(|page| is_page_compressed(page, space.layout)) {
            let mut page = page.to_vec();
            let clear = key_version(&page, space.layout) == KeyVersion(0);
            if !clear {
                space.decrypt(&mut page);
            }
            let mut image = vec![0; page.len()];
            decompress(&page, space.layout, &mut image).expect(&space.name);
            assert_eq!(image[4..24], page[4..24], "{}", space.name);
            assert_eq!(check_plaintext(&page, space.layout, space.space_id(), &mut Vec::new()), PlaintextCheck::Holds);
            let full = matches!(space.layout, Layout::FullCrc32 { .. });
            assert!(!full || ciphertext_holds(&page, space.layout) == clear, "{}", space.name);
            *seen.entry(space.name.clone()).or_insert(0) += 1;
        }
    }
    let full: Vec<_> = seen.iter().map(|(name, pages)| (name.as_str(), *pages)).collect();
    assert_eq!(
        full,
        [
            ("mariadb1011-16k-clear-page-compressed.ibd", 6),
            ("mariadb1011-16k-encrypted-page-compressed-bzip2.ibd", 6),
            ("mariadb1011-16k-encrypted-page-compressed-lz4.ibd", 6),
            ("mariadb1011-16k-encrypted-page-compressed-lzma.ibd", 6),
            ("mariadb1011-16k-encrypted-page-compressed-lzo.ibd", 6),
            ("mariadb1011-16k-encrypted-page-compressed-snappy.ibd", 6),
            ("mariadb1011-16k-encrypted-page-compressed-stale.ibd", 3),
            ("mariadb1011-16k-encrypted-page-compressed.ibd", 6),
            ("mariadb1011-16k-legacy-clear-page-compressed-snappy.ibd", 6),
            ("mariadb1011-16k-legacy-encrypted-page-compressed-stale.ibd", 3),
            ("mariadb1011-16k-legacy-encrypted-page-compressed.ibd", 6),
            ("mariadb1011-ctr-32k-legacy-encrypted-page-compressed.ibd", 5),
            ("mariadb1011-ctr-4k-legacy-encrypted-page-compressed.ibd", 16),
            ("mariadb1011-ctr-64k-legacy-encrypted-page-compressed.ibd", 3),
            ("mariadb1011-ctr-8k-legacy-encrypted-page-compressed.ibd", 10),
        ]
    );
}

#[test]
fn rows_are_readable_in_opened_and_decompressed_pages() {
    for (name, text) in [
        ("mariadb1011-16k-encrypted-key2.ibd", "sealant-name-0199"),
        ("mariadb1011-16k-encrypted-key34.ibd", "sealant-name-0199"),
        ("mariadb1011-ctr-64k-encrypted.ibd", "sealant-name-0299"),
        ("mariadb1011-16k-encrypted-page-compressed-lzo.ibd", "sealant-name-0199"),
        ("mariadb1011-16k-encrypted-page-compressed-bzip2.ibd", "sealant-name-0199"),
        ("mariadb1011-16k-legacy-clear-page-compressed-snappy.ibd", "sealant-name-0199"),
    ] {
        let space = Space::load(name).unwrap();
        let mut rows = false;
        for page in space.pages() {
            let mut page = page.to_vec();
            if space.key.is_some() {
                space.decrypt(&mut page);
            }
            if is_page_compressed(&page, space.layout) {
                let opened = page.clone();
                decompress(&opened, space.layout, &mut page).unwrap();
            }
            rows |= page.windows(text.len()).any(|window| window == text.as_bytes());
        }
        assert!(rows, "{name}");
    }
}

/// Source: docs/formats, "Page encryption".
#[test]
fn the_published_vector_decrypts() {
    let space = Space::load("mariadb1011-16k-encrypted.ibd").unwrap();
    let data = CryptData::parse(&space.file[..16384], 10390).unwrap();
    assert_eq!(data, CryptData::from_page0(&space.file, &space.page0).unwrap());
    assert_eq!(data.iv.to_vec(), bytes("8e10d01aef75db581092f15f8ae03fd8"));
    assert_eq!((data.scheme, data.key_id, data.min_key_version), (1, 1, KeyVersion(1)));
    let key = bytes("3550199a9949b21c7a1092ee733dc50b2eea088de5c5b54ab508ef03eb72ae82");
    assert_eq!(keys("mariadb1011-keyfile")[&1], key);

    let mut page = space.file[4 * 16384..5 * 16384].to_vec();
    assert_eq!(page[26..42].to_vec(), bytes("b8d5e0be2496dc84806b42d1f77f65b2"));
    assert_eq!(page[16380..].to_vec(), bytes("f9c4216d"));
    let key = PageKey::derive(&key, &data.iv).unwrap();
    let opened = decrypt(&mut page, space.layout, Mode::Cbc, SpaceId(7), &key, &mut Vec::new()).unwrap();
    assert_eq!((opened.range, opened.plain), (26..16380, PlaintextCheck::Holds));
    assert_eq!(page[26..42].to_vec(), bytes("00000000000000000000000700331658"));
    page[16380..].fill(0);
    encrypt(&mut page, space.layout, Mode::Cbc, SpaceId(7), &key).unwrap();
    assert_eq!(page[16380..].to_vec(), bytes("f9c4216d"));
}

#[test]
fn crypt_data_is_found_on_every_page_size() {
    for space in Space::all() {
        let data = CryptData::from_page0(&space.file, &space.page0);
        let Some(data) = data else {
            assert!(space.name.contains("ctr"), "{}", space.name);
            continue;
        };
        assert_eq!(data.scheme == 1, space.encrypted().next().is_some(), "{}", space.name);
    }
    let space = Space::load("mariadb1011-16k-encrypted.ibd").unwrap();
    assert_eq!(CryptData::parse(&space.file[..16384], 10391), None);
    assert_eq!(CryptData::parse(&space.file[..10428 + 32], 10390), None);
    assert_eq!(CryptData::parse(&[], usize::MAX), None);
    let mut other_length = space.file[..16384].to_vec();
    other_length[10428 + 7] = 12;
    assert_eq!(CryptData::parse(&other_length, 10390), None);
}

#[test]
fn a_flipped_bit_anywhere_is_detected_without_a_key() {
    for space in Space::all() {
        let Some(page) = space.encrypted().last() else { continue };
        let n = page.len();
        let stored = ciphertext_range(page, space.layout).unwrap().end;
        let packed = is_page_compressed(page, space.layout);
        let zip = matches!(space.layout, Layout::Legacy { row_compressed: true });
        let legacy = matches!(space.layout, Layout::Legacy { .. });
        for at in [0, 5, 18, 24, 25, 26, 30, 33, 38, 60, n / 2, n - 9, n - 8, n - 1] {
            // Not covered by the checksums of the older format: docs/formats, "Checksums".
            let uncovered =
                legacy && (at < 4 || (26..30).contains(&at) || at >= n - 8) || zip && (16..24).contains(&at);
            if uncovered && !(zip && at >= n - 8) || packed && at >= stored {
                continue;
            }
            let mut damaged = page.to_vec();
            damaged[at] ^= 0x10;
            assert!(!ciphertext_holds(&damaged, space.layout), "{} {at}", space.name);
        }
    }
}

#[test]
fn damage_under_a_valid_ciphertext_checksum_is_detected_with_the_key() {
    let cbc = Space::load("mariadb1011-16k-encrypted.ibd").unwrap();
    let legacy = Space::load("mariadb1011-16k-legacy-encrypted.ibd").unwrap();
    let counted = Space::load("mariadb1011-ctr-8k-legacy-encrypted.ibd").unwrap();
    let zip = Space::load("mariadb1011-16k-legacy-encrypted-kbs8.ibd").unwrap();
    let packed = Space::load("mariadb1011-16k-encrypted-page-compressed-lz4.ibd").unwrap();
    let legacy_packed = Space::load("mariadb1011-16k-legacy-encrypted-page-compressed.ibd").unwrap();
    let corrupt = PlaintextFault::Decompress(DecompressFault::Corrupt);
    for (space, at, expected) in [
        (&cbc, 30, Some(PlaintextFault::SpaceId(SpaceId(0)))),
        (&cbc, 4, Some(PlaintextFault::TrailerLsn)),
        (&cbc, 16384 - 8, Some(PlaintextFault::TrailerLsn)),
        // In the middle of a page of this format only the checksum over the ciphertext shows damage.
        (&cbc, 5000, None),
        (&legacy, 5000, Some(PlaintextFault::Checksum)),
        (&legacy, 16384 - 8, Some(PlaintextFault::Checksum)),
        (&legacy, 16384 - 1, Some(PlaintextFault::TrailerLsn)),
        (&legacy, 37, Some(PlaintextFault::SpaceId(SpaceId(0)))),
        (&counted, 5000, Some(PlaintextFault::Checksum)),
        (&zip, 5000, Some(PlaintextFault::Checksum)),
        (&packed, 27, Some(corrupt)),
        (&legacy_packed, 45, Some(corrupt)),
    ] {
        let page = space.encrypted().nth(3).unwrap();
        let plain = space.decrypt(&mut space.forged(page, at));
        let found = match plain {
            PlaintextCheck::Holds => None,
            PlaintextCheck::Fails(PlaintextFault::SpaceId(_)) => Some(PlaintextFault::SpaceId(SpaceId(0))),
            PlaintextCheck::Fails(fault) => Some(fault),
            PlaintextCheck::NoChecksum => panic!("{}", space.name),
        };
        assert_eq!(found, expected, "{} {at}", space.name);
    }
}

#[test]
fn a_compressed_image_of_another_page_is_refused() {
    let space = Space::load("mariadb1011-16k-legacy-clear-page-compressed-snappy.ibd").unwrap();
    let mut pages = space.pages().map(<[u8]>::to_vec);
    let (mut first, second) = (pages.next().unwrap(), pages.next().unwrap());
    first[38..].copy_from_slice(&second[38..]);
    let plain = check_plaintext(&first, space.layout, space.space_id(), &mut Vec::new());
    assert_eq!(plain, PlaintextCheck::Fails(PlaintextFault::Image));
    let plain = check_plaintext(&second, space.layout, SpaceId(1), &mut Vec::new());
    assert_eq!(plain, PlaintextCheck::Fails(PlaintextFault::SpaceId(space.space_id())));
}

#[test]
fn a_page_without_checksum_proves_nothing() {
    let space = Space::load("mariadb1011-16k-legacy-encrypted.ibd").unwrap();
    let mut page = space.encrypted().last().unwrap().to_vec();
    page[..4].copy_from_slice(&[0xde, 0xad, 0xbe, 0xef]);
    page[16376..16380].copy_from_slice(&[0xde, 0xad, 0xbe, 0xef]);
    assert_eq!(space.decrypt(&mut page), PlaintextCheck::NoChecksum);
}

#[test]
fn lengths_that_do_not_fit_the_page_are_errors() {
    let full = Space::load("mariadb1011-16k-encrypted-page-compressed-lz4.ibd").unwrap();
    let legacy = Space::load("mariadb1011-16k-legacy-encrypted-page-compressed.ibd").unwrap();
    for (space, at, lengths) in
        [(&full, 24, [0x8000_u16, 0x8040, 0x8041, 0xffff]), (&legacy, 38, [0, 16384 - 41, 0x8000, 0xffff])]
    {
        for length in lengths {
            let mut page = space.encrypted().last().unwrap().to_vec();
            page[at..at + 2].copy_from_slice(&length.to_be_bytes());
            let original = page.clone();
            let key = space.key.as_ref().unwrap();
            let opened = decrypt(&mut page, space.layout, space.mode, space.space_id(), key, &mut Vec::new());
            assert_eq!(opened, Err(CryptFault::Length), "{} {length}", space.name);
            assert_eq!(page, original);
            let mut image = vec![0; page.len()];
            assert_eq!(decompress(&page, space.layout, &mut image), Err(DecompressFault::Length));
        }
    }
}

#[test]
fn clear_pages_are_not_opened() {
    let space = Space::load("mariadb1011-16k-clear.ibd").unwrap();
    let key = PageKey::derive(&[7; 16], &[9; 16]).unwrap();
    for page in space.pages() {
        assert!(ciphertext_holds(page, space.layout));
        assert_eq!(check_plaintext(page, space.layout, space.space_id(), &mut Vec::new()), PlaintextCheck::Holds);
        let mut page = page.to_vec();
        let opened = decrypt(&mut page, space.layout, Mode::Cbc, space.space_id(), &key, &mut Vec::new());
        assert_eq!(opened, Err(CryptFault::NotEncrypted));
    }
}

#[test]
fn other_fields_of_the_older_format_are_no_key_version() {
    let mut page = vec![0; 16384];
    page[26..34].fill(1);
    for (page_type, version) in [(17854, 0), (8, 0), (17855, 0x0101_0101)] {
        page[24..26].copy_from_slice(&u16::to_be_bytes(page_type));
        let found = key_version(&page, Layout::Legacy { row_compressed: false });
        assert_eq!(found, KeyVersion(version), "{page_type}");
    }
}

#[test]
fn the_algorithm_is_known_or_an_error() {
    assert_eq!(Algorithm::from_number(5), Ok(Algorithm::Bzip2));
    for number in [0, 7, 255, u64::MAX] {
        assert_eq!(Algorithm::from_number(number), Err(DecompressFault::Algorithm(number)));
    }
    let space = Space::load("mariadb1011-16k-encrypted-page-compressed-lzo.ibd").unwrap();
    assert_eq!(space.page0.flags, SpaceFlags(0x75));
    let mut page = space.encrypted().last().unwrap().to_vec();
    space.decrypt(&mut page);
    let mut image = vec![0; page.len()];
    for (compression, expected) in
        [(3, Ok(())), (7, Err(DecompressFault::Algorithm(7))), (6, Err(DecompressFault::Corrupt))]
    {
        assert_eq!(decompress(&page, Layout::FullCrc32 { compression }, &mut image), expected);
    }
}

#[test]
fn the_result_has_exactly_the_requested_length() {
    for (algorithm, payload, image) in compressed_images() {
        for len in [0, image.len() - 1, image.len() + 1, 2 * image.len()] {
            let result = algorithm.decompress(&payload, &mut vec![0; len]);
            assert_eq!(result, Err(DecompressFault::Corrupt), "{algorithm:?} {len}");
        }
        for len in 0..payload.len() {
            let result = algorithm.decompress(&payload[..len], &mut vec![0; image.len()]);
            assert_eq!(result, Err(DecompressFault::Corrupt), "{algorithm:?} {len} of {}", payload.len());
        }
    }
}

/// One exact compressed image per algorithm, and its decompressed content.
fn compressed_images() -> Vec<(Algorithm, Vec<u8>, Vec<u8>)> {
    let suffixes = ["", "-lz4", "-lzo", "-lzma", "-bzip2", "-snappy"];
    let images = Algorithm::ALL.into_iter().zip(suffixes).map(|(algorithm, suffix)| {
        let space = Space::load(&format!("mariadb1011-16k-encrypted-page-compressed{suffix}.ibd")).unwrap();
        let mut page = space.encrypted().next().unwrap().to_vec();
        let range = ciphertext_range(&page, space.layout).unwrap();
        space.decrypt(&mut page);
        let mut image = vec![0; page.len()];
        decompress(&page, space.layout, &mut image).unwrap();
        let lengths = 1..=range.len();
        let end = lengths.map(|len| range.start + len);
        let mut fitting = end.filter(|end| algorithm.decompress(&page[26..*end], &mut vec![0; image.len()]).is_ok());
        (algorithm, page[26..fitting.next().unwrap()].to_vec(), image)
    });
    images.collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn hostile_compressed_bytes_are_refused_or_fill_the_page(
        which in 0_usize..6,
        at in any::<prop::sample::Index>(),
        replacement in prop::collection::vec(any::<u8>(), 1..8),
    ) {
        let (algorithm, mut payload, mut image) = IMAGES.with(|images| images[which].clone());
        let at = at.index(payload.len());
        for (to, from) in payload[at..].iter_mut().zip(replacement) {
            *to = from;
        }
        let _ = algorithm.decompress(&payload, &mut image);
    }

    #[test]
    fn hostile_pages_are_refused_or_seal_to_the_same_bytes(
        len in 0_usize..600,
        fill in prop::collection::vec(any::<u8>(), 64),
        compression in 0_u8..8,
        row_compressed: bool,
        full: bool,
        counted: bool,
        page_type in prop::sample::select(vec![0_u16, 8, 17855, 34354, 37401, 0x8001, 0x8002, 0xffff]),
    ) {
        let mut page: Vec<u8> = fill.into_iter().cycle().take(len).collect();
        if let Some(bytes) = page.get_mut(24..26) {
            bytes.copy_from_slice(&page_type.to_be_bytes());
        }
        let layout = if full { Layout::FullCrc32 { compression } } else { Layout::Legacy { row_compressed } };
        let mode = if counted { Mode::Ctr } else { Mode::Cbc };
        let key = PageKey::derive(&[7; 24], &[9; 16]).unwrap();
        finish_encryption(&mut page, layout);
        let original = page.clone();
        let mut image = Vec::new();
        let _ = check_plaintext(&page, layout, SpaceId(7), &mut image);
        if decrypt(&mut page, layout, mode, SpaceId(7), &key, &mut image).is_ok() {
            encrypt(&mut page, layout, mode, SpaceId(7), &key).unwrap();
        }
        prop_assert_eq!(page, original);
    }
}

thread_local! {
    static IMAGES: Vec<(Algorithm, Vec<u8>, Vec<u8>)> = compressed_images();
}

#[test]
fn the_older_checksum_covers_zeros_after_the_compressed_bytes() {
    for name in ["", "-stale"] {
        let space = Space::load(&format!("mariadb1011-16k-legacy-encrypted-page-compressed{name}.ibd")).unwrap();
        for page in space.encrypted() {
            let end = ciphertext_range(page, space.layout).unwrap().end;
            let mut page = page.to_vec();
            page[end..].fill(0);
            assert_eq!(page[30..34], crc32(&page).to_be_bytes());
        }
    }
}

#[test]
fn leftovers_after_a_compressed_page_are_kept_and_not_judged() {
    for (name, stored) in [("encrypted", 1536), ("legacy-encrypted", 1304)] {
        let space = Space::load(&format!("mariadb1011-16k-{name}-page-compressed-stale.ibd")).unwrap();
        let page = space.encrypted().last().unwrap();
        assert!(page[stored..4096].iter().all(|byte| *byte == 0));
        assert!(page[4096..].iter().any(|byte| *byte != 0));
        let mut other = page.to_vec();
        other[stored + 8..].fill(0x55);
        assert!(ciphertext_holds(page, space.layout) && ciphertext_holds(&other, space.layout));
        let original = other.clone();
        assert_eq!(space.decrypt(&mut other), PlaintextCheck::Holds);
        encrypt(&mut other, space.layout, space.mode, space.space_id(), space.key.as_ref().unwrap()).unwrap();
        assert!(other == original);
        other[stored - 6] ^= 1;
        assert!(!ciphertext_holds(&other, space.layout));
    }
}
