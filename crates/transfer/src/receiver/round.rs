//! State that the connections of a transfer share: the list of files, and which chunks have arrived.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use super::{Staging, chunk_index::ChunkIndex, rekey::Rekeying};
use crate::{
    error::Error,
    hash::Hash,
    journal::Journal,
    manifest::Manifest,
    progress::Progress,
    rekey::Rekeyed,
    stop::Stop,
    wire::{Entry, Root},
};

/// Maximum number of notes of a sender.
const MAX_NOTES: usize = 16;

/// Shared by all connections.
pub(super) struct Receiving<'r> {
    pub(super) staging: &'r Staging,
    pub(super) journal: Journal,
    pub(super) progress: &'r Progress,
    pub(super) stop: &'r Stop,
    pub(super) rekeying: Option<Rekeying>,
    pub(super) notes: Mutex<Vec<String>>,
    pub(super) round: RwLock<Arc<Round>>,
}

/// A list of files and its state. A source in use sends several lists, each after the chunks of the
/// one before were received.
pub(super) struct Round {
    pub(super) entries: Vec<Entry>,
    pub(super) chunk_index: ChunkIndex,
    /// Whether files may hold data of an earlier transfer or list.
    pub(super) resumed: bool,
    /// Whether another list follows.
    pub(super) more: bool,
    /// Attributes of the source directory.
    pub(super) root: Root,
}

impl Receiving<'_> {
    pub(super) fn round(&self) -> Arc<Round> {
        self.round.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Result of the data phase.
pub(super) struct Outcome {
    /// Hash of the list, computed by the sender.
    pub(super) tree: Hash,
    pub(super) manifest: Manifest,
    pub(super) rekeyed: Option<Rekeyed>,
    pub(super) notes: Vec<String>,
}

/// A received list.
pub(super) struct EntryList {
    pub(super) entries: Vec<Entry>,
    /// Bytes of all files, holes excluded.
    pub(super) allocated_bytes: u64,
    pub(super) more: bool,
    pub(super) root: Root,
}

/// The manifest, if everything was received.
pub(super) fn complete_manifest(peer: &str, receiving: &Receiving<'_>, tree: Hash) -> Result<Manifest, Error> {
    let round = receiving.round();
    // A chunk of a connection that starts again now would be missing in the manifest.
    round.chunk_index.close();
    let manifest = round.chunk_index.manifest(&round.entries).map_err(receiving.staging.hashes_failed())?;
    let manifest = manifest.ok_or_else(|| Error::protocol(peer, "it finished, but some chunks never came"))?;
    check_drained(peer, &round)?;
    if manifest.tree() == tree { Ok(manifest) } else { Err(Error::TreeDiffers) }
}

/// Checks that no connection still uses the list: chunks it writes later would be lost.
pub(super) fn check_drained(peer: &str, round: &Arc<Round>) -> Result<(), Error> {
    // One reference of the caller, one of the shared state.
    if Arc::strong_count(round) <= 2 {
        return Ok(());
    }
    Err(Error::protocol(peer, "it continues before its connections are drained"))
}

/// Stores a note for the program that uses this side.
pub(super) fn note(peer: &str, receiving: &Receiving<'_>, text: String) -> Result<(), Error> {
    let mut notes = receiving.notes.lock().unwrap_or_else(PoisonError::into_inner);
    if notes.len() >= MAX_NOTES {
        return Err(Error::protocol(peer, "too many notes"));
    }
    notes.push(text);
    Ok(())
}
