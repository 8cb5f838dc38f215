//! The two servers of a migration, and how programs log in to them.

use std::{
    collections::BTreeSet,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use files::{WriteOptions, write_atomic};
use server::{Flavor, Rows, ServerVersion, dialect::statement::binary_log_status, quote};
use zeroize::Zeroizing;

use crate::{
    Error, ServerArm,
    oltp::{BenchServer, ServerSetup},
    tls::OLTP_DATABASE,
};

/// Account on both servers.
pub(super) const ACCOUNT: &str = "migration";
/// Name of a server's directory below that of its setup; short, because the length of a socket path is limited.
const SERVER_DIRECTORY: &str = "s";
/// Rows that a transaction changes.
const TRANSACTION_ROWS: u16 = 100;
/// Option file for Sealant, with a group for each server.
const BOTH_FILE: &str = "servers.cnf";

/// One of the two servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The server with the tables.
    Source,
    /// The server that gets them.
    Target,
}

/// Two servers that encrypt everything: one with tables, and one without.
pub(crate) struct Pair<'a> {
    source: BenchServer<'a>,
    target: BenchServer<'a>,
    authority: &'a Path,
    directory: &'a Path,
    tables: u32,
    /// Schemas of the target itself.
    target_schemas: BTreeSet<String>,
    /// Passwords of the account, at the source and at the target.
    passwords: [Zeroizing<String>; 2],
}

/// An end of a binary log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LogEnd {
    pub(crate) file: String,
    pub(crate) position: String,
}

impl Side {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Target => "target",
        }
    }
}

impl<'a> Pair<'a> {
    /// Starts both servers, and creates an account on each. `directory` must be private; option files are written there.
    pub(crate) fn start(
        source: &'a ServerSetup<'a>,
        target: &'a ServerSetup<'a>,
        directory: &'a Path,
    ) -> Result<Self, Error> {
        let (authority, tables) = (source.authority, source.tables.tables);
        let source = BenchServer::start(source, ServerArm::EVERYTHING, SERVER_DIRECTORY)?;
        let target = BenchServer::start(target, ServerArm::EVERYTHING, SERVER_DIRECTORY)?;
        let passwords = [new_password()?, new_password()?];
        target.ask(&format!("DROP DATABASE {OLTP_DATABASE}"))?;
        let target_schemas = schemas(&target)?;
        let pair = Self { source, target, authority, directory, tables, target_schemas, passwords };
        let mut both = Zeroizing::new(String::new());
        for side in [Side::Source, Side::Target] {
            let options = pair.create_account(side)?;
            both.push_str(&format!("[sealant-{}]\n{}", side.as_str(), *options));
            let own = Zeroizing::new(format!("[client]\n{}", *options));
            write_private(&pair.option_file(side), &own)?;
        }
        write_private(&pair.options_of_both(), &both)?;
        Ok(pair)
    }

    /// Creates the account on a server; returns the options that log in with it.
    fn create_account(&self, side: Side) -> Result<Zeroizing<String>, Error> {
        let password = self.password(side);
        self.server(side).create_account(ACCOUNT, password)?;
        let (address, authority) = (self.address(side), self.authority.display());
        let (host, port) = (address.ip(), address.port());
        Ok(Zeroizing::new(format!(
            "host={host}\nport={port}\nuser={ACCOUNT}\npassword={password}\nssl-ca={authority}\n"
        )))
    }

    /// Removes what the last migration has left at the target, and waits until both servers are at rest.
    pub(crate) fn reset(&self) -> Result<(), Error> {
        let made = schemas(&self.target)?.into_iter().filter(|schema| !self.target_schemas.contains(schema));
        for schema in made {
            self.target.ask(&format!("DROP DATABASE {}", quote::identifier(&schema)))?;
        }
        self.source.settle()?;
        self.target.settle()
    }

    /// Verifies that the target has the rows of the source, encrypted.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.target.prove()?;
        if self.target.checksums(self.tables)? == self.source.checksums(self.tables)? {
            return Ok(());
        }
        Err(Error::Work {
            arm: Side::Target.as_str().to_owned(),
            reason: "its rows differ from the source's".to_owned(),
        })
    }

    /// Changes the first rows of each table at the source, in transactions of [`TRANSACTION_ROWS`] rows.
    pub(crate) fn change_rows(&self, rows: u32) -> Result<(), Error> {
        for table in 1..=self.tables {
            for first in (1..=rows).step_by(TRANSACTION_ROWS.into()) {
                let last = first.saturating_add(u32::from(TRANSACTION_ROWS) - 1).min(rows);
                self.source.ask(&format!(
                    "UPDATE {OLTP_DATABASE}.sbtest{table} SET k = k + 1, c = REVERSE(c) WHERE id BETWEEN {first} AND {last}"
                ))?;
            }
        }
        Ok(())
    }

    /// The end of a server's binary log.
    pub(crate) fn log_end(&self, side: Side) -> Result<LogEnd, Error> {
        let rows = self.ask(side, binary_log_status(self.version()))?;
        let found = |name| rows.value(0, name).map(str::to_owned);
        match (found("File"), found("Position")) {
            (Some(file), Some(position)) => Ok(LogEnd { file, position }),
            _ => Err(Error::Work { arm: side.as_str().to_owned(), reason: "has no binary log".to_owned() }),
        }
    }

    /// Runs a statement as the administrator.
    pub(crate) fn ask(&self, side: Side, sql: &str) -> Result<Rows, Error> {
        self.server(side).ask(sql)
    }

    /// Like [`Self::ask`], for a statement that is not part of errors.
    pub(crate) fn ask_secretly(&self, side: Side, sql: &str, what: &str) -> Result<(), Error> {
        self.server(side).ask_secretly(sql, what)
    }

    /// Version of both.
    pub(crate) const fn version(&self) -> &ServerVersion {
        self.source.version()
    }

    /// Whether both are MariaDB.
    pub(crate) fn is_mariadb(&self) -> bool {
        self.source.flavor() == Flavor::MariaDb
    }

    /// Password of the account at a server.
    pub(crate) fn password(&self, side: Side) -> &str {
        let [source, target] = &self.passwords;
        match side {
            Side::Source => source,
            Side::Target => target,
        }
    }

    fn server(&self, side: Side) -> &BenchServer<'a> {
        match side {
            Side::Source => &self.source,
            Side::Target => &self.target,
        }
    }

    /// Address of a server on the loopback interface.
    pub(crate) fn address(&self, side: Side) -> SocketAddr {
        self.server(side).address()
    }

    /// CPU time of a server since its start, in seconds.
    pub(crate) fn cpu_seconds(&self, side: Side) -> Result<f64, Error> {
        self.server(side).cpu_seconds()
    }

    /// Program of a server, for records.
    pub(crate) fn program(&self) -> crate::Program {
        self.source.program()
    }

    /// Certificate of the authority that has issued the servers' certificates.
    pub(crate) const fn authority(&self) -> &Path {
        self.authority
    }

    /// Option file of one server, with its address and the account in the group `client`.
    pub(crate) fn option_file(&self, side: Side) -> PathBuf {
        self.directory.join(format!("{}.cnf", side.as_str()))
    }

    /// Option file of both servers, for Sealant.
    pub(crate) fn options_of_both(&self) -> PathBuf {
        self.directory.join(BOTH_FILE)
    }

    /// A new directory for files between the two servers.
    pub(crate) fn between(&self) -> Result<PathBuf, Error> {
        let directory = self.directory.join("between");
        match fs::remove_dir_all(&directory) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file(&directory)(error)),
            _ => Ok(directory),
        }
    }
}

/// Names of a server's schemas.
fn schemas(server: &BenchServer<'_>) -> Result<BTreeSet<String>, Error> {
    let rows = server.ask("SHOW DATABASES")?;
    Ok(rows.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
}

/// Digits of a password: as many as MySQL keeps for replication.
const PASSWORD_DIGITS: usize = 32;

fn new_password() -> Result<Zeroizing<String>, Error> {
    let digits = keyring::new_password()?;
    Ok(Zeroizing::new(String::from_utf8_lossy(&digits).chars().take(PASSWORD_DIGITS).collect()))
}

fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    write_atomic(path, text.as_bytes(), WriteOptions::SECRET).map_err(Error::file(path))
}
