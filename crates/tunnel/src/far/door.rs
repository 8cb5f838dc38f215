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
/// A handshake is over after a round trip, and after less than this also where hundreds of them begin at once.
const LONG: Duration = Duration::from_secs(2);

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
/// has not begun makes way, and one that takes longer than a handshake does.
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
    inside: BTreeMap<u64, Visitor>,
    came: u64,
}

#[derive(Debug)]
struct Visitor {
    address: IpAddr,
    since: Instant,
    /// The beginning of a handshake has come from it. All others have cost nothing.
    heard: bool,
    leave: oneshot::Sender<()>,
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
    /// A handshake begins: it makes way for nobody as long as that takes.
    pub(super) fn speaks(&self) {
        if let Some(visitor) = lock(&self.place.room).inside.get_mut(&self.place.number) {
            visitor.heard = true;
        }
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
    /// Somebody of that host, or of any, has to leave: the oldest that has not begun, or else the oldest that
    /// takes long. Whether there was one.
    fn make_way(&mut self, address: Option<IpAddr>, now: Instant) -> bool {
        let of_host = |visitor: &Visitor| address.is_none_or(|address| visitor.address == address);
        let oldest = |may_leave: &dyn Fn(&Visitor) -> bool| {
            self.inside.iter().find(|(_, visitor)| of_host(visitor) && may_leave(visitor)).map(|(number, _)| *number)
        };
        let takes_long = |visitor: &Visitor| now.saturating_duration_since(visitor.since) >= LONG;
        let chosen = oldest(&|visitor| !visitor.heard).or_else(|| oldest(&takes_long));
        let Some(visitor) = chosen.and_then(|number| self.leaves(number, false)) else { return false };
        let _ = visitor.leave.send(());
        true
    }

    /// Its place is free; once only.
    fn leaves(&mut self, number: u64, proven: bool) -> Option<Visitor> {
        let visitor = self.inside.remove(&number)?;
        let address = visitor.address;
        if let Some(host) = self.hosts.get_mut(&address) {
            host.handshakes = host.handshakes.saturating_sub(1);
            if !proven && visitor.heard {
                host.failures = host.failures.saturating_add(1).min(FAILURES);
            }
            if host.handshakes == 0 && host.failures == 0 {
                self.hosts.remove(&address);
            }
        }
        Some(visitor)
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
        if host.handshakes >= self.per_address && !room.make_way(Some(address), now) {
            return None;
        }
        if room.inside.len() >= self.handshakes && !room.make_way(None, now) {
            return None;
        }
        room.host(address, now).handshakes += 1;
        room.came = room.came.wrapping_add(1);
        let (number, (tell, leave)) = (room.came, oneshot::channel());
        room.inside.insert(number, Visitor { address, since: now, heard: false, leave: tell });
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
        let failed = (0..10_000).filter(|_| speaking(&door, one).is_some()).count();
        let forgiven = began.elapsed().as_millis() / FORGIVE.as_millis();
        assert!(failed >= 100 && failed as u128 <= 101 + forgiven, "{failed} {forgiven}");
        assert!((0..10_000).all(|_| door.enter(other).unwrap().proven().num_permits() == 1), "who is proven may come");
        std::thread::sleep(FORGIVE);
        assert!(door.enter(one).is_some());
    }

    #[test]
    fn who_costs_nothing_need_not_wait() {
        let door = Door::new(4, 4, 4);
        assert!((0..10_000).all(|_| door.enter([192, 0, 2, 1].into()).is_some()));
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

    #[test]
    fn who_takes_longer_than_a_handshake_makes_way() {
        let door = Door::new(100, 3, 2);
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        let mut slow = [1, 1, 2].map(|last| speaking(&door, address(last)).unwrap());
        assert!(door.enter(address(1)).is_none() && door.enter(address(3)).is_none());
        lock(&door.room).inside.values_mut().for_each(|visitor| visitor.since -= LONG);
        let of_host = speaking(&door, address(1)).unwrap();
        let silent = door.enter(address(3)).unwrap();
        let [first, second, _] = &mut slow;
        assert!(first.leave.try_recv().is_ok() && second.leave.try_recv().is_ok());
        let _of_all = speaking(&door, address(3)).unwrap();
        let [of_host, mut silent] = [of_host, silent];
        assert!(silent.leave.try_recv().is_ok(), "who has not begun is the first to leave");
        drop((of_host, silent));
    }
}
