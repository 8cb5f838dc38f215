//! `auth-key-admins`.

use std::collections::{BTreeMap, BTreeSet};

use super::{account_evidence, administrators, all_accounts, from_here_only, key_of, logins};
use crate::check::{Check, Context, Ruling, Verdict};
use crate::facts::Seen;
use crate::facts::sql::{Account, SqlFacts};
use crate::finding::{Grade, Severity};

pub(crate) const CHECK: Check = Check {
    id: "auth-key-admins",
    title: "Accounts besides the administrators can switch encryption off or export data",
    severity: Severity::Medium,
    explanation: "Each of these privileges alone undoes encryption at rest: ENCRYPTION_KEY_ADMIN, \
        TABLE_ENCRYPTION_ADMIN, BINLOG_ENCRYPTION_ADMIN and INNODB_REDO_LOG_ENABLE act on the switches, FILE, \
        CLONE_ADMIN and BACKUP_ADMIN carry data out. Local administrators are expected to have them and are only \
        counted; everybody else is named.",
    applies: "every server; names of dynamic privileges from MySQL 8.0",
    fix: "REVOKE what the account does not need",
    cost: "no lock",
    standards: &["PCI DSS 4.0.1 7.2", "NIST SP 800-53r5 AC-6", "PCI DSS 4.0.1 3.6.1.3"],
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

type Powers<'a> = BTreeMap<(String, String), BTreeSet<&'a str>>;

fn judge(cx: &Context<'_>) -> Seen<Verdict> {
    let (sql, everybody) = all_accounts(cx)?;
    let (_, accounts) = logins(cx)?;
    let admins = administrators(sql, &everybody);
    let powers = powers(sql, &everybody)?;
    let mut verdict = Verdict::new();
    let mut expected = 0_usize;
    for account in &accounts {
        let key = key_of(account.user, account.host);
        if admins.contains(&key) {
            // Whether an administrator may come from elsewhere is `auth-root-remote`.
            expected = expected.saturating_add(1);
        } else if let Some(powers) = powers.get(&key) {
            verdict.push(too_mighty(sql, account, powers));
        }
    }
    let words = format!("only administrators have such privileges ({expected} of {} accounts)", accounts.len());
    verdict.pass_if_clean(Ruling::pass("server", Grade::Reported, &words).evidence(sql.evidence("accounts", words)));
    Ok(verdict)
}

fn powers<'a>(sql: &'a SqlFacts, accounts: &[Account<'_>]) -> Seen<Powers<'a>> {
    let mut powers = Powers::new();
    for account in accounts.iter().filter(|account| account.file) {
        powers.entry(key_of(account.user, account.host)).or_default().insert("FILE");
    }
    if sql.mysql_since(8, 0, 0) {
        for row in sql.rows("dynamic_grants")? {
            if let Some(name) = DYNAMIC.iter().find(|name| row.text("privilege").eq_ignore_ascii_case(name)) {
                powers.entry(key_of(row.text("user"), row.text("host"))).or_default().insert(name);
            }
        }
    }
    Ok(powers)
}

fn too_mighty(sql: &SqlFacts, account: &Account<'_>, powers: &BTreeSet<&str>) -> Ruling {
    let name = account.quoted();
    let list = powers.iter().copied().collect::<Vec<_>>().join(", ");
    let from = if from_here_only(sql, account) { "this host" } else { "other hosts" };
    Ruling::fail(&name, Grade::Reported, format!("{name}, from {from}, has {list}"))
        .evidence(account_evidence(sql, account))
        .evidence(sql.evidence("dynamic_grants", format!("{name}: {list}")))
        .fix(format!("REVOKE {list} ON *.* FROM {name}"))
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
    fn file_counts_everywhere_and_dynamic_grants_only_on_mysql_8() {
        let file = alice_but(&[("file", "Y")]);
        assert_eq!(with(mariadb(), &[&file]).statuses(&CHECK), [Fail]);
        assert_eq!(with(mariadb(), &[&ALICE]).statuses(&CHECK), [Pass]);
        assert_eq!(with(mysql(), &[&ALICE]).statuses(&CHECK), [Unknown]);
        assert_eq!(with(mysql(), &[&ALICE]).answer("dynamic_grants", GRANTS, &[]).statuses(&CHECK), [Pass]);
    }
}
