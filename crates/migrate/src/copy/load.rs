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
    /// Whether the session refuses values that a column cannot hold.
    is_strict: bool,
}

impl<'m> Loader<'m> {
    pub(crate) fn open(server: &Server, shared: &'m Shared) -> Result<Self, Error> {
        Ok(Self { target: link::target(server)?, shared, is_strict: true })
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
            if loaded.affected_rows != content.rows || !is_exact(content, loaded) {
                self.replace(content, loaded)?;
            }
            self.set_strict(true)?;
            self.read_back(content)?;
        }
        self.query(&state::mark_loaded(content.table.number, &content.chunk, content.size()))?;
        self.query("COMMIT")
    }

    /// Begins a transaction.
    pub(super) fn begin_transaction(&mut self) -> Result<(), Error> {
        self.set_strict(true)?;
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
        if loaded.affected_rows != part.rows || !is_exact(part, loaded) {
            let warning = self.first_warning(part, loaded)?;
            return Err(refused(part, loaded, warning));
        }
        self.set_strict(true)?;
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
        let warning = self.first_warning(content, plain)?;
        let is_left_out = warning.is_not_kept(plain) && plain.affected_rows < content.rows;
        if warning.code != error_code::DUPLICATE_ENTRY && !is_left_out {
            return Err(refused(content, plain, warning));
        }
        self.query("ROLLBACK")?;
        self.begin(content)?;
        let loaded = self.send(content, "REPLACE ")?;
        if loaded.affected_rows >= content.rows && is_exact(content, loaded) {
            return Ok(());
        }
        let warning = self.first_warning(content, loaded)?;
        Err(refused(content, loaded, warning))
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
        self.set_strict(content.enum_zeros == 0)?;
        let statement = content.table.load(duplicates);
        self.target.load_data(statement.as_bytes(), &content.file).map_err(Error::at(Side::Target))
    }

    /// The first warning; if there are any of another kind, not one of those that an ENUM with the number 0 causes. No code
    /// if the target keeps only such ones, but has warned more often.
    fn first_warning(&mut self, content: &ChunkRows<'_>, loaded: Executed) -> Result<Warning, Error> {
        let rows = self.target.query("SHOW WARNINGS").map_err(Error::at(Side::Target))?;
        let code = |row: usize| rows.value(row, "Code").and_then(|code| code.parse().ok()).unwrap_or(0);
        let codes: Vec<u16> = (0..rows.rows.len()).map(code).collect();
        let Some(row) = first_telling(&codes, content.enum_zeros > 0, loaded) else { return Ok(Warning::default()) };
        let message = rows.value(row, "Message").unwrap_or_default();
        Ok(Warning { code: code(row), column: named_column(content.table, message) })
    }

    /// Sets whether the session refuses values that a column cannot hold, or only warns of them.
    fn set_strict(&mut self, wanted: bool) -> Result<(), Error> {
        if self.is_strict != wanted {
            self.query(link::strictness(wanted))?;
            self.is_strict = wanted;
        }
        Ok(())
    }

    fn query(&mut self, sql: &str) -> Result<(), Error> {
        self.target.query(sql).map(drop).map_err(Error::at(Side::Target))
    }
}

/// A warning of the target. Its message is left out, since it can contain a value.
#[derive(Default)]
struct Warning {
    /// 0 if it is not known.
    code: u16,
    column: Option<String>,
}

impl Warning {
    /// Whether the target has warned, but has not kept this warning.
    const fn is_not_kept(&self, loaded: Executed) -> bool {
        self.code == 0 && loaded.warnings > 0
    }
}

/// The first of the kept warnings that tells why a load is not exact.
fn first_telling(codes: &[u16], has_enum_zeros: bool, loaded: Executed) -> Option<usize> {
    let of_another_kind = codes.iter().position(|code| !has_enum_zeros || *code != error_code::TRUNCATED);
    let are_all_kept = codes.len() >= usize::from(loaded.warnings);
    of_another_kind.or_else(|| (are_all_kept && !codes.is_empty()).then_some(0))
}

/// Whether the target has warned of nothing but ENUMs with the number 0, of each of which it warns once.
fn is_exact(content: &ChunkRows<'_>, loaded: Executed) -> bool {
    u64::from(loaded.warnings) <= content.enum_zeros
}

/// The column that a warning names: as `'name'` or as `` `schema`.`table`.`name` ``.
fn named_column(table: &MovedTable, message: &str) -> Option<String> {
    let texts = |name: &str| [format!("column '{name}' at row "), format!("`{name}` at row ")];
    let is_named = |name: &String| texts(name).iter().any(|text| message.contains(text));
    table.stored().map(|column| column.name.clone()).find(is_named)
}

fn refused(content: &ChunkRows<'_>, loaded: Executed, warning: Warning) -> Error {
    let (table, chunk) = (content.table, &content.chunk);
    let range = [(&chunk.after, "after"), (&chunk.upto, "up to")];
    let range = range.map(|(key, word)| {
        key.as_ref().map_or_else(String::new, |key| format!(" {word} the key {}", table.key.literals(key)))
    });
    Error::Load {
        table: table.shown.clone(),
        range: range.concat(),
        sent: content.rows,
        stored: loaded.affected_rows,
        warnings: loaded.warnings,
        code: warning.code,
        column: warning.column,
    }
}

#[cfg(test)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;
    use crate::{
        Table,
        chunk_map::{Chunk, State},
        preflight::testing,
    };

    #[test]
    fn a_warning_names_its_column_and_no_value() {
        let columns = ["id", "e", "price"].map(testing::column).into();
        let table = MovedTable::new(0, &Table { columns, ..testing::table("entries") });
        for (message, column) in [
            ("Data truncated for column 'e' at row 7", Some("e")),
            ("Incorrect integer value: 'e' for column `shop`.`entries`.`price` at row 1", Some("price")),
            ("Duplicate entry '7' for key 'entries.PRIMARY'", None),
            ("Data truncated for column 'other' at row 1", None),
        ] {
            assert_eq!(named_column(&table, message).as_deref(), column, "{message}");
        }
    }

    #[test]
    fn a_warning_that_was_not_kept_is_not_named() {
        const TRUNCATED: u16 = error_code::TRUNCATED;
        let first =
            |codes: &[u16], zeros, warnings| first_telling(codes, zeros, Executed { affected_rows: 3, warnings });
        assert_eq!(first(&[TRUNCATED, TRUNCATED, error_code::DUPLICATE_ENTRY], true, 3), Some(2));
        assert_eq!(first(&[TRUNCATED, TRUNCATED], true, 2), Some(0));
        assert_eq!(first(&[TRUNCATED, TRUNCATED], true, 3), None);
        assert_eq!(first(&[TRUNCATED], false, 3), Some(0));
        assert_eq!(first(&[], false, 0), None);
        assert!(Warning::default().is_not_kept(Executed { affected_rows: 3, warnings: 3 }));
    }

    #[test]
    fn a_refusal_names_the_range() {
        let table = MovedTable::new(0, &testing::table("orders"));
        let key = |text: &[u8]| table.key.parse([text]);
        let chunk = Chunk { number: 0, after: key(b"12"), upto: key(b"40"), state: State::InFlight };
        let file = Zeroizing::new(Vec::new());
        let content = ChunkRows { table: &table, chunk, rows: 3, enum_zeros: 0, file };
        let warning = Warning { code: error_code::TRUNCATED, column: Some("e".to_owned()) };
        let error = refused(&content, Executed { affected_rows: 3, warnings: 1 }, warning);
        assert_eq!(
            error.to_string(),
            "shop.orders: 3 rows after the key 12 up to the key 40 were sent, 3 stored, with 1 warnings \
             (first code 1265 for column e)"
        );
    }
}
