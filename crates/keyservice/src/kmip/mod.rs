//! A client of KMIP services, which only reads keys: over mutual TLS, with KMIP 1.0.

pub(crate) mod message;
mod ttlv;

use std::{
    fmt,
    io::{self, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    path::PathBuf,
    sync::Arc,
    time::Duration,
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
    /// Time limit of each read and write.
    pub timeout: Duration,
}

/// A connection to a KMIP service.
pub struct Kmip {
    stream: StreamOwned<ClientConnection, TcpStream>,
    address: String,
}

impl fmt::Debug for Kmip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kmip").field("address", &self.address).finish_non_exhaustive()
    }
}

/// A symmetric key, inside the answer that contains it; wiped on drop.
pub struct KmipKey(Zeroizing<Vec<u8>>);

impl KmipKey {
    /// The key. The caller wipes copies.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        message::key(&self.0).unwrap_or_default()
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
        let mut socket = connected(access).map_err(|error| failed(unreachable_fault(&error)))?;
        let tls = |error: rustls::Error| failed(Fault::Protocol(format!("TLS: {error}")));
        let mut connection = ClientConnection::new(Arc::new(config), host).map_err(tls)?;
        while connection.is_handshaking() {
            connection.complete_io(&mut socket).map_err(|error| failed(fault(&error)))?;
        }
        Ok(Self { stream: StreamOwned::new(connection, socket), address })
    }

    /// Identifiers of all symmetric keys, or of those in an object group.
    ///
    /// # Errors
    /// [`Error::Request`].
    pub fn locate(&mut self, group: Option<&str>) -> Result<Vec<String>, Error> {
        let answer = self.ask(&message::locate(group))?;
        message::identifiers(&answer).map_err(|fault| self.failed(fault))
    }

    /// The name of an object; `None` if it has none.
    ///
    /// # Errors
    /// [`Error::Request`].
    pub fn name(&mut self, id: &str) -> Result<Option<String>, Error> {
        let answer = self.ask(&message::get_name(id))?;
        message::name(&answer).map_err(|fault| self.failed(fault))
    }

    /// A symmetric key.
    ///
    /// # Errors
    /// [`Error::Request`]; [`Fault::NotARawKey`] if it is wrapped or in another format.
    pub fn key(&mut self, id: &str) -> Result<KmipKey, Error> {
        let answer = self.ask(&message::get(id))?;
        message::key(&answer).map_err(|fault| self.failed(fault))?;
        Ok(KmipKey(answer))
    }

    fn failed(&self, fault: Fault) -> Error {
        Error::Request { address: self.address.clone(), fault }
    }

    /// Sends a request and reads the value of the response message.
    fn ask(&mut self, request: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let answer = self.exchange(request);
        answer.map_err(|fault| self.failed(fault))
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
        address: server_address(access),
        fault: Fault::Protocol(format!("TLS: {error}")),
    })?;
    let trusting = config.dangerous().with_custom_certificate_verifier(verifier);
    Ok(trusting.with_client_cert_resolver(identity.resolver()))
}

/// Tries every address of the host.
fn connected(access: &KmipAccess) -> io::Result<TcpStream> {
    let mut last = io::Error::other("its name is not known");
    for address in (access.host.as_str(), access.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, access.timeout) {
            Ok(socket) => {
                socket.set_read_timeout(Some(access.timeout))?;
                socket.set_write_timeout(Some(access.timeout))?;
                socket.set_nodelay(true)?;
                return Ok(socket);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
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
