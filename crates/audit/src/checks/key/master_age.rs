//! `key-master-age`.

use innodb::binlog::{Statement, StatementKind};
use jiff::Timestamp;

use super::{can_encrypt, is_mariadb, keyring, live_stores, nothing_wrapped, wrapped};
use crate::check::{Check, Context, Ruling, Verdict};
use crate::facts::files::{Content, FileFact};
use crate::facts::host::Role;
use crate::facts::{Seen, Unseen};
use crate::finding::{Evidence, Grade, Severity};
use crate::meaning::{ClosedBy, Exposes};

pub(crate) const CHECK: Check = Check {
    id: "key-master-age",
    title: "The InnoDB master key is older than the policy allows",
    severity: Severity::Medium,
    explanation: "No table of the server dates a key. What dates it: the statement ALTER INSTANCE ROTATE INNODB MASTER KEY \
        in a binary log, with its time; binary logs in clear without a gap that go back further than the policy and hold \
        no such statement; and a key file that was last written before the policy's limit, because a rotation writes it. \
        A key file written since proves nothing, other keys are written there too: then the answer is UNKNOWN. The limit \
        is master_key_max_age_days, 365 by default.",
    applies: "MySQL 5.7.11 and newer",
    fix: "ALTER INSTANCE ROTATE INNODB MASTER KEY",
    cost: "seconds; blocks DDL on tablespaces meanwhile; back up the keyring before and after",
    standards: &["PCI DSS 4.0.1 3.7.4", "NIST SP 800-53r5 SC-12", "NIST SP 800-57pt1r5"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Rotate,
    cut_off: None,
    judge,
};

const DAY_SECONDS: i64 = 86_400;

fn judge(cx: &Context<'_>) -> Seen<Verdict> {
    if let Some(not_concerned) = not_concerned(cx)? {
        return Ok(not_concerned);
    }
    let limit = cx.policy.master_key_max_age_days;
    let days = |seconds: i64| cx.now.as_second().saturating_sub(seconds) / DAY_SECONDS;
    if let Some((log, rotation)) = newest_rotation(cx) {
        let age = days(i64::from(rotation.timestamp));
        if age <= limit {
            let words = format!("the master key was rotated {age} days ago");
            return Ok(Verdict::one(Ruling::pass("master key", Grade::Bytes, words).evidence(rotated(log, rotation))));
        }
        if gapless(cx) {
            let words = format!("the master key was last rotated {age} days ago, the policy allows {limit}");
            return Ok(Verdict::one(Ruling::fail("master key", Grade::Bytes, words).evidence(rotated(log, rotation))));
        }
    }
    if let Some((file, age)) = oldest_write(cx).map(|file| (file, days(file.modified))).filter(|(_, age)| *age > limit)
    {
        let words = format!(
            "{} was last written {age} days ago, so the master key is no younger; the policy allows {limit}",
            file.name
        );
        let seen =
            Evidence::Host { source: file.path.clone(), observation: format!("last change {}", moment(file.modified)) };
        return Ok(Verdict::one(Ruling::fail("master key", Grade::Bytes, words).evidence(seen)));
    }
    if let Some(since) = first_event(cx).filter(|since| gapless(cx) && days(i64::from(*since)) > limit) {
        let words = format!(
            "no rotation in the binary logs since {}, the policy allows {limit} days",
            moment(i64::from(since))
        );
        let seen = logs(cx).next().map(|(log, _)| Evidence::Bytes {
            path: log.path.clone(),
            offset: 0,
            hex: String::new(),
            meaning: format!("{} binary logs read to their end, no rotation in them", logs(cx).count()),
        });
        let ruling = Ruling::fail("master key", Grade::Bytes, words);
        return Ok(Verdict::one(seen.into_iter().fold(ruling, Ruling::evidence)));
    }
    Err(Unseen {
        what: "age of the InnoDB master key".to_owned(),
        why: "no readable binary log holds a rotation, and the server keeps no date".to_owned(),
        remedy: "rotate with ALTER INSTANCE ROTATE INNODB MASTER KEY and record the day in a waiver for key-master-age that \
            expires with the key"
            .to_owned(),
    })
}

fn not_concerned(cx: &Context<'_>) -> Seen<Option<Verdict>> {
    if is_mariadb(cx) {
        return Ok(Some(Verdict::not_applicable("MariaDB has no InnoDB master key; see key-version-static")));
    }
    if !wrapped(cx, true).is_empty() {
        return Ok(None);
    }
    match &cx.facts.sql {
        Some(sql) if !can_encrypt(sql) => {
            Ok(Some(Verdict::not_applicable(format!("{} has no encryption at rest", sql.identity.version))))
        }
        Some(sql) if keyring(sql)?.is_none() => Ok(Some(Verdict::not_applicable("no key store is loaded"))),
        Some(_) => Ok(None),
        None => nothing_wrapped(cx).map(Some),
    }
}

/// Binary logs of the server whose events were read.
fn logs<'a>(cx: &'a Context<'_>) -> impl Iterator<Item = (&'a FileFact, &'a innodb::binlog::EventScan)> {
    let files = cx.facts.files.iter().flat_map(|files| &files.files);
    files.filter(|file| !matches!(file.role, Role::Backup | Role::RelayLog)).filter_map(|file| match &file.content {
        Content::BinaryLog { events: Some(events), .. } => Some((file, events)),
        _ => None,
    })
}

fn newest_rotation<'a>(cx: &'a Context<'_>) -> Option<(&'a FileFact, &'a Statement)> {
    let rotations =
        logs(cx).flat_map(|(file, events)| events.statements.iter().map(move |statement| (file, statement)));
    rotations
        .filter(|(_, statement)| statement.kind == StatementKind::RotateInnodbMasterKey)
        .max_by_key(|(_, statement)| statement.timestamp)
}

/// Whether every binary log there is was read to its end: only then is the newest rotation the newest.
fn gapless(cx: &Context<'_>) -> bool {
    let files = cx.facts.files.iter().flat_map(|files| &files.files);
    let binary = |file: &&FileFact| file.role != Role::Backup && file.role != Role::RelayLog;
    let mut logs = files.filter(binary).filter_map(|file| match &file.content {
        Content::BinaryLog { events, .. } => Some(events),
        _ => None,
    });
    let on = cx.facts.sql.as_ref().is_some_and(|sql| sql.variable_on("log_bin").unwrap_or(false));
    on && logs.all(|events| events.as_ref().is_some_and(|events| events.complete && events.encrypted_from.is_none()))
}

fn first_event(cx: &Context<'_>) -> Option<u32> {
    logs(cx).filter_map(|(_, events)| events.first_timestamp).min()
}

/// The live key file that was written last; its time limits the age of the newest key in it.
fn oldest_write<'a>(cx: &'a Context<'_>) -> Option<&'a FileFact> {
    live_stores(cx)
        .filter(|(_, store)| !store.master_keys.is_empty())
        .map(|(file, _)| file)
        .max_by_key(|file| file.modified)
}

fn rotated(log: &FileFact, rotation: &Statement) -> Evidence {
    Evidence::Bytes {
        path: log.path.clone(),
        offset: rotation.offset,
        hex: String::new(),
        meaning: format!("ALTER INSTANCE ROTATE INNODB MASTER KEY at {}", moment(i64::from(rotation.timestamp))),
    }
}

fn moment(seconds: i64) -> String {
    Timestamp::from_second(seconds).map_or_else(|_| format!("{seconds} seconds since 1970"), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use innodb::binlog::{BinlogEncryption, BinlogHead, EventScan};

    use super::super::tests::{json, with_component, with_plugins};
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{Made, NOW, mariadb, mysql};

    fn days_ago(days: i64) -> i64 {
        NOW.parse::<Timestamp>().unwrap().as_second() - days * DAY_SECONDS
    }

    fn log(begun_days_ago: i64, rotated_days_ago: Option<i64>) -> Content {
        let at = |days| u32::try_from(days_ago(days)).unwrap();
        let rotation =
            |days| Statement { timestamp: at(days), kind: StatementKind::RotateInnodbMasterKey, offset: 157 };
        Content::BinaryLog {
            log: BinlogHead {
                encryption: BinlogEncryption::Clear,
                server_version: None,
                created: None,
                file_bytes: 1000,
            },
            events: Some(EventScan {
                events: 9,
                first_timestamp: Some(at(begun_days_ago)),
                statements: rotated_days_ago.into_iter().map(rotation).collect(),
                complete: true,
                ..EventScan::default()
            }),
        }
    }

    fn with_log(content: Content) -> Made {
        with_component(mysql(), "Active", "/k").variable("log_bin", "ON").file("binlog.000001", content)
    }

    #[test]
    fn a_rotation_in_the_binary_log_dates_the_key() {
        assert_eq!(with_log(log(500, Some(10))).statuses(&CHECK), [Pass]);
        assert_eq!(with_log(log(500, Some(400))).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn logs_without_one_date_it_only_if_they_go_back_far_enough() {
        assert_eq!(with_log(log(400, None)).statuses(&CHECK), [Fail]);
        assert_eq!(with_log(log(30, None)).statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn an_encrypted_log_may_hide_a_newer_rotation() {
        let hidden = Content::BinaryLog {
            log: BinlogHead {
                encryption: BinlogEncryption::MySql { version: 1, key_id: None },
                server_version: None,
                created: None,
                file_bytes: 1000,
            },
            events: None,
        };
        assert_eq!(with_log(log(500, Some(400))).file("binlog.000002", hidden).statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn a_key_file_untouched_for_long_is_an_old_key() {
        let mut made = with_component(mysql(), "Active", "/k").file("component_keyring_file", json(&[1]));
        made.0.files.as_mut().unwrap().files[0].modified = days_ago(366);
        assert_eq!(made.statuses(&CHECK), [Fail]);
        made.0.files.as_mut().unwrap().files[0].modified = days_ago(3);
        assert_eq!(made.statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn servers_without_master_keys_are_not_concerned() {
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
        let none = with_plugins(mysql(), &[]).answer("keyring_status", &["key", "value"], &[]);
        assert_eq!(none.statuses(&CHECK), [NotApplicable]);
        assert_eq!(Made::nothing().statuses(&CHECK), [Unknown]);
    }
}
