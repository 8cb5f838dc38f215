//! What a server answered, statement by statement, and typed views of the answers.
//!
//! Answers are kept as they came: a check quotes statement and rows as evidence, and facts
//! saved today can be judged by a check written tomorrow. The statements and their column
//! names are those of `server::dialect`, the same for every version and fork.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use server::{Flavor, ServerVersion};

use super::{Seen, Unseen};
use crate::finding::Evidence;

/// Everything one server told by SQL.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SqlFacts {
    /// Which server answered.
    pub identity: Identity,
    /// How the audit itself was connected.
    pub session: Session,
    /// Answers by the name that `server::dialect` gives the statement.
    pub answers: BTreeMap<String, Answer>,
}

/// Who the server says it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Identity {
    /// Fork and version.
    pub version: ServerVersion,
    /// `@@version_comment`.
    pub version_comment: String,
    /// `@@hostname`.
    pub hostname: String,
    /// `@@server_uuid`, which MariaDB does not have.
    pub server_uuid: Option<String>,
    /// `@@datadir`, absolute.
    pub datadir: String,
    /// `@@port`.
    pub port: u16,
}

/// The audit's own connection.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Session {
    /// `CURRENT_USER()`: the account that was matched.
    pub account: String,
    /// `host:port` or the path of the socket.
    pub endpoint: String,
    /// Protocol version and suite; none on a socket without TLS.
    pub tls: Option<String>,
}

/// What came back for one statement.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Answer {
    /// The statement.
    pub sql: String,
    /// The grant that lets an account see it.
    pub needs: String,
    /// Rows, or why not.
    pub outcome: Outcome,
}

/// Rows, or why there are none.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Outcome {
    /// The server answered.
    Rows {
        /// Names, normalised.
        columns: Vec<String>,
        /// Values in the order of `columns`.
        rows: Vec<Vec<Option<String>>>,
    },
    /// The server refused.
    Failed {
        /// The server's error number.
        code: u16,
        /// Its text.
        message: String,
    },
}

/// One row of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    columns: &'a [String],
    values: &'a [Option<String>],
}

impl<'a> Row<'a> {
    /// The value in `column`, none if NULL or not there.
    #[must_use]
    pub fn get(&self, column: &str) -> Option<&'a str> {
        let at = self.columns.iter().position(|c| c == column)?;
        self.values.get(at)?.as_deref()
    }

    /// As [`Row::get`], with NULL as the empty string.
    #[must_use]
    pub fn text(&self, column: &str) -> &'a str {
        self.get(column).unwrap_or("")
    }

    /// Whether the server said yes in any of its spellings.
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

/// Whether a variable or column says yes: the servers write `ON`, `1`, `Y`, `YES`, `Yes`, `TRUE`.
#[must_use]
pub fn is_on(value: &str) -> bool {
    ["ON", "1", "Y", "YES", "TRUE"].iter().any(|yes| value.eq_ignore_ascii_case(yes))
}

/// Whether a switch with more than two positions is not off: `FORCE`, `MASTER_KEY`, `ONLINE_TO_KEYRING` are on.
#[must_use]
pub fn is_switched_on(value: &str) -> bool {
    !["", "OFF", "0", "N", "NO", "FALSE", "NONE"].iter().any(|no| value.eq_ignore_ascii_case(no))
}

/// A text as statements spell it, for a server that reads the backslash as it does by default.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', "''"))
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

    /// Whether the server is of the MySQL line (Oracle's or Percona's) and at least this version.
    #[must_use]
    pub fn mysql_since(&self, major: u16, minor: u16, patch: u16) -> bool {
        !self.is_mariadb() && self.identity.version.at_least(major, minor, patch)
    }

    /// Whether the server is MariaDB and at least this version.
    #[must_use]
    pub fn mariadb_since(&self, major: u16, minor: u16, patch: u16) -> bool {
        self.is_mariadb() && self.identity.version.at_least(major, minor, patch)
    }

    /// Whether the server answered a statement, without looking at the rows.
    #[must_use]
    pub fn answered(&self, name: &str) -> bool {
        self.answers.get(name).is_some_and(|answer| matches!(answer.outcome, Outcome::Rows { .. }))
    }

    /// The rows of a statement; an empty list is an answer, too.
    ///
    /// # Errors
    /// [`Unseen`] if it was not asked on this version or the server refused.
    pub fn rows(&self, name: &str) -> Seen<Vec<Row<'_>>> {
        let answer = self.answers.get(name).ok_or_else(|| Unseen {
            what: name.to_owned(),
            why: format!("{} has no table that shows it", self.identity.version),
            remedy: "judge it from bytes or from the wire".to_owned(),
        })?;
        match &answer.outcome {
            Outcome::Rows { columns, rows } => Ok(rows.iter().map(|values| Row { columns, values }).collect()),
            Outcome::Failed { code, message } => Err(Unseen {
                what: name.to_owned(),
                why: format!("error {code}: {message}"),
                remedy: self.grant(&answer.needs),
            }),
        }
    }

    /// The statement that gives the audit's account these privileges.
    #[must_use]
    pub fn grant(&self, privileges: &str) -> String {
        let account = &self.session.account;
        // CURRENT_USER() is not quoted, and `%` must be in a statement.
        let (user, host) = account.rsplit_once('@').unwrap_or((account, "%"));
        let privileges = privileges.strip_prefix("GRANT ").unwrap_or(privileges);
        if privileges.is_empty() {
            return format!("see why the server refused {}@{}", literal(user), literal(host));
        }
        format!("GRANT {privileges} TO {}@{}", literal(user), literal(host))
    }

    /// A global variable.
    ///
    /// # Errors
    /// [`Unseen`] if the server does not have it, or the variables could not be read.
    pub fn variable(&self, name: &str) -> Seen<&str> {
        self.setting("variables", name)
    }

    /// A global variable as yes or no.
    ///
    /// # Errors
    /// As [`SqlFacts::variable`].
    pub fn variable_on(&self, name: &str) -> Seen<bool> {
        self.variable(name).map(is_on)
    }

    /// A global variable, or none if this server does not have it.
    #[must_use]
    pub fn variable_or_none(&self, name: &str) -> Option<&str> {
        self.variable(name).ok()
    }

    /// A status value.
    ///
    /// # Errors
    /// As [`SqlFacts::variable`].
    pub fn status(&self, name: &str) -> Seen<&str> {
        self.setting("status", name)
    }

    fn setting(&self, table: &str, name: &str) -> Seen<&str> {
        let row = self.rows(table)?.into_iter().find(|row| row.text("name").eq_ignore_ascii_case(name));
        row.map(|row| row.text("value")).ok_or_else(|| Unseen {
            what: name.to_owned(),
            why: format!("{} has no {name}", self.identity.version),
            remedy: "none: the server lacks it".to_owned(),
        })
    }

    /// Evidence: a statement and the part of its answer that `answer` quotes.
    #[must_use]
    pub fn evidence(&self, name: &str, answer: impl Into<String>) -> Evidence {
        let sql = self.answers.get(name).map_or_else(|| name.to_owned(), |a| a.sql.clone());
        Evidence::Query { sql, answer: answer.into() }
    }

    /// Evidence: a variable and its value.
    #[must_use]
    pub fn variable_evidence(&self, name: &str) -> Evidence {
        let answer = self.variable(name).map_or_else(|unseen| unseen.why, |value| format!("{name} = {value}"));
        Evidence::Query { sql: format!("SHOW GLOBAL VARIABLES LIKE '{name}'"), answer }
    }

    /// Plug-ins that are active.
    ///
    /// # Errors
    /// [`Unseen`] as [`SqlFacts::rows`].
    pub fn active_plugins(&self) -> Seen<Vec<Plugin<'_>>> {
        let rows = self.rows("plugins")?;
        Ok(rows.iter().filter(|row| row.text("status").eq_ignore_ascii_case("ACTIVE")).map(Plugin::of).collect())
    }

    /// Accounts that can log in or be granted.
    ///
    /// # Errors
    /// [`Unseen`] as [`SqlFacts::rows`].
    pub fn accounts(&self) -> Seen<Vec<Account<'_>>> {
        Ok(self.rows("accounts")?.iter().map(Account::of).collect())
    }

    /// Tablespaces as the server lists them.
    ///
    /// # Errors
    /// [`Unseen`] as [`SqlFacts::rows`].
    pub fn tablespaces(&self) -> Seen<Vec<Tablespace<'_>>> {
        Ok(self.rows("tablespaces")?.iter().filter_map(Tablespace::of).collect())
    }
}

/// A plug-in of the server.
#[derive(Debug, Clone, Copy)]
pub struct Plugin<'a> {
    /// Its name.
    pub name: &'a str,
    /// `AUTHENTICATION`, `KEYRING`, `ENCRYPTION`, …
    pub kind: &'a str,
}

impl<'a> Plugin<'a> {
    fn of(row: &Row<'a>) -> Self {
        Self { name: row.text("name"), kind: row.text("type") }
    }
}

/// An account.
#[derive(Debug, Clone, Copy)]
pub struct Account<'a> {
    /// User part; empty is the anonymous account.
    pub user: &'a str,
    /// Host part.
    pub host: &'a str,
    /// Authentication plug-in.
    pub plugin: &'a str,
    /// `''`, `ANY`, `X509` or `SPECIFIED`.
    pub ssl_type: &'a str,
    /// Whether logging in is switched off.
    pub locked: bool,
    /// Whether the stored credential is empty.
    pub empty_credential: bool,
    /// Whether no password can match, as with `invalid` in MariaDB's installer; none if not asked.
    pub unusable_password: Option<bool>,
    /// Whether it is a role.
    pub role: bool,
    /// Has SUPER or every privilege.
    pub administrator: bool,
    /// May read the binary log as a replica.
    pub replica: bool,
    /// May read and write files on the host.
    pub file: bool,
}

impl<'a> Account<'a> {
    fn of(row: &Row<'a>) -> Self {
        Self {
            user: row.text("user"),
            host: row.text("host"),
            plugin: row.text("plugin"),
            ssl_type: row.text("ssl_type"),
            locked: row.yes("locked"),
            empty_credential: row.yes("empty_credential"),
            unusable_password: row.get("unusable_credential").map(is_on),
            role: row.yes("is_role"),
            administrator: row.yes("super") || row.yes("all_privileges"),
            replica: row.yes("repl_slave"),
            file: row.yes("file"),
        }
    }

    /// `'user'@'host'`, as statements want it.
    #[must_use]
    pub fn quoted(&self) -> String {
        self.quoted_at(self.host)
    }

    /// The same user from another host.
    #[must_use]
    pub fn quoted_at(&self, host: &str) -> String {
        format!("{}@{}", literal(self.user), literal(host))
    }

    /// Whether only this host's processes can use it.
    #[must_use]
    pub fn local_only(&self) -> bool {
        ["localhost", "::1"].contains(&self.host) || self.host.starts_with("127.")
    }

    /// Whether it is one of MySQL's own locked accounts, or MariaDB's `mariadb.sys`.
    #[must_use]
    pub fn internal(&self) -> bool {
        // Of the same name at another host it is somebody's hiding place.
        let own = ["mysql.sys", "mysql.session", "mysql.infoschema", "mariadb.sys"];
        self.host == "localhost" && own.contains(&self.user)
    }
}

/// A tablespace as the server lists it.
#[derive(Debug, Clone, Copy)]
pub struct Tablespace<'a> {
    /// Its number.
    pub space_id: u32,
    /// `schema/table`, or the tablespace's name.
    pub name: &'a str,
    /// `Single`, `General`, `System`, `Undo`, `Temporary` or `Mysql`.
    pub kind: &'a str,
    /// What the server says: `Y`, `N`, or `P` for begun and not finished.
    pub encrypted: &'a str,
    /// MariaDB's key id.
    pub key_id: Option<u64>,
    /// MariaDB: the newest version of that key.
    pub current_key_version: Option<u64>,
    /// MariaDB: the oldest version that some page still uses; 0 is clear text.
    pub min_key_version: Option<u64>,
}

impl<'a> Tablespace<'a> {
    fn of(row: &Row<'a>) -> Option<Self> {
        Some(Self {
            space_id: u32::try_from(row.number("space_id")?).ok()?,
            name: row.text("name"),
            kind: row.text("type"),
            encrypted: row.text("encrypted"),
            key_id: row.number("key_id"),
            current_key_version: row.number("current_key_version"),
            min_key_version: row.number("min_key_version"),
        })
    }
}
