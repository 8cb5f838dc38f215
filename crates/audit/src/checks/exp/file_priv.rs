//! `exp-file-priv`.

use findings::{Remedy, Severity};
use server::Capability;

use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice::{beside_datadir, server_user, set_at_start};
use crate::checks::auth::{holders, key_of, logins};
use crate::checks::setting::nullable;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::sql::SqlFacts;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "exp-file-priv",
    title: "Accounts with FILE may read and write anywhere on the host",
    severity: Severity::Medium,
    explanation: "An empty secure_file_priv lets LOAD_FILE, LOAD DATA and SELECT … INTO OUTFILE use every path that \
        the server's user can: an account can write clear exports of encrypted tables anywhere, and read the key file. \
        Empty is MariaDB's default; NULL, on MySQL, forbids all of it.",
    applies: "every server",
    fix: "secure_file_priv = a directory of its own, or NULL on MySQL",
    cost: "one restart; exports and imports elsewhere are refused",
    standards: &["CIS MySQL 4.x"],
    exposes: Exposes::Help(Attacker::Operator, "Files of the host, to accounts with FILE"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    let value = nullable(sql, "secure_file_priv")?;
    let shown = sql.evidence(
        "variables",
        format!("secure_file_priv = {}", value.map_or_else(|| "NULL".to_owned(), |v| format!("'{v}'"))),
    );
    if let Some(limit) = limited(sql, value) {
        return Ok(CheckResults::one(
            CheckResult::pass("secure_file_priv", EvidenceGrade::Declared, limit).evidence(shown),
        ));
    }
    let able = logins(cx).and_then(|(_, accounts)| {
        let holders = holders(sql, &sql.accounts()?, |account| account.file);
        let able = accounts.iter().filter(|account| holders.contains(&key_of(account.user, account.host)));
        Ok(able.map(crate::facts::sql::Account::quoted).collect::<Vec<_>>())
    });
    let (who, seen) = match able {
        Ok(able) if able.is_empty() => {
            let text = "secure_file_priv is empty, and no account that can log in has FILE";
            let pass = CheckResult::pass("secure_file_priv", EvidenceGrade::Reported, text);
            return Ok(CheckResults::one(
                pass.evidence(shown).evidence(sql.evidence("accounts", "no account with FILE")),
            ));
        }
        Ok(able) => (format!("accounts with FILE: {}", able.join(", ")), EvidenceGrade::Reported),
        Err(unseen) => (format!("who has FILE is not known ({})", unseen.why), EvidenceGrade::Declared),
    };
    Ok(CheckResults::one(
        CheckResult::fail(
            "secure_file_priv",
            seen,
            format!("secure_file_priv is empty: every path may be read and written; {who}"),
        )
        .evidence(shown)
        .evidence(sql.evidence("accounts", who))
        .fix(fix(cx, sql)),
    ))
}

/// How the variable restricts; `None` if it does not. MySQL has the value NULL for "nowhere"; MariaDB has no such
/// value.
fn limited(sql: &SqlFacts, value: Option<&str>) -> Option<String> {
    match value {
        Some("") => None,
        None if sql.is_mariadb() => None,
        None => Some("no file may be read or written".to_owned()),
        Some(value) if value.eq_ignore_ascii_case("NULL") && !sql.is_mariadb() => {
            Some("no file may be read or written".to_owned())
        }
        Some(directory) => Some(format!("only files below {directory}")),
    }
}

/// A server does not start if the directory is missing. NULL is supported since MySQL 5.7.6, and by late releases of
/// 5.6.
fn fix(cx: &Context<'_>, sql: &SqlFacts) -> Remedy {
    if sql.can(Capability::SecureFilePrivNull) {
        return set_at_start(sql, "secure_file_priv", "NULL");
    }
    let directory = beside_datadir(sql, "mysql-files");
    let make = format!("install -d -m 0700 -o {} {directory}", server_user(cx));
    Remedy::command(make).and(set_at_start(sql, "secure_file_priv", &directory))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::auth::tests::{ALICE, alice_but, with};
    use crate::facts::sql::QueryOutcome;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn null(mut made: FactsBuilder) -> FactsBuilder {
        let answer = made.0.sql.as_mut().unwrap().answers.get_mut("variables").unwrap();
        if let QueryOutcome::Rows { rows, .. } = &mut answer.outcome {
            rows.push(vec![Some("secure_file_priv".to_owned()), None]);
        }
        made
    }

    #[test]
    fn null_and_empty_are_opposites() {
        assert_eq!(null(mysql()).statuses(&CHECK), [Pass]);
        assert_eq!(mysql().variable("secure_file_priv", "NULL").statuses(&CHECK), [Pass]);
        assert_eq!(mysql().variable("secure_file_priv", "").statuses(&CHECK), [Fail]);
        assert_eq!(mysql().variable("secure_file_priv", "/var/lib/mysql-files/").statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_directory_is_made_before_it_is_named() {
        for made in [mariadb(), FactsBuilder::server("5.6.24", "Source distribution")] {
            let found = made.variable("secure_file_priv", "").judge(&CHECK);
            let fix = found[0].remediation.as_deref().unwrap();
            assert!(
                fix.starts_with("install -d -m 0700 -o mysql /var/lib/mysql-files; secure_file_priv = /var"),
                "{fix}"
            );
        }
    }

    #[test]
    fn mariadb_without_a_value_has_no_limit() {
        assert_eq!(null(mariadb()).statuses(&CHECK), [Fail]);
        assert_eq!(mariadb().variable("secure_file_priv", "").statuses(&CHECK), [Fail]);
        assert_eq!(mariadb().statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn without_file_grants_nobody_can_use_it() {
        let empty = mariadb().variable("secure_file_priv", "");
        assert_eq!(with(empty, &[&ALICE]).statuses(&CHECK), [Pass]);
        let file = alice_but(&[("file", "Y")]);
        let empty = mariadb().variable("secure_file_priv", "");
        assert!(with(empty, &[&file]).judge(&CHECK)[0].message.contains("'alice'@"));
    }
}
