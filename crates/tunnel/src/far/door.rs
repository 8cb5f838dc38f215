//! How many may be in their handshake, and how many links there may be.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Lets in as many as there is room for. Whoever comes then is closed at once, which costs nothing.
#[derive(Debug)]
pub(super) struct Door {
    links: Arc<Semaphore>,
    handshakes: Arc<Semaphore>,
    by_address: Arc<Mutex<HashMap<IpAddr, usize>>>,
    per_address: usize,
}

/// Somebody in the handshake. What it holds of that is given back by [`Self::proven`].
pub(super) struct Entry {
    link: OwnedSemaphorePermit,
    _handshake: OwnedSemaphorePermit,
    _address: AddressEntry,
}

struct AddressEntry {
    address: IpAddr,
    by_address: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Drop for AddressEntry {
    fn drop(&mut self) {
        let mut by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = by_address.get_mut(&self.address) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                by_address.remove(&self.address);
            }
        }
    }
}

impl Entry {
    /// The handshake is over: what stays is one of the links.
    pub(super) fn proven(self) -> OwnedSemaphorePermit {
        self.link
    }
}

impl Door {
    pub(super) fn new(links: usize, handshakes: usize, per_address: usize) -> Self {
        Self {
            links: Arc::new(Semaphore::new(links)),
            handshakes: Arc::new(Semaphore::new(handshakes)),
            by_address: Arc::default(),
            per_address,
        }
    }

    pub(super) fn enter(&self, address: IpAddr) -> Option<Entry> {
        let link = Arc::clone(&self.links).try_acquire_owned().ok()?;
        let handshake = Arc::clone(&self.handshakes).try_acquire_owned().ok()?;
        let mut by_address = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let address = host_of(address);
        let count = by_address.entry(address).or_insert(0);
        if *count >= self.per_address {
            return None;
        }
        *count += 1;
        let entry = AddressEntry { address, by_address: Arc::clone(&self.by_address) };
        Some(Entry { link, _handshake: handshake, _address: entry })
    }
}

/// One host has 2^64 addresses of IPv6 to come from.
fn host_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
        canonical => canonical,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_fills_the_room_alone() {
        let door = Door::new(4, 3, 2);
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let first = door.enter(one).unwrap();
        let second = door.enter(one).unwrap();
        assert!(door.enter(one).is_none(), "two of one address are enough");
        let third = door.enter(other).unwrap();
        assert!(door.enter(other).is_none(), "three handshakes are enough");
        let links = [first.proven(), second.proven(), third.proven()];
        let _fourth = door.enter(one).unwrap();
        assert!(door.enter(one).is_none(), "four links are enough");
        drop(links);
        assert!(door.enter(one).is_some());
    }
}
