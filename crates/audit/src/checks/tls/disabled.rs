//! `tls-disabled`.

use findings::{Remedy, Severity};
use server::Capability;
use server::dialect::setting::reload_tls;
use server::dialect::variable;
use server::option_group;

use crate::channel::client::{networking_off, offers_tls, seen_at};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::wire::{ADMIN_PORT, MAIN_PORT};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "tls-disabled",
    title: "The server offers no TLS",
    severity: Severity::Critical,
    explanation: "Without TLS every query, row and login is readable on the network. The greeting of the port shows \
        the capability CLIENT_SSL; without a probe the audit's own connection, performance_schema.tls_channel_status \
        or have_ssl decides. MySQL 8.4 and later have no have_ssl: its absence means nothing.",
    applies: "every server that listens on a network",
    fix: "set ssl_cert, ssl_key and ssl_ca, then reload or restart",
    cost: "no lock; a restart where the server cannot reload certificates",
    standards: &["PCI DSS 4.0.1 4.2.1", "HIPAA 164.312(e)(2)(ii)", "NIST SP 800-53r5 SC-8(1)"],
    exposes: Exposes::Data(Attacker::Sniffer, "Everything: the server offers no encryption at all"),
    closed_by: ClosedBy::Cert,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let said = offers_tls(cx.facts);
    if networking_off(cx.facts) && !said.as_ref().is_ok_and(|said| said.value) {
        return Ok(CheckResults::not_applicable("skip_networking = ON: the server listens on no network"));
    }
    let said = said?;
    let result = if said.value {
        CheckResult::pass(MAIN_PORT, said.grade, "the server offers TLS")
    } else {
        CheckResult::fail(MAIN_PORT, said.grade, "the server offers no TLS: everything is sent in clear").fix(fix(cx))
    };
    let mut results = CheckResults::one(said.evidence.into_iter().fold(result, CheckResult::evidence));
    admin_port(cx, &mut results);
    Ok(results)
}

/// The administrative port has its own variables.
fn admin_port(cx: &Context<'_>, results: &mut CheckResults) {
    let ports = cx.facts.wire.as_ref().map(|wire| wire.ports()).unwrap_or_default();
    for port in ports.iter().filter(|port| port.name == ADMIN_PORT && port.offers_tls == Some(false)) {
        let result =
            CheckResult::fail(port.name, EvidenceGrade::Wire, "the administrative port offers no TLS").fix(fix(cx));
        results.push(result.evidence(seen_at(port, "the greeting offers no TLS (CLIENT_SSL is not set)")));
    }
}

fn fix(cx: &Context<'_>) -> Remedy {
    let files = "ssl_ca, ssl_cert and ssl_key";
    match &cx.facts.sql {
        Some(sql) if sql.mysql_can(Capability::ReloadTls) => advice::set_variable(sql, variable::SSL_CA, "ca.pem")
            .and(advice::set_variable(sql, variable::SSL_CERT, "server-cert.pem"))
            .and(advice::set_variable(sql, variable::SSL_KEY, "server-key.pem"))
            .and(Remedy::statement(reload_tls(sql.flavor()))),
        sql => {
            let group = sql.as_ref().map_or(option_group::MYSQLD, advice::group);
            Remedy::advice(format!("{files} below [{group}] in the option file, no skip_ssl")).then_restart()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::made::{classic, good_tls, probed};
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    #[test]
    fn the_greeting_outranks_what_the_server_declares() {
        let found = probed(mysql().variable("have_ssl", "YES"), None).judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Wire)));
    }

    #[test]
    fn a_server_without_have_ssl_is_not_one_without_tls() {
        let found = probed(mysql(), Some(good_tls())).judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Pass, Some(EvidenceGrade::Wire)));
        let columns = ["channel", "property", "value"];
        let reported = mysql().answer("tls_channels", &columns, &[&["mysql_main", "Enabled", "Yes"]]);
        assert_eq!(reported.judge(&CHECK)[0].grade, Some(EvidenceGrade::Reported));
        assert_eq!(mysql().statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn our_tls_connection_proves_it() {
        let mut made = mysql();
        made.0.sql.as_mut().unwrap().session.tls = Some("TLSv1.3 TLS_AES_256_GCM_SHA384".to_owned());
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn have_ssl_disabled_fails() {
        assert_eq!(mariadb().variable("have_ssl", "DISABLED").statuses(&CHECK), [Fail]);
        assert_eq!(mariadb().variable("have_ssl", "YES").statuses(&CHECK), [Pass]);
    }

    #[test]
    fn a_server_without_network_is_not_concerned() {
        let made = mariadb().variable("have_ssl", "DISABLED").variable("skip_networking", "ON");
        assert_eq!(made.statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn without_a_server_nothing_is_known() {
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn the_admin_port_is_judged_by_itself() {
        let mut made = probed(mysql(), Some(good_tls()));
        made.0.wire.as_mut().unwrap().admin = Some(classic("127.0.0.1:33062", None));
        let found = made.judge(&CHECK);
        assert_eq!((found[1].status, found[1].artefact.as_str()), (Fail, "admin port"));
    }
}
