//! `key-file-clear`.

use findings::{Remedy, Severity};
use keyring::StoreSummary;
use process::shell_word;
use server::dialect::key_store::MARIADB_PASSWORD;
use server::option_group;

use super::{
    can_encrypt, is_filled, is_mariadb, key_path, keyring, kind_text, live_stores, path_evidence, store_evidence,
};
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::setting::nullable;
use crate::exposure::{ClosedBy, Exposes, KeyFlaw};
use crate::facts::files::FileFact;
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "key-file-clear",
    title: "The key file is readable without a password",
    severity: Severity::High,
    explanation: "Whoever copies the file holds the keys. component_keyring_file writes JSON with clear keys, \
        keyring_file hides them behind a public constant, and MariaDB's key file is clear unless it was encrypted and \
        file_key_management_filekey is set. Judged from the bytes of the file, else from the name of the component or \
        plug-in, which determines the format.",
    applies: "MySQL 5.7.11 and newer, MariaDB 10.1 and newer, with a file key store",
    fix: "encrypt the key file, or use a key store without a local file",
    cost: "one restart",
    standards: &["PCI DSS 4.0.1 3.6.1.2"],
    exposes: Exposes::Keys(KeyFlaw::Readable, "The keys themselves, in a file that is not encrypted"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let mut results = CheckResults::new();
    for (file, store) in live_stores(cx) {
        results.push(by_bytes(cx, file, store));
    }
    if results.is_empty() {
        return by_metadata(cx.facts.sql()?);
    }
    Ok(results)
}

fn by_bytes(cx: &Context<'_>, file: &FileFact, store: &StoreSummary) -> CheckResult {
    let message = kind_text(store.kind);
    if store.readable_without_password && is_filled(store) {
        let damaged = if store.damage.is_empty() { "" } else { "damaged " };
        CheckResult::fail(&file.path, EvidenceGrade::Bytes, format!("{} is a {damaged}{message}", file.path))
            .fix(fix(is_mariadb(cx), &file.path))
    } else if store.readable_without_password {
        CheckResult::pass(&file.path, EvidenceGrade::Bytes, format!("{} holds no key", file.path))
    } else {
        CheckResult::pass(&file.path, EvidenceGrade::Bytes, format!("{} is a {message}", file.path))
    }
    .evidence(store_evidence(file, store))
}

fn by_metadata(sql: &SqlFacts) -> Observed<CheckResults> {
    if !can_encrypt(sql) {
        return Ok(CheckResults::not_applicable(format!("{} has no encryption at rest", sql.identity.version)));
    }
    let Some(keyring) = keyring(sql)?.filter(super::Keyring::is_local_file) else {
        return Ok(CheckResults::not_applicable("no file key store is loaded"));
    };
    let (path, source) = key_path(sql).ok_or_else(|| Unavailable {
        what: format!("key file of {}", keyring.name),
        why: "the server does not tell its path".to_owned(),
        remedy: access::reading("the key file"),
    })?;
    let protected = if sql.is_mariadb() {
        // The value may be the password itself: only test whether it is empty.
        nullable(sql, MARIADB_PASSWORD)?.is_some_and(|value| !value.is_empty())
    } else {
        keyring.is_password_protected()
    };
    let (grade, seen) = if sql.is_mariadb() {
        let answer =
            if protected { "file_key_management_filekey is set" } else { "file_key_management_filekey is empty" };
        (EvidenceGrade::Declared, sql.evidence("variables", answer))
    } else {
        (EvidenceGrade::Reported, keyring.evidence(sql))
    };
    let result = if protected {
        CheckResult::pass(&path, grade, format!("{} encrypts its file with a password", keyring.name))
    } else {
        CheckResult::fail(&path, grade, format!("{} keeps its keys readable in {path}", keyring.name))
            .fix(fix(sql.is_mariadb(), &path))
    };
    Ok(CheckResults::one(result.evidence(seen).evidence(path_evidence(sql, &path, source))))
}

fn fix(mariadb: bool, path: &str) -> Remedy {
    let path = shell_word(path);
    if mariadb {
        let lines = [
            format!("file_key_management_filename = {path}.enc"),
            "file_key_management_filekey = FILE:KEYFILE".to_owned(),
        ];
        Remedy::command(format!(
            "(umask 077 && openssl rand -hex 64 > KEYFILE && openssl enc -aes-256-cbc -md sha1 -pass file:KEYFILE -in \
                {path} -out {path}.enc) && chown --reference={path} KEYFILE {path}.enc"
        ))
        .and(Remedy::option_file(option_group::MARIADB, lines).then_restart())
        .and(Remedy::command(format!("shred -u {path}")))
        .note("KEYFILE: a path on another device")
    } else {
        "configure a KMS, KMIP or Vault component (or component_keyring_encrypted_file of MySQL Enterprise) and move \
            the keys with mysql_migrate_keyring, then shred the file"
            .into()
    }
}

#[cfg(test)]
mod tests {
    use keyring::inspect;

    use super::super::tests::{json, mariadb_keys, with_component, with_plugins};
    use super::*;
    use crate::facts::files::Content;
    use crate::facts::host::Role;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    #[test]
    fn clear_keys_fail_by_bytes() {
        let found = mysql().file("component_keyring_file", json(&[1])).judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Bytes)));
        assert_eq!(FactsBuilder::nothing().file("keys.txt", mariadb_keys()).statuses(&CHECK), [Fail]);
        assert_eq!(mysql().file("component_keyring_file", json(&[])).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_password_protected_key_file_passes_where_keys_belong() {
        let encrypted =
            Content::KeyStore { summary: inspect(b"Salted__\0\x01\x02\x03\x04\x05\x06\x07abcdefgh01234567").unwrap() };
        let mut made = mariadb().file("keys.enc", encrypted);
        made.0.files.as_mut().unwrap().files[0].role = Role::Key;
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn the_plugin_fixes_the_format() {
        assert_eq!(with_component(mysql(), "Active", "/keys/k").statuses(&CHECK), [Fail]);
        let made = |filekey| {
            with_plugins(mariadb(), &[["file_key_management", "ENCRYPTION"]])
                .variable("file_key_management_filename", "/etc/keys")
                .variable("file_key_management_filekey", filekey)
        };
        assert_eq!(made("").statuses(&CHECK), [Fail]);
        let set = made("FILE:/etc/pw").judge(&CHECK);
        assert_eq!(set[0].status, Pass);
        assert!(!format!("{:?}", set[0].evidence).contains("/etc/pw"));
        assert_eq!(with_plugins(mariadb(), &[["aws_key_management", "ENCRYPTION"]]).statuses(&CHECK), [NotApplicable]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
