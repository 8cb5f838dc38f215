//! Hand-made outcomes and helpers for the tests of all formats.

use std::path::PathBuf;

use audit::coverage::{Coverage, CoverageState, DataState, Layer};
use audit::finding::{EvidenceGrade, Finding, Status};
use audit::outcome::{Outcome, Server};
use findings::Severity;

/// The committed schema of `--format json`.
pub(crate) const AUDIT_SCHEMA: &str = include_str!("../../../docs/schema/audit-1.json");

/// One server with every status, state, layer, grade and kind of evidence, and with long and hostile names.
pub(crate) fn rich() -> Outcome {
    parse(include_str!("../testdata/rich.json"))
}

/// A few findings of checks that do not exist, so that golden files do not depend on the texts of real checks.
pub(crate) fn small() -> Outcome {
    parse(include_str!("../testdata/small.json"))
}

fn parse(json: &str) -> Outcome {
    let mut outcome: Outcome = serde_json::from_str(json).unwrap();
    outcome.finish();
    outcome
}

/// An outcome of the server `test` with these findings.
pub(crate) fn outcome_of(findings: Vec<Finding>) -> Outcome {
    let mut outcome = Outcome::empty("2026-11-20T12:00:00Z".parse().unwrap());
    outcome.servers.push(server("test"));
    outcome.findings = findings;
    outcome.finish();
    outcome
}

/// A finding of high severity on the server `test`.
pub(crate) fn finding(id: &str, status: Status, artefact: &str) -> Finding {
    Finding {
        id: id.to_owned(),
        status,
        severity: Severity::High,
        server: "test".to_owned(),
        artefact: artefact.to_owned(),
        grade: matches!(status, Status::Fail | Status::Pass).then_some(EvidenceGrade::Bytes),
        message: format!("what {id} says"),
        evidence: Vec::new(),
        remediation: None,
        remedies: Vec::new(),
        cost: None,
        standards: Vec::new(),
        waiver: None,
        fingerprint: format!("{id}|test|{artefact}"),
    }
}

/// An audited server.
pub(crate) fn server(target: &str) -> Server {
    Server { error: None, ..Server::failed(target, "") }
}

/// A row of the coverage map, at rest.
pub(crate) fn coverage(server: &str, artefact: &str, state: CoverageState) -> Coverage {
    Coverage {
        server: server.to_owned(),
        location: DataState::AtRest,
        artefact: artefact.to_owned(),
        state,
        layer: if state == CoverageState::Encrypted { Layer::Tde } else { Layer::None },
        grade: Some(EvidenceGrade::Bytes),
        encrypted: 1,
        clear: 0,
        unknown: 0,
        detail: "1 of it".to_owned(),
    }
}

/// Compares with `testdata/golden/NAME`; with `UPDATE_GOLDEN=1` in the environment, writes it.
#[track_caller]
pub(crate) fn golden(name: &str, rendered: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("testdata/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, rendered).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(rendered == expected, "{} differs; look at it, then UPDATE_GOLDEN=1\n{rendered}", path.display());
}

/// Panics with all errors if `json` does not match `schema`.
#[track_caller]
pub(crate) fn validate(schema: &str, json: &str) {
    let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
    let tree: serde_json::Value = serde_json::from_str(json).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&tree).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// Panics unless a page with this style is well-formed, loads no other resource, and runs no script.
#[track_caller]
pub(crate) fn assert_page(page: &str, style: &str) {
    assert_well_formed(&page.replace(style, "").replace("<!DOCTYPE html>\n", ""));
    for loads in [" src=", "<link", "<script", "<img", "href=", " style=", "@import", "url("] {
        assert!(!page.contains(loads), "{loads}");
    }
}

/// Panics unless `text` is well-formed XML 1.0 in the respects that our writers can violate: nested elements, quoted
/// and unique attributes, no bare `&` or `<`, no forbidden character.
#[track_caller]
pub(crate) fn assert_well_formed(text: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n").unwrap_or(text);
    assert!(rest.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\t')), "control character");
    while let Some(at) = rest.find('<') {
        assert_references(&rest[..at]);
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "end tag");
            continue;
        }
        let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "element {name:?}");
        assert_attributes(attributes);
        if !empty {
            open.push(name);
        }
    }
    assert_references(rest);
    assert!(open.is_empty(), "not closed: {open:?}");
}

#[track_caller]
fn assert_attributes(text: &str) {
    let mut names = std::collections::HashSet::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("attribute {rest:?}"));
        let (value, after) = after.split_once('"').unwrap_or_else(|| panic!("value {after:?}"));
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "-:".contains(c)), "attribute {name:?}");
        assert!(names.insert(name), "attribute {name:?} twice");
        assert!(!value.contains('<'), "value {value:?}");
        assert_references(value);
        rest = after.trim_start();
    }
}

#[track_caller]
fn assert_references(text: &str) {
    for after in text.split('&').skip(1) {
        let name = after.split(';').next().unwrap_or("");
        let known = matches!(name, "amp" | "lt" | "gt" | "quot" | "apos") || name.starts_with('#');
        assert!(known && after.contains(';'), "bare & before {after:?}");
    }
}
