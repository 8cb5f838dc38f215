//! `gr-unverified`.

use findings::{Remedy, Severity};
use server::SslMode;
use server::dialect::variable;

use super::traffic_plaintext::unseen;
use super::{member, no_member, set_recovery, while_all_are_out};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::sql::SqlFacts;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "gr-unverified",
    title: "Members of the group do not verify each other",
    severity: Severity::Medium,
    explanation: "With REQUIRED a member accepts any certificate: a man in the middle can read and change every \
        transaction. Recovery accepts any certificate by default.",
    applies: "MySQL with Group Replication over TLS",
    fix: "group_replication_ssl_mode = VERIFY_IDENTITY, group_replication_recovery_ssl_verify_server_cert = ON",
    cost: "the group must be stopped and started; certificates must carry the members' names",
    standards: &["CIS MySQL 10.1"],
    exposes: Exposes::Help(Attacker::Impostor, "Group traffic, to whoever poses as a member"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let Some((sql, group)) = member(cx)? else { return Ok(no_member()) };
    let mut results = CheckResults::new();
    if group.messages_clear() != Some(true) {
        let name = variable::GROUP_REPLICATION_SSL_MODE;
        let fix = || {
            while_all_are_out(sql, advice::set_variable(sql, name, SslMode::VerifyIdentity.name())).once(CERTIFICATES)
        };
        switch(sql, &mut results, "group communication", name, group.messages_verified(), fix);
    }
    if group.recovery_tls != Some(false) {
        let name = variable::GROUP_REPLICATION_RECOVERY_SSL_VERIFY_SERVER_CERT;
        switch(sql, &mut results, "group recovery", name, group.recovery_verified, || verify_recovery(sql, name));
    }
    if results.is_empty() {
        return Ok(CheckResults::not_applicable("the group uses no TLS; see gr-traffic-plaintext"));
    }
    Ok(results)
}

/// Precondition for verifying host names between members.
const CERTIFICATES: &str =
    "every member has a certificate from one authority, its ssl_ca, with the host name that the others use for it";

/// Without a CA of its own, verified recovery cannot connect to any donor, and no member can join.
fn verify_recovery(sql: &SqlFacts, name: &str) -> Remedy {
    let authority = variable::GROUP_REPLICATION_RECOVERY_SSL_CA;
    let is_set = |name: &str| sql.variable_or_none(name).is_some_and(|value| !value.is_empty());
    let verify = advice::set_variable(sql, name, "ON");
    let set = if is_set(authority) || is_set("group_replication_recovery_ssl_capath") {
        verify
    } else {
        advice::set_variable(sql, authority, &advice::path_of_ca(sql)).and(verify)
    };
    set_recovery(sql, set).once(CERTIFICATES)
}

fn switch(
    sql: &SqlFacts,
    results: &mut CheckResults,
    artefact: &str,
    name: &str,
    verified: Option<bool>,
    fix: impl FnOnce() -> Remedy,
) {
    let result = match verified {
        None => return results.push_unknown(artefact, unseen(sql, name)),
        Some(true) => CheckResult::pass(artefact, EvidenceGrade::Declared, format!("{artefact} verifies certificates")),
        Some(false) => {
            CheckResult::fail(artefact, EvidenceGrade::Declared, format!("{artefact} accepts any certificate"))
                .fix(fix())
        }
    };
    results.push(result.evidence(sql.variable_evidence(name)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass};
    use crate::testing::{FactsBuilder, mysql};

    fn with(mode: &str, recovery: &str, verify: &str) -> FactsBuilder {
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
    fn a_fix_names_the_authority_and_restarts_the_group() {
        let fixes = |made: FactsBuilder| -> Vec<String> {
            made.judge(&CHECK).into_iter().map(|finding| finding.remediation.unwrap()).collect()
        };
        let [messages, recovery] =
            fixes(with("REQUIRED", "ON", "OFF").variable("ssl_ca", "ca.pem")).try_into().unwrap();
        assert!(messages.contains("STOP GROUP_REPLICATION; SET PERSIST group_replication_ssl_mode"), "{messages}");
        assert!(messages.contains("bootstrap_group = ON; START GROUP_REPLICATION; SET GLOBAL"), "{messages}");
        assert!(
            recovery.contains("SET PERSIST group_replication_recovery_ssl_ca = '/var/lib/mysql/ca.pem'; SET"),
            "{recovery}"
        );
        let stack = with("REQUIRED", "ON", "OFF")
            .variable("group_replication_communication_stack", "MYSQL")
            .variable("group_replication_recovery_ssl_ca", "/ca.pem");
        let [_, recovery] = fixes(stack).try_into().unwrap();
        assert!(recovery.contains("STOP GROUP_REPLICATION") && !recovery.contains("recovery_ssl_ca"), "{recovery}");
    }

    #[test]
    fn clear_channels_belong_to_another_check() {
        assert_eq!(with("DISABLED", "OFF", "OFF").statuses(&CHECK), [NotApplicable]);
        assert_eq!(mysql().answer("plugins", &["name", "status", "type"], &[]).statuses(&CHECK), [NotApplicable]);
    }
}
