//! A client of KMIP services, which only reads keys: over mutual TLS, with KMIP 1.0.

pub(crate) mod message;
mod ttlv;

use std::{
    fmt,
    io::{self, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use pki::{Authorities, Identity};
use rustls::{ClientConfig, ClientConnection, StreamOwned, pki_types::ServerName};
use zeroize::Zeroizing;

use self::ttlv::HEADER_BYTES;
use crate::{
    error::{Error, Fault},
    http,
};

/// Maximum size of an answer; a list of 100,000 identifiers is smaller.
const MAX_ANSWER_BYTES: u32 = 16 << 20;

/// How to reach a KMIP service.
#[derive(Clone, Debug)]
pub struct KmipAccess {
    /// Host name or address.
    pub host: String,
    /// Port; 5696 by convention.
    pub port: u16,
    /// File with this client's certificate.
    pub certificate: PathBuf,
    /// File with its private key.
    pub key: PathBuf,
    /// Certificates of the authorities to trust for the service's certificate.
    pub authorities: PathBuf,
    /// Time limit of the connection with its handshake, and of each request.
    pub timeout: Duration,
}

/// A connection to a KMIP service.
pub struct Kmip {
    stream: StreamOwned<ClientConnection, LimitedSocket>,
    address: String,
    timeout: Duration,
}

/// What a service knows about an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectInfo {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Its state.
    pub state: KeyState,
}

/// What the state of a key means for whoever decrypts with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyState {
    /// Not active yet, active, or deactivated: a deactivated key may still decrypt. Also if the service reports none.
    #[default]
    Usable,
    /// Others may know the key. It may still decrypt.
    Compromised,
    /// The service no longer has the key.
    Destroyed,
}

impl fmt::Debug for Kmip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kmip").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A symmetric key, inside the answer that contains it; wiped on drop.
pub struct KmipKey {
    answer: Zeroizing<Vec<u8>>,
    id: String,
}

impl KmipKey {
    /// The key. The caller wipes copies.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        message::key(&self.answer, &self.id).unwrap_or_default()
    }
}

impl fmt::Debug for KmipKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KmipKey")
    }
}

impl Kmip {
    /// Connects and completes the handshake, in which both sides authenticate each other.
    ///
    /// # Errors
    /// [`Error::Certificates`], [`Error::Address`], [`Error::Request`].
    pub fn connect(access: &KmipAccess) -> Result<Self, Error> {
        let address = format!("kmip://{}", server_address(access));
        let config = config(access)?;
        let host = ServerName::try_from(access.host.clone())
            .map_err(|_| Error::Address { address: address.clone(), reason: "names no host" })?;
        let failed = |fault| Error::Request { address: address.clone(), fault };
        let mut socket = LimitedSocket::connect(access).map_err(|error| failed(unreachable_fault(&error)))?;
        let tls = |error: rustls::Error| failed(Fault::Protocol(format!("TLS: {error}")));
        let mut connection = ClientConnection::new(Arc::new(config), host).map_err(tls)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket).map_err(|error| failed(fault(&error)))?;
        }
        Ok(Self { stream: StreamOwned::new(connection, socket), address, timeout: access.timeout })
    }

    /// Identifiers of all symmetric keys, or of those in an object group.
    ///
    /// # Errors
    /// [`Error::Request`].
    pub fn locate(&mut self, group: Option<&str>) -> Result<Vec<String>, Error> {
        let answer = self.ask(&message::locate(group), None)?;
        message::identifiers(&answer).map_err(|fault| self.failed(None, fault))
    }

    /// Name and state of an object.
    ///
    /// # Errors
    /// [`Error::Request`].
    pub fn info(&mut self, id: &str) -> Result<ObjectInfo, Error> {
        let answer = self.ask(&message::get_info(id), Some(id))?;
        message::info(&answer, id).map_err(|fault| self.failed(Some(id), fault))
    }

    /// A symmetric key.
    ///
    /// # Errors
    /// [`Error::Request`]; [`Fault::NotARawKey`] if it is wrapped or in another format.
    pub fn key(&mut self, id: &str) -> Result<KmipKey, Error> {
        let answer = self.ask(&message::get(id), Some(id))?;
        message::key(&answer, id).map_err(|fault| self.failed(Some(id), fault))?;
        Ok(KmipKey { answer, id: id.to_owned() })
    }

    /// The error of a request about this object, or about none.
    fn failed(&self, id: Option<&str>, fault: Fault) -> Error {
        let address = match id {
            Some(id) => format!("{} object {}", self.address, id.escape_debug()),
            None => self.address.clone(),
        };
        Error::Request { address, fault }
    }

    /// Sends a request about this object, or about none, and reads the value of the response message.
    fn ask(&mut self, request: &[u8], id: Option<&str>) -> Result<Zeroizing<Vec<u8>>, Error> {
        self.stream.sock.limit(self.timeout);
        let answer = self.exchange(request);
        answer.map_err(|fault| self.failed(id, fault))
    }

    fn exchange(&mut self, request: &[u8]) -> Result<Zeroizing<Vec<u8>>, Fault> {
        self.stream.write_all(request).and_then(|()| self.stream.flush()).map_err(|error| fault(&error))?;
        let mut header = [0; HEADER_BYTES];
        self.stream.read_exact(&mut header).map_err(|error| fault(&error))?;
        let length = ttlv::value_bytes(&header, message::RESPONSE_MESSAGE)?;
        if length > MAX_ANSWER_BYTES {
            return Err(Fault::TooLarge { limit: u64::from(MAX_ANSWER_BYTES) });
        }
        let length = usize::try_from(length).map_err(|_| Fault::NotKmip)?;
        let mut value = Zeroizing::new(vec![0; length]);
        self.stream.read_exact(&mut value).map_err(|error| fault(&error))?;
        Ok(value)
    }
}

/// `HOST:PORT`, with brackets around an IPv6 address.
fn server_address(access: &KmipAccess) -> String {
    let KmipAccess { host, port, .. } = access;
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

fn config(access: &KmipAccess) -> Result<ClientConfig, Error> {
    let verifier = Authorities::from_file(&access.authorities)?.server_verifier()?;
    let identity = Identity::from_files(&access.certificate, &access.key)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| Error::Request {
        address: format!("kmip://{}", server_address(access)),
        fault: Fault::Protocol(format!("TLS: {error}")),
    })?;
    let trusting = config.dangerous().with_custom_certificate_verifier(verifier);
    Ok(trusting.with_client_cert_resolver(identity.resolver()))
}

/// A socket on which all reads and writes together end at a deadline. A limit of each read alone would let a service
/// that sends one byte after the other hold its client for ever.
struct LimitedSocket {
    socket: TcpStream,
    /// `None` if it is too far in the future.
    deadline: Option<Instant>,
}

impl LimitedSocket {
    /// Tries every address of the host. What follows has the rest of the time.
    fn connect(access: &KmipAccess) -> io::Result<Self> {
        let mut last = io::Error::other("its name is not known");
        for address in (access.host.as_str(), access.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, access.timeout) {
                Ok(socket) => {
                    socket.set_nodelay(true)?;
                    let deadline = Instant::now().checked_add(access.timeout);
                    return Ok(Self { socket, deadline });
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Lets what follows take this long.
    fn limit(&mut self, timeout: Duration) {
        self.deadline = Instant::now().checked_add(timeout);
    }
}

impl Read for LimitedSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(left(self.deadline)?)?;
        self.socket.read(buffer)
    }
}

impl Write for LimitedSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(left(self.deadline)?)?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

/// The time until the deadline; an error if it has passed.
fn left(deadline: Option<Instant>) -> io::Result<Option<Duration>> {
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    match left {
        Some(Duration::ZERO) => Err(io::ErrorKind::TimedOut.into()),
        left => Ok(left),
    }
}

fn unreachable_fault(error: &io::Error) -> Fault {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Fault::Timeout,
        _ => Fault::Unreachable(error.to_string()),
    }
}

/// The fault of a connection. The service reports a client certificate that it does not accept by an alert.
fn fault(error: &io::Error) -> Fault {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::AlertReceived(alert)) => Fault::ClientRefused(format!("{alert:?}")),
        _ => http::of_io(error, u64::from(MAX_ANSWER_BYTES)),
    }
}
