//! Connections to both servers. Their sessions neither convert nor truncate values.

use std::time::Duration;

use server::dialect::statement::{server_identity, set_lock_timeouts};
use server::{Connection, Flavor, Options, Target, TlsMode, error_code, tls::TlsVersion};

use crate::{Error, Side};

/// Longest wait for a server within a statement, which may read or copy a large table.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(600);

/// Values as they are stored: no conversion of character sets, times in UTC.
const PLAIN_VALUES: &str = "SET NAMES binary, time_zone = '+00:00'";

/// Settings of a session that reads exactly: literals of keys match the stored values, and values arrive as they are
/// stored, even if the source's own modes include `PAD_CHAR_TO_FULL_LENGTH` or `NO_BACKSLASH_ESCAPES`. The barrier
/// waits briefly for row locks, and takes no gap locks.
const EXACT_READ: [&str; 3] = [
    "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION innodb_lock_wait_timeout = 1",
];

/// Refuses values that a column cannot hold.
const STRICT: &str = "SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO'";
/// Stores such values as the server changes them, with a warning of each. The server counts all warnings, but keeps only
/// the first `max_error_count`: MySQL lets few accounts set that.
const WITH_WARNINGS: &str = "SET SESSION sql_mode = 'ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO'";

/// Settings of a session that stores exactly what it receives, or fails. READ COMMITTED keeps loads and changes from
/// taking gap locks.
const EXACT_STORE: [&str; 3] = [
    STRICT,
    "SET SESSION foreign_key_checks = 0, unique_checks = 1",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
];

/// A server, and how to reach it.
#[derive(Clone, Debug)]
pub struct Server {
    /// Address and account.
    pub target: Target,
    /// Password and TLS. The server must be verified, unless it is reached through a socket.
    pub options: Options,
    /// What the user accepts of this server.
    pub accept: Accept,
}

/// Weaker protection of the link that the user accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accept {
    /// Accepts a certificate of the given CA that does not contain the server's name.
    pub any_name: bool,
    /// Accepts a server whose certificate is not verified. Only a plan connects to such a server.
    pub unverified: bool,
    /// The oldest accepted version of TLS.
    pub min_tls: TlsVersion,
}

impl Server {
    /// Sets the TLS options that every connection to the server must use. With a CA, the certificate must be issued by
    /// that CA for the server's name. Does not contact the server.
    ///
    /// # Errors
    /// [`Error::Unverified`] if nothing verifies the server and the user has not accepted that.
    pub fn new(side: Side, target: Target, mut options: Options, accept: Accept) -> Result<Self, Error> {
        if !target.endpoint.is_socket() && options.tls.has_authority() {
            options.tls.mode = Some(if accept.any_name { TlsMode::VerifyCa } else { TlsMode::VerifyIdentity });
        }
        options.tls.versions =
            [TlsVersion::Tls12, TlsVersion::Tls13].into_iter().filter(|v| *v >= accept.min_tls).collect();
        let server = Self { target, options, accept };
        if !accept.unverified {
            require_verified(side, &server)?;
        }
        Ok(server)
    }
}

/// Checks that only the right server can see what is sent over the link.
///
/// # Errors
/// [`Error::Unverified`].
pub(crate) fn require_verified(side: Side, server: &Server) -> Result<(), Error> {
    let endpoint = &server.target.endpoint;
    if endpoint.is_socket() || server.options.tls.verifies(endpoint) {
        return Ok(());
    }
    Err(Error::Unverified { side, endpoint: endpoint.to_string() })
}

/// Options of every connection, with the versions of TLS that the user accepts.
fn options(server: &Server) -> Options {
    Options { statement_timeout: STATEMENT_TIMEOUT, max_result_bytes: 1 << 30, ..server.options.clone() }
}

/// A connection for the stream of the source's log.
pub(crate) fn stream(server: &Server) -> Result<Connection, binlog::Error> {
    Ok(Connection::open(&server.target, &options(server))?)
}

/// A read-only connection for a plan. Accepts any version of TLS, because the plan reports a version that is too old;
/// over such a link it reads no tables.
pub(crate) fn inspection(side: Side, server: &Server) -> Result<Connection, Error> {
    let mut options = options(server);
    options.tls.versions.clear();
    Connection::open(&server.target, &options).map_err(Error::at(side))
}

/// A connection that reads from the source.
pub(crate) fn source(server: &Server) -> Result<Connection, Error> {
    open(Side::Source, server, Options { changes: false, ..options(server) }, &EXACT_READ)
}

/// A connection that may change settings of the source.
pub(crate) fn source_control(server: &Server) -> Result<Connection, Error> {
    open(Side::Source, server, Options { changes: true, ..options(server) }, &EXACT_READ)
}

/// A connection for definitions of tables: their texts are UTF-8.
pub(crate) fn definitions(side: Side, server: &Server) -> Result<Connection, Error> {
    require_verified(side, server)?;
    let options = Options { changes: side == Side::Target, ..options(server) };
    Connection::open(&server.target, &options).map_err(Error::at(side))
}

/// A connection that writes to the target.
pub(crate) fn target(server: &Server) -> Result<Connection, Error> {
    open(Side::Target, server, Options { changes: true, bulk_load: true, ..options(server) }, &EXACT_STORE)
}

/// Limits how long the next statements of a session of [`target`] wait, for locks and for an answer. Returns the former limit
/// for answers.
///
/// # Errors
/// [`Error::Server`].
pub(crate) fn limit_waits(target: &mut Connection, limit: Duration) -> Result<Duration, Error> {
    target.query(&set_lock_timeouts(limit)).map_err(Error::at(Side::Target))?;
    Ok(target.set_statement_timeout(limit))
}

/// The statement by which a session of [`target`] refuses values that a column cannot hold, as it does at first, or
/// only warns of them.
pub(crate) const fn strictness(strict: bool) -> &'static str {
    if strict { STRICT } else { WITH_WARNINGS }
}

fn open(side: Side, server: &Server, options: Options, session: &[&str]) -> Result<Connection, Error> {
    require_verified(side, server)?;
    let mut connection = Connection::open(&server.target, &options).map_err(Error::at(side))?;
    for statement in std::iter::once(&PLAIN_VALUES).chain(session) {
        connection.query(statement).map_err(Error::at(side))?;
    }
    Ok(connection)
}

/// The value of a global variable; empty if the server does not have it.
pub(crate) fn variable(connection: &mut Connection, side: Side, name: &str) -> Result<String, Error> {
    match connection.query(&format!("SELECT @@GLOBAL.{name}")) {
        Ok(rows) => Ok(rows.scalar().unwrap_or_default().to_owned()),
        Err(server::Error::Server { code: error_code::UNKNOWN_SYSTEM_VARIABLE, .. }) => Ok(String::new()),
        Err(error) => Err(Error::at(side)(error)),
    }
}

/// What tells a server from every other one.
pub(crate) fn identity(connection: &mut Connection, side: Side) -> Result<String, Error> {
    let sql = format!("SELECT {}", identity_expression(connection));
    Ok(connection.query(&sql).map_err(Error::at(side))?.scalar().unwrap_or_default().to_owned())
}

/// The expression of [`identity`].
pub(crate) fn identity_expression(connection: &Connection) -> &'static str {
    server_identity(flavor(connection))
}

/// The fork of a server.
pub(crate) fn flavor(connection: &Connection) -> Flavor {
    if connection.greeting().is_mariadb() { Flavor::MariaDb } else { Flavor::MySql }
}

/// Checks that a connection to the source reaches the expected server, and not another server behind the same address.
pub(crate) fn same_server(source: &mut Connection, expected: &str) -> Result<(), Error> {
    let found = identity(source, Side::Source)?;
    if found == expected { Ok(()) } else { Err(Error::OtherServer { expected: expected.to_owned(), found }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRICT: Accept = Accept { any_name: false, unverified: false, min_tls: TlsVersion::Tls13 };

    fn server(address: &str, ca: bool, accept: Accept) -> Result<Server, Error> {
        let mut options = Options::default();
        options.tls.ca_file = ca.then(|| "ca.pem".into());
        // A setting in an option file must not weaken a migration.
        options.tls.mode = Some(TlsMode::Required);
        Server::new(Side::Source, address.parse().unwrap(), options, accept)
    }

    fn mode(server: &Server) -> TlsMode {
        server.options.tls.mode_for(&server.target.endpoint)
    }

    #[test]
    fn a_server_is_verified_by_authority_and_name() {
        let strict = server("mysql://mig@db1", true, STRICT).unwrap();
        assert_eq!(mode(&strict), TlsMode::VerifyIdentity);
        assert_eq!(strict.options.tls.versions, [TlsVersion::Tls13]);
        let accept = Accept { any_name: true, min_tls: TlsVersion::Tls12, ..STRICT };
        let lax = server("mysql://mig@db1", true, accept).unwrap();
        assert_eq!(mode(&lax), TlsMode::VerifyCa);
        assert_eq!(lax.options.tls.versions, [TlsVersion::Tls12, TlsVersion::Tls13]);
    }

    #[test]
    fn a_server_that_nothing_verifies_is_refused() {
        let refused = server("mysql://mig@db1", false, STRICT).unwrap_err();
        assert!(matches!(&refused, Error::Unverified { side: Side::Source, endpoint } if endpoint.starts_with("db1")));
        let accepted = server("mysql://mig@db1", false, Accept { unverified: true, ..STRICT }).unwrap();
        // A plan accepts this server, but sends no rows to it.
        assert!(matches!(source(&accepted), Err(Error::Unverified { .. })));
        let mut options = Options::default();
        options.tls.fingerprints = vec!["00".repeat(32).parse().unwrap()];
        assert!(Server::new(Side::Target, "mysql://mig@db1".parse().unwrap(), options, STRICT).is_ok());
    }

    #[test]
    fn a_socket_needs_no_tls() {
        let target = Target { endpoint: server::Endpoint::Socket("/run/mysqld.sock".into()), user: "mig".to_owned() };
        let server = Server::new(Side::Source, target, Options::default(), STRICT).unwrap();
        assert_eq!(mode(&server), TlsMode::Off);
    }
}
