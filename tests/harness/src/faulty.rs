//! A proxy in front of an S3 server or a Vault. It causes the failures of real services and networks.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::{Error, limit};

/// What the proxy does to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No fault: the request is passed on.
    None,
    /// The proxy answers with this status and code; the store does not get the request.
    Answer(u16, &'static str),
    /// The proxy answers with this body, as if all were well; the service does not get the request.
    Says(&'static str),
    /// The connection ends before the store receives the request.
    LostBefore,
    /// The store executes the request, and the answer is lost.
    LostAfter,
    /// The answer is cut off in the middle.
    Truncated,
    /// There is no answer.
    Hanging,
}

/// The properties of a request by which a test chooses a fault.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Method, such as `PUT`.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Whether it asks for a part of an object.
    pub has_range: bool,
}

type Choice = dyn FnMut(&Seen) -> Fault + Send;

/// The proxy. It lives as long as the process.
pub struct FaultyStore {
    address: SocketAddr,
    faults: Arc<AtomicUsize>,
}

/// State that all connections share.
struct Shared {
    upstream: u16,
    choose: Mutex<Box<Choice>>,
    faults: Arc<AtomicUsize>,
}

impl FaultyStore {
    /// Starts a proxy to this port of 127.0.0.1. Calls `choose` for each request.
    ///
    /// # Errors
    /// No port is free.
    pub fn start(upstream: u16, choose: impl FnMut(&Seen) -> Fault + Send + 'static) -> Result<Self, Error> {
        Self::start_at(Ipv4Addr::LOCALHOST.into(), upstream, choose)
    }

    /// Like [`Self::start`], at this address of the machine.
    ///
    /// # Errors
    /// The machine does not have the address, or no port is free.
    pub fn start_at(
        address: IpAddr,
        upstream: u16,
        choose: impl FnMut(&Seen) -> Fault + Send + 'static,
    ) -> Result<Self, Error> {
        let listener = TcpListener::bind((address, 0)).map_err(Error::file("a port"))?;
        let address = listener.local_addr().map_err(Error::file("a port"))?;
        let faults = Arc::new(AtomicUsize::new(0));
        let shared = Shared { upstream, choose: Mutex::new(Box::new(choose)), faults: Arc::clone(&faults) };
        let shared = Arc::new(shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let _ = shared.serve(&stream);
                });
            }
        });
        Ok(Self { address, faults })
    }

    /// Address of the proxy.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Number of requests that had a fault.
    #[must_use]
    pub fn faults(&self) -> usize {
        self.faults.load(Ordering::Relaxed)
    }
}

impl Shared {
    /// Serves the requests of a connection, until one was passed on, or a fault or the client closes it.
    fn serve(&self, client: &TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(client.try_clone()?);
        loop {
            let Some((seen, head, bytes)) = self.head(client, &mut reader)? else { return Ok(()) };
            let mut body = vec![0; bytes];
            reader.read_exact(&mut body)?;
            let fault = (self.choose.lock().unwrap_or_else(PoisonError::into_inner))(&seen);
            self.faults.fetch_add(usize::from(fault != Fault::None), Ordering::Relaxed);
            match fault {
                Fault::None => {
                    (&mut &*client).write_all(&self.forward(&head, &body)?)?;
                    // The service closes its connection, too. If it was killed, its answer may not be whole.
                    return client.shutdown(Shutdown::Both);
                }
                Fault::Answer(status, code) => {
                    let text = format!("<Error><Code>{code}</Code><Message>as the test wants</Message></Error>");
                    (&mut &*client).write_all(reply(status, "Fault", &text).as_bytes())?;
                }
                Fault::Says(text) => (&mut &*client).write_all(reply(200, "OK", text).as_bytes())?,
                Fault::LostBefore => return client.shutdown(Shutdown::Both),
                Fault::LostAfter => {
                    self.forward(&head, &body)?;
                    return client.shutdown(Shutdown::Both);
                }
                Fault::Truncated => {
                    let answer = self.forward(&head, &body)?;
                    let half = answer.len() - answer.len().saturating_sub(head_bytes(&answer)) / 2 - 1;
                    (&mut &*client).write_all(&answer[..half])?;
                    return client.shutdown(Shutdown::Both);
                }
                Fault::Hanging => {
                    // Longer than the client of any test waits.
                    thread::sleep(limit(60).max(Duration::from_secs(60)));
                    return client.shutdown(Shutdown::Both);
                }
            }
        }
    }

    /// Reads the head of a request. Answers `100 Continue` to a client that waits for it.
    fn head(&self, client: &TcpStream, reader: &mut impl BufRead) -> std::io::Result<Option<(Seen, String, usize)>> {
        let (mut head, mut bytes, mut asks) = (String::new(), 0, false);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            let lower = line.to_ascii_lowercase();
            if let Some(length) = lower.strip_prefix("content-length:") {
                bytes = length.trim().parse().unwrap_or(0);
            }
            if lower.starts_with("expect:") {
                asks = true;
                continue;
            }
            if line.trim().is_empty() {
                break;
            }
            if !lower.starts_with("connection:") {
                head.push_str(&line);
            }
        }
        if asks {
            (&mut &*client).write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        let has_range = head.lines().any(|line| line.to_ascii_lowercase().starts_with("range:"));
        let mut words = head.split_whitespace().map(str::to_owned);
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let seen = Seen { method, target, has_range };
        head.push_str("Connection: close\r\n\r\n");
        Ok(Some((seen, head, bytes)))
    }

    /// Forwards the request, and returns the store's answer.
    fn forward(&self, head: &str, body: &[u8]) -> std::io::Result<Vec<u8>> {
        let mut upstream = TcpStream::connect(("127.0.0.1", self.upstream))?;
        upstream.write_all(head.as_bytes())?;
        // A server that refuses the request may not read the whole body.
        let _ = upstream.write_all(body);
        let mut answer = Vec::new();
        match upstream.read_to_end(&mut answer) {
            Err(error) if answer.is_empty() => Err(error),
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(answer),
        }
    }
}

fn reply(status: u16, reason: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} {reason}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn head_bytes(answer: &[u8]) -> usize {
    answer.windows(4).position(|four| four == b"\r\n\r\n").map_or(0, |at| at + 4)
}
