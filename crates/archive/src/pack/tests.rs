use agefile::Identity;
use codec::{hash::Hash, page::MarkEncoding, path::RelativePath};

use super::*;
use crate::Error;

fn description(path: &[u8], extents: &[(u64, u64)], data: &[u8]) -> Description {
    Description {
        path: RelativePath::parse(path).unwrap(),
        extents: extents.iter().copied().map(Extent::from).collect(),
        hash: Hash::compute(data),
        decrypted: None,
    }
}

fn frames() -> Vec<(Description, Vec<u8>)> {
    let text = b"all work and no play ".repeat(1000);
    let decrypted = DecryptedUnits {
        form: MarkEncoding::Pages,
        unit_bytes: 1024,
        marks: vec![7; 10],
        kind: 2,
        key_version: 3,
        counter_mode: true,
    };
    let pages = Description {
        decrypted: Some(decrypted),
        ..description(b"d/\xff.ibd", &[(0, 1024), (4096, 1024)], &text[..2048])
    };
    vec![(description(b"a", &[(5, 21000)], &text), text.clone()), (pages, text[..2048].to_vec())]
}

#[test]
fn a_pack_reads_back() {
    let identity = Identity::generate().unwrap();
    let mut packer = Packer::new(Compression::Fast).unwrap();
    let mut writer = PackWriter::new(Vec::new(), &[identity.recipient()]).unwrap();
    let at: Vec<FrameAt> = frames().iter().map(|(of, data)| writer.add(&mut packer, of, data).unwrap()).collect();
    assert_eq!(at[1].at, u64::from(at[0].bytes));
    assert_eq!(writer.bytes(), at[1].at + u64::from(at[1].bytes));
    let bytes = writer.finish().unwrap();
    let mut reader = PackReader::decrypt(bytes.as_slice(), &[identity]).unwrap();
    for ((description, data), at) in frames().into_iter().zip(at) {
        let frame = reader.next_frame().unwrap().unwrap();
        assert_eq!((frame.at, frame.description, frame.data.to_vec()), (at.at, description, data));
    }
    assert!(reader.next_frame().unwrap().is_none());
}

#[test]
fn digits_without_repetitions_compress_at_every_level() {
    let digit = |state: &mut u32| {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some(b'0' + (*state >> 16) as u8 % 10)
    };
    let digits: Vec<u8> = std::iter::repeat_n((), MAX_FRAME_BYTES).scan(1, |state, ()| digit(state)).collect();
    for compression in [Compression::Fast, Compression::Level(1), Compression::Level(3)] {
        let (identity, mut packer) = (Identity::generate().unwrap(), Packer::new(compression).unwrap());
        let mut writer = PackWriter::new(Vec::new(), &[identity.recipient()]).unwrap();
        let description = description(b"t.ibd", &[(0, MAX_FRAME_BYTES as u64)], &digits);
        let frame = writer.add(&mut packer, &description, &digits).unwrap();
        // A digit takes 3.4 bits of Huffman's code.
        assert!((frame.bytes as usize) < digits.len() / 2, "{compression:?}: {}", frame.bytes);
        let packed = writer.finish().unwrap();
        let mut reader = PackReader::decrypt(packed.as_slice(), &[identity]).unwrap();
        let frame = reader.next_frame().unwrap().unwrap();
        assert!(*frame.data == *digits && frame.data.as_ptr().align_offset(4096) == 0, "{compression:?}");
    }
}

#[test]
fn parts_that_overlap_or_do_not_fit_are_refused() {
    let long = [(0, MAX_FRAME_BYTES as u64 + 1)];
    let many: Vec<(u64, u64)> = (0..=MAX_RUNS as u64).map(|at| (2 * at, 1)).collect();
    for extents in [&[][..], &[(0, 0)], &[(5, 5), (9, 1)], &[(9, 1), (5, 1)], &[(u64::MAX, 1)], &long, &many] {
        let refused = description(b"a", extents, b"").encode(5);
        assert!(matches!(refused, Err(Error::Pack(_))), "{extents:?}");
    }
}

#[test]
fn what_is_no_pack_is_refused() {
    let mut plain = Vec::new();
    let text = description(b"a", &[(0, 5)], b"bytes").encode(14).unwrap();
    let packed = zstd::bulk::compress(b"bytes", 1).unwrap();
    assert_eq!(packed.len(), 14);
    plain.extend(MAGIC.to_le_bytes());
    plain.extend((text.len() as u32).to_le_bytes());
    plain.extend(&text);
    plain.extend(&packed);
    let read =
        |plain: &[u8]| PackReader::new(plain).unwrap().next_frame().map(|frame| frame.map(|of| of.data.to_vec()));
    assert_eq!(read(&plain).unwrap().unwrap(), b"bytes");
    for length in 1..plain.len() {
        assert!(read(&plain[..length]).is_err(), "{length}");
    }
    for (at, value) in [(0, 0), (6, 0xff), (plain.len() - 14, 0)] {
        let mut changed = plain.clone();
        changed[at] = value;
        assert!(read(&changed).is_err(), "{at}");
    }
    let escape = String::from_utf8(text).unwrap().replace("\"f\":\"a\"", "\"f\":\"..\"");
    assert!(Description::parse(escape.as_bytes()).is_err());
}
