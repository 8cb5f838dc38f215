//! Prometheus' text format, as far as other processes of this host write it: counters and gauges without timestamps.

/// A metric, with all its samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Family {
    /// Name of the metric.
    pub name: String,
    /// Its help text, escaped as in the format.
    pub help: String,
    /// Whether it is a counter; else it is a gauge.
    pub is_counter: bool,
    /// Its samples.
    pub samples: Vec<Sample>,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Its labels, escaped as in the format, without braces; empty if there are none.
    pub labels: String,
    /// The value as it was written.
    pub value: String,
}

/// Metrics that are passed on begin so; those of an audit are the monitor's own.
const PASSED_ON: &str = "sealant_";
const OWN: [&str; 2] = ["sealant_audit_", "sealant_monitor_"];

/// The label that the monitor adds.
pub(crate) const SOURCE: &str = "source";

/// Reads the metrics that are passed on, in the order in which they first occur.
///
/// # Errors
/// Number of the first line that is not in the format.
pub(crate) fn parse(text: &str) -> Result<Vec<Family>, usize> {
    let mut families = Vec::new();
    for (number, line) in (1_usize..).zip(text.lines()) {
        parse_line(line.trim_end(), &mut families).ok_or(number)?;
    }
    families.retain(|family: &Family| {
        let is_own = OWN.iter().any(|own| family.name.starts_with(own));
        family.name.starts_with(PASSED_ON) && !is_own && !family.samples.is_empty()
    });
    Ok(families)
}

fn parse_line(line: &str, families: &mut Vec<Family>) -> Option<()> {
    if line.contains(char::is_control) {
        return None;
    }
    if let Some(comment) = line.strip_prefix("# ") {
        let mut words = comment.splitn(3, ' ');
        match (words.next(), words.next(), words.next()) {
            (Some("HELP"), Some(name), help) => family(families, name)?.help = help.unwrap_or_default().to_owned(),
            (Some("TYPE"), Some(name), Some(kind)) => family(families, name)?.is_counter = kind == "counter",
            _ => {}
        }
        return Some(());
    }
    if line.is_empty() || line.starts_with('#') {
        return Some(());
    }
    let end = line.find(['{', ' '])?;
    let (name, rest) = line.split_at_checked(end)?;
    let (labels, value) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => ("", rest),
    };
    let value = value.trim();
    value.parse::<f64>().ok()?;
    family(families, name)?.samples.push(Sample { labels: labels.to_owned(), value: value.to_owned() });
    Some(())
}

/// The metric of this name, which is added if it is new. `None` if this is no name.
fn family<'f>(families: &'f mut Vec<Family>, name: &str) -> Option<&'f mut Family> {
    if !is_name(name) {
        return None;
    }
    if let Some(index) = families.iter().position(|family| family.name == name) {
        return families.get_mut(index);
    }
    families.push(Family { name: name.to_owned(), help: String::new(), is_counter: false, samples: Vec::new() });
    families.last_mut()
}

/// Splits behind the labels: `a="b",c="d"} 1`.
fn labels(text: &str) -> Option<(&str, &str)> {
    let mut rest = text;
    while !rest.starts_with('}') {
        let (name, value) = rest.split_once("=\"")?;
        if !is_name(name) || name == SOURCE {
            return None;
        }
        rest = value.get(closing_quote(value)?..)?.strip_prefix('"')?;
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    let labels = text.get(..text.len().checked_sub(rest.len())?)?;
    Some((labels.trim_end_matches(','), rest.strip_prefix('}')?))
}

/// Index of the quote that ends a label's value.
fn closing_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (index, c) in text.char_indices() {
        match c {
            '"' if !is_escaped => return Some(index),
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    None
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_and_gauges_are_read_and_those_of_others_are_left() {
        let text = "# HELP sealant_tunnel_links_total TLS handshakes.\n# TYPE sealant_tunnel_links_total counter\n\
                    sealant_tunnel_links_total{end=\"near\"} 3\n\n# TYPE sealant_backup_bytes gauge\n\
                    sealant_backup_bytes{host=\"a\\\"},b\",what=\"data\"} 1.5e+06\nsealant_backup_bytes 2\n\
                    # TYPE node_load1 gauge\nnode_load1 0.5\nsealant_audit_up{server=\"db1\"} 1\n# a comment\n";
        let families = parse(text).unwrap();
        let names: Vec<_> = families.iter().map(|family| (family.name.as_str(), family.is_counter)).collect();
        assert_eq!(names, [("sealant_tunnel_links_total", true), ("sealant_backup_bytes", false)]);
        assert_eq!(families[0].help, "TLS handshakes.");
        let samples: Vec<_> = families[1].samples.iter().map(|s| (s.labels.as_str(), s.value.as_str())).collect();
        assert_eq!(samples, [("host=\"a\\\"},b\",what=\"data\"", "1.5e+06"), ("", "2")]);
    }

    #[test]
    fn the_first_line_that_is_not_in_the_format_is_named() {
        for line in [
            "<html>",
            "sealant_x",
            "sealant_x one",
            "sealant_x 1 1700000000",
            "sealant_x{a=\"b} 1",
            "sealant_x{a=b} 1",
            "sealant_x{a=\"b\" 1",
            "sealant_x{source=\"b\"} 1",
            "sealant_x{a=\"\u{1b}[2J\"} 1",
            "# HELP sealant_x \u{7}",
            "sealant-x 1",
            "# TYPE sealant-x gauge",
        ] {
            assert_eq!(parse(&format!("sealant_a 1\n{line}\n")), Err(2), "{line}");
        }
    }

    #[test]
    fn no_text_causes_a_panic() {
        for text in ["{", "}", "{}", "a{", "a{}", "a{\"", "a{b=\"\\", "# ", "# HELP", "# TYPE a", "é{é=\"é\"} é", " 1"]
        {
            let _ = parse(text);
        }
        assert_eq!(parse("sealant_a{} 1\n").unwrap()[0].samples[0].labels, "");
    }
}
