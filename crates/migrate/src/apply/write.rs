//! Writes a batch to the target, together with the log position after it, in one transaction.

use server::Connection;

use super::batch::{ChangeBatch, Images};
use crate::{
    Error, Server, Side, collision, link, log_file::LogFile, moved_table::MovedTable, position::Position, state,
};

/// Length in bytes after which a statement ends. Servers accept at least 16 MiB by default (`max_allowed_packet`).
const STATEMENT_BYTES: usize = 1 << 20;
/// Largest number of rows in a statement: servers limit the memory for a condition with many alternatives.
const ROWS: usize = 1000;

/// Applies batches over a connection to the target.
#[derive(Debug)]
pub(crate) struct Writer<'m> {
    target: Connection,
    tables: &'m [MovedTable],
    epoch: u64,
}

impl<'m> Writer<'m> {
    pub(crate) fn open(server: &Server, tables: &'m [MovedTable], epoch: u64) -> Result<Self, Error> {
        Ok(Self { target: link::target(server)?, tables, epoch })
    }

    /// Applies a batch. The target then has everything before `position`.
    ///
    /// # Errors
    /// [`Error::Server`], [`Error::ApplyWarnings`]. Either the whole batch was applied or nothing.
    pub(crate) fn apply(&mut self, batch: &ChangeBatch, position: &Position) -> Result<(), Error> {
        collision::repeat(self, |this| &mut this.target, |this| this.transaction(batch, position))
    }

    /// Stores which file of the source's log is read.
    pub(crate) fn store_log_file(&mut self, file: &LogFile) -> Result<(), Error> {
        let store = |this: &mut Self| {
            this.send(b"START TRANSACTION")?;
            state::require_epoch(&mut this.target, this.epoch)?;
            this.send(state::store_log_file(file).as_bytes())?;
            this.send(b"COMMIT").map(drop)
        };
        collision::repeat(self, |this| &mut this.target, store)
    }

    fn transaction(&mut self, batch: &ChangeBatch, position: &Position) -> Result<(), Error> {
        self.send(b"START TRANSACTION")?;
        state::require_epoch(&mut self.target, self.epoch)?;
        // Tables in a fixed order, so that two transactions do not deadlock.
        let mut numbers: Vec<_> = batch.tables.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            if let (Some(table), Some(images)) = (self.tables.get(number), batch.tables.get(&number)) {
                self.table(table, images)?;
            }
        }
        for (table, chunk) in &batch.touched {
            self.send(state::mark_touched(*table, *chunk).as_bytes())?;
        }
        let stored =
            self.target.execute(state::store_position(position).as_bytes()).map_err(Error::at(Side::Target))?;
        if stored.affected_rows == 0 {
            return Err(Error::State { what: "position" });
        }
        self.send(b"COMMIT").map(drop)
    }

    /// Deletes rows first: a row that is stored may have taken over a unique value of a deleted one.
    fn table(&mut self, table: &MovedTable, images: &Images) -> Result<(), Error> {
        let mut rows: Vec<_> = images.iter().collect();
        rows.sort_by_key(|(key, _)| *key);
        let gone: Vec<_> = rows.iter().filter(|(_, image)| image.is_none()).map(|(key, _)| *key).collect();
        for keys in gone.chunks(ROWS) {
            let each: Vec<_> = keys.iter().map(|key| format!("({})", table.key.equals(key))).collect();
            self.send(format!("DELETE FROM {} WHERE {}", table.quoted, each.join(" OR ")).as_bytes())?;
        }
        let head = format!("REPLACE INTO {} ({}) VALUES ", table.quoted, table.column_list()).into_bytes();
        let mut statement = head.clone();
        for image in rows.iter().filter_map(|(_, image)| image.as_ref()) {
            if statement.len() > head.len() {
                statement.push(b',');
            }
            statement.extend_from_slice(image);
            if statement.len() >= STATEMENT_BYTES {
                self.store(table, &statement)?;
                statement.clone_from(&head);
            }
        }
        if statement.len() > head.len() { self.store(table, &statement) } else { Ok(()) }
    }

    fn store(&mut self, table: &MovedTable, statement: &[u8]) -> Result<(), Error> {
        match self.send(statement)? {
            0 => Ok(()),
            warnings => Err(Error::ApplyWarnings { table: table.shown.clone(), warnings }),
        }
    }

    /// Executes a statement and returns the number of warnings.
    fn send(&mut self, statement: &[u8]) -> Result<u16, Error> {
        let executed = self.target.execute(statement).map_err(Error::at(Side::Target))?;
        Ok(executed.warnings)
    }
}
