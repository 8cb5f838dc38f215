//! Judges facts: applies the table of checks, the waivers and the coverage map.

use jiff::Timestamp;

use crate::artefact::Artefacts;
use crate::check::{Check, Context};
use crate::checks::{closing, judging};
use crate::coverage;
use crate::facts::Facts;
use crate::finding::Finding;
use crate::outcome::{Outcome, Server};
use crate::rules::Rules;

/// Judges the facts about one server. Pure: the same facts, rules and time give the same outcome.
#[must_use]
pub fn judge(facts: &Facts, rules: &Rules, now: Timestamp) -> Outcome {
    let mut outcome = Outcome::empty(now);
    outcome.servers.push(Server::from_facts(facts));
    outcome.findings = findings(facts, rules, now);
    outcome.coverage = coverage::map(facts, &Artefacts::join(facts));
    outcome.finish();
    outcome
}

fn findings(facts: &Facts, rules: &Rules, now: Timestamp) -> Vec<Finding> {
    let artefacts = Artefacts::join(facts);
    let mut cx = Context { facts, artefacts: &artefacts, policy: &rules.policy, now, rules, findings: &[] };
    let wanted = |check: &&Check| rules.only.is_empty() || rules.only.iter().any(|id| id == check.id);
    let mut findings: Vec<Finding> = judging().filter(wanted).flat_map(|check| check.findings(&cx)).collect();
    let first = findings.clone();
    cx.findings = &first;
    findings.extend(closing().filter(wanted).flat_map(|check| check.findings(&cx)));
    rules.waivers.apply(&mut findings, now);
    findings
}
