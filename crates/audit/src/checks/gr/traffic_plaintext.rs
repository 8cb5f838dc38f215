//! `gr-traffic-plaintext`.

use findings::{Remedy, Severity};
use server::SslMode;
use server::dialect::variable;
use sniff::Service;

use super::{member, no_member, set_recovery, while_all_are_out};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "gr-traffic-plaintext",
    title: "Members of the group communicate or recover in clear",
    severity: Severity::High,
    explanation: "Every transaction is sent in the group's messages, and a joining member receives all data by \
        recovery. Each has its own setting, and DISABLED was the default for messages for years. With the \
        communication stack MYSQL the recovery settings protect the messages, too.",
    applies: "MySQL 5.7.17+ with Group Replication",
    fix: "group_replication_ssl_mode = REQUIRED or better on every member, group_replication_recovery_use_ssl = ON",
    cost: "the group must be stopped and started: either all members use TLS or none",
    standards: &["CIS MySQL 10.1", "PCI DSS 4.0.1 4.2.1"],
    exposes: Exposes::Data(Attacker::Sniffer, "Every change, as the replication group agrees on it"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let Some((sql, group)) = member(cx)? else { return Ok(no_member()) };
    let mut results = CheckResults::new();
    let fix = |name| while_all_are_out(sql, advice::set_variable(sql, name, SslMode::Required.name()));
    let (name, clear) = (variable::GROUP_REPLICATION_SSL_MODE, group.messages_clear());
    let messages = switch(sql, "group communication", name, clear, fix);
    // With the stack MYSQL, messages use the port for clients, whose packets do not tell them from others.
    let stack = sql.variable_or_none(variable::GROUP_REPLICATION_COMMUNICATION_STACK);
    let is_own = !stack.is_some_and(|stack| stack.eq_ignore_ascii_case("MYSQL"));
    results.push(if is_own { messages.with_packets(cx, &[Service::GroupCommunication]) } else { messages });
    let fix = |name| set_recovery(sql, advice::set_variable(sql, name, "ON"));
    let recovery_clear = group.recovery_tls.map(|on| !on);
    let name = variable::GROUP_REPLICATION_RECOVERY_USE_SSL;
    results.push(switch(sql, "group recovery", name, recovery_clear, fix));
    Ok(results)
}

fn switch(
    sql: &SqlFacts,
    artefact: &str,
    name: &'static str,
    clear: Option<bool>,
    fix: impl FnOnce(&'static str) -> Remedy,
) -> CheckResult {
    let result = match clear {
        None => return CheckResult::unknown(artefact, unseen(sql, name)),
        Some(true) => {
            CheckResult::fail(artefact, EvidenceGrade::Declared, format!("{artefact} is in clear")).fix(fix(name))
        }
        Some(false) => CheckResult::pass(artefact, EvidenceGrade::Declared, format!("{artefact} uses TLS")),
    };
    let stack = variable::GROUP_REPLICATION_COMMUNICATION_STACK;
    let result = result.evidence(sql.variable_evidence(name));
    if sql.variable_or_none(stack).is_some() { result.evidence(sql.variable_evidence(stack)) } else { result }
}

pub(super) fn unseen(sql: &SqlFacts, name: &str) -> Unavailable {
    Unavailable {
        what: name.to_owned(),
        why: format!("{} shows no such variable although the plug-in is active", sql.identity.version),
        remedy: format!("read SHOW GLOBAL VARIABLES LIKE '{name}' as {}", sql.session.account),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn with(mode: &str, recovery: &str) -> FactsBuilder {
        mysql()
            .answer("plugins", &["name", "status", "type"], &[&["group_replication", "ACTIVE", "GROUP REPLICATION"]])
            .variable("group_replication_ssl_mode", mode)
            .variable("group_replication_recovery_use_ssl", recovery)
    }

    #[test]
    fn each_channel_is_judged_by_its_switch() {
        assert_eq!(with("REQUIRED", "ON").statuses(&CHECK), [Pass, Pass]);
        assert_eq!(with("DISABLED", "ON").statuses(&CHECK), [Fail, Pass]);
        let found = with("VERIFY_IDENTITY", "OFF").judge(&CHECK);
        assert_eq!((found[1].status, found[1].artefact.as_str()), (Fail, "group recovery"));
    }

    #[test]
    fn packets_are_counted_only_where_messages_have_a_port() {
        let message = |stack: &str| {
            let mut made = with("REQUIRED", "ON").variable("group_replication_communication_stack", stack);
            made.0.traffic = crate::channel::packets::made::seen(Vec::new()).0.traffic;
            made.judge(&CHECK)[0].message.clone()
        };
        assert!(message("XCOM").ends_with(": none"));
        assert!(!message("MYSQL").contains("seen"), "{}", message("MYSQL"));
    }

    #[test]
    fn servers_outside_a_group_are_not_concerned() {
        let inactive =
            mysql().answer("plugins", &["name", "status", "type"], &[&["group_replication", "DISABLED", ""]]);
        assert_eq!(inactive.statuses(&CHECK), [NotApplicable]);
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
