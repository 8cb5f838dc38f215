//! `ev-drift`.

use findings::Severity;

use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::judging;
use crate::diff::{Change, Drift};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::{Facts, Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade, Finding, Status};

pub(crate) const CHECK: Check = Check {
    id: "ev-drift",
    title: "Something changed since the baseline",
    severity: Severity::Info,
    explanation: "The facts of the baseline are judged again with today's checks, as of their own date and without \
        waivers, and compared result by result: new failures, worse ones, and results that could be judged then and \
        cannot now. Fixed findings are listed, too.",
    applies: "audits with a baseline",
    fix: "review the change, then save today's facts as the baseline",
    cost: "none",
    standards: &["NIST SP 800-53r5 CM-3", "PCI DSS 4.0.1 12.3.3"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let Some((baseline, findings)) = cx.baseline else {
        return Ok(CheckResults::not_applicable("no baseline was given"));
    };
    same_server(baseline, cx.facts)?;
    // Today's findings of the closing checks are not complete yet, so those of the baseline do not count.
    let is_judging = |finding: &&Finding| judging().any(|check| check.id == finding.id);
    let before: Vec<Finding> = findings.iter().filter(is_judging).cloned().collect();
    let drift = Drift::between(&before, cx.findings);
    let mut results = CheckResults::new();
    for (word, changes) in [("new", &drift.new), ("worse", &drift.worse), ("no longer seen", &drift.lost)] {
        changes.iter().for_each(|change| results.push(changed(word, change, baseline)));
    }
    let text =
        format!("{} failures as before, {} fixed, since {}", drift.unchanged, drift.fixed.len(), baseline.collected_at);
    if results.is_empty() {
        let fixed = drift.fixed.iter().map(|change| evidence(change, baseline));
        results.push(fixed.fold(CheckResult::pass("server", EvidenceGrade::Reported, text), CheckResult::evidence));
    }
    Ok(results)
}

/// A baseline of another server would report everything as drift.
fn same_server(baseline: &Facts, today: &Facts) -> Observed<()> {
    let uuid = |facts: &Facts| {
        let sql = facts.sql.as_ref().and_then(|sql| sql.identity.server_uuid.clone());
        sql.or_else(|| facts.files.as_ref().and_then(|files| files.server_uuid.clone()))
    };
    match (uuid(baseline), uuid(today)) {
        (Some(then), Some(now)) if then != now => Err(Unavailable {
            what: "the baseline of this server".to_owned(),
            why: format!("the one given is of {} (server uuid {then})", baseline.target),
            remedy: "give facts that were saved from this server".to_owned(),
        }),
        _ => Ok(()),
    }
}

fn changed(word: &str, change: &Change, baseline: &Facts) -> CheckResult {
    let message = format!("{word}: {} of {}: {}", change.id, change.artefact, change.message);
    CheckResult::fail(format!("{} {}", change.id, change.artefact), EvidenceGrade::Reported, message)
        .evidence(evidence(change, baseline))
}

fn evidence(change: &Change, baseline: &Facts) -> Evidence {
    let state = |side: &Option<String>| side.clone().unwrap_or_else(|| Status::NotApplicable.as_str().to_owned());
    Evidence::Host {
        source: format!("facts of {} at {}", baseline.target, baseline.collected_at),
        observation: format!(
            "{} {}: {} then, {} now",
            change.id,
            change.artefact,
            state(&change.before),
            state(&change.after)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::rules::Rules;
    use crate::testing::{FactsBuilder, mysql};

    fn made(local_infile: &str) -> FactsBuilder {
        mysql().variable("local_infile", local_infile)
    }

    fn since(then: &FactsBuilder, now: &FactsBuilder) -> Vec<Finding> {
        let only = vec!["exp-local-infile".to_owned(), "ev-drift".to_owned()];
        let rules = Rules { baseline: Some(then.0.clone()), only, ..Rules::default() };
        let check = crate::checks::find("exp-local-infile").unwrap();
        now.judge_with(&CHECK, &rules, &now.judge(check))
    }

    #[test]
    fn a_new_failure_is_drift_and_a_fixed_one_passes() {
        let found = since(&made("OFF"), &made("ON"));
        assert_eq!((found[0].status, found[0].severity), (Fail, Severity::Info));
        assert_eq!(found[0].artefact, "exp-local-infile local_infile");
        let fixed = since(&made("ON"), &made("OFF"));
        assert_eq!(fixed[0].status, Pass);
        assert!(fixed[0].message.contains("1 fixed"));
        assert_eq!(since(&made("ON"), &made("ON"))[0].status, Pass);
    }

    #[test]
    fn what_cannot_be_seen_any_more_is_drift() {
        assert!(since(&made("OFF"), &mysql()).iter().any(|finding| finding.status == Fail));
    }

    #[test]
    fn a_baseline_is_needed_and_must_be_this_servers() {
        assert_eq!(mysql().statuses(&CHECK), [NotApplicable]);
        let with = |uuid: &str| {
            let mut made = made("ON");
            made.0.sql.as_mut().unwrap().identity.server_uuid = Some(uuid.to_owned());
            made
        };
        assert_eq!(since(&with("a"), &with("b"))[0].status, Unknown);
    }
}
