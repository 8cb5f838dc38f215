//! Follows the source's log: passes changes of rows through the gates, and applies them in windows.

use std::{collections::HashMap, sync::Arc, time::Duration};

use binlog::{
    Body, Event, Limits,
    event::{Query, RowChange, Rows, TableMap},
    replica::{LogPosition, Replica, Start},
};

use crate::{
    End, Error,
    apply::{window, window::Window, write::Writer},
    copy::table::MovedTable,
    key::Key,
    link,
    position::{self, Position},
    settings::{Settings, WindowLimits},
    shared::Shared,
    statement::{self, Kind},
};

/// Time between heartbeats, which tell the end of an idle log.
const HEARTBEAT: Duration = Duration::from_millis(200);
/// Pause before the next attempt to connect, and number of attempts.
const RECONNECT: (Duration, u32) = (Duration::from_secs(1), 30);
/// Longest event.
const EVENT_BYTES: u64 = 1 << 30;
/// Time after which the position is stored although nothing was applied.
const STORE_POSITION: Duration = Duration::from_secs(1);

/// The thread that follows.
pub(crate) struct Follower<'m> {
    settings: &'m Settings,
    shared: &'m Shared,
    tables: &'m [MovedTable],
    by_name: HashMap<(&'m str, &'m str), &'m MovedTable>,
    writer: Writer<'m>,
    window: Window,
    server_id: u32,
    /// Commit time of the newest transaction.
    time: u32,
    /// Whether the next rows belong to an XA transaction.
    xa: bool,
    stored: std::time::Instant,
}

impl<'m> Follower<'m> {
    pub(crate) fn open(
        settings: &'m Settings,
        shared: &'m Shared,
        tables: &'m [MovedTable],
        server_id: u32,
    ) -> Result<Self, Error> {
        let by_name = tables.iter().map(|it| ((it.table.schema.as_str(), it.table.name.as_str()), it)).collect();
        let writer = Writer::open(&settings.target, tables, shared.epoch)?;
        let (window, stored) = (Window::default(), std::time::Instant::now());
        Ok(Self { settings, shared, tables, by_name, writer, window, server_id, time: 0, xa: false, stored })
    }

    /// Follows until the run ends. A lost connection to the source is opened again.
    ///
    /// # Errors
    /// [`Error`].
    pub(crate) fn follow(&mut self) -> Result<(), Error> {
        let mut attempts = RECONNECT.1;
        loop {
            let before = self.shared.lock().applied.gtids.clone();
            let ended = self.connect().and_then(|mut replica| self.stream(&mut replica));
            match ended {
                Err(error) if error.is_transient() && matches!(error, Error::Stream(_)) => {
                    let progressed = self.shared.lock().applied.gtids != before;
                    attempts = if progressed { RECONNECT.1 } else { attempts.saturating_sub(1) };
                    if attempts == 0 {
                        return Err(error);
                    }
                    // What was not applied is sent again.
                    self.window = Window::default();
                    self.shared.sleep(RECONNECT.0)?;
                }
                ended => return ended,
            }
        }
    }

    fn connect(&self) -> Result<Replica, Error> {
        let start = Start::MySql(self.shared.lock().applied.gtids.clone());
        let limits = Limits { event_bytes: EVENT_BYTES, ..Limits::default() };
        let settings = binlog::replica::Settings { server_id: self.server_id, heartbeat: HEARTBEAT, limits };
        let End { target, .. } = &self.settings.source;
        Replica::connect(target, &link::options(&self.settings.source), &start, &settings).map_err(Error::Stream)
    }

    fn stream(&mut self, replica: &mut Replica) -> Result<(), Error> {
        while !self.shared.has_ended() {
            let at = position::shown(&replica.progress().position);
            let Some(event) = replica.next_event().map_err(Error::Stream)? else {
                return Err(Error::Stream(lost()));
            };
            let idle = self.event(&event, &at)?;
            let inside = compressed(&event)?;
            for event in &inside {
                let event = replica.decoder().decode_inside(event);
                let event = event.map_err(|_| Error::LogGap { what: "a damaged transaction", position: at.clone() })?;
                self.event(&event, &at)?;
            }
            self.advance(replica, idle)?;
        }
        Ok(())
    }

    /// Takes an event. Returns the position that a heartbeat tells.
    fn event(&mut self, event: &Event<'_>, at: &str) -> Result<Option<LogPosition>, Error> {
        let gap = |what| Err(Error::LogGap { what, position: at.to_owned() });
        match &event.body {
            Body::Gtid(transaction) => {
                let Some(gtid) = &transaction.gtid else {
                    return Err(Error::Anonymous { position: at.to_owned() });
                };
                self.time = event.header.timestamp;
                // Before any of its rows is dropped: chunks that begin from now on must see the transaction.
                let (uuid, tag, number) = (gtid.uuid.to_string(), &gtid.tag, gtid.number);
                self.shared.update(|following| following.begun.insert(&uuid, tag, number));
            }
            Body::Rows(rows) => self.rows(rows, at)?,
            Body::Query(query) => self.statement(query, at)?,
            Body::Incident(_) => return gap("the log lacks changes (an incident)"),
            Body::XaPrepare(_) => self.xa = false,
            Body::Heartbeat(heartbeat) => {
                let file = String::from_utf8_lossy(heartbeat.file).into_owned();
                return Ok(Some(LogPosition { file, position: heartbeat.position }));
            }
            _ => {}
        }
        Ok(None)
    }

    fn statement(&mut self, query: &Query<'_>, at: &str) -> Result<(), Error> {
        let words = statement::words(&query.statement);
        let kind = statement::kind(&words);
        self.xa |= kind == Kind::Xa;
        if matches!(kind, Kind::Transaction | Kind::Harmless | Kind::Xa | Kind::XaEnd) {
            return Ok(());
        }
        let position = at.to_owned();
        let Some(table) = statement::concerned(&words, query.database, self.tables) else { return Ok(()) };
        let table = table.shown.clone();
        match kind {
            Kind::Rows => Err(Error::StatementFormat { table, position }),
            _ => Err(Error::DefinitionChanged { table, position, statement: statement::shown(&query.statement) }),
        }
    }

    fn rows(&mut self, rows: &Rows<'_>, at: &str) -> Result<(), Error> {
        let Some(map) = &rows.table else { return Ok(()) };
        let Some(table) = self.moved(map, at)? else { return Ok(()) };
        if self.xa {
            // They are visible only after XA COMMIT, which may come much later.
            return Err(Error::LogGap { what: "an XA transaction, which is not supported,", position: at.to_owned() });
        }
        let damaged = || Error::LogGap { what: "damaged rows", position: at.to_owned() };
        for change in rows.changes().map_err(|_| damaged())? {
            self.change(table, &change.map_err(|_| damaged())?, at)?;
            // A transaction can be larger than a window. Its rows are applied, but the position stays before it.
            if self.window.is_full(&WindowLimits { age: Duration::MAX, ..self.settings.window }) {
                self.flush_within()?;
            }
        }
        Ok(())
    }

    fn moved(&self, map: &Arc<TableMap>, at: &str) -> Result<Option<&'m MovedTable>, Error> {
        let Some(table) = self.by_name.get(&(map.database.as_str(), map.name.as_str())) else { return Ok(None) };
        let (found, expected) = (map.columns.len(), table.table.columns.len());
        if found != expected {
            return Err(Error::Columns { table: table.shown.clone(), found, expected, position: at.to_owned() });
        }
        Ok(Some(table))
    }

    /// A changed identity is a row that is gone and another one.
    fn change(&mut self, table: &MovedTable, change: &RowChange<'_>, at: &str) -> Result<(), Error> {
        let incomplete = || Error::LogGap { what: "a row without its key (binlog_row_image)", position: at.to_owned() };
        let key = |row: &Option<binlog::event::Row<'_>>| match row {
            None => Ok(None),
            Some(row) => table.key.of_image(row).map(Some).ok_or_else(incomplete),
        };
        let (before, after) = (key(&change.before)?, key(&change.after)?);
        if let Some(before) = before.filter(|before| Some(before) != after.as_ref())
            && self.admit(table, &before)?
        {
            self.window.delete(table.number, before);
        }
        if let (Some(after), Some(row)) = (after, &change.after)
            && self.admit(table, &after)?
        {
            let image = window::image(table, row).map_err(|(column, why)| Error::Change {
                table: table.shown.clone(),
                column,
                position: at.to_owned(),
                why,
            })?;
            self.window.store(table.number, after, image);
        }
        Ok(())
    }

    fn admit(&mut self, table: &MovedTable, key: &Key) -> Result<bool, Error> {
        self.shared.admit(table.number, key, &mut self.window.touched)
    }

    /// After an event: tells how far the stream is, and applies the window if it is due.
    fn advance(&mut self, replica: &Replica, idle: Option<LogPosition>) -> Result<(), Error> {
        let progress = replica.progress();
        if !progress.is_between_transactions() {
            return Ok(());
        }
        let log = idle.unwrap_or_else(|| progress.boundary.clone());
        let wanted = self.shared.update(|following| {
            if position::has_reached(&log, &following.delivered) {
                following.delivered.clone_from(&log);
            }
            std::mem::take(&mut following.flush_wanted)
        });
        let is_due = !self.window.is_empty() && (wanted || self.window.is_full(&self.settings.window));
        if is_due {
            let position = Position { gtids: progress.mysql.clone(), log };
            return self.flush(position);
        }
        if self.window.is_empty() {
            self.nothing_to_apply(replica, log)?;
        }
        Ok(())
    }

    /// Without changes to apply the target has what the stream has delivered.
    fn nothing_to_apply(&mut self, replica: &Replica, log: LogPosition) -> Result<(), Error> {
        let gtids = &replica.progress().mysql;
        let known = self.shared.update(|following| {
            let known = following.applied.gtids == *gtids;
            if !known {
                following.applied.gtids.clone_from(gtids);
            }
            if position::has_reached(&log, &following.applied.log) {
                following.applied.log.clone_from(&log);
            }
            following.applied_time = self.time;
            known
        });
        if !known && self.stored.elapsed() > STORE_POSITION {
            return self.flush(Position { gtids: gtids.clone(), log });
        }
        Ok(())
    }

    fn flush_within(&mut self) -> Result<(), Error> {
        let position = self.shared.lock().applied.clone();
        self.flush(position)
    }

    fn flush(&mut self, position: Position) -> Result<(), Error> {
        self.writer.apply(&self.window, &position)?;
        let changes = std::mem::take(&mut self.window).changes;
        self.stored = std::time::Instant::now();
        self.shared.update(|following| {
            following.applied_rows = following.applied_rows.saturating_add(changes);
            following.applied_time = self.time;
            following.applied = position;
        });
        Ok(())
    }
}

/// The events of a compressed transaction.
fn compressed(event: &Event<'_>) -> Result<Vec<Vec<u8>>, Error> {
    let Body::Payload(payload) = &event.body else { return Ok(Vec::new()) };
    let damaged = |_| Error::LogGap { what: "a damaged compressed transaction", position: String::new() };
    let mut events = payload.events(&Limits::default()).map_err(damaged)?;
    let mut inside = Vec::new();
    while let Some(event) = events.next_event().map_err(damaged)? {
        inside.push(event.to_vec());
    }
    Ok(inside)
}

/// A server that stops ends the stream.
const fn lost() -> binlog::Error {
    binlog::Error::Server(server::Error::Lost { phase: server::Phase::BinaryLog })
}
