//! What the pages show: the outcome of the whole fleet, and how the rounds of each server went.

use std::time::Duration;

use audit::outcome::Outcome;
use jiff::Timestamp;

use crate::{Measurements, Scope};

/// The fleet at one moment.
#[derive(Debug)]
pub struct View {
    /// Outcomes of all servers. A server that does not answer keeps the findings of its last round.
    pub outcome: Outcome,
    /// The servers, in the order of the fleet file.
    pub servers: Vec<ServerView>,
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
