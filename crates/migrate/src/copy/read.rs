//! Reads a chunk of the source into memory, as the content of a file for `LOAD DATA`.
//!
//! A chunk is read completely before it is loaded, so that the source's snapshot lasts only for the read, even if the
//! target is slow.

use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};

use server::Connection;
use zeroize::Zeroizing;

use super::{
    jobs::{Job, Jobs},
    whole::copy_whole,
};
use crate::{
    Error, Side,
    chunk_map::{Chunk, Copied},
    key::Key,
    load_file::append_line,
    moved_table::MovedTable,
    settings::Settings,
    shared::Shared,
    visibility::{LONGEST_LOCK_WAIT, end_read, wait_until_visible},
    weights::Weights,
};

/// How long a table that is copied whole may be in use before others are copied first. From a change of the table on, the
/// stream waits meanwhile.
const SHORT_LOCK_WAIT: Duration = Duration::from_secs(5);

/// A chunk in memory.
#[derive(Debug)]
pub(crate) struct ChunkRows<'m> {
    pub(crate) table: &'m MovedTable,
    pub(crate) chunk: Chunk<Key>,
    pub(crate) rows: u64,
    /// How many of their values are ENUMs with the number 0.
    pub(crate) enum_zeros: u64,
    /// The rows as lines of a file.
    pub(crate) file: Zeroizing<Vec<u8>>,
}

impl ChunkRows<'_> {
    pub(crate) fn size(&self) -> Copied {
        Copied { rows: self.rows, bytes: u64::try_from(self.file.len()).unwrap_or(u64::MAX) }
    }
}

/// Reads chunks over a connection to the source.
pub(crate) struct Reader<'m> {
    settings: &'m Settings,
    source: Connection,
    shared: &'m Shared,
    jobs: &'m Jobs<'m>,
    weights: Weights<'m>,
}

impl<'m> Reader<'m> {
    pub(crate) fn open(settings: &'m Settings, shared: &'m Shared, jobs: &'m Jobs<'m>) -> Result<Self, Error> {
        let weights = Weights::new(&settings.target);
        Ok(Self { settings, source: shared.source(&settings.source)?, shared, jobs, weights })
    }

    /// Reads the next chunk; `None` when every row is at the target. Tables that are copied whole are copied meanwhile.
    pub(crate) fn next(&mut self) -> Result<Option<ChunkRows<'m>>, Error> {
        loop {
            let Some(job) = self.jobs.next(&mut self.source, &mut self.weights)? else { return Ok(None) };
            if job.table.is_copied_whole() {
                self.copy_whole(job.table)?;
                continue;
            }
            wait_until_visible(&mut self.source, self.shared, self.jobs.tables(), &job.barrier)?;
            return self.read(job).map(Some);
        }
    }

    /// Copies a table whole, with its group. If one of the tables is in use, others are copied first.
    fn copy_whole(&self, table: &MovedTable) -> Result<(), Error> {
        let patience = if self.jobs.is_deferred(table) { LONGEST_LOCK_WAIT } else { SHORT_LOCK_WAIT };
        match copy_whole(self.settings, self.shared, self.jobs.tables(), &table.group, patience) {
            Err(Error::TableInUse { tables, .. }) if self.jobs.defer(table) => {
                self.shared.update(|state| state.in_use.push(tables));
                Ok(())
            }
            ended => ended,
        }
    }

    fn read(&mut self, job: Job<'m>) -> Result<ChunkRows<'m>, Error> {
        let Job { table, mut chunk, barrier } = job;
        let began = Instant::now();
        // Chunks are sized by the chunks before them, so a chunk may reach twice the size.
        let limit = self.settings.chunk_bytes.saturating_mul(2);
        let mut file = Zeroizing::new(Vec::with_capacity(self.settings.chunk_bytes));
        let (mut rows, mut enum_zeros) = (0_u64, 0_u64);
        let mut last = None;
        let select = table.select(chunk.after.as_ref(), chunk.upto.as_ref());
        let whole = self.source.query_rows(select.as_bytes(), &mut |fields| {
            append_line(&mut file, fields);
            rows = rows.saturating_add(1);
            enum_zeros = enum_zeros.saturating_add(table.enum_zeros(fields));
            if file.len() < limit {
                return ControlFlow::Continue(());
            }
            last = table.key.of_fields(fields, &table.key_fields);
            ControlFlow::Break(())
        });
        if whole.map_err(Error::at(Side::Source))? {
            end_read(&mut self.source, &barrier)?;
        } else {
            // The server is still sending rows on this connection, so it is replaced.
            self.source = self.shared.source(&self.settings.source)?;
            let mut last = last.ok_or_else(|| Error::Fields { table: table.shown.clone() })?;
            self.weights.set(&table.key, [&mut last])?;
            if chunk.upto.as_ref() != Some(&last) {
                self.shared.update(|state| {
                    if let Some(map) = state.chunk_maps.get_mut(table.number) {
                        map.shorten(chunk.number, last.clone());
                    }
                });
                chunk.upto = Some(last);
            }
        }
        self.jobs.note(table, rows, file.len(), began.elapsed());
        Ok(ChunkRows { table, chunk, rows, enum_zeros, file })
    }
}
