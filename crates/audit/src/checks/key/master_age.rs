//! `key-master-age`.

use std::collections::BTreeMap;

use findings::{Remedy, Severity};
use innodb::binlog_scan::{Statement, StatementKind};
use jiff::Timestamp;
use keyring::KeyName;
use server::dialect::statement::ROTATE_MASTER_KEY;
use server::dialect::variable;

use super::{can_encrypt, is_mariadb, keyring, live_stores, newest_master_keys, nothing_wrapped, wrapped};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::files::{Content, FileFact};
use crate::facts::host::Role;
use crate::facts::register::{RegisterFacts, RegisteredKey};
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "key-master-age",
    title: "The InnoDB master key is older than the policy allows",
    severity: Severity::Medium,
    explanation: "The server records no date of a key. These show its age: the statement ALTER INSTANCE ROTATE INNODB \
        MASTER KEY in a binary log, with its time; clear binary logs without a gap that reach back further than the \
        policy and hold no such statement; and a key file that was last written before the policy's limit, because a \
        rotation writes it. A key file written since proves nothing, because other keys are written to it too. The \
        register of keys has the dates of rotations by `sealant rotate`, and of when each key was first seen. Without \
        any of these the result is UNKNOWN. The limit is master_key_max_age_days, 365 by default.",
    applies: "MySQL 5.7.11 and newer",
    fix: ROTATE_MASTER_KEY,
    cost: "seconds; blocks DDL on tablespaces meanwhile; back up the keyring before and after",
    standards: &["PCI DSS 4.0.1 3.7.4", "NIST SP 800-53r5 SC-12", "NIST SP 800-57pt1r5"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Rotate,
    locked_out: None,
    judge,
};

const DAY_SECONDS: i64 = 86_400;

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if let Some(not_concerned) = not_concerned(cx)? {
        return Ok(not_concerned);
    }
    let limit = cx.policy.master_key_max_age_days;
    let days = |seconds: i64| cx.now.as_second().saturating_sub(seconds) / DAY_SECONDS;
    if let Some((log, rotation)) = newest_rotation(cx) {
        let age = days(i64::from(rotation.timestamp));
        if age <= limit {
            let text = format!("the master key was rotated {age} days ago");
            return Ok(CheckResults::one(
                CheckResult::pass("master key", EvidenceGrade::Bytes, text).evidence(rotated(log, rotation)),
            ));
        }
    }
    // `sealant rotate` keeps the statement out of the binary log, because replicas have their own keys.
    if let Some(result) = by_register(cx, limit, &days) {
        return Ok(CheckResults::one(result));
    }
    if let Some((log, rotation)) = newest_rotation(cx) {
        let age = days(i64::from(rotation.timestamp));
        if gapless(cx) {
            let text = format!("the master key was last rotated {age} days ago, the policy allows {limit}");
            return Ok(CheckResults::one(too_old(text).evidence(rotated(log, rotation))));
        }
    }
    if let Some((file, age)) = oldest_write(cx).map(|file| (file, days(file.modified))).filter(|(_, age)| *age > limit)
    {
        let text = format!(
            "{} was last written {age} days ago, so the master key is at least as old; the policy allows {limit}",
            file.name
        );
        let seen =
            Evidence::Host { source: file.path.clone(), observation: format!("last change {}", moment(file.modified)) };
        return Ok(CheckResults::one(too_old(text).evidence(seen)));
    }
    if let Some(since) = first_event(cx).filter(|since| gapless(cx) && days(i64::from(*since)) > limit) {
        let text = format!(
            "no rotation in the binary logs since {}, the policy allows {limit} days",
            moment(i64::from(since))
        );
        let seen = logs(cx).next().map(|(log, _)| Evidence::Bytes {
            path: log.path.clone(),
            offset: 0,
            hex: String::new(),
            meaning: format!("{} binary logs were read to the end and contain no rotation", logs(cx).count()),
        });
        let result = too_old(text);
        return Ok(CheckResults::one(seen.into_iter().fold(result, CheckResult::evidence)));
    }
    Err(Unavailable {
        what: "age of the InnoDB master key".to_owned(),
        why: format!("no readable binary log holds a rotation, the server records no date, and {}", no_date(cx)),
        remedy: format!(
            "rotate with {ROTATE_MASTER_KEY} and record the day in a waiver for key-master-age that expires with the \
                key"
        ),
    })
}

/// Judges the newest key by the register: when a rotation created it, or since when it has existed at least.
fn by_register(cx: &Context<'_>, limit: i64, days: &dyn Fn(i64) -> i64) -> Option<CheckResult> {
    let register = cx.facts.register.as_ref()?.as_ref().ok()?;
    let newest = newest_number(cx)?;
    let known: BTreeMap<u32, &RegisteredKey> = server_keys(cx, register).collect();
    let age = |at: Timestamp| days(at.as_second());
    let seen = |observation: String| Evidence::Host { source: register.path.clone(), observation };
    // If an older key is in use again, as after a restore, the date belongs to another key.
    let latest = known.keys().all(|number| *number <= newest);
    let in_place = known.get(&newest).is_none_or(|key| key.rotated.is_none());
    if let Some(at) = register.last_rotated.get("master_key").filter(|at| latest && in_place && age(**at) <= limit) {
        let text = format!("the master key was rotated {} days ago, by the register {}", age(*at), register.path);
        let seen = seen(format!("last rotation of the master key at {at:.0}"));
        return Some(CheckResult::pass("master key", EvidenceGrade::Bytes, text).evidence(seen));
    }
    let first_seen = known.get(&newest)?.first_seen.filter(|at| age(*at) > limit)?;
    let text = format!(
        "the master key existed {} days ago, by the register {}; the policy allows {limit}",
        age(first_seen),
        register.path
    );
    let seen = seen(format!("key number {newest} was first seen at {first_seen:.0}"));
    Some(too_old(text).evidence(seen))
}

/// Why the register has no date.
fn no_date(cx: &Context<'_>) -> String {
    match &cx.facts.register {
        Some(Ok(register)) => format!("{} does not date the key in use", register.path),
        Some(Err(unseen)) => unseen.why.clone(),
        None => "no register of keys was read".to_owned(),
    }
}

/// Number of the newest master key that the server has or uses.
fn newest_number(cx: &Context<'_>) -> Option<u32> {
    let uuid = server_uuid(cx)?;
    let used = wrapped(cx, true).into_iter().filter(|file| file.uuid.is_some_and(|of| of.eq_ignore_ascii_case(&uuid)));
    newest_master_keys(cx).get(&uuid).copied().into_iter().chain(used.map(|file| file.id)).max()
}

fn server_uuid(cx: &Context<'_>) -> Option<String> {
    cx.facts.sql.as_ref()?.identity.server_uuid.as_ref().map(|uuid| uuid.to_ascii_lowercase())
}

/// The server's master keys in the register, by number.
fn server_keys<'a>(cx: &Context<'_>, register: &'a RegisterFacts) -> impl Iterator<Item = (u32, &'a RegisteredKey)> {
    let uuid = server_uuid(cx);
    register.keys.iter().filter_map(move |(name, key)| match KeyName::parse(name) {
        KeyName::InnodbMaster { owner, number } if Some(owner.to_ascii_lowercase()) == uuid => Some((number, key)),
        _ => None,
    })
}

fn too_old(text: String) -> CheckResult {
    CheckResult::fail("master key", EvidenceGrade::Bytes, text).fix(Remedy::statement(CHECK.fix))
}

fn not_concerned(cx: &Context<'_>) -> Observed<Option<CheckResults>> {
    if is_mariadb(cx) {
        return Ok(Some(CheckResults::not_applicable("MariaDB has no InnoDB master key; see key-version-static")));
    }
    if !wrapped(cx, true).is_empty() {
        return Ok(None);
    }
    match &cx.facts.sql {
        Some(sql) if !can_encrypt(sql) => {
            Ok(Some(CheckResults::not_applicable(format!("{} has no encryption at rest", sql.identity.version))))
        }
        Some(sql) if keyring(sql)?.is_none() => Ok(Some(CheckResults::not_applicable("no key store is loaded"))),
        Some(_) => Ok(None),
        None => nothing_wrapped(cx).map(Some),
    }
}

/// The server's binary logs whose events were read.
fn logs<'a>(cx: &'a Context<'_>) -> impl Iterator<Item = (&'a FileFact, &'a innodb::binlog_scan::EventScan)> {
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

/// Whether every binary log was read to its end: only then is the newest rotation known.
fn gapless(cx: &Context<'_>) -> bool {
    let files = cx.facts.files.iter().flat_map(|files| &files.files);
    let binary = |file: &&FileFact| file.role != Role::Backup && file.role != Role::RelayLog;
    let mut logs = files.filter(binary).filter_map(|file| match &file.content {
        Content::BinaryLog { events, .. } => Some(events),
        _ => None,
    });
    let on = cx.facts.sql.as_ref().is_some_and(|sql| sql.variable_on(variable::LOG_BIN).unwrap_or(false));
    on && logs.all(|events| events.as_ref().is_some_and(|events| events.complete && events.encrypted_from.is_none()))
}

fn first_event(cx: &Context<'_>) -> Option<u32> {
    logs(cx).filter_map(|(_, events)| events.first_timestamp).min()
}

/// The live key file that was written last; its time limits the age of its newest key.
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
        meaning: format!("{ROTATE_MASTER_KEY} at {}", moment(i64::from(rotation.timestamp))),
    }
}

fn moment(seconds: i64) -> String {
    Timestamp::from_second(seconds).map_or_else(|_| format!("{seconds} seconds since 1970"), |time| time.to_string())
}

#[cfg(test)]
mod tests {
    use innodb::binlog::{BinlogEncryption, BinlogHead};
    use innodb::binlog_scan::EventScan;

    use std::collections::BTreeSet;

    use super::super::tests::{UUID, json, with_component, with_plugins};
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, NOW, mariadb, mysql};

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

    fn with_log(content: Content) -> FactsBuilder {
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

    /// Keys in the register by number, days since they were first seen, and whether they were replaced; and days since
    /// the last rotation.
    fn with_register(held: &[u32], keys: &[(u32, i64, bool)], rotated_days_ago: Option<i64>) -> FactsBuilder {
        let at = |days| Timestamp::from_second(days_ago(days)).unwrap();
        let mut made = with_component(mysql(), "Active", "/k").file("component_keyring_file", json(held));
        made.0.files.as_mut().unwrap().files[0].modified = days_ago(1);
        made.0.sql.as_mut().unwrap().identity.server_uuid = Some(UUID.to_owned());
        let key = |(number, seen, rotated): &(u32, i64, bool)| {
            let key = RegisteredKey { first_seen: Some(at(*seen)), rotated: rotated.then(|| at(1)) };
            (format!("INNODBKey-{UUID}-{number}"), key)
        };
        made.0.register = Some(Ok(RegisterFacts {
            path: "/state/keys.json".to_owned(),
            last_rotated: rotated_days_ago.map(|days| ("master_key".to_owned(), at(days))).into_iter().collect(),
            keys: keys.iter().map(key).collect(),
            copies: Vec::new(),
            backups: BTreeMap::new(),
            held: Ok(BTreeSet::new()),
        }));
        made
    }

    #[test]
    fn the_register_dates_the_key_in_use() {
        let rotated = &[(1, 500, true), (2, 10, false)];
        let found = with_register(&[1, 2], rotated, Some(10)).judge(&CHECK);
        assert_eq!(found[0].status, Pass);
        assert!(found[0].message.contains("10 days ago, by the register /state/keys.json"), "{}", found[0].message);
        let old = &[(1, 900, true), (2, 400, false)];
        assert_eq!(with_register(&[1, 2], old, Some(400)).statuses(&CHECK), [Fail]);
        assert_eq!(with_register(&[1], &[(1, 400, false)], None).statuses(&CHECK), [Fail]);
        assert_eq!(with_register(&[1], &[(1, 30, false)], None).statuses(&CHECK), [Unknown]);
        // The older key is in use again, as after a restore: the date belongs to another key.
        assert_eq!(with_register(&[1], &[(1, 30, true), (2, 10, false)], Some(10)).statuses(&CHECK), [Unknown]);
        assert_eq!(with_register(&[1], &[(1, 500, true), (2, 10, false)], Some(10)).statuses(&CHECK), [Fail]);
        // A key created later is younger than the rotation.
        assert_eq!(with_register(&[1, 2, 3], rotated, Some(10)).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_rotation_that_is_kept_from_the_binary_log_counts() {
        let mut made = with_register(&[1, 2], &[(1, 500, true), (2, 10, false)], Some(10));
        made = made.variable("log_bin", "ON").file("binlog.000001", log(500, Some(400)));
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn servers_without_master_keys_are_not_concerned() {
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
        let none = with_plugins(mysql(), &[]).answer("keyring_status", &["key", "value"], &[]);
        assert_eq!(none.statuses(&CHECK), [NotApplicable]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
