//! A connection that may change the server.

use std::{
    borrow::Cow,
    sync::atomic::{AtomicBool, Ordering},
    thread::{scope, sleep},
    time::{Duration, Instant},
};

use server::{
    Connection, Identity, Options, Rows, Target,
    dialect::{
        encryption::{Encrypts, encrypts},
        innodb::{Dictionary, dictionary},
    },
};

use crate::{Error, StatementLog, control::Requests};

/// How long a statement may take: a table of a terabyte is copied in less.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(7 * 24 * 3600);
/// How often it is looked whether a statement is to be ended.
const TICK: Duration = Duration::from_millis(200);
/// `ER_LOCK_WAIT_TIMEOUT`.
const LOCK_WAIT_TIMEOUT: u16 = 1205;

/// How long, and how often, statements wait for a lock.
#[derive(Clone, Copy, Debug)]
pub struct LockPatience {
    /// How long one try waits. All who come after it wait too, so this is short.
    pub wait: Duration,
    /// How many tries there are.
    pub tries: u32,
    /// How long others get between two tries.
    pub pause: Duration,
}

impl Default for LockPatience {
    fn default() -> Self {
        Self { wait: Duration::from_secs(2), tries: 30, pause: Duration::from_secs(2) }
    }
}

/// A logged-in connection whose changes are logged.
#[derive(Debug)]
pub struct Session<'l> {
    connection: Connection,
    identity: Identity,
    log: &'l StatementLog,
    patience: LockPatience,
    target: Target,
    options: Options,
}

impl<'l> Session<'l> {
    /// Connects. Statements that wait for a lock longer than the patience allows are given up.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub fn open(
        target: &Target,
        options: &Options,
        log: &'l StatementLog,
        patience: LockPatience,
    ) -> Result<Self, Error> {
        let long = Options { changes: true, statement_timeout: STATEMENT_TIMEOUT, ..options.clone() };
        let mut connection = Connection::open(target, &long)?;
        let identity = server::describe(&mut connection)?;
        connection.query(&format!("SET SESSION lock_wait_timeout = {}", patience.wait.as_secs().max(1)))?;
        Ok(Self { connection, identity, log, patience, target: target.clone(), options: options.clone() })
    }

    /// A session with another server.
    ///
    /// It answers in the time that the options give, or is given up.
    pub(crate) fn beside(&self, target: &Target, options: &Options) -> Result<Self, Error> {
        let mut connection = Connection::open(target, options)?;
        let identity = server::describe(&mut connection)?;
        let (target, options) = (target.clone(), options.clone());
        Ok(Self { connection, identity, log: self.log, patience: self.patience, target, options })
    }

    /// Which server this is.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Where it is, and as whom.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Asks something.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub fn ask(&mut self, sql: &str) -> Result<Rows, Error> {
        Ok(self.connection.query(sql)?)
    }

    /// What its InnoDB is asked for.
    pub(crate) fn dictionary(&self) -> &'static Dictionary {
        dictionary(&self.identity.version)
    }

    /// A tablespace's name in the dictionary as statements have it.
    pub(crate) fn space_name<'n>(&self, name: &'n str) -> Cow<'n, str> {
        if self.dictionary().encoded { innodb::file_name::decoded(name).into() } else { name.into() }
    }

    /// Whether this server of the MySQL family can encrypt that.
    pub(crate) fn encrypts(&self, what: Encrypts) -> bool {
        encrypts(&self.identity.version, what)
    }

    /// What tells whether, and how, this server replicates.
    pub(crate) fn replica_status(&self) -> &'static str {
        replication::status::query(&self.identity.version)
    }

    /// The first value of the answer's first row.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub fn value(&mut self, sql: &str) -> Result<Option<String>, Error> {
        Ok(self.ask(sql)?.scalar().map(str::to_owned))
    }

    /// A change that is no statement is about to be made.
    pub(crate) fn note(&self, what: &str) -> Result<(), Error> {
        self.log.note(what)
    }

    /// Changes something. A lock that is held by others is tried for again and again.
    ///
    /// # Errors
    /// [`Error::Log`] before anything is sent, [`Error::Statement`] if the server refuses.
    pub fn change(&mut self, sql: &str) -> Result<(), Error> {
        self.change_while(sql, &|| true)
    }

    /// The same, for as long as it is wanted.
    fn change_while(&mut self, sql: &str, wanted: &dyn Fn() -> bool) -> Result<(), Error> {
        let mut tries = self.patience.tries.max(1);
        loop {
            tries -= 1;
            match self.change_once(sql) {
                Err(Error::Statement { source: server::Error::Server { code: LOCK_WAIT_TIMEOUT, .. }, .. })
                    if tries > 0 && wanted() =>
                {
                    sleep(self.patience.pause);
                }
                ended => return ended,
            }
        }
    }

    /// Changes something that takes long and that the server undoes by itself when it is ended: that is
    /// done when it is asked for.
    ///
    /// # Errors
    /// As [`Session::change`]; [`Error::Canceled`].
    pub(crate) fn change_unless(&mut self, sql: &str, requests: &Requests) -> Result<(), Error> {
        let id = self.value("SELECT CONNECTION_ID()")?.unwrap_or_default();
        let (target, options) = (self.target.clone(), self.options.clone());
        let over = AtomicBool::new(false);
        let result = scope(|threads| {
            threads.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    if requests.cancel() {
                        kill(&target, &options, &id);
                    }
                    sleep(TICK);
                }
            });
            let result = self.change_while(sql, &|| !requests.cancel());
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

    /// Does something that is no statement, and notes it as if it were.
    pub(crate) fn outside<T>(&self, what: &str, act: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
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

/// Ends the statement of that connection. It may have ended by now, and is asked again if not.
fn kill(target: &Target, options: &Options, id: &str) {
    if let Ok(mut connection) = Connection::open(target, options) {
        drop(connection.query(&format!("KILL QUERY {id}")));
    }
}
