//! Follows the source's log: passes changes of rows through the chunk maps, and applies them in batches.

use std::{collections::HashMap, sync::Arc, time::Duration};

use binlog::{
    Body, Decoder, Event, EventHeader, Fault, Limits,
    event::{MariaDbGtid, Payload, Query, Row, RowChange, Rows, TableMap},
    replica::{Progress, Replica, Start},
    value::{Value, WholeDoubles},
};
use innodb::binlog::LogPosition;
use replication::gtid::mysql::GtidSet;

use crate::{
    Error, NotWritable, STATE_SCHEMA, Side,
    apply::{
        batch::{self, ChangeBatch, ExactChange, Operation},
        row_condition::row_condition,
        write::Writer,
    },
    key::Key,
    lexer::{Syntax, Word, first_words, words},
    link,
    log_file::LogFile,
    logged_type,
    moved_table::{MovedTable, RowCascade},
    position::{Position, Tracking},
    settings::{BatchLimits, Settings},
    shared::{RunState, Shared},
    statement::{self, Kind},
    weights::Weights,
    xa::Prepared,
};

/// Time between heartbeats, by which the source reports the end of an idle log.
const HEARTBEAT: Duration = Duration::from_millis(200);
/// Attempts to reconnect without progress.
const RECONNECTS: u32 = 30;
/// Pause between them.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);
pub(crate) const LIMITS: Limits = Limits { event_bytes: 1 << 30, table_bytes: 64 << 20, window_log: 27 };
/// Interval at which the position is stored even if no change was applied.
pub(crate) const STORE_POSITION: Duration = Duration::from_secs(1);

/// Follows the log and applies its changes, in a thread of its own.
pub(crate) struct Follower<'m> {
    settings: &'m Settings,
    shared: &'m Shared,
    tables: &'m [MovedTable],
    by_name: HashMap<(&'m str, &'m str), &'m MovedTable>,
    writer: Writer<'m>,
    batch: ChangeBatch,
    server_id: u32,
    /// Where the newest event begins.
    at: LogPosition,
    /// The end of the log, when this connection was last idle. The stream does not tell the end of every event.
    idle: LogPosition,
    /// Identity of the server that sends the log.
    server_uuid: String,
    /// How the source prints numbers of JSON.
    doubles: WholeDoubles,
    weights: Weights<'m>,
    /// Commit time of the newest transaction.
    time: u32,
    /// The newest transaction: its GTID, or a position within it.
    current: Position,
    /// Whether the next rows belong to an XA transaction.
    xa: bool,
    /// Prepared XA transactions that changed only other tables.
    prepared: Prepared,
    /// Whether the stream is within a transaction.
    is_within: bool,
    /// Whether the stream was ended because a transaction had to be taken back.
    released: bool,
    /// Whether the current transaction has changed rows of a moved table.
    has_rows: bool,
    stored: std::time::Instant,
}

impl<'m> Follower<'m> {
    pub(crate) fn open(
        settings: &'m Settings,
        shared: &'m Shared,
        tables: &'m [MovedTable],
        server_id: u32,
        doubles: WholeDoubles,
    ) -> Result<Self, Error> {
        let by_name = tables.iter().map(|it| ((it.table.schema.as_str(), it.table.name.as_str()), it)).collect();
        let writer = Writer::open(&settings.target, tables, shared)?;
        Ok(Self {
            settings,
            shared,
            tables,
            by_name,
            writer,
            batch: ChangeBatch::default(),
            server_id,
            at: LogPosition::default(),
            idle: LogPosition::default(),
            server_uuid: String::new(),
            doubles,
            weights: Weights::new(&settings.target),
            time: 0,
            current: Position::default(),
            xa: false,
            prepared: Prepared::default(),
            is_within: false,
            released: false,
            has_rows: false,
            stored: std::time::Instant::now(),
        })
    }

    /// Follows until the run ends. Reconnects if the connection to the source is lost.
    ///
    /// # Errors
    /// [`Error`].
    pub(crate) fn follow(&mut self) -> Result<(), Error> {
        let mut attempts = RECONNECTS;
        loop {
            let before = self.shared.lock().applied.clone();
            let ended = self.connect().and_then(|mut replica| self.stream(&mut replica));
            match ended {
                Err(error)
                    if (error.is_transient() && matches!(error, Error::Stream(_)))
                        || (error.is_collision() && self.writer.is_open()) =>
                {
                    let released = std::mem::take(&mut self.released);
                    let progressed = released || self.shared.lock().applied != before;
                    attempts = if progressed { RECONNECTS } else { attempts.saturating_sub(1) };
                    if attempts == 0 {
                        return Err(error);
                    }
                    // The source sends unapplied changes again.
                    self.batch.forget_changes();
                    self.writer.roll_back()?;
                    self.shared.sleep(RECONNECT_PAUSE)?;
                }
                Err(Error::Stream(error @ binlog::Error::Unavailable { .. })) => {
                    // A reset while the stream follows shows only here.
                    self.shared.check_log(&self.settings.source, &replica_settings(self.server_id))?;
                    return Err(Error::Stream(error));
                }
                ended => return ended,
            }
        }
    }

    fn connect(&mut self) -> Result<Replica, Error> {
        let start = match self.shared.tracking {
            Tracking::Gtids => Start::MySql(self.shared.lock().applied.gtids.clone()),
            Tracking::Positions | Tracking::Snapshots => Start::Position(self.shared.lock().applied.log.clone()),
        };
        let settings = replica_settings(self.server_id);
        self.shared.check_log(&self.settings.source, &settings)?;
        let mut connection = link::stream(&self.settings.source).map_err(Error::Stream)?;
        self.shared.require_source(&mut connection)?;
        self.server_uuid = link::identity(&mut connection, Side::Source)?;
        (self.idle, self.is_within) = (LogPosition::default(), false);
        Replica::start(connection, &start, &settings).map_err(Error::Stream)
    }

    fn stream(&mut self, replica: &mut Replica) -> Result<(), Error> {
        while !self.shared.has_ended() {
            self.at.clone_from((&replica.progress().position).max(&self.idle));
            let at = self.at.to_string();
            let Some(event) = replica.next_event().map_err(Error::Stream)? else {
                return Err(Error::Stream(lost()));
            };
            let idle = self.event(&event, &at)?;
            self.advance(replica, idle)?;
        }
        Ok(())
    }

    /// Handles an event. Returns the log position if the event is a heartbeat.
    fn event(&mut self, event: &Event<'_>, at: &str) -> Result<Option<LogPosition>, Error> {
        if let Some(what) = obstacle(event) {
            return Err(gap(what, at));
        }
        if matches!(event.body, Body::Rotate(_) | Body::FormatDescription(_)) && self.is_within && self.has_rows {
            return Err(gap("a transaction without its end", at));
        }
        match &event.body {
            Body::FormatDescription(_) => self.log_file(event.header.timestamp)?,
            Body::Gtid(transaction) => {
                if transaction.gtid.is_none() && self.shared.tracking == Tracking::Gtids {
                    return Err(Error::Anonymous { position: at.to_owned() });
                }
                self.transaction(event.header.timestamp, false);
                if let Some(gtid) = &transaction.gtid {
                    self.current.gtids.insert(&gtid.uuid.to_string(), &gtid.tag, gtid.number);
                    let insert = |state: &mut RunState| {
                        state.begun.gtids.insert(&gtid.uuid.to_string(), &gtid.tag, gtid.number);
                    };
                    self.shared.update(insert);
                }
            }
            Body::MariaDbGtid(transaction) => {
                let is_prepared = transaction.flags & MariaDbGtid::PREPARED_XA != 0;
                self.transaction(event.header.timestamp, is_prepared);
            }
            Body::Rows(rows) => self.rows(rows, at)?,
            Body::Query(query) => self.statement(query, at)?,
            Body::Payload(payload) => self.compressed(payload, at)?,
            Body::XaPrepare(prepare) => {
                self.xa = false;
                self.prepared.note(prepare);
            }
            _ => {}
        }
        let idle = idle_position(event);
        if let Some(idle) = &idle {
            self.idle.clone_from(idle);
        }
        Ok(idle)
    }

    /// Notes that a transaction begins, before any of its rows is dropped: chunks that begin from now on must see it.
    fn transaction(&mut self, time: u32, xa: bool) {
        self.time = time;
        (self.xa, self.has_rows, self.current) = (xa, false, Position::default());
        self.shared.update(|state| state.begun.begin(&self.at));
    }

    /// Notes which file the stream reads, and when it was created.
    fn log_file(&mut self, created: u32) -> Result<(), Error> {
        let file = LogFile { server_uuid: self.server_uuid.clone(), file: self.at.file.clone(), created };
        if self.shared.lock().log_file.as_ref().is_some_and(|known| *known == file || file.is_older_than(known)) {
            return Ok(());
        }
        self.writer.store_log_file(&file)?;
        self.shared.update(|state| state.log_file = Some(file));
        Ok(())
    }

    /// Handles the events of a compressed transaction one by one: together they can be larger than memory.
    fn compressed(&mut self, payload: &Payload<'_>, at: &str) -> Result<(), Error> {
        let damaged = |_| gap("a damaged compressed transaction", at);
        // A statement and its table maps are always in the same transaction.
        let mut decoder = Decoder::new(LIMITS);
        let mut events = payload.events(&LIMITS).map_err(damaged)?;
        while let Some(bytes) = events.next_event().map_err(damaged)? {
            let event = decoder.decode_inside(bytes).map_err(damaged)?;
            self.event(&event, at)?;
        }
        Ok(())
    }

    fn statement(&mut self, query: &Query<'_>, at: &str) -> Result<(), Error> {
        let syntax = Syntax::from_variables(&query.variables());
        let Some(words) = words(&query.statement, syntax) else { return self.unreadable(query, syntax, at) };
        let concerned = || statement::concerned(&words, query.database, self.tables).map(|found| found.shown.clone());
        let position = at.to_owned();
        match statement::kind(&words) {
            Kind::Transaction | Kind::Harmless | Kind::XaEnd => {}
            Kind::Xa => self.xa = true,
            Kind::XaCommit if self.prepared.take(&query.statement) => {}
            Kind::XaCommit => {
                return Err(gap("the end of an XA transaction that was prepared before the migration was begun", at));
            }
            // A server logs a rollback only if a non-transactional table has changed, too.
            Kind::Rollback if self.has_rows => return Err(gap("a transaction that was rolled back in part", at)),
            Kind::Rollback => {}
            Kind::Rows if concerned().is_none() && statement::is_of_system(&words, query.database) => {}
            // Through triggers, functions and cascades, a statement changes tables that it does not name.
            Kind::Rows => {
                let database = || format!("a table of {}", String::from_utf8_lossy(query.database));
                return Err(Error::StatementFormat { table: concerned().unwrap_or_else(database), position });
            }
            // The definitions at both ends were compared after this statement, and every read waits until it is
            // visible.
            Kind::Definition if self.is_old() => {}
            Kind::Definition => return self.definition(&words, query, at),
        }
        Ok(())
    }

    /// Passes over a definition, unless it may change the rows or columns of a moved table.
    fn definition(&self, words: &[Word], query: &Query<'_>, at: &str) -> Result<(), Error> {
        let concerned = statement::concerned(words, query.database, self.tables);
        if let Some(moved) = concerned.filter(|_| !statement::keeps_rows(words)) {
            let (table, position) = (moved.shown.clone(), at.to_owned());
            return Err(Error::DefinitionChanged { table, position, statement: statement::shown(&query.statement) });
        }
        self.note_new_tables();
        Ok(())
    }

    /// Passes over a statement in a character set that is not known, unless it may concern a moved table.
    fn unreadable(&self, query: &Query<'_>, syntax: Syntax, at: &str) -> Result<(), Error> {
        let first = first_words(&query.statement, syntax);
        if !statement::is_elsewhere(&first, &query.statement, self.tables) {
            return Err(gap("a statement that cannot be read", at));
        }
        if statement::kind(&first) == Kind::Definition {
            self.note_new_tables();
        }
        Ok(())
    }

    /// Lets the tables of the source be listed again: a statement does not tell whether its table is still there. It can
    /// also be in the log before its table is visible; then the rows of that table let them be listed once more.
    fn note_new_tables(&self) {
        self.shared.update(|state| state.may_have_new_tables = true);
    }

    fn rows(&mut self, rows: &Rows<'_>, at: &str) -> Result<(), Error> {
        let Some(map) = &rows.table else { return Ok(()) };
        if map.database == STATE_SCHEMA && self.has_our_token(rows) {
            return Err(Error::FollowsTarget { position: at.to_owned() });
        }
        let table = match self.moved(map, at) {
            // These rows precede a change of the definition, which waited until they were visible.
            Err(_) if self.is_old() => return Ok(()),
            moved => moved?,
        };
        let Some(table) = table else {
            if self.settings.filter.table(&map.database, &map.name) {
                self.note_new_tables();
            }
            return Ok(());
        };
        if self.xa {
            // The rows become visible only with XA COMMIT, which may come much later.
            return Err(gap("an XA transaction, which is not supported,", at));
        }
        self.has_rows = true;
        self.current.log.clone_from(&self.at);
        let damaged = || gap("damaged rows", at);
        if table.key.have_sort_keys() {
            // Asked for together, and known when the changes are passed on.
            self.weights.limit();
            let images =
                rows.changes().into_iter().flatten().flatten().flat_map(|change| [change.before, change.after]);
            let mut keys: Vec<Key> = images.flatten().filter_map(|row| table.key.of_image(&row)).collect();
            self.weights.set(&table.key, &mut keys)?;
        }
        for change in rows.changes().map_err(|_| damaged())? {
            let change = change.map_err(|_| damaged())?;
            let cascade = table.cascade.as_ref().filter(|it| rows.may_omit_cascades() && it.is_caused_by(&change));
            self.change(table, &change, cascade, at)?;
            // A transaction can be larger than a batch. Part of its rows is applied then, but the stored position stays
            // before it.
            if self.batch.is_full(&BatchLimits { age: Duration::MAX, ..self.settings.batch }) {
                self.flush_within()?;
            }
        }
        Ok(())
    }

    /// Whether rows belong to the state of this migration, which is written at the target alone.
    fn has_our_token(&self, rows: &Rows<'_>) -> bool {
        // Another column has the token of the way back, whose stream finds it in the log of the target.
        const TOKEN_COLUMN: usize = 1;
        let token = Some(Value::String(self.shared.token.as_bytes()));
        let images = rows.changes().into_iter().flatten().flatten();
        images
            .flat_map(|change| [change.before, change.after])
            .flatten()
            .any(|row| row.get(TOKEN_COLUMN) == Some(&token))
    }

    /// Whether the newest event was in the log before the migration began.
    fn is_old(&self) -> bool {
        let until = &self.shared.old_until;
        self.at < *until
    }

    fn moved(&self, map: &Arc<TableMap>, at: &str) -> Result<Option<&'m MovedTable>, Error> {
        let Some(table) = self.by_name.get(&(map.database.as_str(), map.name.as_str())) else { return Ok(None) };
        let (found, expected) = (map.columns.len(), table.table.columns.len());
        if found != expected {
            return Err(Error::Columns { table: table.shown.clone(), found, expected, position: at.to_owned() });
        }
        let mut columns = table.table.columns.iter().zip(&map.columns);
        match columns.find(|(column, logged)| !logged_type::agrees(column, logged)) {
            None => Ok(Some(table)),
            Some((column, _)) => Err(Error::ColumnType {
                table: table.shown.clone(),
                column: column.name.clone(),
                position: at.to_owned(),
            }),
        }
    }

    /// Handles a change of a row. If the identity changes, the old row is deleted and a new row is stored.
    fn change(
        &mut self,
        table: &MovedTable,
        change: &RowChange<'_>,
        cascade: Option<&RowCascade>,
        at: &str,
    ) -> Result<(), Error> {
        let is_lost = |cascade: &RowCascade| !cascade.changed.iter().all(|changed| table.group.contains(changed));
        // The chunks have what was changed before the migration began.
        if cascade.is_some_and(is_lost) && !self.is_old() {
            return Err(Error::UnloggedCascade { table: table.shown.clone(), position: at.to_owned() });
        }
        let incomplete = || gap("a row without its key (binlog_row_image)", at);
        let key = |row: &Option<Row<'_>>| match row {
            None => Ok(None),
            Some(row) => table.key.of_image(row).map(Some).ok_or_else(incomplete),
        };
        let (mut before, mut after) = (key(&change.before)?, key(&change.after)?);
        self.weights.set(&table.key, before.iter_mut().chain(&mut after))?;
        if self.writer.is_open() {
            let keys: Vec<Key> = before.iter().chain(&after).cloned().collect();
            self.release_before_hold(table.number, &keys)?;
        }
        if table.is_copied_whole() {
            let keys: Vec<Key> = before.into_iter().chain(after).collect();
            return self.exact_change(table, &keys, change, cascade, at);
        }
        if let Some(before) = before.filter(|before| Some(before) != after.as_ref())
            && self.admit(table, &before)?
        {
            self.batch.delete(table.number, before);
        }
        if let (Some(after), Some(row)) = (after, &change.after)
            && self.admit(table, &after)?
        {
            let image = batch::image(table, row, self.doubles, self.writer.statement_bytes());
            let image = image.map_err(not_writable(table, at))?;
            self.batch.store(table.number, after, image);
        }
        Ok(())
    }

    /// Handles a change of a table that is copied whole: it is applied exactly once, to a row with all the values of the
    /// log. Foreign keys of the target change what those of the source have changed.
    fn exact_change(
        &mut self,
        table: &MovedTable,
        keys: &[Key],
        change: &RowChange<'_>,
        cascade: Option<&RowCascade>,
        at: &str,
    ) -> Result<(), Error> {
        let changed = cascade.map_or(&[][..], |cascade| &cascade.changed);
        if !self.shared.admit_once(table, keys, &self.current, changed, &mut self.batch.touched)? {
            return Ok(());
        }
        let cascades = cascade.is_some();
        let longest = self.writer.statement_bytes();
        let operations = operations(table, change, (cascades, longest), self.doubles);
        let operations = operations.map_err(not_writable(table, at))?;
        for operation in operations {
            self.batch.push(ExactChange { table: table.number, operation, cascades });
        }
        Ok(())
    }

    /// If a chunk that is in flight holds this change back, first takes back what is applied of its transaction: the
    /// chunk could wait for a row of it.
    fn release_before_hold(&mut self, table: usize, keys: &[Key]) -> Result<(), Error> {
        if !self.writer.is_open() || !self.shared.lock().holds(table, keys) {
            return Ok(());
        }
        self.writer.roll_back()?;
        self.released = true;
        self.shared.wait(|state| (!state.holds(table, keys)).then_some(()))?;
        // The source sends the transaction again.
        Err(Error::Stream(lost()))
    }

    fn admit(&mut self, table: &MovedTable, key: &Key) -> Result<bool, Error> {
        self.shared.admit(table.number, key, &mut self.batch.touched)
    }

    /// After an event: publishes how far the stream is, and applies the batch if it is due.
    fn advance(&mut self, replica: &Replica, idle: Option<LogPosition>) -> Result<(), Error> {
        let progress = replica.progress();
        self.is_within = !progress.is_between_transactions();
        if self.is_within {
            return Ok(());
        }
        let log = idle.unwrap_or_else(|| progress.boundary.clone());
        let wanted = self.shared.update(|state| {
            if log >= state.delivered {
                state.delivered.clone_from(&log);
            }
            std::mem::take(&mut state.flush_wanted)
        });
        let is_full = !self.batch.is_empty() && (wanted || self.batch.is_full(&self.settings.batch));
        let is_due = is_full || self.writer.is_open();
        if is_due {
            let position = self.position(progress, log);
            return self.flush(position);
        }
        if self.batch.is_empty() {
            self.nothing_to_apply(replica, log)?;
        }
        Ok(())
    }

    /// The position that the target reaches once everything that the stream has delivered is applied.
    fn position(&self, progress: &Progress, log: LogPosition) -> Position {
        match self.shared.tracking {
            Tracking::Gtids => Position { gtids: progress.mysql.clone(), log, row: None },
            Tracking::Positions | Tracking::Snapshots => {
                Position { gtids: GtidSet::default(), log, row: self.shared.lock().begun.row().cloned() }
            }
        }
    }

    /// If no changes wait to be applied, the target already has everything that the stream has delivered.
    fn nothing_to_apply(&mut self, replica: &Replica, log: LogPosition) -> Result<(), Error> {
        let mut position = self.position(replica.progress(), log);
        let tracking = self.shared.tracking;
        let known = self.shared.update(|state| {
            let known = state.applied.covers(&position, tracking);
            if position.log < state.applied.log {
                position.log.clone_from(&state.applied.log);
            }
            state.applied.clone_from(&position);
            state.applied_time = self.time;
            known
        });
        if !known && self.stored.elapsed() > STORE_POSITION {
            return self.flush(position);
        }
        Ok(())
    }

    fn flush_within(&mut self) -> Result<(), Error> {
        if !self.batch.in_order.is_empty() || self.writer.is_open() {
            self.writer.apply_part(&self.batch)?;
            let changes = self.batch.changes;
            self.batch.forget_changes();
            self.shared.update(|state| state.applied_rows = state.applied_rows.saturating_add(changes));
            return Ok(());
        }
        let position = self.shared.lock().applied.clone();
        self.flush(position)
    }

    fn flush(&mut self, position: Position) -> Result<(), Error> {
        self.writer.apply(&self.batch, &position)?;
        let changes = std::mem::take(&mut self.batch).changes;
        self.stored = std::time::Instant::now();
        self.shared.update(|state| {
            state.applied_rows = state.applied_rows.saturating_add(changes);
            state.applied_time = self.time;
            state.applied = position;
        });
        Ok(())
    }
}

/// Settings of a replica's connection to the source.
pub(crate) const fn replica_settings(server_id: u32) -> binlog::replica::Settings {
    binlog::replica::Settings { server_id, heartbeat: HEARTBEAT, limits: LIMITS }
}

/// The end of the log, if the event is a heartbeat, which a server sends when it has nothing else.
pub(crate) fn idle_position(event: &Event<'_>) -> Option<LogPosition> {
    let Body::Heartbeat(heartbeat) = &event.body else { return None };
    Some(LogPosition { file: String::from_utf8_lossy(heartbeat.file).into_owned(), offset: heartbeat.position })
}

/// The error for an event that a fault ends.
pub(crate) fn damaged(progress: &Progress, fault: Fault) -> binlog::Error {
    let LogPosition { file, offset } = progress.position.clone();
    binlog::Error::Stream { file, position: offset, fault }
}

/// Why an event cannot be followed, no matter which table it concerns.
pub(crate) fn obstacle(event: &Event<'_>) -> Option<&'static str> {
    match &event.body {
        Body::Incident(_) => Some("the log lacks changes (an incident)"),
        // A rows event without rows only ends a statement.
        Body::Rows(rows) if rows.table.is_none() && rows.changes().is_err() => Some("rows of an unknown table"),
        Body::Other(_) if event.header.flags & EventHeader::IGNORABLE == 0 => Some("an event of an unknown type"),
        _ => None,
    }
}

/// What a change of a table that is copied whole does at the target. An update that is longer than `longest` bytes is made of a
/// deletion and an insertion, unless foreign keys change other tables with it.
fn operations(
    table: &MovedTable,
    change: &RowChange<'_>,
    (cascades, longest): (bool, usize),
    doubles: WholeDoubles,
) -> Result<Vec<Operation>, (String, NotWritable)> {
    let insert = |row: &Row<'_>| batch::image(table, row, doubles, longest).map(Operation::Insert);
    Ok(match (&change.before, &change.after) {
        (None, None) => Vec::new(),
        (None, Some(after)) => vec![insert(after)?],
        (Some(before), None) => {
            vec![Operation::Delete { condition: row_condition(table, before, doubles)?, updates: false }]
        }
        (Some(before), Some(after)) => {
            let (condition, assignments) =
                (row_condition(table, before, doubles)?, batch::assignments(table, after, doubles)?);
            if !cascades && condition.len().saturating_add(assignments.len()) > longest {
                vec![Operation::Delete { condition, updates: true }, insert(after)?]
            } else {
                vec![Operation::Update { assignments, condition }]
            }
        }
    })
}

/// The error for a value that cannot be written to the target.
fn not_writable(table: &MovedTable, at: &str) -> impl FnOnce((String, NotWritable)) -> Error {
    let (table, position) = (table.shown.clone(), at.to_owned());
    move |(column, why)| Error::Change { table, column, position, why }
}

fn gap(what: &'static str, at: &str) -> Error {
    Error::LogGap { what, position: at.to_owned() }
}

/// The error for a stream that ended because the server stopped.
pub(crate) const fn lost() -> binlog::Error {
    binlog::Error::Server(server::Error::Lost { phase: server::Phase::BinaryLog })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing;

    /// The bytes of an event with this type and these flags.
    fn bytes(kind: u8, flags: u16, content: &[u8]) -> Vec<u8> {
        let length = u32::try_from(content.len()).unwrap().saturating_add(19);
        let mut event = vec![0, 0, 0, 0, kind, 1, 0, 0, 0];
        event.extend(length.to_le_bytes());
        event.extend([0; 4]);
        event.extend(flags.to_le_bytes());
        event.extend(content);
        event
    }

    fn found(kind: u8, flags: u16, content: &[u8]) -> Option<&'static str> {
        obstacle(&Decoder::new(LIMITS).decode_inside(&bytes(kind, flags, content)).unwrap())
    }

    #[test]
    fn a_long_update_may_not_miss_its_row() {
        let table = MovedTable::new(0, &testing::table("t"));
        let row = || Some(vec![Some(Value::Null)]);
        let made =
            |change: RowChange<'_>, longest| operations(&table, &change, (false, longest), WholeDoubles::AsIntegers);
        let update = made(RowChange { before: row(), after: row() }, 0).unwrap();
        assert!(matches!(update.as_slice(), [Operation::Delete { updates: true, .. }, Operation::Insert(_)]));
        let delete = made(RowChange { before: row(), after: None }, 0).unwrap();
        assert!(matches!(delete.as_slice(), [Operation::Delete { updates: false, .. }]));
    }

    #[test]
    fn nothing_unknown_is_skipped() {
        const WRITE_ROWS: u8 = 30;
        const EXECUTE_LOAD_QUERY: u8 = 18;
        assert_eq!(found(99, 0, b"?"), Some("an event of an unknown type"));
        assert_eq!(found(99, 0x80, b"?"), None);
        assert_eq!(found(EXECUTE_LOAD_QUERY, 0, b""), Some("an event of an unknown type"));
        // Table number (6 bytes), flags, length of additional data (none), number of columns, bitmap of present
        // columns.
        let end_of_statement = [9, 0, 0, 0, 0, 0, 1, 0, 2, 0, 1, 1];
        assert_eq!(found(WRITE_ROWS, 0, &end_of_statement), None);
        assert_eq!(found(WRITE_ROWS, 0, &[&end_of_statement[..], &[0, 5]].concat()), Some("rows of an unknown table"));
    }
}
