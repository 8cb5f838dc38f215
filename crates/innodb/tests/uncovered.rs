//! Checks that exactly the bits of a page that docs/verify.md lists can change without any check failing.

#![allow(clippy::single_range_in_vec_init, reason = "a list of ranges may have one")]

mod common;

use std::ops::Range;

use common::{keys_of, sample};
use innodb::verify::tablespace::{Options, PageBuffers, Part, TablespaceVerifier};

/// Ranges of bytes in which a change of at least one bit is not detected. Tests all bytes at both ends of the page, and
/// some between them.
fn undetected(name: &str, page: usize) -> Vec<Range<usize>> {
    let mut bytes = sample(&format!("tablespace/{name}"));
    let keys = keys_of(name);
    let verifier = TablespaceVerifier::begin(&bytes.as_slice(), &Options::new(&keys)).expect("page 0 is readable");
    let page_bytes = verifier.page_bytes();
    let first = page * page_bytes;
    let mut buffer = vec![0; page_bytes];
    let mut judge = |bytes: &[u8]| {
        buffer.copy_from_slice(&bytes[first..first + page_bytes]);
        let mut part = Part::default();
        verifier.verify(bytes, page as u64, &mut buffer, &mut PageBuffers::default(), &mut part);
        verifier.finish([part]).verdict
    };
    let sound = judge(&bytes);
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut before = 0;
    for at in (0..page_bytes).filter(|at| *at < 320 || at % 61 == 0 || at + 16 >= page_bytes) {
        let mut flipped = |bit: u32| {
            bytes[first + at] ^= 1 << bit;
            let same = judge(&bytes) == sound;
            bytes[first + at] ^= 1 << bit;
            same
        };
        if (0..8).any(&mut flipped) {
            match found.last_mut() {
                Some(last) if last.end == before + 1 => last.end = at + 1,
                _ => found.push(at..at + 1),
            }
        }
        before = at;
    }
    found
}

/// Header bytes without a checksum: 26 to 33, except those used by encryption and compression; for pages with
/// compressed rows also the LSN. The padding after a compressed page's data and in the last byte of a deflate stream is
/// not covered either.
#[test]
fn only_bytes_without_a_checksum_may_change_unnoticed() {
    const END: usize = 16384;
    let control: &[Range<usize>] = &[26..34];
    let encrypted: &[Range<usize>] = &[26..28, 30..34];
    let encrypted_rows: &[Range<usize>] = &[16..24, 26..28, 30..34];
    for (name, page, expected) in [
        ("mysql97-16k-clear.ibd", 4, control),
        ("mysql97-16k-clear.ibd", 0, control),
        ("synthetic-checksum-innodb.ibd", 4, control),
        ("mysql97-16k-encrypted.ibd", 4, encrypted),
        ("mysql97-16k-encrypted.ibd", 0, control),
        ("mysql97-16k-encrypted-rtree.ibd", 5, control),
        ("mysql97-16k-encrypted-kbs8.ibd", 4, encrypted_rows),
        ("mysql97-4k-encrypted-kbs2.ibd", 5, encrypted_rows),
        ("mysql97-16k-encrypted-zlib.ibd", 4, &[26..27, 174..END]),
        ("mysql97-16k-encrypted-lz4.ibd", 4, &[26..27, 216..END]),
        ("mysql97-16k-clear-zlib.ibd", 4, &[26..27, 32..34, 171..172, 176..END]),
        ("mariadb1011-16k-clear.ibd", 3, &[]),
        ("mariadb1011-16k-encrypted.ibd", 3, &[]),
        ("mariadb1011-16k-encrypted-page-compressed.ibd", 3, &[256..END]),
        ("mariadb1011-16k-legacy-clear.ibd", 3, &[30..34]),
        ("mariadb1011-16k-legacy-encrypted.ibd", 3, &[]),
        ("mariadb1011-16k-legacy-encrypted-kbs8.ibd", 3, &[]),
        ("mariadb1011-16k-legacy-encrypted-page-compressed.ibd", 3, &[197..END]),
    ] {
        assert_eq!(undetected(name, page), expected, "{name} page {page}");
    }
}
