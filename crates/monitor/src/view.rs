//! What the pages show: the outcome of the whole fleet, and how the rounds of each server went.

use std::collections::HashMap;
use std::time::Duration;

use audit::finding::{Finding, Status};
use audit::outcome::Outcome;
use findings::Severity;
use jiff::Timestamp;

use crate::{Measurements, Scope, SourceView};

/// How much of the findings a page shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// What the report shows: of each check, evidence for the first servers only.
    Report,
    /// Check, artefact, status, severity and grade: enough to count, at a fraction of the memory.
    Counts,
}

impl Detail {
    /// The outcomes of all servers, in their order, with no more than this. They are unpacked one at a time: all of them
    /// with all details would take most of the monitor's memory.
    pub(crate) fn of(self, servers: impl ExactSizeIterator<Item = (String, impl FnOnce() -> Outcome)>) -> Vec<Outcome> {
        let mut servers: Vec<_> = servers.enumerate().collect();
        // The report shows the findings of a check in the order of the names.
        servers.sort_by(|(_, (one, _)), (_, (other, _))| one.cmp(other));
        let mut report = ForReport::default();
        let mut outcomes: Vec<(usize, Outcome)> = Vec::with_capacity(servers.len());
        for (index, (_, unpack)) in servers {
            let mut outcome = unpack();
            match self {
                Self::Report => outcome.findings.iter_mut().for_each(|finding| report.reduce(finding)),
                Self::Counts => outcome.findings = outcome.findings.into_iter().map(counted).collect(),
            }
            outcomes.push((index, outcome));
        }
        outcomes.sort_by_key(|(index, _)| *index);
        outcomes.into_iter().map(|(_, outcome)| outcome).collect()
    }
}

fn counted(finding: Finding) -> Finding {
    Finding {
        message: String::new(),
        evidence: Vec::new(),
        remediation: None,
        remedies: Vec::new(),
        cost: None,
        standards: Vec::new(),
        fingerprint: String::new(),
        ..finding
    }
}

/// Findings of a check with the same status and severity that keep their details. No list of the report is longer.
const DETAILED: usize = 100;

/// Removes what the report would not show.
#[derive(Default)]
struct ForReport {
    /// How many findings of each check, status and severity there were so far.
    seen: HashMap<(String, Status, Severity), usize>,
}

impl ForReport {
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

#[cfg(test)]
mod tests {
    use audit::facts::Facts;
    use audit::rules::Rules;
    use audit::run::judge;

    use super::*;

    fn outcomes(servers: usize, detail: Detail) -> Vec<Outcome> {
        let name = |n: usize| format!("db{:03}", servers - n);
        let unpack = |n: usize| {
            move || judge(&Facts::empty(&name(n), Timestamp::UNIX_EPOCH), &Rules::default(), Timestamp::now())
        };
        detail.of((0..servers).map(|n| (name(n), unpack(n))))
    }

    #[test]
    fn the_first_hundred_findings_by_name_keep_their_details() {
        let outcomes = outcomes(DETAILED + 20, Detail::Report);
        let names: Vec<_> = outcomes.iter().map(|outcome| outcome.servers[0].target.as_str()).collect();
        assert_eq!((names[0], names[119]), ("db120", "db001"), "the order of the fleet");
        let findings_of = |id: &str| outcomes[0].findings.iter().filter(|finding| finding.id == id).count();
        let is_one = |finding: &&Finding| finding.status == Status::NotApplicable && findings_of(&finding.id) == 1;
        let one = outcomes[0].findings.iter().find(is_one).expect("a check with one finding for each server");
        let has_details = |outcome: &Outcome| {
            let finding = outcome.findings.iter().find(|finding| finding.id == one.id).expect("of every server");
            !finding.message.is_empty() && !finding.fingerprint.is_empty()
        };
        assert!(outcomes[20..].iter().all(has_details) && !outcomes[..20].iter().any(has_details));
        let unknown = |outcome: &Outcome| {
            let messages = outcome.findings.iter().filter(|finding| finding.status == Status::Unknown);
            messages.map(|finding| finding.message.len()).sum::<usize>()
        };
        assert!(unknown(&outcomes[0]) > 0, "reasons are counted");
    }

    #[test]
    fn counts_have_no_texts() {
        let [one] = &outcomes(1, Detail::Counts)[..] else { panic!("one server") };
        assert!(one.findings.iter().all(|finding| finding.message.is_empty() && !finding.id.is_empty()));
    }
}
