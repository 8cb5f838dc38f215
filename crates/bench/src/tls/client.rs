//! The least client of a MySQL server: what a driver does to connect and ask, and no more, so that
//! what is timed is the server, the network and TLS.
//!
//! Packets as in the server documentation, "Client/Server Protocol": three bytes of length, one of
//! sequence. Accounts have to be without a password: nothing secret is ever sent.

use std::{
    fmt,
    io::{self, BufReader, ErrorKind, Read, Write},
    net::{SocketAddr, TcpStream},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, RootCertStore, StreamOwned, SupportedProtocolVersion,
    client::Resumption, version,
};
use rustls_pki_types::{CertificateDer, ServerName, pem::PemObject};

/// A server that does not answer for so long does not answer at all.
const PATIENCE: Duration = Duration::from_secs(60);
const BUFFER_BYTES: usize = 32 << 10;
const PROTOCOL_41: u32 = 0x200;
const SSL: u32 = 0x800;
const SECURE_CONNECTION: u32 = 0x8000;
const PLUGIN_AUTH: u32 = 0x8_0000;
/// `CLIENT_LONG_PASSWORD` and `CLIENT_TRANSACTIONS`, which every client sends.
const USUAL: u32 = 0x2001;
/// utf8mb4_general_ci, known to every server since 5.5.3.
const COLLATION: u8 = 45;
const OK: u8 = 0x00;
const MORE_AUTHENTICATION: u8 = 0x01;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;
/// An end of rows is shorter; a row that begins with the same byte is longer.
const END_BYTES: usize = 9;

/// Where a server is to be reached.
#[derive(Clone, Debug)]
pub enum Address {
    /// By TCP.
    Tcp(SocketAddr),
    /// By a unix socket.
    Socket(PathBuf),
}

/// Versions of TLS that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsVersion {
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}

impl TlsVersion {
    fn supported(self) -> &'static SupportedProtocolVersion {
        match self {
            Self::Tls12 => &version::TLS12,
            Self::Tls13 => &version::TLS13,
        }
    }
}

impl fmt::Display for TlsVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tls12 => "TLS 1.2",
            Self::Tls13 => "TLS 1.3",
        })
    }
}

/// How TLS is done.
#[derive(Clone)]
pub struct TlsSettings {
    config: Arc<ClientConfig>,
    resumes: bool,
    version: TlsVersion,
}

/// How a connection is protected by the client itself.
#[derive(Clone)]
pub enum Security {
    /// Not at all.
    Plain,
    /// By TLS of the server's own.
    Tls(TlsSettings),
}

impl TlsSettings {
    /// TLS of one version, trusting the authority in that file, with sessions resumed where the server
    /// lets them, or a whole handshake each time.
    ///
    /// # Errors
    /// If the file has no certificate.
    pub fn new(version: TlsVersion, ca: &Path, resumes: bool) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(ca).map_err(io::Error::other)? {
            roots.add(certificate.map_err(io::Error::other)?).map_err(io::Error::other)?;
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[version.supported()]);
        let mut config = builder.map_err(io::Error::other)?.with_root_certificates(roots).with_no_client_auth();
        config.resumption = if resumes { Resumption::in_memory_sessions(16) } else { Resumption::disabled() };
        Ok(Self { config: Arc::new(config), resumes, version })
    }
}

impl Security {
    /// Whether sessions are to be resumed.
    pub(super) const fn resumes(&self) -> bool {
        matches!(self, Self::Tls(TlsSettings { resumes: true, .. }))
    }
}

/// A logged-in connection.
pub struct Client {
    /// With room for many small packets, as drivers have it: without, the clear arms alone would pay a
    /// call for each, since TLS brings a buffer of its own.
    stream: BufReader<Stream>,
    packet: Vec<u8>,
    resumed: bool,
}

enum Stream {
    Tcp(TcpStream),
    Socket(UnixStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Client {
    /// Connects and logs in.
    ///
    /// # Errors
    /// What the network, TLS or the server say; TLS of another version than asked for.
    pub fn open(address: &Address, user: &str, security: &Security) -> io::Result<Self> {
        let stream = match address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect_timeout(address, PATIENCE)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                Stream::Tcp(stream)
            }
            Address::Socket(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                Stream::Socket(stream)
            }
        };
        let mut client =
            Self { stream: BufReader::with_capacity(BUFFER_BYTES, stream), packet: Vec::new(), resumed: false };
        client.read()?;
        let plugin = plugin_of(&client.packet)?;
        let mut sequence = 1;
        if let Security::Tls(settings) = security {
            client.write(&mut sequence, &head(USUAL | PROTOCOL_41 | SSL | SECURE_CONNECTION | PLUGIN_AUTH))?;
            client = client.secured(settings)?;
        }
        let tls = if matches!(security, Security::Tls(_)) { SSL } else { 0 };
        let mut response = head(USUAL | PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH | tls);
        response.extend_from_slice(user.as_bytes());
        // The end of the name, and an answer of no bytes: that of an empty password.
        response.extend_from_slice(&[0, 0]);
        response.extend_from_slice(&plugin);
        response.push(0);
        client.write(&mut sequence, &response)?;
        loop {
            let read = client.read()?;
            match client.packet.first() {
                Some(&OK) => return Ok(client),
                // Another plug-in, or its next step; an empty password is empty for all of them.
                Some(&END) => client.write(&mut read.wrapping_add(1), &[])?,
                Some(&MORE_AUTHENTICATION) => {}
                _ => return Err(refusal(&client.packet)),
            }
        }
    }

    fn secured(self, settings: &TlsSettings) -> io::Result<Self> {
        let Stream::Tcp(tcp) = self.stream.into_inner() else { return Err(malformed("TLS over a unix socket")) };
        let name = ServerName::try_from("localhost").map_err(io::Error::other)?;
        let connection = ClientConnection::new(Arc::clone(&settings.config), name).map_err(io::Error::other)?;
        let mut stream = StreamOwned::new(connection, tcp);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        if stream.conn.protocol_version() != Some(settings.version.supported().version) {
            return Err(malformed("another version of TLS than asked for"));
        }
        let resumed = stream.conn.handshake_kind() == Some(HandshakeKind::Resumed);
        if resumed && !settings.resumes {
            return Err(malformed("a resumed session where none was asked for"));
        }
        let stream = BufReader::with_capacity(BUFFER_BYTES, Stream::Tls(Box::new(stream)));
        Ok(Self { stream, packet: self.packet, resumed })
    }

    /// Whether the TLS session was resumed.
    #[must_use]
    pub const fn is_resumed(&self) -> bool {
        self.resumed
    }

    /// Asks, reads the answer to its end, and returns its bytes, without packet headers.
    ///
    /// # Errors
    /// What the network or the server say.
    pub fn query(&mut self, sql: &str) -> io::Result<u64> {
        let mut command = Vec::with_capacity(sql.len() + 1);
        // COM_QUERY
        command.push(3);
        command.extend_from_slice(sql.as_bytes());
        self.write(&mut 0, &command)?;
        let (mut bytes, mut ends) = (0, 0);
        loop {
            self.read()?;
            match self.packet.first() {
                Some(&ERROR) => return Err(refusal(&self.packet)),
                Some(&OK) if bytes == 0 => return Ok(0),
                // One end after the columns, one after the rows.
                Some(&END) if self.packet.len() < END_BYTES => {
                    ends += 1;
                    if ends == 2 {
                        return Ok(bytes);
                    }
                }
                _ => bytes += self.packet.len() as u64,
            }
        }
    }

    /// Says goodbye.
    pub fn quit(mut self) {
        // COM_QUIT; a server that has gone already need not hear it.
        let _ = self.write(&mut 0, &[1]);
    }

    /// Reads a packet and returns its sequence number.
    fn read(&mut self) -> io::Result<u8> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header)?;
        let [a, b, c, sequence] = header;
        let length = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
        self.packet.resize(length, 0);
        self.stream.read_exact(&mut self.packet)?;
        Ok(sequence)
    }

    fn write(&mut self, sequence: &mut u8, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).map_err(io::Error::other)?.to_le_bytes();
        let mut packet = Vec::with_capacity(payload.len() + 4);
        packet.extend_from_slice(&length[..3]);
        packet.push(*sequence);
        packet.extend_from_slice(payload);
        *sequence = sequence.wrapping_add(1);
        let stream = self.stream.get_mut();
        stream.write_all(&packet)?;
        stream.flush()
    }
}

/// What a request for TLS consists of, and a login begins with.
fn head(capabilities: u32) -> Vec<u8> {
    let mut head = Vec::with_capacity(64);
    head.extend_from_slice(&capabilities.to_le_bytes());
    head.extend_from_slice(&(1_u32 << 24).to_le_bytes());
    head.push(COLLATION);
    head.resize(32, 0);
    head
}

/// The authentication plug-in that a greeting names: behind the version, 31 bytes and the second part
/// of the challenge, which is 13 bytes at least.
fn plugin_of(greeting: &[u8]) -> io::Result<Vec<u8>> {
    if greeting.first() != Some(&10) {
        return Err(refusal(greeting));
    }
    let version = greeting.iter().position(|byte| *byte == 0).unwrap_or(greeting.len());
    let behind = greeting.get(version + 1 + 31..).unwrap_or_default();
    let challenge = greeting.get(version + 21).map_or(0, |all| usize::from(all.saturating_sub(8)).max(13));
    let name = behind.get(challenge..).unwrap_or_default();
    Ok(name.iter().copied().take_while(|byte| *byte != 0).collect())
}

/// The server's words: after the mark and the number, `#` and five characters of state, then text.
fn refusal(packet: &[u8]) -> io::Error {
    match packet {
        [ERROR, _, _, words @ ..] => {
            let words = if words.first() == Some(&b'#') { words.get(6..).unwrap_or_default() } else { words };
            io::Error::other(String::from_utf8_lossy(words).into_owned())
        }
        _ => malformed("an answer that is none of a MySQL server"),
    }
}

fn malformed(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            Self::Socket(stream) => stream.read(into),
            Self::Tls(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Socket(stream) => stream.write(bytes),
            Self::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.flush(),
            Self::Socket(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting_names_its_plugin() {
        let mut greeting = vec![10];
        greeting.extend_from_slice(b"9.7.4\0");
        // Thread 4, challenge 8 and its end, capabilities 2, collation, status 2, capabilities 2.
        greeting.extend_from_slice(&[0; 4 + 9 + 2 + 1 + 2 + 2]);
        // Length of the challenge, ten bytes of nothing, the rest of the challenge.
        greeting.push(21);
        greeting.extend_from_slice(&[0; 10 + 13]);
        greeting.extend_from_slice(b"caching_sha2_password\0");
        assert_eq!(plugin_of(&greeting).unwrap(), b"caching_sha2_password");
    }

    #[test]
    fn a_refusal_is_told_in_the_servers_words() {
        let error = plugin_of(b"\xff\x10\x04Too many connections").unwrap_err();
        assert_eq!(error.to_string(), "Too many connections");
        assert_eq!(refusal(b"\xff\x15\x04#28000Access denied").to_string(), "Access denied");
    }
}
