//! Judges facts: applies the table of checks, the waivers and the coverage map.

use jiff::Timestamp;

use crate::artefact::Artefacts;
use crate::check::{Check, Context};
use crate::checks::{closing, judging, order::in_order};
use crate::coverage;
use crate::diff::Drift;
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

/// Judges and compares saved facts. Both are judged at the time of the later ones; otherwise the remaining validity of
/// every certificate would differ.
#[must_use]
pub fn drift(before: &Facts, after: &Facts) -> Drift {
    let (rules, at) = (Rules::default(), after.collected_at);
    Drift::between(&findings(before, &rules, at), &findings(after, &rules, at))
}

/// The findings of the baseline with the same checks and limits, as of its own date and without waivers.
pub(crate) fn judge_baseline(rules: &Rules) -> Option<(&Facts, Vec<Finding>)> {
    let baseline = rules.baseline.as_ref()?;
    let rules = Rules { policy: rules.policy.clone(), only: rules.only.clone(), ..Rules::default() };
    Some((baseline, findings(baseline, &rules, baseline.collected_at)))
}

fn findings(facts: &Facts, rules: &Rules, now: Timestamp) -> Vec<Finding> {
    let artefacts = Artefacts::join(facts);
    let baseline = judge_baseline(rules);
    let mut cx = Context {
        facts,
        artefacts: &artefacts,
        policy: &rules.policy,
        now,
        rules,
        in_order,
        findings: &[],
        baseline: baseline.as_ref().map(|(baseline, findings)| (*baseline, findings.as_slice())),
    };
    let wanted = |check: &&Check| rules.only.is_empty() || rules.only.iter().any(|id| id == check.id);
    let mut findings: Vec<Finding> = judging().filter(wanted).flat_map(|check| check.findings(&cx)).collect();
    let first = findings.clone();
    cx.findings = &first;
    findings.extend(closing().filter(wanted).flat_map(|check| check.findings(&cx)));
    rules.waivers.apply(&mut findings, now);
    findings
}
