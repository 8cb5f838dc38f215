//! Results of SQL queries, and typed views of them.
//!
//! Results are kept unchanged: a check quotes statement and rows as evidence, and saved facts can be judged by checks
//! written later. Statements and column names are those of `server::dialect`, the same for every version and fork.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use server::dialect::key_store::{COMPONENT_QUERY, PLUGIN_QUERY};
use server::dialect::statement::show_variable;
use server::switch::is_on;
use server::{Capability, Flavor, ServerVersion};

use super::{Observed, Unavailable};
use crate::finding::Evidence;

mod rows;

pub use rows::{Account, Plugin, Tablespace};

/// All SQL results of one server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SqlFacts {
    /// Identity of the server.
    pub identity: Identity,
    /// The audit's own connection.
    pub session: Session,
    /// Results by the query's name in `server::dialect`.
    pub answers: BTreeMap<String, Answer>,
}

/// Identity of a server, by its variables.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Identity {
    /// Fork and version.
    pub version: ServerVersion,
    /// `@@version_comment`.
    pub version_comment: String,
    /// `@@hostname`.
    pub hostname: String,
    /// `@@server_uuid`; `None` on MariaDB.
    pub server_uuid: Option<String>,
    /// `@@datadir`, absolute.
    pub datadir: String,
    /// `@@port`.
    pub port: u16,
}

/// The audit's own connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Session {
    /// `CURRENT_USER()`: the matched account.
    pub account: String,
    /// `host:port`, or the path of the socket.
    pub endpoint: String,
    /// Protocol version and suite; `None` on a socket without TLS.
    pub tls: Option<String>,
}

/// Result of one query.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answer {
    /// SQL text of the statement.
    pub sql: String,
    /// The grant that shows the full result.
    pub needs: String,
    /// Rows, or an error.
    pub outcome: QueryOutcome,
}

/// Rows, or an error.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum QueryOutcome {
    /// The server returned rows.
    Rows {
        /// Column names of the contract.
        columns: Vec<String>,
        /// Values in the order of `columns`.
        rows: Vec<Vec<Option<String>>>,
    },
    /// The server returned an error.
    Failed {
        /// The server's error number.
        code: u16,
        /// Its message.
        message: String,
    },
}

/// A row of a result.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    columns: &'a [String],
    values: &'a [Option<String>],
}

impl<'a> Row<'a> {
    /// The value in `column`; `None` for NULL or a missing column.
    #[must_use]
    pub fn get(&self, column: &str) -> Option<&'a str> {
        let at = self.columns.iter().position(|c| c == column)?;
        self.values.get(at)?.as_deref()
    }

    /// The value, with NULL as the empty string.
    #[must_use]
    pub fn text(&self, column: &str) -> &'a str {
        self.get(column).unwrap_or("")
    }

    /// Whether the value means yes, in any notation.
    #[must_use]
    pub fn yes(&self, column: &str) -> bool {
        is_on(self.text(column))
    }

    /// The value as a number.
    #[must_use]
    pub fn number(&self, column: &str) -> Option<u64> {
        self.get(column)?.parse().ok()
    }
}

impl SqlFacts {
    /// The fork.
    #[must_use]
    pub fn flavor(&self) -> Flavor {
        self.identity.version.flavor
    }

    /// Whether the server is MariaDB.
    #[must_use]
    pub fn is_mariadb(&self) -> bool {
        self.flavor() == Flavor::MariaDb
    }

    /// Whether the server has the capability.
    #[must_use]
    pub fn can(&self, capability: Capability) -> bool {
        self.identity.version.can(capability)
    }

    /// Whether the server is MySQL or Percona Server and has the capability.
    #[must_use]
    pub fn mysql_can(&self, capability: Capability) -> bool {
        self.identity.version.mysql_can(capability)
    }

    /// Whether the server returned a result, possibly empty.
    #[must_use]
    pub fn answered(&self, name: &str) -> bool {
        self.answers.get(name).is_some_and(|answer| matches!(answer.outcome, QueryOutcome::Rows { .. }))
    }

    /// The rows of a result; an empty list is a result, too.
    ///
    /// # Errors
    /// [`Unavailable`] if this version has no such query, or the server refused.
    pub fn rows(&self, name: &str) -> Observed<Vec<Row<'_>>> {
        let answer = self.answers.get(name).ok_or_else(|| Unavailable {
            what: name.to_owned(),
            why: format!("{} has no table that shows it", self.identity.version),
            remedy: "judge it from bytes or from the wire".to_owned(),
        })?;
        match &answer.outcome {
            QueryOutcome::Rows { columns, rows } => Ok(rows.iter().map(|values| Row { columns, values }).collect()),
            QueryOutcome::Failed { code, message } => Err(Unavailable {
                what: name.to_owned(),
                why: format!("error {code}: {message}"),
                remedy: self.grant(&answer.needs),
            }),
        }
    }

    /// The statement that grants the audit's account these privileges.
    #[must_use]
    pub fn grant(&self, privileges: &str) -> String {
        // CURRENT_USER() is not quoted, and `%` must be quoted in a statement.
        let Ok(account) = self.session.account.parse::<server::Account>();
        let account = account.quoted_as_text();
        let privileges = privileges.strip_prefix("GRANT ").unwrap_or(privileges);
        if privileges.is_empty() {
            return format!("see why the server refused {account}");
        }
        format!("GRANT {privileges} TO {account}")
    }

    /// A global variable.
    ///
    /// # Errors
    /// [`Unavailable`] if the server does not have it, or the variables could not be read.
    pub fn variable(&self, name: &str) -> Observed<&str> {
        self.setting("variables", name)
    }

    /// A global variable as boolean.
    ///
    /// # Errors
    /// Those of [`SqlFacts::variable`].
    pub fn variable_on(&self, name: &str) -> Observed<bool> {
        self.variable(name).map(is_on)
    }

    /// A global variable; `None` if this server does not have it.
    #[must_use]
    pub fn variable_or_none(&self, name: &str) -> Option<&str> {
        self.variable(name).ok()
    }

    /// A status variable.
    ///
    /// # Errors
    /// Those of [`SqlFacts::variable`].
    pub fn status(&self, name: &str) -> Observed<&str> {
        self.setting("status", name)
    }

    fn setting(&self, table: &str, name: &str) -> Observed<&str> {
        let row = self.rows(table)?.into_iter().find(|row| row.text("name").eq_ignore_ascii_case(name));
        row.map(|row| row.text("value")).ok_or_else(|| Unavailable {
            what: name.to_owned(),
            why: format!("{} has no {name}", self.identity.version),
            remedy: "none: the server lacks it".to_owned(),
        })
    }

    /// A query as evidence, with the quoted part of its result.
    #[must_use]
    pub fn evidence(&self, name: &str, answer: impl Into<String>) -> Evidence {
        let sql = self.answers.get(name).map_or_else(|| name.to_owned(), |a| a.sql.clone());
        Evidence::Query { sql, answer: answer.into() }
    }

    /// A variable and its value as evidence.
    #[must_use]
    pub fn variable_evidence(&self, name: &str) -> Evidence {
        let answer = self.variable(name).map_or_else(|unseen| unseen.why, |value| format!("{name} = {value}"));
        Evidence::Query { sql: show_variable(name), answer }
    }

    /// Keys and values of the keyring component's status; empty if there is none, or the query was refused.
    #[must_use]
    pub fn component_status(&self) -> Vec<(&str, &str)> {
        let rows = self.rows(COMPONENT_QUERY).unwrap_or_default();
        rows.iter().filter_map(|row| Some((row.get("key")?, row.get("value")?))).collect()
    }

    /// Active plug-ins.
    ///
    /// # Errors
    /// Those of [`SqlFacts::rows`].
    pub fn active_plugins(&self) -> Observed<Vec<Plugin<'_>>> {
        let rows = self.rows(PLUGIN_QUERY)?;
        Ok(rows.iter().filter(|row| row.text("status").eq_ignore_ascii_case("ACTIVE")).map(Plugin::from_row).collect())
    }

    /// Accounts and roles.
    ///
    /// # Errors
    /// Those of [`SqlFacts::rows`].
    pub fn accounts(&self) -> Observed<Vec<Account<'_>>> {
        Ok(self.rows("accounts")?.iter().map(Account::from_row).collect())
    }

    /// Tablespaces, according to the server.
    ///
    /// # Errors
    /// Those of [`SqlFacts::rows`].
    pub fn tablespaces(&self) -> Observed<Vec<Tablespace<'_>>> {
        Ok(self.rows("tablespaces")?.iter().filter_map(Tablespace::from_row).collect())
    }
}
