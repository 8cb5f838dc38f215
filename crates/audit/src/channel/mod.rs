//! Ways that data moves, and what variables, tables and the wire say of each.
//!
//! The checks and the coverage map both judge these, so that they cannot disagree.

pub mod client;
pub mod galera;
pub mod group;
pub mod replica;
pub mod transfer;

use crate::finding::{Evidence, Grade};

/// A statement about a channel and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said<T> {
    /// The statement.
    pub value: T,
    /// The strongest evidence behind it.
    pub grade: Grade,
    /// The evidence, strongest first.
    pub evidence: Vec<Evidence>,
}

impl<T> Said<T> {
    /// A statement with one piece of evidence.
    pub(crate) fn new(value: T, grade: Grade, evidence: Evidence) -> Self {
        Self { value, grade, evidence: vec![evidence] }
    }

    /// The same with one more piece.
    #[must_use]
    pub(crate) fn and(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }
}
