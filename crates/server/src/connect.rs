//! A small blocking client: connects, proves, asks, and says what it saw.
//!
//! It exists because an audit needs what other clients hide: the certificate,
//! the suite, the time each step took, and trust in the given CA alone.

use std::{
    fs,
    io::{self, BufReader, Read, Write},
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use rustls::{ClientConfig, ClientConnection, StreamOwned, crypto::CryptoProvider};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject};
use zeroize::Zeroizing;

use crate::{
    auth::{self, Login, Privacy},
    bytes::Bytes,
    certificate,
    endpoint::{Endpoint, Target},
    error::{Error, Phase},
    greeting::{Greeting, capability},
    packet::{self, PacketError},
    secret::Password,
    socket::Socket,
    tls::{
        TlsVersion, suites,
        verify::{Demand, Rejection, Verifier},
    },
    version::Flavor,
};

/// utf8mb4_general_ci, known to every server since 5.5.3.
const COLLATION: u8 = 45;

/// Undoes global defaults that change answers: a limit of rows cuts even `SHOW GLOBAL VARIABLES` (seen on
/// MySQL 9.7 and MariaDB 10.11), a limit of join size refuses it, and SQL modes turn `''` into NULL
/// (`EMPTY_STRING_IS_NULL`), pad names (`PAD_CHAR_TO_FULL_LENGTH`) or change their quotes (`ANSI_QUOTES`).
const PLAIN_SESSION: &str = "SET SESSION sql_mode = '', sql_select_limit = 18446744073709551615, sql_big_selects = 1";

/// What we tell the server about our own packets' size.
const MAX_PACKET_BYTES: u32 = 1 << 24;

/// Columns a result may have; MySQL's own limit for a table is 4096.
const MAX_COLUMNS: u64 = 4096;

/// What is demanded of the transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TlsMode {
    /// No TLS. Over TCP only with [`Options::allow_plaintext_tcp`].
    Off,
    /// TLS without looking at the certificate: safe from listeners, not from impostors.
    Required,
    /// TLS, and the certificate leads to the given CA.
    VerifyCa,
    /// TLS, and the certificate leads to the given CA and names the host.
    VerifyIdentity,
}

/// How to encrypt and whom to trust.
#[derive(Clone, Debug, Default)]
pub struct TlsOptions {
    /// `None`: [`TlsMode::Off`] on unix sockets; on TCP [`TlsMode::VerifyCa`] if a CA file
    /// is given, else [`TlsMode::Required`].
    pub mode: Option<TlsMode>,
    /// PEM file of the only certificates to trust.
    pub ca_file: Option<PathBuf>,
    /// PEM file of our own certificate and its chain.
    pub cert_file: Option<PathBuf>,
    /// PEM file of our own private key.
    pub key_file: Option<PathBuf>,
}

impl TlsOptions {
    /// The mode in force for an endpoint.
    pub fn mode_for(&self, endpoint: &Endpoint) -> TlsMode {
        match self.mode {
            Some(mode) => mode,
            None if endpoint.is_socket() => TlsMode::Off,
            None if self.ca_file.is_some() => TlsMode::VerifyCa,
            None => TlsMode::Required,
        }
    }
}

/// Everything about a connection but its target.
#[derive(Clone, Debug)]
pub struct Options {
    /// The account's password.
    pub password: Option<Password>,
    /// TLS.
    pub tls: TlsOptions,
    /// Permits [`TlsMode::Off`] over TCP. Everything then crosses the network readable.
    pub allow_plaintext_tcp: bool,
    /// Time for TCP, greeting, TLS and login, each. The system's resolver keeps its own time.
    pub connect_timeout: Duration,
    /// Time for a statement on the server. We wait two seconds longer before we give up.
    pub statement_timeout: Duration,
    /// Largest result, in bytes as received.
    pub max_result_bytes: u64,
    /// Whether statements may change anything; if not, the session is read-only.
    pub changes: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            password: None,
            tls: TlsOptions::default(),
            allow_plaintext_tcp: false,
            connect_timeout: Duration::from_secs(10),
            statement_timeout: Duration::from_secs(30),
            max_result_bytes: 256 << 20,
            changes: false,
        }
    }
}

/// What the finished handshake agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFacts {
    /// Protocol version.
    pub version: TlsVersion,
    /// Suite, by its IANA name.
    pub suite: String,
    /// The server's chain as DER, its own certificate first.
    pub peer_certificates: Vec<Vec<u8>>,
}

/// How long each step took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// Opening the TCP or unix socket, with the name look-up.
    pub connect: Duration,
    /// Waiting for the server's greeting.
    pub greeting: Duration,
    /// The TLS handshake.
    pub tls: Option<Duration>,
    /// The login.
    pub login: Duration,
}

/// A result set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Column names as the server gives them.
    pub columns: Vec<String>,
    /// Values as text, `None` for NULL; bytes that are not UTF-8 are replaced.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Rows {
    /// Position of a column; MySQL returns names in whatever case, so case is ignored.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.eq_ignore_ascii_case(name))
    }

    /// One value; `None` for NULL and for a row or column that is not there.
    pub fn value(&self, row: usize, column: &str) -> Option<&str> {
        let column = self.column(column)?;
        self.rows.get(row)?.get(column)?.as_deref()
    }

    /// The first value of the first row.
    pub fn scalar(&self) -> Option<&str> {
        self.rows.first()?.first()?.as_deref()
    }

    /// Picks and renames columns: `(source, name)`. A source `#1` is the first column,
    /// whatever its name; one that is missing gives NULL.
    pub(crate) fn renamed(self, map: &[(&str, &str)]) -> Self {
        let position = |source: &str| if source == "#1" { Some(0) } else { self.column(source) };
        let positions: Vec<Option<usize>> = map.iter().map(|(source, _)| position(source)).collect();
        let rows = self
            .rows
            .iter()
            .map(|row| positions.iter().map(|position| row.get((*position)?).cloned().flatten()).collect())
            .collect();
        Self { columns: map.iter().map(|(_, name)| (*name).to_owned()).collect(), rows }
    }
}

/// A logged-in connection.
#[derive(Debug)]
pub struct Connection {
    transport: BufReader<Transport>,
    target: Target,
    greeting: Greeting,
    tls: Option<TlsFacts>,
    timings: Timings,
    peer_pid: Option<u32>,
    statement_timeout: Duration,
    max_result_bytes: u64,
    /// After a failure in the middle of a result nothing more can be asked.
    broken: bool,
}

impl Connection {
    /// Connects and logs in, and asks the server for a session with a time limit for statements,
    /// read-only unless it is to change something (servers too old for these go without).
    ///
    /// # Errors
    /// [`Error`], by cause. There is no fallback: if TLS was asked for and
    /// cannot be had, that is an error before any account name is sent.
    pub fn open(target: &Target, options: &Options) -> Result<Self, Error> {
        let mut connection = Self::log_in(target, options)?;
        connection.protect_server(options.changes)?;
        Ok(connection)
    }

    fn log_in(target: &Target, options: &Options) -> Result<Self, Error> {
        let endpoint = &target.endpoint;
        let mode = options.tls.mode_for(endpoint);
        if mode == TlsMode::Off && !endpoint.is_socket() && !options.allow_plaintext_tcp {
            return Err(Error::PlaintextRefused { endpoint: endpoint.clone() });
        }
        // Files first: a missing CA is found before anybody is bothered.
        let config = match mode {
            TlsMode::Off => None,
            _ => Some(client_config(mode, &options.tls, endpoint.host())?),
        };
        let mut timings = Timings::default();

        let started = Instant::now();
        let mut socket = Socket::open(endpoint, options.connect_timeout)?;
        timings.connect = started.elapsed();
        let peer_pid = socket.peer_pid();

        let started = Instant::now();
        socket.allow(options.connect_timeout);
        let greeting = packet::read_greeting(&mut socket)?;
        timings.greeting = started.elapsed();

        let capabilities = our_capabilities(&greeting, config.is_some());
        let mut sequence = 1;
        socket.allow(options.connect_timeout);
        let (transport, tls) = match config {
            None => (Transport::Plain(socket), None),
            Some(_) if !greeting.offers_tls() => return Err(Error::TlsNotOffered),
            Some(config) => {
                let started = Instant::now();
                packet::write(&mut socket, &mut sequence, &request_head(capabilities))
                    .map_err(|error| socket.failure(Phase::Tls, error))?;
                let (transport, facts) = handshake(socket, config, endpoint)?;
                timings.tls = Some(started.elapsed());
                (transport, Some(facts))
            }
        };

        let mut connection = Self {
            transport: BufReader::new(transport),
            target: target.clone(),
            greeting,
            tls,
            timings,
            peer_pid,
            statement_timeout: options.statement_timeout,
            max_result_bytes: options.max_result_bytes,
            broken: false,
        };
        let started = Instant::now();
        let empty = Password::new(Vec::new());
        let password = options.password.as_ref().unwrap_or(&empty);
        connection.allow(options.connect_timeout);
        connection.authenticate(password, capabilities, sequence)?;
        connection.timings.login = started.elapsed();
        Ok(connection)
    }

    /// Sends a statement and reads its whole result.
    ///
    /// # Errors
    /// [`Error::Server`] and its kin if the server refuses; [`Error::Timeout`],
    /// [`Error::Lost`], [`Error::Malformed`] and [`Error::ResultTooLarge`] also end
    /// the connection.
    pub fn query(&mut self, sql: &str) -> Result<Rows, Error> {
        if self.broken {
            return Err(Error::Lost { phase: Phase::Statement });
        }
        self.allow(self.statement_timeout.saturating_add(Duration::from_secs(2)));
        // Until the result is read to its end.
        self.broken = true;
        let mut command = Vec::with_capacity(sql.len().saturating_add(1));
        // COM_QUERY.
        command.push(3);
        command.extend_from_slice(sql.as_bytes());
        let mut sequence = 0;
        self.send(&mut sequence, &command, Phase::Statement)?;
        let result = self.read_result();
        self.broken = match &result {
            Ok(_) => false,
            Err(
                Error::Server { .. }
                | Error::StatementTimedOut { .. }
                | Error::AccessDenied { .. }
                | Error::SecureTransportRequired { .. },
            ) => false,
            Err(_) => true,
        };
        result
    }

    /// The server's first packet.
    pub fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    /// Where and as whom.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// What TLS agreed on; `None` without TLS.
    pub fn tls(&self) -> Option<&TlsFacts> {
        self.tls.as_ref()
    }

    /// How long each step took.
    pub fn timings(&self) -> Timings {
        self.timings
    }

    /// The server's process, if this is a unix socket.
    pub fn peer_pid(&self) -> Option<u32> {
        self.peer_pid
    }

    /// Says goodbye; dropping the connection does without.
    pub fn close(mut self) {
        if !self.broken {
            self.allow(Duration::from_secs(1));
            let mut sequence = 0;
            // COM_QUIT; the server closes, so an error here means the same.
            let _ = self.send(&mut sequence, &[1], Phase::Statement);
        }
    }

    /// Read-only unless it is to change something, and no statement longer than ours may take; answers whole and in the spelling that we read,
    /// whatever the server's own defaults are.
    fn protect_server(&mut self, changes: bool) -> Result<(), Error> {
        let seconds = self.statement_timeout.as_secs_f64();
        let milliseconds = self.statement_timeout.as_millis().clamp(1, 4_000_000_000);
        let limit = if self.greeting.flavor() == Some(Flavor::MariaDb) {
            format!("SET SESSION max_statement_time = {seconds:.3}")
        } else {
            format!("SET SESSION max_execution_time = {milliseconds}")
        };
        let read_only = (!changes).then_some("SET SESSION TRANSACTION READ ONLY");
        for statement in read_only.into_iter().chain([limit.as_str(), PLAIN_SESSION, "SET NAMES utf8mb4"]) {
            match self.query(statement) {
                // Servers before 5.6.5 and 5.7.8 do not know these.
                Ok(_) | Err(Error::Server { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn authenticate(&mut self, password: &Password, capabilities: u32, mut sequence: u8) -> Result<(), Error> {
        let privacy = self.privacy();
        // Only a plug-in that reveals nothing is answered before the server has asked for it.
        let proposed = self.greeting.auth_plugin.as_str();
        let plugin = if auth::is_challenge_response(proposed) { proposed } else { "mysql_native_password" };
        let mut login = Login::new(plugin, &self.greeting.challenge, password, privacy)?;
        let first = login.first()?;
        let response = login_request(&self.target.user, capabilities, login.plugin(), &first)?;
        self.send(&mut sequence, &response, Phase::Login)?;

        // Every plug-in is done after a few packets; a server that goes on is not one.
        for _ in 0..16 {
            let packet = self.receive(&mut sequence, 1 << 16, Phase::Login)?;
            let mut bytes = Bytes::new(&packet);
            let answer = match bytes.u8() {
                Some(0) => return Ok(()),
                Some(0xff) => {
                    return Err(packet::server_error(&packet).unwrap_or(Error::Malformed { what: "error packet" }));
                }
                Some(0xfe) if bytes.is_empty() => {
                    return Err(Login::new("mysql_old_password", &[], password, privacy)
                        .err()
                        .unwrap_or(Error::Malformed { what: "authentication switch" }));
                }
                Some(0xfe) => {
                    let name = bytes.until_nul().ok_or(Error::Malformed { what: "authentication switch" })?;
                    let name = String::from_utf8_lossy(name);
                    login = Login::new(&name, bytes.rest(), password, privacy)?;
                    Some(login.first()?)
                }
                // MySQL's AuthNextFactor; MariaDB's dialog questions may begin with 2 as well.
                Some(2) if login.plugin() != "dialog" => {
                    return Err(Error::PluginUnsupported {
                        plugin: "multi-factor authentication".to_owned(),
                        reason: "an audit can give one factor only",
                    });
                }
                Some(1) => login.next(bytes.rest())?,
                // MariaDB sends plug-in data without the leading 1 where it cannot be mistaken.
                Some(_) => login.next(&packet)?,
                None => login.next(&[])?,
            };
            if let Some(answer) = answer {
                self.send(&mut sequence, &answer, Phase::Login)?;
            }
        }
        Err(Error::Malformed { what: "authentication" })
    }

    fn privacy(&self) -> Privacy {
        if self.tls.is_some() {
            Privacy::Tls
        } else if self.target.endpoint.is_socket() {
            Privacy::Socket
        } else {
            Privacy::Clear
        }
    }

    fn read_result(&mut self) -> Result<Rows, Error> {
        let mut left = self.max_result_bytes;
        let head = self.receive_result(&mut left)?;
        let count = match head.first() {
            Some(0) => return Ok(Rows::default()),
            Some(0xff) => {
                return Err(packet::server_error(&head).unwrap_or(Error::Malformed { what: "error packet" }));
            }
            Some(0xfb) => return Err(Error::LocalInfileRefused),
            _ => Bytes::new(&head).length_encoded(),
        };
        let count = count
            .filter(|count| (1..=MAX_COLUMNS).contains(count))
            .ok_or(Error::Malformed { what: "result header" })?;
        let mut columns = Vec::new();
        for _ in 0..count {
            let packet = self.receive_result(&mut left)?;
            columns.push(column_name(&packet).ok_or(Error::Malformed { what: "column definition" })?);
        }
        let end = self.receive_result(&mut left)?;
        if !is_end(&end) {
            return Err(Error::Malformed { what: "end of the columns" });
        }
        let mut rows = Vec::new();
        loop {
            let packet = self.receive_result(&mut left)?;
            if is_end(&packet) {
                return Ok(Rows { columns, rows });
            }
            if packet.first() == Some(&0xff) {
                return Err(packet::server_error(&packet).unwrap_or(Error::Malformed { what: "error packet" }));
            }
            rows.push(text_row(&packet, columns.len()).ok_or(Error::Malformed { what: "row" })?);
        }
    }

    /// One packet of a result, taken from what is left of its limit.
    fn receive_result(&mut self, left: &mut u64) -> Result<Vec<u8>, Error> {
        let limit = usize::try_from(*left).unwrap_or(usize::MAX);
        let mut sequence = 0;
        let packet = self.receive(&mut sequence, limit, Phase::Statement)?;
        // The header counts too, so that empty rows are no way around the limit.
        let used = u64::try_from(packet.len()).unwrap_or(u64::MAX).saturating_add(4);
        *left = left.checked_sub(used).ok_or(Error::ResultTooLarge { limit_bytes: self.max_result_bytes })?;
        Ok(packet)
    }

    fn receive(&mut self, sequence: &mut u8, limit_bytes: usize, phase: Phase) -> Result<Vec<u8>, Error> {
        packet::read(&mut self.transport, sequence, limit_bytes).map_err(|error| match error {
            PacketError::Io(error) => self.failure(phase, error),
            PacketError::TooLarge if phase == Phase::Statement => {
                Error::ResultTooLarge { limit_bytes: self.max_result_bytes }
            }
            PacketError::TooLarge => Error::Malformed { what: "packet length" },
        })
    }

    fn send(&mut self, sequence: &mut u8, payload: &[u8], phase: Phase) -> Result<(), Error> {
        packet::write(self.transport.get_mut(), sequence, payload).map_err(|error| self.failure(phase, error))
    }

    fn failure(&self, phase: Phase, error: io::Error) -> Error {
        self.transport.get_ref().failure(phase, error)
    }

    fn allow(&mut self, span: Duration) {
        self.transport.get_mut().socket_mut().allow(span);
    }
}

#[derive(Debug)]
pub(crate) enum Transport {
    Plain(Socket),
    Tls(Box<StreamOwned<ClientConnection, Socket>>),
}

impl Transport {
    fn socket(&self) -> &Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => &stream.sock,
        }
    }

    fn socket_mut(&mut self) -> &mut Socket {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => &mut stream.sock,
        }
    }

    fn failure(&self, phase: Phase, error: io::Error) -> Error {
        match tls_cause(&error) {
            Some(cause) => tls_failure(cause),
            None => self.socket().failure(phase, error),
        }
    }
}

impl Read for Transport {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Transport {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(socket) => socket.write(buffer),
            Self::Tls(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(socket) => socket.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

fn our_capabilities(greeting: &Greeting, tls: bool) -> u32 {
    let optional = greeting.capabilities
        & (capability::PLUGIN_AUTH
            | capability::PLUGIN_AUTH_LENENC
            | capability::CONNECT_ATTRS
            | capability::MULTI_FACTOR);
    let ours = capability::LONG_PASSWORD
        | capability::LONG_FLAG
        | capability::PROTOCOL_41
        | capability::TRANSACTIONS
        | capability::SECURE_CONNECTION
        | optional;
    if tls { ours | capability::SSL } else { ours }
}

/// The part a TLS request and a login request have in common.
pub(crate) fn request_head(capabilities: u32) -> Vec<u8> {
    let mut head = Vec::with_capacity(32);
    head.extend_from_slice(&capabilities.to_le_bytes());
    head.extend_from_slice(&MAX_PACKET_BYTES.to_le_bytes());
    head.push(COLLATION);
    head.extend_from_slice(&[0; 23]);
    head
}

/// Source: MySQL's "Protocol::HandshakeResponse41".
pub(crate) fn login_request(
    user: &str,
    capabilities: u32,
    plugin: &str,
    answer: &[u8],
) -> Result<Zeroizing<Vec<u8>>, Error> {
    if user.contains('\0') {
        return Err(Error::Url { reason: "the user name contains a NUL" });
    }
    let mut request = Zeroizing::new(request_head(capabilities));
    request.extend_from_slice(user.as_bytes());
    request.push(0);
    // First answers have at most 64 bytes, so one byte of length is right in both forms.
    let length = u8::try_from(answer.len()).map_err(|_| Error::Malformed { what: "challenge" })?;
    request.push(length);
    request.extend_from_slice(answer);
    if capabilities & capability::PLUGIN_AUTH != 0 {
        request.extend_from_slice(plugin.as_bytes());
        request.push(0);
    }
    if capabilities & capability::CONNECT_ATTRS != 0 {
        let attributes =
            [("_client_name", "sealant"), ("_client_version", env!("CARGO_PKG_VERSION")), ("program_name", "sealant")];
        let mut encoded = Vec::new();
        for text in attributes.iter().flat_map(|(key, value)| [key, value]) {
            // All of them are shorter than 251 bytes.
            encoded.push(u8::try_from(text.len()).unwrap_or(0));
            encoded.extend_from_slice(text.as_bytes());
        }
        request.push(u8::try_from(encoded.len()).unwrap_or(0));
        request.extend_from_slice(&encoded);
    }
    Ok(request)
}

/// What rustls is told to encrypt in that mode: the given CA alone is trusted, and `host` is the name that has to be in
/// the certificate.
///
/// # Errors
/// [`Error::CaMissing`], [`Error::PemFile`], [`Error::Tls`].
pub fn client_config(mode: TlsMode, options: &TlsOptions, host: &str) -> Result<Arc<ClientConfig>, Error> {
    let demand = match mode {
        TlsMode::VerifyCa => Demand::Issuer(authorities(options)?),
        TlsMode::VerifyIdentity => Demand::IssuerAndName(authorities(options)?, host.to_owned()),
        TlsMode::Required | TlsMode::Off => Demand::Nothing,
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = unverified_builder(&provider, demand)?;
    let mut config = match (&options.cert_file, &options.key_file) {
        (None, None) => builder.with_no_client_auth(),
        (Some(cert), Some(key)) => {
            let chain = certificates(cert)?;
            let bytes = Zeroizing::new(read_file(key)?);
            let private = PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| pem_error(key, &error.to_string()))?;
            builder.with_client_auth_cert(chain, private).map_err(|error| pem_error(key, &error.to_string()))?
        }
        (Some(file), None) => return Err(pem_error(file, "its private key file is missing")),
        (None, Some(file)) => return Err(pem_error(file, "its certificate file is missing")),
    };
    config.enable_sni = ServerName::try_from(host).is_ok();
    Ok(Arc::new(config))
}

/// A client configuration in which our verifier alone decides.
pub(crate) fn unverified_builder(
    provider: &Arc<CryptoProvider>,
    demand: Demand,
) -> Result<rustls::ConfigBuilder<ClientConfig, rustls::client::WantsClientCert>, Error> {
    let verifier = Verifier::new(demand, provider.signature_verification_algorithms);
    Ok(ClientConfig::builder_with_provider(Arc::clone(provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| tls_failure(&error))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier)))
}

fn authorities(options: &TlsOptions) -> Result<Vec<CertificateDer<'static>>, Error> {
    let file = options.ca_file.as_ref().ok_or(Error::CaMissing)?;
    certificates(file)
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    certificate::ders_from_pem(&read_file(file)?).map_err(|error| pem_error(file, &error.to_string()))
}

fn read_file(file: &Path) -> Result<Vec<u8>, Error> {
    fs::read(file).map_err(|error| pem_error(file, &error.to_string()))
}

fn pem_error(file: &Path, reason: &str) -> Error {
    Error::PemFile { path: file.to_owned(), reason: reason.to_owned() }
}

/// The name for rustls' own bookkeeping; names are judged by our verifier.
pub fn server_name(host: &str) -> ServerName<'static> {
    ServerName::try_from(host.to_owned())
        .unwrap_or_else(|_| ServerName::IpAddress(std::net::Ipv4Addr::UNSPECIFIED.into()))
}

pub(crate) fn handshake(
    mut socket: Socket,
    config: Arc<ClientConfig>,
    endpoint: &Endpoint,
) -> Result<(Transport, TlsFacts), Error> {
    let mut client =
        ClientConnection::new(config, server_name(endpoint.host())).map_err(|error| tls_failure(&error))?;
    while client.is_handshaking() {
        if let Err(error) = client.complete_io(&mut socket) {
            return Err(match tls_cause(&error) {
                Some(cause) => tls_failure(cause),
                None => socket.failure(Phase::Tls, error),
            });
        }
    }
    let facts = tls_facts(&client);
    let stream = Box::new(StreamOwned::new(client, socket));
    Ok((Transport::Tls(stream), facts))
}

fn tls_facts(client: &ClientConnection) -> TlsFacts {
    let version = match client.protocol_version() {
        Some(rustls::ProtocolVersion::TLSv1_2) => TlsVersion::Tls12,
        _ => TlsVersion::Tls13,
    };
    let suite =
        client.negotiated_cipher_suite().map(|suite| suites::name(u16::from(suite.suite()))).unwrap_or_default();
    let peer_certificates =
        client.peer_certificates().unwrap_or_default().iter().map(|certificate| certificate.to_vec()).collect();
    TlsFacts { version, suite, peer_certificates }
}

fn tls_cause(error: &io::Error) -> Option<&rustls::Error> {
    error.get_ref()?.downcast_ref()
}

/// Why a handshake with a configuration of [`client_config`] failed.
pub fn tls_failure(error: &rustls::Error) -> Error {
    use rustls::{AlertDescription, CertificateError, Error as E, PeerIncompatible as P};
    match error {
        E::InvalidCertificate(CertificateError::Other(other)) => match other.0.downcast_ref::<Rejection>() {
            Some(rejection) => rejection.clone().into(),
            None => Error::Tls { reason: error.to_string() },
        },
        E::InvalidCertificate(CertificateError::BadSignature) => {
            Error::CertificateNotTrusted { why: crate::error::Untrusted::Unproven }
        }
        E::PeerIncompatible(P::ServerDoesNotSupportTls12Or13 | P::ServerTlsVersionIsDisabledByOurConfig) => {
            Error::TlsTooOld { reason: "it chose an older one".to_owned() }
        }
        E::AlertReceived(AlertDescription::ProtocolVersion) => {
            Error::TlsTooOld { reason: "alert protocol_version".to_owned() }
        }
        other => Error::Tls { reason: other.to_string() },
    }
}

fn is_end(packet: &[u8]) -> bool {
    // A row may begin with 0xfe too, but then eight bytes of length follow.
    packet.first() == Some(&0xfe) && packet.len() < 9
}

/// Source: MySQL's "Protocol::ColumnDefinition41": catalog, schema, table, original table, name.
fn column_name(packet: &[u8]) -> Option<String> {
    let mut bytes = Bytes::new(packet);
    for _ in 0..4 {
        bytes.length_encoded_string()?;
    }
    let name = bytes.length_encoded_string()?;
    Some(String::from_utf8_lossy(name).into_owned())
}

fn text_row(packet: &[u8], columns: usize) -> Option<Vec<Option<String>>> {
    let mut bytes = Bytes::new(packet);
    let mut row = Vec::with_capacity(columns);
    for _ in 0..columns {
        if bytes.peek() == Some(0xfb) {
            bytes.take(1)?;
            row.push(None);
        } else {
            let text = bytes.length_encoded_string()?;
            row.push(Some(String::from_utf8_lossy(text).into_owned()));
        }
    }
    bytes.is_empty().then_some(row)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_tcp_is_refused_before_connecting() {
        let target: Target = "mysql://root@127.0.0.1:1".parse().unwrap();
        let options =
            Options { tls: TlsOptions { mode: Some(TlsMode::Off), ..TlsOptions::default() }, ..Options::default() };
        assert!(matches!(Connection::open(&target, &options), Err(Error::PlaintextRefused { .. })));
    }

    #[test]
    fn verification_without_a_ca_is_refused_before_connecting() {
        let target: Target = "mysql://root@127.0.0.1:1".parse().unwrap();
        for mode in [TlsMode::VerifyCa, TlsMode::VerifyIdentity] {
            let options =
                Options { tls: TlsOptions { mode: Some(mode), ..TlsOptions::default() }, ..Options::default() };
            assert!(matches!(Connection::open(&target, &options), Err(Error::CaMissing)));
        }
    }

    #[test]
    fn a_given_ca_is_used_by_default() {
        let options = TlsOptions { ca_file: Some("ca.pem".into()), ..TlsOptions::default() };
        let tcp = Endpoint::tcp("db", 3306);
        assert_eq!(options.mode_for(&tcp), TlsMode::VerifyCa);
        assert_eq!(TlsOptions::default().mode_for(&tcp), TlsMode::Required);
        let socket = Endpoint::Socket("/x".into());
        assert_eq!(options.mode_for(&socket), TlsMode::Off);
    }

    #[test]
    fn rows_are_renamed_and_missing_columns_are_null() {
        let rows = Rows {
            columns: vec!["Log_name".into(), "File_size".into()],
            rows: vec![vec![Some("b.1".into()), Some("9".into())]],
        };
        let renamed = rows.renamed(&[("log_name", "name"), ("file_size", "size"), ("Encrypted", "encrypted")]);
        assert_eq!(renamed.value(0, "NAME"), Some("b.1"));
        assert_eq!(renamed.rows[0], [Some("b.1".into()), Some("9".into()), None]);
    }

    #[test]
    fn a_row_must_end_with_its_columns() {
        assert_eq!(text_row(&[1, b'a', 0xfb], 2), Some(vec![Some("a".into()), None]));
        assert_eq!(text_row(&[1, b'a'], 2), None);
        assert_eq!(text_row(&[1, b'a', 1, b'b'], 1), None);
    }

    proptest! {
        #[test]
        fn hostile_rows_and_columns_never_panic(data: Vec<u8>, columns in 0_usize..8) {
            let _ = text_row(&data, columns);
            let _ = column_name(&data);
            let _ = packet::server_error(&data);
        }
    }
}
