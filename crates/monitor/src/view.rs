//! What the pages show: the outcome of each server, and how its rounds went.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use audit::finding::{Finding, Status};
use audit::outcome::Outcome;
use findings::Severity;
use jiff::Timestamp;

use crate::packed::Packed;
use crate::{Measurements, Scope, SourceView};

/// The fleet at one moment. Outcomes are unpacked when they are asked for: those of a large fleet, all at once, would take
/// most of the monitor's memory.
#[derive(Debug)]
pub struct View {
    /// Names and outcomes, in the order of the fleet file.
    known: Vec<(String, Known)>,
    /// The servers, in the order of the fleet file.
    pub servers: Vec<ServerView>,
    /// Metrics of other processes, in the order of the configuration.
    pub sources: Vec<SourceView>,
}

/// What is known of a server.
#[derive(Debug)]
pub(crate) struct Known {
    /// What its last round found.
    pub(crate) outcome: Arc<Packed>,
    /// Why a later round failed.
    pub(crate) error: Option<String>,
}

impl Known {
    fn unpack(&self) -> Outcome {
        let mut outcome = self.outcome.unpack();
        for server in &mut outcome.servers {
            server.error.clone_from(&self.error);
        }
        outcome
    }
}

impl View {
    pub(crate) fn of(known: Vec<(String, Known)>, servers: Vec<ServerView>, sources: Vec<SourceView>) -> Self {
        Self { known, servers, sources }
    }

    /// A view of servers that were audited, with these outcomes by name.
    #[must_use]
    pub fn of_outcomes(outcomes: Vec<(String, Outcome)>, servers: Vec<ServerView>, sources: Vec<SourceView>) -> Self {
        let known = |(name, outcome)| (name, Known { outcome: Arc::new(Packed::new(&outcome)), error: None });
        Self::of(outcomes.into_iter().map(known).collect(), servers, sources)
    }

    /// The outcome of each server, in the order of the fleet file. A server that does not answer keeps the findings of
    /// its last round.
    pub fn outcomes(&self) -> impl Iterator<Item = Outcome> {
        self.known.iter().map(|(_, known)| known.unpack())
    }

    /// The outcomes of all servers, as the report shows them: of many findings of a check, only the first have details.
    #[must_use]
    pub fn report(&self) -> Outcome {
        let mut by_name: Vec<_> = self.known.iter().enumerate().collect();
        // The report shows the findings of a check in this order.
        by_name.sort_by_key(|(_, (name, _))| name);
        let mut shown = Shown::default();
        let reduced = |(index, (_, known)): (usize, &(String, Known))| {
            let mut outcome = known.unpack();
            outcome.findings.iter_mut().for_each(|finding| shown.reduce(finding));
            (index, outcome)
        };
        let mut outcomes: Vec<(usize, Outcome)> = by_name.into_iter().map(reduced).collect();
        outcomes.sort_by_key(|(index, _)| *index);
        let mut all = Outcome::empty(Timestamp::now());
        all.absorb_all(outcomes.into_iter().map(|(_, outcome)| outcome));
        all
    }
}

/// Findings of a check with the same status and severity that keep their details. No list of the report is longer.
const DETAILED: usize = 100;

/// Removes what the report does not show.
#[derive(Default)]
struct Shown {
    /// How many findings of each check, status and severity there were so far.
    seen: HashMap<(String, Status, Severity), usize>,
}

impl Shown {
    fn reduce(&mut self, finding: &mut Finding) {
        let seen = self.seen.entry((finding.id.clone(), finding.status, finding.severity)).or_default();
        *seen = seen.saturating_add(1);
        if *seen <= DETAILED {
            return;
        }
        finding.evidence = Vec::new();
        finding.fingerprint = String::new();
        // The reasons why something is unknown are counted, and the remedies of all failures.
        if !matches!(finding.status, Status::Fail | Status::Unknown) {
            finding.message = String::new();
        }
    }
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

#[cfg(test)]
mod tests {
    use audit::facts::Facts;
    use audit::rules::Rules;
    use audit::run::judge;

    use super::*;

    #[test]
    fn the_first_hundred_findings_by_name_keep_their_details() {
        let servers = DETAILED + 20;
        let name = |n: usize| format!("db{:03}", servers - n);
        let judged = |name: String| {
            let outcome = judge(&Facts::empty(&name, Timestamp::UNIX_EPOCH), &Rules::default(), Timestamp::now());
            (name, outcome)
        };
        let view = View::of_outcomes((0..servers).map(name).map(judged).collect(), Vec::new(), Vec::new());
        let report = view.report();
        let names: Vec<_> = report.servers.iter().map(|server| server.target.as_str()).collect();
        assert_eq!((names[0], names[119]), ("db120", "db001"), "the order of the fleet");
        let (first, rest): (Vec<&Finding>, Vec<&Finding>) =
            report.findings.iter().partition(|finding| finding.server.as_str() <= "db100");
        let of = |findings: &[&Finding], id: &str| -> Vec<bool> {
            let of_check = findings.iter().filter(|finding| finding.id == id);
            of_check.map(|finding| !finding.message.is_empty() && !finding.fingerprint.is_empty()).collect()
        };
        let is_one =
            |finding: &&&Finding| finding.status == Status::NotApplicable && of(&first, &finding.id).len() == DETAILED;
        let one = first.iter().find(is_one).expect("a check with one finding for each server");
        assert_eq!((of(&first, &one.id), of(&rest, &one.id)), (vec![true; DETAILED], vec![false; 20]));
        let unknown = rest.iter().find(|finding| finding.status == Status::Unknown).expect("nothing was seen");
        assert!(!unknown.message.is_empty(), "reasons are counted");
        let whole: Vec<Outcome> = view.outcomes().collect();
        assert_eq!(whole.iter().map(|outcome| outcome.findings.len()).sum::<usize>(), report.findings.len());
        assert!(whole[0].findings.iter().all(|finding| !finding.message.is_empty()));
    }
}
