//! `auth-root-remote`.

use findings::{Remedy, Severity};

use super::{account_evidence, administrators, all_accounts, from_here_only, key_of, logins};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::sql::Account;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "auth-root-remote",
    title: "An administrator can log in from other hosts",
    severity: Severity::High,
    explanation: "An account with SUPER or every privilege can switch encryption off, read every table and export all \
        data. If it can log in over the network, one guessed password is enough. Judged from the global grants of each \
        account and of its roles. Left out: locked accounts, roles, and accounts that can connect from this host only.",
    applies: "every server",
    fix: "RENAME USER … TO '…'@'localhost', and administer through ssh or a bastion host",
    cost: "no lock; remote administration with that account stops",
    standards: &["CIS MySQL 5.x", "PCI DSS 4.0.1 7.2"],
    exposes: Exposes::Help(Attacker::Operator, "The whole server, from another host, to whoever learns one password"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let (sql, everybody) = all_accounts(cx)?;
    let (_, accounts) = logins(cx)?;
    let admins = administrators(sql, &everybody);
    let is_admin = |account: &&Account<'_>| admins.contains(&key_of(account.user, account.host));
    let mut results = CheckResults::new();
    let mut local = 0_usize;
    for account in accounts.iter().filter(is_admin) {
        if from_here_only(sql, account) {
            local = local.saturating_add(1);
            continue;
        }
        let name = account.quoted();
        let power = if account.administrator { "by its own grants" } else { "through a role" };
        let result = CheckResult::fail(
            &name,
            EvidenceGrade::Reported,
            format!("{name} is an administrator {power} and not bound to this host"),
        )
        .evidence(account_evidence(sql, account))
        .fix(fix(account, &everybody));
        results.push(if account.administrator {
            result
        } else {
            result.evidence(sql.evidence("role_edges", format!("{name} has been granted an administrator's role")))
        });
    }
    let text = format!("{local} administrators, each bound to this host");
    results.pass_if_clean(
        CheckResult::pass("server", EvidenceGrade::Reported, &text).evidence(sql.evidence("accounts", text)),
    );
    Ok(results)
}

/// Usually an account of the same name exists for this host, and RENAME USER refuses to replace it.
fn fix(account: &Account<'_>, everybody: &[Account<'_>]) -> Remedy {
    let (name, here) = (account.quoted(), account.quoted_at("localhost"));
    if everybody.iter().any(|other| other.user == account.user && other.host == "localhost") {
        return Remedy::statement(format!("DROP USER {name}")).note(format!("{here} stays"));
    }
    Remedy::statement(format!("RENAME USER {name} TO {here}"))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ALICE, alice_but, with};
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{mariadb, mysql};

    #[test]
    fn an_administrator_of_any_host_fails() {
        let root = alice_but(&[("user", "root"), ("host", "%"), ("super", "Y")]);
        let found = with(mysql(), &[&root, &ALICE]).judge(&CHECK);
        assert_eq!((found.len(), found[0].status, found[0].artefact.as_str()), (1, Fail, "'root'@'%'"));
    }

    #[test]
    fn local_locked_and_installer_made_administrators_pass() {
        let root = alice_but(&[("user", "root"), ("host", "localhost"), ("super", "Y")]);
        let locked = alice_but(&[("host", "%"), ("super", "Y"), ("locked", "Y")]);
        let installer = alice_but(&[("user", "root"), ("host", "db1"), ("super", "Y")]);
        assert_eq!(with(mariadb(), &[&root, &locked, &installer]).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn power_through_a_role_counts() {
        let role = alice_but(&[("user", "dba"), ("host", "%"), ("super", "Y"), ("is_role", "Y")]);
        let edges = ["dba", "%", "alice", "10.0.0.%"];
        let made = with(mysql(), &[&role, &ALICE]).answer(
            "role_edges",
            &["role_user", "role_host", "user", "host"],
            &[&edges],
        );
        let found = made.judge(&CHECK);
        assert_eq!(found[0].status, Fail);
        assert!(found[0].message.contains("through a role"));
    }

    #[test]
    fn without_the_account_table_nobody_is_cleared() {
        assert_eq!(mysql().refused("accounts", 1142).statuses(&CHECK), [Unknown]);
    }
}
