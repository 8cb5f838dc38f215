//! A small blocking client: connects, authenticates, queries, and reports what it observed.
//!
//! An audit needs what other clients hide: the certificate, the cipher suite, the duration of each step, and trust in
//! the given CA only.

mod authenticate;
mod bulk;
mod dump;
mod login;
mod proof;
mod rows;
mod tls;
mod transport;

use std::{
    io::{self, BufReader},
    thread::sleep,
    time::{Duration, Instant},
};

pub use self::{
    bulk::{EachRow, Executed, LOCAL_NAME},
    dump::{DumpFrom, EventPackets, FIRST_EVENT},
    rows::Rows,
    tls::{TlsFacts, TlsMode, TlsOptions, client_config, server_name, tls_failure},
};
use self::{
    login::our_capabilities,
    rows::{column_name, is_end, says_in_transaction, text_row},
    transport::Transport,
};
pub(crate) use self::{
    login::{login_request, request_head},
    tls::{handshake, unverified_builder},
};
use crate::{
    bytes::Bytes,
    endpoint::{Endpoint, Target},
    error::{Error, Phase},
    greeting::Greeting,
    packet::{self, PacketError},
    secret::Password,
    socket::Socket,
    version::Flavor,
};

/// Overrides global defaults that change results: a row limit truncates even `SHOW GLOBAL VARIABLES` (seen on MySQL 9.7
/// and MariaDB 10.11), a join size limit refuses it, and SQL modes turn `''` into NULL (`EMPTY_STRING_IS_NULL`), pad
/// names (`PAD_CHAR_TO_FULL_LENGTH`) or change quoting (`ANSI_QUOTES`).
const PLAIN_SESSION: &str = "SET SESSION sql_mode = '', sql_select_limit = 18446744073709551615, sql_big_selects = 1";

/// Pauses before a statement that only reads is repeated after a deadlock: the other transaction goes on meanwhile.
const DEADLOCK_PAUSES: [Duration; 4] =
    [Duration::from_millis(50), Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3)];

/// Maximum number of columns; MySQL's own limit for a table is 4096.
const MAX_COLUMNS: u64 = 4096;

/// Options of a connection.
#[derive(Clone, Debug)]
pub struct Options {
    /// Password of the account.
    pub password: Option<Password>,
    /// TLS options.
    pub tls: TlsOptions,
    /// Permits [`TlsMode::Off`] over TCP. Everything is then sent in clear text.
    pub allow_plaintext_tcp: bool,
    /// Permits sending the password itself over TLS to an unverified server that asks for it. An impostor would learn
    /// it.
    pub password_to_unverified: bool,
    /// Timeout of each step: TCP, greeting, TLS, login. The system's resolver has its own timeout.
    pub connect_timeout: Duration,
    /// Timeout of a statement on the server; the client waits two seconds longer.
    pub statement_timeout: Duration,
    /// Maximum size of a result, in received bytes.
    pub max_result_bytes: u64,
    /// Whether statements may change anything; otherwise the session is read-only.
    pub changes: bool,
    /// Whether a statement that only reads is repeated, outside transactions, if the server ends it because of a
    /// deadlock. Not for callers that lock rows by reading, and have a way of their own to go on.
    pub repeats_reads: bool,
    /// Permits [`Connection::load_data`]. A server that asks for a file at any other time is refused in any case.
    pub bulk_load: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            password: None,
            tls: TlsOptions::default(),
            allow_plaintext_tcp: false,
            password_to_unverified: false,
            connect_timeout: Duration::from_secs(10),
            statement_timeout: Duration::from_secs(30),
            max_result_bytes: 256 << 20,
            changes: false,
            repeats_reads: false,
            bulk_load: false,
        }
    }
}

/// Duration of each step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timings {
    /// Opening the TCP or Unix socket, including name resolution.
    pub connect: Duration,
    /// Waiting for the server's greeting.
    pub greeting: Duration,
    /// The TLS handshake.
    pub tls: Option<Duration>,
    /// The login.
    pub login: Duration,
}

/// An authenticated connection.
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
    repeats_reads: bool,
    /// Set by an error in the middle of a result: the connection cannot be used any more.
    broken: bool,
    /// What the last statement's answer says; true after statements whose answer is not asked.
    in_transaction: bool,
}

impl Connection {
    /// Connects and authenticates, and sets up the session: a statement timeout, and read-only unless `changes` is set.
    /// Servers too old for these settings run without them.
    ///
    /// # Errors
    /// [`Error`]. There is no fallback: if TLS is requested but not available, that is an error before the account name
    /// is sent.
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
        // Read files first, so that a missing CA is found before the server is contacted.
        let config = match mode {
            TlsMode::Off => None,
            _ => Some(client_config(mode, &options.tls, endpoint.certificate_name())?),
        };
        let (mut socket, greeting, mut timings) = greet(endpoint, options.connect_timeout)?;
        let peer_pid = socket.peer_pid();
        let capabilities = our_capabilities(&greeting, config.is_some(), options.bulk_load);
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
            repeats_reads: options.repeats_reads,
            broken: false,
            in_transaction: false,
        };
        connection.prove_account(options, mode, capabilities, sequence)?;
        Ok(connection)
    }

    /// Sends a statement and reads its whole result; see [`Options::repeats_reads`].
    ///
    /// # Errors
    /// [`Error::Server`] and similar errors if the server refuses; [`Error::Timeout`], [`Error::Lost`],
    /// [`Error::Malformed`] and [`Error::ResultTooLarge`] also end the connection.
    pub fn query(&mut self, sql: &str) -> Result<Rows, Error> {
        let may_repeat = self.repeats_reads && !self.in_transaction && only_reads(sql);
        for pause in DEADLOCK_PAUSES {
            match self.query_once(sql) {
                Err(error) if may_repeat && error.is_deadlock() => sleep(pause),
                answer => return answer,
            }
        }
        self.query_once(sql)
    }

    fn query_once(&mut self, sql: &str) -> Result<Rows, Error> {
        let mut command = Vec::with_capacity(sql.len().saturating_add(1));
        // COM_QUERY.
        command.push(3);
        command.extend_from_slice(sql.as_bytes());
        self.start(&command)?;
        let result = self.read_result();
        self.broken = result.as_ref().err().is_some_and(ends_connection);
        result
    }

    /// Sends a command whose answer is not read yet.
    fn start(&mut self, command: &[u8]) -> Result<(), Error> {
        if self.broken {
            return Err(Error::Lost { phase: Phase::Statement });
        }
        self.allow(self.statement_timeout.saturating_add(Duration::from_secs(2)));
        // The connection is usable again only after the whole answer was read.
        self.broken = true;
        let mut sequence = 0;
        self.send(&mut sequence, command, Phase::Statement)
    }

    /// The server's first packet.
    pub fn greeting(&self) -> &Greeting {
        &self.greeting
    }

    /// Endpoint and account.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// Parameters of TLS; `None` without TLS.
    pub fn tls(&self) -> Option<&TlsFacts> {
        self.tls.as_ref()
    }

    /// Duration of each step.
    pub fn timings(&self) -> Timings {
        self.timings
    }

    /// Process id of the server, on a Unix socket.
    pub fn peer_pid(&self) -> Option<u32> {
        self.peer_pid
    }

    /// Whether an error has ended the connection: every further statement fails.
    pub const fn is_broken(&self) -> bool {
        self.broken
    }

    /// Changes how long the client waits for the answer to a statement; two seconds more are added. The limits of the session
    /// at the server stay as they are. Returns the former time.
    pub const fn set_statement_timeout(&mut self, timeout: Duration) -> Duration {
        std::mem::replace(&mut self.statement_timeout, timeout)
    }

    /// Closes the connection properly. Dropping it omits COM_QUIT.
    pub fn close(mut self) {
        if !self.broken {
            self.allow(Duration::from_secs(1));
            let mut sequence = 0;
            // COM_QUIT; the server closes the connection, so errors do not matter.
            let _ = self.send(&mut sequence, &[1], Phase::Statement);
        }
    }

    /// Sets up the session: read-only unless it is to change something, a statement timeout, and default SQL modes and
    /// limits.
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
                // Servers before 5.6.5 and 5.7.8 do not support these.
                Ok(_) | Err(Error::Server { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn read_result(&mut self) -> Result<Rows, Error> {
        let mut left = self.max_result_bytes;
        let Some(columns) = self.read_columns(&mut left)? else { return Ok(Rows::default()) };
        let mut rows = Vec::new();
        loop {
            let packet = self.receive_result(&mut left)?;
            if is_end(&packet) {
                self.in_transaction = says_in_transaction(&packet);
                return Ok(Rows { columns, rows });
            }
            if packet.first() == Some(&0xff) {
                return Err(packet::server_error(&packet).unwrap_or(Error::Malformed { what: "error packet" }));
            }
            rows.push(text_row(&packet, columns.len()).ok_or(Error::Malformed { what: "row" })?);
        }
    }

    /// Names of the columns of a result; `None` if the statement has none.
    fn read_columns(&mut self, left: &mut u64) -> Result<Option<Vec<String>>, Error> {
        let head = self.receive_result(left)?;
        let count = match head.first() {
            Some(0) => {
                self.in_transaction = says_in_transaction(&head);
                return Ok(None);
            }
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
            let packet = self.receive_result(left)?;
            columns.push(column_name(&packet).ok_or(Error::Malformed { what: "column definition" })?);
        }
        let end = self.receive_result(left)?;
        if is_end(&end) { Ok(Some(columns)) } else { Err(Error::Malformed { what: "end of the columns" }) }
    }

    /// A packet of a result; reduces the remaining limit.
    fn receive_result(&mut self, left: &mut u64) -> Result<Vec<u8>, Error> {
        let limit = usize::try_from(*left).unwrap_or(usize::MAX);
        let mut sequence = 0;
        let packet = self.receive(&mut sequence, limit, Phase::Statement)?;
        // The header counts as well, so that empty rows do not bypass the limit.
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

/// Opens a socket and reads the server's first packet.
fn greet(endpoint: &Endpoint, timeout: Duration) -> Result<(Socket, Greeting, Timings), Error> {
    let mut timings = Timings::default();
    let started = Instant::now();
    let mut socket = Socket::open(endpoint, timeout)?;
    timings.connect = started.elapsed();
    let started = Instant::now();
    socket.allow(timeout);
    let greeting = packet::read_greeting(&mut socket)?;
    timings.greeting = started.elapsed();
    Ok((socket, greeting, timings))
}

/// Whether a statement may run twice: reading the dictionary can deadlock with `ALTER TABLESPACE mysql` (seen on MySQL
/// 9.7.4, which completes the encryption after a restart).
fn only_reads(sql: &str) -> bool {
    let word = sql.split_whitespace().next().unwrap_or_default();
    ["SELECT", "SHOW", "WITH"].iter().any(|reading| word.eq_ignore_ascii_case(reading))
}

/// Whether the connection cannot be used after an error of a statement.
const fn ends_connection(error: &Error) -> bool {
    !matches!(
        error,
        Error::Server { .. }
            | Error::StatementTimedOut { .. }
            | Error::AccessDenied { .. }
            | Error::SecureTransportRequired { .. }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_change_something_are_never_repeated() {
        assert!(only_reads("SELECT 1") && only_reads("\n  show tables"));
        for sql in ["SET GLOBAL read_only = 1", "ALTER TABLESPACE mysql ENCRYPTION = 'Y'", "INSERT INTO t SELECT 1", ""]
        {
            assert!(!only_reads(sql), "{sql}");
        }
    }

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
}
