//! A proxy that simulates the round-trip time of a network, where the kernel cannot delay packets.
//!
//! In each direction, bytes arrive half a round trip after they were sent, at any rate. A connection to the proxy opens
//! at once, while over a network this takes a round trip for the client, and half a round trip more until the server
//! accepts. The proxy therefore connects to the server one and a half round trips after the client has connected, and
//! delivers the client's first bytes then at the earliest. As over a network, the greeting arrives two round trips
//! after the client began to connect.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread,
    time::{Duration, Instant},
};

/// Maximum length of one read.
const PIECE_BYTES: usize = 64 << 10;
/// Number of pieces in flight: 16 MiB, as much as a fast network with a long round trip holds.
const MAX_PIECES: usize = 256;

/// A proxy on the loopback interface. On drop it stops accepting connections.
#[derive(Debug)]
pub struct Relay {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
}

impl Relay {
    /// Starts a proxy to `server`.
    ///
    /// # Errors
    /// If no port is available.
    pub fn start(server: SocketAddr, round_trip: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopped);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                let opened = Instant::now();
                thread::spawn(move || forward(client, server, opened, round_trip));
            }
        });
        Ok(Self { address, stopped })
    }

    /// Address that it listens on.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Wakes the listener.
        let _ = TcpStream::connect(self.address);
    }
}

fn forward(client: TcpStream, server: SocketAddr, opened: Instant, round_trip: Duration) {
    let (delay, seen) = (round_trip / 2, opened + round_trip + round_trip / 2);
    let Ok(from_client) = client.set_nodelay(true).and_then(|()| client.try_clone()) else { return };
    let (sender, to_server) = sync_channel(MAX_PIECES);
    thread::spawn(move || read_pieces(from_client, &sender, seen, delay));
    sleep_until(seen);
    let Ok(server) = TcpStream::connect(server) else { return };
    let Ok(from_server) = server.set_nodelay(true).and_then(|()| server.try_clone()) else { return };
    thread::spawn(move || write_pieces(&to_server, server));
    let (sender, to_client) = sync_channel(MAX_PIECES);
    thread::spawn(move || read_pieces(from_server, &sender, opened, delay));
    write_pieces(&to_client, client);
}

/// Delivery time, and data.
type Piece = (Instant, Vec<u8>);

/// Reads until the end; each piece is delivered after `delay`, but not before `earliest`.
fn read_pieces(mut from: TcpStream, sender: &SyncSender<Piece>, earliest: Instant, delay: Duration) {
    let mut room = vec![0; PIECE_BYTES];
    while let Ok(count @ 1..) = from.read(&mut room) {
        let due = earliest.max(Instant::now() + delay);
        let piece = room.get(..count).unwrap_or_default().to_vec();
        if sender.send((due, piece)).is_err() {
            return;
        }
    }
}

/// Writes each piece at its delivery time; closes the connection after the last.
fn write_pieces(pieces: &Receiver<Piece>, mut to: TcpStream) {
    for (due, piece) in pieces {
        sleep_until(due);
        if to.write_all(&piece).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

fn sleep_until(at: Instant) {
    thread::sleep(at.saturating_duration_since(Instant::now()));
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: Duration = Duration::from_millis(60);

    /// A server that greets, and answers one byte with another.
    fn server() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            client.write_all(b"greeting").unwrap();
            let mut byte = [0];
            client.read_exact(&mut byte).unwrap();
            client.write_all(b"!").unwrap();
        });
        address
    }

    #[test]
    fn a_greeting_takes_two_round_trips_and_an_answer_one() {
        let relay = Relay::start(server(), ROUND_TRIP).unwrap();
        let began = Instant::now();
        let mut client = TcpStream::connect(relay.address()).unwrap();
        let mut greeting = [0; 8];
        client.read_exact(&mut greeting).unwrap();
        let greeted = began.elapsed();
        assert_eq!(&greeting, b"greeting");
        client.write_all(b"?").unwrap();
        client.read_exact(&mut greeting[..1]).unwrap();
        let answered = began.elapsed();
        assert!(greeted >= 2 * ROUND_TRIP, "{greeted:?}");
        assert!(answered >= greeted + ROUND_TRIP, "{answered:?} after {greeted:?}");
        assert_eq!(client.read(&mut greeting).unwrap(), 0);
    }
}
