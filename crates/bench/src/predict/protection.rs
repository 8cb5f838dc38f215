//! What a running server encrypts already.

use serde::Serialize;
use server::{
    Capability, Error, Flavor, Rows,
    dialect::{
        encryption::{self, Encrypts},
        innodb::DICTIONARY_SPACE,
        statement::show_variables,
        variable::{INNODB_PAGE_SIZE, LOG_BIN},
    },
};

use super::observer::{Observer, SOCKET_CONNECTION, TLS_CONNECTION};

/// Whether something is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Nothing of it is.
    Clear,
    /// Some of it is.
    Partly,
    /// All of it is.
    Encrypted,
    /// This version cannot encrypt it.
    Unsupported,
    /// There is nothing to encrypt.
    Absent,
    /// The account may not see it.
    Unknown,
}

/// What a server encrypts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Protection {
    /// Tables of users.
    pub tables: State,
    /// Undo tablespaces of their own; `Absent` on MariaDB, which encrypts undo logs with the tables.
    pub undo: State,
    /// The redo log.
    pub redo: State,
    /// Binary logs.
    pub binlog: State,
    /// Open connections of other clients; `None` if they cannot be seen.
    pub sessions: Option<Sessions>,
    /// Size of InnoDB's pages.
    pub page_bytes: u64,
    /// Whether the server encrypts each record of its redo log by itself, as MariaDB 10.8 and newer.
    pub redo_by_record: bool,
}

/// Number of open connections of clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sessions {
    /// With TLS.
    pub tls: u32,
    /// Over TCP in clear text.
    pub tcp: u32,
    /// Over a socket, which stays on the host.
    pub local: u32,
}

impl State {
    /// Whether encryption is possible, and not complete.
    #[must_use]
    pub const fn is_missing(self) -> bool {
        matches!(self, Self::Clear | Self::Partly | Self::Unknown)
    }

    fn of(encrypted: usize, clear: usize) -> Self {
        match (encrypted, clear) {
            (0, 0) => Self::Absent,
            (0, _) => Self::Clear,
            (_, 0) => Self::Encrypted,
            _ => Self::Partly,
        }
    }
}

impl Protection {
    pub(super) fn read(observer: &mut Observer<'_>) -> Result<Self, Error> {
        let wanted = [Encrypts::Redo, Encrypts::BinaryLogs, Encrypts::Undo].map(encryption::switches).concat();
        let wanted: Vec<&str> = wanted.into_iter().chain([INNODB_PAGE_SIZE, LOG_BIN]).collect();
        let variables = observer.ask(&show_variables(&wanted))?;
        let switch = |what, can| switch(&variables, what, observer.version().can(can));
        let redo = switch(Encrypts::Redo, Capability::EncryptRedo);
        let binlog = match variables.of_name(LOG_BIN) {
            Some("OFF" | "0") => State::Absent,
            _ => switch(Encrypts::BinaryLogs, Capability::EncryptBinaryLogs),
        };
        let undo = match observer.version().flavor.is_mysql_like() {
            true => switch(Encrypts::Undo, Capability::EncryptUndo),
            false => State::Absent,
        };
        let tables = match observer.version().can(Capability::EncryptTables) {
            true => tables(observer)?,
            false => State::Unsupported,
        };
        let page_bytes = variables.of_name(INNODB_PAGE_SIZE).and_then(|value| value.parse().ok()).unwrap_or(16 << 10);
        let version = observer.version();
        let redo_by_record = version.flavor == Flavor::MariaDb && version.at_least(10, 8, 0);
        Ok(Self { tables, undo, redo, binlog, sessions: sessions(observer)?, page_bytes, redo_by_record })
    }
}

/// The state that a switch shows. What was written before it was enabled may be in clear text still.
fn switch(variables: &Rows, what: Encrypts, can: bool) -> State {
    let names = encryption::switches(what);
    let value = names.iter().find_map(|name| variables.of_name(name));
    match value {
        _ if !can => State::Unsupported,
        Some("ON" | "1") => State::Encrypted,
        Some(_) => State::Clear,
        None => State::Unsupported,
    }
}

fn tables(observer: &mut Observer<'_>) -> Result<State, Error> {
    let Some(rows) = observer.query("tablespaces", "which tables are encrypted already")? else {
        return Ok(State::Unknown);
    };
    let of_users = |row: &usize| {
        let text = |column| rows.value(*row, column).unwrap_or_default();
        let schema = text("name").split('/').next().unwrap_or_default();
        matches!(text("type"), "Single" | "General") && ![DICTIONARY_SPACE, "sys"].contains(&schema)
    };
    // MariaDB does not know of tables that have not been opened since its start.
    let states: Vec<Option<&str>> =
        (0..rows.rows.len()).filter(of_users).map(|row| rows.value(row, "encrypted")).collect();
    let (encrypted, clear): (Vec<&str>, Vec<&str>) = states.iter().flatten().partition(|state| **state == "Y");
    Ok(match State::of(encrypted.len(), clear.len()) {
        State::Absent if !states.is_empty() => State::Unknown,
        state => state,
    })
}

/// Connections of other clients. MariaDB has no list of them unless `performance_schema` is enabled.
fn sessions(observer: &mut Observer<'_>) -> Result<Option<Sessions>, Error> {
    let Some(rows) = observer.query("connections", "which connections use TLS already")? else { return Ok(None) };
    let kinds = (0..rows.rows.len()).filter_map(|row| rows.value(row, "connection_type"));
    let mut kinds: Vec<&str> = kinds.collect();
    // This connection is in the list, too; no list is without it.
    let Some(own) = kinds.iter().position(|kind| *kind == observer.own_connection_type()) else { return Ok(None) };
    kinds.swap_remove(own);
    let count = |wanted: &dyn Fn(&str) -> bool| {
        u32::try_from(kinds.iter().filter(|kind| wanted(kind)).count()).unwrap_or(u32::MAX)
    };
    let (tls, local) = (count(&|kind| kind == TLS_CONNECTION), count(&|kind| kind == SOCKET_CONNECTION));
    Ok(Some(Sessions { tls, local, tcp: count(&|_| true) - tls - local }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_that_the_version_does_not_have_is_unsupported() {
        let rows = |value: &str| Rows {
            columns: vec!["Variable_name".to_owned(), "Value".to_owned()],
            rows: vec![vec![Some("innodb_redo_log_encrypt".to_owned()), Some(value.to_owned())]],
        };
        assert_eq!(switch(&rows("ON"), Encrypts::Redo, true), State::Encrypted);
        assert_eq!(switch(&rows("OFF"), Encrypts::Redo, true), State::Clear);
        assert_eq!(switch(&rows("ON"), Encrypts::Redo, false), State::Unsupported);
        assert_eq!(switch(&rows("ON"), Encrypts::BinaryLogs, true), State::Unsupported);
        assert_eq!(
            [State::of(0, 0), State::of(2, 1), State::of(1, 0)],
            [State::Absent, State::Partly, State::Encrypted]
        );
    }
}
