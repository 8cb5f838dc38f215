//! Remedies of a check's failures; commands are separate from advice.

use audit::finding::Finding;
use findings::Step;

use crate::remedy::{Block, Destination, block};
use crate::text::{Escaped, number};

/// Maximum number of remedies shown for a check.
const SHOWN: usize = 8;

/// A block of a remedy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Label of a command block, such as `SQL`; empty for advice.
    pub(super) label: &'static str,
    /// One or more lines.
    pub(super) text: String,
}

impl Part {
    /// Whether it is a command to paste.
    pub(super) const fn is_command(&self) -> bool {
        !self.label.is_empty()
    }
}

/// The distinct remedies of the findings, and a note about how many were omitted.
#[must_use]
pub(super) fn parts(findings: &[&Finding]) -> (Vec<Part>, String) {
    let mut distinct: Vec<&Finding> = Vec::new();
    let mut more = 0;
    for finding in findings.iter().filter(|finding| finding.remediation.is_some()) {
        if distinct.iter().any(|known| known.remediation == finding.remediation) {
            continue;
        }
        if distinct.len() == SHOWN {
            more += 1;
        } else {
            distinct.push(finding);
        }
    }
    let mut parts = Vec::new();
    distinct.into_iter().for_each(|finding| add(&mut parts, finding));
    (parts, if more > 0 { number(more) } else { String::new() })
}

/// Adds the steps of a finding's remedy; its text, if it has no steps.
fn add(parts: &mut Vec<Part>, finding: &Finding) {
    if finding.remedies.is_empty() {
        push(parts, "", finding.remediation.as_deref().unwrap_or(""));
        return;
    }
    if let Some(check) = finding.remedies.first().and_then(|step| step.after.as_deref()) {
        push(parts, "", &format!("after the fix of {check}:"));
    }
    finding.remedies.iter().for_each(|step| add_step(parts, step));
}

fn add_step(parts: &mut Vec<Part>, step: &Step) {
    if let Some(condition) = &step.once {
        push(parts, "", &format!("once {condition}:"));
    }
    let Block { destination, lines } = block(&step.action);
    let label = match destination {
        Destination::Sql => "SQL",
        Destination::Shell => "shell",
        Destination::OptionFile => "option file",
        Destination::Reader => "",
    };
    push(parts, label, &lines.join("\n"));
}

/// Appends a line to the last block if that has the same label, else starts a new one.
fn push(parts: &mut Vec<Part>, label: &'static str, text: &str) {
    let shown = text.lines().map(|line| Escaped(line).to_string()).collect::<Vec<String>>().join("\n");
    match parts.last_mut() {
        Some(last) if last.is_command() && last.label == label => {
            last.text.push('\n');
            last.text.push_str(&shown);
        }
        Some(last) if last.label == label && last.text == shown => {}
        _ => parts.push(Part { label, text: shown }),
    }
}

#[cfg(test)]
mod tests {
    use audit::finding::Status;
    use findings::Remedy;

    use super::*;
    use crate::testing::finding;

    fn with(artefact: &str, remedy: Remedy) -> Finding {
        let mut one = finding("rest-x", Status::Fail, artefact);
        one.remediation = Some(remedy.to_string());
        one.remedies = remedy.into_steps(None, None);
        one
    }

    fn shown(findings: &[Finding]) -> Vec<(&'static str, String)> {
        let (parts, _) = parts(&findings.iter().collect::<Vec<&Finding>>());
        parts.into_iter().map(|part| (part.label, part.text)).collect()
    }

    #[test]
    fn equal_fixes_are_shown_once_and_statements_end_with_a_semicolon() {
        let alter = |name: &str| with(name, Remedy::statement(format!("ALTER TABLE {name}")));
        let found = [alter("a"), alter("b"), alter("b")];
        assert_eq!(shown(&found), [("SQL", "ALTER TABLE a;\nALTER TABLE b;".to_owned())]);
    }

    #[test]
    fn what_is_read_stands_between_what_is_pasted() {
        let remedy = Remedy::statement("SET GLOBAL x = 2")
            .and(Remedy::statement("SET GLOBAL x = 1").once("it is done"))
            .and(Remedy::option_file("mysqld", ["x = 1"]).then_restart())
            .after("key-not-loaded");
        let labels: Vec<&str> = shown(&[with("a", remedy)]).into_iter().map(|(label, _)| label).collect();
        assert_eq!(labels, ["", "SQL", "", "SQL", "option file", ""]);
    }

    #[test]
    fn a_remedy_of_text_alone_is_read() {
        let mut old = finding("rest-x", Status::Fail, "a");
        old.remediation = Some("ALTER TABLE a".to_owned());
        assert_eq!(shown(&[old]), [("", "ALTER TABLE a".to_owned())]);
    }

    #[test]
    fn many_remedies_are_cut_and_counted() {
        let many: Vec<Finding> =
            (0..11).map(|n| with(&format!("t{n}"), Remedy::statement(format!("ALTER TABLE t{n}")))).collect();
        assert_eq!(parts(&many.iter().collect::<Vec<&Finding>>()).1, "3");
    }
}
