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
pub(super) const AUTHENTICATION_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of connections served at the same time.
const MAX_PEERS: usize = 16;

/// All unauthenticated connections, oldest first.
#[derive(Debug, Default)]
pub(super) struct UnauthenticatedPeers {
    connections: Mutex<Vec<Connection>>,
    next: AtomicU64,
}

#[derive(Debug)]
struct Connection {
    number: u64,
    since: Instant,
    from: IpAddr,
    socket: TcpStream,
}

impl UnauthenticatedPeers {
    /// Adds a connection; `None` if it is already closed.
    pub(super) fn admit(&self, socket: &TcpStream, from: IpAddr) -> Option<PeerGuard<'_>> {
        let socket = socket.try_clone().ok()?;
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let mut connections = self.connections.lock().ok()?;
        if connections.len() >= MAX_PEERS {
            let of = |from| connections.iter().filter(|connections| connections.from == from).count();
            // If several addresses have the most connections, the one with the oldest connection is
            // chosen.
            let most = connections.iter().rev().map(|connections| connections.from).max_by_key(|from| of(*from));
            let location =
                connections.iter().position(|connections| Some(connections.from) == most).unwrap_or_default();
            disconnect(connections.remove(location));
        }
        connections.push(Connection { number, since: Instant::now(), from, socket });
        Some(PeerGuard { of: self, number })
    }

    /// Closes connections that exceed the time limit.
    pub(super) fn end_slow(&self) {
        if let Ok(mut connections) = self.connections.lock() {
            connections
                .extract_if(.., |connections| connections.since.elapsed() > AUTHENTICATION_TIMEOUT)
                .for_each(disconnect);
        }
    }

    /// Closes all connections.
    pub(super) fn end_all(&self) {
        if let Ok(mut connections) = self.connections.lock() {
            connections.drain(..).for_each(disconnect);
        }
    }
}

fn disconnect(connections: Connection) {
    // An already closed connection is fine.
    let _ = connections.socket.shutdown(Shutdown::Both);
}

/// Registration of one connection; dropping it removes the connection from the list.
pub(super) struct PeerGuard<'s> {
    of: &'s UnauthenticatedPeers,
    number: u64,
}

impl Drop for PeerGuard<'_> {
    fn drop(&mut self) {
        if let Ok(mut connections) = self.of.connections.lock() {
            connections.retain(|connections| connections.number != self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{io::Read, net::TcpListener};

    use super::*;

    #[test]
    fn many_connections_of_one_host_do_not_displace_another_host() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peers = UnauthenticatedPeers::default();
        let mut pairs = Vec::new();
        let [sender, crowd] = [IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2])];
        for from in std::iter::once(sender).chain(std::iter::repeat_n(crowd, 3 * MAX_PEERS)) {
            let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let ours = listener.accept().unwrap().0;
            std::mem::forget(peers.admit(&ours, from).unwrap());
            pairs.push((theirs, ours));
        }
        assert!(peers.connections.lock().unwrap().iter().any(|connections| connections.from == sender));
    }

    #[test]
    fn the_newest_connection_replaces_the_oldest() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let peers = UnauthenticatedPeers::default();
        let connect = || {
            let theirs = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            (theirs, listener.accept().unwrap().0)
        };
        let pairs: Vec<_> = (0..=MAX_PEERS).map(|_| connect()).collect();
        let admitted: Vec<_> =
            pairs.iter().map(|(_, ours)| peers.admit(ours, IpAddr::from([192, 0, 2, 1])).unwrap()).collect();
        let ended = |theirs: &TcpStream| {
            theirs.set_nonblocking(true).unwrap();
            matches!((&*theirs).read(&mut [0]), Ok(0))
        };
        let closed: Vec<bool> = pairs.iter().map(|(theirs, _)| ended(theirs)).collect();
        assert_eq!(closed.iter().filter(|ended| **ended).count(), 1);
        assert!(closed[0]);
        // An authenticated connection is no longer in the list.
        drop(admitted);
        peers.end_all();
        assert!(!ended(&pairs[1].0));
    }
}
