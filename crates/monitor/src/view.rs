//! What the pages show: the outcome of the whole fleet, and how the rounds of each server went.

use std::time::Duration;

use audit::finding::Finding;
use audit::outcome::Outcome;
use jiff::Timestamp;

use crate::{Measurements, Scope, SourceView};

/// How much of the findings a page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Everything.
    Everything,
    /// Check, artefact, status, severity and grade: enough to count, at a fraction of the memory.
    Counts,
}

impl Detail {
    /// The outcome with no more than this.
    pub(crate) fn of(self, outcome: Outcome) -> Outcome {
        if self == Self::Everything {
            return outcome;
        }
        let counted = |finding: Finding| Finding {
            message: String::new(),
            evidence: Vec::new(),
            remediation: None,
            remedies: Vec::new(),
            cost: None,
            standards: Vec::new(),
            fingerprint: String::new(),
            ..finding
        };
        Outcome { findings: outcome.findings.into_iter().map(counted).collect(), ..outcome }
    }
}

/// The fleet at one moment.
#[derive(Debug)]
pub struct View {
    /// Outcomes of all servers. A server that does not answer keeps the findings of its last round.
    pub outcome: Outcome,
    /// The servers, in the order of the fleet file.
    pub servers: Vec<ServerView>,
    /// Metrics of other processes, in the order of the configuration.
    pub sources: Vec<SourceView>,
}

/// How the rounds of a server went.
#[derive(Debug, Clone)]
pub struct ServerView {
    /// Its name.
    pub name: String,
    /// Whether the last round succeeded; `None` before the first.
    pub up: Option<bool>,
    /// Number of rounds that failed since the start of the monitor.
    pub failed_rounds: u64,
    /// Last successful round of each scope, and how long it took.
    pub rounds: Vec<(Scope, Timestamp, Duration)>,
    /// Dates for alerts.
    pub measurements: Measurements,
}
