//! Network channels, and what variables, tables and probes show about each.
//!
//! The checks and the coverage map both use them, so that they cannot disagree.

pub mod client;
pub mod galera;
pub mod group;
pub(crate) mod packets;
pub mod replica;
pub mod transfer;

use crate::finding::{Evidence, EvidenceGrade};

/// A fact about a channel, with its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithEvidence<T> {
    /// The fact.
    pub value: T,
    /// Grade of the strongest evidence.
    pub grade: EvidenceGrade,
    /// Evidence, strongest first.
    pub evidence: Vec<Evidence>,
}

impl<T> WithEvidence<T> {
    /// A fact with one piece of evidence.
    pub(crate) fn new(value: T, grade: EvidenceGrade, evidence: Evidence) -> Self {
        Self { value, grade, evidence: vec![evidence] }
    }

    /// Adds a piece of evidence.
    #[must_use]
    pub(crate) fn and(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }
}
