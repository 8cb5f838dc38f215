//! `rest-binlog-plaintext`.

use findings::{Remedy, Severity};
use innodb::server_file;
use server::Capability;
use server::dialect::encryption::Encrypts;
use server::dialect::statement::{FLUSH_BINARY_LOGS, purge_binary_logs_to};
use server::dialect::variable;
use server::switch::is_switched_on;

use super::{ArtefactPolicy, data_seen, first_variable, judge_all};
use crate::artefact::{Kind, State};
use crate::channel::group::group;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::{path_of_ca, set_at_start, set_variable};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub const CHECK: Check = Check {
    id: "rest-binlog-plaintext",
    title: "Binary logs are in clear",
    severity: Severity::High,
    explanation: "The binary log repeats every change, also rows of encrypted tables. The setting applies to logs \
        started after it was set: older ones stay clear until they are purged, and MariaDB does not list which are \
        clear. Judged from the first bytes of each file, then from SHOW BINARY LOGS (MySQL 8.0.14 and newer).",
    applies: "servers with a binary log; MySQL can encrypt it from 8.0.14 on, MariaDB from 10.1 on, Percona in 5.7",
    fix: "encrypt the binary log, start a new one, and purge the clear ones",
    cost: "none on MySQL 8; a restart elsewhere. Purged logs are gone for replicas and point-in-time recovery",
    standards: &["CIS MySQL 2.2.1", "PCI DSS 4.0.1 3.5.1", "NIST SP 800-53r5 SC-28"],
    exposes: Exposes::Data(Attacker::StolenDisk, "Every change since the oldest binary log"),
    closed_by: ClosedBy::Encrypt,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let fix = || cx.facts.sql.as_ref().map_or_else(|| CHECK.fix.into(), |sql| fix(cx, sql));
    let terms = ArtefactPolicy { noun: "binary logs", severity: &|_| None, fix: &|_| fix() };
    let known = cx.artefacts.with_kind(Kind::BinaryLog).filter(|log| log.file.is_some() || log.reported.is_some());
    let mut results = judge_all(cx, known, &terms);
    let Some(sql) = &cx.facts.sql else { return without_server(cx, results) };
    if !results.is_empty() {
        return Ok(results);
    }
    match sql.variable_on(variable::LOG_BIN)? {
        false => Ok(CheckResults::not_applicable("log_bin is OFF, and no binary log was found")),
        true => {
            results.push(by_switch(sql, "binary logs"));
            Ok(results)
        }
    }
}

fn without_server(cx: &Context<'_>, results: CheckResults) -> Observed<CheckResults> {
    if results.is_empty() && data_seen(cx) {
        return Ok(CheckResults::not_applicable("no binary log lies in the directories that were read"));
    }
    cx.facts.files().map(|_| results)
}

/// What the variable proves about logs that were not read and are in no list.
pub(super) fn by_switch(sql: &SqlFacts, logs: &str) -> CheckResult {
    match first_variable(sql, Encrypts::BinaryLogs) {
        Some((name, value)) if !is_switched_on(value) => {
            CheckResult::fail(logs, EvidenceGrade::Declared, format!("{name} is OFF: {logs} are written in clear"))
                .evidence(sql.variable_evidence(name))
                .fix(switch_on(sql))
        }
        Some((name, _)) => CheckResult::unknown(
            logs,
            Unavailable {
                what: logs.to_owned(),
                why: format!("{name} is ON, but logs from before it was set stay clear"),
                remedy: format!(
                    "{}; or run on the server's host as a user who can read the logs",
                    sql.grant(if sql.can(Capability::BinlogMonitor) {
                        "BINLOG MONITOR ON *.*"
                    } else {
                        "REPLICATION CLIENT ON *.*"
                    })
                ),
            },
        ),
        None if sql.can(Capability::EncryptBinaryLogs) => CheckResult::unknown(logs, switch_unseen(sql)),
        None => {
            CheckResult::fail(logs, EvidenceGrade::Declared, format!("{} cannot encrypt {logs}", sql.identity.version))
                .evidence(sql.variable_evidence(variable::MYSQL_BINARY_LOGS))
                .fix(switch_on(sql))
        }
    }
}

/// This version has the variable: if the server did not report it, the result is UNKNOWN.
fn switch_unseen(sql: &SqlFacts) -> Unavailable {
    Unavailable {
        what: "binlog_encryption or encrypt_binlog".to_owned(),
        why: format!("{} has this variable, but did not report it", sql.identity.version),
        remedy: "run SHOW GLOBAL VARIABLES LIKE '%encrypt%' as the audit's account".to_owned(),
    }
}

fn fix(cx: &Context<'_>, sql: &SqlFacts) -> Remedy {
    let on = match first_variable(sql, Encrypts::BinaryLogs) {
        Some((_, value)) if is_switched_on(value) => None,
        Some(_) => Some(switch_on(sql)),
        None => return switch_on(sql),
    };
    let first = first_encrypted(cx).or_else(|| next_log(cx)).unwrap_or_else(|| "the first encrypted log".to_owned());
    let flush = Remedy::statement(FLUSH_BINARY_LOGS);
    let purge = Remedy::statement(purge_binary_logs_to(&first));
    let purge = for_members(sql, purge.once("every replica has read the clear ones"));
    match on {
        Some(on) => on.and(flush).and(purge),
        None => flush.and(purge),
    }
}

/// A member that joins after a purge needs the clone plug-in, on every member, to get changes that no binary log holds
/// any more: without it none can join (error 13467, run on MySQL 9.7).
fn for_members(sql: &SqlFacts, purge: Remedy) -> Remedy {
    if group(sql).is_none() {
        return purge;
    }
    if !sql.can(Capability::Clone) {
        return purge.note("a member that joins later needs a copy of the data: no log contains the purged changes");
    }
    let clone = "INSTALL PLUGIN clone SONAME 'mysql_clone.so'";
    let active = sql.active_plugins();
    let active = active.is_ok_and(|plugins| plugins.iter().any(|plugin| plugin.name.eq_ignore_ascii_case("clone")));
    let purge = match active {
        true => purge,
        // Without a CA, clone would accept data from any donor (`clone-unverified`).
        false => Remedy::statement(clone).and(set_variable(sql, variable::CLONE_SSL_CA, &path_of_ca(sql))).and(purge),
    };
    purge.note(
        "on every member, and the plug-in on one that joins later: it receives all data by clone, for which the \
            account of group_replication_recovery needs BACKUP_ADMIN for that time",
    )
}

/// The oldest encrypted log that no clear one follows.
fn first_encrypted(cx: &Context<'_>) -> Option<String> {
    let mut logs: Vec<(&str, State)> = cx
        .artefacts
        .with_kind(Kind::BinaryLog)
        .filter_map(|log| Some((log.name.rsplit('/').next().unwrap_or(&log.name), log.state()?.0)))
        .collect();
    logs.sort_by_key(|(name, _)| server_file::log_order(name));
    let clear = logs.iter().rposition(|(_, state)| *state != State::Encrypted)?;
    logs.get(clear + 1).map(|(name, _)| (*name).to_owned())
}

/// The log after the newest one, which the server creates when encryption is enabled or it restarts.
fn next_log(cx: &Context<'_>) -> Option<String> {
    let names = cx.artefacts.with_kind(Kind::BinaryLog).map(|log| log.name.rsplit('/').next().unwrap_or(&log.name));
    let (stem, number) = names.max_by_key(|name| (name.len(), *name))?.rsplit_once('.')?;
    let next = number.parse::<u64>().ok()?.checked_add(1)?;
    Some(format!("{stem}.{next:0width$}", width = number.len()))
}

pub(super) fn switch_on(sql: &SqlFacts) -> Remedy {
    if sql.mysql_can(Capability::EncryptBinaryLogs) {
        return set_variable(sql, variable::MYSQL_BINARY_LOGS, "ON");
    }
    if first_variable(sql, Encrypts::BinaryLogs).is_some() {
        return set_at_start(sql, variable::MARIADB_BINARY_LOGS, "ON");
    }
    format!("{} cannot: upgrade, or keep the logs on an encrypted disk", sql.identity.version).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, binary_log, mariadb, mysql};

    const COLUMNS: &[&str] = &["name", "size", "encrypted"];

    #[test]
    fn members_of_a_group_can_still_be_joined_after_a_purge() {
        let fix = |plugins: &[&[&str]]| {
            let made = mysql()
                .variable("log_bin", "ON")
                .variable("binlog_encryption", "ON")
                .variable("ssl_ca", "ca.pem")
                .answer("plugins", &["name", "status", "type"], plugins)
                .answer("binary_logs", COLUMNS, &[&["binlog.000001", "1", "No"], &["binlog.000002", "1", "Yes"]]);
            made.judge(&CHECK)[0].remediation.clone().unwrap()
        };
        let (group, clone) = (["group_replication", "ACTIVE", "GROUP REPLICATION"], ["clone", "ACTIVE", "CLONE"]);
        assert!(!fix(&[]).contains("clone"));
        let without = fix(&[&group]);
        let steps =
            "INSTALL PLUGIN clone SONAME 'mysql_clone.so'; SET PERSIST clone_ssl_ca = '/var/lib/mysql/ca.pem'; once";
        assert!(without.contains(steps) && without.contains("BACKUP_ADMIN"), "{without}");
        let with = fix(&[&group, &clone]);
        assert!(!with.contains("INSTALL") && with.contains("PURGE BINARY LOGS TO 'binlog.000002' -- on"), "{with}");
    }

    #[test]
    fn old_clear_logs_fail_by_name_after_the_switch() {
        let made = mysql()
            .variable("log_bin", "ON")
            .variable("binlog_encryption", "ON")
            .answer("binary_logs", COLUMNS, &[&["binlog.000001", "9", "No"], &["binlog.000002", "9", "Yes"]])
            .file("binlog.000001", binary_log(true))
            .file("binlog.000002", binary_log(false));
        let found = made.judge(&CHECK);
        assert_eq!((found.len(), found[0].status, found[0].grade), (1, Fail, Some(EvidenceGrade::Bytes)));
        assert_eq!(found[0].artefact, "binlog.000001");
        assert!(found[0].remediation.as_ref().unwrap().ends_with("PURGE BINARY LOGS TO 'binlog.000002'"));
    }

    #[test]
    fn the_list_alone_counts_as_reported() {
        let rows = |encrypted| {
            mysql().variable("log_bin", "ON").answer("binary_logs", COLUMNS, &[&["binlog.000001", "9", encrypted]])
        };
        assert_eq!(rows("No").judge(&CHECK)[0].grade, Some(EvidenceGrade::Reported));
        assert_eq!(rows("Yes").statuses(&CHECK), [Pass]);
    }

    #[test]
    fn the_switch_alone_fails_or_is_unknown() {
        let made =
            mariadb().variable("log_bin", "ON").answer("binary_logs", &["name", "size"], &[&["mbin.000001", "9"]]);
        assert_eq!(made.statuses(&CHECK), [Unknown]);
        assert_eq!(made.variable("encrypt_binlog", "ON").statuses(&CHECK), [Unknown]);
        let made = mariadb().variable("log_bin", "ON");
        assert_eq!(made.variable("encrypt_binlog", "ON").statuses(&CHECK), [Unknown]);
        let made = mariadb().variable("log_bin", "ON").variable("encrypt_binlog", "OFF");
        assert_eq!(made.judge(&CHECK)[0].grade, Some(EvidenceGrade::Declared));
        let old = FactsBuilder::server("5.7.44", "MySQL Community Server (GPL)").variable("log_bin", "ON");
        assert!(old.judge(&CHECK)[0].message.contains("cannot"));
    }

    #[test]
    fn no_log_is_not_applicable_unless_old_files_lie_there() {
        let made = mysql().variable("log_bin", "OFF");
        assert_eq!(made.statuses(&CHECK), [NotApplicable]);
        assert_eq!(made.file("binlog.000001", binary_log(true)).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn bytes_alone() {
        assert_eq!(FactsBuilder::nothing().file("binlog.000001", binary_log(true)).statuses(&CHECK), [Fail]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
