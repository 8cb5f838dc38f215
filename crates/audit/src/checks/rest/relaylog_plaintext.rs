//! `rest-relaylog-plaintext`.

use findings::{Remedy, Severity};
use server::Capability;
use server::dialect::channel::GROUP_CHANNELS;
use server::dialect::encryption::Encrypts;
use server::dialect::statement::FLUSH_RELAY_LOGS;

use super::binlog_plaintext::{by_switch, switch_on};
use super::{ArtefactPolicy, data_seen, first_variable, judge_all};
use crate::artefact::Kind;
use crate::channel::replica::channels;
use crate::check::{Check, CheckResults, Context};
use crate::checks::gr::while_out;
use crate::checks::repl::{channel, restart_applier};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::files::FileFacts;
use crate::facts::host::Role;
use crate::facts::sql::SqlFacts;

pub const CHECK: Check = Check {
    id: "rest-relaylog-plaintext",
    title: "Relay logs are in clear",
    severity: Severity::High,
    explanation: "A replica writes what it receives into relay logs before it applies it, also rows of encrypted \
        tables. The setting is that of the binary log and applies to logs started after it was set. Judged from the \
        first bytes of each file.",
    applies: "replicas, members of a replication group included",
    fix: "encrypt binary and relay logs, then have the relay logs recreated",
    cost: "the replica stops for a moment, and fetches again what it had not applied",
    standards: &["CIS MySQL 2.2.1", "PCI DSS 4.0.1 3.5.1"],
    exposes: Exposes::Data(Attacker::StolenDisk, "Every change received from the source, in relay logs"),
    closed_by: ClosedBy::Encrypt,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let fix = |name: &str| cx.facts.sql.as_ref().map_or_else(|| CHECK.fix.into(), |sql| fix(sql, name));
    let terms = ArtefactPolicy { noun: "relay logs", severity: &|_| None, fix: &|artefact| fix(&artefact.name) };
    let results = judge_all(cx, cx.artefacts.with_kind(Kind::RelayLog), &terms);
    if !results.is_empty() {
        return Ok(results);
    }
    match cx.facts.sql() {
        Ok(sql) => no_file(cx, sql),
        Err(_) if data_seen(cx) => {
            Ok(CheckResults::not_applicable("no relay log lies in the directories that were read"))
        }
        Err(_) => cx.facts.files().map(|_| CheckResults::new()),
    }
}

fn no_file(cx: &Context<'_>, sql: &SqlFacts) -> Observed<CheckResults> {
    match sql.rows("replica_channels") {
        Ok(channels) if channels.is_empty() => {
            Ok(CheckResults::not_applicable("this server is no replica and has no relay log"))
        }
        Ok(_) => Ok(CheckResults::one(by_switch(sql, "relay logs"))),
        Err(_) if directories_seen(cx) => {
            Ok(CheckResults::not_applicable("no relay log lies in the directories that were read"))
        }
        Err(unseen) => Err(unseen),
    }
}

/// Whether all directories of relay logs were read.
fn directories_seen(cx: &Context<'_>) -> bool {
    let mut unseen = cx.facts.files.iter().flat_map(FileFacts::unseen_roots);
    data_seen(cx) && !unseen.any(|root| root.role == Role::RelayLog)
}

/// Condition for removing the relay logs of a group member.
const ALL_APPLIED: &str =
    "gtid_executed holds all of RECEIVED_TRANSACTION_SET in performance_schema.replication_connection_status";

fn fix(sql: &SqlFacts, name: &str) -> Remedy {
    if (sql.is_mariadb() || !sql.can(Capability::EncryptBinaryLogs))
        && first_variable(sql, Encrypts::BinaryLogs).is_none()
    {
        return switch_on(sql);
    }
    // The name of a relay log contains that of its channel.
    if let Some(of_group) = GROUP_CHANNELS.into_iter().find(|channel| name.contains(channel)) {
        // Nothing else purges the relay logs of Group Replication's channels. Tried on MySQL 9.7.
        let reset = Remedy::statement(channel(sql, of_group).statement("RESET", "")).once(ALL_APPLIED);
        return switch_on(sql).and(while_out(sql, reset));
    }
    // RESET REPLICA would lose the position of a replica without GTIDs.
    let flush = || Remedy::statement(FLUSH_RELAY_LOGS);
    let running = channels(sql).unwrap_or_default().into_iter().filter(|channel| channel.runs);
    let applied = running.map(|channel| restart_applier(sql, channel.name));
    // Without changes to apply, an applier keeps its current log and the one before until it restarts. Tried on
    // MySQL 9.7.
    applied
        .fold(switch_on(sql).and(flush()).and(flush()), Remedy::and)
        .note("the server purges the clear ones when their changes are applied (relay_log_purge = ON)")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, binary_log, mysql};

    #[test]
    fn relay_logs_are_recognised_by_name_and_directory() {
        let made = FactsBuilder::nothing()
            .file("db1-relay-bin.000002", binary_log(true))
            .file("binlog.000001", binary_log(false));
        let found = made.judge(&CHECK);
        assert_eq!((found.len(), found[0].status), (1, Fail));
        let made =
            FactsBuilder::nothing().file("r.000002", binary_log(false)).last_file(|file| file.role = Role::RelayLog);
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_fix_lets_go_of_the_last_logs_too() {
        let log = |made: FactsBuilder, name: &str| {
            made.file(name, binary_log(true)).judge(&CHECK)[0].remediation.clone().unwrap()
        };
        let channel = |state: &str| {
            mysql().variable("binlog_encryption", "ON").answer(
                "replica_channels",
                &["channel", "host", "io_state"],
                &[&["east", "10.0.0.1", state]],
            )
        };
        let renewed = "STOP REPLICA SQL_THREAD FOR CHANNEL 'east'; START REPLICA SQL_THREAD FOR CHANNEL 'east'";
        let fix = log(channel("ON"), "db1-relay-bin-east.000002");
        assert!(fix.contains(&format!("FLUSH RELAY LOGS; FLUSH RELAY LOGS; {renewed} -- ")), "{fix}");
        assert!(!log(channel("OFF"), "db1-relay-bin-east.000002").contains("START REPLICA"));
        let fix = log(channel("ON"), "db1-relay-bin-group_replication_applier.000002");
        assert!(fix.contains("RESET REPLICA FOR CHANNEL 'group_replication_applier'"), "{fix}");
    }

    #[test]
    fn a_server_without_channels_has_none() {
        assert_eq!(mysql().answer("replica_channels", &["channel"], &[]).statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn a_replica_without_files_is_judged_by_its_switch() {
        let replica =
            |value| mysql().answer("replica_channels", &["channel"], &[&[""]]).variable("binlog_encryption", value);
        assert_eq!(replica("OFF").statuses(&CHECK), [Fail]);
        assert_eq!(replica("ON").statuses(&CHECK), [Unknown]);
        assert_eq!(mysql().refused("replica_channels", 1227).statuses(&CHECK), [Unknown]);
    }
}
