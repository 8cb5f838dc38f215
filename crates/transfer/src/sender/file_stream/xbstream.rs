//! The stream format of mariabackup and xtrabackup.
//!
//! Chunks of files, one after the other, all integers little-endian:
//!
//! | bytes | field |
//! |---|---|
//! | 8 | magic `XBSTCK01` |
//! | 1 | flags; only 0 is supported |
//! | 1 | type: `P` payload, `S` payload with holes (xtrabackup), `E` end of the file |
//! | 4 | length of the path |
//! | … | path |
//! | 4 | `S` only: number of entries of the map of holes |
//! | 8 | `P`, `S`: length of the payload |
//! | 8 | `P`, `S`: its offset in the file |
//! | 4 | `P`, `S`: CRC-32 (ISO 3309) of the map and the payload |
//! | … | `S` only: the map; per entry 4 bytes to skip and 4 bytes of payload that follow |
//! | … | the payload |
//!
//! The end of the stream is not marked. Chunks that rename or rewrite files, which newer programs
//! of MariaDB use, are rejected.
//!
//! Source: `xbstream.h` and `ds_xbstream` of Percona XtraBackup and of MariaDB; streams of MariaDB 10.11.19 and 11.8.6.

use std::io::{ErrorKind, Read};

use super::{FileStream, Piece};
use crate::{
    error::Error,
    hash::CHUNK_BYTES,
    path::{MAX_PATH_BYTES, RelativePath},
};

const MAGIC: &[u8; 8] = b"XBSTCK01";
/// Maximum number of entries in a map of holes (8 MiB).
const MAX_HOLES: u32 = 1 << 20;

/// Parser of a stream.
#[derive(Debug)]
pub struct XbStream<R> {
    from: R,
    /// Bytes read so far, for error messages.
    at: u64,
    payload: Option<Payload>,
}

/// The remainder of a chunk.
#[derive(Debug)]
struct Payload {
    path: RelativePath,
    /// Offset of the next byte in the file.
    offset: u64,
    left: u64,
    /// Remaining holes, the next one last: bytes to skip, and bytes that follow.
    holes: Option<Vec<(u32, u32)>>,
    /// Expected checksum.
    expected: u32,
    sum: Crc,
}

/// CRC-32 (ISO 3309), as in zlib.
#[derive(Debug)]
struct Crc(crc_fast::Digest);

impl Crc {
    fn new() -> Self {
        Self(crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc32IsoHdlc))
    }

    fn finish(&self) -> u32 {
        u32::try_from(self.0.finalize()).unwrap_or_default()
    }
}

impl<R: Read> XbStream<R> {
    /// `from` is the standard output of the program that writes the stream.
    pub const fn new(from: R) -> Self {
        Self { from, at: 0, payload: None }
    }

    fn damaged(&self, what: &str) -> Error {
        Error::Stream { reason: format!("{what}, at byte {} of it", self.at), ends_early: false }
    }

    /// Fills all of `room`.
    fn fill(&mut self, room: &mut [u8]) -> Result<(), Error> {
        match self.from.read_exact(room) {
            Ok(()) => {
                self.at += room.len() as u64;
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                let reason = "it ends in the middle of a chunk".to_owned();
                Err(Error::Stream { reason, ends_early: true })
            }
            Err(error) => Err(Error::Stream { reason: error.to_string(), ends_early: false }),
        }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads the first byte of the next chunk; `None` at the end.
    fn first(&mut self) -> Result<Option<u8>, Error> {
        let mut byte = [0];
        loop {
            match self.from.read(&mut byte) {
                Ok(0) => return Ok(None),
                Ok(_) => {
                    self.at += 1;
                    return Ok(Some(byte[0]));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(Error::Stream { reason: error.to_string(), ends_early: false }),
            }
        }
    }

    /// Reads the head of a chunk. Returns the end of a file, or `None` if a payload follows.
    fn head(&mut self, first: u8) -> Result<Option<Piece>, Error> {
        let [m1, m2, m3, m4, m5, m6, m7, flags, kind] = self.take::<9>()?;
        if [first, m1, m2, m3, m4, m5, m6, m7] != *MAGIC {
            return Err(self.damaged("no chunk begins here"));
        }
        if flags != 0 {
            return Err(self.damaged("a chunk that rewrites what came before, which is not supported"));
        }
        let length = u32::from_le_bytes(self.take()?) as usize;
        if length > MAX_PATH_BYTES {
            return Err(self.damaged("a path that is too long"));
        }
        let mut path = vec![0; length];
        self.fill(&mut path)?;
        // Percona's programs start some paths with "./".
        let plain = path.strip_prefix(b"./").unwrap_or(&path);
        let Some(path) = RelativePath::parse(plain) else {
            return Err(self.damaged("a path that is outside of the data directory"));
        };
        let holes = match kind {
            b'E' => return Ok(Some(Piece::End { path })),
            b'P' => None,
            b'S' => Some(u32::from_le_bytes(self.take()?)),
            _ => return Err(self.damaged("a chunk of a kind that is not supported")),
        };
        let left = u64::from_le_bytes(self.take()?);
        let offset = u64::from_le_bytes(self.take()?);
        let expected = u32::from_le_bytes(self.take()?);
        let mut sum = Crc::new();
        let holes = holes.map(|count| self.holes(count, left, &mut sum)).transpose()?;
        self.payload = Some(Payload { path, offset, left, holes, expected, sum });
        Ok(None)
    }

    /// Reads the map of holes and checks it against the length of the payload.
    fn holes(&mut self, count: u32, payload: u64, sum: &mut Crc) -> Result<Vec<(u32, u32)>, Error> {
        if count > MAX_HOLES {
            return Err(self.damaged("too many holes"));
        }
        let mut holes = Vec::new();
        let mut follows = 0_u64;
        for _ in 0..count {
            let entry = self.take::<8>()?;
            sum.0.update(&entry);
            let [a, b, c, d, e, f, g, h] = entry;
            let (skip, bytes) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
            follows = follows.saturating_add(u64::from(bytes));
            holes.push((skip, bytes));
        }
        if follows != payload {
            return Err(self.damaged("a map of holes that does not fit its payload"));
        }
        holes.reverse();
        Ok(holes)
    }

    /// The next bytes of a payload, zeros for holes; `None` at its end.
    fn piece(&mut self, payload: &mut Payload) -> Result<Option<Piece>, Error> {
        let skip = match &mut payload.holes {
            None => 0,
            Some(holes) => {
                while holes.last() == Some(&(0, 0)) {
                    holes.pop();
                }
                holes.last().map_or(0, |(skip, _)| *skip)
            }
        };
        let follows = match &payload.holes {
            None => payload.left,
            Some(holes) => holes.last().map_or(0, |(_, bytes)| u64::from(*bytes)),
        };
        let most = if skip > 0 { u64::from(skip) } else { follows };
        let count = usize::try_from(most).unwrap_or(usize::MAX).min(CHUNK_BYTES);
        if count == 0 {
            return Ok(None);
        }
        let mut bytes = vec![0; count];
        let taken = u32::try_from(count).unwrap_or(u32::MAX);
        if skip == 0 {
            self.fill(&mut bytes)?;
            payload.sum.0.update(&bytes);
            payload.left -= count as u64;
        }
        if let Some(hole) = payload.holes.as_mut().and_then(|holes| holes.last_mut()) {
            if skip > 0 { hole.0 -= taken } else { hole.1 -= taken }
        }
        let offset = payload.offset;
        let next = offset.checked_add(count as u64);
        payload.offset = next.ok_or_else(|| self.damaged("a chunk beyond the maximum length of a file"))?;
        Ok(Some(Piece::Bytes { path: payload.path.clone(), offset, bytes }))
    }
}

impl<R: Read + Send> FileStream for XbStream<R> {
    fn next(&mut self) -> Result<Option<Piece>, Error> {
        loop {
            if let Some(mut payload) = self.payload.take() {
                if let Some(piece) = self.piece(&mut payload)? {
                    self.payload = Some(payload);
                    return Ok(Some(piece));
                }
                if payload.sum.finish() != payload.expected {
                    return Err(self.damaged(&format!("{}: a checksum does not match", payload.path)));
                }
            }
            let Some(first) = self.first()? else { return Ok(None) };
            if let Some(end) = self.head(first)? {
                return Ok(Some(end));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(flags: u8, kind: u8, path: &str) -> Vec<u8> {
        let length = u32::try_from(path.len()).unwrap().to_le_bytes();
        [&MAGIC[..], &[flags, kind], &length, path.as_bytes()].concat()
    }

    fn chunk(path: &str, offset: u64, map: Option<&[(u32, u32)]>, payload: &[u8]) -> Vec<u8> {
        let entries = map.unwrap_or_default();
        let map_bytes: Vec<u8> =
            entries.iter().flat_map(|(skip, bytes)| [skip.to_le_bytes(), bytes.to_le_bytes()].concat()).collect();
        let mut sum = Crc::new();
        sum.0.update(&map_bytes);
        sum.0.update(payload);
        let mut out = head(0, if map.is_some() { b'S' } else { b'P' }, path);
        if map.is_some() {
            out.extend(u32::try_from(entries.len()).unwrap().to_le_bytes());
        }
        out.extend((payload.len() as u64).to_le_bytes());
        out.extend(offset.to_le_bytes());
        out.extend(sum.finish().to_le_bytes());
        [out, map_bytes, payload.to_vec()].concat()
    }

    fn read(bytes: &[u8]) -> Result<Vec<Piece>, Error> {
        let mut stream = XbStream::new(bytes);
        std::iter::from_fn(|| stream.next().transpose()).collect()
    }

    fn piece(path: &str, offset: u64, bytes: &[u8]) -> Piece {
        Piece::Bytes { path: RelativePath::parse(path.as_bytes()).unwrap(), offset, bytes: bytes.to_vec() }
    }

    #[test]
    fn chunks_and_holes_are_read() {
        let end = Piece::End { path: RelativePath::parse(b"db/t.ibd").unwrap() };
        let sparse = chunk("./db/t.ibd", 3, Some(&[(0, 2), (4, 1), (2, 0)]), b"xyz");
        let stream = [chunk("db/t.ibd", 0, None, b"abc"), sparse, head(0, b'E', "db/t.ibd")].concat();
        let expected = [
            piece("db/t.ibd", 0, b"abc"),
            piece("db/t.ibd", 3, b"xy"),
            piece("db/t.ibd", 5, &[0; 4]),
            piece("db/t.ibd", 9, b"z"),
            piece("db/t.ibd", 10, &[0; 2]),
            end,
        ];
        assert_eq!(read(&stream).unwrap(), expected);
        assert_eq!(read(b"").unwrap(), []);
    }

    #[test]
    fn damaged_and_hostile_streams_are_refused() {
        let good = chunk("t", 0, None, b"abc");
        let refused = |bytes: &[u8], because: &str| match read(bytes) {
            Err(Error::Stream { reason, .. }) => assert!(reason.contains(because), "{because}: {reason}"),
            other => panic!("{because}: {other:?}"),
        };
        for cut in 1..good.len() {
            refused(&good[..cut], "ends in the middle");
        }
        let mut flipped = good;
        *flipped.last_mut().unwrap() ^= 1;
        refused(&flipped, "t: a checksum does not match");
        for path in ["../t", "/etc/passwd", "a/../../b", "", "a//b", "t\0"] {
            refused(&chunk(path, 0, None, b""), "outside of the data directory");
        }
        refused(&[&MAGIC[..], &[0, b'P', 0xff, 0xff, 0xff, 0xff]].concat(), "too long");
        refused(&head(2, b'P', "t"), "rewrites");
        refused(&head(0, b'R', "t"), "not supported");
        refused(&chunk("t", 0, Some(&[(0, 2)]), b"abc"), "does not fit its payload");
        refused(&[head(0, b'S', "t"), vec![0xff; 28]].concat(), "too many holes");
        refused(&chunk("t", u64::MAX, None, b"abc"), "beyond the maximum");
        refused(b"XBSTCK02-----------", "no chunk begins here");
    }
}
