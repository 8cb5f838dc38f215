//! Objects in memory, and random numbers.

use std::collections::BTreeMap;

use archive::{Receipt, names};
use jiff::{SignedDuration, Timestamp};
use store::LockState;

/// Random numbers from a seed (SplitMix64).
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    pub(super) fn is_one_of(&mut self, limit: u64) -> bool {
        self.below(limit) == 0
    }
}

/// Objects in memory, with the store's clock.
pub(super) struct Objects {
    pub(super) all: BTreeMap<String, (Vec<u8>, Timestamp)>,
    /// The receipts among them.
    pub(super) receipts: BTreeMap<String, Receipt>,
    pub(super) now: Timestamp,
    /// How long new objects are locked.
    pub(super) lock: Option<SignedDuration>,
    /// When the locks end.
    pub(super) lock_ends: BTreeMap<String, Timestamp>,
}

impl Objects {
    pub(super) fn new(now: Timestamp) -> Self {
        Self { all: BTreeMap::new(), receipts: BTreeMap::new(), now, lock: None, lock_ends: BTreeMap::new() }
    }

    pub(super) fn put(&mut self, name: &str, bytes: &[u8]) -> bool {
        let is_new = !self.all.contains_key(name);
        if is_new {
            self.all.insert(name.to_owned(), (bytes.to_vec(), self.now));
            self.lock_ends.extend(self.lock.map(|lock| (name.to_owned(), self.now + lock)));
            if names::is_receipt(name) {
                self.receipts.insert(name.to_owned(), Receipt::parse(bytes).unwrap());
            }
        }
        is_new
    }

    /// Removes an object; returns whether it did, and no lock protects it.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        if self.lock_end(name).is_some_and(|end| end > self.now) {
            return false;
        }
        self.all.remove(name);
        self.receipts.remove(name);
        self.lock_ends.remove(name);
        true
    }

    pub(super) fn lock_end(&self, name: &str) -> Option<Timestamp> {
        self.lock_ends.get(name).copied()
    }

    /// Renews the lock of an object if less than half of its time is left.
    pub(super) fn extend_lock(&mut self, name: &str) -> LockState {
        let (Some(lock), Some(until)) = (self.lock, self.lock_end(name)) else { return LockState::default() };
        let was_locked = until > self.now;
        if until.duration_since(self.now) > lock / 2 {
            return LockState { until: Some(until), is_extended: false, was_locked };
        }
        let until = self.now + lock;
        self.lock_ends.insert(name.to_owned(), until);
        LockState { until: Some(until), is_extended: true, was_locked }
    }

    /// The first object that a receipt names but that does not exist.
    pub(super) fn lost(&self) -> Option<String> {
        let needed = self.receipts.values().flat_map(Receipt::objects);
        needed.map(|(object, _)| object).find(|object| !self.all.contains_key(object))
    }
}
