//! Connections that have not authenticated yet. Any host that reaches the port can open many of
//! them and stay silent. So each has a time limit, only a few are served at once, and a new one
//! displaces the oldest connection of the address that has the most, so that the sender is not
//! locked out.

use std::{
    net::{IpAddr, Shutdown, TcpStream},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// Time limit for a peer to authenticate.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of connections served at the same time.
const MOST: usize = 16;

/// All unauthenticated connections, oldest first.
#[derive(Debug, Default)]
pub(super) struct Strangers {
    heard: Mutex<Vec<Heard>>,
    next: AtomicU64,
}

#[derive(Debug)]
struct Heard {
    number: u64,
    since: Instant,
    from: IpAddr,
    socket: TcpStream,
}

impl Strangers {
    /// Adds a connection; `None` if it is already closed.
    pub(super) fn admit(&self, socket: &TcpStream, from: IpAddr) -> Option<Stranger<'_>> {
        let socket = socket.try_clone().ok()?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut heard = self.heard.lock().ok()?;
        if heard.len() >= MOST {
            let of = |from| heard.iter().filter(|heard| heard.from == from).count();
            // Of addresses with equally many, the one with the oldest connection.
            let most = heard.iter().rev().map(|heard| heard.from).max_by_key(|from| of(*from));
            let place = heard.iter().position(|heard| Some(heard.from) == most).unwrap_or_default();
            show_out(heard.remove(place));
        }
        heard.push(Heard { number, since: Instant::now(), from, socket });
        Some(Stranger { of: self, number })
    }

    /// Closes connections that exceed the time limit.
    pub(super) fn end_slow(&self) {
        if let Ok(mut heard) = self.heard.lock() {
            heard.extract_if(.., |heard| heard.since.elapsed() > PATIENCE).for_each(show_out);
        }
    }

    /// Closes all connections.
    pub(super) fn end_all(&self) {
        if let Ok(mut heard) = self.heard.lock() {
            heard.drain(..).for_each(show_out);
        }
    }
}

fn show_out(heard: Heard) {
    // An already closed connection is fine.
    let _ = heard.socket.shutdown(Shutdown::Both);
}

/// Registration of one connection; dropping it removes the connection from the list.
pub(super) struct Stranger<'s> {
    of: &'s Strangers,
    number: u64,
}

impl Drop for Stranger<'_> {
    fn drop(&mut self) {
        if let Ok(mut heard) = self.of.heard.lock() {
            heard.retain(|heard| heard.number != self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Read, net::TcpListener};

    use super::*;

    #[test]
    fn a_crowd_from_one_host_does_not_push_out_another() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let strangers = Strangers::default();
        let mut pairs = Vec::new();
        let [sender, crowd] = [IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2])];
        for from in std::iter::once(sender).chain(std::iter::repeat_n(crowd, 3 * MOST)) {
            let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let ours = listener.accept().unwrap().0;
            std::mem::forget(strangers.admit(&ours, from).unwrap());
            pairs.push((theirs, ours));
        }
        assert!(strangers.heard.lock().unwrap().iter().any(|heard| heard.from == sender));
    }

    #[test]
    fn the_newest_takes_the_place_of_the_oldest() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let strangers = Strangers::default();
        let connect = || {
            let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (theirs, listener.accept().unwrap().0)
        };
        let pairs: Vec<_> = (0..=MOST).map(|_| connect()).collect();
        let admitted: Vec<_> =
            pairs.iter().map(|(_, ours)| strangers.admit(ours, IpAddr::from([192, 0, 2, 1])).unwrap()).collect();
        let ended = |theirs: &TcpStream| {
            theirs.set_nonblocking(true).unwrap();
            matches!((&*theirs).read(&mut [0]), Ok(0))
        };
        let fates: Vec<bool> = pairs.iter().map(|(theirs, _)| ended(theirs)).collect();
        assert_eq!(fates.iter().filter(|ended| **ended).count(), 1);
        assert!(fates[0]);
        // An authenticated connection is no longer in the list.
        drop(admitted);
        strangers.end_all();
        assert!(!ended(&pairs[1].0));
    }
}
