//! `auth-wildcard-host`.

use findings::{Remedy, Severity};

use super::{account_evidence, logins};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::sql::Account;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "auth-wildcard-host",
    title: "An account may log in from any host",
    severity: Severity::Medium,
    explanation: "The host part '%' (or an empty one) accepts every host, so that one leaked password can be used \
        from anywhere. A network such as '10.1.%' is a restriction and passes.",
    applies: "every server",
    fix: "RENAME USER 'u'@'%' TO 'u'@'10.1.%'",
    cost: "no lock; logins from other networks are refused",
    standards: &["CIS MySQL 7.x"],
    exposes: Exposes::Help(Attacker::Operator, "A login from any host, to whoever learns a password"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let (sql, accounts) = logins(cx)?;
    let anywhere =
        |account: &&Account<'_>| ["%", "", "%.%", "%.%.%.%", "%:%", "0.0.0.0/0.0.0.0"].contains(&account.host);
    let mut results = CheckResults::new();
    for account in accounts.iter().filter(anywhere) {
        let name = account.quoted();
        results.push(
            CheckResult::fail(&name, EvidenceGrade::Reported, format!("{name} may log in from any host"))
                .evidence(account_evidence(sql, account))
                .fix(Remedy::statement(format!("RENAME USER {name} TO {}", account.quoted_at("NETWORK.%")))),
        );
    }
    let message = format!("none of {} accounts accepts every host", accounts.len());
    results.pass_if_clean(
        CheckResult::pass("server", EvidenceGrade::Reported, &message).evidence(sql.evidence("accounts", message)),
    );
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ALICE, alice_but, with};
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::mysql;

    #[test]
    fn any_host_fails_and_a_network_passes() {
        let any = alice_but(&[("host", "%")]);
        assert_eq!(with(mysql(), &[&any, &ALICE]).statuses(&CHECK), [Fail]);
        assert_eq!(with(mysql(), &[&ALICE]).statuses(&CHECK), [Pass]);
        assert_eq!(mysql().refused("accounts", 1142).statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn a_role_has_no_login() {
        let role = alice_but(&[("host", "%"), ("is_role", "Y")]);
        assert_eq!(with(mysql(), &[&role, &ALICE]).statuses(&CHECK), [Pass]);
    }
}
