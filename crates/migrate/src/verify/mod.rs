//! Compares the rows of both ends while they change.
//!
//! A comparison of a range counts only if the stream delivers no change of it between two moments: before the source's
//! snapshot, and after the stream has passed the end that the log had at that snapshot. Both servers then have had the
//! rows of the same moment, although neither was locked. A range that changes all the time is divided.

mod changed;
mod expression;

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    ops::ControlFlow,
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use server::Connection;

pub(crate) use self::changed::compare_changed_rows;
use crate::{
    Divergence, DivergenceKind, Error, Side,
    barrier::Barrier,
    chunk_map::Chunk,
    copy::jobs::boundary,
    journal::{self, Read},
    key::Key,
    link,
    moved_table::MovedTable,
    position,
    settings::Settings,
    shared::Shared,
    state,
    visibility::{LONGEST_LOCK_WAIT, end_read, wait_until_visible, with_table_locks},
    weights::Weights,
};

/// Attempts to compare a range before it is divided.
const RANGE_TRIES: u32 = 3;
/// Attempts to compare a single row.
const ROW_TRIES: u32 = 50;
/// Largest range, in rows, that is compared row by row after its sums differ.
const ROWS: u64 = 10_000;
/// Largest table without a key, in rows, of which the differing rows are named: their hashes are in memory.
const NAMED_ROWS: u64 = 1_000_000;
const PAUSE: Duration = Duration::from_millis(20);
const POLL: Duration = Duration::from_millis(5);

/// Result of comparing a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compared {
    Equal,
    Different,
    /// The range changed meanwhile.
    Touched,
}

/// Number of rows, and the sum of their hashes. `None` if a row could not be hashed; such a checksum equals no other.
struct Checksum {
    rows: String,
    sum: Option<String>,
}

impl PartialEq for Checksum {
    fn eq(&self, other: &Self) -> bool {
        self.rows == other.rows && self.sum.is_some() && self.sum == other.sum
    }
}

/// The hash of each row; `None` if it could not be hashed. Keys are equal if their bytes are.
type Hashes = HashMap<Key, Option<Vec<u8>>>;

/// How many rows with the same hash there are; `None` for rows that could not be hashed.
type Counts = HashMap<Option<Vec<u8>>, u64>;

/// The rows after the first key, up to and including the second.
#[derive(Clone, Debug)]
struct Range<'m> {
    table: &'m MovedTable,
    after: Option<Key>,
    upto: Option<Key>,
}

/// What to do with a range that changes while it is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnChange {
    /// Divide it, down to single rows.
    Split,
    /// Leave it for later.
    Defer,
    /// Compare it row by row, and leave only the rows that change meanwhile to [`compare_changed_rows`].
    LeaveRows,
}

/// Result of comparing chunks.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Number of chunks that were examined.
    pub(crate) chunks: u64,
    /// Number of rows that were equal.
    pub(crate) rows: u64,
    /// What differs.
    pub(crate) divergences: Vec<Divergence>,
    /// Number of ranges that changed all the time.
    pub(crate) open: u64,
}

impl Outcome {
    /// Adds what other comparisons have found.
    pub(crate) fn add(&mut self, more: Self) {
        self.chunks = self.chunks.saturating_add(more.chunks);
        self.rows = self.rows.saturating_add(more.rows);
        self.open = self.open.saturating_add(more.open);
        self.divergences.extend(more.divergences);
    }

    /// Names each row that differs only once, although several comparisons have found it.
    pub(crate) fn name_once(&mut self) {
        let mut named = HashSet::new();
        self.divergences.retain(|row| named.insert((row.table.clone(), row.key.clone())));
    }
}

/// Compares chunks, each with the number of its table, over several connections.
///
/// # Errors
/// [`Error`]. Differing rows are not an error: the outcome lists them.
pub(crate) fn compare<'m>(
    settings: &'m Settings,
    shared: &'m Shared,
    tables: &'m [MovedTable],
    chunks: Vec<(usize, Chunk<Key>)>,
    on_change: OnChange,
    watch: &mut dyn FnMut() -> Result<(), Error>,
) -> Result<Outcome, Error> {
    let open = || Verifier::open(settings, shared, tables, on_change);
    let each = |verifier: &mut Verifier<'m>, (number, chunk): (usize, Chunk<Key>)| match tables.get(number) {
        Some(table) => verifier.chunk(table, &chunk),
        None => Ok(()),
    };
    in_parallel((settings, shared), chunks, open, each, watch)
}

/// Does jobs over several connections to each server.
fn in_parallel<'m, J: Send>(
    (settings, shared): (&Settings, &Shared),
    jobs: Vec<J>,
    open: impl Fn() -> Result<Verifier<'m>, Error> + Sync,
    each: impl Fn(&mut Verifier<'m>, J) -> Result<(), Error> + Sync,
    watch: &mut dyn FnMut() -> Result<(), Error>,
) -> Result<Outcome, Error> {
    let queue = Mutex::new(jobs.into_iter());
    let total = Mutex::new(Outcome::default());
    let work = || {
        let mut verifier = open()?;
        loop {
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some(job) = next else { break };
            each(&mut verifier, job)?;
        }
        total.lock().unwrap_or_else(PoisonError::into_inner).add(verifier.outcome);
        Ok(())
    };
    thread::scope(|threads| {
        let count = settings.readers.max(1);
        let all: Vec<_> = (0..count).map(|_| threads.spawn(|| shared.watched(work))).collect();
        while !all.iter().all(thread::ScopedJoinHandle::is_finished) {
            if let Err(error) = watch() {
                shared.fail(error);
            }
            thread::sleep(POLL);
        }
    });
    if shared.has_ended() {
        return Err(Error::Stopped);
    }
    Ok(total.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Compares ranges over a connection to each server.
struct Verifier<'m> {
    settings: &'m Settings,
    shared: &'m Shared,
    tables: &'m [MovedTable],
    source: Connection,
    target: Connection,
    weights: Weights<'m>,
    on_change: OnChange,
    outcome: Outcome,
}

impl<'m> Verifier<'m> {
    fn open(
        settings: &'m Settings,
        shared: &'m Shared,
        tables: &'m [MovedTable],
        on_change: OnChange,
    ) -> Result<Self, Error> {
        let (source, target) = (shared.source(&settings.source)?, link::target(&settings.target)?);
        let weights = Weights::new(&settings.target);
        Ok(Self { settings, shared, tables, source, target, weights, on_change, outcome: Outcome::default() })
    }

    /// Compares a chunk. If it did not change meanwhile, it is watched from then on.
    fn chunk(&mut self, table: &'m MovedTable, chunk: &Chunk<Key>) -> Result<(), Error> {
        match self.compare_chunk(table, chunk) {
            // A later comparison may find the table free.
            Err(Error::TableInUse { .. }) => {
                self.leave_open(1);
                Ok(())
            }
            ended => ended,
        }
    }

    fn compare_chunk(&mut self, table: &'m MovedTable, chunk: &Chunk<Key>) -> Result<(), Error> {
        self.outcome.chunks = self.outcome.chunks.saturating_add(1);
        let range = Range { table, after: chunk.after.clone(), upto: chunk.upto.clone() };
        for _ in 0..RANGE_TRIES {
            match self.compare(&range, Some(chunk.number))? {
                Compared::Equal => return Ok(()),
                Compared::Different => {
                    self.mark_differing(table, chunk.number)?;
                    return if table.has_key() { self.divide(range) } else { self.rows_without_key(&range) };
                }
                Compared::Touched => self.shared.sleep(PAUSE)?,
            }
        }
        match self.on_change {
            OnChange::Split if table.has_key() => self.divide(range),
            OnChange::LeaveRows if table.has_key() => self.leave_rows(&range, chunk.number),
            OnChange::Split | OnChange::LeaveRows | OnChange::Defer => {
                self.leave_open(1);
                Ok(())
            }
        }
    }

    /// Stores that a chunk is not equal, whatever was found before.
    fn mark_differing(&mut self, table: &MovedTable, chunk: u64) -> Result<(), Error> {
        let unverified = state::mark_touched(table.number, &[chunk]);
        self.target.query(&unverified).map(drop).map_err(Error::at(Side::Target))
    }

    /// Compares a part of a chunk.
    fn part(&mut self, range: Range<'m>) -> Result<(), Error> {
        for _ in 0..RANGE_TRIES {
            match self.compare(&range, None)? {
                Compared::Equal => return Ok(()),
                Compared::Different => break,
                Compared::Touched => self.shared.sleep(PAUSE)?,
            }
        }
        self.divide(range)
    }

    /// Compares the halves of a range that differs or changes all the time. A small range is compared row by row.
    fn divide(&mut self, range: Range<'m>) -> Result<(), Error> {
        let rows = self.count(&range)?;
        if rows <= 1 || (rows <= ROWS && self.rows(&range, RANGE_TRIES)?) {
            return if rows <= 1 { self.single(&range) } else { Ok(()) };
        }
        let Some(middle) = self.middle(&range, rows / 2)?.filter(|middle| Some(middle) != range.upto.as_ref()) else {
            return self.single(&range);
        };
        let upper = Range { after: Some(middle.clone()), ..range.clone() };
        self.part(Range { upto: Some(middle), ..range })?;
        self.part(upper)
    }

    fn single(&mut self, range: &Range<'m>) -> Result<(), Error> {
        if !self.rows(range, ROW_TRIES)? {
            self.leave_open(1);
        }
        Ok(())
    }

    /// Compares row by row. Returns false if the range changed at each attempt.
    fn rows(&mut self, range: &Range<'m>, tries: u32) -> Result<bool, Error> {
        let sql = expression::of_rows(range.table, range.after.as_ref(), range.upto.as_ref());
        for _ in 0..tries {
            if let Some((source, target, _)) = self.both(range, None, &sql, hashes)? {
                let differing = differing(&source, &target);
                let missing = differing.iter().filter(|(_, kind)| *kind != DivergenceKind::Extra).count();
                self.count_equal(as_u64(source.len().saturating_sub(missing)));
                self.name(range.table, differing);
                return Ok(true);
            }
            self.shared.sleep(PAUSE)?;
        }
        Ok(false)
    }

    /// Compares how often each row of a table without a key is at each server.
    fn rows_without_key(&mut self, range: &Range<'m>) -> Result<(), Error> {
        if self.count(range)? > NAMED_ROWS {
            let key = format!("(no key, and more than {NAMED_ROWS} rows)");
            let found = Divergence { table: range.table.shown.clone(), key, kind: DivergenceKind::Different };
            self.outcome.divergences.push(found);
            return Ok(());
        }
        let sql = expression::of_rows(range.table, None, None);
        match self.both(range, None, &sql, counts)? {
            Some((source, target, _)) => {
                let differing = differing_counts(range.table, &source, &target);
                // It may be equal by now.
                self.leave_open(u64::from(differing.is_empty()));
                self.outcome.divergences.extend(differing);
            }
            // It has changed since its sums differed.
            None => self.leave_open(1),
        }
        Ok(())
    }

    /// Names rows that differ.
    fn name(&mut self, table: &MovedTable, differing: Vec<(Key, DivergenceKind)>) {
        let named = differing.into_iter().map(|(key, kind)| Divergence {
            table: table.shown.clone(),
            key: table.key.literals(&key),
            kind,
        });
        self.outcome.divergences.extend(named);
    }

    /// Leaves so many ranges for a later comparison.
    fn leave_open(&mut self, ranges: u64) {
        self.outcome.open = self.outcome.open.saturating_add(ranges);
    }

    fn count_equal(&mut self, rows: u64) {
        self.outcome.rows = self.outcome.rows.saturating_add(rows);
    }

    fn compare(&mut self, range: &Range<'m>, chunk: Option<u64>) -> Result<Compared, Error> {
        let sql = expression::of_range(range.table, range.after.as_ref(), range.upto.as_ref());
        Ok(match self.both(range, chunk, &sql, sum)? {
            None => Compared::Touched,
            Some((source, target, read)) if source == target => {
                self.count_equal(source.rows.parse().unwrap_or(0));
                if let (Some(chunk), Some(sum)) = (chunk, &source.sum) {
                    let (table, rows) = (range.table.number, source.rows.as_str());
                    let compared = journal::Compared { table, chunk, rows, checksum: sum, read: &read };
                    // Recorded first: what counts as compared is in the proof.
                    journal::compared(&mut self.target, &compared)?;
                    state::mark_verified(&mut self.target, table, &BTreeMap::from([(chunk, read.touches)]))?;
                }
                Compared::Equal
            }
            Some(_) => Compared::Different,
        })
    }

    /// Reads a range from both servers, and records when. Returns `None` if the range changed meanwhile. Watches a
    /// chunk from then on if it is equal.
    fn both<T: PartialEq>(
        &mut self,
        range: &Range<'m>,
        chunk: Option<u64>,
        sql: &str,
        read: fn(&mut Connection, Side, &MovedTable, &str) -> Result<T, Error>,
    ) -> Result<Option<(T, T, Read)>, Error> {
        let table = range.table.number;
        let probe = self.shared.update(|state| state.begin_probe(table, &range.after, &range.upto));
        let ended = self.read_both(range, chunk, sql, read);
        let untouched = self.shared.update(|state| {
            let untouched = state.end_probe(probe);
            if let (true, Ok((source, target, ..)), Some(chunk)) = (untouched, &ended, chunk)
                && source == target
            {
                state.watch((table, chunk));
            }
            untouched
        });
        ended.map(|found| untouched.then_some(found))
    }

    fn read_both<T>(
        &mut self,
        range: &Range<'m>,
        chunk: Option<u64>,
        sql: &str,
        read: fn(&mut Connection, Side, &MovedTable, &str) -> Result<T, Error>,
    ) -> Result<(T, T, Read), Error> {
        // From here on, every transaction that the stream has begun is at the target, and visible at the source.
        let barrier = self.shared.wait_begun_applied()?;
        let touches = match chunk {
            Some(chunk) => self.touches(range.table, &[chunk])?.into_values().next().unwrap_or_default(),
            None => 0,
        };
        let (source, target, source_end) = self.read_after(&barrier, range.table, sql, read)?;
        Ok((source, target, Read { touches, source_end }))
    }

    fn touches(&mut self, table: &MovedTable, chunks: &[u64]) -> Result<BTreeMap<u64, u64>, Error> {
        state::touches(&mut self.target, table.number, chunks)
    }

    /// Reads rows from both servers, each of them as it was before the barrier or later. Returns the end that the source's
    /// log had then: the stream has delivered every transaction that was read.
    fn read_after<T>(
        &mut self,
        barrier: &Barrier,
        table: &MovedTable,
        sql: &str,
        read: fn(&mut Connection, Side, &MovedTable, &str) -> Result<T, Error>,
    ) -> Result<(T, T, String), Error> {
        wait_until_visible(&mut self.source, self.shared, self.tables, barrier)?;
        if matches!(barrier, Barrier::Row(_)) && self.has_unnamed_changes(table) {
            with_table_locks(&self.settings.source, self.shared, &[table], LONGEST_LOCK_WAIT, |_| Ok(()))?;
        }
        let source = read(&mut self.source, Side::Source, table, sql)?;
        let end = position::log_end(&mut self.source)?;
        end_read(&mut self.source, barrier)?;
        let target = read(&mut self.target, Side::Target, table, sql)?;
        // Waits until the stream has passed every transaction that the source's snapshot may contain.
        self.shared.wait(|state| (state.delivered >= end).then_some(()))?;
        Ok((source, target, end.to_string()))
    }

    /// Whether a barrier can lack changes of a table: it names a row by its key, and rows without a key change this table,
    /// themselves or by a cascade.
    fn has_unnamed_changes(&self, table: &MovedTable) -> bool {
        let changes = |other: &MovedTable| {
            let cascades = other.cascade.as_ref().is_some_and(|cascade| cascade.changed.contains(&table.number));
            other.number == table.number || cascades
        };
        self.tables.iter().any(|other| !other.has_key() && changes(other))
    }

    fn count(&mut self, range: &Range<'m>) -> Result<u64, Error> {
        let condition = range.table.key.range(range.after.as_ref(), range.upto.as_ref());
        let sql = format!("SELECT COUNT(*) FROM {} WHERE {condition}", range.table.by_key);
        let rows = self.source.query(&sql).map_err(Error::at(Side::Source))?;
        let source = rows.scalar().and_then(|count| count.parse().ok()).unwrap_or(0);
        let rows = self.target.query(&sql).map_err(Error::at(Side::Target))?;
        Ok(rows.scalar().and_then(|count| count.parse().ok()).unwrap_or(0).max(source))
    }

    /// The key in the middle of a range, from the first server that has such a row.
    fn middle(&mut self, range: &Range<'m>, rows: u64) -> Result<Option<Key>, Error> {
        for (connection, side) in [(&mut self.source, Side::Source), (&mut self.target, Side::Target)] {
            let found = boundary((connection, side), &mut self.weights, range.table, range.after.as_ref(), rows)?;
            let within = found.filter(|key| range.upto.as_ref().is_none_or(|upto| key < upto));
            if within.is_some() {
                return Ok(within);
            }
        }
        Ok(None)
    }
}

fn sum(connection: &mut Connection, side: Side, _: &MovedTable, sql: &str) -> Result<Checksum, Error> {
    let rows = connection.query(sql).map_err(Error::at(side))?;
    match rows.rows.first().map(Vec::as_slice) {
        Some([Some(rows), Some(sum)]) => {
            let sum = Some(sum.clone()).filter(|sum| expression::is_of_all_rows(sum));
            Ok(Checksum { rows: rows.clone(), sum })
        }
        _ => Err(Error::State { what: "checksum" }),
    }
}

fn hashes(connection: &mut Connection, side: Side, table: &MovedTable, sql: &str) -> Result<Hashes, Error> {
    let columns: Vec<_> = (0..table.key.iter().count()).collect();
    let mut hashes = Hashes::new();
    let mut readable = true;
    let read = connection.query_rows(sql.as_bytes(), &mut |fields| {
        match (table.key.of_fields(fields, &columns), fields.last()) {
            (Some(key), Some(hash)) => drop(hashes.insert(key, hash.map(<[u8]>::to_vec))),
            _ => readable = false,
        }
        ControlFlow::Continue(())
    });
    read.map_err(Error::at(side))?;
    if readable { Ok(hashes) } else { Err(Error::Fields { table: table.shown.clone() }) }
}

/// How often each row is in a table, by its hash.
fn counts(connection: &mut Connection, side: Side, _: &MovedTable, sql: &str) -> Result<Counts, Error> {
    let mut counts = Counts::new();
    let read = connection.query_rows(sql.as_bytes(), &mut |fields| {
        let hash = fields.last().copied().flatten().map(<[u8]>::to_vec);
        let count = counts.entry(hash).or_default();
        *count = count.saturating_add(1);
        ControlFlow::Continue(())
    });
    read.map_err(Error::at(side)).map(|_| counts)
}

/// Names rows of which one server has more than the other: by their hash, and by how many there are.
fn differing_counts(table: &MovedTable, source: &Counts, target: &Counts) -> Vec<Divergence> {
    let shown = |hash: &Option<Vec<u8>>, more: u64| match hash {
        Some(hash) => format!("(no key) {more} with the hash {}", String::from_utf8_lossy(hash)),
        None => format!("(no key) {more} that could not be hashed"),
    };
    let of = |one: &Counts, other: &Counts, kind| {
        let more = |hash| {
            let count = |counts: &Counts| counts.get(hash).copied().unwrap_or(0);
            // Nothing is known of rows without a hash.
            let other = if hash.is_none() { 0 } else { count(other) };
            count(one).saturating_sub(other)
        };
        let mut found = Vec::new();
        for hash in one.keys().filter(|hash| more(hash) > 0) {
            found.push(Divergence { table: table.shown.clone(), key: shown(hash, more(hash)), kind });
        }
        found
    };
    let mut found = of(source, target, DivergenceKind::Missing);
    found.extend(of(target, source, DivergenceKind::Extra));
    found
}

fn as_u64(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// The rows that differ, by their keys.
fn differing(source: &Hashes, target: &Hashes) -> Vec<(Key, DivergenceKind)> {
    let of_source = source.iter().filter_map(|(key, hash)| match target.get(key) {
        None => Some((key.clone(), DivergenceKind::Missing)),
        Some(other) if hash.is_none() || other != hash => Some((key.clone(), DivergenceKind::Different)),
        Some(_) => None,
    });
    let extra = target.keys().filter(|key| !source.contains_key(*key));
    of_source.chain(extra.map(|key| (key.clone(), DivergenceKind::Extra))).collect()
}
