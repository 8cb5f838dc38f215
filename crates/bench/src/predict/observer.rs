//! Statements that only read, and what the account may not see.

use serde::Serialize;
use server::{
    Connection, Endpoint, Error, Flavor, Rows, ServerVersion,
    dialect::{self, activity},
    error_code,
};

/// Types of connections in `performance_schema.threads`. Source: MySQL manual, "The threads Table".
pub(super) const TLS_CONNECTION: &str = "SSL/TLS";
pub(super) const SOCKET_CONNECTION: &str = "Socket";

/// Something that the account may not see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unseen {
    /// What is missing.
    pub what: String,
    /// The statement or setting that permits it.
    pub grant: String,
}

/// Asks a server, and remembers what the account may not see.
pub(super) struct Observer<'c> {
    connection: &'c mut Connection,
    version: &'c ServerVersion,
    account: String,
    unseen: Vec<Unseen>,
    /// Statements sent so far.
    asked: u32,
    /// Whether sessions of the server itself can be told from those of clients.
    sees_background: bool,
    /// Whether [`activity::UNDO_PAGES`] was refused.
    lacks_undo_pages: bool,
}

/// A look at the running sessions.
pub(super) struct Look {
    /// Number of sessions of other clients that execute a statement now.
    pub(super) running: f64,
    /// The server's count of statements, which only grows unless it is reset.
    pub(super) statements: f64,
}

impl<'c> Observer<'c> {
    /// `account` is quoted as in statements.
    pub(super) fn new(connection: &'c mut Connection, version: &'c ServerVersion, account: String) -> Self {
        Self {
            connection,
            version,
            account,
            unseen: Vec::new(),
            asked: 0,
            sees_background: true,
            lacks_undo_pages: false,
        }
    }

    /// What the account may not see.
    pub(super) fn into_unseen(self) -> Vec<Unseen> {
        self.unseen
    }

    /// Number of statements sent so far, which the server counts, too.
    pub(super) const fn asked(&self) -> u32 {
        self.asked
    }

    pub(super) const fn version(&self) -> &ServerVersion {
        self.version
    }

    /// Type of this connection, as the server lists it.
    pub(super) fn own_connection_type(&self) -> &'static str {
        match &self.connection.target().endpoint {
            _ if self.connection.tls().is_some() => TLS_CONNECTION,
            Endpoint::Socket(_) => SOCKET_CONNECTION,
            Endpoint::Tcp { .. } => "TCP/IP",
        }
    }

    /// Runs a statement that needs no privilege.
    pub(super) fn ask(&mut self, sql: &str) -> Result<Rows, Error> {
        self.asked += 1;
        self.connection.query(sql)
    }

    /// Looks at the sessions that execute a statement now.
    pub(super) fn look(&mut self) -> Result<Look, Error> {
        let rows = self.ask(&activity::show_look())?;
        let number = |name: &str| rows.of_name(name).and_then(|value| value.parse::<f64>().ok());
        // This session is counted, too.
        let others = number(activity::RUNNING_THREADS).unwrap_or(1.0) - 1.0;
        let statements = number(activity::STATEMENTS).unwrap_or_default();
        let background = if others > 0.0 { self.background_sessions()? } else { 0.0 };
        Ok(Look { running: (others - background).max(0.0), statements })
    }

    /// Number of running sessions that belong to no client; 0 if the account may not see them.
    fn background_sessions(&mut self) -> Result<f64, Error> {
        if !self.sees_background {
            return Ok(0.0);
        }
        let (sql, needs) = activity::background_sessions(self.version.flavor);
        let what = "which running sessions are the server's own";
        let rows = if self.version.flavor == Flavor::MariaDb && self.lacks_undo_pages {
            // MariaDB refuses nothing here: without the same privilege it lists fewer sessions.
            self.add_unseen(needs, what);
            None
        } else {
            let rows = self.ask(sql);
            self.permitted(rows, needs, what)?
        };
        let background = rows.as_ref().and_then(Rows::scalar).and_then(|value| value.parse().ok());
        if rows.is_some() && background.is_none() {
            let grant = "performance_schema = ON in the server's option file".to_owned();
            self.unseen.push(Unseen { what: what.to_owned(), grant });
        }
        self.sees_background = background.is_some();
        Ok(background.unwrap_or_default())
    }

    /// Counters of [`activity::UNDO_PAGES`]; `None` if the account may not see them.
    pub(super) fn undo_pages(&mut self) -> Result<Option<Rows>, Error> {
        let rows = self.ask(activity::UNDO_PAGES);
        let rows = self.permitted(rows, activity::UNDO_PAGES_NEEDS, "how many pages belong to undo logs")?;
        self.lacks_undo_pages = rows.is_none();
        Ok(rows)
    }

    /// Runs a logical query; `None` if the account may not, or the server does not have it. What a server says to be
    /// switched off has no rows.
    pub(super) fn query(&mut self, name: &str, what: &str) -> Result<Option<Rows>, Error> {
        let Some(query) = dialect::query(self.version, name) else { return Ok(None) };
        self.asked += 1;
        let rows = query.run(self.connection);
        if let Err(Error::Server { code, .. }) = &rows
            && query.optional
            && (error_code::ABSENT.contains(code) || *code == error_code::NO_BINARY_LOGGING)
        {
            return Ok(Some(Rows::default()));
        }
        self.permitted(rows, query.needs, what)
    }

    fn permitted(&mut self, rows: Result<Rows, Error>, needs: &str, what: &str) -> Result<Option<Rows>, Error> {
        match rows {
            Ok(rows) => Ok(Some(rows)),
            Err(error) if error.is_privilege() => {
                self.add_unseen(needs, what);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    fn add_unseen(&mut self, needs: &str, what: &str) {
        let unseen = Unseen { what: what.to_owned(), grant: format!("GRANT {needs} TO {}", self.account) };
        if !self.unseen.contains(&unseen) {
            self.unseen.push(unseen);
        }
    }
}
