//! Follows the target's own log, to see whether somebody else changes the moved tables there.
//!
//! Every transaction of a migration that changes rows also changes the state, so a transaction that changes only rows is
//! not one of a migration. The account needs REPLICATION SLAVE and REPLICATION CLIENT at the target. Without them, or
//! without a log, foreign writes are found only where rows differ.

use std::{collections::BTreeSet, time::Instant};

use binlog::{
    Body, Decoder, Error as StreamError, Event,
    event::{Payload, Query, Rows},
    replica::{Replica, Start},
};
use innodb::binlog::LogPosition;
use server::{Connection, Grants, dialect::variable::SERVER_UUID};

use crate::{
    Error, STATE_SCHEMA, Server, Side, journal,
    lexer::{Syntax, words},
    link,
    moved_table::MovedTable,
    position::log_end_at,
    shared::Shared,
    state,
    statement::{self, Kind},
    stream::{LIMITS, STORE_POSITION, replica_settings},
};

/// Privileges to read the log.
pub(crate) const PRIVILEGES: [&str; 2] = ["REPLICATION SLAVE", "REPLICATION CLIENT"];

/// The privileges to read the log that an account lacks.
pub(crate) fn missing(held: &Grants) -> Vec<&'static str> {
    PRIVILEGES.into_iter().filter(|name| !held.cover(&format!("{name} ON *.*"))).collect()
}

/// Where a migration that begins now starts to read the target's log; `None` if it cannot.
///
/// # Errors
/// [`Error::Server`].
pub(crate) fn start(target: &mut Connection) -> Result<Option<LogPosition>, Error> {
    let held = Grants::of_session(target).map_err(Error::at(Side::Target))?;
    if !missing(&held).is_empty() || link::variable(target, Side::Target, "log_bin")? != "1" {
        return Ok(None);
    }
    log_end_at(target, Side::Target).map(Some)
}

/// Gives up a part of the log that cannot be read: every row has to be compared again, and the log is read from its
/// present end on.
fn forget(target: &mut Connection, shared: &Shared) -> Result<(), Error> {
    let end = log_end_at(target, Side::Target)?;
    state::unverify(target)?;
    shared.update(|state| state.watched.clear());
    state::store_target_log(target, &end)?;
    journal::note(target, "target-log-gone", "every row is compared again")
}

/// What one transaction of the target's log has changed.
#[derive(Debug, Default)]
struct Transaction {
    /// Numbers of the moved tables.
    tables: BTreeSet<usize>,
    /// Whether it has changed the state, too.
    ours: bool,
}

/// Reads the target's log, in a thread of its own.
pub(crate) struct TargetLog<'m> {
    replica: Replica,
    shared: &'m Shared,
    tables: &'m [MovedTable],
    /// Stores what is found.
    target: Connection,
    transaction: Transaction,
    stored: Instant,
}

impl<'m> TargetLog<'m> {
    /// Opens the log where the last process has left it; `None` if this migration does not read it. If that part is
    /// gone, every row has to be compared again.
    ///
    /// # Errors
    /// [`Error`].
    pub(crate) fn open(
        server: &Server,
        shared: &'m Shared,
        tables: &'m [MovedTable],
        server_id: u32,
    ) -> Result<Option<Self>, Error> {
        let mut target = link::target(server)?;
        let Some((uuid, stored)) = state::target_log(&mut target)? else { return Ok(None) };
        let connect = |from: &LogPosition| {
            let connection = link::stream(server).map_err(Error::at_target)?;
            Replica::start(connection, &Start::Position(from.clone()), &replica_settings(server_id))
                .map_err(Error::at_target)
        };
        let end = log_end_at(&mut target, Side::Target)?;
        let is_gone = uuid != link::variable(&mut target, Side::Target, SERVER_UUID)?
            || end < stored
            || state::oldest_log(&mut target)? > LogPosition { offset: u64::MAX, ..stored.clone() };
        let from = if is_gone { end } else { stored };
        if is_gone {
            forget(&mut target, shared)?;
        }
        let replica = connect(&from)?;
        shared.update(|state| state.target_log = Some(from));
        Ok(Some(Self { replica, shared, tables, target, transaction: Transaction::default(), stored: Instant::now() }))
    }

    /// Reads until the run ends.
    ///
    /// # Errors
    /// [`Error::TargetWritten`] and others.
    pub(crate) fn follow(&mut self) -> Result<(), Error> {
        while !self.shared.has_ended() {
            let Self { replica, transaction, tables, .. } = self;
            let event = match replica.next_event() {
                Ok(Some(event)) => event,
                Ok(None) => {
                    return Err(Error::at(Side::Target)(server::Error::Lost { phase: server::Phase::BinaryLog }));
                }
                Err(error @ StreamError::Server(_)) => return Err(Error::at_target(error)),
                Err(error) => {
                    forget(&mut self.target, self.shared)?;
                    return Err(Error::at_target(error));
                }
            };
            let idle = match &event.body {
                Body::Heartbeat(heartbeat) => {
                    let file = String::from_utf8_lossy(heartbeat.file).into_owned();
                    Some(LogPosition { file, offset: heartbeat.position })
                }
                _ => None,
            };
            transaction.note(&event, tables)?;
            let progress = replica.progress();
            if progress.is_between_transactions() {
                let at = idle.unwrap_or_else(|| progress.position.clone());
                self.judge(at)?;
            }
        }
        Ok(())
    }

    /// Judges a whole transaction. What it has changed has to be compared again, whoever it was.
    fn judge(&mut self, end: LogPosition) -> Result<(), Error> {
        let found = std::mem::take(&mut self.transaction);
        if found.ours || found.tables.is_empty() {
            if self.stored.elapsed() > STORE_POSITION {
                state::store_target_log(&mut self.target, &end)?;
                self.stored = Instant::now();
            }
            self.shared.update(|state| state.target_log = Some(end));
            return Ok(());
        }
        state::foreign_write(&mut self.target, &found.tables, &end)?;
        let names: Vec<_> = found.tables.iter().filter_map(|number| self.tables.get(*number)).collect();
        let table = names.iter().map(|moved| moved.shown.as_str()).collect::<Vec<_>>().join(", ");
        let position = end.to_string();
        journal::note(&mut self.target, "foreign-write", &format!("{table} at {position} of the target's log"))?;
        Err(Error::TargetWritten { table, position })
    }
}

impl Transaction {
    fn note(&mut self, event: &Event<'_>, tables: &[MovedTable]) -> Result<(), Error> {
        match &event.body {
            Body::Rows(rows) => self.rows(rows, tables),
            Body::Query(query) => self.statement(query, tables),
            Body::Payload(payload) => self.compressed(payload, tables)?,
            _ => {}
        }
        Ok(())
    }

    fn rows(&mut self, rows: &Rows<'_>, tables: &[MovedTable]) {
        let Some(map) = &rows.table else { return };
        self.ours |= map.database == STATE_SCHEMA;
        let is_it = |moved: &&MovedTable| moved.table.schema == map.database && moved.table.name == map.name;
        self.tables.extend(tables.iter().find(is_it).map(|moved| moved.number));
    }

    fn statement(&mut self, query: &Query<'_>, tables: &[MovedTable]) {
        // A statement that cannot be read is one in another character set than any of a migration.
        let Some(words) = words(&query.statement, Syntax::from_variables(&query.variables())) else { return };
        if !matches!(statement::kind(&words), Kind::Rows | Kind::Definition) {
            return;
        }
        let Some(moved) = statement::concerned(&words, query.database, tables) else { return };
        // The cut-over sets the counters.
        let is_counter = query.statement.starts_with(moved.set_counter("").as_bytes());
        if !is_counter {
            self.tables.insert(moved.number);
        }
    }

    fn compressed(&mut self, payload: &Payload<'_>, tables: &[MovedTable]) -> Result<(), Error> {
        let damaged = |_| Error::State { what: "the target's log" };
        let mut decoder = Decoder::new(LIMITS);
        let mut events = payload.events(&LIMITS).map_err(damaged)?;
        while let Some(bytes) = events.next_event().map_err(damaged)? {
            let event = decoder.decode_inside(bytes).map_err(damaged)?;
            self.note(&event, tables)?;
        }
        Ok(())
    }
}

impl Error {
    /// An error of the target's log.
    fn at_target(error: StreamError) -> Self {
        match error {
            StreamError::Server(error) => Self::Server { side: Side::Target, error },
            error => Self::TargetLog(error),
        }
    }
}
