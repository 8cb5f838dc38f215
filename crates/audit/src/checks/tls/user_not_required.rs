//! `tls-user-not-required`.

use findings::Severity;

use super::require;
use crate::channel::client::{networking_off, takes_plain_text};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::auth::{from_here_only, logins};
use crate::exposure::{Attacker, Certainty, ClosedBy, Exposes, LockedOut};
use crate::facts::Observed;
use crate::facts::sql::Account;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "tls-user-not-required",
    title: "Remote accounts may log in without TLS",
    severity: Severity::Medium,
    explanation: "While require_secure_transport is off, only the REQUIRE clause of an account keeps its login and \
        rows from being sent in clear. ssl_type comes from mysql.user on MySQL and from the JSON of mysql.global_priv \
        on MariaDB, where a missing ssl_type and 0 both mean none. Roles, locked accounts, the server's own accounts \
        and those of this host are left out.",
    applies: "every server that listens on a network",
    fix: "ALTER USER … REQUIRE SSL",
    cost: "no lock; clients of that account without TLS are refused at their next login",
    standards: &["CIS MySQL 8.2", "PCI DSS 4.0.1 4.2.1"],
    exposes: Exposes::Help(Attacker::Sniffer, "Sessions of accounts that may log in without TLS"),
    closed_by: ClosedBy::Administrator,
    locked_out: Some(LockedOut::new(Certainty::Permitted, "may log in without TLS")),
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if networking_off(cx.facts) {
        return Ok(CheckResults::not_applicable("skip_networking = ON: only this host's sockets reach the server"));
    }
    cx.facts.sql()?;
    let plain = takes_plain_text(cx.facts)?;
    if !plain.value {
        let pass =
            CheckResult::pass("server", plain.grade, "TLS is required of every account that connects over a network");
        return Ok(CheckResults::one(plain.evidence.into_iter().fold(pass, CheckResult::evidence)));
    }
    let (sql, accounts) = logins(cx)?;
    let remote: Vec<&Account<'_>> = accounts.iter().filter(|account| !from_here_only(sql, account)).collect();
    let mut results = CheckResults::new();
    for account in remote.iter().filter(|account| asks_nothing(account)) {
        let name = account.quoted();
        let answer = format!("{name}: ssl_type = {:?}", account.ssl_type);
        results.push(
            CheckResult::fail(&name, EvidenceGrade::Reported, format!("{name} may log in without TLS"))
                .evidence(sql.evidence("accounts", answer))
                .fix(require(sql, &name, "SSL")),
        );
    }
    let message = format!("{} remote accounts, each of which must use TLS", remote.len());
    let answer = format!("{} accounts that can log in, {} of them from other hosts", accounts.len(), remote.len());
    results.pass_if_clean(
        CheckResult::pass("server", EvidenceGrade::Reported, message).evidence(sql.evidence("accounts", answer)),
    );
    Ok(results)
}

/// Whether an account can log in without TLS. MariaDB stores 0 for no requirement, and nothing in older rows.
pub(in crate::checks) fn asks_nothing(account: &Account<'_>) -> bool {
    matches!(account.ssl_type.to_ascii_uppercase().as_str(), "" | "0" | "NONE")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::auth::tests::{alice_but, with};
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    #[test]
    fn a_remote_account_without_require_fails_on_both_families() {
        for made in [mysql(), mariadb()] {
            for ssl_type in ["", "0"] {
                let alice = alice_but(&[("ssl_type", ssl_type)]);
                let facts = with(made_again(&made), &[&alice]);
                let found = facts.judge(&CHECK);
                assert_eq!((found[0].status, found[0].artefact.as_str()), (Fail, "'alice'@'10.0.0.%'"));
            }
        }
    }

    fn made_again(made: &FactsBuilder) -> FactsBuilder {
        FactsBuilder(made.0.clone())
    }

    #[test]
    fn required_by_account_or_by_server_passes() {
        for ssl_type in ["ANY", "X509", "SPECIFIED"] {
            assert_eq!(with(mysql(), &[&alice_but(&[("ssl_type", ssl_type)])]).statuses(&CHECK), [Pass]);
        }
        let free = alice_but(&[("ssl_type", "")]);
        let server = with(mysql().variable("require_secure_transport", "ON"), &[&free]);
        assert_eq!(server.statuses(&CHECK), [Pass]);
        let off = with(mysql().variable("skip_networking", "ON"), &[&free]);
        assert_eq!(off.statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn accounts_that_nobody_can_use_from_afar_are_left_out() {
        for change in [("host", "localhost"), ("host", "127.0.0.1"), ("locked", "Y"), ("is_role", "Y")] {
            let account = alice_but(&[("ssl_type", ""), change]);
            assert_eq!(with(mysql(), &[&account]).statuses(&CHECK), [Pass], "{change:?}");
        }
    }

    #[test]
    fn accounts_that_cannot_be_read_are_unknown() {
        assert_eq!(mysql().refused("accounts", 1142).statuses(&CHECK), [Unknown]);
        assert_eq!(with(mysql(), &[]).statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
