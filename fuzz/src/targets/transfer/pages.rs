//! Keys and opened units of a peer: the first byte is the length of the key message; then the key message, a
//! description, and pages or part of a log. They are sealed, and opened again.

use codec::{
    hash::CHUNK_BYTES,
    page::{DecryptedChunk, SpaceCipher},
};

pub(crate) fn run(input: &[u8]) {
    let Some((count, rest)) = input.split_first() else { return };
    let Some((material, payload)) = rest.split_at_checked(usize::from(*count)) else { return };
    let opened = DecryptedChunk::parse(payload);
    let Ok(cipher) = SpaceCipher::decode(material) else { return };
    assert_eq!(cipher.encode().as_slice(), material);
    let Ok(opened) = opened else { return };
    let pages = payload.len().saturating_sub(4);
    for length in [pages, payload.len(), pages - pages % 1024, pages / 2] {
        let _ = opened.encrypt(&cipher, 0, &mut vec![0; length]);
    }
    // The matching length, if there is one: everything after the description, whose marks take five bytes each, or
    // eight, or a bit.
    let units = usize::from(u16::from_be_bytes([payload[2], payload[3]]));
    let second = CHUNK_BYTES as u64;
    let marks =
        [(5 * units, 0), (units.div_ceil(8), 0), (units.div_ceil(8), second), (8 * units, 0), (8 * units, second)];
    for (marks, offset) in marks {
        let mut chunk = vec![0; pages.saturating_sub(marks)];
        if opened.encrypt(&cipher, offset, &mut chunk).is_err() {
            continue;
        }
        let (mut again, mut check) = (Vec::new(), Vec::new());
        cipher.decrypt(opened.slot, offset, &chunk, &mut again, &mut check);
        let mut back = vec![0; chunk.len()];
        let reopened = DecryptedChunk::parse(&again).expect("our own description");
        reopened.encrypt(&cipher, offset, &mut back).expect("our own units");
        assert_eq!(back, chunk);
    }
}
