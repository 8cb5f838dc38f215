//! `gr-unverified`.

use super::traffic_plaintext::unseen;
use super::{member, no_member};
use crate::check::{Check, Context, Ruling, Verdict};
use crate::checks::advice;
use crate::facts::Seen;
use crate::facts::sql::SqlFacts;
use crate::finding::{Grade, Severity};
use crate::meaning::{Attacker, ClosedBy, Exposes};

pub(crate) const CHECK: Check = Check {
    id: "gr-unverified",
    title: "Members of the group do not verify each other",
    severity: Severity::Medium,
    explanation: "With REQUIRED a member takes any certificate, so whoever sits between two members reads and changes \
        every transaction; recovery does so by default.",
    applies: "MySQL with Group Replication over TLS",
    fix: "group_replication_ssl_mode = VERIFY_IDENTITY, group_replication_recovery_ssl_verify_server_cert = ON",
    cost: "the group must be stopped and started; certificates must carry the members' names",
    standards: &["CIS MySQL 10.1"],
    exposes: Exposes::Help(Attacker::Impostor, "Group traffic, to who poses as a member"),
    closed_by: ClosedBy::Administrator,
    cut_off: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Seen<Verdict> {
    let Some((sql, group)) = member(cx)? else { return Ok(no_member()) };
    let mut verdict = Verdict::new();
    if group.messages_clear() != Some(true) {
        switch(
            sql,
            &mut verdict,
            "group communication",
            "group_replication_ssl_mode",
            group.messages_verified(),
            "VERIFY_IDENTITY",
        );
    }
    if group.recovery_tls != Some(false) {
        let name = "group_replication_recovery_ssl_verify_server_cert";
        switch(sql, &mut verdict, "group recovery", name, group.recovery_verified, "ON");
    }
    if verdict.is_empty() {
        return Ok(Verdict::not_applicable("the group uses no TLS; see gr-traffic-plaintext"));
    }
    Ok(verdict)
}

fn switch(sql: &SqlFacts, verdict: &mut Verdict, artefact: &str, name: &str, verified: Option<bool>, wanted: &str) {
    let ruling = match verified {
        None => return verdict.unseen(artefact, unseen(sql, name)),
        Some(true) => Ruling::pass(artefact, Grade::Declared, format!("{artefact} verifies certificates")),
        Some(false) => Ruling::fail(artefact, Grade::Declared, format!("{artefact} takes any certificate"))
            .fix(advice::set_variable(sql, name, wanted)),
    };
    verdict.push(ruling.evidence(sql.variable_evidence(name)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass};
    use crate::testing::{Made, mysql};

    fn with(mode: &str, recovery: &str, verify: &str) -> Made {
        mysql()
            .answer("plugins", &["name", "status", "type"], &[&["group_replication", "ACTIVE", "GROUP REPLICATION"]])
            .variable("group_replication_ssl_mode", mode)
            .variable("group_replication_recovery_use_ssl", recovery)
            .variable("group_replication_recovery_ssl_verify_server_cert", verify)
    }

    #[test]
    fn tls_without_verification_fails() {
        assert_eq!(with("REQUIRED", "ON", "OFF").statuses(&CHECK), [Fail, Fail]);
        assert_eq!(with("VERIFY_CA", "ON", "ON").statuses(&CHECK), [Pass, Pass]);
    }

    #[test]
    fn clear_ways_are_another_checks_matter() {
        assert_eq!(with("DISABLED", "OFF", "OFF").statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().answer("plugins", &["name", "status", "type"], &[]).statuses(&CHECK), [NotApplicable]);
    }
}
