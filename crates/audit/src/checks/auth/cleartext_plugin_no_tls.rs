//! `auth-cleartext-plugin-no-tls`.

use findings::Severity;
use server::auth_plugin::{CLEAR_PASSWORD, PAM};
use server::dialect::variable;
use server::switch::is_on;

use super::{account_evidence, from_here_only, has_plugin, logins};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::tls::require;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "auth-cleartext-plugin-no-tls",
    title: "An account that sends its password in clear can log in without TLS",
    severity: Severity::Critical,
    explanation: "PAM and simple LDAP need the password itself, so the client sends it in clear. Without TLS \
        everybody on the network path can read it, and it is the password of a person's directory account. Judged from \
        each account's plug-in and ssl_type and from require_secure_transport; accounts that can connect from this \
        host only are left out, because a socket counts as secure.",
    applies: "every server",
    fix: "ALTER USER … REQUIRE SSL",
    cost: "no lock; clients of that account without TLS are refused at their next login",
    standards: &["PCI DSS 4.0.1 8.3.2", "PCI DSS 4.0.1 4.2.1"],
    exposes: Exposes::Data(Attacker::Sniffer, "Passwords of accounts that send them in clear"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

/// Percona's PAM, MySQL's PAM and simple LDAP, MariaDB's PAM, and the client-side name that some sites store.
const CLEARTEXT: &[&str] =
    &["auth_pam", "auth_pam_compat", "authentication_pam", "authentication_ldap_simple", CLEAR_PASSWORD, PAM];

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let (sql, accounts) = logins(cx)?;
    let cleartext: Vec<_> = accounts.iter().filter(|account| has_plugin(account, CLEARTEXT)).collect();
    // Old servers lack the variable; then only the account can require TLS.
    let everywhere = sql.variable_or_none(variable::REQUIRE_SECURE_TRANSPORT).is_some_and(is_on);
    let mut results = CheckResults::new();
    for account in &cleartext {
        if everywhere || !account.ssl_type.is_empty() || from_here_only(sql, account) {
            continue;
        }
        let name = account.quoted();
        results.push(
            CheckResult::fail(
                &name,
                EvidenceGrade::Reported,
                format!("{name} sends its password in clear and may log in without TLS"),
            )
            .evidence(account_evidence(sql, account))
            .evidence(sql.variable_evidence(variable::REQUIRE_SECURE_TRANSPORT))
            .fix(require(sql, &name, "SSL")),
        );
    }
    let message =
        format!("{} of {} accounts use such a plug-in, and none of them without TLS", cleartext.len(), accounts.len());
    results.pass_if_clean(
        CheckResult::pass("server", EvidenceGrade::Reported, message)
            .evidence(sql.evidence("accounts", format!("{} accounts that can log in", accounts.len()))),
    );
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{alice_but, with};
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    #[test]
    fn pam_without_tls_fails() {
        let alice = alice_but(&[("plugin", "authentication_pam"), ("ssl_type", "")]);
        let found = with(mysql(), &[&alice]).judge(&CHECK);
        assert_eq!(found[0].status, Fail);
        assert_eq!(found[0].artefact, "'alice'@'10.0.0.%'");
        let pam = alice_but(&[("plugin", "pam"), ("ssl_type", "")]);
        assert_eq!(with(mariadb(), &[&pam]).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn tls_by_account_by_server_or_by_socket_passes() {
        let required = alice_but(&[("plugin", "authentication_pam"), ("ssl_type", "X509")]);
        assert_eq!(with(mysql(), &[&required]).statuses(&CHECK), [Pass]);
        let free = alice_but(&[("plugin", "authentication_pam"), ("ssl_type", "")]);
        let server = with(mysql().variable("require_secure_transport", "ON"), &[&free]);
        assert_eq!(server.statuses(&CHECK), [Pass]);
        let local = alice_but(&[("plugin", "authentication_pam"), ("ssl_type", ""), ("host", "localhost")]);
        assert_eq!(with(mysql(), &[&local]).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn accounts_that_cannot_be_read_are_unknown() {
        assert_eq!(mysql().refused("accounts", 1142).statuses(&CHECK), [Unknown]);
        assert_eq!(with(mysql(), &[]).statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
