//! `key-stale-backup-file`.

use findings::Severity;

use super::{is_mariadb, store_evidence, stores};
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::host::Role;
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "key-stale-backup-file",
    title: "A keyring's .backup file is left beside it",
    severity: Severity::High,
    explanation: "keyring_file writes FILE.backup before it changes FILE and removes it afterwards. If the file \
        remains, the server crashed in between. At its next start the server replaces the keyring with the backup, \
        which may lack a key. Judged from the files beside the key file.",
    applies: "MySQL 5.7 to 8.3 with keyring_file, Percona XtraDB Cluster; the file component's .backup exists only \
        for a moment, too",
    fix: "compare the key names of both files, keep the complete one as the keyring, remove the .backup",
    cost: "the server must be stopped",
    standards: &["PCI DSS 4.0.1 3.7.7"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if is_mariadb(cx) {
        return Ok(CheckResults::not_applicable("MariaDB's key files are written by hand"));
    }
    let mut results = CheckResults::new();
    let mut looked_at = Vec::new();
    for (file, store) in stores(cx).filter(|(file, _)| file.role != Role::Backup) {
        looked_at.push(store_evidence(file, store));
        if file.base_name().ends_with(".backup") {
            let message =
                format!("{} with {} keys may replace the keyring at the next start", file.path, store.entries.len());
            results.push(
                CheckResult::fail(&file.path, EvidenceGrade::Bytes, message).evidence(store_evidence(file, store)),
            );
        }
    }
    if looked_at.is_empty() {
        return nothing_seen(cx);
    }
    let pass = CheckResult::pass(
        "server",
        EvidenceGrade::Bytes,
        format!("no .backup file among {} key files", looked_at.len()),
    );
    results.pass_if_clean(looked_at.into_iter().fold(pass, CheckResult::evidence));
    Ok(results)
}

fn nothing_seen(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    if !super::can_encrypt(sql) || super::keyring(sql)?.is_none_or(|keyring| !keyring.is_local_file()) {
        return Ok(CheckResults::not_applicable("no file key store is loaded"));
    }
    let path = super::key_path(sql).map_or_else(|| "the key file".to_owned(), |(path, _)| path);
    Err(Unavailable {
        what: format!("directory of {path}"),
        why: "no key file could be read".to_owned(),
        remedy: access::reading(&path),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{json, with_component, with_plugins};
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{mariadb, mysql};

    #[test]
    fn a_left_backup_fails() {
        let made = || mysql().file("keyring", json(&[2]));
        assert_eq!(made().statuses(&CHECK), [Pass]);
        assert_eq!(made().file("keyring.backup", json(&[1])).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn without_files_only_servers_with_a_key_file_are_unknown() {
        assert_eq!(with_component(mysql(), "Active", "/k").statuses(&CHECK), [Unknown]);
        assert_eq!(with_plugins(mysql(), &[["keyring_okv", "KEYRING"]]).statuses(&CHECK), [NotApplicable]);
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
    }
}
