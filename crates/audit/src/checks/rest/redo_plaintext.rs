//! `rest-redo-plaintext`.

use findings::{Remedy, Severity};
use server::Capability;
use server::dialect::encryption::{Encrypts, switches};
use server::dialect::setting::setting;
use server::dialect::variable;
use server::option_group;
use server::switch::is_switched_on;

use super::{ArtefactPolicy, data_seen, first_variable, judge_all, unread};
use crate::access;
use crate::artefact::{Kind, State};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::set_at_start;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::sql::{Row, SqlFacts};
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub const CHECK: Check = Check {
    id: "rest-redo-plaintext",
    title: "The redo log holds changes in clear",
    severity: Severity::High,
    explanation: "The redo log holds every changed row, also those of encrypted tables. innodb_redo_log_encrypt \
        applies to blocks written after it was set: older blocks stay clear until their file is used again, also in \
        the spare files (_tmp). Without a keyring the statement that sets it succeeds, but the value stays OFF. Judged \
        by the encryption bit of each 512-byte block on MySQL and by the header on MariaDB. MySQL writes the first \
        blocks of each start in clear if the variable is only in mysqld-auto.cnf (SET PERSIST).",
    applies: "every server with InnoDB; MySQL can encrypt it from 8.0.1 on, MariaDB from 10.1 on",
    fix: "encrypt the redo log, then have its files rewritten",
    cost: "MySQL: no lock, the disk writes one pass over the log's capacity; MariaDB: a restart",
    standards: &["DISA STIG MYS8-00-012100", "CIS MySQL 4.10E", "PCI DSS 4.0.1 3.5.1"],
    exposes: Exposes::Data(Attacker::StolenDisk, "The latest changes, row by row, in the redo log"),
    closed_by: ClosedBy::Encrypt,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    // On MySQL the variable proves nothing about a file whose blocks were not read.
    let (reported, unlisted): (Vec<_>, Vec<_>) = cx
        .artefacts
        .with_kind(Kind::Redo)
        .filter(|log| log.file.is_some())
        .partition(|log| log.bytes.is_some() || super::mariadb(cx) == Some(true));
    let terms = ArtefactPolicy { noun: "redo log files", severity: &|_| None, fix: &|_| fix(cx) };
    // Spare files may never have been used, but every log has at least one block.
    let used = reported.iter().any(|log| log.state().is_none_or(|(state, _)| state != State::Empty));
    let mut results = judge_all(cx, reported.into_iter().filter(|_| used), &terms);
    unread(&unlisted).into_iter().for_each(|result| results.push(result));
    match &cx.facts.sql {
        Some(sql) if results.is_empty() => results.push(by_switch(sql)),
        Some(sql) if !results.has_failed() => switched_off(cx, sql).into_iter().for_each(|result| results.push(result)),
        None if results.is_empty() && data_seen(cx) => results.push_unknown("redo log", no_file()),
        None if results.is_empty() => return cx.facts.files().map(|_| results),
        _ => {}
    }
    Ok(results)
}

/// A failure if encryption is switched off, unless the disk is encrypted: the next block will be clear, even if all
/// existing blocks are encrypted.
fn switched_off(cx: &Context<'_>, sql: &SqlFacts) -> Option<CheckResult> {
    let (name, value) = first_variable(sql, Encrypts::Redo)?;
    let on_encrypted_disk = cx.artefacts.with_kind(Kind::Redo).any(|log| log.disk_encryption().is_some());
    (!is_switched_on(value) && !on_encrypted_disk).then(|| off(sql, name))
}

/// What the variable alone proves, if no file was read.
fn by_switch(sql: &SqlFacts) -> CheckResult {
    match first_variable(sql, Encrypts::Redo) {
        Some((name, value)) if !is_switched_on(value) => off(sql, name),
        Some((name, _)) if sql.is_mariadb() => {
            // MariaDB rewrites the whole log when it starts with the variable changed.
            CheckResult::pass("redo log", EvidenceGrade::Declared, format!("{name} is ON"))
                .evidence(sql.variable_evidence(name))
        }
        Some((name, value)) => CheckResult::unknown(
            "redo log",
            Unavailable {
                what: "blocks of the redo log".to_owned(),
                why: format!("{name} is {value}, but blocks from before it was set can still be clear"),
                remedy: access::reading("#innodb_redo in the data directory"),
            },
        ),
        // This version has the variable: if the server did not report it, the result is UNKNOWN.
        None if sql.can(Capability::EncryptRedo) => CheckResult::unknown("redo log", no_file()),
        None => {
            let message = format!("{} cannot encrypt its redo log", sql.identity.version);
            let absent = switches(Encrypts::Redo).into_iter().map(|name| sql.variable_evidence(name));
            absent
                .fold(CheckResult::fail("redo log", EvidenceGrade::Declared, message), CheckResult::evidence)
                .fix("upgrade, or move the redo log onto an encrypted disk (innodb_log_group_home_dir)")
        }
    }
}

fn off(sql: &SqlFacts, name: &'static str) -> CheckResult {
    CheckResult::fail(name, EvidenceGrade::Declared, format!("{name} is OFF: the redo log is written in clear"))
        .evidence(sql.variable_evidence(name))
        .fix(switch_on(sql))
}

fn no_file() -> Unavailable {
    Unavailable {
        what: "redo log".to_owned(),
        why: "no redo log file with a block in it was found".to_owned(),
        remedy: access::reading("#innodb_redo or ib_logfile0 in innodb_log_group_home_dir"),
    }
}

fn switch_on(sql: &SqlFacts) -> Remedy {
    if sql.is_mariadb() {
        return set_at_start(sql, variable::MARIADB_REDO, "ON");
    }
    let on = setting(&sql.identity.version, variable::MYSQL_REDO, "ON").statement;
    let on = Remedy::statement(on).and(at_start());
    if sql.mysql_can(Capability::ResizeRedo) { on.and(rewrite(sql)) } else { on }
}

/// Sets the variable in the option file. From SET PERSIST alone it takes effect too late: what recovery, purge and the
/// dictionary write at each start is then clear. Confirmed on MySQL 9.7.
fn at_start() -> Remedy {
    Remedy::option_file(option_group::MYSQLD, ["innodb_redo_log_encrypt = ON"])
}

/// Statements that make the server recreate the log's files, MySQL 8.0.30 and newer.
fn rewrite(sql: &SqlFacts) -> Remedy {
    const USUAL: u64 = 100 << 20;
    let name = variable::INNODB_REDO_LOG_CAPACITY;
    let now = sql.variable_or_none(name).and_then(|value| value.parse().ok()).unwrap_or(USUAL);
    let set = |bytes: u64| Remedy::statement(format!("SET GLOBAL {name} = {bytes}"));
    set(now.saturating_mul(2))
        .and(set(now).once("Innodb_redo_log_resize_status shows OK"))
        .note("the current file follows when changes have filled it, which takes 1/32 of the capacity")
}

/// Whether the variable comes from SET PERSIST, which is too late at each start.
fn is_persisted(sql: &SqlFacts) -> bool {
    let rows = sql.rows("variable_sources").unwrap_or_default();
    let names = switches(Encrypts::Redo);
    let is_switch = |row: &Row<'_>| names.iter().any(|name| row.text("name").eq_ignore_ascii_case(name));
    let source = |row: &Row<'_>| is_switch(row) && row.text("source") == "PERSISTED";
    rows.iter().any(source)
}

fn fix(cx: &Context<'_>) -> Remedy {
    let Some(sql) = &cx.facts.sql else { return CHECK.fix.into() };
    match first_variable(sql, Encrypts::Redo) {
        None => {
            format!("{} cannot encrypt its redo log: upgrade, or move it onto an encrypted disk", sql.identity.version)
                .into()
        }
        Some((_, value)) if !is_switched_on(value) => switch_on(sql),
        Some(_) if sql.mysql_can(Capability::ResizeRedo) => {
            if is_persisted(sql) {
                at_start().and(rewrite(sql))
            } else {
                rewrite(sql)
            }
        }
        Some(_) => {
            "stop the server cleanly (innodb_fast_shutdown=0), move the ib_logfile files away, start it: it creates \
                new ones; shred the old ones"
                .into()
        }
    }
}

#[cfg(test)]
mod tests {
    use innodb::redo::RedoFormat;

    use super::*;
    use crate::facts::files::Content;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql, redo};

    #[test]
    fn clear_blocks_fail_by_file_although_the_switch_is_on() {
        let made = mysql()
            .variable("innodb_redo_log_encrypt", "ON")
            .file("#innodb_redo/#ib_redo10", redo(70, 401))
            .file("#innodb_redo/#ib_redo11_tmp", redo(0, 30))
            .file("#innodb_redo/#ib_redo12", redo(70, 0));
        let found = made.judge(&CHECK);
        assert_eq!(made.statuses(&CHECK), [Fail, Fail]);
        assert_eq!(found[1].artefact, "#innodb_redo/#ib_redo11_tmp");
        assert!(
            found[0]
                .remediation
                .as_ref()
                .unwrap()
                .starts_with("SET GLOBAL innodb_redo_log_capacity = 209715200; once ")
        );
        let sources: &[&[&str]] = &[&["innodb_redo_log_encrypt", "PERSISTED", ""]];
        let found = made.answer("variable_sources", &["name", "source", "path"], sources).judge(&CHECK);
        assert!(found[0].remediation.as_ref().unwrap().starts_with("innodb_redo_log_encrypt = ON under [mysqld]"));
    }

    #[test]
    fn trap_3_the_switch_that_stayed_off() {
        let found = mysql().variable("innodb_redo_log_encrypt", "OFF").judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Declared)));
        let made = mysql().variable("innodb_redo_log_encrypt", "OFF").file("#innodb_redo/#ib_redo1", redo(9, 0));
        assert!(made.statuses(&CHECK).contains(&Fail));
    }

    #[test]
    fn encrypted_blocks_pass() {
        let made = mysql().variable("innodb_redo_log_encrypt", "ON").file("#innodb_redo/#ib_redo1", redo(9, 0));
        assert_eq!(made.statuses(&CHECK), [Pass]);
        assert_eq!(FactsBuilder::nothing().file("#innodb_redo/#ib_redo1", redo(9, 0)).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn empty_files_alone_prove_nothing() {
        let blank = || redo(0, 0);
        assert_eq!(FactsBuilder::nothing().file("#innodb_redo/#ib_redo1", blank()).statuses(&CHECK), [Unknown]);
        let spare = FactsBuilder::nothing()
            .file("#innodb_redo/#ib_redo1", redo(9, 0))
            .file("#innodb_redo/#ib_redo2_tmp", blank());
        assert_eq!(spare.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_log_whose_header_is_zero_is_neither_clear_nor_encrypted() {
        let zeroed = |encrypted| {
            let Content::Redo { mut scan } = redo(encrypted, 0) else { unreachable!("a log was made") };
            scan.format = RedoFormat::Blank;
            Content::Redo { scan }
        };
        for encrypted in [0, 9] {
            let made = mariadb().variable("innodb_encrypt_log", "ON").file("ib_logfile0", zeroed(encrypted));
            let found = made.judge(&CHECK);
            assert_eq!((found[0].artefact.as_str(), found[0].status), ("ib_logfile0", Unknown));
            assert!(format!("{found:?}").contains("it has no header"));
        }
        let in_use = |name: &str| {
            let made = FactsBuilder::nothing().file("#innodb_redo/#ib_redo1", redo(9, 0)).file(name, zeroed(0));
            made.statuses(&CHECK)
        };
        assert_eq!(in_use("#innodb_redo/#ib_redo2"), [Unknown]);
        assert_eq!(in_use("#innodb_redo/#ib_redo2_tmp"), [Pass]);
    }

    #[test]
    fn the_switch_alone_proves_nothing_on_mysql() {
        assert_eq!(mysql().variable("innodb_redo_log_encrypt", "ON").statuses(&CHECK), [Unknown]);
        assert_eq!(mariadb().variable("innodb_encrypt_log", "ON").statuses(&CHECK), [Pass]);
        let percona =
            FactsBuilder::server("5.7.44-48", "Percona Server (GPL)").variable("innodb_redo_log_encrypt", "MASTER_KEY");
        assert_eq!(percona.statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn a_server_without_the_switch_cannot() {
        let found = FactsBuilder::server("5.7.44", "MySQL Community Server (GPL)").judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Declared)));
    }

    #[test]
    fn no_file_and_no_server_is_unknown() {
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
        assert_eq!(
            FactsBuilder::nothing().file("ibdata1", crate::testing::tablespace("plain", 0, 1)).statuses(&CHECK),
            [Unknown]
        );
    }
}
