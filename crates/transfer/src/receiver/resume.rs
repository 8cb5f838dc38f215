//! What an earlier try left: read and hashed again before it counts.

use std::{
    os::unix::fs::FileExt,
    sync::{Mutex, PoisonError},
    thread,
};

use crate::{
    error::TransferError,
    hash::{CHUNK_BYTES, Hash, chunk_bytes, chunk_hash, chunks_of},
    journal::Claims,
    receiver::staging::Staging,
    wire::{Control, Entry, Kind, message::MAX_HAVE},
};

/// Chunks of one file that are proven to be in place.
pub(super) type Proven = (usize, Vec<(u64, Hash)>);

/// Proves what the journal claims; returns what of it is true, by the number of the file.
pub(super) fn prove(
    staging: &Staging,
    entries: &[Entry],
    mut claims: Claims,
    threads: usize,
) -> Result<Vec<Proven>, TransferError> {
    let mut work = Vec::new();
    for (number, entry) in entries.iter().enumerate() {
        let claimed = claims.of(&entry.path);
        if let (Kind::File { bytes }, false) = (&entry.kind, claimed.is_empty()) {
            work.push((number, entry, *bytes, claimed));
        }
    }
    // What is claimed of a large source is large itself: each list is taken out, and becomes the proven one.
    let (work, found) = (Mutex::new(work), Mutex::new(Vec::new()));
    let next = || work.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let worker = || -> Result<(), TransferError> {
        let mut buffer = vec![0; CHUNK_BYTES];
        while let Some((number, entry, bytes, mut chunks)) = next() {
            let file = staging.open_file(&mut staging.folder(), &entry.path)?;
            chunks.retain(|(chunk, hash)| {
                if *chunk >= chunks_of(bytes) {
                    return false;
                }
                let room = buffer.get_mut(..chunk_bytes(bytes, *chunk)).unwrap_or_default();
                file.read_exact_at(room, chunk * CHUNK_BYTES as u64).is_ok() && chunk_hash(bytes, *chunk, room) == *hash
            });
            found.lock().unwrap_or_else(PoisonError::into_inner).push((number, chunks));
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Err(TransferError::Stopped)))
    })?;
    Ok(found.into_inner().unwrap_or_default())
}

/// Messages that tell the sender, in runs of chunks that follow one another; one at a time, since together they are
/// as large as the list.
pub(super) fn messages(proven: &[Proven]) -> impl Iterator<Item = Control> {
    proven.iter().flat_map(|(file, chunks)| {
        let file = u32::try_from(*file).unwrap_or(u32::MAX);
        let runs = chunks.chunk_by(|(one, _), (next, _)| one + 1 == *next).flat_map(|run| run.chunks(MAX_HAVE));
        runs.filter_map(move |run| {
            let (first, _) = run.first()?;
            Some(Control::Have { file, first: *first, hashes: run.iter().map(|(_, hash)| *hash).collect() })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_chunks_are_told_together() {
        let hash = |number: u8| Hash([number; 32]);
        let proven = vec![(3, vec![(0, hash(0)), (1, hash(1)), (5, hash(5))])];
        let expected = [
            Control::Have { file: 3, first: 0, hashes: vec![hash(0), hash(1)] },
            Control::Have { file: 3, first: 5, hashes: vec![hash(5)] },
        ];
        assert_eq!(messages(&proven).collect::<Vec<_>>(), expected);
    }
}
