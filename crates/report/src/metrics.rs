//! Prometheus' text format, for node_exporter's textfile collector.
//!
//! The number of series is bounded by servers × checks: artefacts are counted and are never labels. Times are values,
//! because the collector refuses samples with timestamps.

use std::collections::{BTreeMap, HashSet};
use std::io::Write;

use audit::finding::Status;
use audit::outcome::Outcome;
use findings::Severity;

use crate::text::visible;
use crate::{Error, labels};

/// Writes every metric with its help and type.
///
/// # Errors
/// [`Error::Write`].
pub(crate) fn write(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    let mut metrics = Metrics::default();
    metrics.add(outcome)?;
    metrics.write(outcome, out)
}

/// The samples of each metric, of servers that are added one after the other.
#[derive(Default)]
pub(crate) struct Metrics {
    up: Vec<u8>,
    collected: Vec<u8>,
    complete: Vec<u8>,
    findings: Vec<u8>,
    check_status: Vec<u8>,
    coverage: Vec<u8>,
    coverage_artefacts: Vec<u8>,
    bad_waivers: usize,
}

impl Metrics {
    /// Adds the servers of an outcome, which has all findings about them.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub(crate) fn add(&mut self, outcome: &Outcome) -> Result<(), Error> {
        servers(outcome, self)?;
        findings(outcome, &mut self.findings)?;
        check_status(outcome, &mut self.check_status)?;
        coverage(outcome, &mut self.coverage)?;
        coverage_artefacts(outcome, &mut self.coverage_artefacts)?;
        self.bad_waivers = self.bad_waivers.saturating_add(outcome.summary.bad_waivers);
        Ok(())
    }

    /// Writes what was added, and of `judged` who judged and when.
    ///
    /// # Errors
    /// [`Error::Write`].
    pub(crate) fn write(self, judged: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
        build(judged, out)?;
        for (name, help, samples) in [
            ("sealant_audit_up", "Whether the server could be audited.", self.up),
            (
                "sealant_audit_collected_timestamp_seconds",
                "When the server's facts were collected, Unix time.",
                self.collected,
            ),
            ("sealant_audit_complete", "Whether every check could be judged on the server.", self.complete),
            ("sealant_audit_findings", "Findings by server, severity and status.", self.findings),
            (
                "sealant_audit_check_status",
                "Worst status of the check over all artefacts, as a label; always 1.",
                self.check_status,
            ),
            (
                "sealant_audit_coverage",
                "State of each place where data is stored or sent, as a label; always 1.",
                self.coverage,
            ),
            ("sealant_audit_coverage_artefacts", "Artefacts of each place, by state.", self.coverage_artefacts),
        ] {
            head(out, name, help)?;
            out.write_all(&samples)?;
        }
        head(out, "sealant_audit_bad_waivers", "Waivers that are expired or name no check.")?;
        sample(out, "sealant_audit_bad_waivers", &[], self.bad_waivers)
    }
}

fn build(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    head(out, "sealant_audit_info", "The release that judged; always 1.")?;
    sample(out, "sealant_audit_info", &[("version", &outcome.sealant)], 1)?;
    head(out, "sealant_audit_timestamp_seconds", "When the facts were judged, Unix time.")?;
    sample(out, "sealant_audit_timestamp_seconds", &[], outcome.judged_at.as_second())
}

fn servers(outcome: &Outcome, metrics: &mut Metrics) -> Result<(), Error> {
    let unknown = outcome.findings.iter().filter(|f| f.status == Status::Unknown);
    let incomplete: HashSet<&str> = unknown.map(|f| f.server.as_str()).collect();
    for server in &outcome.servers {
        let label = ("server", server.target.as_str());
        let version = labels::product(server);
        let up = u8::from(server.error.is_none());
        sample(&mut metrics.up, "sealant_audit_up", &[label, ("version", &version)], up)?;
        if let Some(at) = server.collected_at {
            sample(&mut metrics.collected, "sealant_audit_collected_timestamp_seconds", &[label], at.as_second())?;
        }
        let complete = server.error.is_none() && !incomplete.contains(server.target.as_str());
        sample(&mut metrics.complete, "sealant_audit_complete", &[label], u8::from(complete))?;
    }
    Ok(())
}

fn findings(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    let mut counts: BTreeMap<(&str, Severity, Status), usize> = BTreeMap::new();
    // A count that falls to zero must be visible: its series never disappears.
    for server in outcome.servers.iter().filter(|server| server.collected_at.is_some()) {
        for severity in Severity::ALL {
            counts.insert((&server.target, severity, Status::Fail), 0);
        }
    }
    for finding in &outcome.findings {
        *counts.entry((&finding.server, finding.severity, finding.status)).or_default() += 1;
    }
    for ((server, severity, status), count) in counts {
        let labels = [("server", server), ("severity", severity.as_str()), ("status", status.as_str())];
        sample(out, "sealant_audit_findings", &labels, count)?;
    }
    Ok(())
}

fn check_status(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    let mut worst: BTreeMap<(&str, &str), (Status, Severity)> = BTreeMap::new();
    for finding in &outcome.findings {
        let now = (finding.status, finding.severity);
        let entry = worst.entry((&finding.server, &finding.id)).or_insert(now);
        *entry = (*entry).max(now);
    }
    for ((server, check), (status, severity)) in worst {
        let labels =
            [("server", server), ("check", check), ("severity", severity.as_str()), ("status", status.as_str())];
        sample(out, "sealant_audit_check_status", &labels, 1)?;
    }
    Ok(())
}

fn coverage(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    for row in &outcome.coverage {
        let labels = [
            ("server", row.server.as_str()),
            ("place", labels::data_state_key(row.location)),
            ("artefact", &row.artefact),
            ("state", labels::state_key(row.state)),
            ("layer", labels::layer(row.layer)),
            ("grade", labels::grade(row.grade)),
        ];
        sample(out, "sealant_audit_coverage", &labels, 1)?;
    }
    Ok(())
}

fn coverage_artefacts(outcome: &Outcome, out: &mut dyn Write) -> Result<(), Error> {
    for row in &outcome.coverage {
        for (state, count) in [("encrypted", row.encrypted), ("clear", row.clear), ("unknown", row.unknown)] {
            let location = labels::data_state_key(row.location);
            let labels =
                [("server", row.server.as_str()), ("place", location), ("artefact", &row.artefact), ("state", state)];
            sample(out, "sealant_audit_coverage_artefacts", &labels, count)?;
        }
    }
    Ok(())
}

/// Writes the help and the type of a gauge.
pub(crate) fn head(out: &mut dyn Write, name: &str, help: &str) -> Result<(), Error> {
    writeln!(out, "# HELP {name} {help}\n# TYPE {name} gauge")?;
    Ok(())
}

/// Writes a sample with its labels.
pub(crate) fn sample(
    out: &mut dyn Write,
    name: &str,
    labels: &[(&str, &str)],
    value: impl std::fmt::Display,
) -> Result<(), Error> {
    let labels: Vec<String> = labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escape(text))).collect();
    let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    writeln!(out, "{name}{labels} {value}")?;
    Ok(())
}

/// A label's value: escapes backslash, quote and line feed.
pub(crate) fn escape(text: &str) -> String {
    visible(text).replace('\\', "\\\\").replace('"', "\\\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{finding, golden, outcome_of, rich, small};
    use crate::text::collect;

    fn metrics(outcome: &Outcome) -> String {
        collect(|out| write(outcome, out)).unwrap()
    }

    #[test]
    fn every_line_is_a_comment_or_a_sample_and_no_series_comes_twice() {
        let text = metrics(&rich());
        let mut series = HashSet::new();
        for line in text.lines().filter(|line| !line.starts_with("# HELP ") && !line.starts_with("# TYPE ")) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok(), "{line}");
            assert!(name.starts_with("sealant_audit_") && (name.ends_with('}') || !name.contains('{')), "{line}");
            assert!(series.insert(name.to_owned()), "twice: {line}");
        }
    }

    #[test]
    fn ten_thousand_artefacts_are_not_ten_thousand_series() {
        let many = (0..10_000).map(|n| finding("rest-table-plaintext", Status::Fail, &format!("demo/t{n}.ibd")));
        let text = metrics(&outcome_of(many.collect()));
        assert!(text.lines().count() < 60, "{}", text.lines().count());
        assert!(text.contains("severity=\"high\",status=\"FAIL\"} 10000"), "{text}");
    }

    #[test]
    fn labels_are_escaped() {
        assert_eq!(escape("a\"b\\c\nd"), "a\\\"b\\\\c\\\\nd");
    }

    #[test]
    fn the_bytes_are_as_promised() {
        golden("small.prom", &metrics(&small()));
    }
}
