//! The verdict: the whole outcome in one sentence.

use audit::coverage::DataState;
use audit::finding::{Finding, Status};
use audit::outcome::Outcome;
use findings::Severity;
use serde::Serialize;

use crate::exposure::{self, Exposure, accepted};
use crate::fleet::{ServerResults, server_results};
use crate::text::{count, number};

/// Severity of the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Tone {
    /// Data is readable.
    Bad,
    /// Nothing readable was found, but there are weaknesses or blind spots.
    Unsure,
    /// Nothing is readable, and everything was checked.
    Good,
}

/// The sentence and its severity.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Verdict {
    /// Its severity.
    pub(crate) tone: Tone,
    pub(crate) sentence: String,
}

/// The verdict on all servers.
#[must_use]
pub(crate) fn of_outcome(outcome: &Outcome) -> Verdict {
    let server_results = server_results(outcome);
    let audited: Vec<&ServerResults<'_>> = server_results.iter().filter(|s| s.server.error.is_none()).collect();
    match audited.as_slice() {
        [] => Verdict { tone: Tone::Unsure, sentence: "No server could be audited.".to_owned() },
        [one] if server_results.len() == 1 => of_server(one),
        many => of_fleet(many, server_results.len()),
    }
}

/// The verdict on one audited server.
#[must_use]
pub(crate) fn of_server(results: &ServerResults<'_>) -> Verdict {
    let (disk, wire) = exposures(results);
    let tone = tone(results);
    let mut sentence = both(disk, wire).to_owned();
    let findings = || results.findings.iter().copied();
    if tone != Tone::Bad
        && [DataState::AtRest, DataState::InFlight].iter().any(|location| accepted(findings(), *location))
    {
        // Every sentence about a server without open failures begins with "Nothing".
        sentence = format!("Beyond what is waived, {}", uncapital(&sentence));
    }
    if tone != Tone::Bad {
        sentence.push_str(&remaining(weaknesses(results)));
    }
    Verdict { tone, sentence }
}

fn tone(results: &ServerResults<'_>) -> Tone {
    match exposures(results) {
        (Exposure::Open, _) | (_, Exposure::Open) => Tone::Bad,
        (Exposure::Closed, Exposure::Closed) if weaknesses(results) == 0 && results.unknown() == 0 => Tone::Good,
        _ => Tone::Unsure,
    }
}

fn weaknesses(results: &ServerResults<'_>) -> usize {
    results.findings.iter().filter(|finding| is_weakness(finding)).count()
}

fn uncapital(sentence: &str) -> String {
    let mut chars = sentence.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

fn remaining(weaknesses: usize) -> String {
    match weaknesses {
        0 => String::new(),
        1 => " 1 weakness remains.".to_owned(),
        many => format!(" {} weaknesses remain.", number(many)),
    }
}

fn is_weakness(finding: &Finding) -> bool {
    finding.status == Status::Fail && finding.severity > Severity::Info
}

fn exposures(results: &ServerResults<'_>) -> (Exposure, Exposure) {
    let at = |location| exposure::at(results.findings.iter().copied(), location);
    (at(DataState::AtRest), at(DataState::InFlight))
}

/// Data may be in pages that were not sampled, so no sentence claims that nothing can be read.
const fn both(disk: Exposure, wire: Exposure) -> &'static str {
    use Exposure::{Closed, Open, Unseen};
    match (disk, wire) {
        (Open, Open) => "A stolen disk can be read, and so can traffic on the network.",
        (Open, Unseen) => "A stolen disk can be read; traffic on the network was not seen in full.",
        (Open, Closed) => "A stolen disk can be read; nothing readable was found on the network.",
        (Unseen, Open) => "Traffic on the network can be read; the disk was not seen in full.",
        (Closed, Open) => "Traffic on the network can be read; nothing readable was found on the disk.",
        (Unseen, Unseen) => "Nothing readable was found, but neither disk nor network was seen in full.",
        (Unseen, Closed) => "Nothing readable was found, but the disk was not seen in full.",
        (Closed, Unseen) => "Nothing readable was found, but traffic on the network was not seen in full.",
        (Closed, Closed) => "Nothing readable was found, neither on the disk nor on the network.",
    }
}

fn of_fleet(audited: &[&ServerResults<'_>], servers: usize) -> Verdict {
    let exposures: Vec<(Exposure, Exposure)> = audited.iter().map(|results| exposures(results)).collect();
    let disks = exposures.iter().filter(|(disk, _)| *disk == Exposure::Open).count();
    let wires = exposures.iter().filter(|(_, wire)| *wire == Exposure::Open).count();
    let unseen = exposures.iter().filter(|(d, w)| *d == Exposure::Unseen || *w == Exposure::Unseen).count();
    let mut sentence = match (disks, wires) {
        (0, 0) => format!("Nothing readable was found on {}.", count(servers, "server")),
        (d, 0) => format!("A stolen disk can be read on {} of {}.", number(d), count(servers, "server")),
        (0, w) => format!("Traffic on the network can be read on {} of {}.", number(w), count(servers, "server")),
        (d, w) => format!(
            "A stolen disk can be read on {} of {}, traffic on the network on {}.",
            number(d),
            count(servers, "server"),
            number(w)
        ),
    };
    let missing = servers - audited.len();
    if missing > 0 {
        sentence.push_str(&format!(" {} could not be audited.", number(missing)));
    }
    if disks + wires == 0 && unseen > 0 {
        sentence.push_str(&format!(" {} could not be seen in full.", number(unseen)));
    }
    if disks + wires == 0 {
        sentence.push_str(&remaining(audited.iter().map(|results| weaknesses(results)).sum()));
    }
    let tone = match disks + wires {
        0 if missing == 0 && audited.iter().all(|results| tone(results) == Tone::Good) => Tone::Good,
        0 => Tone::Unsure,
        _ => Tone::Bad,
    };
    Verdict { tone, sentence }
}

#[cfg(test)]
mod tests {
    use audit::coverage::CoverageState;
    use audit::outcome::Server;

    use super::*;
    use crate::testing::{coverage, finding, outcome_of, server};

    fn outcome(disk: Status, wire: Status) -> Outcome {
        outcome_of(vec![finding("rest-table-plaintext", disk, "t"), finding("tls-not-required", wire, "main port")])
    }

    #[test]
    fn a_server_is_judged_by_disk_and_wire() {
        let both = of_outcome(&outcome(Status::Fail, Status::Fail));
        assert_eq!(both.sentence, "A stolen disk can be read, and so can traffic on the network.");
        assert_eq!(both.tone, Tone::Bad);
        let good = of_outcome(&outcome(Status::Pass, Status::Pass));
        assert_eq!(good.tone, Tone::Good);
        let blind = of_outcome(&outcome(Status::Unknown, Status::Pass));
        assert_eq!(blind.sentence, "Nothing readable was found, but the disk was not seen in full.");
        assert_eq!(blind.tone, Tone::Unsure);
    }

    #[test]
    fn what_passes_or_is_accepted_is_not_read_off_the_map() {
        let clear = || coverage("test", "system tablespace (ibdata1)", CoverageState::Clear);
        let mut passed = outcome(Status::Pass, Status::Pass);
        passed.coverage.push(clear());
        assert_eq!(of_outcome(&passed).tone, Tone::Good);
        let mut waived = outcome(Status::Waived, Status::Pass);
        waived.coverage.push(clear());
        let verdict = of_outcome(&waived);
        assert_eq!(verdict.tone, Tone::Good);
        let message = "Beyond what is waived, nothing readable was found, neither on the disk nor on the network.";
        assert_eq!(verdict.sentence, message);
    }

    #[test]
    fn a_fleet_with_a_weakness_is_not_all_good() {
        let mut fleet = outcome(Status::Pass, Status::Pass);
        fleet.servers.push(server("other"));
        fleet.findings.push(finding("auth-root-remote", Status::Fail, "'root'@'%'"));
        let verdict = of_outcome(&fleet);
        assert_eq!(verdict.tone, Tone::Unsure);
        assert!(verdict.sentence.contains("1 weakness remains."), "{}", verdict.sentence);
    }

    #[test]
    fn nothing_seen_is_never_good() {
        assert_eq!(of_outcome(&outcome_of(Vec::new())).tone, Tone::Unsure);
        assert_eq!(of_outcome(&Outcome::empty("2026-11-20T12:00:00Z".parse().unwrap())).tone, Tone::Unsure);
    }

    #[test]
    fn a_fleet_is_counted() {
        let mut fleet = outcome(Status::Fail, Status::Pass);
        fleet.servers.push(server("other"));
        fleet.servers.push(Server::failed("down", "connection refused"));
        let verdict = of_outcome(&fleet);
        assert_eq!(verdict.sentence, "A stolen disk can be read on 1 of 3 servers. 1 could not be audited.");
        assert_eq!(verdict.tone, Tone::Bad);
    }
}
