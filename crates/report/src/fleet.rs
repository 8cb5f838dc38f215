//! Several servers: their coverage maps merged, and the standing of each.

use std::collections::{BTreeMap, HashMap};

use audit::coverage::{Coverage, CoverageState, DataState, Layer};
use audit::finding::{EvidenceGrade, Finding, Status};
use audit::outcome::{Outcome, Server};
use findings::Severity;

use crate::labels;
use crate::text::{count, number};

/// A row of the coverage map, of one server or of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Row<'a> {
    /// At rest or in flight.
    pub(crate) location: DataState,
    /// Whether it is a channel by which clients connect.
    pub(crate) is_client_channel: bool,
    /// Kind of artefact, or name of the channel.
    pub(crate) artefact: &'a str,
    /// State, combined over all servers.
    pub(crate) state: CoverageState,
    /// The encrypting layer.
    pub(crate) layer: Layer,
    /// The weakest grade of evidence among the servers.
    pub(crate) grade: Option<EvidenceGrade>,
    /// Explanation in a few words.
    pub(crate) detail: String,
}

/// The combined map of all servers, in the order in which rows first occur.
#[must_use]
pub(crate) fn map(outcome: &Outcome) -> Vec<Row<'_>> {
    let mut locations: BTreeMap<(DataState, &str), usize> = BTreeMap::new();
    let mut merged: Vec<Vec<&Coverage>> = Vec::new();
    for coverage in &outcome.coverage {
        let index = *locations.entry((coverage.location, coverage.artefact.as_str())).or_insert(merged.len());
        match merged.get_mut(index) {
            Some(rows) => rows.push(coverage),
            None => merged.push(vec![coverage]),
        }
    }
    let mut rows: Vec<Row<'_>> = merged.iter().map(|same| merge(same)).collect();
    rows.sort_by_key(|row| row.location);
    rows
}

fn merge<'a>(same: &[&'a Coverage]) -> Row<'a> {
    let first = same.first().expect("a row is made for at least one server");
    if let [one] = same {
        let detail = one.detail.clone();
        return Row {
            location: one.location,
            is_client_channel: one.is_client_channel(),
            artefact: &one.artefact,
            state: one.state,
            layer: one.layer,
            grade: one.grade,
            detail,
        };
    }
    let state = combine(same.iter().map(|c| c.state));
    let layers = same.iter().map(|c| c.layer).filter(|layer| *layer != Layer::None);
    let layer = if state == CoverageState::Clear { Layer::None } else { layers.max().unwrap_or(Layer::None) };
    let grade = same.iter().filter_map(|c| c.grade).min();
    Row {
        location: first.location,
        is_client_channel: first.is_client_channel(),
        artefact: &first.artefact,
        state,
        layer,
        grade,
        detail: tally(same),
    }
}

/// The combination of several states; absent ones do not count.
pub(crate) fn combine(states: impl Iterator<Item = CoverageState>) -> CoverageState {
    use CoverageState::{Absent, Clear, Encrypted, Partly, Unknown};
    states.filter(|state| *state != Absent).fold(Absent, |all, one| match (all, one) {
        (Absent, one) => one,
        (all, one) if all == one => all,
        (Partly | Clear, Unknown) => all,
        (Unknown, Partly | Clear) => one,
        (Unknown, Encrypted) | (Encrypted, Unknown) => Unknown,
        _ => Partly,
    })
}

fn tally(same: &[&Coverage]) -> String {
    use CoverageState::{Clear, Encrypted, Partly, Unknown};
    let message = [Clear, Partly, Encrypted, Unknown].iter().filter_map(|state| {
        let servers = same.iter().filter(|c| c.state == *state).count();
        (servers > 0).then(|| format!("{} on {}", labels::short_state(*state), number(servers)))
    });
    let message: Vec<String> = message.collect();
    if message.is_empty() {
        "on no server".to_owned()
    } else {
        format!("{} of {}", message.join(", "), count(same.len(), "server"))
    }
}

/// The results of one server.
#[derive(Debug)]
pub(crate) struct ServerResults<'a> {
    pub(crate) server: &'a Server,
    /// Its rows of the coverage map.
    pub(crate) coverage: Vec<&'a Coverage>,
    /// Its findings, in the outcome's order.
    pub(crate) findings: Vec<&'a Finding>,
}

impl ServerResults<'_> {
    /// Combined state of everything at this location.
    pub(crate) fn state(&self, location: DataState) -> CoverageState {
        combine(self.coverage.iter().filter(|c| c.location == location).map(|c| c.state))
    }

    /// Number of failures of this severity.
    pub(crate) fn failures(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|f| f.status == Status::Fail && f.severity == severity).count()
    }

    /// Number of checks without a verdict.
    pub(crate) fn unknown(&self) -> usize {
        self.findings.iter().filter(|f| f.status == Status::Unknown).count()
    }

    /// Sort key: unreachable servers first, then by number of failures, the worst severity first.
    fn rank(&self) -> impl Ord + use<> {
        let by_severity: Vec<usize> = Severity::ALL.iter().rev().map(|severity| self.failures(*severity)).collect();
        std::cmp::Reverse((self.server.error.is_some(), by_severity, self.unknown()))
    }
}

/// Every server, the worst first.
#[must_use]
pub(crate) fn server_results(outcome: &Outcome) -> Vec<ServerResults<'_>> {
    let new = |server| ServerResults { server, coverage: Vec::new(), findings: Vec::new() };
    let mut all: Vec<ServerResults<'_>> = outcome.servers.iter().map(new).collect();
    let locations: HashMap<&str, usize> =
        outcome.servers.iter().enumerate().map(|(i, s)| (s.target.as_str(), i)).collect();
    let index = |target: &str| locations.get(target).copied();
    for coverage in &outcome.coverage {
        if let Some(results) = index(&coverage.server).and_then(|i| all.get_mut(i)) {
            results.coverage.push(coverage);
        }
    }
    for finding in &outcome.findings {
        if let Some(results) = index(&finding.server).and_then(|i| all.get_mut(i)) {
            results.findings.push(finding);
        }
    }
    all.sort_by_cached_key(ServerResults::rank);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{coverage, rich, server};
    use CoverageState::{Absent, Clear, Encrypted, Partly, Unknown};

    #[test]
    fn one_clear_server_keeps_a_fleet_from_being_encrypted() {
        assert_eq!(combine([Encrypted, Clear].into_iter()), Partly);
        assert_eq!(combine([Clear, Clear, Absent].into_iter()), Clear);
        assert_eq!(combine([Encrypted, Unknown].into_iter()), Unknown);
        assert_eq!(combine([Unknown, Clear, Encrypted].into_iter()), Partly);
        assert_eq!(combine([Absent].into_iter()), Absent);
    }

    #[test]
    fn the_same_rows_of_several_servers_are_merged() {
        let mut outcome = rich();
        outcome.servers = vec![server("a"), server("b")];
        outcome.coverage =
            vec![coverage("a", "tables", Encrypted), coverage("b", "tables", Clear), coverage("b", "redo log", Clear)];
        let rows = map(&outcome);
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].artefact, rows[0].state), ("tables", Partly));
        assert_eq!(rows[0].detail, "clear on 1, encrypted on 1 of 2 servers");
    }

    #[test]
    fn unreachable_servers_come_first() {
        let mut outcome = rich();
        outcome.servers.push(Server::failed("down", "connection refused"));
        assert_eq!(server_results(&outcome)[0].server.target, "down");
    }
}
