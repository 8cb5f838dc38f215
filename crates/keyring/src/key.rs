//! Keys in memory that is locked where the system allows it, and wiped.

use std::{fmt, ops::Range, sync::Arc};

use crate::{error::KeyringError, locked::Locked};

/// One key. `Debug` shows nothing of it, not even its length; its bytes are wiped when the last
/// key that was loaded with it is dropped. A clone shares the bytes.
#[derive(Clone)]
pub struct Key {
    memory: Arc<Locked>,
    at: Range<usize>,
}

impl Key {
    /// The bytes. A copy of them is the caller's to wipe.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        self.memory.bytes().get(self.at.clone()).unwrap_or_default()
    }

    /// Whether the system keeps the bytes out of swap; it refuses beyond `RLIMIT_MEMLOCK`.
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

/// Memory that the keys of one store are written into. One mapping for all: pages and locked
/// memory are scarce, and a store may hold thousands of keys.
pub(crate) struct Arena {
    memory: Locked,
    used: usize,
}

/// Where in its arena a key is.
pub(crate) struct Slot(Range<usize>);

impl Arena {
    /// Room for `bytes` bytes of keys, which the caller bounds by the size of the file.
    pub(crate) fn new(bytes: usize) -> Result<Self, KeyringError> {
        let memory = Locked::new(bytes).map_err(KeyringError::Memory)?;
        Ok(Self { memory, used: 0 })
    }

    /// Room for one key, zero; `None` if the arena is full.
    pub(crate) fn room(&mut self, bytes: usize) -> Option<(Slot, &mut [u8])> {
        let end = self.used.checked_add(bytes)?;
        let at = self.used..end;
        let room = self.memory.bytes_mut().get_mut(at.clone())?;
        self.used = end;
        Some((Slot(at), room))
    }

    /// Ends writing.
    pub(crate) fn freeze(self) -> Keys {
        Keys(Arc::new(self.memory))
    }
}

/// An arena that is only read.
pub(crate) struct Keys(Arc<Locked>);

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
                let (slot, room) = arena.room(bytes).unwrap();
                room.fill(value);
                slot
            })
            .collect();
        assert!(arena.room(1).is_none());
        let keys = arena.freeze();
        let keys: Vec<Key> = slots.into_iter().map(|slot| keys.key(slot)).collect();
        assert_eq!(keys[0].as_bytes(), [1; 16]);
        assert_eq!(keys[1].as_bytes(), [2; 32]);
        assert_eq!(keys[1].clone().as_bytes(), [2; 32]);
    }

    #[test]
    fn debug_is_blank() {
        let mut arena = Arena::new(32).unwrap();
        let (slot, _) = arena.room(32).unwrap();
        let key = arena.freeze().key(slot);
        assert_eq!(format!("{key:?} {key:#?}"), "Key Key");
    }
}
