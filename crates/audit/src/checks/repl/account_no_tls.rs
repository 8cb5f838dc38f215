//! `repl-account-no-tls`.

use findings::Severity;

use crate::channel::client::{networking_off, takes_plain_text};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::auth::{from_here_only, holders, key_of, logins};
use crate::checks::tls::require;
use crate::checks::tls::user_not_required::asks_nothing;
use crate::exposure::{Attacker, Certainty, ClosedBy, Exposes, LockedOut};
use crate::facts::Observed;
use crate::facts::sql::Account;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "repl-account-no-tls",
    title: "An account that may read the binary log need not use TLS",
    severity: Severity::Medium,
    explanation: "Such an account can read every changed row of the server. The replica decides whether it uses TLS, \
        unless the source requires it. Judged from REPLICATION SLAVE in the account's global grants and its ssl_type.",
    applies: "every server that listens on a network",
    fix: "ALTER USER … REQUIRE X509",
    cost: "no lock; a replica without TLS is refused when it connects again",
    standards: &["PCI DSS 4.0.1 4.2.1"],
    exposes: Exposes::Help(Attacker::Sniffer, "Replication by accounts that may log in without TLS"),
    closed_by: ClosedBy::Administrator,
    locked_out: Some(LockedOut::new(Certainty::Permitted, "may replicate without TLS")),
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if networking_off(cx.facts) {
        return Ok(CheckResults::not_applicable("skip_networking = ON: no replica can connect"));
    }
    let (sql, accounts) = logins(cx)?;
    let holders = holders(sql, &sql.accounts()?, |account| account.replica);
    let may_pull =
        |account: &&Account<'_>| holders.contains(&key_of(account.user, account.host)) && !from_here_only(sql, account);
    let pulling: Vec<&Account<'_>> = accounts.iter().filter(may_pull).collect();
    let plain = takes_plain_text(cx.facts)?;
    let mut results = CheckResults::new();
    for account in pulling.iter().filter(|account| plain.value && asks_nothing(account)) {
        let name = account.quoted();
        let answer = format!("{name}: repl_slave = Y, ssl_type = {:?}", account.ssl_type);
        results.push(
            CheckResult::fail(&name, EvidenceGrade::Reported, format!("{name} may read the binary log in clear"))
                .evidence(sql.evidence("accounts", answer))
                .fix(require(sql, &name, "SSL").note("or X509, if the replica has a certificate")),
        );
    }
    let answer = format!("{} accounts from other hosts may read the binary log, none of them in clear", pulling.len());
    let pass =
        CheckResult::pass("server", EvidenceGrade::Reported, &answer).evidence(sql.evidence("accounts", &answer));
    results.pass_if_clean(plain.evidence.into_iter().fold(pass, CheckResult::evidence));
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::auth::tests::{alice_but, with};
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{mariadb, mysql};

    #[test]
    fn a_replication_account_without_require_fails() {
        let repl = alice_but(&[("user", "repl"), ("repl_slave", "Y"), ("ssl_type", "")]);
        for made in [mysql(), mariadb()] {
            let found = with(made, &[&repl]).judge(&CHECK);
            assert_eq!((found[0].status, found[0].artefact.as_str()), (Fail, "'repl'@'10.0.0.%'"));
        }
        assert_eq!(with(mysql().variable("require_secure_transport", "ON"), &[&repl]).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn with_require_or_without_the_privilege_it_passes() {
        let repl = alice_but(&[("user", "repl"), ("repl_slave", "Y"), ("ssl_type", "X509")]);
        assert_eq!(with(mysql(), &[&repl]).statuses(&CHECK), [Pass]);
        assert_eq!(with(mysql(), &[&alice_but(&[("ssl_type", "")])]).statuses(&CHECK), [Pass]);
        assert_eq!(mysql().refused("accounts", 1142).statuses(&CHECK), [Unknown]);
    }
}
