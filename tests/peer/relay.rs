//! A network that fails: forwards a number of bytes between sender and receiver, then breaks.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

/// How it breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Break {
    /// All connections are closed, and no new ones are made.
    Cut,
    /// Connections stay open, but nothing passes.
    Stall,
}

/// A relay; its connections are closed on drop.
#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) port: u16,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    to: SocketAddr,
    how: Break,
    left: AtomicI64,
    sockets: Mutex<Vec<TcpStream>>,
}

impl Relay {
    pub(crate) fn start(to: SocketAddr, how: Break, bytes: i64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::new(Shared { to, how, left: AtomicI64::new(bytes), sockets: Mutex::default() });
        let accepting = shared.clone();
        thread::spawn(move || listener.incoming().flatten().for_each(|client| accepting.accept(client)));
        Self { port, shared }
    }

    /// Breaks it now, regardless of how much has passed.
    pub(crate) fn break_now(&self) {
        self.shared.left.store(0, Ordering::Relaxed);
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.shared.close();
    }
}

impl Shared {
    fn is_broken(&self) -> bool {
        self.left.load(Ordering::Relaxed) <= 0
    }

    fn accept(self: &Arc<Self>, client: TcpStream) {
        match (self.is_broken(), self.how) {
            (true, Break::Cut) => {}
            (true, Break::Stall) => self.hold(client),
            (false, _) => {
                let Ok(server) = TcpStream::connect(self.to) else { return };
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().expect("a handle"), to.try_clone().expect("a handle"));
                    let shared = self.clone();
                    thread::spawn(move || shared.forward(from, to));
                }
                self.hold(client);
                self.hold(server);
            }
        }
    }

    fn hold(&self, socket: TcpStream) {
        self.sockets.lock().expect("no thread panicked").push(socket);
    }

    fn forward(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = vec![0; 8 << 10];
        loop {
            let count = from.read(&mut buffer).unwrap_or(0);
            let left = self.left.fetch_sub(count as i64, Ordering::Relaxed) - count as i64;
            if left <= 0 {
                if self.how == Break::Cut {
                    self.close();
                }
                return;
            }
            if count == 0 || to.write_all(&buffer[..count]).is_err() {
                let _ = to.shutdown(Shutdown::Write);
                return;
            }
        }
    }

    fn close(&self) {
        for socket in self.sockets.lock().expect("no thread panicked").drain(..) {
            // A connection that is already closed is fine, too.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}
