//! Network channels, and what variables, tables and probes show about each.
//!
//! The checks and the coverage map both use them, so that they cannot disagree.

pub mod client;
pub mod galera;
pub mod group;
pub mod replica;
pub mod transfer;

use crate::finding::{Evidence, Grade};

/// A fact about a channel, with its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attested<T> {
    /// The fact.
    pub value: T,
    /// Grade of the strongest evidence.
    pub grade: Grade,
    /// Evidence, strongest first.
    pub evidence: Vec<Evidence>,
}

impl<T> Attested<T> {
    /// A fact with one piece of evidence.
    pub(crate) fn new(value: T, grade: Grade, evidence: Evidence) -> Self {
        Self { value, grade, evidence: vec![evidence] }
    }

    /// Adds a piece of evidence.
    #[must_use]
    pub(crate) fn and(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }
}
