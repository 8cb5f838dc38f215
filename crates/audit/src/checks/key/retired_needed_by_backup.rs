//! `key-retired-needed-by-backup`.

use std::collections::{BTreeMap, BTreeSet};

use findings::Severity;
use innodb::keys::master_key_name;
use keyring::KeyName;

use super::{is_mariadb, known_keys, wrapped};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "key-retired-needed-by-backup",
    title: "Retired master keys are kept, and backups may need them",
    severity: Severity::Info,
    explanation: "Rotation leaves the old master keys in the keyring. They open every backup made before it. If they \
        are removed too early, those backups are lost; if they are kept forever, a stolen old backup can still be \
        opened. The keys in the keyring are compared with those that page 0 names on the server and in the backups \
        that were read. A backup whose key is gone is a failure of high severity.",
    applies: "MySQL 5.7.11 and newer",
    fix: "keep each old key until the last backup that needs it is destroyed, then remove it",
    cost: "none",
    standards: &["PCI DSS 4.0.1 3.7.5"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if is_mariadb(cx) {
        return Ok(CheckResults::not_applicable("MariaDB has no InnoDB master key"));
    }
    let keys: BTreeSet<(String, u32)> = known_keys(cx)
        .into_iter()
        .filter_map(|name| match name {
            KeyName::InnodbMaster { owner, number } => Some((owner.to_ascii_lowercase(), number)),
            _ => None,
        })
        .collect();
    if keys.is_empty() {
        return no_keys(cx);
    }
    let needed = needed_by_backups(cx);
    let mut results = CheckResults::new();
    for (key, backup) in needed.iter().filter(|(key, _)| !keys.contains(*key)) {
        let message = format!("{backup} needs {}, which the keyring no longer holds", master_key_name(&key.0, key.1));
        results.push(
            CheckResult::fail(backup, EvidenceGrade::Bytes, message)
                .severity(Severity::High)
                .fix("keep that key with the backup's copy of the keyring, or destroy the backup"),
        );
    }
    for key in retired(&keys) {
        let backup = needed.get(key);
        let use_of_it =
            backup.map_or_else(|| "no backup that was read needs it".to_owned(), |b| format!("{b} needs it"));
        let name = master_key_name(&key.0, key.1);
        let (grade, seen) = listed(cx);
        let message = format!("{name} is retired and still kept; {use_of_it}");
        results.push(CheckResult::fail(&name, grade, message).evidence(seen));
    }
    let (grade, seen) = listed(cx);
    results
        .pass_if_clean(CheckResult::pass("keyring", grade, "the keyring holds no retired master key").evidence(seen));
    Ok(results)
}

fn no_keys(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    if !super::can_encrypt(sql) || super::keyring(sql)?.is_none() {
        return Ok(CheckResults::not_applicable("no key store is loaded"));
    }
    // A query and a key file without keys both mean an unused keyring.
    if super::live_stores(cx).next().is_some() {
        return Ok(CheckResults::not_applicable("the keyring holds no InnoDB master key"));
    }
    if sql.rows("keyring_keys")?.is_empty() {
        return Ok(CheckResults::not_applicable("the keyring lists no InnoDB master key"));
    }
    Err(Unavailable {
        what: "names of the master keys".to_owned(),
        why: "the keyring lists keys, but none by InnoDB's name".to_owned(),
        remedy: "list the keys at the key management service".to_owned(),
    })
}

/// All master keys except the newest one of each server.
fn retired(keys: &BTreeSet<(String, u32)>) -> impl Iterator<Item = &(String, u32)> {
    let newest: BTreeMap<&str, u32> = keys.iter().map(|(owner, number)| (owner.as_str(), *number)).collect();
    keys.iter().filter(move |(owner, number)| newest.get(owner.as_str()).is_some_and(|newest| number < newest))
}

/// Keys that backups need, each with an example file.
fn needed_by_backups(cx: &Context<'_>) -> BTreeMap<(String, u32), String> {
    let spaces = wrapped(cx, false);
    let named =
        spaces.iter().filter_map(|space| Some(((space.uuid?.to_ascii_lowercase(), space.id), space.path.to_owned())));
    recorded_backups(cx).chain(named).filter(|((_, id), _)| *id > 0).collect()
}

/// Keys that the register's backups need, except those that the keyring lacks and a copy has.
fn recorded_backups<'a>(cx: &'a Context<'_>) -> impl Iterator<Item = ((String, u32), String)> + 'a {
    let register = cx.facts.register.iter().flatten();
    register.flat_map(|register| {
        let held = |name: &String| register.held.as_ref().is_ok_and(|held| held.contains(name));
        let kept = move |name: &String| !held(name) && register.copies.iter().any(|copy| copy.keeps(name));
        let keys = register.backups.iter().flat_map(|(path, keys)| keys.iter().map(move |name| (path, name)));
        keys.filter(move |(_, name)| !kept(name)).filter_map(|(path, name)| match KeyName::parse(name) {
            KeyName::InnodbMaster { owner, number } => {
                Some(((owner.to_ascii_lowercase(), number), format!("{path} (by the register {})", register.path)))
            }
            _ => None,
        })
    })
}

/// Where the keys' names were read.
fn listed(cx: &Context<'_>) -> (EvidenceGrade, Evidence) {
    if let Some((file, store)) = super::live_stores(cx).next() {
        return (EvidenceGrade::Bytes, super::store_evidence(file, store));
    }
    let seen = match &cx.facts.sql {
        Some(sql) => sql.evidence("keyring_keys", "names of the keys"),
        None => Evidence::Host { source: "keyring".to_owned(), observation: "names of its keys".to_owned() },
    };
    (EvidenceGrade::Reported, seen)
}

#[cfg(test)]
mod tests {
    use super::super::tests::json;
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    #[test]
    fn a_retired_key_is_reported_and_a_single_one_passes() {
        let found = mysql().file("component_keyring_file", json(&[1, 2])).judge(&CHECK);
        assert_eq!((found.len(), found[0].status, found[0].severity), (1, Fail, Severity::Info));
        assert!(found[0].artefact.ends_with("-1"));
        assert_eq!(mysql().file("component_keyring_file", json(&[2])).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn without_a_keyring_to_look_into_it_is_unknown() {
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
    }
}
