//! Messages of data connections: the first byte is the type. The payload of a chunk is decoded into chunks of every
//! relevant length.

use codec::hash::CHUNK_BYTES;
use transfer::{
    codec::Decoder,
    wire::{Codec, Data},
};

pub(crate) fn run(input: &[u8]) {
    let Some((kind, body)) = input.split_first() else { return };
    let Ok(message) = Data::decode(*kind, body) else { return };
    let mut back = Vec::new();
    assert_eq!(message.encode(&mut back), *kind);
    let Data::Chunk(chunk) = &message else { return assert_eq!(back, body) };
    assert_eq!([&back, chunk.payload].concat(), body);
    let parts = chunk.segments.iter().flatten();
    let all = parts.clone().map(|part| part.bytes as usize).sum::<usize>();
    assert!(all <= CHUNK_BYTES && parts.clone().all(|part| (part.from + part.bytes) as usize <= CHUNK_BYTES));
    for length in [all, chunk.payload.len(), 16 << 10] {
        let mut decoded = vec![0; length.min(CHUNK_BYTES)];
        let outcome = Decoder::default().decode(chunk.codec, chunk.payload, &mut decoded);
        if chunk.codec == Codec::Raw {
            assert_eq!(outcome.is_ok(), decoded.len() == chunk.payload.len());
        }
    }
}
