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

/// A frame of noise, which does not compress.
fn noise(seed: u32, at: u64) -> (Description, Vec<u8>) {
    let next = |state: &mut u32| {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some((*state >> 16) as u8)
    };
    let data: Vec<u8> = std::iter::repeat_n((), 300_000).scan(seed, |state, ()| next(state)).collect();
    (description(b"t.ibd", &[(at, data.len() as u64)], &data), data)
}

/// A pack of ten such frames, and where they are.
fn noisy(identity: &Identity) -> (Vec<u8>, Vec<FrameAt>) {
    let mut packer = Packer::new(Compression::Fast).unwrap();
    let mut writer = PackWriter::new(Vec::new(), &[identity.recipient()]).unwrap();
    let frames = (0..10).map(|number| noise(number, u64::from(number) << 20));
    let at = frames.map(|(of, data)| writer.add(&mut packer, &of, &data).unwrap()).collect();
    (writer.finish().unwrap(), at)
}

/// The data of these frames, read without the rest of the pack.
fn read_part(pack: &[u8], bytes: usize, frames: &[FrameAt], identity: &Identity) -> Result<Vec<Vec<u8>>, Error> {
    let begin = &pack[..pack.len().min(4096)];
    let mut partial = PartialPack::new(begin, bytes as u64, std::slice::from_ref(identity))?;
    let (first, last) = (frames.first().unwrap(), frames.last().unwrap());
    let range = first.at..last.at + u64::from(last.bytes);
    let encrypted = partial.encrypted(&range)?;
    let [from, end] = [encrypted.start, encrypted.end].map(|at| (at as usize).min(pack.len()));
    let mut found = partial.decrypt(&range, &pack[from..end])?;
    let data = |at: &FrameAt| {
        let frame = found.frame(at.at, at.bytes)?;
        frame.check_hash()?;
        Ok(frame.data.to_vec())
    };
    frames.iter().map(data).collect()
}

#[test]
fn frames_are_read_without_the_rest_of_the_pack() {
    let identity = Identity::generate().unwrap();
    let (pack, at) = noisy(&identity);
    for (first, count) in [(0, 1), (3, 1), (9, 1), (2, 3), (0, 10)] {
        let frames = &at[first..first + count];
        let expected: Vec<Vec<u8>> = (first..first + count).map(|number| noise(number as u32, 0).1).collect();
        assert!(read_part(&pack, pack.len(), frames, &identity).unwrap() == expected, "{first}, {count}");
    }
    // Frames that are not where the manifest has them.
    let wrong = [
        FrameAt { at: at[3].at + 1, ..at[3] },
        FrameAt { bytes: at[3].bytes - 1, ..at[3] },
        FrameAt { bytes: at[3].bytes + 1, ..at[3] },
        FrameAt { at: pack.len() as u64, ..at[3] },
        FrameAt { bytes: 0, ..at[3] },
    ];
    for wrong in wrong {
        assert!(read_part(&pack, pack.len(), &[wrong], &identity).is_err(), "{wrong:?}");
    }
    let mut partial = PartialPack::new(&pack[..4096], pack.len() as u64, &[identity]).unwrap();
    let range = at[3].at..at[4].at;
    let encrypted = partial.encrypted(&range).unwrap();
    let mut found = partial.decrypt(&range, &pack[encrypted.start as usize..encrypted.end as usize]).unwrap();
    for outside in [at[2], at[4]] {
        assert!(found.frame(outside.at, outside.bytes).is_err());
    }
    assert!(found.frame(at[3].at, at[3].bytes).is_ok());
}

#[test]
fn a_changed_part_of_a_pack_is_refused() {
    let identity = Identity::generate().unwrap();
    let (pack, at) = noisy(&identity);
    let frame = &at[4..5];
    let read = |pack: &[u8]| read_part(pack, pack.len(), frame, &identity);
    let middle = frame[0].at as usize + 1000;
    let mut flipped = pack.clone();
    flipped[middle] ^= 1;
    assert!(read(&flipped).is_err());
    // Another frame of the same pack, and the same place of another pack.
    let mut moved = pack.clone();
    let other = at[7].at as usize;
    moved.copy_within(other..other + 300_000, middle);
    assert!(read(&moved).is_err());
    let (other, _) = noisy(&identity);
    let mixed = [&pack[..4096], &other[4096..]].concat();
    assert!(read(&mixed).is_err());
    for end in [middle, middle + 200_000] {
        assert!(read_part(&pack[..end], pack.len(), frame, &identity).is_err(), "cut off at {end}");
    }
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
