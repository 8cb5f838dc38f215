//! `auth-weak-plugin`.

use findings::{Remedy, Severity};
use server::Capability;
use server::auth_plugin::{CACHING_SHA2_PASSWORD, ED25519, NATIVE_PASSWORD, OLD_PASSWORD, PARSEC, SHA256_PASSWORD};

use super::{account_evidence, has_plugin, logins};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::sql::{Account, SqlFacts};
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "auth-weak-plugin",
    title: "Passwords are stored and checked with SHA-1 or older",
    severity: Severity::Medium,
    explanation: "mysql_native_password stores an unsalted double SHA-1: an attacker with the account table can try \
        billions of passwords a second. mysql_old_password is broken. sha256_password is deprecated since MySQL \
        8.0.16, yet still loads. Judged from each account's plug-in; an empty plug-in is the native one.",
    applies: "every server",
    fix: "caching_sha2_password on MySQL; ed25519 or parsec on MariaDB",
    cost: "no lock; the account needs a new password, and clients that know the plug-in",
    standards: &["PCI DSS 4.0.1 8.3.2", "CIS MySQL 7.1", "NIST SP 800-53r5 IA-5"],
    exposes: Exposes::Help(Attacker::Operator, "Passwords, to whoever gets their hashes"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

/// What is wrong with an account's plug-in, and the severity.
fn weakness(sql: &SqlFacts, account: &Account<'_>) -> Option<(&'static str, Severity)> {
    if has_plugin(account, &[OLD_PASSWORD]) {
        return Some(("a hash from before MySQL 4.1", Severity::High));
    }
    // MariaDB's installer creates `mysql_native_password` with a hash that no password matches.
    if has_plugin(account, &[NATIVE_PASSWORD, ""]) && account.unusable_password != Some(true) {
        return Some(("unsalted SHA-1", Severity::Medium));
    }
    // MySQL before 8.0 has no better plug-in than this one.
    if has_plugin(account, &[SHA256_PASSWORD]) && sql.can(Capability::CachingSha2) {
        return Some(("sha256_password, which is deprecated", Severity::Low));
    }
    None
}

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let (sql, accounts) = logins(cx)?;
    let mut results = CheckResults::new();
    for account in &accounts {
        let Some((what, severity)) = weakness(sql, account) else { continue };
        let name = account.quoted();
        if undecided(account) {
            results.push_unknown(&name, unseen(&name));
            continue;
        }
        results.push(
            CheckResult::fail(&name, EvidenceGrade::Reported, format!("{name} authenticates with {what}"))
                .severity(severity)
                .evidence(account_evidence(sql, account))
                .fix(fix(sql, &name)),
        );
    }
    results.pass_if_clean(
        CheckResult::pass(
            "server",
            EvidenceGrade::Reported,
            format!("none of {} accounts uses a weak plug-in", accounts.len()),
        )
        .evidence(sql.evidence("accounts", format!("{} accounts that can log in", accounts.len()))),
    );
    Ok(results)
}

/// Whether the weak plug-in is one of several alternatives, and it is unknown whether a password can match.
///
/// Every new MariaDB has such an account: root with the password hash `invalid`, or through the socket.
fn undecided(account: &Account<'_>) -> bool {
    account.unusable_password.is_none() && super::plugins(account).count() > 1
}

fn unseen(name: &str) -> Unavailable {
    Unavailable {
        what: format!("whether {name} has a usable password besides its other authentication methods"),
        why: "the facts do not tell whether its stored hash can match".to_owned(),
        remedy: format!("see SHOW CREATE USER {name}: a hash of 'invalid' matches no password"),
    }
}

fn fix(sql: &SqlFacts, name: &str) -> Remedy {
    let alter = |how: &str| Remedy::statement(format!("ALTER USER {name} IDENTIFIED {how}"));
    if sql.can(Capability::Parsec) {
        Remedy::statement("INSTALL SONAME 'auth_parsec'")
            .and(alter(&format!("VIA {PARSEC} USING PASSWORD('a new password')")))
    } else if sql.is_mariadb() {
        Remedy::statement("INSTALL SONAME 'auth_ed25519'")
            .and(alter(&format!("VIA {ED25519} USING PASSWORD('a new password')")))
    } else if sql.can(Capability::CachingSha2) {
        alter(&format!("WITH {CACHING_SHA2_PASSWORD} BY 'a new password'"))
    } else if sql.mysql_can(Capability::AlterUser) {
        alter(&format!("WITH {SHA256_PASSWORD} BY 'a new password' REQUIRE SSL")).and("then upgrade the server")
    } else {
        format!("upgrade the server: {} has no ALTER USER … IDENTIFIED WITH for {name}", sql.identity.version).into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ALICE, alice_but, with};
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    #[test]
    fn native_and_old_passwords_fail() {
        let native = alice_but(&[("plugin", "mysql_native_password")]);
        let found = with(FactsBuilder::server("8.0.36", "MySQL Community Server - GPL"), &[&native]).judge(&CHECK);
        assert_eq!((found[0].status, found[0].severity), (Fail, Severity::Medium));
        let unnamed = alice_but(&[("plugin", "")]);
        assert_eq!(with(mariadb(), &[&unnamed]).statuses(&CHECK), [Fail]);
        let old = alice_but(&[("plugin", "mysql_old_password")]);
        let server = with(FactsBuilder::server("5.6.24", "Source distribution"), &[&old]);
        assert_eq!(server.judge(&CHECK)[0].severity, Severity::High);
    }

    #[test]
    fn sha256_is_weak_only_where_there_is_better() {
        let sha256 = alice_but(&[("plugin", "sha256_password")]);
        assert_eq!(with(mysql(), &[&sha256]).statuses(&CHECK), [Fail]);
        let old = FactsBuilder::server("5.7.44", "MySQL Community Server (GPL)");
        assert_eq!(with(old, &[&sha256]).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn locked_accounts_roles_and_sockets_pass() {
        let locked = alice_but(&[("plugin", "mysql_native_password"), ("locked", "Y")]);
        let role = alice_but(&[("plugin", ""), ("is_role", "Y")]);
        let socket = alice_but(&[("plugin", "unix_socket"), ("empty_credential", "Y")]);
        assert_eq!(with(mariadb(), &[&locked, &role, &socket, &ALICE]).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_fresh_mariadbs_root_is_not_accused() {
        let root = alice_but(&[("user", "root"), ("plugin", "mysql_native_password,unix_socket")]);
        assert_eq!(with(mariadb(), &[&root]).statuses(&CHECK), [Unknown]);
        let reported = |unusable| {
            let columns: Vec<&str> =
                super::super::tests::COLUMNS.iter().copied().chain(["unusable_credential"]).collect();
            let row: Vec<&str> = root.iter().copied().chain([unusable]).collect();
            mariadb().answer("accounts", &columns, &[&row]).statuses(&CHECK)
        };
        assert_eq!(reported("Y"), [Pass]);
        assert_eq!(reported("N"), [Fail]);
    }

    #[test]
    fn a_refused_answer_is_unknown() {
        let found = mysql().refused("accounts", 1142).judge(&CHECK);
        assert_eq!(found[0].status, Unknown);
        assert!(found[0].remediation.as_ref().unwrap().contains("GRANT SELECT"));
    }
}
