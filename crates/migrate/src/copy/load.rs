//! Loads a chunk into the target, and marks it as loaded in the same transaction.

use std::ops::ControlFlow;

use server::{Connection, Executed, error_code};

use super::{read::ChunkRows, read_back::SentRows};
use crate::{
    Error, Server, Side, chunk_map::LoadedChunk, collision, key::Key, link, moved_table::MovedTable,
    position::Position, shared::Shared, state,
};

/// Loads chunks over a connection to the target.
pub(crate) struct Loader<'m> {
    target: Connection,
    shared: &'m Shared,
}

impl<'m> Loader<'m> {
    pub(crate) fn open(server: &Server, shared: &'m Shared) -> Result<Self, Error> {
        Ok(Self { target: link::target(server)?, shared })
    }

    /// The connection to the target.
    pub(super) const fn target(&mut self) -> &mut Connection {
        &mut self.target
    }

    /// Loads a chunk. From then on, changes of its rows are applied.
    ///
    /// # Errors
    /// [`Error::NotEmpty`] if the target already has rows in its range, [`Error::Load`] if the target changed a value.
    /// Nothing was stored then.
    pub(crate) fn load(&mut self, content: &ChunkRows<'_>) -> Result<(), Error> {
        collision::repeat(self, |this| &mut this.target, |this| this.transaction(content))?;
        self.shared.update(|state| state.loaded(content.table.number, content.chunk.number, content.size()));
        Ok(())
    }

    fn transaction(&mut self, content: &ChunkRows<'_>) -> Result<(), Error> {
        self.begin(content)?;
        if content.rows > 0 {
            let loaded = self.send(content, "")?;
            if loaded.affected_rows != content.rows || loaded.warnings != 0 {
                self.replace(content, loaded)?;
            }
            self.read_back(content)?;
        }
        self.query(&state::mark_loaded(content.table.number, &content.chunk, content.size()))?;
        self.query("COMMIT")
    }

    /// Begins a transaction.
    pub(super) fn begin_transaction(&mut self) -> Result<(), Error> {
        self.query("START TRANSACTION")?;
        state::require_epoch(&mut self.target, self.shared.epoch)
    }

    /// Loads a part of a table that is copied whole.
    ///
    /// # Errors
    /// [`Error::Load`] and [`Error::ReadBack`] if the target changed a value; [`Error::Stopped`].
    pub(super) fn load_part(&mut self, part: &ChunkRows<'_>) -> Result<(), Error> {
        if self.shared.has_ended() {
            return Err(Error::Stopped);
        }
        if part.rows == 0 {
            return Ok(());
        }
        let loaded = self.send(part, "")?;
        if loaded.affected_rows != part.rows || loaded.warnings != 0 {
            let code = self.first_warning()?;
            return Err(refused(part, loaded, code));
        }
        // Without a key, the rows of a part cannot be told from those of other parts.
        if part.table.has_key() { self.read_back(part) } else { Ok(()) }
    }

    /// Marks the chunks of a table as loaded from a snapshot at this position.
    pub(super) fn mark_whole(
        &mut self,
        table: &MovedTable,
        chunks: &[LoadedChunk],
        snapshot: &Position,
    ) -> Result<(), Error> {
        for (chunk, size) in chunks {
            self.query(&state::mark_loaded(table.number, chunk, *size))?;
        }
        self.query(&state::store_snapshot(table.number, snapshot))
    }

    /// Commits the tables that were loaded whole.
    pub(super) fn commit(&mut self) -> Result<(), Error> {
        self.query("COMMIT")
    }

    /// Begins a transaction, and checks that the target has no rows in the range.
    fn begin(&mut self, content: &ChunkRows<'_>) -> Result<(), Error> {
        self.begin_transaction()?;
        let ChunkRows { table, chunk, .. } = content;
        self.require_no_rows(table, chunk.after.as_ref(), chunk.upto.as_ref())
    }

    /// Checks that the target has no rows of a range.
    ///
    /// # Errors
    /// [`Error::NotEmpty`].
    pub(super) fn require_no_rows(
        &mut self,
        table: &MovedTable,
        after: Option<&Key>,
        upto: Option<&Key>,
    ) -> Result<(), Error> {
        let range = table.key.range(after, upto);
        let sql = format!("SELECT 1 FROM {} WHERE {range} LIMIT 1", table.by_key);
        let found = self.target.query(&sql).map_err(Error::at(Side::Target))?;
        if found.rows.is_empty() { Ok(()) } else { Err(Error::NotEmpty { table: table.shown.clone() }) }
    }

    /// Loads a chunk that collides with a row outside of it: that row has given up a unique value at the source, but
    /// the change was not applied yet. Replaces the row; its newer image follows in the log.
    fn replace(&mut self, content: &ChunkRows<'_>, plain: Executed) -> Result<(), Error> {
        let code = self.first_warning()?;
        if code != error_code::DUPLICATE_ENTRY {
            return Err(refused(content, plain, code));
        }
        self.query("ROLLBACK")?;
        self.begin(content)?;
        let loaded = self.send(content, "REPLACE ")?;
        if loaded.affected_rows >= content.rows && loaded.warnings == 0 {
            return Ok(());
        }
        let code = self.first_warning()?;
        Err(refused(content, loaded, code))
    }

    /// Compares the stored rows with those that were sent, before they count as copied.
    fn read_back(&mut self, content: &ChunkRows<'_>) -> Result<(), Error> {
        let ChunkRows { table, chunk, file, .. } = content;
        let mut sent = SentRows::new(table, file);
        let mut differs = None;
        let select = table.select(chunk.after.as_ref(), chunk.upto.as_ref());
        let whole = self.target.query_rows(select.as_bytes(), &mut |fields| {
            if sent.is_next(fields) {
                return ControlFlow::Continue(());
            }
            let key = table.key.of_fields(fields, &table.key_fields);
            let key = key.map_or_else(String::new, |key| table.key.literals(&key));
            differs =
                Some(format!("the first row that differs, or is not preceded by the same one, has the key {key}"));
            ControlFlow::Break(())
        });
        whole.map_err(Error::at(Side::Target))?;
        match differs {
            None if sent.is_at_end() => Ok(()),
            found => Err(Error::ReadBack {
                table: table.shown.clone(),
                what: found.unwrap_or_else(|| "the last rows are missing".to_owned()),
            }),
        }
    }

    /// Sends the rows. `LOAD DATA LOCAL` turns duplicates and truncated values into warnings, even in strict mode.
    fn send(&mut self, content: &ChunkRows<'_>, duplicates: &str) -> Result<Executed, Error> {
        let statement = content.table.load(duplicates);
        self.target.load_data(statement.as_bytes(), &content.file).map_err(Error::at(Side::Target))
    }

    /// The error number of the first warning. The message is left out, since it can contain a value.
    fn first_warning(&mut self) -> Result<u16, Error> {
        let warnings = self.target.query("SHOW WARNINGS LIMIT 1").map_err(Error::at(Side::Target))?;
        Ok(warnings.value(0, "Code").and_then(|code| code.parse().ok()).unwrap_or(0))
    }

    fn query(&mut self, sql: &str) -> Result<(), Error> {
        self.target.query(sql).map(drop).map_err(Error::at(Side::Target))
    }
}

fn refused(content: &ChunkRows<'_>, loaded: Executed, code: u16) -> Error {
    Error::Load {
        table: content.table.shown.clone(),
        sent: content.rows,
        stored: loaded.affected_rows,
        warnings: loaded.warnings,
        code,
    }
}
