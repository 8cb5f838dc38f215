//! SARIF 2.1.0 (OASIS), for code scanning and other tools.
//!
//! The status maps to `kind`: FAIL and WAIVED are `fail` (WAIVED with a suppression), PASS is `pass`, UNKNOWN is
//! `open`, N/A is `notApplicable`; only `fail` may have a level (3.27.9).

use std::collections::BTreeMap;
use std::io::Write;

use audit::check::Check;
use audit::finding::{Evidence, EvidenceGrade, Finding, Status};
use audit::outcome::Outcome;
use findings::Severity;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::catalogue::{self, area};
use crate::labels::second;
use crate::text::visible;
use crate::{Error, json};

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Writes one run with a rule for each check and a result for each finding.
///
/// # Errors
/// [`Error::Write`].
pub(crate) fn write(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    let rules = Rules::new(outcome);
    let run = Run {
        tool: json!({ "driver": {
            "name": "sealant",
            "semanticVersion": outcome.sealant,
            "shortDescription": { "text": "What somebody can still read who steals the disk or listens on the network" },
            "rules": rules.all,
        } }),
        invocations: json!([invocation(outcome)]),
        results: Results { findings: &outcome.findings, index: &rules.index },
        column_kind: "utf16CodeUnits",
    };
    json::pretty(&Log { schema: SCHEMA, version: "2.1.0", runs: [run] }, out)
}

#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'a str,
    version: &'a str,
    runs: [Run<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Run<'a> {
    tool: Value,
    invocations: Value,
    results: Results<'a>,
    column_kind: &'a str,
}

/// Findings, converted one at a time while they are written: there may be many.
struct Results<'a> {
    findings: &'a [Finding],
    index: &'a BTreeMap<String, usize>,
}

impl Serialize for Results<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer
            .collect_seq(self.findings.iter().map(|finding| result(finding, self.index.get(&finding.id).copied())))
    }
}

/// The rules, and the index of each by id.
struct Rules {
    all: Vec<Value>,
    index: BTreeMap<String, usize>,
}

impl Rules {
    /// All checks of this release, then those that only the findings mention.
    fn new(outcome: &Outcome) -> Self {
        let mut rules = Self { all: Vec::new(), index: BTreeMap::new() };
        catalogue::all().for_each(|check| rules.add(check.id, || rule(check)));
        for finding in &outcome.findings {
            rules.add(&finding.id, || json!({ "id": visible(&finding.id) }));
        }
        rules
    }

    fn add(&mut self, id: &str, rule: impl FnOnce() -> Value) {
        if !self.index.contains_key(id) {
            self.index.insert(id.to_owned(), self.all.len());
            self.all.push(rule());
        }
    }
}

fn rule(check: &Check) -> Value {
    let mut tags = vec!["security".to_owned(), format!("area/{}", area(check.id))];
    tags.extend(check.standards.iter().map(|standard| (*standard).to_owned()));
    let help =
        format!("{} Concerns {}.\n\nFix: {}.\n\nCost: {}.", check.explanation, check.applies, check.fix, check.cost);
    json!({
        "id": check.id,
        "shortDescription": { "text": check.title },
        "fullDescription": { "text": check.explanation },
        "help": { "text": help },
        "defaultConfiguration": { "level": level(check.severity) },
        "properties": { "tags": tags, "security-severity": score(check.severity) },
    })
}

/// Maps a severity to one of SARIF's three levels.
const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "note",
    }
}

/// The score by which code scanning distinguishes critical (above 9.0), high (7.0), medium (4.0) and low.
const fn score(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.5",
        Severity::Low => "2.0",
        Severity::Info => "0.0",
    }
}

fn result(finding: &Finding, rule: Option<usize>) -> Value {
    let level = if matches!(finding.status, Status::Fail | Status::Waived) { level(finding.severity) } else { "none" };
    let mut result = json!({
        "ruleId": visible(&finding.id),
        "kind": kind(finding.status),
        "level": level,
        "message": { "text": visible(&finding.message) },
        "locations": [location(finding)],
        "partialFingerprints": { "sealantFinding/v1": visible(&finding.fingerprint) },
        "properties": properties(finding),
    });
    if let Some(rule) = rule {
        result["ruleIndex"] = rule.into();
    }
    if let Some(waiver) = &finding.waiver {
        let justification = visible(waiver);
        result["suppressions"] = json!([{ "kind": "external", "status": "accepted", "justification": justification }]);
    }
    result
}

const fn kind(status: Status) -> &'static str {
    match status {
        Status::Fail | Status::Waived => "fail",
        Status::Pass => "pass",
        Status::Unknown => "open",
        Status::NotApplicable => "notApplicable",
    }
}

fn properties(finding: &Finding) -> Value {
    json!({
        "server": visible(&finding.server),
        "status": finding.status,
        "severity": finding.severity,
        "security-severity": score(finding.severity),
        "grade": finding.grade.map(EvidenceGrade::as_str),
        "remediation": finding.remediation.as_deref().map(visible),
        "remedies": finding.remedies,
        "cost": finding.cost.as_deref().map(visible),
        "evidence": finding.evidence,
    })
}

fn location(finding: &Finding) -> Value {
    let name = visible(&finding.artefact);
    let mut location = json!({ "logicalLocations": [{
        "name": name,
        "fullyQualifiedName": format!("{}/{name}", visible(&finding.server)),
        "kind": logical_kind(&finding.artefact),
    }] });
    if let Some(physical) = finding.evidence.iter().find_map(physical) {
        location["physicalLocation"] = physical;
    }
    location
}

/// Kind of an artefact, derived from its name.
fn logical_kind(artefact: &str) -> &'static str {
    match artefact {
        "server" => "server",
        name if name.contains('@') => "account",
        name if name.contains('/') || name.contains('.') => "file",
        _ => "resource",
    }
}

/// The file, if the evidence is from one.
fn physical(evidence: &Evidence) -> Option<Value> {
    match evidence {
        Evidence::Bytes { path, offset, hex, .. } if path.starts_with('/') => Some(json!({
            "artifactLocation": { "uri": file_uri(path) },
            "region": { "byteOffset": i64::try_from(*offset).ok()?, "byteLength": hex.len() / 2 },
        })),
        Evidence::Option { file, line, .. } if file.starts_with('/') => {
            let mut position = json!({ "artifactLocation": { "uri": file_uri(file) } });
            if *line > 0 {
                position["region"] = json!({ "startLine": line });
            }
            Some(position)
        }
        Evidence::Host { source, .. } if source.starts_with('/') => {
            Some(json!({ "artifactLocation": { "uri": file_uri(source) } }))
        }
        _ => None,
    }
}

/// A file URI (RFC 8089), with everything percent-encoded that RFC 3986 does not permit in a path.
fn file_uri(path: &str) -> String {
    let mut uri = "file://".to_owned();
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

fn invocation(outcome: &Outcome) -> Value {
    let mut notes = Vec::new();
    for server in &outcome.servers {
        let target = visible(&server.target);
        if let Some(error) = &server.error {
            notes.push(note("error", &format!("{target} could not be audited: {}", visible(error))));
        }
        for gap in &server.gaps {
            let description =
                format!("{target}: {} not seen: {}; {}", visible(&gap.what), visible(&gap.why), visible(&gap.remedy));
            notes.push(note("warning", &description));
        }
    }
    json!({
        "executionSuccessful": outcome.summary.unreachable == 0,
        "endTimeUtc": second(outcome.judged_at),
        "toolExecutionNotifications": notes,
    })
}

fn note(level: &str, text: &str) -> Value {
    json!({ "level": level, "message": { "text": text } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, outcome_of, rich, small, validate};
    use crate::text::collect;

    /// As published by OASIS; see testdata/README.md.
    const OFFICIAL_SCHEMA: &str = include_str!("../testdata/sarif-schema-2.1.0.json");

    fn sarif(outcome: &Outcome) -> Value {
        let text = collect(|out| write(outcome, out)).unwrap();
        validate(OFFICIAL_SCHEMA, &text);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn every_outcome_fits_the_official_schema() {
        for outcome in [rich(), small(), Outcome::empty("2026-11-20T12:00:00Z".parse().unwrap())] {
            sarif(&outcome);
        }
    }

    #[test]
    fn only_failures_have_a_level_and_waived_ones_are_suppressed() {
        let mut waived = finding("tls-no-13", Status::Waived, "server");
        waived.waiver = Some("accepted".to_owned());
        let all = [Status::Fail, Status::Pass, Status::Unknown, Status::NotApplicable];
        let mut findings: Vec<Finding> = all.iter().map(|s| finding("rest-redo-plaintext", *s, "redo")).collect();
        findings.push(waived);
        let log = sarif(&outcome_of(findings));
        let results = log["runs"][0]["results"].as_array().unwrap();
        let seen: Vec<_> =
            results.iter().map(|r| (r["kind"].as_str().unwrap(), r["level"].as_str().unwrap())).collect();
        for expected in [("fail", "error"), ("pass", "none"), ("open", "none"), ("notApplicable", "none")] {
            assert!(seen.contains(&expected), "{expected:?} in {seen:?}");
        }
        let suppressed: Vec<_> = results.iter().filter(|r| r.get("suppressions").is_some()).collect();
        assert_eq!(suppressed.len(), 1);
        assert_eq!(suppressed[0]["suppressions"][0]["justification"], "accepted");
    }

    #[test]
    fn every_result_points_at_its_rule() {
        let log = sarif(&rich());
        let rules = &log["runs"][0]["tool"]["driver"]["rules"];
        for result in log["runs"][0]["results"].as_array().unwrap() {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"]);
        }
    }

    #[test]
    fn paths_become_uris() {
        assert_eq!(file_uri("/var/lib/mysql/a b#p#ä.ibd"), "file:///var/lib/mysql/a%20b%23p%23%C3%A4.ibd");
    }
}
