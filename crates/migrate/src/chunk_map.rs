//! Decides what to do with a change of a row while its table is copied in chunks.
//!
//! A chunk is a range of identities. A change within a loaded chunk is applied. A change within a chunk that is being
//! copied waits, because the chunk's read may or may not have seen it. Any other change is dropped: the read of its
//! chunk comes later, waits until every transaction with a dropped change is visible, and so sees it.

use crate::key::Key;

/// What to do with a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeDecision {
    /// Its chunk is loaded: apply it.
    Apply,
    /// Its chunk is in flight: wait until it is loaded.
    Hold,
    /// Its chunk will be read later.
    Drop,
}

/// State of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Not begun, or given back.
    Waiting,
    /// Being read or loaded.
    InFlight,
    /// Stored at the target.
    Loaded,
}

/// A range of identities.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk<K> {
    /// Number within its table.
    pub number: u64,
    /// Greatest identity before it; `None` for the first chunk.
    pub after: Option<K>,
    /// Its greatest identity; `None` for the last chunk, which has no end.
    pub upto: Option<K>,
    /// How far the chunk is.
    pub state: State,
}

/// Number of rows, and of their bytes as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Copied {
    pub(crate) rows: u64,
    pub(crate) bytes: u64,
}

impl Copied {
    pub(crate) fn add(&mut self, more: Self) {
        self.rows = self.rows.saturating_add(more.rows);
        self.bytes = self.bytes.saturating_add(more.bytes);
    }
}

/// A chunk that is at the target, and its size.
pub(crate) type LoadedChunk = (Chunk<Key>, Copied);

/// The chunks of a table in the order of its identities, without gaps.
#[derive(Clone, Debug)]
pub struct ChunkMap<K> {
    chunks: Vec<Chunk<K>>,
    next_number: u64,
}

impl<K: Ord + Clone> Default for ChunkMap<K> {
    fn default() -> Self {
        Self { chunks: Vec::new(), next_number: 0 }
    }
}

impl<K: Ord + Clone> ChunkMap<K> {
    /// Starts from the chunks that an earlier run has loaded. The ranges between them are copied when the run resumes.
    #[must_use]
    pub fn resumed(mut loaded: Vec<Chunk<K>>) -> Self {
        loaded.sort_by(|one, other| one.after.cmp(&other.after));
        let next_number = loaded.iter().map(|chunk| chunk.number.saturating_add(1)).max().unwrap_or(0);
        let mut map = Self { chunks: Vec::new(), next_number };
        for chunk in loaded {
            let before = map.chunks.last().and_then(|last| last.upto.clone());
            if before != chunk.after {
                map.push(before, chunk.after.clone(), State::Waiting);
            }
            map.chunks.push(Chunk { state: State::Loaded, ..chunk });
        }
        map
    }

    /// What to do with a change of the row with this identity.
    pub fn verdict(&self, key: &K) -> ChangeDecision {
        match self.chunk_of(key).map(|chunk| chunk.state) {
            Some(State::Loaded) => ChangeDecision::Apply,
            Some(State::InFlight) => ChangeDecision::Hold,
            Some(State::Waiting) | None => ChangeDecision::Drop,
        }
    }

    /// The chunk that contains this identity; `None` beyond the last chunk so far.
    pub fn chunk_of(&self, key: &K) -> Option<&Chunk<K>> {
        let index = self.chunks.partition_point(|chunk| chunk.upto.as_ref().is_some_and(|upto| upto < key));
        self.chunks.get(index)
    }

    /// The chunks in order.
    pub fn chunks(&self) -> &[Chunk<K>] {
        &self.chunks
    }

    /// Greatest identity of the last chunk, where the next one begins: `Some(None)` before the first chunk, `None`
    /// after the last.
    pub fn end(&self) -> Option<Option<K>> {
        match self.chunks.last() {
            None => Some(None),
            Some(last) => last.upto.clone().map(Some),
        }
    }

    /// Adds a chunk behind the last one, up to `upto`, or to the end of the table. Returns its number.
    pub fn extend(&mut self, upto: Option<K>) -> u64 {
        let after = self.chunks.last().and_then(|last| last.upto.clone());
        self.push(after, upto, State::Waiting)
    }

    /// The first chunk in order that waits.
    pub fn waiting(&self) -> Option<&Chunk<K>> {
        self.chunks.iter().find(|chunk| chunk.state == State::Waiting)
    }

    /// Sets the state of a chunk.
    pub fn set(&mut self, number: u64, state: State) {
        if let Some(chunk) = self.chunks.iter_mut().find(|chunk| chunk.number == number) {
            chunk.state = state;
        }
    }

    /// Ends a chunk in flight at `upto`. The rest becomes a waiting chunk.
    pub fn shorten(&mut self, number: u64, upto: K) {
        let Some(index) = self.chunks.iter().position(|chunk| chunk.number == number) else { return };
        let Some(chunk) = self.chunks.get_mut(index) else { return };
        let rest = Chunk {
            number: self.next_number,
            after: Some(upto.clone()),
            upto: chunk.upto.replace(upto),
            state: State::Waiting,
        };
        self.next_number = self.next_number.saturating_add(1);
        self.chunks.insert(index.saturating_add(1), rest);
    }

    /// Whether every row is within a loaded chunk.
    pub fn is_complete(&self) -> bool {
        self.end().is_none() && self.chunks.iter().all(|chunk| chunk.state == State::Loaded)
    }

    fn push(&mut self, after: Option<K>, upto: Option<K>, state: State) -> u64 {
        let number = self.next_number;
        self.next_number = number.saturating_add(1);
        self.chunks.push(Chunk { number, after, upto, state });
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(number: u64, after: Option<u8>, upto: Option<u8>) -> Chunk<u8> {
        Chunk { number, after, upto, state: State::Loaded }
    }

    #[test]
    fn a_change_is_judged_by_its_chunk() {
        let mut map = ChunkMap::default();
        assert_eq!(map.verdict(&7), ChangeDecision::Drop);
        let first = map.extend(Some(5));
        let second = map.extend(None);
        map.set(first, State::Loaded);
        map.set(second, State::InFlight);
        assert_eq!(
            [0, 5, 6, 255].map(|key| map.verdict(&key)),
            [ChangeDecision::Apply, ChangeDecision::Apply, ChangeDecision::Hold, ChangeDecision::Hold]
        );
        assert!(!map.is_complete());
        map.set(second, State::Loaded);
        assert!(map.is_complete());
    }

    #[test]
    fn the_rest_of_a_shortened_chunk_waits() {
        let mut map = ChunkMap::default();
        let number = map.extend(None);
        map.set(number, State::InFlight);
        map.shorten(number, 9);
        assert_eq!([9, 10].map(|key| map.verdict(&key)), [ChangeDecision::Hold, ChangeDecision::Drop]);
        assert_eq!(map.waiting().map(|chunk| (chunk.after, chunk.upto)), Some((Some(9), None)));
        assert_eq!(map.end(), None);
    }

    #[test]
    fn a_resumed_map_knows_what_is_missing() {
        let map = ChunkMap::resumed(vec![loaded(4, Some(20), Some(30)), loaded(0, None, Some(10))]);
        assert_eq!(
            [10, 11, 20, 21, 31].map(|key| map.verdict(&key)),
            [
                ChangeDecision::Apply,
                ChangeDecision::Drop,
                ChangeDecision::Drop,
                ChangeDecision::Apply,
                ChangeDecision::Drop
            ]
        );
        assert_eq!(map.waiting().map(|chunk| (chunk.number, chunk.after, chunk.upto)), Some((5, Some(10), Some(20))));
        assert_eq!(map.end(), Some(Some(30)));
        assert!(ChunkMap::resumed(vec![loaded(0, None, None)]).is_complete());
    }
}
