//! `key-version-static`.

use findings::Severity;
use innodb::tablespace::Encryption;
use server::dialect::variable;

use super::{is_mariadb, keyring, live_stores};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::set_variable;
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::files::Content;
use crate::facts::host::Role;
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "key-version-static",
    title: "MariaDB's keys cannot rotate: every tablespace stays on key 1, version 1",
    severity: Severity::Medium,
    explanation: "With file_key_management every key has version 1 forever, so that innodb_encryption_rotate_key_age \
        has no effect. Keys change only by moving tables to another key id. With a plug-in that has versions, a \
        rotate_key_age of 0 switches re-encryption off. Judged from the active plug-in, the key ids and versions of \
        the tablespaces, and their page 0.",
    applies: "MariaDB 10.1 and newer with encrypted tablespaces",
    fix: "use hashicorp_key_management or aws_key_management, or ALTER TABLE … ENCRYPTION_KEY_ID=2",
    cost: "ALTER TABLE … ENCRYPTION_KEY_ID copies the table; a change of plug-in needs a restart and re-encrypts \
        everything",
    standards: &["PCI DSS 4.0.1 3.7.4"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

/// Key id and version of a tablespace, as far as known.
struct Used {
    key_id: u64,
    version: u64,
    evidence: Evidence,
}

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if cx.facts.sql.is_some() && !is_mariadb(cx) {
        return Ok(CheckResults::not_applicable("MySQL's keys are wrapped by a master key; see key-master-age"));
    }
    let used = used(cx)?;
    let Some(first) = used.first() else {
        return Ok(CheckResults::not_applicable("no tablespace is encrypted with a key of MariaDB"));
    };
    let grade =
        if matches!(first.evidence, Evidence::Bytes { .. }) { EvidenceGrade::Bytes } else { EvidenceGrade::Reported };
    let newest = used.iter().map(|space| space.version).max().unwrap_or(0);
    let only_first = used.iter().all(|space| space.key_id == 1 && space.version <= 1);
    let by_file = by_file(cx)?;
    let result = if by_file && only_first {
        CheckResult::fail(
            "keys",
            grade,
            format!("all {} tablespaces are on key 1, version 1, and a key file has no other version", used.len()),
        )
    } else if by_file {
        CheckResult::pass("keys", grade, format!("{} tablespaces use several key ids", used.len()))
    } else if let Some(sql) = cx.facts.sql.as_ref().filter(|sql| never_rotates(sql)) {
        CheckResult::fail(
            "keys",
            EvidenceGrade::Declared,
            "the background threads never re-encrypt with a newer key version",
        )
        .evidence(sql.variable_evidence(variable::INNODB_ENCRYPTION_ROTATE_KEY_AGE))
        .fix(set_variable(sql, variable::INNODB_ENCRYPTION_ROTATE_KEY_AGE, "1"))
    } else {
        CheckResult::pass("keys", grade, format!("the plug-in has key versions, the newest in use is {newest}"))
    };
    Ok(CheckResults::one(result.evidence(first.evidence.clone())))
}

fn never_rotates(sql: &SqlFacts) -> bool {
    sql.variable_or_none(variable::INNODB_ENCRYPTION_ROTATE_KEY_AGE) == Some("0")
}

/// Whether keys come from a file: the active plug-in's, or offline a key file that was found.
fn by_file(cx: &Context<'_>) -> Observed<bool> {
    if let Some(sql) = &cx.facts.sql {
        return match keyring(sql)? {
            Some(keyring) => Ok(keyring.is_local_file()),
            None => Err(Unavailable {
                what: "encryption plug-in".to_owned(),
                why: "tablespaces are encrypted, and none is active".to_owned(),
                remedy: "see key-not-loaded".to_owned(),
            }),
        };
    }
    if live_stores(cx).any(|(_, store)| store.kind == keyring::StoreKind::MariaDbPlain) {
        return Ok(true);
    }
    cx.facts.sql().map(|_| false)
}

fn used(cx: &Context<'_>) -> Observed<Vec<Used>> {
    let reported = cx.facts.sql.as_ref().map(|sql| (sql, sql.tablespaces()));
    if let Some((sql, Ok(spaces))) = reported {
        let encrypted = spaces.into_iter().filter(|space| matches!(space.encrypted, "Y" | "P"));
        return Ok(encrypted
            .filter_map(|space| {
                let version = space.current_key_version?;
                let answer = format!("{}: key {:?}, version {version}", space.name, space.key_id);
                Some(Used { key_id: space.key_id?, version, evidence: sql.evidence("tablespaces", answer) })
            })
            .collect());
    }
    let files = cx.facts.files()?;
    if !files.data_seen() {
        cx.facts.sql()?.tablespaces()?;
    }
    Ok(files.files.iter().filter(|file| file.role != Role::Backup).filter_map(in_page0).collect())
}

fn in_page0(file: &crate::facts::files::FileFact) -> Option<Used> {
    let Content::Tablespace { scan } = &file.content else { return None };
    let Encryption::MariaDb { scheme: 1, key_id, min_key_version, .. } = &scan.page0.encryption else { return None };
    let newest = scan.key_versions.iter().map(|pages| pages.version.0).max().unwrap_or(min_key_version.0);
    let evidence = crate::artefact::byte_evidence(file).into_iter().next()?;
    Some(Used { key_id: u64::from(*key_id), version: u64::from(newest), evidence })
}

#[cfg(test)]
mod tests {
    use super::super::tests::with_plugins;
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    const COLUMNS: &[&str] =
        &["space_id", "name", "type", "encrypted", "key_id", "current_key_version", "min_key_version"];

    fn with(plugin: &str, key_id: &str, version: &str) -> FactsBuilder {
        let row = ["5", "demo/t", "Single", "Y", key_id, version, version];
        with_plugins(mariadb(), &[[plugin, "ENCRYPTION"]]).answer("tablespaces", COLUMNS, &[&row])
    }

    #[test]
    fn the_file_plugin_never_rotates() {
        assert_eq!(with("file_key_management", "1", "1").statuses(&CHECK), [Fail]);
        assert_eq!(with("file_key_management", "2", "1").statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_plugin_with_versions_must_be_allowed_to_use_them() {
        let made = || with("hashicorp_key_management", "1", "3");
        assert_eq!(made().variable("innodb_encryption_rotate_key_age", "1").statuses(&CHECK), [Pass]);
        assert_eq!(made().variable("innodb_encryption_rotate_key_age", "0").statuses(&CHECK), [Fail]);
    }

    #[test]
    fn nothing_encrypted_and_mysql_are_not_concerned() {
        assert_eq!(mysql().statuses(&CHECK), [NotApplicable]);
        assert_eq!(with_plugins(mariadb(), &[]).answer("tablespaces", COLUMNS, &[]).statuses(&CHECK), [NotApplicable]);
        assert_eq!(mariadb().refused("tablespaces", 1227).statuses(&CHECK), [Unknown]);
    }
}
