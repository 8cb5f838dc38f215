//! Groups findings, so that 10,000 clear tables are one entry.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use audit::checks::{Area, area_of};
use audit::exposure::ClosedBy;
use audit::finding::{Finding, Status};
use audit::outcome::Outcome;
use findings::{Severity, Step};

use crate::catalogue;
use crate::text::visible;

/// Findings of one check with the same status and severity.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    /// The check.
    pub(crate) id: &'a str,
    /// Their severity.
    pub(crate) severity: Severity,
    /// The findings, at least one, in the outcome's order.
    pub(crate) findings: Vec<&'a Finding>,
}

impl<'a> Group<'a> {
    /// The beginning of the fix, before the remedy: what of this program closes these failures, if anything does on
    /// every server.
    pub(crate) fn own_fix(&self) -> Option<String> {
        self.findings.iter().find_map(|finding| finding.remediation.as_ref())?;
        self.own_command().map(|command| format!("{command}; or by hand:"))
    }

    fn own_command(&self) -> Option<&'static str> {
        match catalogue::row(self.id)?.closed_by {
            ClosedBy::Encrypt => Some("sealant encrypt run"),
            ClosedBy::Keyring => Some("sealant keyring init"),
            ClosedBy::Rotate => Some("sealant rotate run"),
            ClosedBy::Cert => Some("sealant cert issue, sealant cert install"),
            _ => None,
        }
    }

    /// One line about what is wrong.
    pub(crate) fn title(&self) -> &'a str {
        catalogue::title(self.first())
    }

    /// The finding that represents the group.
    pub(crate) fn first(&self) -> &'a Finding {
        self.findings.first().expect("a group begins with a finding")
    }

    /// Number of servers concerned.
    pub(crate) fn servers(&self) -> usize {
        let servers: BTreeSet<&str> = self.findings.iter().map(|f| f.server.as_str()).collect();
        servers.len()
    }
}

/// Groups the findings of `status` by check and severity, the worst first.
#[must_use]
pub(crate) fn by_check<'a>(findings: impl Iterator<Item = &'a Finding>, status: Status) -> Vec<Group<'a>> {
    let mut indices: HashMap<(&str, Severity), usize> = HashMap::new();
    let mut groups: Vec<Group<'_>> = Vec::new();
    for finding in findings.filter(|f| f.status == status) {
        let key = (finding.id.as_str(), finding.severity);
        let index = *indices.entry(key).or_insert(groups.len());
        match groups.get_mut(index) {
            Some(group) => group.findings.push(finding),
            None => groups.push(Group { id: key.0, severity: key.1, findings: vec![finding] }),
        }
    }
    // Checks that summarise others come last.
    groups.sort_by_key(|group| (Reverse(group.severity), area_of(group.id).is_some_and(Area::is_summary), group.id));
    groups
}

/// Facts that could not be read for lack of the same grant, file or option.
#[derive(Debug)]
pub(crate) struct BlindSpot<'a> {
    pub(crate) remedy: &'a str,
    /// Whether the remedy is a command.
    pub(crate) is_command: bool,
    /// The missing facts with the reasons, without duplicates.
    pub(crate) reasons: Vec<&'a str>,
    /// The checks without a verdict because of it, without duplicates.
    pub(crate) checks: Vec<&'a str>,
    /// Number of findings without a verdict because of it.
    pub(crate) findings: usize,
    /// Servers concerned.
    pub(crate) servers: BTreeSet<&'a str>,
}

/// Whether a finding's remedy is a command, judged by its first step.
#[must_use]
pub(crate) fn begins_with_command(finding: &Finding) -> bool {
    finding.remedies.first().is_some_and(Step::is_command)
}

/// Blind spots by remedy; the remedy that helps most checks comes first.
#[must_use]
pub(crate) fn blind_spots(outcome: &Outcome) -> Vec<BlindSpot<'_>> {
    let mut spots = Spots::default();
    for finding in outcome.findings.iter().filter(|f| f.status == Status::Unknown) {
        let remedy = finding.remediation.as_deref().unwrap_or("");
        let is_command = begins_with_command(finding);
        spots.add((remedy, is_command), &finding.message, &finding.server).count(&finding.id);
    }
    for server in &outcome.servers {
        for gap in &server.gaps {
            spots.add((&gap.remedy, gap.is_grant()), &gap.why, &server.target);
        }
    }
    spots.all.sort_by(|a, b| b.checks.len().cmp(&a.checks.len()).then_with(|| a.remedy.cmp(b.remedy)));
    spots.all
}

#[derive(Default)]
struct Spots<'a> {
    all: Vec<BlindSpot<'a>>,
    indices: HashMap<&'a str, usize>,
}

impl<'a> Spots<'a> {
    fn add(&mut self, (remedy, is_command): (&'a str, bool), reason: &'a str, server: &'a str) -> &mut BlindSpot<'a> {
        let index = *self.indices.entry(remedy).or_insert(self.all.len());
        if index == self.all.len() {
            let servers = BTreeSet::new();
            self.all.push(BlindSpot {
                remedy,
                is_command,
                reasons: Vec::new(),
                checks: Vec::new(),
                findings: 0,
                servers,
            });
        }
        let spot = &mut self.all[index];
        // Thousands of files may be unreadable for one reason; some examples suffice.
        if spot.reasons.len() < MAX_REASONS && !spot.reasons.contains(&reason) {
            spot.reasons.push(reason);
        }
        spot.servers.insert(server);
        spot
    }
}

/// Maximum number of reasons for each blind spot.
const MAX_REASONS: usize = 50;

impl<'a> BlindSpot<'a> {
    fn count(&mut self, check: &'a str) {
        self.findings += 1;
        if !self.checks.contains(&check) {
            self.checks.push(check);
        }
    }
}

/// Artefact and message of a finding, arranged so that the artefact occurs once: `None` if the message contains it.
#[must_use]
pub(crate) fn subject(finding: &Finding) -> (Option<&str>, &str) {
    let (artefact, message) = (finding.artefact.as_str(), finding.message.as_str());
    match message.strip_prefix(artefact).and_then(|rest| rest.strip_prefix([' ', ':'])) {
        Some(rest) => (Some(artefact), rest.trim_start()),
        None if artefact == "server" || names(message, artefact) => (None, message),
        None => (Some(artefact), message),
    }
}

/// Whether `artefact` occurs in `message` as a separate word.
fn names(message: &str, artefact: &str) -> bool {
    let goes_on = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut matches = message.match_indices(artefact);
    matches.any(|(at, name)| {
        let (before, after) = (&message[..at], &message[at + name.len()..]);
        !goes_on(before.chars().next_back()) && !goes_on(after.chars().next())
    })
}

/// [`subject`] on one line.
#[must_use]
pub(crate) fn line(finding: &Finding) -> String {
    let message = visible(&finding.message);
    match subject(finding) {
        (Some(artefact), rest) if rest.len() == finding.message.len() => format!("{}: {message}", visible(artefact)),
        _ => message.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, outcome_of};

    #[test]
    fn findings_of_one_check_and_severity_are_one_group_worst_first() {
        let mut low = finding("tls-cert-expiry", Status::Fail, "b");
        low.severity = Severity::Low;
        let all = [
            low,
            finding("rest-table-plaintext", Status::Fail, "t1"),
            finding("rest-table-plaintext", Status::Fail, "t2"),
            finding("tls-cert-expiry", Status::Fail, "a"),
            finding("tls-cert-expiry", Status::Pass, "c"),
        ];
        let groups = by_check(all.iter(), Status::Fail);
        let seen: Vec<_> = groups.iter().map(|g| (g.id, g.severity, g.findings.len())).collect();
        assert_eq!(
            seen,
            [
                ("rest-table-plaintext", Severity::High, 2),
                ("tls-cert-expiry", Severity::High, 1),
                ("tls-cert-expiry", Severity::Low, 1)
            ]
        );
    }

    #[test]
    fn what_one_grant_would_show_is_one_blind_spot() {
        let unknown = |id: &str, remedy: &str| {
            let mut finding = finding(id, Status::Unknown, "server");
            finding.remediation = Some(remedy.to_owned());
            finding
        };
        let outcome = outcome_of(vec![
            unknown("host-swap-plaintext", "run on the host"),
            unknown("auth-root-remote", "GRANT SELECT ON mysql.user"),
            unknown("tls-user-not-required", "GRANT SELECT ON mysql.user"),
        ]);
        let spots = blind_spots(&outcome);
        let seen: Vec<_> = spots.iter().map(|s| (s.remedy, s.checks.len())).collect();
        assert_eq!(seen, [("GRANT SELECT ON mysql.user", 2), ("run on the host", 1)]);
    }

    #[test]
    fn a_line_names_its_artefact_once() {
        let mut one = finding("x", Status::Fail, "demo/t1.ibd");
        one.message = "demo/t1.ibd is not encrypted".to_owned();
        assert_eq!(line(&one), "demo/t1.ibd is not encrypted");
        one.message = "not encrypted".to_owned();
        assert_eq!(line(&one), "demo/t1.ibd: not encrypted");
        one.message = "old/demo/t1.ibdx is not encrypted".to_owned();
        assert_eq!(line(&one), "demo/t1.ibd: old/demo/t1.ibdx is not encrypted");
        one.message = "the file demo/t1.ibd is not encrypted".to_owned();
        assert_eq!(line(&one), one.message);
        one.artefact = "server".to_owned();
        assert_eq!(line(&one), one.message);
    }

    #[test]
    fn this_program_is_named_where_it_closes_a_failure() {
        for (id, command) in [
            ("rest-table-plaintext", Some("sealant encrypt run")),
            ("key-not-loaded", Some("sealant keyring init")),
            ("key-master-age", Some("sealant rotate run")),
            ("tls-cert-expiry", Some("sealant cert issue, sealant cert install")),
            ("rest-temp-plaintext", None),
            ("host-runs-as-root", None),
            ("of-another-release", None),
        ] {
            let outcome = outcome_of(vec![finding(id, Status::Fail, "a")]);
            let groups = by_check(outcome.findings.iter(), Status::Fail);
            assert_eq!(groups[0].own_command(), command, "{id}");
        }
    }
}
