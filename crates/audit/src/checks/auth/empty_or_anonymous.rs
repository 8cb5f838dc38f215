//! `auth-empty-or-anonymous`.

use findings::{Remedy, Severity};
use server::Capability;
use server::dialect::statement::set_password;

use super::{account_evidence, by_password, logins};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::sql::{Account, SqlFacts};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "auth-empty-or-anonymous",
    title: "An account has no password or no name",
    severity: Severity::Critical,
    explanation: "Whoever reaches the port can log in. Left out: accounts whose plug-in asks the operating system or \
        a directory (auth_socket, unix_socket, PAM, LDAP, Kerberos) and whose credential is empty by design, locked \
        accounts, and roles.",
    applies: "every server",
    fix: "give it a password, ALTER USER … ACCOUNT LOCK, or DROP USER",
    cost: "no lock; clients that rely on it are refused at their next login",
    standards: &["CIS MySQL 7.x", "PCI DSS 4.0.1 8.3.1"],
    exposes: Exposes::Help(Attacker::Operator, "A login without a password"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let (sql, accounts) = logins(cx)?;
    let mut results = CheckResults::new();
    for account in &accounts {
        if let Some(result) = open_account(sql, account) {
            results.push(result.evidence(account_evidence(sql, account)));
        }
    }
    let message = format!("every one of {} accounts has a name and a credential", accounts.len());
    results.pass_if_clean(
        CheckResult::pass("server", EvidenceGrade::Reported, message)
            .evidence(sql.evidence("accounts", format!("{} accounts that can log in", accounts.len()))),
    );
    Ok(results)
}

fn open_account(sql: &SqlFacts, account: &Account<'_>) -> Option<CheckResult> {
    let name = account.quoted();
    let empty = account.empty_credential && by_password(account);
    if account.user.is_empty() {
        let external = !by_password(account);
        let what = if empty { "without a password" } else { "for any name" };
        return Some(
            CheckResult::fail(&name, EvidenceGrade::Reported, format!("anonymous account {name} lets in {what}"))
                // With PAM or LDAP this is the documented way to map groups to accounts.
                .severity(if external { Severity::Medium } else { Severity::Critical })
                .fix(Remedy::statement(format!("DROP USER {name}"))),
        );
    }
    empty.then(|| {
        CheckResult::fail(&name, EvidenceGrade::Reported, format!("{name} has an empty password"))
            .fix(Remedy::statement(password(sql, account)))
    })
}

fn password(sql: &SqlFacts, account: &Account<'_>) -> String {
    let name = account.quoted();
    // MariaDB 10.4.3 and newer have `unix_socket` built in; it never accepts a TCP connection.
    if sql.can(Capability::UnixSocketBuiltIn) && account.user == "root" && account.host == "localhost" {
        return format!("ALTER USER {name} IDENTIFIED VIA unix_socket");
    }
    set_password(&sql.identity.version, &name, "a password")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ALICE, alice_but, with};
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    #[test]
    fn empty_passwords_and_empty_names_fail() {
        let empty = alice_but(&[("empty_credential", "Y")]);
        let nobody = alice_but(&[("user", ""), ("host", "localhost")]);
        let found = with(mysql(), &[&empty, &nobody, &ALICE]).judge(&CHECK);
        let seen: Vec<_> = found.iter().map(|f| (f.status, f.artefact.as_str())).collect();
        assert_eq!(seen, [(Fail, "'alice'@'10.0.0.%'"), (Fail, "''@'localhost'")]);
        assert_eq!(found[0].severity, Severity::Critical);
    }

    #[test]
    fn a_socket_account_needs_no_password() {
        let root =
            alice_but(&[("user", "root"), ("host", "localhost"), ("plugin", "unix_socket"), ("empty_credential", "Y")]);
        assert_eq!(with(mariadb(), &[&root]).statuses(&CHECK), [Pass]);
        let socket = alice_but(&[("plugin", "auth_socket"), ("empty_credential", "Y")]);
        assert_eq!(with(mysql(), &[&socket]).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn roles_locked_and_internal_accounts_pass() {
        let role = alice_but(&[("empty_credential", "Y"), ("is_role", "Y"), ("plugin", "")]);
        let locked = alice_but(&[("empty_credential", "Y"), ("locked", "Y")]);
        let named = [("user", "mariadb.sys"), ("plugin", ""), ("empty_credential", "Y")];
        let current = alice_but(&[&named[..], &[("host", "localhost")]].concat());
        assert_eq!(with(mariadb(), &[&alice_but(&named)]).statuses(&CHECK), [Fail]);
        assert_eq!(with(mariadb(), &[&role, &locked, &current, &ALICE]).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn the_command_fits_the_version() {
        let empty = alice_but(&[("empty_credential", "Y"), ("plugin", "mysql_native_password")]);
        let old = with(FactsBuilder::server("5.6.24", "Source distribution"), &[&empty]).judge(&CHECK);
        assert!(old[0].remediation.as_ref().unwrap().starts_with("SET PASSWORD FOR"));
        assert_eq!(mysql().refused("accounts", 1142).statuses(&CHECK), [Unknown]);
    }
}
