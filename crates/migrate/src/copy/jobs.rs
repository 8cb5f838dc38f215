//! Decides which chunk is read next, and how large it is.

use std::{
    collections::HashSet,
    ops::ControlFlow,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use server::Connection;

use crate::{
    Error, Side,
    barrier::Barrier,
    chunk_map::{Chunk, ChunkMap, State},
    key::Key,
    moved_table::MovedTable,
    shared::{RunState, Shared},
    weights::Weights,
};

/// Rows of the first chunk of a table.
const FIRST_ROWS: u64 = 1000;
/// Longest read of a chunk: meanwhile the source keeps old versions of rows for its snapshot.
const READ_TIME: Duration = Duration::from_secs(2);

/// A chunk to copy.
#[derive(Debug)]
pub(crate) struct Job<'m> {
    pub(crate) table: &'m MovedTable,
    pub(crate) chunk: Chunk<Key>,
    /// What must be visible before it is read.
    pub(crate) barrier: Barrier,
}

/// How a table is divided into chunks while it is copied.
#[derive(Clone, Copy, Debug)]
struct Progress {
    /// Rows of the next chunk.
    rows: u64,
    /// Whether a thread is looking for the end of the next chunk.
    busy: bool,
}

/// Hands out the chunks of all tables, the largest table first.
#[derive(Debug)]
pub(crate) struct Jobs<'m> {
    tables: &'m [MovedTable],
    order: Vec<usize>,
    progress: Mutex<Vec<Progress>>,
    /// Tables that were in use when they were to be copied whole.
    deferred: Mutex<HashSet<usize>>,
    chunk_bytes: usize,
    shared: &'m Shared,
}

impl<'m> Jobs<'m> {
    pub(crate) fn new(tables: &'m [MovedTable], chunk_bytes: usize, shared: &'m Shared) -> Self {
        let mut order: Vec<_> = (0..tables.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(tables.get(*at).map_or(0, |moved| moved.table.bytes)));
        let progress = Mutex::new(vec![Progress { rows: FIRST_ROWS, busy: false }; tables.len()]);
        Self { tables, order, progress, deferred: Mutex::default(), chunk_bytes, shared }
    }

    /// All tables, indexed by number.
    pub(crate) const fn tables(&self) -> &'m [MovedTable] {
        self.tables
    }

    /// Takes the next chunk and marks it as in flight. `None` when every row is at the target.
    pub(crate) fn next(&self, source: &mut Connection, weights: &mut Weights<'_>) -> Result<Option<Job<'m>>, Error> {
        loop {
            if let Some(job) = self.begin_waiting() {
                return Ok(Some(job));
            }
            let Some((table, after, rows)) = self.claim() else {
                let done = self.shared.wait(|state| {
                    let all = state.chunk_maps.iter().all(ChunkMap::is_complete);
                    let some = self.first_waiting(state).is_some() || self.has_unclaimed(state);
                    (all || some).then_some(all)
                })?;
                if done {
                    return Ok(None);
                }
                continue;
            };
            let upto = if table.is_copied_whole() {
                Ok(None)
            } else {
                boundary((source, Side::Source), weights, table, after.as_ref(), rows)
            };
            self.release(table, upto)?;
        }
    }

    /// Leaves a table that is copied whole, and is in use, until all others are copied. Returns false if it was left
    /// before.
    pub(crate) fn defer(&self, table: &MovedTable) -> bool {
        let is_first = self.deferred().insert(table.number);
        if is_first {
            self.shared.update(|state| state.give_back(&table.group));
        }
        is_first
    }

    /// Whether a table was left because it, or a table of its group, was in use.
    pub(crate) fn is_deferred(&self, table: &MovedTable) -> bool {
        let deferred = self.deferred();
        table.group.iter().any(|number| deferred.contains(number))
    }

    fn deferred(&self) -> MutexGuard<'_, HashSet<usize>> {
        self.deferred.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the first waiting chunk.
    fn begin_waiting(&self) -> Option<Job<'m>> {
        let mut state = self.shared.lock();
        let table = self.first_waiting(&state)?;
        let map = state.chunk_maps.get_mut(table.number)?;
        let chunk = map.waiting()?.clone();
        map.set(chunk.number, State::InFlight);
        state.begin_whole(&table.group);
        Some(Job { table, chunk, barrier: state.begun.barrier() })
    }

    /// The first table with a waiting chunk. One that was in use comes only when all others are copied.
    fn first_waiting(&self, state: &RunState) -> Option<&'m MovedTable> {
        let is_complete = |table: &MovedTable| state.chunk_maps.get(table.number).is_some_and(ChunkMap::is_complete);
        let is_waiting =
            |table: &MovedTable| state.chunk_maps.get(table.number).is_some_and(|map| map.waiting().is_some());
        let in_order = || self.order.iter().filter_map(|number| self.tables.get(*number));
        let others = || in_order().filter(|table| !self.is_deferred(table));
        let first = others().find(|table| is_waiting(table));
        if first.is_some() || !others().all(is_complete) {
            return first;
        }
        in_order().find(|table| is_waiting(table))
    }

    /// Claims a table whose next chunk no other thread is looking for.
    fn claim(&self) -> Option<(&'m MovedTable, Option<Key>, u64)> {
        let state = self.shared.lock();
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        for number in &self.order {
            let (table, map) = (self.tables.get(*number)?, state.chunk_maps.get(*number)?);
            let progress = progress.get_mut(*number)?;
            if !table.is_offered() {
                continue;
            }
            if let (Some(after), false) = (map.end(), progress.busy) {
                progress.busy = true;
                return Some((table, after, progress.rows));
            }
        }
        None
    }

    fn has_unclaimed(&self, state: &RunState) -> bool {
        let progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = self.tables.iter().zip(&state.chunk_maps).zip(progress.iter());
        all.any(|((table, map), progress)| table.is_offered() && map.end().is_some() && !progress.busy)
    }

    fn release(&self, table: &MovedTable, upto: Result<Option<Key>, Error>) -> Result<(), Error> {
        self.shared.update(|state| {
            if let Some(progress) = self.table_progress().get_mut(table.number) {
                progress.busy = false;
            }
            if let (Ok(upto), Some(map)) = (&upto, state.chunk_maps.get_mut(table.number)) {
                map.extend(upto.clone());
            }
        });
        upto.map(drop)
    }

    /// Adjusts the size of a table's next chunks to the time and bytes of a chunk that was read: at most half as large
    /// again.
    pub(crate) fn note(&self, table: &MovedTable, rows: u64, bytes: usize, time: Duration) {
        let mut all = self.table_progress();
        let Some(progress) = all.get_mut(table.number) else { return };
        let in_proportion =
            |size: u128, limit: u128| u128::from(rows.max(1)).saturating_mul(limit).checked_div(size.max(1));
        let by_bytes = in_proportion(as_u64(bytes).into(), as_u64(self.chunk_bytes).into());
        let by_time = in_proportion(time.as_micros(), READ_TIME.as_micros());
        let fits = u64::try_from(by_bytes.min(by_time).unwrap_or(u128::MAX)).unwrap_or(u64::MAX);
        progress.rows = fits.clamp(1, progress.rows.saturating_mul(3).div_ceil(2));
    }

    fn table_progress(&self) -> MutexGuard<'_, Vec<Progress>> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The identity at which the next chunk ends; `None` at the end of the table.
pub(crate) fn boundary(
    (connection, side): (&mut Connection, Side),
    weights: &mut Weights<'_>,
    table: &MovedTable,
    after: Option<&Key>,
    rows: u64,
) -> Result<Option<Key>, Error> {
    let mut found = None;
    let columns: Vec<_> = (0..table.key.iter().count()).collect();
    connection
        .query_rows(table.boundary(after, rows).as_bytes(), &mut |fields| {
            found = Some(table.key.of_fields(fields, &columns));
            ControlFlow::Continue(())
        })
        .map_err(Error::at(side))?;
    match found {
        None => Ok(None),
        Some(Some(mut key)) => {
            weights.set(&table.key, [&mut key])?;
            Ok(Some(key))
        }
        Some(None) => Err(Error::Fields { table: table.shown.clone() }),
    }
}

fn as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
