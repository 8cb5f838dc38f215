//! Parts of an age file: each chunk is accepted only at its own place, and the last one only as the last.

#![allow(clippy::unwrap_used, reason = "in a test a failure is to be seen")]

mod support;

use std::ops::Range;

use agefile::{CHUNK_BYTES, Error, HeaderFault, Identity, PartDecryptor, PayloadFault};
use proptest::prelude::*;
use support::{VERSION, encrypt, identity, payload, stanza, with_mac};

const CHUNK: u64 = CHUNK_BYTES as u64;
const ENCRYPTED: usize = CHUNK_BYTES + 16;
/// Header for one recipient, and the nonce.
const FIRST: usize = 168 + 16;

fn plain(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 97 % 251) as u8).collect()
}

/// Reads a part of a file that is said to have `bytes` bytes.
fn part(file: &[u8], bytes: u64, part: Range<u64>) -> Result<Vec<u8>, Error> {
    let decryptor = PartDecryptor::new(&file[..FIRST.min(file.len())], bytes, &[identity()])?;
    let range = decryptor.encrypted(&part).expect("it is in the file");
    let [from, end] = [range.start, range.end].map(|at| usize::try_from(at).unwrap().min(file.len()));
    decryptor.decrypt(&part, &file[from..end], &mut Vec::new()).map(<[u8]>::to_vec)
}

#[track_caller]
fn refused(read: Result<Vec<u8>, Error>, expected: (u64, PayloadFault)) {
    match read {
        Err(Error::Payload { chunk, fault }) => assert_eq!((chunk, fault), expected),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_part_needs_only_its_own_chunks() {
    let plain = plain(5 * CHUNK_BYTES + 100);
    let file = encrypt(&plain, &[identity().recipient()]);
    let decryptor = PartDecryptor::new(&file[..FIRST], file.len() as u64, &[identity()]).unwrap();
    assert_eq!(decryptor.plain_bytes(), plain.len() as u64);
    let at = |chunk: usize| (FIRST + chunk * ENCRYPTED) as u64;
    for (part, expected) in [
        (0..1, at(0)..at(1)),
        (CHUNK..2 * CHUNK, at(1)..at(2)),
        (CHUNK - 1..CHUNK + 1, at(0)..at(2)),
        (5 * CHUNK..5 * CHUNK + 100, at(5)..file.len() as u64),
        (4 * CHUNK + 7..5 * CHUNK + 1, at(4)..file.len() as u64),
    ] {
        assert_eq!(decryptor.encrypted(&part), Some(expected), "{part:?}");
    }
    for none in [0..0, 9..9, 5 * CHUNK..5 * CHUNK + 101, u64::MAX - 1..u64::MAX] {
        assert_eq!(decryptor.encrypted(&none), None, "{none:?}");
        assert!(decryptor.decrypt(&none, &[], &mut Vec::new()).is_err(), "{none:?}");
    }
    assert_eq!(format!("{decryptor:?}"), "PartDecryptor");
}

#[test]
fn flipped_swapped_and_missing_chunks_are_refused() {
    let plain = plain(4 * CHUNK_BYTES + 9);
    let file = encrypt(&plain, &[identity().recipient()]);
    let bytes = file.len() as u64;
    // Damage elsewhere in the file does not matter.
    for at in [FIRST, FIRST + ENCRYPTED - 1, FIRST + ENCRYPTED / 2] {
        let mut flipped = file.clone();
        flipped[at] ^= 1;
        refused(part(&flipped, bytes, 5..9), (0, PayloadFault::Damaged));
        assert_eq!(part(&flipped, bytes, CHUNK..CHUNK + 5).unwrap(), plain[CHUNK_BYTES..][..5]);
    }
    let mut swapped = file.clone();
    swapped[FIRST..][..2 * ENCRYPTED].rotate_left(ENCRYPTED);
    refused(part(&swapped, bytes, 0..2), (0, PayloadFault::Damaged));
    refused(part(&swapped, bytes, CHUNK..CHUNK + 2), (1, PayloadFault::Damaged));
    let mut missing = file.clone();
    missing.drain(FIRST + ENCRYPTED..FIRST + 2 * ENCRYPTED);
    assert!(part(&missing, bytes, 0..CHUNK).is_ok());
    refused(part(&missing, bytes, CHUNK..CHUNK + 1), (1, PayloadFault::Damaged));
    // A chunk of another file with the same recipients.
    let other = encrypt(&plain, &[identity().recipient()]);
    let mut mixed = file.clone();
    mixed[FIRST..][..ENCRYPTED].copy_from_slice(&other[FIRST..][..ENCRYPTED]);
    refused(part(&mixed, bytes, 0..2), (0, PayloadFault::Damaged));
    // All or nothing.
    let mut last = file;
    last[FIRST + 2 * ENCRYPTED] ^= 1;
    let decryptor = PartDecryptor::new(&last[..FIRST], bytes, &[identity()]).unwrap();
    let mut room = vec![b'-'; 100];
    let read = decryptor.decrypt(&(0..3 * CHUNK), &last[FIRST..FIRST + 3 * ENCRYPTED], &mut room);
    refused(read.map(<[u8]>::to_vec), (2, PayloadFault::Damaged));
    assert!(room.is_empty(), "nothing of the sound chunks is left");
}

#[test]
fn a_truncated_file_is_not_complete() {
    let plain = plain(3 * CHUNK_BYTES);
    let file = encrypt(&plain, &[identity().recipient()]);
    let bytes = file.len() as u64;
    assert_eq!(part(&file, bytes, 2 * CHUNK..3 * CHUNK).unwrap(), plain[2 * CHUNK_BYTES..]);
    // Whoever knows the length notices a shorter range.
    for cut in [1, 16, ENCRYPTED - 1, ENCRYPTED] {
        refused(part(&file[..file.len() - cut], bytes, 2 * CHUNK..3 * CHUNK), (2, PayloadFault::Truncated));
    }
    refused(part(&file[..file.len() - ENCRYPTED - 1], bytes, 0..3 * CHUNK), (1, PayloadFault::Truncated));
    // The same with a wrong length: the chunk that is now at the end was not the last one.
    let short = bytes - ENCRYPTED as u64;
    refused(part(&file, short, CHUNK..2 * CHUNK), (1, PayloadFault::Damaged));
    assert!(part(&file, short, 0..CHUNK).is_ok());
    let long = [file.as_slice(), &file[FIRST..][..ENCRYPTED]].concat();
    refused(part(&long, bytes + ENCRYPTED as u64, 2 * CHUNK..3 * CHUNK), (2, PayloadFault::Damaged));
    refused(part(&long, bytes + ENCRYPTED as u64, 3 * CHUNK..4 * CHUNK), (3, PayloadFault::Damaged));
}

#[test]
fn a_length_that_no_file_has_is_refused() {
    let header = with_mac(&format!("{VERSION}{}", stanza(&identity().recipient())));
    let begin = [header.as_slice(), &payload(&[(b"!", true)])].concat();
    let opened = |begin: &[u8], bytes: usize| PartDecryptor::new(begin, bytes as u64, &[identity()]);
    let fault = |bytes: usize| match opened(&begin, bytes) {
        Err(Error::Payload { chunk, fault }) => Some((chunk, fault)),
        other => other.map(|_| None).unwrap(),
    };
    assert_eq!(fault(begin.len()), None);
    for bytes in [0, header.len(), FIRST, FIRST + 15] {
        assert_eq!(fault(bytes), Some((0, PayloadFault::Truncated)), "{bytes}");
    }
    assert_eq!(opened(&begin, FIRST + 16).unwrap().plain_bytes(), 0);
    assert_eq!(fault(FIRST + ENCRYPTED), None);
    for (bytes, expected) in [(1, PayloadFault::Truncated), (15, PayloadFault::Truncated), (16, PayloadFault::Empty)] {
        assert_eq!(fault(FIRST + ENCRYPTED + bytes), Some((1, expected)));
    }
    assert_eq!(opened(&begin, usize::MAX).unwrap().encrypted(&(0..1)), Some(FIRST as u64..(FIRST + ENCRYPTED) as u64));
    // Too little of the beginning.
    for length in 0..header.len() {
        let refused = opened(&begin[..length], begin.len()).unwrap_err();
        let is_truncated = matches!(refused, Error::Header { fault: HeaderFault::Truncated, .. } | Error::NotAge);
        assert!(is_truncated, "{length}: {refused:?}");
    }
    assert!(matches!(opened(&begin[..FIRST - 1], begin.len()), Err(Error::Payload { chunk: 0, .. })));
    let other = Identity::generate().unwrap();
    assert!(matches!(PartDecryptor::new(&begin, begin.len() as u64, &[other]), Err(Error::NoMatch)));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_part_is_as_in_the_whole(length in 1..300_000_usize, from in 0.0..1.0_f64, share in 0.0..1.0_f64) {
        let plain = plain(length);
        let file = encrypt(&plain, &[identity().recipient()]);
        let from = (length as f64 * from) as usize;
        let end = from + 1 + ((length - from - 1) as f64 * share) as usize;
        let read = part(&file, file.len() as u64, from as u64..end as u64).unwrap();
        prop_assert!(read == plain[from..end]);
    }
}
