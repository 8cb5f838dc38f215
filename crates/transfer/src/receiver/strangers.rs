//! Connections that have proven nothing yet. Whoever can reach the port can make any number of them
//! and say nothing, or a byte now and then: each gets a little time in all, a few are heard at once,
//! and the newest takes the place of the oldest of whoever has the most, so that they do not keep the sender out.

use std::{
    net::{IpAddr, Shutdown, TcpStream},
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// How long a stranger may take to prove itself, in all.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// Strangers that are heard at the same time.
const MOST: usize = 16;

/// All strangers of the moment, the oldest first. They are shown out when this goes.
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
    /// Notes a connection; `None` if it is gone already.
    pub(super) fn admit(&self, socket: &TcpStream, from: IpAddr) -> Option<Stranger<'_>> {
        let socket = socket.try_clone().ok()?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut heard = self.heard.lock().ok()?;
        if heard.len() >= MOST {
            let of = |from| heard.iter().filter(|heard| heard.from == from).count();
            // Of several with as many, the first: it has the oldest connection of these.
            let most = heard.iter().rev().map(|heard| heard.from).max_by_key(|from| of(*from));
            let place = heard.iter().position(|heard| Some(heard.from) == most).unwrap_or_default();
            show_out(heard.remove(place));
        }
        heard.push(Heard { number, since: Instant::now(), from, socket });
        Some(Stranger { of: self, number })
    }

    /// Ends those who took too long.
    pub(super) fn end_slow(&self) {
        if let Ok(mut heard) = self.heard.lock() {
            heard.extract_if(.., |heard| heard.since.elapsed() > PATIENCE).for_each(show_out);
        }
    }

    /// Ends them all.
    pub(super) fn end_all(&self) {
        if let Ok(mut heard) = self.heard.lock() {
            heard.drain(..).for_each(show_out);
        }
    }
}

fn show_out(heard: Heard) {
    // One that is gone already is as good.
    let _ = heard.socket.shutdown(Shutdown::Both);
}

/// One connection, for as long as it is one of the strangers.
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
        // One that proved itself is no stranger any more.
        drop(admitted);
        strangers.end_all();
        assert!(!ended(&pairs[1].0));
    }
}
