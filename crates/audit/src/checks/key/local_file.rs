//! `key-local-file`.

use findings::{Remedy, Severity};
use server::{Capability, option_group};

use super::{can_encrypt, is_filled, keyring, live_stores, store_evidence};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::Observed;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "key-local-file",
    title: "The keys are in a file on this host",
    severity: Severity::Medium,
    explanation: "Whoever steals the host or its backup has both data and keys. The manuals of MySQL and MariaDB say \
        that their file key stores do not meet compliance requirements. Judged from the name of the active component \
        or plug-in, offline from key files that were found.",
    applies: "MySQL 5.7.11 and newer, MariaDB 10.1 and newer",
    fix: "use a KMS, KMIP or Vault component or plug-in and migrate the keys",
    cost: "a restart; MySQL's mysql_migrate_keyring needs the server stopped; MariaDB's tables are re-encrypted in \
        the background",
    standards: &["PCI DSS 4.0.1 3.6.1.2", "NIST SP 800-53r5 SC-12", "CIS MySQL 3.10"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let Some(sql) = &cx.facts.sql else { return offline(cx) };
    if !can_encrypt(sql) {
        return Ok(CheckResults::not_applicable(format!("{} has no encryption at rest", sql.identity.version)));
    }
    let Some(keyring) = keyring(sql)? else {
        return Ok(CheckResults::not_applicable("no key store is loaded"));
    };
    if !keyring.is_local_file() {
        let pass =
            CheckResult::pass("keyring", EvidenceGrade::Reported, format!("{} keeps its keys elsewhere", keyring.name));
        return Ok(CheckResults::one(pass.evidence(keyring.evidence(sql))));
    }
    let found = live_stores(cx).next();
    let grade = if found.is_some() { EvidenceGrade::Bytes } else { EvidenceGrade::Reported };
    let result = CheckResult::fail("keyring", grade, format!("{} keeps its keys in a file of this host", keyring.name))
        .evidence(keyring.evidence(sql))
        .fix(if sql.is_mariadb() {
            Remedy::advice(format!(
                "plugin_load_add = hashicorp_key_management (or aws_key_management) under [{}], restart, then let the \
                 background threads re-encrypt",
                option_group::MARIADB
            ))
        } else if sql.can(Capability::KeyringComponents) {
            "configure a KMS, KMIP or Vault component and move the keys with mysql_migrate_keyring".into()
        } else {
            "load keyring_okv, keyring_aws or Percona's keyring_vault, and move the keys with mysqld \
                --keyring-migration-*"
                .into()
        });
    Ok(CheckResults::one(
        found.into_iter().fold(result, |result, (file, store)| result.evidence(store_evidence(file, store))),
    ))
}

fn offline(cx: &Context<'_>) -> Observed<CheckResults> {
    let mut results = CheckResults::new();
    for (file, store) in live_stores(cx).filter(|(_, store)| is_filled(store)) {
        results.push(
            CheckResult::fail(&file.name, EvidenceGrade::Bytes, format!("{} is a key file", file.name))
                .evidence(store_evidence(file, store)),
        );
    }
    if results.is_empty() {
        cx.facts.sql()?;
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{json, with_component, with_plugins};
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    #[test]
    fn files_fail_and_services_pass() {
        assert_eq!(with_component(mysql(), "Active", "/k").statuses(&CHECK), [Fail]);
        assert_eq!(with_plugins(mariadb(), &[["file_key_management", "ENCRYPTION"]]).statuses(&CHECK), [Fail]);
        assert_eq!(with_plugins(mariadb(), &[["hashicorp_key_management", "ENCRYPTION"]]).statuses(&CHECK), [Pass]);
        assert_eq!(with_plugins(mariadb(), &[]).statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn offline_a_key_file_decides() {
        let made = FactsBuilder::nothing().file("component_keyring_file", json(&[1]));
        assert_eq!(made.judge(&CHECK)[0].grade, Some(EvidenceGrade::Bytes));
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
