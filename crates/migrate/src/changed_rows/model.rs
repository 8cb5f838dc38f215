//! A model of the comparison of changed rows, with random interleavings of writes, delivery, application and comparison.

#![allow(clippy::arithmetic_side_effects, reason = "a model of a few rows")]

use std::ops::ControlFlow;

use super::*;
use crate::{key::KeyColumns, preflight::testing};

const ROWS: usize = 4;
const CHUNK: ChunkId = (0, 0);
const STEPS: usize = 60;
const SEEDS: u64 = 20_000;

/// A rule of the comparison that a test leaves out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    /// What was delivered before is applied before anything is read.
    Applied,
    /// What the source's snapshot may contain is delivered before the rows are judged.
    Delivered,
    /// Rows that have changed again meanwhile are not settled.
    Since,
}

/// A small generator (xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % limit as u64).unwrap()
    }
}

/// How far a comparison is.
enum Comparison {
    /// It has begun, when so many changes were delivered.
    Begun(usize),
    /// The source was read, when its log had so many changes.
    Source(Vec<u8>, usize),
    Both(Vec<u8>, Vec<u8>, usize),
}

struct Model {
    chance: Chance,
    keys: Vec<Key>,
    without: Option<Rule>,
    /// The changes of the source: row and value.
    log: Vec<(usize, u8)>,
    delivered: usize,
    applied: usize,
    target: Vec<u8>,
    changed: ChangedRows,
    is_watched: bool,
    comparison: Option<(Vec<Key>, u64, Comparison)>,
    /// Whether changes can be applied wrongly.
    has_faults: bool,
}

impl Model {
    fn new(seed: u64, without: Option<Rule>, has_faults: bool) -> Self {
        let columns = KeyColumns::from_table(&testing::table("t"));
        let keys = (0..ROWS).map(|row| columns.parse([row.to_string().as_bytes()]).unwrap()).collect();
        let chance = Chance(0x9e37_79b9_7f4a_7c15 ^ (seed + 1));
        let (log, changed, target) = (Vec::new(), ChangedRows::default(), vec![0; ROWS]);
        let (delivered, applied, comparison) = (0, 0, None);
        Self {
            chance,
            keys,
            without,
            log,
            delivered,
            applied,
            target,
            changed,
            is_watched: true,
            comparison,
            has_faults,
        }
    }

    /// The rows of the source after so many changes.
    fn source(&self, changes: usize) -> Vec<u8> {
        let mut rows = vec![0; ROWS];
        self.log[..changes].iter().for_each(|(row, value)| rows[*row] = *value);
        rows
    }

    fn deliver(&mut self) {
        let Some((row, _)) = self.log.get(self.delivered) else { return };
        self.delivered += 1;
        if self.is_watched {
            self.is_watched = false;
            self.changed.begin(CHUNK);
        }
        self.changed.note(CHUNK, &self.keys[*row]);
    }

    fn apply(&mut self) {
        if self.applied < self.delivered {
            let (row, value) = self.log[self.applied];
            let is_wrong = self.has_faults && self.chance.below(8) == 0;
            self.target[row] = value + u8::from(is_wrong) * 100;
            self.applied += 1;
        }
    }

    /// Goes on with a comparison. Ends if a row differs.
    fn compare(&mut self) -> ControlFlow<()> {
        let Some((keys, since, comparison)) = self.comparison.take() else {
            let known = self.changed.known().pop();
            let begin = |(_, keys)| (keys, self.changed.newest(), Comparison::Begun(self.delivered));
            self.comparison = known.map(begin);
            return ControlFlow::Continue(());
        };
        let next = match comparison {
            Comparison::Begun(begun) if self.applied < begun && self.without != Some(Rule::Applied) => {
                Comparison::Begun(begun)
            }
            Comparison::Begun(begun) => {
                // A snapshot can lack the newest changes of the log.
                let snapshot = begun + self.chance.below(self.log.len() - begun + 1);
                Comparison::Source(self.source(snapshot), self.log.len())
            }
            Comparison::Source(source, end) => Comparison::Both(source, self.target.clone(), end),
            Comparison::Both(source, target, end) if self.delivered < end && self.without != Some(Rule::Delivered) => {
                Comparison::Both(source, target, end)
            }
            Comparison::Both(source, target, _) => return self.judge(&keys, since, &source, &target),
        };
        self.comparison = Some((keys, since, next));
        ControlFlow::Continue(())
    }

    fn judge(&mut self, keys: &[Key], since: u64, source: &[u8], target: &[u8]) -> ControlFlow<()> {
        let since = if self.without == Some(Rule::Since) { u64::MAX } else { since };
        let rows = self.keys.iter().zip(source.iter().zip(target)).filter(|(key, _)| keys.contains(key));
        let mut differing = rows.filter(|(_, (one, other))| one != other);
        if differing.any(|(key, _)| !self.changed.has_changed(CHUNK, key, since)) {
            return ControlFlow::Break(());
        }
        self.is_watched |= self.changed.settle(CHUNK, keys, since);
        ControlFlow::Continue(())
    }

    /// Lets clients write for a while, and then compares what is left. Returns whether a row was found that differs, and
    /// whether one does.
    fn run(&mut self) -> (bool, bool) {
        for _ in 0..STEPS {
            match self.chance.below(5) {
                0 => {
                    let value = u8::try_from(self.log.len() + 1).unwrap();
                    self.log.push((self.chance.below(ROWS), value));
                }
                1 => self.deliver(),
                2 => self.apply(),
                _ => {
                    if self.compare().is_break() {
                        return (true, true);
                    }
                }
            }
        }
        while self.applied < self.log.len() {
            self.deliver();
            self.apply();
        }
        while !self.is_watched {
            if self.compare().is_break() {
                return (true, true);
            }
        }
        (false, self.target != self.source(self.log.len()))
    }
}

/// Whether in one of many interleavings a difference is invented, or one is missed.
fn fails(without: Option<Rule>) -> bool {
    let invents = |seed| Model::new(seed, without, false).run() != (false, false);
    let misses = |seed| matches!(Model::new(seed, without, true).run(), (false, true));
    (0..SEEDS).any(|seed| invents(seed) || misses(seed))
}

#[test]
fn no_difference_is_invented_and_none_is_missed() {
    assert!(!fails(None));
    let found = (0..SEEDS).filter(|seed| Model::new(*seed, None, true).run().0).count();
    assert!(found > 1000, "{found}");
}

#[test]
fn each_rule_is_needed() {
    for rule in [Rule::Applied, Rule::Delivered, Rule::Since] {
        assert!(fails(Some(rule)), "{rule:?}");
    }
}
