//! `key-vault-weak`.

use findings::{Remedy, Severity};
use keyring::{StoreSummary, VaultIssue};
use process::shell_word;
use server::dialect::key_store::{MARIADB_VAULT_CA as CA, MARIADB_VAULT_URL as URL, VAULT_CONFIGURATION};
use server::option_group;

use super::{can_encrypt, keyring};
use crate::access;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::files::{Content, FileFact};
use crate::facts::host::Role;
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "key-vault-weak",
    title: "The connection to the Vault or key service is weak",
    severity: Severity::High,
    explanation: "The token in the configuration gives access to every key. Over http it is sent in clear; without a \
        CA file anybody can pose as the Vault; if others can read the file, they have the token. Judged from the \
        configuration file that the plug-in or component reads, on MariaDB from the variables of \
        hashicorp_key_management.",
    applies: "servers with keyring_vault, component_keyring_vault, component_keyring_hashicorp or \
        hashicorp_key_management",
    fix: "https with a CA file, a short-lived token of an AppRole, mode 0600",
    cost: "one restart",
    standards: &["PCI DSS 4.0.1 3.6.1.3", "PCI DSS 4.0.1 4.2.1"],
    exposes: Exposes::Help(Attacker::Sniffer, "The token for the key service, or the keys in transit"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let mut results = CheckResults::new();
    for (file, store) in configurations(cx) {
        results.push(by_file(file, store));
    }
    if let Some(sql) = cx.facts.sql.as_ref().filter(|sql| sql.variable_or_none(URL).is_some()) {
        results.push(by_variables(sql));
    }
    if results.is_empty() { nothing_seen(cx) } else { Ok(results) }
}

fn configurations<'a>(cx: &'a Context<'_>) -> impl Iterator<Item = (&'a FileFact, &'a StoreSummary)> {
    let files = cx.facts.files.iter().flat_map(|files| &files.files).filter(|file| file.role != Role::Backup);
    files.filter_map(|file| match &file.content {
        Content::KeyStore { summary } if summary.vault.is_some() => Some((file, summary)),
        _ => None,
    })
}

fn by_file(file: &FileFact, store: &StoreSummary) -> CheckResult {
    let mut faults: Vec<&str> = store.vault.iter().flat_map(|vault| &vault.issues).filter_map(describe).collect();
    if file.mode & 0o077 != 0 && store.readable_without_password {
        faults.push("others than its owner may read the token");
    }
    let evidence = Evidence::Bytes {
        path: file.path.clone(),
        offset: 0,
        hex: String::new(),
        meaning: format!(
            "Vault configuration, mode {:04o}: {}",
            file.mode & 0o7777,
            if faults.is_empty() { "sound".to_owned() } else { faults.join("; ") }
        ),
    };
    if faults.is_empty() {
        CheckResult::pass(
            &file.path,
            EvidenceGrade::Bytes,
            format!("{} has https and a CA, and only its owner can read it", file.path),
        )
    } else {
        CheckResult::fail(&file.path, EvidenceGrade::Bytes, format!("{}: {}", file.path, faults.join("; "))).fix(
            Remedy::advice("vault_url = https://…, vault_ca = PEM file")
                .then(Remedy::command(format!("chmod 0600 {}", shell_word(&file.path)))),
        )
    }
    .evidence(evidence)
}

/// The plug-in needs a token in the file; the file's mode decides.
const fn describe(issue: &VaultIssue) -> Option<&'static str> {
    match issue {
        VaultIssue::PlainHttp => Some("keys and token cross the network in clear (no https)"),
        VaultIssue::NoCa => Some("no CA file: the Vault's identity is not verified"),
        VaultIssue::NoUrl => Some("no address of the Vault"),
        _ => None,
    }
}

fn by_variables(sql: &SqlFacts) -> CheckResult {
    let mut faults = Vec::new();
    if sql.variable_or_none(URL).is_some_and(|url| !url.to_ascii_lowercase().starts_with("https://")) {
        faults.push("keys and token cross the network in clear (no https)");
    }
    if sql.variable_or_none(CA).is_none_or(str::is_empty) {
        faults.push("no CA file: the Vault's identity is not verified");
    }
    let result = if faults.is_empty() {
        CheckResult::pass("hashicorp_key_management", EvidenceGrade::Declared, "https with a CA file")
    } else {
        CheckResult::fail("hashicorp_key_management", EvidenceGrade::Declared, faults.join("; ")).fix(
            Remedy::option_file(option_group::MARIADB, [format!("{URL} = https://…"), format!("{CA} = PEM file")])
                .then_restart(),
        )
    };
    let https = if faults.iter().any(|fault| fault.contains("https")) { "not https" } else { "https" };
    result.evidence(sql.evidence("variables", format!("{URL} is {https}"))).evidence(sql.variable_evidence(CA))
}

fn nothing_seen(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    if !can_encrypt(sql) {
        return Ok(CheckResults::not_applicable(format!("{} has no encryption at rest", sql.identity.version)));
    }
    let vault = keyring(sql)?.filter(|keyring| {
        let name = keyring.name.to_ascii_lowercase();
        name.contains("vault") || name.contains("hashicorp")
    });
    let Some(keyring) = vault else {
        return Ok(CheckResults::not_applicable("no key store in a Vault is loaded"));
    };
    let path = sql.variable_or_none(VAULT_CONFIGURATION).filter(|path| !path.is_empty());
    Err(Unavailable {
        what: format!("configuration of {}", keyring.name),
        why: "its file was not read".to_owned(),
        remedy: access::reading(path.unwrap_or("the component's .cnf in plugin_dir")),
    })
}

#[cfg(test)]
mod tests {
    use keyring::inspect;

    use super::super::tests::with_plugins;
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn config(text: &str, mode: u32) -> FactsBuilder {
        let mut made =
            mysql().file("keyring_vault.conf", Content::KeyStore { summary: inspect(text.as_bytes()).unwrap() });
        made.0.files.as_mut().unwrap().files[0].mode = mode;
        made
    }

    const SOUND: &str =
        "vault_url = https://vault:8200\nsecret_mount_point = mysql\ntoken = s.abc\nvault_ca = /etc/ca.pem\n";

    #[test]
    fn http_no_ca_or_an_open_file_fails() {
        assert_eq!(config(SOUND, 0o600).statuses(&CHECK), [Pass]);
        let open = config(SOUND, 0o644).judge(&CHECK);
        assert_eq!(open[0].status, Fail);
        assert!(!format!("{open:?}").contains("s.abc"));
        assert_eq!(config(&SOUND.replace("https", "http"), 0o600).statuses(&CHECK), [Fail]);
        assert_eq!(config(&SOUND.replace("vault_ca", "other"), 0o600).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn mariadbs_variables_decide() {
        let made = |url, ca| mariadb().variable(URL, url).variable(CA, ca);
        assert_eq!(made("http://vault:8200/v1/mariadb", "/ca.pem").statuses(&CHECK), [Fail]);
        assert_eq!(made("https://vault:8200/v1/mariadb", "/ca.pem").statuses(&CHECK), [Pass]);
        assert_eq!(made("https://vault:8200/v1/mariadb", "").statuses(&CHECK), [Fail]);
    }

    #[test]
    fn only_vault_users_are_concerned() {
        assert_eq!(with_plugins(mariadb(), &[["file_key_management", "ENCRYPTION"]]).statuses(&CHECK), [NotApplicable]);
        assert_eq!(with_plugins(mysql(), &[["keyring_vault", "KEYRING"]]).statuses(&CHECK), [Unknown]);
    }
}
