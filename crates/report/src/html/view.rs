//! The page: data for its template, in the order of the template.

use askama::Template;
use audit::coverage::{CoverageState, DataState};
use audit::finding::Status;
use audit::outcome::{Outcome, Server};
use findings::Severity;

use super::findings::{SeveritySection, severity_sections};
use super::map::{Picture, draw};
use super::policy::content_security;
use super::sections::{Answers, Breaks, Document, Exposed, Listed, Unseen, answers, documents, listed, unseen};
use super::{SCRIPT, STYLE};
use crate::fleet::{self, Row, ServerResults, server_results};
use crate::group::by_check;
use crate::labels;
use crate::text::{Escaped, count, number, visible};
use crate::verdict::{self, Tone, Verdict};

/// Maximum number of servers with their own section.
const SECTIONS: usize = 200;
/// Maximum number of servers in the overview.
const OVERVIEW: usize = 5000;

#[derive(Debug, Template)]
#[template(path = "report.html")]
pub(super) struct Page<'a> {
    policy: String,
    style: &'static str,
    script: &'static str,
    title: String,
    heading: String,
    verdict: Sentence,
    counts: Vec<Count>,
    facts: Vec<(&'static str, String)>,
    fleet: Option<Fleet<'a>>,
    pictures: Vec<Picture>,
    absent: String,
    rows: Vec<MapRow<'a>>,
    exposed: [Exposed<'a>; 2],
    severity_sections: Vec<SeveritySection<'a>>,
    breaks: Breaks<'a>,
    documents: Vec<Document<'a>>,
    waived: Vec<Listed<'a>>,
    unseen: Vec<Unseen<'a>>,
    answers: Answers<'a>,
    passed: Vec<Listed<'a>>,
    not_applicable: Vec<Listed<'a>>,
    release: Escaped<'a>,
    schema: Escaped<'a>,
    judged: String,
    incomplete: Option<String>,
}

/// A verdict, with its CSS class.
#[derive(Debug)]
struct Sentence {
    tone: &'static str,
    text: String,
}

/// A number with its label.
#[derive(Debug)]
struct Count {
    class: &'static str,
    number: String,
    label: &'static str,
}

/// A row of the map as a table.
#[derive(Debug)]
struct MapRow<'a> {
    location: &'static str,
    artefact: Escaped<'a>,
    state: &'static str,
    text: &'static str,
    layer: &'static str,
    grade: &'static str,
    detail: String,
}

/// Overview of several servers, and a section for the worst of them.
#[derive(Debug)]
struct Fleet<'a> {
    rows: Vec<FleetRow<'a>>,
    more_rows: String,
    sections: Vec<Section<'a>>,
    more_sections: String,
}

#[derive(Debug)]
struct FleetRow<'a> {
    anchor: Option<usize>,
    target: Escaped<'a>,
    product: String,
    error: Option<Escaped<'a>>,
    disk: (&'static str, &'static str),
    wire: (&'static str, &'static str),
    failures: Vec<String>,
    unknown: String,
}

#[derive(Debug)]
struct Section<'a> {
    anchor: usize,
    target: Escaped<'a>,
    product: String,
    evidence: String,
    verdict: Sentence,
    states: Vec<(Escaped<'a>, &'static str, &'static str)>,
    failed: Vec<(&'static str, Escaped<'a>, Escaped<'a>, String)>,
}

impl<'a> Page<'a> {
    pub(super) fn new(outcome: &'a Outcome) -> Self {
        let rows = fleet::map(outcome);
        let all = server_results(outcome);
        let audited = outcome.servers.len() - outcome.summary.unreachable.min(outcome.servers.len());
        let (server, product) = centre(outcome, audited);
        let heading = heading(outcome);
        Self {
            policy: content_security(STYLE, SCRIPT),
            style: STYLE,
            script: SCRIPT,
            title: format!("Audit of {heading}"),
            verdict: verdict::of_outcome(outcome).into(),
            counts: counts(outcome),
            facts: facts(outcome),
            fleet: (outcome.servers.len() > 1).then(|| Fleet::new(&all)),
            pictures: draw(&rows, &server, &product),
            absent: absent(&rows),
            exposed: [DataState::AtRest, DataState::InFlight].map(|location| Exposed::new(outcome, &rows, location)),
            rows: rows.into_iter().map(MapRow::new).collect(),
            severity_sections: severity_sections(outcome),
            breaks: Breaks::new(outcome),
            documents: documents(outcome),
            waived: listed(outcome, Status::Waived),
            unseen: unseen(outcome),
            answers: answers(outcome),
            passed: listed(outcome, Status::Pass),
            not_applicable: listed(outcome, Status::NotApplicable),
            release: Escaped(&outcome.sealant),
            schema: Escaped(&outcome.schema),
            judged: labels::minute(outcome.judged_at),
            incomplete: labels::incomplete(outcome),
            heading,
        }
    }
}

impl From<Verdict> for Sentence {
    fn from(verdict: Verdict) -> Self {
        let tone = match verdict.tone {
            Tone::Bad => "bad",
            Tone::Unsure => "unsure",
            Tone::Good => "good",
        };
        Self { tone, text: verdict.sentence }
    }
}

fn heading(outcome: &Outcome) -> String {
    match outcome.servers.as_slice() {
        [server] => visible(&server.target).into_owned(),
        many => count(many.len(), "server"),
    }
}

/// The two lines in the middle of the picture: name and product of a single server, or the number of servers.
fn centre(outcome: &Outcome, audited: usize) -> (String, String) {
    match outcome.servers.as_slice() {
        [server] => {
            let name = server.hostname.clone().unwrap_or_else(|| server.target.clone());
            (name, labels::product(server))
        }
        _ => (count(audited, "server"), "all taken together".to_owned()),
    }
}

fn counts(outcome: &Outcome) -> Vec<Count> {
    let sum = &outcome.summary;
    let failures = Severity::ALL.iter().rev().map(|severity| {
        let n = sum.failures.get(severity.as_str()).copied().unwrap_or(0);
        (severity.as_str(), n, severity.as_str())
    });
    let status = |status: Status| sum.by_status.get(status.as_str()).copied().unwrap_or(0);
    let others = [
        ("unknown", status(Status::Unknown), "not seen"),
        ("waived", status(Status::Waived), "waived"),
        ("pass", status(Status::Pass), "passed"),
    ];
    let all = failures.chain(others);
    all.map(|(class, n, label)| Count { class: if n == 0 { "zero" } else { class }, number: number(n), label })
        .collect()
}

fn facts(outcome: &Outcome) -> Vec<(&'static str, String)> {
    let judged = ("Judged", labels::minute(outcome.judged_at));
    match outcome.servers.as_slice() {
        [server] => {
            let mut facts = server_facts(server);
            facts.push(judged);
            facts
        }
        _ => vec![judged, ("Not audited", number(outcome.summary.unreachable))],
    }
}

fn server_facts(server: &Server) -> Vec<(&'static str, String)> {
    let shown = |text: &Option<String>| text.as_deref().map(|text| visible(text).into_owned());
    let all = [
        ("Server", Some(visible(&labels::product(server)).into_owned())),
        ("Host name", shown(&server.hostname)),
        ("Server UUID", shown(&server.server_uuid)),
        ("Data directory", shown(&server.datadir)),
        ("Audited as", shown(&server.account)),
        ("Evidence used", Some(labels::evidence_used(server.scope))),
        ("Collected", server.collected_at.map(labels::minute)),
        ("Could not be audited", shown(&server.error)),
    ];
    all.into_iter().filter_map(|(label, value)| Some((label, value?))).collect()
}

fn absent(rows: &[Row<'_>]) -> String {
    let absent = rows.iter().filter(|row| row.state == CoverageState::Absent);
    absent.map(|row| visible(row.artefact).into_owned()).collect::<Vec<String>>().join(", ")
}

impl<'a> MapRow<'a> {
    fn new(row: Row<'a>) -> Self {
        Self {
            location: if row.location == DataState::AtRest { "at rest" } else { "in flight" },
            artefact: Escaped(row.artefact),
            state: labels::state_key(row.state),
            text: labels::state(row.state),
            layer: labels::layer(row.layer),
            grade: labels::grade(row.grade),
            detail: visible(&row.detail).into_owned(),
        }
    }
}

impl<'a> Fleet<'a> {
    fn new(all: &[ServerResults<'a>]) -> Self {
        let sections: Vec<Section<'a>> =
            (0..).zip(all).take(SECTIONS).filter_map(|(i, s)| Section::new(i, s)).collect();
        let more = |most: usize| if all.len() > most { number(all.len() - most) } else { String::new() };
        Self {
            rows: (0..).zip(all).take(OVERVIEW).map(|(i, results)| FleetRow::new(i, results)).collect(),
            more_rows: more(OVERVIEW),
            sections,
            more_sections: more(SECTIONS),
        }
    }
}

impl<'a> FleetRow<'a> {
    fn new(index: usize, results: &ServerResults<'a>) -> Self {
        let server = results.server;
        let state = |location| {
            let state = results.state(location);
            (labels::state_key(state), labels::state(state))
        };
        let failures = Severity::ALL.iter().rev().take(4).map(|severity| number(results.failures(*severity)));
        Self {
            anchor: (index < SECTIONS && server.error.is_none()).then_some(index),
            target: Escaped(&server.target),
            product: if server.error.is_none() {
                visible(&labels::product(server)).into_owned()
            } else {
                String::new()
            },
            error: server.error.as_deref().map(Escaped),
            disk: state(DataState::AtRest),
            wire: state(DataState::InFlight),
            failures: failures.collect(),
            unknown: number(results.unknown()),
        }
    }
}

impl<'a> Section<'a> {
    /// `None` for a server that could not be audited: the overview says all that is known about it.
    fn new(anchor: usize, results: &ServerResults<'a>) -> Option<Self> {
        if results.server.error.is_some() {
            return None;
        }
        let there = results.coverage.iter().filter(|row| row.state != CoverageState::Absent);
        let groups = by_check(results.findings.iter().copied(), Status::Fail);
        let times = |n: usize| if n > 1 { format!("× {}", number(n)) } else { String::new() };
        let failed =
            groups.iter().map(|g| (g.severity.as_str(), Escaped(g.id), Escaped(g.title()), times(g.findings.len())));
        Some(Self {
            anchor,
            target: Escaped(&results.server.target),
            product: visible(&labels::product(results.server)).into_owned(),
            evidence: labels::evidence_used(results.server.scope),
            verdict: verdict::of_server(results).into(),
            states: there.map(|c| (Escaped(&c.artefact), labels::state_key(c.state), labels::state(c.state))).collect(),
            failed: failed.collect(),
        })
    }
}
