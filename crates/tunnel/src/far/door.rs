//! How many may be in their handshake, and how many links there may be.

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

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

/// Lets in as many as there is room for. Whoever comes then is closed at once, which costs nothing; but one that
/// has not said a word makes way.
#[derive(Debug)]
pub(super) struct Door {
    links: Arc<Semaphore>,
    room: Arc<Mutex<Room>>,
    handshakes: usize,
    per_address: usize,
}

/// Who is in the handshake.
#[derive(Debug, Default)]
struct Room {
    hosts: HashMap<IpAddr, Host>,
    /// By the order in which they came.
    inside: BTreeMap<u64, IpAddr>,
    /// Those of them from whom nothing has come.
    silent: BTreeMap<u64, oneshot::Sender<()>>,
    came: u64,
}

/// Somebody in the handshake. What it holds of that is given back by [`Self::proven`].
pub(super) struct Entry {
    link: OwnedSemaphorePermit,
    place: Place,
    leave: oneshot::Receiver<()>,
}

struct Place {
    number: u64,
    room: Arc<Mutex<Room>>,
    proven: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.room).leaves(self.number, self.proven);
    }
}

impl Entry {
    /// Something has come: it makes way for nobody any more.
    pub(super) fn speaks(&self) {
        lock(&self.place.room).silent.remove(&self.place.number);
    }

    /// Until it has to make way.
    pub(super) async fn evicted(&mut self) {
        let _ = (&mut self.leave).await;
    }

    /// The handshake is over: what stays is one of the links.
    pub(super) fn proven(mut self) -> OwnedSemaphorePermit {
        self.place.proven = true;
        self.link
    }
}

fn lock(room: &Mutex<Room>) -> MutexGuard<'_, Room> {
    room.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Room {
    /// The oldest that has not said a word, of that host or of any, has to leave. Whether there was one.
    fn make_way(&mut self, address: Option<IpAddr>) -> bool {
        let of_host = |number: &&u64| address.is_none_or(|address| self.inside.get(number) == Some(&address));
        let Some(number) = self.silent.keys().find(of_host).copied() else { return false };
        if let Some(leave) = self.silent.remove(&number) {
            let _ = leave.send(());
        }
        self.leaves(number, false);
        true
    }

    /// Its place is free; once only.
    fn leaves(&mut self, number: u64, proven: bool) {
        let Some(address) = self.inside.remove(&number) else { return };
        self.silent.remove(&number);
        if let Some(host) = self.hosts.get_mut(&address) {
            host.handshakes = host.handshakes.saturating_sub(1);
            if !proven {
                host.failures = host.failures.saturating_add(1).min(FAILURES);
            }
            if host.handshakes == 0 && host.failures == 0 {
                self.hosts.remove(&address);
            }
        }
    }

    /// What is known of a host.
    fn host(&mut self, address: IpAddr, now: Instant) -> &mut Host {
        if self.hosts.len() >= REMEMBERED {
            self.hosts.retain(|_, host| {
                host.forgive(now);
                host.handshakes + host.failures as usize > 0
            });
        }
        let host = self.hosts.entry(address).or_insert_with(|| Host::new(now));
        host.forgive(now);
        host
    }
}

impl Door {
    pub(super) fn new(links: usize, handshakes: usize, per_address: usize) -> Self {
        Self { links: Arc::new(Semaphore::new(links)), room: Arc::default(), handshakes, per_address }
    }

    pub(super) fn enter(&self, address: IpAddr) -> Option<Entry> {
        let link = Arc::clone(&self.links).try_acquire_owned().ok()?;
        let (address, now) = (host_of(address), Instant::now());
        let mut room = lock(&self.room);
        let host = room.host(address, now);
        if host.failures >= FAILURES {
            return None;
        }
        if host.handshakes >= self.per_address && !room.make_way(Some(address)) {
            return None;
        }
        if room.inside.len() >= self.handshakes && !room.make_way(None) {
            return None;
        }
        room.host(address, now).handshakes += 1;
        room.came = room.came.wrapping_add(1);
        let (number, (tell, leave)) = (room.came, oneshot::channel());
        room.inside.insert(number, address);
        room.silent.insert(number, tell);
        drop(room);
        let place = Place { number, room: Arc::clone(&self.room), proven: false };
        Some(Entry { link, place, leave })
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

    /// In the handshake, and has said something.
    fn speaking(door: &Door, address: IpAddr) -> Option<Entry> {
        door.enter(address).inspect(Entry::speaks)
    }

    #[test]
    fn nobody_fills_the_room_alone() {
        let door = Door::new(4, 3, 2);
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let first = speaking(&door, one).unwrap();
        let second = speaking(&door, one).unwrap();
        assert!(door.enter(one).is_none(), "two of one address are enough");
        let third = speaking(&door, other).unwrap();
        assert!(door.enter(other).is_none(), "three handshakes are enough");
        let links = [first.proven(), second.proven(), third.proven()];
        let _fourth = door.enter(one).unwrap();
        assert!(door.enter(one).is_none(), "four links are enough");
        drop(links);
        assert!(door.enter(one).is_some());
    }

    #[test]
    fn who_says_nothing_makes_way_and_nobody_else_does() {
        let door = Door::new(100, 3, 2);
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        let mut silent = [1, 1, 2].map(|last| door.enter(address(last)).unwrap());
        let left = |entry: &mut Entry| entry.leave.try_recv().is_ok();
        // The oldest of a host whose places are taken, then the oldest of all.
        let _of_host = speaking(&door, address(1)).unwrap();
        assert_eq!(silent.each_mut().map(left), [true, false, false]);
        let _of_all = speaking(&door, address(3)).unwrap();
        assert_eq!(silent.each_mut().map(left), [false, true, false]);
        silent[2].speaks();
        assert!(door.enter(address(4)).is_none(), "all three of them speak");
        let [gone, also, last] = silent;
        drop((gone, also));
        assert!(door.enter(address(4)).is_none(), "those who had left give back nothing");
        drop(last);
        assert!(door.enter(address(4)).is_some());
    }
}
