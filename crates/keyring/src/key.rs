//! Keys in memory that is wiped, and locked where the system permits.

use std::{fmt, ops::Range, sync::Arc};

use aws_lc_rs::constant_time;

use crate::{error::Error, locked::LockedMemory};

/// One key. A clone shares the bytes; they are wiped when the last key from the same store is dropped. `Debug` shows
/// neither the bytes nor their number.
#[derive(Clone)]
pub struct Key {
    memory: Arc<LockedMemory>,
    at: Range<usize>,
}

impl Key {
    /// The bytes. The caller wipes copies.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.memory.bytes().get(self.at.clone()).unwrap_or_default()
    }

    /// Whether the other key has the same bytes, in constant time.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        constant_time::verify_slices_are_equal(self.as_bytes(), other.as_bytes()).is_ok()
    }

    /// Whether the memory is locked against swapping; the system refuses beyond `RLIMIT_MEMLOCK`.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        self.memory.is_locked()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// Memory for the keys of one store, in a single mapping: pages and locked memory are scarce, and a store may have
/// thousands of keys.
pub(crate) struct Arena {
    memory: LockedMemory,
    used: usize,
}

/// Position of a key in its arena.
pub(crate) struct Slot(Range<usize>);

impl Arena {
    /// Maps memory for `bytes` bytes of keys; the caller limits them by the size of the file.
    pub(crate) fn new(bytes: usize) -> Result<Self, Error> {
        let memory = LockedMemory::new(bytes).map_err(Error::Memory)?;
        Ok(Self { memory, used: 0 })
    }

    /// Zeroed memory for one key; `None` if the arena is full.
    pub(crate) fn allocate(&mut self, bytes: usize) -> Option<(Slot, &mut [u8])> {
        let end = self.used.checked_add(bytes)?;
        let at = self.used..end;
        let memory = self.memory.bytes_mut().get_mut(at.clone())?;
        self.used = end;
        Some((Slot(at), memory))
    }

    /// Makes the arena read-only.
    pub(crate) fn freeze(self) -> Keys {
        Keys(Arc::new(self.memory))
    }
}

/// A read-only arena.
pub(crate) struct Keys(Arc<LockedMemory>);

impl Keys {
    pub(crate) fn key(&self, slot: Slot) -> Key {
        Key { memory: Arc::clone(&self.0), at: slot.0 }
    }

    pub(crate) fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_an_arena_do_not_overlap() {
        let mut arena = Arena::new(48).unwrap();
        let slots: Vec<Slot> = [(16, 1), (32, 2)]
            .into_iter()
            .map(|(bytes, value)| {
                let (slot, memory) = arena.allocate(bytes).unwrap();
                memory.fill(value);
                slot
            })
            .collect();
        assert!(arena.allocate(1).is_none());
        let keys = arena.freeze();
        let keys: Vec<Key> = slots.into_iter().map(|slot| keys.key(slot)).collect();
        assert_eq!(keys[0].as_bytes(), [1; 16]);
        assert_eq!(keys[1].as_bytes(), [2; 32]);
        assert_eq!(keys[1].clone().as_bytes(), [2; 32]);
    }

    #[test]
    fn debug_shows_nothing() {
        let mut arena = Arena::new(32).unwrap();
        let (slot, _) = arena.allocate(32).unwrap();
        let key = arena.freeze().key(slot);
        assert_eq!(format!("{key:?} {key:#?}"), "Key Key");
    }
}
