//! Limits links and handshakes, in total and per host.

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Maximum number of consecutive failed handshakes of a host: each costs a key exchange and a
/// signature.
const FAILURES: u32 = 100;
/// Interval after which one failure is forgotten.
const FORGET_EVERY: Duration = Duration::from_millis(50);
/// Number of hosts above which those without failures are dropped.
const MAX_REMEMBERED_HOSTS: usize = 10_000;
/// Handshakes that take longer are slow. They take one round trip, and less than this even if
/// hundreds start at once.
const SLOW: Duration = Duration::from_secs(2);

/// Handshakes and failures of one host.
#[derive(Debug)]
struct Host {
    handshakes: usize,
    /// Failed handshakes, minus those that are forgotten.
    failures: u32,
    counted: Instant,
}

impl Host {
    fn new(now: Instant) -> Self {
        Self { handshakes: 0, failures: 0, counted: now }
    }

    fn forget_old(&mut self, now: Instant) {
        let spans = now.saturating_duration_since(self.counted).as_millis() / FORGET_EVERY.as_millis();
        let spans = u32::try_from(spans).unwrap_or(u32::MAX);
        self.failures = self.failures.saturating_sub(spans);
        self.counted = if self.failures == 0 { now } else { self.counted + FORGET_EVERY * spans };
    }
}

/// Admits connections up to the limits, and closes others at once, which costs nothing. A new
/// connection can evict one that has not started its handshake, or is slow.
#[derive(Debug)]
pub(super) struct Admission {
    links: Arc<Semaphore>,
    handshakes: Arc<Mutex<Handshakes>>,
    max_handshakes: usize,
    max_per_address: usize,
}

/// Connections in their handshake.
#[derive(Debug, Default)]
struct Handshakes {
    hosts: HashMap<IpAddr, Host>,
    /// Keyed by order of arrival.
    pending: BTreeMap<u64, Pending>,
    arrived: u64,
}

#[derive(Debug)]
struct Pending {
    address: IpAddr,
    since: Instant,
    /// The handshake has started. Connections that have not started have cost nothing.
    started: bool,
    leave: oneshot::Sender<()>,
}

/// A connection in its handshake. [`Self::proven`] turns it into a link.
pub(super) struct Admitted {
    link: OwnedSemaphorePermit,
    slot: Slot,
    leave: oneshot::Receiver<()>,
}

struct Slot {
    number: u64,
    handshakes: Arc<Mutex<Handshakes>>,
    proven: bool,
}

impl Drop for Slot {
    fn drop(&mut self) {
        lock(&self.handshakes).remove(self.number, self.proven);
    }
}

impl Admitted {
    /// Records that the handshake has started: from now on the connection is evicted only if it is slow.
    pub(super) fn started(&self) {
        if let Some(pending) = lock(&self.slot.handshakes).pending.get_mut(&self.slot.number) {
            pending.started = true;
        }
    }

    /// Waits until the connection is evicted.
    pub(super) async fn evicted(&mut self) {
        let _ = (&mut self.leave).await;
    }

    /// Records that the handshake is complete: the connection counts as a link from now on.
    pub(super) fn proven(mut self) -> OwnedSemaphorePermit {
        self.slot.proven = true;
        self.link
    }
}

fn lock(handshakes: &Mutex<Handshakes>) -> MutexGuard<'_, Handshakes> {
    handshakes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Handshakes {
    /// Evicts a connection of this host, or of any host: the oldest one that has not started, else the oldest slow one.
    /// Returns whether one was evicted.
    fn evict(&mut self, address: Option<IpAddr>, now: Instant) -> bool {
        let of_host = |pending: &Pending| address.is_none_or(|address| pending.address == address);
        let oldest = |may_go: &dyn Fn(&Pending) -> bool| {
            self.pending.iter().find(|(_, pending)| of_host(pending) && may_go(pending)).map(|(number, _)| *number)
        };
        let is_slow = |pending: &Pending| now.saturating_duration_since(pending.since) >= SLOW;
        let chosen = oldest(&|pending| !pending.started).or_else(|| oldest(&is_slow));
        let Some(pending) = chosen.and_then(|number| self.remove(number, false)) else { return false };
        let _ = pending.leave.send(());
        true
    }

    /// Frees the slot, at most once.
    fn remove(&mut self, number: u64, proven: bool) -> Option<Pending> {
        let pending = self.pending.remove(&number)?;
        let address = pending.address;
        if let Some(host) = self.hosts.get_mut(&address) {
            host.handshakes = host.handshakes.saturating_sub(1);
            if !proven && pending.started {
                host.failures = host.failures.saturating_add(1).min(FAILURES);
            }
            if host.handshakes == 0 && host.failures == 0 {
                self.hosts.remove(&address);
            }
        }
        Some(pending)
    }

    /// Handshakes and failures of one host.
    fn host(&mut self, address: IpAddr, now: Instant) -> &mut Host {
        if self.hosts.len() >= MAX_REMEMBERED_HOSTS {
            self.hosts.retain(|_, host| {
                host.forget_old(now);
                host.handshakes + host.failures as usize > 0
            });
        }
        let host = self.hosts.entry(address).or_insert_with(|| Host::new(now));
        host.forget_old(now);
        host
    }
}

impl Admission {
    pub(super) fn new(max_links: usize, max_handshakes: usize, max_per_address: usize) -> Self {
        Self { links: Arc::new(Semaphore::new(max_links)), handshakes: Arc::default(), max_handshakes, max_per_address }
    }

    pub(super) fn admit(&self, address: IpAddr) -> Option<Admitted> {
        let link = Arc::clone(&self.links).try_acquire_owned().ok()?;
        let (address, now) = (host_of(address), Instant::now());
        let mut handshakes = lock(&self.handshakes);
        let host = handshakes.host(address, now);
        if host.failures >= FAILURES {
            return None;
        }
        if host.handshakes >= self.max_per_address && !handshakes.evict(Some(address), now) {
            return None;
        }
        if handshakes.pending.len() >= self.max_handshakes && !handshakes.evict(None, now) {
            return None;
        }
        handshakes.host(address, now).handshakes += 1;
        handshakes.arrived = handshakes.arrived.wrapping_add(1);
        let (number, (tell, leave)) = (handshakes.arrived, oneshot::channel());
        handshakes.pending.insert(number, Pending { address, since: now, started: false, leave: tell });
        drop(handshakes);
        let slot = Slot { number, handshakes: Arc::clone(&self.handshakes), proven: false };
        Some(Admitted { link, slot, leave })
    }
}

/// An IPv6 host can use 2^64 addresses; they count as one.
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
    fn a_host_with_too_many_failed_handshakes_is_refused_for_a_while() {
        let admission = Admission::new(4, 4, 4);
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let began = Instant::now();
        let failed = (0..10_000).filter(|_| admit_and_start(&admission, one).is_some()).count();
        let forgiven = began.elapsed().as_millis() / FORGET_EVERY.as_millis();
        assert!(failed >= 100 && failed as u128 <= 101 + forgiven, "{failed} {forgiven}");
        assert!(
            (0..10_000).all(|_| admission.admit(other).unwrap().proven().num_permits() == 1),
            "who is proven may come"
        );
        std::thread::sleep(FORGET_EVERY);
        assert!(admission.admit(one).is_some());
    }

    #[test]
    fn connections_without_a_handshake_are_always_admitted() {
        let admission = Admission::new(4, 4, 4);
        assert!((0..10_000).all(|_| admission.admit([192, 0, 2, 1].into()).is_some()));
    }

    /// A connection that has started its handshake.
    fn admit_and_start(admission: &Admission, address: IpAddr) -> Option<Admitted> {
        admission.admit(address).inspect(Admitted::started)
    }

    #[test]
    fn one_host_cannot_take_all_slots() {
        let admission = Admission::new(4, 3, 2);
        let (one, other) = ("192.0.2.1".parse().unwrap(), "192.0.2.2".parse().unwrap());
        let first = admit_and_start(&admission, one).unwrap();
        let second = admit_and_start(&admission, one).unwrap();
        assert!(admission.admit(one).is_none(), "two of one address are enough");
        let third = admit_and_start(&admission, other).unwrap();
        assert!(admission.admit(other).is_none(), "three handshakes are enough");
        let links = [first.proven(), second.proven(), third.proven()];
        let _fourth = admission.admit(one).unwrap();
        assert!(admission.admit(one).is_none(), "four links are enough");
        drop(links);
        assert!(admission.admit(one).is_some());
    }

    #[test]
    fn only_connections_without_a_handshake_are_evicted() {
        let admission = Admission::new(100, 3, 2);
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        let mut silent = [1, 1, 2].map(|last| admission.admit(address(last)).unwrap());
        let left = |entry: &mut Admitted| entry.leave.try_recv().is_ok();
        // First the oldest connection of a host that uses all its slots, then the oldest of all.
        let _of_host = admit_and_start(&admission, address(1)).unwrap();
        assert_eq!(silent.each_mut().map(left), [true, false, false]);
        let _of_all = admit_and_start(&admission, address(3)).unwrap();
        assert_eq!(silent.each_mut().map(left), [false, true, false]);
        silent[2].started();
        assert!(admission.admit(address(4)).is_none(), "all three of them speak");
        let [gone, also, last] = silent;
        drop((gone, also));
        assert!(admission.admit(address(4)).is_none(), "those who had left give back nothing");
        drop(last);
        assert!(admission.admit(address(4)).is_some());
    }

    #[test]
    fn slow_handshakes_are_evicted() {
        let admission = Admission::new(100, 3, 2);
        let address = |last: u8| IpAddr::from([192, 0, 2, last]);
        let mut slow = [1, 1, 2].map(|last| admit_and_start(&admission, address(last)).unwrap());
        assert!(admission.admit(address(1)).is_none() && admission.admit(address(3)).is_none());
        lock(&admission.handshakes).pending.values_mut().for_each(|pending| pending.since -= SLOW);
        let of_host = admit_and_start(&admission, address(1)).unwrap();
        let silent = admission.admit(address(3)).unwrap();
        let [first, second, _] = &mut slow;
        assert!(first.leave.try_recv().is_ok() && second.leave.try_recv().is_ok());
        let _of_all = admit_and_start(&admission, address(3)).unwrap();
        let [of_host, mut silent] = [of_host, silent];
        assert!(silent.leave.try_recv().is_ok(), "who has not begun is the first to leave");
        drop((of_host, silent));
    }
}
