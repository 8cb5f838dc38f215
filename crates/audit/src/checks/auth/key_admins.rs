//! `auth-key-admins`.

use std::collections::{BTreeMap, BTreeSet};

use findings::{Remedy, Severity};
use server::Capability;

use super::{Key, account_evidence, administrators, all_accounts, from_here_only, key_of, logins, spread};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::sql::{Account, SqlFacts};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "auth-key-admins",
    title: "Accounts besides the administrators can switch encryption off or export data",
    severity: Severity::Medium,
    explanation: "Each of these privileges alone undoes encryption at rest: ENCRYPTION_KEY_ADMIN, \
        TABLE_ENCRYPTION_ADMIN, BINLOG_ENCRYPTION_ADMIN, INNODB_REDO_LOG_ENABLE and SYSTEM_VARIABLES_ADMIN change \
        encryption settings; FILE, CLONE_ADMIN and BACKUP_ADMIN can export data. Local administrators are expected to \
        have them and are only counted; every other account is named.",
    applies: "every server; names of dynamic privileges from MySQL 8.0",
    fix: "REVOKE what the account does not need",
    cost: "no lock",
    standards: &["PCI DSS 4.0.1 7.2", "NIST SP 800-53r5 AC-6", "PCI DSS 4.0.1 3.6.1.3"],
    exposes: Exposes::Help(
        Attacker::Operator,
        "The means to switch encryption off, to accounts besides the administrators",
    ),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

const DYNAMIC: &[&str] = &[
    "ENCRYPTION_KEY_ADMIN",
    "TABLE_ENCRYPTION_ADMIN",
    "BINLOG_ENCRYPTION_ADMIN",
    "INNODB_REDO_LOG_ENABLE",
    "CLONE_ADMIN",
    "BACKUP_ADMIN",
    "SYSTEM_VARIABLES_ADMIN",
];

type Powers<'a> = BTreeMap<Key, BTreeSet<&'a str>>;

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let (sql, everybody) = all_accounts(cx)?;
    let (_, accounts) = logins(cx)?;
    let admins = administrators(sql, &everybody);
    let current = privileges_of(sql, &everybody)?;
    let powers = powers(sql, &everybody, &current);
    let mut results = CheckResults::new();
    let mut expected = 0_usize;
    for account in &accounts {
        let key = key_of(account.user, account.host);
        if admins.contains(&key) {
            // Whether an administrator may connect from another host is checked by `auth-root-remote`.
            expected = expected.saturating_add(1);
        } else if let Some(powers) = powers.get(&key) {
            results.push(too_powerful(sql, account, powers, &current));
        }
    }
    let description = format!("only administrators have such privileges ({expected} of {} accounts)", accounts.len());
    results.pass_if_clean(
        CheckResult::pass("server", EvidenceGrade::Reported, &description)
            .evidence(sql.evidence("accounts", description)),
    );
    Ok(results)
}

/// Privileges of each account, its own and through roles.
fn powers<'a>(sql: &SqlFacts, accounts: &[Account<'_>], current: &Powers<'a>) -> Powers<'a> {
    let names: BTreeSet<&str> = current.values().flatten().copied().collect();
    let mut powers = Powers::new();
    for name in names {
        let having = current.iter().filter(|(_, list)| list.contains(name)).map(|(key, _)| key.clone());
        for key in spread(sql, accounts, having.collect()) {
            powers.entry(key).or_default().insert(name);
        }
    }
    powers
}

fn privileges_of<'a>(sql: &'a SqlFacts, accounts: &[Account<'_>]) -> Observed<Powers<'a>> {
    let mut powers = Powers::new();
    for account in accounts.iter().filter(|account| account.file) {
        powers.entry(key_of(account.user, account.host)).or_default().insert("FILE");
    }
    if sql.can(Capability::DynamicPrivileges) {
        for row in sql.rows("dynamic_grants")? {
            if let Some(name) = DYNAMIC.iter().find(|name| row.text("privilege").eq_ignore_ascii_case(name)) {
                powers.entry(key_of(row.text("user"), row.text("host"))).or_default().insert(name);
            }
        }
    }
    Ok(powers)
}

fn too_powerful(sql: &SqlFacts, account: &Account<'_>, powers: &BTreeSet<&str>, current: &Powers<'_>) -> CheckResult {
    let name = account.quoted();
    let list = powers.iter().copied().collect::<Vec<_>>().join(", ");
    let from = if from_here_only(sql, account) { "this host" } else { "other hosts" };
    let by_itself = current.get(&key_of(account.user, account.host)).is_some_and(|current| current.is_superset(powers));
    let (how, fix) = if by_itself {
        ("", Remedy::statement(format!("REVOKE {list} ON *.* FROM {name}")))
    } else {
        (" through a role", format!("REVOKE {list} ON *.* from the role, or the role from {name}").into())
    };
    CheckResult::fail(&name, EvidenceGrade::Reported, format!("{name}, from {from}, has {list}{how}"))
        .evidence(account_evidence(sql, account))
        .evidence(sql.evidence("dynamic_grants", format!("{name}: {list}")))
        .fix(fix)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ALICE, alice_but, with};
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{mariadb, mysql};

    const GRANTS: &[&str] = &["user", "host", "privilege"];

    #[test]
    fn a_key_admin_who_is_no_administrator_fails() {
        let root = alice_but(&[("user", "root"), ("host", "localhost"), ("super", "Y"), ("file", "Y")]);
        let rows: &[&[&str]] =
            &[&["alice", "10.0.0.%", "BACKUP_ADMIN"], &["root", "localhost", "ENCRYPTION_KEY_ADMIN"]];
        let found = with(mysql(), &[&root, &ALICE]).answer("dynamic_grants", GRANTS, rows).judge(&CHECK);
        assert_eq!((found.len(), found[0].status), (1, Fail));
        assert!(found[0].message.contains("BACKUP_ADMIN"));
    }

    #[test]
    fn power_through_a_role_or_through_everybodys_role_counts() {
        let role = alice_but(&[("user", "r"), ("host", "%"), ("is_role", "Y"), ("file", "Y")]);
        let edges: &[&[&str]] = &[&["r", "%", "alice", "10.0.0.%"]];
        let columns = ["role_user", "role_host", "user", "host"];
        let made = || with(mysql(), &[&ALICE, &role]).answer("dynamic_grants", GRANTS, &[]);
        assert_eq!(made().statuses(&CHECK), [Pass]);
        assert_eq!(made().answer("role_edges", &columns, edges).statuses(&CHECK), [Fail]);
        assert_eq!(made().variable("mandatory_roles", "`r`@`%`,x").statuses(&CHECK), [Fail]);
        let public = alice_but(&[("user", "PUBLIC"), ("host", ""), ("is_role", "Y"), ("file", "Y")]);
        assert_eq!(with(mariadb(), &[&ALICE, &public]).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn file_counts_everywhere_and_dynamic_grants_only_on_mysql_8() {
        let file = alice_but(&[("file", "Y")]);
        assert_eq!(with(mariadb(), &[&file]).statuses(&CHECK), [Fail]);
        assert_eq!(with(mariadb(), &[&ALICE]).statuses(&CHECK), [Pass]);
        assert_eq!(with(mysql(), &[&ALICE]).statuses(&CHECK), [Unknown]);
        assert_eq!(with(mysql(), &[&ALICE]).answer("dynamic_grants", GRANTS, &[]).statuses(&CHECK), [Pass]);
    }
}
