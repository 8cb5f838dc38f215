//! Streams of mariabackup and xtrabackup. Paths stay below the root, and no part is larger than a chunk.

use codec::hash::CHUNK_BYTES;
use transfer::sender::file_stream::{FileStream, Piece, xbstream::XbStream};

/// A few bytes of input can describe a hole of gigabytes.
const MOST_PIECES: usize = 256;

pub(crate) fn run(input: &[u8]) {
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
}
