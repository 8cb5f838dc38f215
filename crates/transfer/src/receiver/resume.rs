//! What an earlier try left: read and hashed again before it counts.

use std::{
    os::unix::fs::FileExt,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
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
    let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let worker = || -> Result<(), TransferError> {
        while let Some((number, entry, bytes, claimed)) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
            let file = staging.open_file(&entry.path)?;
            let mut buffer = vec![0; CHUNK_BYTES];
            let holds = |(chunk, hash): &(u64, Hash)| {
                if *chunk >= chunks_of(*bytes) {
                    return false;
                }
                let room = buffer.get_mut(..chunk_bytes(*bytes, *chunk)).unwrap_or_default();
                file.read_exact_at(room, chunk * CHUNK_BYTES as u64).is_ok()
                    && chunk_hash(*bytes, *chunk, room) == *hash
            };
            let mut proven = claimed.clone();
            proven.retain(holds);
            if let Ok(mut found) = found.lock() {
                found.push((*number, proven));
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Err(TransferError::Stopped)))
    })?;
    Ok(found.into_inner().unwrap_or_default())
}

/// Messages that tell the sender, in runs of chunks that follow one another.
pub(super) fn messages(proven: &[Proven]) -> Vec<Control> {
    let mut messages = Vec::new();
    for (file, chunks) in proven {
        let file = u32::try_from(*file).unwrap_or(u32::MAX);
        for run in chunks.chunk_by(|(one, _), (next, _)| one + 1 == *next) {
            for part in run.chunks(MAX_HAVE) {
                let Some((first, _)) = part.first() else { continue };
                messages.push(Control::Have {
                    file,
                    first: *first,
                    hashes: part.iter().map(|(_, hash)| *hash).collect(),
                });
            }
        }
    }
    messages
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
        assert_eq!(messages(&proven), expected);
    }
}
