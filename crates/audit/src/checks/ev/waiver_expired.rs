//! `ev-waiver-expired`.

use findings::Severity;
use jiff::Timestamp;

use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks;
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::Observed;
use crate::finding::{Evidence, EvidenceGrade};
use crate::waiver::{NEVER_WAIVED, Waiver};

pub const CHECK: Check = Check {
    id: NEVER_WAIVED,
    title: "A waiver is past its date or names no check",
    severity: Severity::Medium,
    explanation: "A waiver is valid until its date. After that, the findings it covered count again, and this finding \
        names the waiver. A waiver that names no check covers nothing. This finding itself cannot be waived.",
    applies: "audits with a waiver file",
    fix: "fix what the waiver covered, or have it approved again with a later date",
    cost: "none",
    standards: &["NIST SP 800-53r5 CA-5"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let waivers = &cx.rules.waivers;
    if waivers.is_empty() {
        return Ok(CheckResults::not_applicable("no waiver was given"));
    }
    let mut results = CheckResults::new();
    for waiver in waivers.iter() {
        let Some(why) = fault(waiver, cx.now) else { continue };
        let name = format!("waiver {} on {} of {}", waiver.check, waiver.artefact, waiver.server);
        results.push(CheckResult::fail(&name, EvidenceGrade::Declared, format!("{name}: {why}")).evidence(
            Evidence::Host {
                source: "waiver file".to_owned(),
                observation: format!(
                    "check {}, approved by {}, expires {}",
                    waiver.check, waiver.approver, waiver.expires
                ),
            },
        ));
    }
    results.pass_if_clean(CheckResult::pass(
        "waivers",
        EvidenceGrade::Declared,
        format!("all {} waivers hold", waivers.len()),
    ));
    Ok(results)
}

/// Why a waiver covers nothing.
fn fault(waiver: &Waiver, now: Timestamp) -> Option<String> {
    if checks::find(&waiver.check).is_none() {
        Some(format!("there is no check {}", waiver.check))
    } else if waiver.check == NEVER_WAIVED {
        Some(format!("{NEVER_WAIVED} cannot be waived"))
    } else if !waiver.valid(now) {
        Some(format!("expired on {}", waiver.expires))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status;
    use crate::finding::Status::{Fail, NotApplicable, Pass};
    use crate::rules::Rules;
    use crate::testing::mysql;
    use crate::waiver::Waivers;

    fn statuses(check: &str, expires: &str) -> Vec<Status> {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("w.toml");
        let text = format!("[[waiver]]\ncheck='{check}'\nreason='r'\napprover='a'\nexpires={expires}\n");
        std::fs::write(&file, text).unwrap();
        let rules = Rules { waivers: Waivers::load(&file).unwrap(), ..Rules::default() };
        mysql().judge_with(&CHECK, &rules, &[]).iter().map(|finding| finding.status).collect()
    }

    #[test]
    fn expired_and_unknown_waivers_fail() {
        assert_eq!(statuses("key-local-file", "2026-11-19"), [Fail]);
        assert_eq!(statuses("key-lokal-file", "2027-11-19"), [Fail]);
        assert_eq!(statuses("key-local-file", "2026-11-20"), [Pass]);
        assert_eq!(statuses(NEVER_WAIVED, "2027-11-19"), [Fail]);
        assert_eq!(mysql().judge(&CHECK)[0].status, NotApplicable);
    }
}
