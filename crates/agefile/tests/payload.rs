//! The payload's chunks: lengths, order and end, and what a reader gets when one is wrong.

#![allow(clippy::unwrap_used, reason = "in a test a failure is to be seen")]

mod support;

use std::io::{self, BufRead, Read, Write};

use agefile::{CHUNK_BYTES, Decryptor, Encryptor, Error, PayloadFault};
use proptest::prelude::*;
use support::{VERSION, decrypt, encrypt, identity, inner_error, payload, stanza, with_mac};

const FULL: &[u8; CHUNK_BYTES] = &[b'f'; CHUNK_BYTES];

fn from_chunks(chunks: &[(&[u8], bool)]) -> Vec<u8> {
    let header = with_mac(&format!("{VERSION}{}", stanza(&identity().recipient())));
    [header, payload(chunks)].concat()
}

/// Checks that a reader gets `plain_bytes` correct bytes, and then this fault.
#[track_caller]
fn refused(file: &[u8], plain_bytes: usize, chunk: u64, fault: PayloadFault) {
    let (plain, read) = decrypt(file, &[identity()]);
    assert!(plain.len() == plain_bytes && plain.iter().all(|byte| *byte == b'f'), "{} bytes", plain.len());
    let found = match read {
        Err(Error::Payload { chunk, fault }) => (chunk, fault),
        other => panic!("{other:?}"),
    };
    assert_eq!(found, (chunk, fault));
}

#[test]
fn valid_chunks_are_opened() {
    for (chunks, bytes) in [
        (&[(&b""[..], true)][..], 0),
        (&[(b"ffff", true)], 4),
        (&[(FULL, true)], CHUNK_BYTES),
        (&[(FULL, false), (b"f", true)], CHUNK_BYTES + 1),
        (&[(FULL, false), (FULL, true)], 2 * CHUNK_BYTES),
    ] {
        let (plain, read) = decrypt(&from_chunks(chunks), &[identity()]);
        read.unwrap();
        assert_eq!(plain.len(), bytes);
    }
}

#[test]
fn the_last_chunk_is_marked_and_the_others_are_not() {
    refused(&from_chunks(&[]), 0, 0, PayloadFault::Truncated);
    refused(&from_chunks(&[(b"f", false)]), 0, 0, PayloadFault::Damaged);
    refused(&from_chunks(&[(b"", false)]), 0, 0, PayloadFault::Damaged);
    refused(&from_chunks(&[(FULL, false)]), CHUNK_BYTES, 1, PayloadFault::Truncated);
    refused(&from_chunks(&[(FULL, false), (FULL, false)]), 2 * CHUNK_BYTES, 2, PayloadFault::Truncated);
    refused(&from_chunks(&[(FULL, true), (FULL, true)]), CHUNK_BYTES, 1, PayloadFault::Trailing);
    refused(&from_chunks(&[(FULL, true), (b"", true)]), CHUNK_BYTES, 1, PayloadFault::Trailing);
    refused(&from_chunks(&[(FULL, false), (b"", true)]), CHUNK_BYTES, 1, PayloadFault::Empty);
    refused(&from_chunks(&[(FULL, false), (b"", false)]), CHUNK_BYTES, 1, PayloadFault::Damaged);
    // A short chunk ends the file, whatever follows it.
    refused(&from_chunks(&[(b"f", true), (b"f", true)]), 0, 0, PayloadFault::Damaged);
}

#[test]
fn bytes_after_the_last_chunk_are_detected() {
    for length in [0, 1, CHUNK_BYTES - 1] {
        refused(&[from_chunks(&[(&FULL[..length], true)]), vec![0]].concat(), 0, 0, PayloadFault::Damaged);
    }
    for more in [1, 15, 16, 17, CHUNK_BYTES, 2 * CHUNK_BYTES] {
        let file = [from_chunks(&[(FULL, false), (FULL, true)]), vec![0; more]].concat();
        refused(&file, 2 * CHUNK_BYTES, 2, PayloadFault::Trailing);
    }
}

#[test]
fn swapped_chunks_are_detected() {
    let [one, two] = [[b'1'; CHUNK_BYTES], [b'2'; CHUNK_BYTES]];
    let mut file = from_chunks(&[(&one, false), (&two, false), (b"f", true)]);
    let first = file.len() - (17 + 2 * (CHUNK_BYTES + 16));
    file[first..][..2 * (CHUNK_BYTES + 16)].rotate_left(CHUNK_BYTES + 16);
    refused(&file, 0, 0, PayloadFault::Damaged);
    file.drain(first..first + CHUNK_BYTES + 16);
    assert!(matches!(decrypt(&file, &[identity()]).1, Err(Error::Payload { chunk: 1, fault: PayloadFault::Damaged })));
}

#[test]
fn every_flipped_bit_is_detected() {
    let good = encrypt(b"a keyring", &[identity().recipient()]);
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        let (plain, read) = decrypt(&bad, &[identity()]);
        assert!(read.is_err() && plain.is_empty(), "bit {bit}: {read:?}");
    }
}

#[test]
fn every_truncation_is_detected() {
    let good = encrypt(b"a keyring", &[identity().recipient()]);
    for length in 0..good.len() {
        let (plain, read) = decrypt(&good[..length], &[identity()]);
        assert!(read.is_err() && plain.is_empty(), "{length} bytes: {read:?}");
    }
    let long = encrypt(&[FULL.as_slice(), FULL, b"f"].concat(), &[identity().recipient()]);
    let header = long.len() - 17 - 2 * (CHUNK_BYTES + 16);
    for (kept, plain, chunk, fault) in [
        (0, 0, 0, PayloadFault::Truncated),
        (15, 0, 0, PayloadFault::Truncated),
        (16, 0, 0, PayloadFault::Damaged),
        (CHUNK_BYTES + 15, 0, 0, PayloadFault::Damaged),
        (CHUNK_BYTES + 16, CHUNK_BYTES, 1, PayloadFault::Truncated),
        (CHUNK_BYTES + 17, CHUNK_BYTES, 1, PayloadFault::Truncated),
        (CHUNK_BYTES + 40, CHUNK_BYTES, 1, PayloadFault::Damaged),
        (2 * (CHUNK_BYTES + 16), 2 * CHUNK_BYTES, 2, PayloadFault::Truncated),
        (2 * (CHUNK_BYTES + 16) + 16, 2 * CHUNK_BYTES, 2, PayloadFault::Damaged),
    ] {
        refused(&long[..header + kept], plain, chunk, fault);
    }
}

#[test]
fn no_byte_of_a_damaged_chunk_is_returned() {
    let mut file = encrypt(&[FULL.as_slice(), FULL].concat(), &[identity().recipient()]);
    let last = file.len() - 1;
    file[last] ^= 1;
    let mut decryptor = Decryptor::new(file.as_slice(), &[identity()]).unwrap();
    let mut buffer = vec![0; 3 * CHUNK_BYTES];
    assert_eq!(decryptor.read(&mut buffer).unwrap(), CHUNK_BYTES);
    buffer.fill(b'-');
    for _ in 0..3 {
        let error = inner_error(decryptor.read(&mut buffer).unwrap_err());
        assert!(matches!(error, Error::Payload { chunk: 1, fault: PayloadFault::Damaged }), "{error:?}");
        assert!(decryptor.fill_buf().is_err());
    }
    assert!(buffer.iter().all(|byte| *byte == b'-'));
}

/// Accepts this many bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        if taken == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(taken) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn writes_after_a_failed_write_fail() {
    let recipients = [identity().recipient()];
    assert!(matches!(Encryptor::new(Full(10), &recipients), Err(Error::Write(_))));
    let mut encryptor = Encryptor::new(Full(1000), &recipients).unwrap();
    let error = encryptor.write_all(&[0; 2 * CHUNK_BYTES]).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert!(encryptor.write(b"more").is_err());
    assert_eq!(encryptor.finish().map(drop).unwrap_err().kind(), io::ErrorKind::Other);
}

/// A reader that fails now and then with an error after which reading can continue.
struct InterruptedReader<'f>(&'f [u8], u32);

impl Read for InterruptedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.1 += 1;
        match self.1 % 3 {
            0 => Err(io::ErrorKind::Interrupted.into()),
            1 => Err(io::ErrorKind::WouldBlock.into()),
            _ => self.0.read(buffer.get_mut(..1000).unwrap_or_default()),
        }
    }
}

#[test]
fn reading_continues_after_a_failed_read() {
    let plain = vec![b'x'; 3 * CHUNK_BYTES + 5];
    let file = encrypt(&plain, &[identity().recipient()]);
    // Errors of the header are final: opening starts again.
    assert!(matches!(Decryptor::new(InterruptedReader(&file, 0), &[identity()]), Err(Error::Read(_))));
    let mut decryptor = Decryptor::new(InterruptedReader(&file, 1), &[identity()]).unwrap();
    let mut read = Vec::new();
    loop {
        match decryptor.read_to_end(&mut read) {
            Ok(_) => break,
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
        }
    }
    assert!(read == plain);
}

#[test]
fn debug_shows_no_secrets() {
    let file = encrypt(b"plain", &[identity().recipient()]);
    assert_eq!(format!("{:?}", Decryptor::new(file.as_slice(), &[identity()]).unwrap()), "Decryptor");
    assert_eq!(format!("{:?}", Encryptor::new(Vec::new(), &[identity().recipient()]).unwrap()), "Encryptor");
}

fn lengths() -> impl Strategy<Value = usize> {
    let edges = [0, 1, 65535, 65536, 65537, 131_071, 131_072, 131_073].map(|edge| Just(edge).boxed());
    prop_oneof![proptest::strategy::Union::new(edges), 0..200_000_usize]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn data_written_in_any_pieces_is_read_back_in_any_pieces(
        length in lengths(),
        writes in prop::collection::vec(1..140_000_usize, 1..6),
        reads in prop::collection::vec(1..140_000_usize, 1..6),
    ) {
        let plain: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        let mut encryptor = Encryptor::new(Vec::new(), &[identity().recipient()]).unwrap();
        let (mut rest, mut sizes) = (plain.as_slice(), writes.iter().cycle());
        while !rest.is_empty() {
            let (now, later) = rest.split_at((*sizes.next().unwrap()).min(rest.len()));
            encryptor.write_all(now).unwrap();
            encryptor.flush().unwrap();
            rest = later;
        }
        let file = encryptor.finish().unwrap();
        let chunks = length.div_ceil(CHUNK_BYTES).max(1);
        // The header for one recipient, the nonce, and a tag for each chunk.
        prop_assert_eq!(file.len(), 168 + 16 + length + 16 * chunks);

        let mut decryptor = Decryptor::new(file.as_slice(), &[identity()]).unwrap();
        let mut read = Vec::new();
        for size in reads.iter().cycle() {
            let mut buffer = vec![0; *size];
            let count = decryptor.read(&mut buffer).unwrap();
            if count == 0 {
                break;
            }
            read.extend_from_slice(&buffer[..count]);
        }
        prop_assert!(read == plain);
        prop_assert_eq!(decryptor.read(&mut [0]).unwrap(), 0);
    }
}
