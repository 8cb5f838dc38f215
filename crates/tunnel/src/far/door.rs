//! How many may be in their handshake, and how many links there may be.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// So many of a host may fail in a row: each costs a key exchange and a signature.
const FAILURES: u32 = 100;
/// After so long one of them is forgotten.
const FORGIVE: Duration = Duration::from_millis(50);
/// Hosts that are remembered at least, whatever has become of them.
const REMEMBERED: usize = 10_000;

/// What is known of a host.
#[derive(Debug)]
struct Host {
    handshakes: usize,
    /// That failed, and are not forgotten.
    failures: u32,
    counted: Instant,
}

type Hosts = Arc<Mutex<HashMap<IpAddr, Host>>>;

impl Host {
    fn new(now: Instant) -> Self {
        Self { handshakes: 0, failures: 0, counted: now }
    }

    fn forgive(&mut self, now: Instant) {
        let spans = now.saturating_duration_since(self.counted).as_millis() / FORGIVE.as_millis();
        let spans = u32::try_from(spans).unwrap_or(u32::MAX);
        self.failures = self.failures.saturating_sub(spans);
        self.counted = if self.failures == 0 { now } else { self.counted + FORGIVE * spans };
    }
}

/// Lets in as many as there is room for. Whoever comes then is closed at once, which costs nothing.
#[derive(Debug)]
pub(super) struct Door {
    links: Arc<Semaphore>,
    handshakes: Arc<Semaphore>,
    hosts: Hosts,
    per_address: usize,
}

/// Somebody in the handshake. What it holds of that is given back by [`Self::proven`].
pub(super) struct Entry {
    link: OwnedSemaphorePermit,
    _handshake: OwnedSemaphorePermit,
    address: AddressEntry,
}

struct AddressEntry {
    address: IpAddr,
    hosts: Hosts,
    proven: bool,
}

impl Drop for AddressEntry {
    fn drop(&mut self) {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(host) = hosts.get_mut(&self.address) {
            host.handshakes = host.handshakes.saturating_sub(1);
            if !self.proven {
                host.failures = host.failures.saturating_add(1).min(FAILURES);
            }
            if host.handshakes == 0 && host.failures == 0 {
                hosts.remove(&self.address);
            }
        }
    }
}

impl Entry {
    /// The handshake is over: what stays is one of the links.
    pub(super) fn proven(mut self) -> OwnedSemaphorePermit {
        self.address.proven = true;
        self.link
    }
}

impl Door {
    pub(super) fn new(links: usize, handshakes: usize, per_address: usize) -> Self {
        Self {
            links: Arc::new(Semaphore::new(links)),
            handshakes: Arc::new(Semaphore::new(handshakes)),
            hosts: Arc::default(),
            per_address,
        }
    }

    pub(super) fn enter(&self, address: IpAddr) -> Option<Entry> {
        let link = Arc::clone(&self.links).try_acquire_owned().ok()?;
        let handshake = Arc::clone(&self.handshakes).try_acquire_owned().ok()?;
        let now = Instant::now();
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        if hosts.len() >= REMEMBERED {
            hosts.retain(|_, host| {
                host.forgive(now);
                host.handshakes + host.failures as usize > 0
            });
        }
        let address = host_of(address);
        let host = hosts.entry(address).or_insert_with(|| Host::new(now));
        host.forgive(now);
        if host.handshakes >= self.per_address || host.failures >= FAILURES {
            return None;
        }
        host.handshakes += 1;
        let entry = AddressEntry { address, hosts: Arc::clone(&self.hosts), proven: false };
        Some(Entry { link, _handshake: handshake, address: entry })
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
    fn who_fails_all_the_time_has_to_wait() {
        let door = Door::new(4, 4, 4);
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let began = Instant::now();
        let failed = (0..10_000).filter(|_| door.enter(one).is_some()).count();
        let forgiven = began.elapsed().as_millis() / FORGIVE.as_millis();
        assert!(failed >= 100 && failed as u128 <= 101 + forgiven, "{failed} {forgiven}");
        assert!((0..10_000).all(|_| door.enter(other).unwrap().proven().num_permits() == 1), "who is proven may come");
        std::thread::sleep(FORGIVE);
        assert!(door.enter(one).is_some());
    }

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
