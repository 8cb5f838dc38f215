//! A network that flips a bit: forwards a sender's data record by record, with one bit of one record flipped.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use transfer::pairing::PairingCode;

/// Time for a receiver to notice; after that nothing more is forwarded.
const NOTICE: Duration = Duration::from_millis(10);
/// Record types of TLS (RFC 8446, section 5.1).
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// Forwards data and flips one of the protected bits that the sender sends.
#[derive(Clone)]
pub(crate) struct Flip(Arc<Shared>);

struct Shared {
    wanted: Option<u64>,
    passed: AtomicU64,
    happened: AtomicBool,
    sockets: Mutex<Vec<TcpStream>>,
}

impl Flip {
    /// Flips that bit, or none.
    pub(crate) fn new(bit: Option<u64>) -> Self {
        Self(Arc::new(Shared {
            wanted: bit,
            passed: AtomicU64::new(0),
            happened: AtomicBool::new(false),
            sockets: Mutex::default(),
        }))
    }

    /// Whether the bit was flipped.
    pub(crate) fn happened(&self) -> bool {
        self.0.happened.load(Ordering::SeqCst)
    }

    /// Number of protected bits that were forwarded.
    pub(crate) fn bits(&self) -> u64 {
        self.0.passed.load(Ordering::SeqCst)
    }

    /// Starts forwarding; returns the port.
    pub(crate) fn start(&self, code: &PairingCode) -> u16 {
        let to = code.sockets().next().expect("an address");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = self.0.clone();
        // A control and a data connection. If one never connects, its thread ends with the test.
        thread::spawn(move || listener.incoming().take(2).flatten().for_each(|client| shared.accept(client, to)));
        port
    }
}

impl Shared {
    fn accept(self: &Arc<Self>, client: TcpStream, to: SocketAddr) {
        let Ok(server) = TcpStream::connect(to) else { return };
        // Forwards every record at once: a sender that waits for an acknowledgement would be delayed.
        if [&client, &server].into_iter().any(|socket| socket.set_nodelay(true).is_err()) {
            return;
        }
        let pair = || Some((client.try_clone().ok()?, server.try_clone().ok()?));
        let (Some((mut from, mut to)), Some(back)) = (pair(), pair()) else { return };
        let shared = self.clone();
        thread::spawn(move || {
            while let Ok(record) = shared.record(&mut from) {
                if to.write_all(&record).is_err() {
                    break;
                }
                if shared.happened.load(Ordering::SeqCst) {
                    thread::sleep(NOTICE);
                    shared.close();
                }
            }
            let _ = to.shutdown(Shutdown::Write);
        });
        thread::spawn(move || {
            let (mut client, mut server) = back;
            let _ = io::copy(&mut server, &mut client);
            let _ = client.shutdown(Shutdown::Write);
        });
        self.sockets.lock().expect("no thread panicked").extend([client, server]);
    }

    /// Reads the next record, and flips the bit if it is in this record.
    fn record(&self, from: &mut TcpStream) -> io::Result<Vec<u8>> {
        let mut record = vec![0; 5];
        from.read_exact(&mut record)?;
        record.resize(5 + usize::from(u16::from_be_bytes([record[3], record[4]])), 0);
        from.read_exact(&mut record[5..])?;
        // Records are protected once keys are in use; before, the version in headers and the whole change_cipher_spec
        // record are ignored.
        let protected = match record[0] {
            APPLICATION_DATA => 0,
            HANDSHAKE => 5,
            _ => return Ok(record),
        };
        let bits = 8 * (record.len() - protected) as u64;
        let before = self.passed.fetch_add(bits, Ordering::SeqCst);
        if let Some(bit) = self.wanted.and_then(|wanted| wanted.checked_sub(before)).filter(|bit| *bit < bits) {
            record[protected + (bit / 8) as usize] ^= 1 << (bit % 8);
            self.happened.store(true, Ordering::SeqCst);
        }
        Ok(record)
    }

    fn close(&self) {
        for socket in self.sockets.lock().expect("no thread panicked").drain(..) {
            // A connection that is already closed is fine, too.
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}
