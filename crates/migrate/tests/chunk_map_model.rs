//! A model of the rules for copying rows while they change: a source whose transactions become visible later than they
//! are logged, chunks, a stream, and crashes. With all rules, both ends are equal in the end in every run. Without any
//! single rule, a difference is found.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeMap;

use migrate::chunk_map::{ChangeDecision, Chunk, ChunkMap, State};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};

/// Identities of rows.
type Key = u8;
/// Two columns, so that an update can change one and leave the other.
type Row = [u8; 2];

const KEYS: Key = 6;

/// How the reader of a chunk waits until delivered transactions are visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The source says which transactions it has executed.
    Gtids,
    /// A lock on a row of the newest transaction waits for it, and transactions become visible in the log's order.
    Rows,
}

/// The rules that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Without {
    Nothing,
    /// Changes of a chunk in flight are dropped instead of waiting.
    Hold,
    /// A chunk is read although a delivered transaction is not visible.
    Barrier,
    /// An update changes the columns that changed instead of storing the whole image.
    WholeImages,
    /// After a crash the stream continues where it was, although the target lost what the stream had delivered.
    StoredPosition,
    /// Without GTIDs: transactions become visible in any order (`binlog_order_commits=OFF`).
    Order,
    /// Without GTIDs: after a crash it is not known which row to wait for.
    StoredRow,
}

#[derive(Clone, Debug)]
enum Step {
    /// A transaction that inserts, updates or deletes a row, or moves it to another identity.
    Write {
        key: Key,
        column: usize,
        value: u8,
    },
    Delete {
        key: Key,
    },
    Move {
        from: Key,
        to: Key,
    },
    /// A transaction becomes visible: the first, or a later one if the order is left out.
    Show {
        skip: usize,
    },
    Deliver,
    Flush,
    Begin {
        length: u8,
    },
    Read,
    Load,
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let key = || 0..KEYS;
    prop_oneof![
        6 => (key(), 0_usize..2, 1_u8..100).prop_map(|(key, column, value)| Step::Write { key, column, value }),
        2 => key().prop_map(|key| Step::Delete { key }),
        2 => (key(), key()).prop_map(|(from, to)| Step::Move { from, to }),
        6 => (0_usize..3).prop_map(|skip| Step::Show { skip }),
        8 => Just(Step::Deliver),
        3 => Just(Step::Flush),
        3 => (1_u8..4).prop_map(|length| Step::Begin { length }),
        4 => Just(Step::Read),
        4 => Just(Step::Load),
        1 => Just(Step::Crash),
    ]
}

/// A change of a row, as the log has it.
#[derive(Clone, Debug)]
struct Change {
    key: Key,
    before: Option<Row>,
    after: Option<Row>,
}

struct InFlight {
    number: u64,
    /// Number of transactions that the stream had begun to deliver when the chunk began.
    delivered: usize,
    /// A row of the newest of these transactions.
    row: Option<Key>,
    rows: Option<BTreeMap<Key, Row>>,
}

/// Both servers and what runs between them. Positions are numbers of transactions.
struct World {
    source: Source,
    without: Without,
    log: Vec<Vec<Change>>,
    /// Which transactions of the log are visible.
    visible: Vec<bool>,
    /// The next change to deliver: transaction, and change within it.
    next: (usize, usize),
    /// The newest transaction that the stream has begun to deliver, and one of its rows.
    newest: Option<(usize, Key)>,
    window: Vec<Change>,
    map: ChunkMap<Key>,
    in_flight: Option<InFlight>,
    // What the target keeps over a crash.
    target: BTreeMap<Key, Row>,
    loaded: Vec<Chunk<Key>>,
    stored: usize,
    stored_row: Option<(usize, Key)>,
}

impl World {
    fn new(source: Source, without: Without) -> Self {
        Self {
            source,
            without,
            log: Vec::new(),
            visible: Vec::new(),
            next: (0, 0),
            newest: None,
            window: Vec::new(),
            map: ChunkMap::default(),
            in_flight: None,
            target: BTreeMap::new(),
            loaded: Vec::new(),
            stored: 0,
            stored_row: None,
        }
    }

    /// The rows after some of the transactions.
    fn rows_after(&self, is_done: impl Fn(usize) -> bool) -> BTreeMap<Key, Row> {
        let mut rows = BTreeMap::new();
        let done = self.log.iter().enumerate().filter(|(number, _)| is_done(*number));
        for change in done.flat_map(|(_, changes)| changes) {
            match change.after {
                Some(row) => rows.insert(change.key, row),
                None => rows.remove(&change.key),
            };
        }
        rows
    }

    fn write(&mut self, step: &Step) {
        let rows = self.rows_after(|_| true);
        let change = |key: Key, after: Option<Row>| Change { key, before: rows.get(&key).copied(), after };
        let transaction = match *step {
            Step::Write { key, column, value } => {
                let mut row = rows.get(&key).copied().unwrap_or([200, 200]);
                row[column] = value;
                vec![change(key, Some(row))]
            }
            Step::Delete { key } if rows.contains_key(&key) => vec![change(key, None)],
            Step::Move { from, to } if rows.contains_key(&from) && !rows.contains_key(&to) => {
                vec![change(from, None), change(to, rows.get(&from).copied())]
            }
            _ => return,
        };
        self.log.push(transaction);
        self.visible.push(false);
    }

    /// Whether a transaction that is not yet visible has changed the row, and so holds its lock.
    fn is_locked(&self, key: Key) -> bool {
        let open = self.log.iter().zip(&self.visible).filter(|(_, visible)| !**visible);
        open.flat_map(|(changes, _)| changes).any(|change| change.key == key)
    }

    /// Makes a transaction visible, but never before an earlier transaction that has changed the same row.
    fn show(&mut self, skip: usize) {
        let hidden: Vec<usize> = (0..self.log.len()).filter(|number| !self.visible[*number]).collect();
        let skip = if self.without == Without::Order { skip } else { 0 };
        let Some(number) = hidden.get(skip).copied() else { return };
        let keys = |number: usize| self.log[number].iter().map(|change| change.key);
        let earlier = hidden.iter().take(skip).flat_map(|before| keys(*before)).collect::<Vec<_>>();
        if !keys(number).any(|key| earlier.contains(&key)) {
            self.visible[number] = true;
        }
    }

    /// Number of transactions that the stream has begun to deliver.
    fn begun(&self) -> usize {
        self.next.0 + usize::from(self.next.1 > 0)
    }

    fn deliver(&mut self) {
        let (transaction, index) = self.next;
        let Some(change) = self.log.get(transaction).map(|changes| changes[index].clone()) else { return };
        let key = change.key;
        match self.map.verdict(&key) {
            ChangeDecision::Apply => self.window.push(change),
            ChangeDecision::Hold if self.without != Without::Hold => return,
            _ => {}
        }
        if self.newest.is_none_or(|(newest, _)| newest < transaction) {
            self.newest = Some((transaction, key));
        }
        self.next =
            if index + 1 == self.log[transaction].len() { (transaction + 1, 0) } else { (transaction, index + 1) };
    }

    fn flush(&mut self) {
        for change in std::mem::take(&mut self.window) {
            match (change.after, change.before) {
                (None, _) => drop(self.target.remove(&change.key)),
                (Some(after), Some(before)) if self.without == Without::WholeImages => {
                    if let Some(row) = self.target.get_mut(&change.key) {
                        (0..2)
                            .filter(|at| before[*at] != after[*at])
                            .for_each(|at| row[at] = row[at].wrapping_add(after[at].wrapping_sub(before[at])));
                    }
                }
                (Some(after), _) => drop(self.target.insert(change.key, after)),
            }
        }
        self.stored = self.next.0;
        self.stored_row = self.newest;
    }

    fn begin(&mut self, length: u8) {
        if self.in_flight.is_some() {
            return;
        }
        if self.map.waiting().is_none() {
            let Some(end) = self.map.end() else { return };
            let upto = end.map_or(0, |end| end + 1) + length - 1;
            self.map.extend((upto + 1 < KEYS).then_some(upto));
        }
        let Some(number) = self.map.waiting().map(|chunk| chunk.number) else { return };
        self.map.set(number, State::InFlight);
        self.in_flight =
            Some(InFlight { number, delivered: self.begun(), row: self.newest.map(|(_, key)| key), rows: None });
    }

    fn chunk(&self, number: u64) -> Chunk<Key> {
        self.map.chunks().iter().find(|chunk| chunk.number == number).cloned().unwrap()
    }

    fn read(&mut self) {
        let Some(InFlight { number, delivered, row, rows: None }) = self.in_flight else { return };
        let is_visible = match self.source {
            Source::Gtids => self.visible.iter().take(delivered).all(|visible| *visible),
            Source::Rows => row.is_none_or(|key| !self.is_locked(key)),
        };
        if !is_visible && self.without != Without::Barrier {
            return;
        }
        let chunk = self.chunk(number);
        let mut rows = self.rows_after(|number| self.visible[number]);
        rows.retain(|key, _| {
            chunk.after.is_none_or(|after| *key > after) && chunk.upto.is_none_or(|upto| *key <= upto)
        });
        if let Some(in_flight) = &mut self.in_flight {
            in_flight.rows = Some(rows);
        }
    }

    /// Returns an error if the range was not empty.
    fn load(&mut self) -> Result<(), String> {
        let Some(InFlight { number, rows: Some(rows), .. }) = &self.in_flight else { return Ok(()) };
        for (key, row) in rows {
            if self.target.insert(*key, *row).is_some() {
                return Err(format!("{key} was there before its chunk"));
            }
        }
        self.loaded.push(self.chunk(*number));
        self.map.set(*number, State::Loaded);
        self.in_flight = None;
        Ok(())
    }

    fn crash(&mut self) {
        self.window.clear();
        self.in_flight = None;
        self.map = ChunkMap::resumed(self.loaded.clone());
        if self.without != Without::StoredPosition {
            self.next = (self.stored, 0);
        }
        self.newest = self.stored_row.filter(|_| self.without != Without::StoredRow);
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            Step::Write { .. } | Step::Delete { .. } | Step::Move { .. } => self.write(step),
            Step::Show { skip } => self.show(*skip),
            Step::Deliver => self.deliver(),
            Step::Flush => self.flush(),
            Step::Begin { length } => self.begin(*length),
            Step::Read => self.read(),
            Step::Load => self.load()?,
            Step::Crash => self.crash(),
        }
        Ok(())
    }

    /// Makes all transactions visible, loads the remaining chunks, applies the rest of the log, and compares both ends.
    fn finish(&mut self) -> Result<(), String> {
        self.visible.fill(true);
        while !self.map.is_complete() {
            self.begin(2);
            self.read();
            self.load()?;
        }
        while self.next.0 < self.log.len() {
            self.deliver();
        }
        self.flush();
        let source = self.rows_after(|_| true);
        if self.target == source { Ok(()) } else { Err(format!("{:?} instead of {source:?}", self.target)) }
    }
}

fn run(source: Source, without: Without, cases: u32) -> Result<(), String> {
    let mut runner = TestRunner::new(Config { failure_persistence: None, ..Config::with_cases(cases) });
    let ended = runner.run(&prop::collection::vec(step(), 0..120), |steps| {
        let mut world = World::new(source, without);
        let ended = steps.iter().try_for_each(|step| world.step(step)).and_then(|()| world.finish());
        ended.map_err(TestCaseError::fail)
    });
    ended.map_err(|error| error.to_string())
}

#[test]
fn both_ends_are_equal_whatever_happens() {
    for source in [Source::Gtids, Source::Rows] {
        assert_eq!(run(source, Without::Nothing, 20_000), Ok(()), "{source:?}");
    }
    // GTIDs need no order.
    assert_eq!(run(Source::Gtids, Without::Order, 20_000), Ok(()));
}

#[test]
fn without_any_one_rule_a_difference_is_found() {
    for source in [Source::Gtids, Source::Rows] {
        for without in [Without::Hold, Without::Barrier, Without::WholeImages, Without::StoredPosition] {
            assert!(run(source, without, 20_000).is_err(), "{without:?} is no rule of {source:?}");
        }
    }
    for without in [Without::Order, Without::StoredRow] {
        assert!(run(Source::Rows, without, 20_000).is_err(), "{without:?} is no rule");
    }
}
