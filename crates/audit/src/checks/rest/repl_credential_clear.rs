//! `rest-repl-credential-clear`.

use findings::{Remedy, Severity};
use innodb::server_file;
use server::Capability;
use server::dialect::channel::GROUP_RECOVERY;
use server::dialect::statement::{
    ENCRYPT_DICTIONARY, START_GROUP_REPLICATION, STOP_GROUP_REPLICATION, replication_terms,
};

use super::{data_seen, with_evidence};
use crate::access;
use crate::artefact::{Artefact, Kind, State};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::repl::channel;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::files::{Content, FileFact};
use crate::facts::host::DiskLayer;
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "rest-repl-credential-clear",
    title: "The password of the replication account is readable on disk",
    severity: Severity::High,
    explanation: "A replica stores the password for its source in clear: MySQL in mysql.slave_master_info, which is \
        in mysql.ibd from 8.0 on, MariaDB and old MySQL in master.info. When it is written, it also reaches the redo \
        log and the doublewrite buffer. Judged from master.info files, from whether a password is stored, and from \
        whether its file is encrypted. The password itself is never read.",
    applies: "replicas",
    fix: "give the password at START REPLICA, or use an account that authenticates with a certificate; encrypt the \
        file that holds it",
    cost: "after a restart the replica waits until somebody gives the password",
    standards: &["PCI DSS 4.0.1 8.3.2", "NIST SP 800-53r5 IA-5(1)"],
    exposes: Exposes::Data(Attacker::StolenDisk, "The password of the replication account"),
    closed_by: ClosedBy::Disk,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let mut results = CheckResults::new();
    let files = states(cx);
    let closed = closed_file(cx);
    files.iter().filter(|(_, password)| *password).for_each(|(file, _)| results.push(in_file(cx, file)));
    match &cx.facts.sql {
        Some(sql) => by_server(cx, sql, &files, &mut results)?,
        None => by_files(cx, &files, &mut results)?,
    }
    Ok(match closed {
        Some(file) if !results.has_failed() => results.or_unknown(&file.name, closed_unseen(file)),
        _ => results,
    })
}

/// A `master.info` that exists but could not be read.
fn closed_file<'f>(cx: &Context<'f>) -> Option<&'f FileFact> {
    let mut files = cx.facts.files.iter().flat_map(|files| &files.files);
    files.find(|file| {
        let name = file.base_name();
        let state = name.starts_with("master") && name.ends_with(".info");
        state && matches!(file.content, Content::Unreadable { .. })
    })
}

fn closed_unseen(file: &FileFact) -> Unavailable {
    Unavailable {
        what: file.path.clone(),
        why: "it exists and a replica stores the password for its source in it, but it cannot be read".to_owned(),
        remedy: access::reading(&file.path),
    }
}

/// `master.info` and similar files, and whether each has a password.
fn states<'f>(cx: &Context<'f>) -> Vec<(&'f FileFact, bool)> {
    let files = cx.facts.files.iter().flat_map(|files| &files.files);
    files
        .filter_map(|file| match file.content {
            Content::ReplicaState { password } => Some((file, password)),
            _ => None,
        })
        .collect()
}

fn in_file(cx: &Context<'_>, file: &FileFact) -> CheckResult {
    let layer = cx.facts.host.as_ref().and_then(|host| host.layer_of(&file.path));
    let result = match layer {
        Some(DiskLayer::Encrypted { by }) => CheckResult::pass(
            &file.name,
            EvidenceGrade::Bytes,
            format!("a password in clear, covered by the disk only ({by})"),
        )
        .severity(Severity::Info),
        _ => CheckResult::fail(
            &file.name,
            EvidenceGrade::Bytes,
            format!("{} holds the password of the replication account in clear", file.path),
        )
        .fix(fix(cx, "")),
    };
    let observation = format!("its password line is not empty; mode {:04o}", file.mode & 0o7777);
    result.evidence(Evidence::Host { source: file.path.clone(), observation })
}

fn by_server(
    cx: &Context<'_>,
    sql: &SqlFacts,
    files: &[(&FileFact, bool)],
    results: &mut CheckResults,
) -> Observed<()> {
    let credentials = sql.rows("replica_credentials");
    if let Ok(rows) = &credentials {
        for row in rows.iter().filter(|row| row.yes("password_stored")) {
            results.push(in_table(cx, sql, row.text("channel"), row.text("user"))?);
        }
    }
    if !results.is_empty() {
        return Ok(());
    }
    let channels = sql.rows("replica_channels");
    let replica = channels.as_ref().map_or(true, |channels| !channels.is_empty());
    match (&credentials, replica) {
        (_, false) if files.is_empty() => {
            *results = CheckResults::not_applicable("this server is no replica and stores no password of one")
        }
        (Ok(_), _) => results.push(none_stored(sql, "replica_credentials")),
        // MariaDB stores these passwords only in files, and the data directory was read.
        _ if data_seen(cx) && sql.is_mariadb() => results.push(none_stored(sql, "replica_channels")),
        (Err(unseen), true) if !sql.is_mariadb() => return Err(unseen.clone()),
        _ => return Err(no_file(sql)),
    }
    Ok(())
}

fn none_stored(sql: &SqlFacts, answer: &str) -> CheckResult {
    CheckResult::pass("server", EvidenceGrade::Reported, "no password of a replication account is stored")
        .evidence(sql.evidence(answer, "no password"))
}

fn no_file(sql: &SqlFacts) -> Unavailable {
    Unavailable {
        what: server_file::REPLICA_CONNECTION.to_owned(),
        why: "this replica stores the password for its source in it, and the file was not read".to_owned(),
        remedy: access::reading(&format!("{}/master*.info", sql.identity.datadir.trim_end_matches('/'))),
    }
}

/// A password in `mysql.slave_master_info` is as secure as its tablespace.
fn in_table(cx: &Context<'_>, sql: &SqlFacts, channel: &str, user: &str) -> Observed<CheckResult> {
    let holder = holder(cx).ok_or_else(|| Unavailable {
        what: "the tablespace of mysql.slave_master_info".to_owned(),
        why: "a password is stored, and neither the server nor its files show whether it is encrypted".to_owned(),
        remedy: sql.grant("PROCESS ON *.*"),
    })?;
    let artefact = if channel.is_empty() {
        "mysql.slave_master_info".to_owned()
    } else {
        format!("mysql.slave_master_info, channel {channel}")
    };
    let stored = sql.evidence("replica_credentials", format!("channel '{channel}', user {user}: a password is stored"));
    let (state, grade) = holder.state().unwrap_or((State::Clear, EvidenceGrade::Reported));
    let redo = clear_redo(cx);
    let result = match (state, holder.disk_encryption(), redo) {
        (State::Clear | State::Partly | State::Empty, Some(by), _) => CheckResult::pass(
            artefact,
            grade,
            format!("a password in clear in {}, covered by the disk only ({by})", holder.name),
        )
        .severity(Severity::Info),
        (State::Encrypted, _, None) => CheckResult::pass(
            artefact,
            grade,
            format!("the password of {user} lies in {}, which is encrypted", holder.name),
        ),
        (State::Encrypted, _, Some(redo)) => {
            let message = format!(
                "the password of {user} is encrypted in {}, but it was also written to the redo log, which is clear \
                    ({})",
                holder.name, redo.name
            );
            with_evidence(
                CheckResult::fail(artefact, redo.state().map_or(grade, |(_, grade)| grade), message),
                redo.evidence(cx.facts),
            )
            .severity(Severity::Medium)
        }
        _ => CheckResult::fail(artefact, grade, format!("the password of {user} is in clear in {}", holder.name))
            .fix(fix(cx, channel)),
    };
    Ok(with_evidence(result.evidence(stored), holder.evidence(cx.facts)))
}

/// The tablespace of `mysql.slave_master_info`: `mysql.ibd`, or the table's own before MySQL 8.0.
fn holder<'c>(cx: &'c Context<'_>) -> Option<&'c Artefact<'c>> {
    let current = |table: &&Artefact<'_>| table.table() == Some(("mysql".to_owned(), "slave_master_info".to_owned()));
    let info_table = cx.artefacts.with_kind(Kind::Table).find(current);
    info_table
        .or_else(|| cx.artefacts.with_kind(Kind::MysqlTablespace).next())
        .filter(|holder| holder.state().is_some())
}

fn clear_redo<'c>(cx: &'c Context<'_>) -> Option<&'c Artefact<'c>> {
    let clear = |log: &&Artefact<'_>| {
        matches!(log.state(), Some((State::Clear | State::Partly, _))) && log.disk_encryption().is_none()
    };
    cx.artefacts.with_kind(Kind::Redo).find(clear)
}

/// Without a server: an encrypted mysql.ibd hides a password, a clear one may contain one.
fn by_files(cx: &Context<'_>, files: &[(&FileFact, bool)], results: &mut CheckResults) -> Observed<()> {
    if !results.is_empty() {
        return Ok(());
    }
    cx.facts.files()?;
    let dictionary = cx.artefacts.with_kind(Kind::MysqlTablespace).next();
    match dictionary {
        Some(holder) if holder.state().is_some_and(|(state, _)| state == State::Encrypted) => {
            let message = "no master.info holds a password, and mysql.ibd is encrypted";
            results.push(with_evidence(
                CheckResult::pass("server", EvidenceGrade::Bytes, message),
                holder.evidence(cx.facts),
            ));
        }
        None if data_seen(cx) && files.is_empty() && super::mariadb(cx) == Some(true) => {
            *results = CheckResults::not_applicable("there is no master.info: this server was no replica");
        }
        None if !files.is_empty() => {
            results.push(CheckResult::pass("server", EvidenceGrade::Bytes, "no master.info holds a password"))
        }
        _ => results.push_unknown(
            "mysql.slave_master_info",
            Unavailable {
                what: "the password of the replication account".to_owned(),
                why: "it would be in a clear mysql.slave_master_info, whose rows this audit does not read".to_owned(),
                remedy: format!("{}, as an account with SELECT on mysql.slave_master_info", access::RUNNING),
            },
        ),
    }
    Ok(())
}

fn fix(cx: &Context<'_>, channel: &str) -> Remedy {
    let Some(sql) = &cx.facts.sql else { return CHECK.fix.into() };
    if sql.is_mariadb() {
        return "an account that authenticates with a certificate (REQUIRE X509) with CHANGE MASTER TO \
            MASTER_PASSWORD='', MASTER_SSL_CERT=…, MASTER_SSL_KEY=…; until then chmod 0600 master.info and keep it on \
            an encrypted disk"
            .into();
    }
    let without = without_password(sql, channel);
    if sql.can(Capability::EncryptDictionary) {
        let remedy = Remedy::statement(ENCRYPT_DICTIONARY);
        return match without {
            Some(statements) => {
                remedy.note(format!("or do not store it: {}; change the password afterwards", statements.join("; ")))
            }
            None => remedy,
        };
    }
    let Some(statements) = without else { return CHECK.fix.into() };
    let [stop, change, start] = statements.map(Remedy::statement);
    stop.and(change).and(start).and("change the password afterwards")
}

/// Gives the password at the start of a channel, so that it is not stored. `None` for a group member before MySQL
/// 8.0.21, which does not support this.
fn without_password(sql: &SqlFacts, name: &str) -> Option<[String; 3]> {
    let prefix = replication_terms(&sql.identity.version).prefix;
    let channel = channel(sql, name);
    let change = channel.change(&format!("{prefix}_PASSWORD=''"));
    if name == GROUP_RECOVERY {
        // Only Group Replication starts and stops this channel.
        let start = format!("{START_GROUP_REPLICATION} USER='repl', PASSWORD='…'");
        let can = sql.can(Capability::GroupReplicationCredentials);
        return can.then(|| [STOP_GROUP_REPLICATION.to_owned(), change, start]);
    }
    Some([channel.statement("STOP", ""), change, channel.statement("START", "USER='repl' PASSWORD='…'")])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, TABLESPACE_COLUMNS, mariadb, mysql, redo, tablespace_with};
    use innodb::tablespace::TablespaceKind;

    fn replica(encrypted: &str) -> FactsBuilder {
        mysql().answer("replica_credentials", &["channel", "user", "password_stored"], &[&["", "repl", "Y"]]).answer(
            "tablespaces",
            TABLESPACE_COLUMNS,
            &[&["4294967294", "mysql", "General", encrypted]],
        )
    }

    #[test]
    fn trap_18_a_stored_password_in_a_clear_dictionary_fails() {
        let found = replica("N").judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Reported)));
        assert!(found[0].remediation.as_ref().unwrap().contains("SOURCE_PASSWORD"));
        assert_eq!(replica("Y").statuses(&CHECK), [Pass]);
        assert_eq!(replica("Y").file("#innodb_redo/#ib_redo1", redo(1, 9)).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn each_channel_is_changed_alone() {
        let stored = |channel: &str| {
            let row = |name| [name, "repl", if name == channel { "Y" } else { "N" }];
            let rows = ["", "east", GROUP_RECOVERY].map(row);
            mysql()
                .answer(
                    "replica_credentials",
                    &["channel", "user", "password_stored"],
                    &rows.each_ref().map(|row| &row[..]),
                )
                .answer("tablespaces", TABLESPACE_COLUMNS, &[&["4294967294", "mysql", "General", "N"]])
        };
        let fix = |channel| stored(channel).judge(&CHECK)[0].remediation.clone().unwrap();
        for channel in ["", "east"] {
            let fix = fix(channel);
            assert!(fix.contains(&format!("STOP REPLICA FOR CHANNEL '{channel}'; ")), "{fix}");
            assert!(fix.contains(&format!("SOURCE_PASSWORD='' FOR CHANNEL '{channel}'; ")), "{fix}");
            assert!(fix.contains(&format!("USER='repl' PASSWORD='…' FOR CHANNEL '{channel}'; ")), "{fix}");
        }
        let fix = fix(GROUP_RECOVERY);
        assert!(fix.contains("STOP GROUP_REPLICATION; CHANGE REPLICATION SOURCE TO SOURCE_PASSWORD=''"), "{fix}");
        assert!(fix.contains("; START GROUP_REPLICATION USER='repl', PASSWORD='…'; change"), "{fix}");
    }

    #[test]
    fn trap_18_master_info_with_a_password_fails() {
        let made = mariadb().file("master.info", Content::ReplicaState { password: true });
        let found = made.judge(&CHECK);
        assert_eq!(
            (found[0].status, found[0].grade, found[0].artefact.as_str()),
            (Fail, Some(EvidenceGrade::Bytes), "master.info")
        );
        let none = mariadb()
            .answer("replica_channels", &["channel"], &[&[""]])
            .file("master.info", Content::ReplicaState { password: false });
        assert_eq!(none.statuses(&CHECK), [Pass]);
        let closed = mariadb()
            .answer("replica_channels", &["channel"], &[&[""]])
            .file("master.info", Content::Unreadable { why: "denied".to_owned() });
        assert_eq!(closed.statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn no_replica_is_not_applicable() {
        let made = mysql().answer("replica_channels", &["channel"], &[]);
        assert_eq!(made.refused("replica_credentials", 1142).statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn what_cannot_be_asked_is_unknown() {
        let channel = |made: FactsBuilder| made.answer("replica_channels", &["channel"], &[&[""]]);
        assert_eq!(channel(mysql()).refused("replica_credentials", 1142).statuses(&CHECK), [Unknown]);
        assert_eq!(channel(mariadb()).statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn bytes_alone_pass_only_with_an_encrypted_dictionary() {
        let dictionary = |what| tablespace_with(what, 9, 0, |scan| scan.kind = TablespaceKind::Dictionary);
        assert_eq!(FactsBuilder::nothing().file("mysql.ibd", dictionary("encrypted")).statuses(&CHECK), [Pass]);
        let clear = tablespace_with("plain", 0, 9, |scan| scan.kind = TablespaceKind::Dictionary);
        assert_eq!(FactsBuilder::nothing().file("mysql.ibd", clear).statuses(&CHECK), [Unknown]);
    }
}
