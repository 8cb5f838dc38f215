//! Connections to both ends, with sessions that neither convert nor truncate.

use std::time::Duration;

use server::{Connection, Options, tls::TlsVersion};

use crate::{End, Error, Side};

/// Longest silence of a server within a statement.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(600);

/// Values as they are stored: no conversion of character sets, times in UTC.
const PLAIN_VALUES: &str = "SET NAMES binary, time_zone = '+00:00'";

/// Literals of keys are read as the rows have them, and values come as they are stored, whatever the source's own modes:
/// `PAD_CHAR_TO_FULL_LENGTH` and `NO_BACKSLASH_ESCAPES` among them. The barrier waits for rows, but not for long, and its
/// locks are of rows alone.
const EXACT_READ: [&str; 3] = [
    "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION innodb_lock_wait_timeout = 1",
];

/// A session that stores what it is given or fails. READ COMMITTED, so that loads and changes take no gap locks.
const EXACT_STORE: [&str; 3] = [
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO'",
    "SET SESSION foreign_key_checks = 0, unique_checks = 1",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
];

/// Checks that everything sent over the link is seen by the right server alone.
///
/// # Errors
/// [`Error::Unverified`].
pub(crate) fn check(side: Side, end: &End) -> Result<(), Error> {
    let endpoint = &end.target.endpoint;
    let verified = endpoint.is_socket() || end.options.tls.verifies(endpoint);
    if verified { Ok(()) } else { Err(Error::Unverified { side, endpoint: endpoint.to_string() }) }
}

/// Options of every connection to an end: TLS 1.3, unless the caller names other versions.
pub(crate) fn options(end: &End) -> Options {
    let mut options =
        Options { statement_timeout: STATEMENT_TIMEOUT, max_result_bytes: 1 << 30, ..end.options.clone() };
    if options.tls.versions.is_empty() {
        options.tls.versions = vec![TlsVersion::Tls13];
    }
    options
}

/// A connection for the stream of the source's log.
pub(crate) fn stream(end: &End) -> Result<Connection, binlog::Error> {
    Ok(Connection::open(&end.target, &options(end))?)
}

/// A connection that reads from the source.
pub(crate) fn source(end: &End) -> Result<Connection, Error> {
    open(Side::Source, end, Options { changes: false, ..options(end) }, &EXACT_READ)
}

/// A connection that may change settings of the source.
pub(crate) fn source_control(end: &End) -> Result<Connection, Error> {
    open(Side::Source, end, Options { changes: true, ..options(end) }, &EXACT_READ)
}

/// A connection for definitions of tables: their texts are UTF-8.
pub(crate) fn definitions(side: Side, end: &End) -> Result<Connection, Error> {
    check(side, end)?;
    let options = Options { changes: side == Side::Target, ..options(end) };
    Connection::open(&end.target, &options).map_err(Error::at(side))
}

/// A connection that writes to the target.
pub(crate) fn target(end: &End) -> Result<Connection, Error> {
    open(Side::Target, end, Options { changes: true, bulk_load: true, ..options(end) }, &EXACT_STORE)
}

fn open(side: Side, end: &End, options: Options, session: &[&str]) -> Result<Connection, Error> {
    check(side, end)?;
    let mut connection = Connection::open(&end.target, &options).map_err(Error::at(side))?;
    for statement in std::iter::once(&PLAIN_VALUES).chain(session) {
        connection.query(statement).map_err(Error::at(side))?;
    }
    Ok(connection)
}
