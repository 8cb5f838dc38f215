//! Which moved tables a transaction of a binary log changes.

use std::collections::BTreeSet;

use binlog::{
    Body, Decoder, Event, Fault,
    event::{Payload, Query, Rows},
};

use crate::{
    STATE_SCHEMA,
    lexer::{Syntax, Word, first_words, words},
    moved_table::MovedTable,
    statement::{self, Kind},
    stream::{LIMITS, obstacle},
    xa::Prepared,
};

/// What one transaction has changed.
#[derive(Debug, Default)]
pub(crate) struct TableChanges {
    /// Numbers of the moved tables.
    tables: BTreeSet<usize>,
    /// Whether it may have changed others, too.
    any: bool,
    /// Whether it has changed the state, too.
    ours: bool,
    /// The first moved table that the current statement has changed.
    changed: Option<usize>,
    /// Whether a statement has changed several moved tables. No statement of a migration does, but triggers at the target
    /// do when a migration writes to their table.
    is_triggered: bool,
}

impl TableChanges {
    /// Whether it is not a transaction of a migration, and changes a moved table.
    pub(crate) fn is_foreign(&self) -> bool {
        self.concerns_us() && (self.is_triggered || !self.ours)
    }

    /// Whether it changes a moved table.
    fn concerns_us(&self) -> bool {
        self.any || !self.tables.is_empty()
    }

    /// The names of the changed tables, with commas.
    pub(crate) fn names(&self, tables: &[MovedTable]) -> String {
        let names = self.tables.iter().filter_map(|number| tables.get(*number)).map(|moved| moved.shown.as_str());
        names.chain(self.any.then_some("a table that its log does not name")).collect::<Vec<_>>().join(", ")
    }

    /// Notes what an event changes.
    ///
    /// # Errors
    /// [`Fault`]: a compressed transaction is damaged.
    pub(crate) fn note(
        &mut self,
        event: &Event<'_>,
        tables: &[MovedTable],
        prepared: &mut Prepared,
    ) -> Result<(), Fault> {
        self.any |= obstacle(event).is_some();
        match &event.body {
            Body::Rows(rows) => self.rows(rows, tables),
            Body::Query(query) => self.statement(query, tables, prepared),
            Body::Payload(payload) => self.compressed(payload, tables, prepared)?,
            // Its rows become visible only with `XA COMMIT`, which does not name them.
            Body::XaPrepare(prepare) if !self.concerns_us() => prepared.note(prepare),
            _ => {}
        }
        Ok(())
    }

    fn rows(&mut self, rows: &Rows<'_>, tables: &[MovedTable]) {
        if let Some(map) = &rows.table {
            self.ours |= map.database == STATE_SCHEMA;
            let is_it = |moved: &&MovedTable| moved.table.schema == map.database && moved.table.name == map.name;
            if let Some(moved) = tables.iter().find(is_it) {
                self.tables.insert(moved.number);
                let first = *self.changed.get_or_insert(moved.number);
                // A migration lets the target's foreign keys change the tables of a group; for all other changes it
                // switches them off.
                let is_cascade = moved.group.contains(&first) && rows.checks_foreign_keys();
                self.is_triggered |= first != moved.number && !is_cascade;
            }
        }
        if rows.ends_statement() {
            self.changed = None;
        }
    }

    fn statement(&mut self, query: &Query<'_>, tables: &[MovedTable], prepared: &mut Prepared) {
        let syntax = Syntax::from_variables(&query.variables());
        let Some(words) = words(&query.statement, syntax) else {
            let first = first_words(&query.statement, syntax);
            self.any |= !statement::is_elsewhere(&first, &query.statement, tables);
            return;
        };
        match statement::kind(&words) {
            Kind::XaCommit => self.any |= !prepared.take(&query.statement),
            Kind::Rows | Kind::Definition if !statement::keeps_rows(&words) => self.changes(&words, query, tables),
            _ => {}
        }
    }

    /// Notes the table that a statement changes.
    fn changes(&mut self, words: &[Word], query: &Query<'_>, tables: &[MovedTable]) {
        let Some(moved) = statement::concerned(words, query.database, tables) else { return };
        // The cut-over sets the counters.
        let is_counter = query.statement.starts_with(moved.set_counter("").as_bytes());
        if !is_counter {
            self.tables.insert(moved.number);
        }
    }

    fn compressed(
        &mut self,
        payload: &Payload<'_>,
        tables: &[MovedTable],
        prepared: &mut Prepared,
    ) -> Result<(), Fault> {
        let mut decoder = Decoder::new(LIMITS);
        let mut events = payload.events(&LIMITS)?;
        while let Some(bytes) = events.next_event()? {
            let event = decoder.decode_inside(bytes)?;
            self.note(&event, tables, prepared)?;
        }
        Ok(())
    }
}
