//! Writes a batch to the target, together with the log position after it, in one transaction.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
};

use server::{Connection, Executed};

use super::batch::{ChangeBatch, ExactChange, Image, Images, Operation, ValueText};
use crate::{
    Error, Server, Side, collision, link, log_file::LogFile, moved_table::MovedTable, position::Position,
    shared::Shared, state,
};

/// Longest text of the rows of a statement, in bytes. A longer row is loaded as a file.
const STATEMENT_BYTES: usize = 1 << 20;
/// Largest number of rows in a statement: servers limit the memory for a condition with many alternatives.
const ROWS: usize = 1000;

/// Applies batches over a connection to the target.
#[derive(Debug)]
pub(crate) struct Writer<'m> {
    target: Connection,
    /// Longest text of the rows of a statement, in bytes.
    statement_bytes: usize,
    tables: &'m [MovedTable],
    shared: &'m Shared,
    /// Tables of which a row has been removed, because another one has its value of a unique key at the target alone.
    replaced: BTreeSet<usize>,
    /// Chunks of such tables, until that is committed.
    touched: Vec<(usize, u64)>,
    /// Whether a part of a transaction is applied, but not committed.
    is_open: bool,
    /// Whether the session checks foreign keys.
    checks_foreign_keys: bool,
    /// Whether the session refuses values that a column cannot hold.
    is_strict: bool,
}

impl<'m> Writer<'m> {
    pub(crate) fn open(server: &Server, tables: &'m [MovedTable], shared: &'m Shared) -> Result<Self, Error> {
        let mut target = link::target(server)?;
        Ok(Self {
            statement_bytes: statement_bytes(&mut target)?,
            target,
            tables,
            shared,
            replaced: BTreeSet::new(),
            touched: Vec::new(),
            is_open: false,
            checks_foreign_keys: false,
            is_strict: true,
        })
    }

    /// Applies a batch, after the parts of [`Self::apply_part`]. The target then has everything before `position`.
    ///
    /// # Errors
    /// [`Error::Server`], [`Error::ApplyWarnings`], [`Error::RowNotFound`]. Either the whole batch was applied or
    /// nothing. After parts, a collision is not repeated: [`Self::roll_back`].
    pub(crate) fn apply(&mut self, batch: &ChangeBatch, position: &Position) -> Result<(), Error> {
        if self.is_open {
            self.changes(batch)?;
            self.commit(batch, position)?;
            self.is_open = false;
            return Ok(());
        }
        collision::repeat(self, |this| &mut this.target, |this| this.transaction(batch, position))
    }

    /// Applies a part of a transaction, and does not commit it: changes of tables that were copied whole must not be
    /// applied twice, so they are committed together with the position after them.
    pub(crate) fn apply_part(&mut self, batch: &ChangeBatch) -> Result<(), Error> {
        if !self.is_open {
            self.is_open = true;
            self.begin()?;
        }
        self.changes(batch)
    }

    /// Longest text of a row or a condition in a statement, in bytes. The server may accept a longer one, or not.
    pub(crate) const fn statement_bytes(&self) -> usize {
        self.statement_bytes
    }

    /// Whether a part of a transaction is applied, but not committed.
    pub(crate) const fn is_open(&self) -> bool {
        self.is_open
    }

    /// Takes back the parts of [`Self::apply_part`].
    pub(crate) fn roll_back(&mut self) -> Result<(), Error> {
        if self.is_open {
            self.send(b"ROLLBACK")?;
            self.is_open = false;
        }
        Ok(())
    }

    /// Stores which file of the source's log is read.
    pub(crate) fn store_log_file(&mut self, file: &LogFile) -> Result<(), Error> {
        let store = |this: &mut Self| {
            this.begin()?;
            this.send(state::store_log_file(file).as_bytes())?;
            this.send(b"COMMIT").map(drop)
        };
        collision::repeat(self, |this| &mut this.target, store)
    }

    fn transaction(&mut self, batch: &ChangeBatch, position: &Position) -> Result<(), Error> {
        self.begin()?;
        self.changes(batch)?;
        self.commit(batch, position)
    }

    fn begin(&mut self) -> Result<(), Error> {
        self.replaced.clear();
        self.check_foreign_keys(false)?;
        self.set_strict(true)?;
        self.send(b"START TRANSACTION")?;
        state::require_epoch(&mut self.target, self.shared.epoch)
    }

    fn changes(&mut self, batch: &ChangeBatch) -> Result<(), Error> {
        // Tables in a fixed order, so that two transactions do not deadlock.
        let mut numbers: Vec<_> = batch.tables.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            if let (Some(table), Some(images)) = (self.tables.get(number), batch.tables.get(&number)) {
                self.table(table, images)?;
            }
        }
        self.in_order(&batch.in_order)?;
        self.set_strict(true)
    }

    /// Stores the position together with the changes before it.
    fn commit(&mut self, batch: &ChangeBatch, position: &Position) -> Result<(), Error> {
        if !self.replaced.is_empty() {
            // What is compared after this waits for the commit, and finds that the row is missing.
            let (replaced, touched) = (&self.replaced, &mut self.touched);
            self.shared.update(|state| replaced.iter().for_each(|table| state.touch_all(*table, touched)));
        }
        let mut touched: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        for (table, chunk) in batch.touched.iter().chain(&self.touched) {
            touched.entry(*table).or_default().push(*chunk);
        }
        for (table, chunks) in touched {
            for chunks in chunks.chunks(ROWS) {
                self.send(state::mark_touched(table, chunks).as_bytes())?;
            }
        }
        let stored =
            self.target.execute(state::store_position(position).as_bytes()).map_err(Error::at(Side::Target))?;
        if stored.affected_rows == 0 {
            return Err(Error::State { what: "position" });
        }
        self.send(b"COMMIT")?;
        self.touched.clear();
        Ok(())
    }

    /// Deletes rows first: a row that is stored may have taken over a unique value of a deleted one. If there can be such
    /// values, those that are stored are deleted, too: then `REPLACE` removes only rows that the source still has.
    fn table(&mut self, table: &MovedTable, images: &Images) -> Result<(), Error> {
        let mut rows: Vec<_> = images.iter().collect();
        rows.sort_by_key(|(key, _)| *key);
        let deletes_all = table.has_more_unique_keys;
        let gone = rows.iter().filter(|(_, image)| deletes_all || image.is_none());
        let gone: Vec<_> = gone.map(|(key, _)| *key).collect();
        for keys in gone.chunks(ROWS) {
            let each: Vec<_> = keys.iter().map(|key| format!("({})", table.key.equals(key))).collect();
            self.send(format!("DELETE FROM {} WHERE {}", table.quoted, each.join(" OR ")).as_bytes())?;
        }
        let head = format!("REPLACE INTO {} ({}) VALUES ", table.quoted, table.column_list()).into_bytes();
        let (mut statement, mut stored, mut enum_zeros) = (head.clone(), 0_u64, 0_u64);
        for image in rows.iter().filter_map(|(_, image)| image.as_ref()) {
            let image = match image {
                Image::Literals(literals) => literals,
                Image::Line(line) => {
                    let affected = self.load(table, "REPLACE ", line)?;
                    self.note_replaced(table, affected, 1)?;
                    continue;
                }
            };
            if stored > 0 && !self.fits(&statement, image) {
                self.replace(table, &statement, (stored, enum_zeros))?;
                statement.clone_from(&head);
                (stored, enum_zeros) = (0, 0);
            }
            if stored > 0 {
                statement.push(b',');
            }
            statement.extend_from_slice(&image.text);
            stored = stored.saturating_add(1);
            enum_zeros = enum_zeros.saturating_add(image.enum_zeros);
        }
        if stored > 0 { self.replace(table, &statement, (stored, enum_zeros)) } else { Ok(()) }
    }

    /// Stores so many rows by `REPLACE`.
    fn replace(&mut self, table: &MovedTable, statement: &[u8], (rows, enum_zeros): (u64, u64)) -> Result<(), Error> {
        let affected = self.store(table, statement, enum_zeros)?;
        self.note_replaced(table, affected, rows)
    }

    /// Notes how many rows were removed and stored to store so many. While rows are copied, `REPLACE` can remove another row
    /// with the same unique value, whose newer image follows in the log. After that it removes one only if the rows differ, so
    /// the table is compared again.
    ///
    /// # Errors
    /// [`Error::ApplyWarnings`] if a row was left out: for `LOAD DATA LOCAL` what forbids it, such as a CHECK, is only a warning,
    /// of which as many are permitted as the row has ENUMs with the number 0.
    fn note_replaced(&mut self, table: &MovedTable, affected: u64, rows: u64) -> Result<(), Error> {
        if affected < rows {
            return Err(Error::ApplyWarnings { table: table.shown.clone(), warnings: 1 });
        }
        if table.has_more_unique_keys && affected > rows {
            self.replaced.insert(table.number);
        }
        Ok(())
    }

    /// Applies changes of tables that were copied whole, one after the other; insertions that follow each other together.
    fn in_order(&mut self, changes: &[ExactChange]) -> Result<(), Error> {
        // The first tables of groups in which foreign keys have changed rows.
        let mut cascaded: BTreeSet<usize> = BTreeSet::new();
        let mut rest = changes;
        while let Some(ExactChange { table, operation, cascades }) = rest.first() {
            let table = self.tables.get(*table).ok_or(Error::State { what: "table" })?;
            self.check_foreign_keys(*cascades)?;
            cascaded.extend(table.group.first().filter(|_| *cascades));
            let (one, enum_zeros) = match operation {
                Operation::Insert(_) => {
                    let inserted = self.insert(table, rest)?;
                    rest = rest.get(inserted..).unwrap_or_default();
                    continue;
                }
                Operation::Update { assignments, condition } => {
                    let head = format!("UPDATE {} SET ", table.quoted);
                    let one = [head.as_bytes(), &assignments.text, b" WHERE ", condition, b" LIMIT 1"].concat();
                    (one, assignments.enum_zeros)
                }
                Operation::Delete { condition, .. } => {
                    let head = format!("DELETE FROM {} WHERE ", table.quoted);
                    ([head.as_bytes(), condition, b" LIMIT 1"].concat(), 0)
                }
            };
            self.set_strict(enum_zeros == 0)?;
            let executed = self.target.execute(&one).map_err(Error::at(Side::Target))?;
            if enum_zeros > 0 {
                only_of_enums(table, executed.warnings, enum_zeros)?;
            }
            // MySQL logs the deletion of a parent and its children by one statement as it is written, although the first
            // deletion has removed the children (bug 80821). The table is compared after a cascade.
            let is_gone = matches!(operation, Operation::Delete { updates: false, .. })
                && table.group.first().is_some_and(|first| cascaded.contains(first));
            if executed.affected_rows == 0 && !is_gone {
                self.require_row(table, operation)?;
            }
            rest = rest.get(1..).unwrap_or_default();
        }
        self.check_foreign_keys(false)
    }

    /// Checks that an update has changed no row because the server has the new values already: the log can have two images
    /// of the same JSON value.
    fn require_row(&mut self, table: &MovedTable, operation: &Operation) -> Result<(), Error> {
        let missing = || Err(Error::RowNotFound { table: table.shown.clone() });
        let Operation::Update { condition, .. } = operation else { return missing() };
        let head = format!("SELECT 1 FROM {} WHERE ", table.quoted);
        let mut found = false;
        let query = [head.as_bytes(), condition, b" LIMIT 1"].concat();
        let each = &mut |_: &[Option<&[u8]>]| {
            found = true;
            ControlFlow::Continue(())
        };
        self.target.query_rows(&query, each).map_err(Error::at(Side::Target))?;
        if found { Ok(()) } else { missing() }
    }

    /// Sets whether the target's foreign keys change rows of other tables. They are off for everything whose effects the
    /// source's log contains.
    fn check_foreign_keys(&mut self, wanted: bool) -> Result<(), Error> {
        if self.checks_foreign_keys != wanted {
            self.send(format!("SET SESSION foreign_key_checks = {}", u8::from(wanted)).as_bytes())?;
            self.checks_foreign_keys = wanted;
        }
        Ok(())
    }

    /// Inserts the rows at the beginning of `changes` that belong to a table. Returns their number.
    fn insert(&mut self, table: &MovedTable, changes: &[ExactChange]) -> Result<usize, Error> {
        if let Some(Operation::Insert(Image::Line(line))) = changes.first().map(|change| &change.operation) {
            return self.insert_line(table, line).map(|()| 1);
        }
        let mut statement = format!("INSERT INTO {} ({}) VALUES ", table.quoted, table.column_list()).into_bytes();
        let (mut taken, mut enum_zeros) = (0_usize, 0_u64);
        for change in changes {
            let Operation::Insert(Image::Literals(image)) = &change.operation else { break };
            if change.table != table.number || (taken > 0 && !self.fits(&statement, image)) {
                break;
            }
            if taken > 0 {
                statement.push(b',');
            }
            statement.extend_from_slice(&image.text);
            enum_zeros = enum_zeros.saturating_add(image.enum_zeros);
            taken = taken.saturating_add(1);
        }
        self.store(table, &statement, enum_zeros)?;
        Ok(taken)
    }

    /// Inserts a row that is too long for a statement.
    fn insert_line(&mut self, table: &MovedTable, line: &ValueText) -> Result<(), Error> {
        let stored = self.load(table, "", line)?;
        // A duplicate is only a warning.
        if stored == 1 { Ok(()) } else { Err(Error::ApplyWarnings { table: table.shown.clone(), warnings: 1 }) }
    }

    /// Stores a row that is too long for a statement. `duplicates` as for [`MovedTable::load`]. Returns how many rows were
    /// removed and stored.
    fn load(&mut self, table: &MovedTable, duplicates: &str, line: &ValueText) -> Result<u64, Error> {
        self.set_strict(line.enum_zeros == 0)?;
        let statement = table.load(duplicates);
        let loaded = self.target.load_data(statement.as_bytes(), &line.text).map_err(Error::at(Side::Target))?;
        only_of_enums(table, loaded.warnings, line.enum_zeros)?;
        Ok(loaded.affected_rows)
    }

    /// Whether a row fits into a statement that has others.
    const fn fits(&self, statement: &[u8], image: &ValueText) -> bool {
        statement.len().saturating_add(image.len()) < self.statement_bytes
    }

    /// Stores rows with so many ENUMs with the number 0. Returns how many rows were removed and stored.
    fn store(&mut self, table: &MovedTable, statement: &[u8], enum_zeros: u64) -> Result<u64, Error> {
        self.set_strict(enum_zeros == 0)?;
        let executed = self.send(statement)?;
        only_of_enums(table, executed.warnings, enum_zeros)?;
        Ok(executed.affected_rows)
    }

    /// Sets whether the session refuses values that a column cannot hold, or only warns of them.
    fn set_strict(&mut self, wanted: bool) -> Result<(), Error> {
        if self.is_strict != wanted {
            self.send(link::strictness(wanted).as_bytes())?;
            self.is_strict = wanted;
        }
        Ok(())
    }

    fn send(&mut self, statement: &[u8]) -> Result<Executed, Error> {
        self.target.execute(statement).map_err(Error::at(Side::Target))
    }
}

/// [`STATEMENT_BYTES`], or half of what the server accepts (`max_allowed_packet`) if that is less: names of columns and
/// conditions come on top. Without `local_infile`, as a source on the way back may be, all that it accepts.
fn statement_bytes(target: &mut Connection) -> Result<usize, Error> {
    let limit = link::variable(target, Side::Target, "max_allowed_packet")?;
    let Ok(limit) = limit.parse::<usize>() else { return Ok(STATEMENT_BYTES) };
    let may_load = link::variable(target, Side::Target, "local_infile")? == "1";
    Ok(if may_load { STATEMENT_BYTES.min(limit / 2) } else { limit })
}

/// Checks that the server has warned of nothing but ENUMs with the number 0, of each of which it warns once.
fn only_of_enums(table: &MovedTable, warnings: u16, enum_zeros: u64) -> Result<(), Error> {
    let is_exact = u64::from(warnings) <= enum_zeros;
    if is_exact { Ok(()) } else { Err(Error::ApplyWarnings { table: table.shown.clone(), warnings }) }
}
