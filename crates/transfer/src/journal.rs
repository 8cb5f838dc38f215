//! The journal: which chunks of a transfer are written. An interrupted transfer continues from it.
//!
//! Records of [`RECORD_BYTES`] are appended as chunks are written:
//!
//! ```text
//! 16  the first bytes of BLAKE3 over the path
//! 8   number of the chunk
//! 32  hash of the chunk
//! 4   the first bytes of BLAKE3 over the above
//! ```
//!
//! A record is not a proof: after a power failure a record may be on disk without its chunk. So chunks are read and
//! hashed again before they count, and the sender compares the hash with its own file.

use std::{
    fs::File,
    io::{self, BufReader, ErrorKind, Read, Write},
    sync::Mutex,
};

use crate::{
    hash::{HASH_BYTES, Hash},
    path::RelativePath,
    wire::Fields,
};

const RECORD_BYTES: usize = PATH_BYTES + 8 + HASH_BYTES + CHECK_BYTES;
const PATH_BYTES: usize = 16;
const CHECK_BYTES: usize = 4;

/// Identifies a path in records.
pub(crate) type PathId = [u8; PATH_BYTES];

/// Journal of a transfer, open for appending.
#[derive(Debug)]
pub(crate) struct Journal(Mutex<File>);

impl Journal {
    pub(crate) const fn new(file: File) -> Self {
        Self(Mutex::new(file))
    }

    /// Continues a journal after its last complete record.
    pub(crate) fn resume(file: File) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        file.set_len(bytes - bytes % RECORD_BYTES as u64)?;
        Ok(Self::new(file))
    }

    /// Records that a chunk is written.
    pub(crate) fn add(&self, path: &RelativePath, chunk: u64, hash: Hash) -> io::Result<()> {
        let mut record = Vec::with_capacity(RECORD_BYTES);
        record.extend(id(path));
        record.extend(chunk.to_be_bytes());
        record.extend(hash.0);
        let check = check(&record);
        record.extend(check);
        let mut file = self.0.lock().map_err(|_| io::Error::from(ErrorKind::Other))?;
        file.write_all(&record)
    }
}

/// Reads the records of a journal in the order in which they were written; incomplete and damaged
/// ones are skipped.
pub(crate) fn claims(file: File, mut claim: impl FnMut(PathId, u64, Hash) -> io::Result<()>) -> io::Result<()> {
    let mut input = BufReader::new(file);
    let mut record = [0; RECORD_BYTES];
    loop {
        match input.read_exact(&mut record) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
            other => other?,
        }
        if let Some((path, chunk, hash)) = parse(&record) {
            claim(path, chunk, hash)?;
        }
    }
}

fn parse(record: &[u8; RECORD_BYTES]) -> Option<(PathId, u64, Hash)> {
    let (body, sum) = record.split_last_chunk::<CHECK_BYTES>()?;
    if check(body) != *sum {
        return None;
    }
    let mut fields = Fields(body);
    Some((fields.array().ok()?, fields.u64().ok()?, Hash(fields.array().ok()?)))
}

/// Identifier of a path in records.
pub(crate) fn id(path: &RelativePath) -> PathId {
    front(path.as_bytes())
}

fn check(body: &[u8]) -> [u8; CHECK_BYTES] {
    front(body)
}

fn front<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut front = [0; N];
    front.iter_mut().zip(Hash::compute(bytes).0).for_each(|(to, from)| *to = from);
    front
}

#[cfg(test)]
mod tests {
    use std::io::Seek;

    use super::*;

    #[test]
    fn complete_records_read_back_and_torn_ones_are_skipped() {
        let mut file = tempfile::tempfile().unwrap();
        let journal = Journal::new(file.try_clone().unwrap());
        let [a, b] = [b"a", b"b"].map(|path| RelativePath::parse(path).unwrap());
        journal.add(&a, 1, Hash([1; 32])).unwrap();
        journal.add(&a, 0, Hash([2; 32])).unwrap();
        journal.add(&b, 7, Hash([3; 32])).unwrap();
        journal.add(&a, 1, Hash([4; 32])).unwrap();
        file.write_all(b"torn").unwrap();
        let journal = Journal::resume(file.try_clone().unwrap()).unwrap();
        file.seek(io::SeekFrom::End(0)).unwrap();
        journal.add(&a, 2, Hash([5; 32])).unwrap();
        file.write_all(b"torn").unwrap();
        file.rewind().unwrap();
        let mut found = Vec::new();
        claims(file, |path, chunk, hash| {
            found.push((path, chunk, hash.0[0]));
            Ok(())
        })
        .unwrap();
        let [a, b] = [a, b].map(|path| id(&path));
        assert_eq!(found, [(a, 1, 1), (a, 0, 2), (b, 7, 3), (a, 1, 4), (a, 2, 5)]);
    }
}
