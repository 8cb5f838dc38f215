//! Copies tables whole: from one snapshot of the source, in one transaction at the target.
//!
//! Each of their changes can be applied only once, so the snapshot's position in the log has to be known exactly.

use std::ops::ControlFlow;

use server::{Connection, dialect::statement::no_time_limit};
use zeroize::Zeroizing;

use super::{
    load::Loader,
    read::{ChunkRows, append_line},
};
use crate::{
    Error, Side,
    chunk_map::{Chunk, Copied},
    collision,
    key::Key,
    link,
    moved_table::MovedTable,
    position::Position,
    settings::Settings,
    shared::Shared,
    visibility::open_exact_snapshot,
};

/// The copy of a group of tables.
struct Whole<'m> {
    settings: &'m Settings,
    shared: &'m Shared,
    tables: Vec<&'m MovedTable>,
    loader: Loader<'m>,
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
) -> Result<(), Error> {
    let tables = group.iter().filter_map(|number| tables.get(*number)).collect();
    let loader = Loader::open(&settings.target, shared)?;
    let mut whole = Whole { settings, shared, tables, loader };
    collision::repeat(&mut whole, |this| this.loader.target(), Whole::copy)
}

impl Whole<'_> {
    fn copy(&mut self) -> Result<(), Error> {
        let mut source = self.shared.source(&self.settings.source)?;
        source.query(no_time_limit(link::flavor(&source))).map_err(Error::at(Side::Source))?;
        let snapshot = open_exact_snapshot(&mut source, &self.settings.source, self.shared, &self.tables)?;
        self.loader.begin_transaction()?;
        let mut loaded = Vec::new();
        for table in self.tables.clone() {
            let chunk = self.chunk(table)?;
            let copied = self.table(&mut source, table, &chunk, &snapshot)?;
            loaded.push((table.number, chunk.number, copied));
        }
        self.loader.commit()?;
        self.shared.update(|state| {
            for (table, chunk, copied) in loaded {
                state.snapshots.insert(table, snapshot.clone());
                state.loaded(table, chunk, copied);
            }
        });
        Ok(())
    }

    /// The only chunk of a table.
    fn chunk(&self, table: &MovedTable) -> Result<Chunk<Key>, Error> {
        let state = self.shared.lock();
        let chunk = state.chunk_maps.get(table.number).and_then(|map| map.chunks().first().cloned());
        chunk.ok_or(Error::State { what: "chunk" })
    }

    fn table(
        &mut self,
        source: &mut Connection,
        table: &MovedTable,
        chunk: &Chunk<Key>,
        snapshot: &Position,
    ) -> Result<Copied, Error> {
        self.loader.begin_table(table)?;
        let file = Zeroizing::new(Vec::with_capacity(self.settings.chunk_bytes));
        let mut part = ChunkRows { table, chunk: chunk.clone(), rows: 0, file };
        let mut failed = None;
        let read = source.query_rows(table.select(None, None).as_bytes(), &mut |fields| {
            append_line(&mut part.file, fields);
            part.rows = part.rows.saturating_add(1);
            if part.file.len() < self.settings.chunk_bytes {
                return ControlFlow::Continue(());
            }
            match self.loader.load_part(&mut part) {
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
        self.loader.load_part(&mut part)?;
        self.loader.end_table(table, chunk, snapshot)
    }
}
