//! Streams of mariabackup and xtrabackup. What is read stays below the root, and no piece is larger than a chunk.
#![no_main]

use libfuzzer_sys::fuzz_target;
use transfer::{
    hash::CHUNK_BYTES,
    sender::file_stream::{FileStream, Piece, xbstream::XbStream},
};

/// A hole of a few bytes in the input may be of gigabytes.
const MOST_PIECES: usize = 256;

fuzz_target!(|input: &[u8]| {
    let mut stream = XbStream::new(input);
    for _ in 0..MOST_PIECES {
        let Ok(Some(piece)) = stream.next() else { return };
        let path = match &piece {
            Piece::Bytes { path, bytes, .. } => {
                assert!((1..=CHUNK_BYTES).contains(&bytes.len()));
                path
            }
            Piece::End { path } => path,
        };
        let escapes = path.as_path().components().any(|part| !matches!(part, std::path::Component::Normal(_)));
        assert!(!escapes);
    }
});
