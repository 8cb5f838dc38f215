//! What the monitor serves: its metrics, and the line of a check.

use std::collections::BTreeMap;
use std::io::Write;

use audit::outcome::Outcome;
use findings::Severity;
use jiff::Timestamp;
use monitor::{Check, Family, Level, Sample, ServerView, SourceView, View};

use crate::metrics::{Metrics, escape, head, sample};
use crate::text::{count, visible};
use crate::{Error, Format, RenderOptions};

/// Writes the fleet report that the monitor serves.
///
/// # Errors
/// [`Error::Write`].
pub fn write_monitor_html(view: &View, out: &mut dyn Write) -> Result<(), Error> {
    crate::write(Format::Html, &view.report(), &RenderOptions::default(), out)
}

/// Writes all metrics in Prometheus' text format.
///
/// # Errors
/// [`Error::Write`].
pub fn write_monitor_metrics(view: &View, out: &mut dyn Write) -> Result<(), Error> {
    own(view, out)?;
    passed_on(&view.sources, COUNTED, out)
}

/// Writes all metrics as OpenMetrics 1.0. Gauges look the same in Prometheus' text format. In OpenMetrics, a counter's
/// help and type lack the ending of its samples, and an end marker follows.
///
/// # Errors
/// [`Error::Write`].
pub fn write_monitor_openmetrics(view: &View, out: &mut dyn Write) -> Result<(), Error> {
    own(view, out)?;
    passed_on(&view.sources, "", out)?;
    writeln!(out, "# EOF")?;
    Ok(())
}

fn own(view: &View, out: &mut dyn Write) -> Result<(), Error> {
    let mut metrics = Metrics::default();
    view.outcomes().try_for_each(|outcome| metrics.add(&outcome))?;
    metrics.write(&Outcome::empty(Timestamp::now()), out)?;
    rounds(&view.servers, out)?;
    dates(&view.servers, out)
}

fn rounds(servers: &[ServerView], out: &mut dyn Write) -> Result<(), Error> {
    let name = "sealant_monitor_failed_rounds";
    head(out, name, "Rounds of the server that failed since the monitor started.")?;
    for server in servers {
        sample(out, name, &[("server", &server.name)], server.failed_rounds)?;
    }
    let name = "sealant_monitor_round_timestamp_seconds";
    head(out, name, "When the last successful round of each scope took place, Unix time.")?;
    for (server, scope, at, _) in done(servers) {
        sample(out, name, &[("server", server), ("scope", scope)], at.as_second())?;
    }
    let name = "sealant_monitor_round_seconds";
    head(out, name, "How long the last successful round of each scope took.")?;
    for (server, scope, _, took) in done(servers) {
        sample(out, name, &[("server", server), ("scope", scope)], format_args!("{:.3}", took.as_secs_f64()))?;
    }
    Ok(())
}

fn done(servers: &[ServerView]) -> impl Iterator<Item = (&str, &'static str, Timestamp, std::time::Duration)> {
    let rounds = servers.iter().flat_map(|server| server.rounds.iter().map(|round| (server.name.as_str(), round)));
    rounds.map(|(server, (scope, at, took))| (server, scope.as_str(), *at, *took))
}

fn dates(servers: &[ServerView], out: &mut dyn Write) -> Result<(), Error> {
    let name = "sealant_monitor_certificate_not_after_timestamp_seconds";
    head(out, name, "When the certificate of the port expires, Unix time.")?;
    for server in servers {
        for certificate in &server.measurements.certificates {
            let labels = [("server", server.name.as_str()), ("port", certificate.port)];
            sample(out, name, &labels, certificate.not_after.as_second())?;
        }
    }
    let name = "sealant_monitor_key_rotated_timestamp_seconds";
    head(out, name, "When the key was rotated last, as the register of keys has it, Unix time.")?;
    for server in servers {
        for rotation in &server.measurements.rotations {
            let labels = [("server", server.name.as_str()), ("key", &rotation.key)];
            sample(out, name, &labels, rotation.at.as_second())?;
        }
    }
    let name = "sealant_monitor_key_copy_proven_timestamp_seconds";
    head(out, name, "When a copy of the keys was proven last, Unix time.")?;
    for server in servers {
        if let Some(at) = server.measurements.copy_proven {
            sample(out, name, &[("server", &server.name)], at.as_second())?;
        }
    }
    Ok(())
}

/// Ending of the name of a counter.
const COUNTED: &str = "_total";

/// Writes the metrics of other processes; those of several are combined, told apart by a label. The names of counters
/// end with `ending` in help and type.
fn passed_on(sources: &[SourceView], ending: &str, out: &mut dyn Write) -> Result<(), Error> {
    let name = "sealant_monitor_source_up";
    if !sources.is_empty() {
        head(out, name, "Whether the metrics of another process of the monitor's host could be read.")?;
    }
    for source in sources {
        sample(out, name, &[("source", &source.name)], u8::from(source.families.is_some()))?;
    }
    let mut combined: BTreeMap<&str, Vec<(&str, &Family)>> = BTreeMap::new();
    for source in sources {
        for family in source.families.iter().flatten() {
            combined.entry(&family.name).or_default().push((&source.name, family));
        }
    }
    combined.into_iter().try_for_each(|(name, families)| combine(name, &families, ending, out))
}

fn combine(name: &str, families: &[(&str, &Family)], ending: &str, out: &mut dyn Write) -> Result<(), Error> {
    let Some((_, first)) = families.first() else { return Ok(()) };
    let help = &first.help;
    let counter = name.strip_suffix(COUNTED).filter(|_| first.is_counter);
    let (kind, metric) =
        counter.map_or_else(|| ("gauge", name.to_owned()), |stem| ("counter", format!("{stem}{ending}")));
    writeln!(out, "# HELP {metric} {help}\n# TYPE {metric} {kind}")?;
    for (source, family) in families {
        let source = escape(source);
        for Sample { labels, value } in &family.samples {
            let comma = if labels.is_empty() { "" } else { "," };
            writeln!(out, "{name}{{source=\"{source}\"{comma}{labels}}} {value}")?;
        }
    }
    Ok(())
}

/// Writes the line of a check as monitoring plug-ins do: level, summary, and after a bar the numbers.
///
/// # Errors
/// [`Error::Write`].
pub fn write_monitor_check(check: &Check, out: &mut dyn Write) -> Result<(), Error> {
    let level = match check.level {
        Level::Ok => "OK",
        Level::Warning => "WARNING",
        Level::Unknown => "UNKNOWN",
        Level::Critical => "CRITICAL",
    };
    writeln!(out, "{level}: {} | {}", summary(check), numbers(check))?;
    for server in &check.outcome.servers {
        if let Some(error) = &server.error {
            writeln!(out, "{}: cannot be audited: {}", visible(&server.target), visible(error))?;
        }
    }
    Ok(())
}

fn summary(check: &Check) -> String {
    let Outcome { servers, summary, .. } = &check.outcome;
    let mut parts = vec![count(servers.len(), "server")];
    if summary.unreachable > 0 {
        parts.push(format!("{} not audited", summary.unreachable));
    }
    let failures = Severity::ALL.iter().rev().map(|severity| (check.failures(*severity), severity));
    let failures: Vec<String> = failures
        .filter(|(count, _)| *count > 0)
        .map(|(count, severity)| format!("{count} {}", severity.as_str()))
        .collect();
    parts.push(if failures.is_empty() {
        "no failures".to_owned()
    } else {
        format!("failures: {}", failures.join(", "))
    });
    if summary.bad_waivers > 0 {
        parts.push(count(summary.bad_waivers, "expired or unknown waiver"));
    }
    parts.join("; ")
}

fn numbers(check: &Check) -> String {
    let failures =
        Severity::ALL.iter().rev().map(|severity| format!("{}={}", severity.as_str(), check.failures(*severity)));
    let servers = format!("servers={} not_audited={}", check.outcome.servers.len(), check.outcome.summary.unreachable);
    format!("{servers} {}", failures.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use monitor::{CertificateExpiry, KeyRotation, Measurements, Scope};

    use super::*;
    use crate::testing::small;
    use crate::text::collect;

    fn view() -> View {
        let at = Timestamp::from_second(1_700_000_000).unwrap();
        let measurements = Measurements {
            certificates: vec![CertificateExpiry { port: "main port", not_after: at }],
            rotations: vec![KeyRotation { key: "master".to_owned(), at }],
            copy_proven: Some(at),
        };
        let rounds = vec![(Scope::Light, at, Duration::from_millis(1500))];
        let server = ServerView { name: "db\"1".to_owned(), up: Some(true), failed_rounds: 2, rounds, measurements };
        View::of_outcomes(vec![(server.name.clone(), small())], vec![server], Vec::new())
    }

    fn source(name: &str, labels: &str) -> SourceView {
        let sample = |value: &str| Sample { labels: labels.to_owned(), value: value.to_owned() };
        let family = |name: &str, is_counter| Family {
            name: name.to_owned(),
            help: "Links.".to_owned(),
            is_counter,
            samples: vec![sample("3")],
        };
        let families = vec![family("sealant_tunnel_links_total", true), family("sealant_tunnel_idle", false)];
        SourceView { name: name.to_owned(), families: Some(families) }
    }

    #[test]
    fn metrics_of_several_processes_are_combined_and_told_apart() {
        let lost = SourceView { name: "lost".to_owned(), families: None };
        let mut view = view();
        view.sources = vec![source("a\"", "end=\"near\""), lost, source("b", "")];
        let text = collect(|out| write_monitor_metrics(&view, out)).unwrap();
        let expected = "\
# TYPE sealant_monitor_source_up gauge
sealant_monitor_source_up{source=\"a\\\"\"} 1
sealant_monitor_source_up{source=\"lost\"} 0
sealant_monitor_source_up{source=\"b\"} 1
# HELP sealant_tunnel_idle Links.
# TYPE sealant_tunnel_idle gauge
sealant_tunnel_idle{source=\"a\\\"\",end=\"near\"} 3
sealant_tunnel_idle{source=\"b\"} 3
# HELP sealant_tunnel_links_total Links.
# TYPE sealant_tunnel_links_total counter
sealant_tunnel_links_total{source=\"a\\\"\",end=\"near\"} 3
sealant_tunnel_links_total{source=\"b\"} 3
";
        assert!(text.ends_with(expected), "{text}");
        let open = collect(|out| write_monitor_openmetrics(&view, out)).unwrap();
        let of_counter = "# TYPE sealant_tunnel_links counter\nsealant_tunnel_links_total{source=\"a";
        assert!(open.contains(of_counter) && open.ends_with("# EOF\n"), "{open}");
    }

    #[test]
    fn the_metrics_of_rounds_and_dates_follow_those_of_the_audit() {
        let text = collect(|out| write_monitor_metrics(&view(), out)).unwrap();
        for line in [
            "sealant_monitor_failed_rounds{server=\"db\\\"1\"} 2",
            "sealant_monitor_round_timestamp_seconds{server=\"db\\\"1\",scope=\"light\"} 1700000000",
            "sealant_monitor_round_seconds{server=\"db\\\"1\",scope=\"light\"} 1.500",
            "sealant_monitor_certificate_not_after_timestamp_seconds{server=\"db\\\"1\",port=\"main port\"} 1700000000",
            "sealant_monitor_key_rotated_timestamp_seconds{server=\"db\\\"1\",key=\"master\"} 1700000000",
            "sealant_monitor_key_copy_proven_timestamp_seconds{server=\"db\\\"1\"} 1700000000",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(text.starts_with("# HELP sealant_audit_info "));
        let open = collect(|out| write_monitor_openmetrics(&view(), out)).unwrap();
        assert_eq!(open, format!("{text}# EOF\n"));
    }

    #[test]
    fn a_check_is_one_line_and_the_servers_that_were_not_audited() {
        let check = Check { level: Level::Ok, outcome: Outcome::empty(Timestamp::UNIX_EPOCH) };
        let text = collect(|out| write_monitor_check(&check, out)).unwrap();
        let numbers = "servers=0 not_audited=0 critical=0 high=0 medium=0 low=0 info=0";
        assert_eq!(text, format!("OK: 0 servers; no failures | {numbers}\n"));
    }
}
