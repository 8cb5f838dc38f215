//! A connection that may change the server.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    thread::{scope, sleep},
    time::{Duration, Instant},
};

use server::{
    Capability, Connection, Identity, Options, Rows, Target,
    dialect::{
        innodb::{Dictionary, dictionary},
        key_store::{ActiveKeyStore, PLUGIN_QUERY},
        statement::{replica_status, set_lock_timeout, show_status, show_variable},
    },
    switch,
};

use crate::{Error, StatementLog, control::Requests};

/// Maximum duration of a statement: copying a table of a terabyte takes less.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 3600);
/// Polling interval for cancel requests.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Lock timeout and retries of statements.
#[derive(Clone, Copy, Debug)]
pub struct LockWait {
    /// Timeout of one attempt. Short, because later statements queue up behind a waiting one.
    pub wait: Duration,
    /// Number of attempts.
    pub tries: u32,
    /// Pause between attempts, for other clients.
    pub pause: Duration,
}

impl Default for LockWait {
    fn default() -> Self {
        Self { wait: Duration::from_secs(2), tries: 30, pause: Duration::from_secs(2) }
    }
}

/// An authenticated connection whose changes are logged.
#[derive(Debug)]
pub struct Session<'l> {
    connection: Connection,
    identity: Identity,
    log: &'l StatementLog,
    lock_wait: LockWait,
    target: Target,
    options: Options,
}

impl<'l> Session<'l> {
    /// Connects. Statements that wait too long for a lock fail.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub fn open(target: &Target, options: &Options, log: &'l StatementLog, lock_wait: LockWait) -> Result<Self, Error> {
        let long =
            Options { changes: true, repeats_reads: true, statement_timeout: STATEMENT_TIMEOUT, ..options.clone() };
        let mut connection = Connection::open(target, &long)?;
        let identity = server::describe(&mut connection)?;
        connection.query(&set_lock_timeout(lock_wait.wait))?;
        Ok(Self { connection, identity, log, lock_wait, target: target.clone(), options: options.clone() })
    }

    /// Connects to another server, with the timeouts of `options`.
    pub(crate) fn connect_to(&self, target: &Target, options: &Options) -> Result<Self, Error> {
        let mut connection = Connection::open(target, options)?;
        let identity = server::describe(&mut connection)?;
        let (target, options) = (target.clone(), options.clone());
        Ok(Self { connection, identity, log: self.log, lock_wait: self.lock_wait, target, options })
    }

    /// The server's identity.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Address and user of the connection.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    pub(crate) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Runs a query.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub fn query(&mut self, sql: &str) -> Result<Rows, Error> {
        Ok(self.connection.query(sql)?)
    }

    /// The result of a logical query; `None` if this version does not support it.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub(crate) fn logical(&mut self, name: &str) -> Result<Option<Rows>, Error> {
        let Some(query) = server::dialect::query(&self.identity.version, name) else { return Ok(None) };
        Ok(Some(query.run(&mut self.connection)?))
    }

    /// Whether a plug-in is active.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub(crate) fn has_active_plugin(&mut self, name: &str) -> Result<bool, Error> {
        let plugins = self.logical(PLUGIN_QUERY)?.unwrap_or_default();
        let is = |row, column, wanted| plugins.value(row, column) == Some(wanted);
        Ok((0..plugins.rows.len()).any(|row| is(row, "name", name) && is(row, "status", "ACTIVE")))
    }

    /// The active component or plug-in that holds keys. `datadir` is the data directory's path on this host.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub(crate) fn active_key_store(&mut self, datadir: &Path) -> Result<Option<ActiveKeyStore>, Error> {
        Ok(ActiveKeyStore::query(&mut self.connection, &self.identity.version, datadir)?)
    }

    /// Names of InnoDB's tables in `information_schema`, for this version.
    pub(crate) fn dictionary(&self) -> &'static Dictionary {
        dictionary(&self.identity.version)
    }

    /// A tablespace's name in statements, from its name in the dictionary.
    pub(crate) fn space_name<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.dictionary().encoded { innodb::file_name::decoded(name).into() } else { name.into() }
    }

    /// Whether this server of the MySQL family can encrypt `what`.
    pub(crate) fn can(&self, capability: Capability) -> bool {
        self.identity.version.can(capability)
    }

    /// The query for replication status.
    pub(crate) fn replica_status(&self) -> &'static str {
        replica_status(&self.identity.version)
    }

    /// The first value of the result's first row.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub fn value(&mut self, sql: &str) -> Result<Option<String>, Error> {
        Ok(self.query(sql)?.scalar().map(str::to_owned))
    }

    /// A global variable; `None` if the server has none of this name, or it is empty.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub(crate) fn variable(&mut self, name: &str) -> Result<Option<String>, Error> {
        let rows = self.query(&show_variable(name))?;
        Ok(rows.value(0, "Value").filter(|value| !value.is_empty()).map(str::to_owned))
    }

    /// A global status variable; `None` if the server has none of this name.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub(crate) fn status(&mut self, name: &str) -> Result<Option<String>, Error> {
        Ok(self.query(&show_status(name))?.value(0, "Value").map(str::to_owned))
    }

    /// Whether a global variable is on.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub(crate) fn is_on(&mut self, name: &str) -> Result<bool, Error> {
        Ok(self.variable(name)?.as_deref().is_some_and(switch::is_on))
    }

    /// The data directory's path on this host: the given one, or the server's.
    pub(crate) fn datadir(&self, given: Option<&Path>) -> PathBuf {
        given.unwrap_or(&self.identity.datadir).to_owned()
    }

    /// Logs a change that is not a statement, before it is made.
    pub(crate) fn note(&self, what: &str) -> Result<(), Error> {
        self.log.note(what)
    }

    /// Executes a statement that changes something. Retries if a lock is held by others.
    ///
    /// # Errors
    /// [`Error::Log`] before anything is sent, [`Error::Statement`] if the server refuses.
    pub fn change(&mut self, sql: &str) -> Result<(), Error> {
        self.retry_while(sql, &|| true)
    }

    /// Like [`Self::change`]; retries only while `wanted` returns true.
    fn retry_while(&mut self, sql: &str, wanted: &dyn Fn() -> bool) -> Result<(), Error> {
        let mut tries = self.lock_wait.tries.max(1);
        loop {
            tries -= 1;
            match self.change_once(sql) {
                Err(error) if error.is_lock_timeout() && tries > 0 && wanted() => {
                    sleep(self.lock_wait.pause);
                }
                ended => return ended,
            }
        }
    }

    /// Executes a long statement that the server rolls back when it is killed, and kills it on a cancel request.
    ///
    /// # Errors
    /// Those of [`Session::change`]; [`Error::Canceled`].
    pub(crate) fn change_cancelable(&mut self, sql: &str, requests: &Requests) -> Result<(), Error> {
        let id = self.value("SELECT CONNECTION_ID()")?.unwrap_or_default();
        let (target, options) = (self.target.clone(), self.options.clone());
        let over = AtomicBool::new(false);
        let result = scope(|threads| {
            threads.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    if requests.cancel() {
                        kill(&target, &options, &id);
                    }
                    sleep(POLL_INTERVAL);
                }
            });
            let result = self.retry_while(sql, &|| !requests.cancel());
            over.store(true, Ordering::Relaxed);
            result
        });
        match result {
            Err(error) if (error.is_interrupted() || error.is_lock_timeout()) && requests.cancel() => {
                Err(Error::Canceled)
            }
            other => other,
        }
    }

    /// Makes a change that is not a statement, and logs it like one.
    pub(crate) fn log_and_run<T>(&self, what: &str, act: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.log.sent(what)?;
        let began = Instant::now();
        let result = act();
        self.log.ended(what, began.elapsed(), result.as_ref().err().map(ToString::to_string))?;
        result
    }

    fn change_once(&mut self, sql: &str) -> Result<(), Error> {
        self.log.sent(sql)?;
        let began = Instant::now();
        let result = self.connection.query(sql);
        let logged = self.log.ended(sql, began.elapsed(), result.as_ref().err().map(ToString::to_string));
        result.map_err(|source| Error::Statement { statement: sql.to_owned(), source })?;
        logged
    }
}

/// Kills the current statement of connection `id`. Errors are ignored; the caller tries again.
fn kill(target: &Target, options: &Options, id: &str) {
    if let Ok(mut connection) = Connection::open(target, options) {
        drop(connection.query(&format!("KILL QUERY {id}")));
    }
}
