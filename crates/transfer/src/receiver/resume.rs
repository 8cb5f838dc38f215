//! Resumes an interrupted transfer: what it left is read and hashed again before it counts.

use std::{
    collections::HashMap,
    fs::File,
    io,
    ops::Range,
    os::unix::fs::FileExt,
    sync::{Mutex, PoisonError},
    thread,
};

use crate::{
    error::Error,
    hash::{CHUNK_BYTES, chunk_bytes, chunk_hash, chunks_of},
    journal,
    receiver::{chunk_index::ChunkIndex, staging::Staging},
    wire::{Control, Entry, Kind, MAX_HAVE},
};

/// Chunks that one thread verifies in sequence.
const RANGE_CHUNKS: u64 = 256;

/// Adds the chunks that a journal records.
pub(super) fn read_claims(journal: File, entries: &[Entry], chunk_index: &ChunkIndex) -> io::Result<()> {
    let files = entries.iter().enumerate().filter_map(|(number, entry)| match entry.kind {
        Kind::File { bytes } => Some((journal::id(&entry.path), (number, chunks_of(bytes)))),
        _ => None,
    });
    let files: HashMap<_, _> = files.collect();
    journal::claims(journal, |path, chunk, hash| match files.get(&path) {
        // If a chunk was written twice, the newest record counts.
        Some((file, chunks)) if chunk < *chunks => chunk_index.add_existing(*file, chunk, hash),
        _ => Ok(()),
    })
}

/// Verifies recorded chunks, and removes those that do not match.
pub(super) fn verify(
    staging: &Staging,
    entries: &[Entry],
    chunk_index: &ChunkIndex,
    threads: usize,
) -> Result<(), Error> {
    let work = Mutex::new(chunk_index.runs());
    let next = || {
        let mut work = work.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, run) = work.last_mut()?;
        let part = (*file, run.start..run.end.min(run.start + RANGE_CHUNKS));
        run.start = part.1.end;
        if run.is_empty() {
            work.pop();
        }
        Some(part)
    };
    let worker = || -> Result<(), Error> {
        let mut buffer = vec![0; CHUNK_BYTES];
        while let Some((number, chunks)) = next() {
            let Some(entry) = entries.get(number) else { continue };
            verify_range(staging, entry, number, chunks, chunk_index, &mut buffer)?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Err(Error::Stopped)))
    })
}

fn verify_range(
    staging: &Staging,
    entry: &Entry,
    number: usize,
    chunks: Range<u64>,
    chunk_index: &ChunkIndex,
    buffer: &mut [u8],
) -> Result<(), Error> {
    let Kind::File { bytes } = entry.kind else { return Ok(()) };
    let file = staging.open_file(&mut staging.parents(), &entry.path)?;
    let hashes = chunk_index.hashes(number, chunks.clone()).map_err(staging.hashes_failed())?;
    for (chunk, hash) in chunks.zip(hashes.unwrap_or_default()) {
        let room = buffer.get_mut(..chunk_bytes(bytes, chunk)).unwrap_or_default();
        let read = file.read_exact_at(room, chunk * CHUNK_BYTES as u64);
        if read.is_err() || chunk_hash(bytes, chunk, room) != hash {
            chunk_index.remove(number, chunk..chunk + 1);
        }
    }
    Ok(())
}

/// Messages that tell the sender which chunks are present, one at a time, since all together would
/// be large. Small files come first: the sender remembers a limited number of hashes, and has to
/// query the others.
pub(super) fn messages(entries: &[Entry], chunk_index: &ChunkIndex) -> impl Iterator<Item = io::Result<Control>> {
    let mut runs = chunk_index.runs();
    runs.sort_by_key(|(file, _)| match entries.get(*file).map(|entry| &entry.kind) {
        Some(Kind::File { bytes }) => *bytes,
        _ => 0,
    });
    let parts = runs.into_iter().flat_map(|(file, run)| {
        let end = run.end;
        run.step_by(MAX_HAVE).map(move |first| (file, first..end.min(first + MAX_HAVE as u64)))
    });
    parts.map(|(number, chunks)| {
        let (file, first) = (u32::try_from(number).unwrap_or(u32::MAX), chunks.start);
        Ok(Control::Have { file, first, hashes: chunk_index.hashes(number, chunks)?.unwrap_or_default() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{hash::Hash, path::RelativePath};

    #[test]
    fn runs_of_chunks_are_sent_together_and_small_files_first() {
        let entry = |path: &[u8], chunks: u64| Entry {
            path: RelativePath::parse(path).unwrap(),
            kind: Kind::File { bytes: chunks * CHUNK_BYTES as u64 },
            mode: 0,
            uid: 0,
            gid: 0,
            modified: (0, 0),
        };
        let entries = [entry(b"large", 40_000), entry(b"small", 3)];
        let chunk_index = ChunkIndex::new(tempfile::tempfile().unwrap(), &entries).unwrap();
        let hash = |number: u8| Hash([number; 32]);
        for chunk in (0..2).chain(7..7 + MAX_HAVE as u64 + 1) {
            chunk_index.add_existing(0, chunk, hash(chunk as u8)).unwrap();
        }
        chunk_index.add_existing(1, 2, hash(9)).unwrap();
        let reported: Vec<_> = messages(&entries, &chunk_index).map(Result::unwrap).collect();
        let seen: Vec<_> = reported
            .iter()
            .map(|message| match message {
                Control::Have { file, first, hashes } => (*file, *first, hashes.len(), hashes[0]),
                other => panic!("{other:?}"),
            })
            .collect();
        let last = 7 + MAX_HAVE as u64;
        assert_eq!(
            seen,
            [(1, 2, 1, hash(9)), (0, 0, 2, hash(0)), (0, 7, MAX_HAVE, hash(7)), (0, last, 1, hash(last as u8))]
        );
    }
}
