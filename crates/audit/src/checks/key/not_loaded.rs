//! `key-not-loaded`.

use findings::{Remedy, Severity};
use server::Capability;
use server::dialect::encryption::all_switches;
use server::option_group;
use server::switch::is_on;

use super::{can_encrypt, keyring};
use crate::artefact::State;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::{beside_datadir, server_user};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::sql::SqlFacts;
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "key-not-loaded",
    title: "No key store is active: nothing can be encrypted, or opened",
    severity: Severity::Critical,
    explanation: "Without an active keyring, SET of a variable such as innodb_redo_log_encrypt succeeds but the value \
        stays OFF, and encrypted files cannot be opened at the next start. A component counts only if its \
        Component_status is Active (it can be loaded and Disabled). A plug-in counts by its type KEYRING, on MariaDB \
        ENCRYPTION, because some plug-ins with keyring in their name hold no keys. Critical if encryption is requested \
        or present, high otherwise.",
    applies: "MySQL 5.7.11 and newer, MariaDB 10.1 and newer",
    fix: "configure a keyring component (MySQL 8.0.24+), keyring plug-in or MariaDB encryption plug-in, then restart",
    cost: "one restart",
    standards: &["CIS MySQL 3.10", "PCI DSS 4.0.1 3.6.1"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Keyring,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    if !can_encrypt(sql) {
        let why = format!("{} has no encryption at rest", sql.identity.version);
        return Ok(CheckResults::not_applicable(why));
    }
    let found = keyring(sql)?;
    if let Some(keyring) = found.filter(|keyring| keyring.active) {
        let pass = CheckResult::pass("keyring", EvidenceGrade::Reported, format!("{} is active", keyring.name));
        return Ok(CheckResults::one(pass.evidence(keyring.evidence(sql))));
    }
    let (wanted, mut evidence) = wanted(cx, sql);
    let (missing, seen) = match found {
        Some(keyring) => (format!("{} is loaded but {:?}", keyring.name, keyring.status), keyring.evidence(sql)),
        None => ("no keyring is loaded".to_owned(), absence(sql)),
    };
    evidence.insert(0, seen);
    let (severity, consequence) = if wanted.is_empty() {
        (Severity::High, ": nothing can be encrypted".to_owned())
    } else {
        (Severity::Critical, format!(", although encryption is requested or present: {}", wanted.join(", ")))
    };
    let result = CheckResult::fail("keyring", EvidenceGrade::Reported, format!("{missing}{consequence}"))
        .severity(severity)
        .fix(fix(cx, sql));
    Ok(CheckResults::one(evidence.into_iter().fold(result, CheckResult::evidence)))
}

/// Whether this server could encrypt and certainly has no keys.
pub(crate) fn is_missing(sql: &SqlFacts) -> bool {
    can_encrypt(sql) && keyring(sql).is_ok_and(|found| found.is_none_or(|keyring| !keyring.active))
}

/// `ENCRYPTION='N'` and `ENCRYPTED=NO` are table options, too.
fn asks_for_encryption(options: &str) -> bool {
    let plain = options.to_ascii_uppercase().replace(['\'', '"', '`'], "");
    ["ENCRYPTION=Y", "ENCRYPTED=YES", "ENCRYPTED=ON", "ENCRYPTED=1"].iter().any(|option| plain.contains(option))
}

/// The queries that would have shown a key store.
fn absence(sql: &SqlFacts) -> Evidence {
    if sql.is_mariadb() {
        sql.evidence("plugins", "no active plug-in of type ENCRYPTION")
    } else if sql.answers.contains_key("keyring_status") {
        sql.evidence("keyring_status", "no component; no active plug-in of type KEYRING either")
    } else {
        sql.evidence("plugins", "no active plug-in of type KEYRING")
    }
}

/// What requests encryption, or is encrypted already, with the evidence.
fn wanted(cx: &Context<'_>, sql: &SqlFacts) -> (Vec<String>, Vec<Evidence>) {
    let (mut description, mut evidence) = (Vec::new(), Vec::new());
    for name in all_switches() {
        let value = sql.variable_or_none(name).unwrap_or("");
        let asks =
            is_on(value) || value.eq_ignore_ascii_case("FORCE") || value.eq_ignore_ascii_case("ONLINE_TO_KEYRING");
        if asks {
            description.push(format!("{name} = {value}"));
            evidence.push(sql.variable_evidence(name));
        }
    }
    let requested = sql.rows("encrypted_tables_requested").unwrap_or_default();
    let requested = requested.iter().filter(|row| asks_for_encryption(row.text("options"))).count();
    if requested > 0 {
        description.push(format!("{requested} tables with the option"));
        evidence.push(sql.evidence("encrypted_tables_requested", format!("{requested} tables")));
    }
    let encrypted = |state| matches!(state, State::Encrypted | State::Partly);
    let mut present = cx.artefacts.iter().filter(|a| a.bytes.is_some_and(encrypted));
    if let Some(first) = present.next() {
        description.push(format!("{} encrypted files", present.count().saturating_add(1)));
        evidence.extend(first.evidence(cx.facts));
    }
    (description, evidence)
}

fn fix(cx: &Context<'_>, sql: &SqlFacts) -> Remedy {
    if sql.is_mariadb() {
        let (keys, owner) = (beside_datadir(sql, "mysql-keys"), server_user(cx));
        let make = format!(
            "(umask 077 && echo \"1;$(openssl rand -hex 32)\" > {keys}/keyfile) && chown {owner} {keys}/keyfile"
        );
        let lines = [
            "plugin_load_add = file_key_management".to_owned(),
            format!("file_key_management_filename = {keys}/keyfile"),
        ];
        return Remedy::command(format!("install -d -m 0700 -o {owner} {keys}"))
            .and(Remedy::command(make))
            .and(Remedy::option_file(option_group::MARIADB, lines).then_restart())
            .note("better: hashicorp_key_management or aws_key_management; copy the key file to another machine");
    }
    if sql.can(Capability::KeyringComponents) {
        return "write {\"components\": \"file://component_keyring_file\"} (better: a KMS or Vault component) to mysqld.my \
            beside mysqld and the component's .cnf to plugin_dir, then restart"
            .into();
    }
    Remedy::advice(format!(
        "early-plugin-load = keyring_file.so (better: keyring_okv, keyring_vault) and keyring_file_data = FILE under \
            [{}] of the option file, then restart",
        option_group::MYSQLD
    ))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{with_component, with_plugins};
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    const STATUS: &[&str] = &["key", "value"];

    #[test]
    fn an_active_component_passes_although_no_plugin_is_there() {
        assert_eq!(with_component(mysql(), "Active", "/k").statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_disabled_component_fails() {
        let found = with_component(mysql(), "Disabled", "/k").judge(&CHECK);
        assert_eq!(found[0].status, Fail);
        assert!(found[0].message.contains("Disabled"));
    }

    #[test]
    fn a_switch_that_stayed_off_without_keyring_fails() {
        let made =
            with_plugins(mysql(), &[["daemon_keyring_proxy_plugin", "DAEMON"]]).answer("keyring_status", STATUS, &[]);
        let found = made.variable("innodb_redo_log_encrypt", "OFF").judge(&CHECK);
        assert_eq!((found[0].status, found[0].severity), (Fail, Severity::High));
        let made =
            with_plugins(mysql(), &[]).answer("keyring_status", STATUS, &[]).variable("default_table_encryption", "ON");
        assert_eq!(made.judge(&CHECK)[0].severity, Severity::Critical);
    }

    #[test]
    fn plugins_count_by_type() {
        let old = |plugins: &[[&str; 2]]| {
            with_plugins(FactsBuilder::server("5.7.44", "MySQL Community Server (GPL)"), plugins)
        };
        assert_eq!(old(&[["keyring_file", "KEYRING"]]).statuses(&CHECK), [Pass]);
        assert_eq!(old(&[["keyring_udf", "DAEMON"]]).statuses(&CHECK), [Fail]);
        assert_eq!(with_plugins(mariadb(), &[["file_key_management", "ENCRYPTION"]]).statuses(&CHECK), [Pass]);
        assert_eq!(with_plugins(mariadb(), &[]).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn what_was_refused_is_unknown() {
        assert_eq!(with_plugins(mysql(), &[]).refused("keyring_status", 1142).statuses(&CHECK), [Unknown]);
        assert_eq!(mysql().answer("plugins", &["name"], &[]).statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn a_server_without_encryption_is_not_concerned() {
        assert_eq!(FactsBuilder::server("5.6.24", "Source distribution").statuses(&CHECK), [NotApplicable]);
    }
}
