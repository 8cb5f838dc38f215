//! Copies tables whole: from one snapshot of the source, in one transaction at the target.
//!
//! Each of their changes can be applied only once, so the snapshot's position in the log has to be known exactly.

use std::{ops::ControlFlow, time::Duration};

use server::{Connection, dialect::statement::no_time_limit};
use zeroize::Zeroizing;

use super::{load::Loader, read::ChunkRows};
use crate::{
    Error, Side,
    chunk_map::{Chunk, LoadedChunk, State},
    collision, link,
    load_file::append_line,
    moved_table::MovedTable,
    settings::Settings,
    shared::Shared,
    visibility::open_exact_snapshot,
    weights::Weights,
};

/// The copy of a group of tables.
struct Whole<'m> {
    settings: &'m Settings,
    shared: &'m Shared,
    tables: Vec<&'m MovedTable>,
    loader: Loader<'m>,
    weights: Weights<'m>,
    /// How long the tables may be in use.
    patience: Duration,
}

/// Copies the tables with these numbers. From then on, their changes after the snapshot are applied.
///
/// # Errors
/// [`Error::TableInUse`], [`Error::Load`] and others. Nothing was stored then.
pub(super) fn copy_whole<'m>(
    settings: &'m Settings,
    shared: &'m Shared,
    tables: &'m [MovedTable],
    group: &[usize],
    patience: Duration,
) -> Result<(), Error> {
    let tables = group.iter().filter_map(|number| tables.get(*number)).collect();
    let (loader, weights) = (Loader::open(&settings.target, shared)?, Weights::new(&settings.target));
    let mut whole = Whole { settings, shared, tables, loader, weights, patience };
    collision::repeat(&mut whole, |this| this.loader.target(), Whole::copy)
}

impl<'m> Whole<'m> {
    fn copy(&mut self) -> Result<(), Error> {
        let is_ours = |number: &usize| self.tables.iter().any(|table| table.number == *number);
        self.shared.update(|state| state.loading.retain(|number, _| !is_ours(number)));
        let mut source = self.shared.source(&self.settings.source)?;
        source.query(no_time_limit(link::flavor(&source))).map_err(Error::at(Side::Source))?;
        let snapshot =
            open_exact_snapshot(&mut source, &self.settings.source, self.shared, &self.tables, self.patience)?;
        self.loader.begin_transaction()?;
        let mut loaded = Vec::new();
        for table in self.tables.clone() {
            let chunks = self.table(&mut source, table)?;
            self.loader.mark_whole(table, &chunks, &snapshot)?;
            loaded.push((table.number, chunks));
        }
        self.loader.commit()?;
        self.shared.update(|state| {
            loaded.into_iter().for_each(|(table, chunks)| state.loaded_whole(table, chunks, snapshot.clone()));
        });
        Ok(())
    }

    /// Loads a table. Returns its chunks: parts of it can be compared alone if it has a key.
    fn table(&mut self, source: &mut Connection, table: &'m MovedTable) -> Result<Vec<LoadedChunk>, Error> {
        self.loader.require_no_rows(table, None, None)?;
        let limit = self.settings.chunk_bytes;
        let (loader, weights, shared) = (&mut self.loader, &mut self.weights, self.shared);
        let chunk = Chunk { number: 0, after: None, upto: None, state: State::Loaded };
        let file = Zeroizing::new(Vec::with_capacity(limit));
        let part = ChunkRows { table, chunk, rows: 0, enum_zeros: 0, file };
        let mut loading = Loading { loader, weights, shared, part, chunks: Vec::new() };
        let mut failed = None;
        let read = source.query_rows(table.select(None, None).as_bytes(), &mut |fields| {
            append_line(&mut loading.part.file, fields);
            loading.part.rows = loading.part.rows.saturating_add(1);
            loading.part.enum_zeros = loading.part.enum_zeros.saturating_add(table.enum_zeros(fields));
            if loading.part.file.len() < limit {
                return ControlFlow::Continue(());
            }
            match loading.end_part(Some(fields)) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        read.map_err(Error::at(Side::Source))?;
        loading.end_part(None)?;
        Ok(loading.chunks)
    }
}

/// A table that is being loaded in parts.
struct Loading<'l, 'm> {
    loader: &'l mut Loader<'m>,
    weights: &'l mut Weights<'m>,
    shared: &'m Shared,
    /// Rows that are not sent yet.
    part: ChunkRows<'m>,
    /// What was sent: a chunk for each part, or one for all of them if the table has no key.
    chunks: Vec<LoadedChunk>,
}

impl Loading<'_, '_> {
    /// Sends the part, and begins the next one. `last` is its last row, unless it is the last of all.
    fn end_part(&mut self, last: Option<&[Option<&[u8]>]>) -> Result<(), Error> {
        let table = self.part.table;
        if let Some(last) = last.filter(|_| table.has_key()) {
            let key = table.key.of_fields(last, &table.key_fields);
            let mut key = key.ok_or_else(|| Error::Fields { table: table.shown.clone() })?;
            self.weights.limit();
            self.weights.set(&table.key, [&mut key])?;
            self.part.chunk.upto = Some(key);
        }
        self.loader.load_part(&self.part)?;
        let size = self.part.size();
        self.shared.update(|state| state.loading.entry(table.number).or_default().add(size));
        match self.chunks.last_mut() {
            Some((_, sum)) if !table.has_key() => sum.add(size),
            _ => self.chunks.push((self.part.chunk.clone(), size)),
        }
        let chunk = &mut self.part.chunk;
        (chunk.number, chunk.after) = (chunk.number.saturating_add(1), chunk.upto.take());
        (self.part.rows, self.part.enum_zeros) = (0, 0);
        self.part.file.clear();
        Ok(())
    }
}
