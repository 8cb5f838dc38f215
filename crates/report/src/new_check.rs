//! Adds a check in a test: every format renders it from its definition alone.

use audit::artefact::Artefacts;
use audit::check::{Check, CheckResult, CheckResults, Context};
use audit::exposure::{Attacker, Certainty, ClosedBy, Exposes, LockedOut};
use audit::facts::{Facts, Observed};
use audit::finding::{EvidenceGrade, Finding};
use audit::rules::Rules;
use findings::{Remedy, Severity};

use crate::testing::outcome_of;
use crate::{Format, RenderOptions, render, render_check};

/// The added check.
pub(crate) static CHECK: Check = Check {
    id: "tls-newcomer",
    title: "The newcomer is missing",
    severity: Severity::High,
    explanation: "Why it matters. How it is judged.",
    applies: "every server",
    fix: "add it",
    cost: "a restart",
    standards: &["EXAMPLE 1.0 4.2"],
    exposes: Exposes::Data(Attacker::Sniffer, "What only the newcomer knows"),
    closed_by: ClosedBy::Cert,
    locked_out: Some(LockedOut::new(Certainty::Connected, "greets in clear now")),
    judge,
};

fn judge(_: &Context<'_>) -> Observed<CheckResults> {
    let remedy = Remedy::statement("SET GLOBAL newcomer = ON").and(Remedy::option_file("mysqld", ["newcomer = ON"]));
    Ok(CheckResults::one(
        CheckResult::fail("main port", EvidenceGrade::Wire, "main port has no newcomer").fix(remedy.then_restart()),
    ))
}

fn findings() -> Vec<Finding> {
    let facts = Facts::empty("test", "2026-11-20T12:00:00Z".parse().unwrap());
    let (artefacts, rules) = (Artefacts::join(&facts), Rules::default());
    let cx = Context {
        facts: &facts,
        artefacts: &artefacts,
        policy: &rules.policy,
        now: facts.collected_at,
        rules: &rules,
        in_order: |_, _, remedy| remedy,
        findings: &[],
        baseline: None,
    };
    CHECK.findings(&cx)
}

fn rendered(format: Format) -> String {
    render(format, &outcome_of(findings()), &RenderOptions { width: 1000, ..RenderOptions::default() }).unwrap()
}

#[test]
fn every_format_has_it() {
    for format in Format::all() {
        assert!(rendered(format).contains(CHECK.id), "{}", format.name());
    }
}

#[test]
fn every_format_shows_its_remedies() {
    for format in
        [Format::Table, Format::Json, Format::Sarif, Format::Junit, Format::Csv, Format::Markdown, Format::Html]
    {
        assert!(rendered(format).contains("SET GLOBAL newcomer = ON"), "{}", format.name());
    }
    let html = rendered(Format::Html);
    assert!(html.contains("<code>[mysqld]\nnewcomer = ON</code>"), "{html}");
    let json: serde_json::Value = serde_json::from_str(&rendered(Format::Json)).unwrap();
    let kinds = json["findings"][0]["remedies"].as_array().unwrap().iter().map(|step| step["kind"].as_str().unwrap());
    assert_eq!(kinds.collect::<Vec<_>>(), ["statement", "option-file", "restart"]);
    assert_eq!(json["findings"][0]["remedies"][0]["cost"], "a restart");
}

#[test]
fn the_definition_decides_the_section_of_the_report() {
    let html = rendered(Format::Html);
    for text in ["What only the newcomer knows", "greets in clear now", "EXAMPLE 1.0", "Why it matters."] {
        assert!(html.contains(text), "{text}");
    }
    assert!(rendered(Format::Table).contains("Traffic on the network can be read"));
    assert!(rendered(Format::Sarif).contains(CHECK.title));
}

#[test]
fn it_is_explained() {
    let text = render_check(CHECK.id, &RenderOptions::default()).unwrap();
    for message in [CHECK.title, "whoever listens on the network", "`sealant cert`", "EXAMPLE 1.0 4.2"] {
        assert!(text.contains(message), "{message}: {text}");
    }
}
