//! Loads a chunk into the target, and marks it as loaded in the same transaction.

use std::{thread::sleep, time::Duration};

use server::{Connection, Executed};

use super::{gate::State, read::Content};
use crate::{End, Error, Side, apply::write::collided, link, shared::Shared, state};

/// Attempts at a transaction that collides with the applied changes.
const TRIES: u32 = 20;

/// A thread that loads.
pub(crate) struct Loader<'m> {
    target: Connection,
    shared: &'m Shared,
}

impl<'m> Loader<'m> {
    pub(crate) fn open(end: &End, shared: &'m Shared) -> Result<Self, Error> {
        Ok(Self { target: link::target(end)?, shared })
    }

    /// Loads a chunk. Its changes are applied from now on.
    ///
    /// # Errors
    /// [`Error::Load`] if its range was not empty, or the target changed a value: nothing was stored then.
    pub(crate) fn load(&mut self, content: &Content<'_>) -> Result<(), Error> {
        let mut tries = TRIES;
        loop {
            tries = tries.saturating_sub(1);
            match self.transaction(content) {
                Err(error) if tries > 0 && collided(&error) => {
                    self.query("ROLLBACK")?;
                    sleep(Duration::from_millis(20));
                }
                Err(error) => {
                    drop(self.query("ROLLBACK"));
                    return Err(error);
                }
                Ok(()) => break,
            }
        }
        let bytes = u64::try_from(content.file.len()).unwrap_or(u64::MAX);
        self.shared.update(|following| {
            if let Some(gate) = following.gates.get_mut(content.table.number) {
                gate.set(content.chunk.number, State::Loaded);
            }
            let (rows_before, bytes_before) = following.copied;
            following.copied = (rows_before.saturating_add(content.rows), bytes_before.saturating_add(bytes));
        });
        Ok(())
    }

    fn transaction(&mut self, content: &Content<'_>) -> Result<(), Error> {
        self.query("START TRANSACTION")?;
        if content.rows > 0 {
            let loaded = self.target.load_data(content.table.load().as_bytes(), &content.file);
            self.check(content, loaded.map_err(Error::of(Side::Target))?)?;
        }
        let Content { table, chunk, rows, file } = content;
        self.query(&state::mark_loaded(table.number, chunk, *rows, file.len()))?;
        self.query("COMMIT")
    }

    /// `LOAD DATA LOCAL` turns duplicates and truncated values into warnings, even in strict mode.
    fn check(&mut self, content: &Content<'_>, loaded: Executed) -> Result<(), Error> {
        if loaded.affected_rows == content.rows && loaded.warnings == 0 {
            return Ok(());
        }
        let warnings = self.target.query("SHOW WARNINGS LIMIT 1").map_err(Error::of(Side::Target))?;
        // Not its message, which can have a value.
        let code = warnings.value(0, "Code").and_then(|code| code.parse().ok()).unwrap_or(0);
        Err(Error::Load {
            table: content.table.shown.clone(),
            sent: content.rows,
            stored: loaded.affected_rows,
            warnings: loaded.warnings,
            code,
        })
    }

    fn query(&mut self, sql: &str) -> Result<(), Error> {
        self.target.query(sql).map(drop).map_err(Error::of(Side::Target))
    }
}
