//! `tls-not-required`.

use findings::{Remedy, Severity};
use server::dialect::variable;
use sniff::Service;

use crate::channel::client::{networking_off, takes_plain_text};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::checks::advice;
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::sql::SqlFacts;
use crate::facts::wire::MAIN_PORT;

pub(crate) const CHECK: Check = Check {
    id: "tls-not-required",
    title: "The server accepts connections in clear",
    severity: Severity::High,
    explanation: "Most clients silently fall back to clear text when TLS fails or an attacker removes the server's \
        offer of TLS; only the server can refuse. A login without TLS, tried from this host, shows what the server \
        does; require_secure_transport shows what it is configured to do. The server checks it after authentication, \
        when the client has already sent its response to the challenge.",
    applies: "every server that listens on a network; the switch exists in MySQL 5.7.8+ and MariaDB 10.5.2+",
    fix: "require_secure_transport = ON, once tls-live-plaintext is clean",
    cost: "no lock; clients without TLS are refused at their next login",
    standards: &["CIS MySQL 8.1", "PCI DSS 4.0.1 4.2.1", "PCI DSS 4.0.1 2.2.7", "HIPAA 164.312(e)(1)"],
    exposes: Exposes::Data(
        Attacker::Sniffer,
        "Sessions of any client that does not insist on TLS: the server accepts plain text",
    ),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if networking_off(cx.facts) {
        return Ok(CheckResults::not_applicable("skip_networking = ON: only this host's sockets reach the server"));
    }
    let said = takes_plain_text(cx.facts)?;
    let result = if said.value {
        CheckResult::fail(MAIN_PORT, said.grade, describe(cx)).fix(fix(cx.facts.sql.as_ref()))
    } else {
        CheckResult::pass(MAIN_PORT, said.grade, "connections in clear are refused")
    };
    let result = result.with_packets(cx, &[Service::Classic]);
    Ok(CheckResults::one(said.evidence.into_iter().fold(result, CheckResult::evidence)))
}

fn describe(cx: &Context<'_>) -> String {
    match cx.facts.sql.as_ref() {
        Some(sql) if sql.variable_or_none(variable::REQUIRE_SECURE_TRANSPORT).is_none() => {
            format!(
                "{} cannot require TLS of all accounts: every account without REQUIRE may log in in clear",
                sql.identity.version
            )
        }
        _ => "connections in clear are accepted".to_owned(),
    }
}

fn fix(sql: Option<&SqlFacts>) -> Remedy {
    match sql {
        Some(sql) if sql.variable_or_none(variable::REQUIRE_SECURE_TRANSPORT).is_some() => {
            advice::set_variable(sql, variable::REQUIRE_SECURE_TRANSPORT, "ON")
        }
        Some(_) => "require TLS account by account (see tls-user-not-required), \
             and upgrade to a version with require_secure_transport"
            .into(),
        None => CHECK.fix.into(),
    }
}

#[cfg(test)]
mod tests {
    use server::probe::PlainLogin;
    use sniff::{Protocol, State};

    use super::super::made::{good_tls, probed};
    use super::*;
    use crate::channel::packets::made::{row, seen};
    use crate::finding::EvidenceGrade;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn tried(made: FactsBuilder, login: PlainLogin) -> FactsBuilder {
        let mut made = probed(made, Some(good_tls()));
        made.0.wire.as_mut().unwrap().plain_login = Some(login);
        made
    }

    #[test]
    fn the_switch_decides_without_a_try() {
        let on = mysql().variable("require_secure_transport", "ON").judge(&CHECK);
        assert_eq!((on[0].status, on[0].grade), (Pass, Some(EvidenceGrade::Declared)));
        let off = mysql().variable("require_secure_transport", "OFF").judge(&CHECK);
        assert_eq!(off[0].status, Fail);
        assert_eq!(off[0].remediation.as_deref(), Some("SET PERSIST require_secure_transport = ON"));
    }

    #[test]
    fn packets_confirm_or_contradict_the_switch() {
        let message = |switch: &str, rows| {
            let found = seen(rows).variable("require_secure_transport", switch).judge(&CHECK);
            found[0].message.clone()
        };
        let clear =
            || vec![row("10.0.0.2", Protocol::Mysql, State::Clear), row("127.0.0.1", Protocol::Mysql, State::Clear)];
        for (switch, rows, says) in [
            (
                "OFF",
                clear(),
                "connections in clear are accepted; connections between hosts that were seen within 0 s: 2 in clear",
            ),
            ("ON", clear(), "are refused; connections between hosts that were seen within 0 s: 2 in clear"),
            ("OFF", vec![], "that were seen within 0 s: none"),
        ] {
            assert!(message(switch, rows).ends_with(says), "{}", message(switch, clear()));
        }
    }

    #[test]
    fn a_connection_to_a_source_is_no_client_and_unread_packets_are_named() {
        let to_source = sniff::Traffic { service: Service::Source, ..row("10.0.0.2", Protocol::Mysql, State::Clear) };
        let mut made = seen(vec![to_source]).variable("require_secure_transport", "ON");
        assert!(made.judge(&CHECK)[0].message.ends_with(": none"));
        if let Some(Ok(outcome)) = &mut made.0.traffic {
            outcome.is_cut = true;
        }
        assert!(made.judge(&CHECK)[0].message.ends_with(": none; some packets could not be judged"));
    }

    #[test]
    fn a_login_in_clear_outranks_the_switch() {
        let made = tried(mysql().variable("require_secure_transport", "ON"), PlainLogin::Accepted);
        assert_eq!((made.judge(&CHECK)[0].status, made.judge(&CHECK)[0].grade), (Fail, Some(EvidenceGrade::Wire)));
    }

    #[test]
    fn a_refusal_of_one_account_is_not_one_of_all() {
        let required_by =
            tried(mysql().variable("require_secure_transport", "OFF"), PlainLogin::RefusedTransport(3159));
        assert_eq!(required_by.statuses(&CHECK), [Fail]);
        let refused = tried(mysql().variable("require_secure_transport", "ON"), PlainLogin::RefusedTransport(3159));
        assert_eq!(refused.judge(&CHECK)[0].grade, Some(EvidenceGrade::Wire));
        let maria = tried(mariadb().variable("require_secure_transport", "ON"), PlainLogin::Denied(1045));
        assert_eq!((maria.judge(&CHECK)[0].status, maria.judge(&CHECK)[0].grade), (Pass, Some(EvidenceGrade::Wire)));
    }

    #[test]
    fn a_version_without_the_switch_cannot_refuse() {
        let found = FactsBuilder::server("5.6.24", "MySQL Community Server (GPL)").judge(&CHECK);
        assert_eq!(found[0].status, Fail);
        assert!(found[0].message.contains("cannot require TLS"));
    }

    #[test]
    fn sockets_only_is_not_concerned_and_offline_is_unknown() {
        let made = mysql().variable("require_secure_transport", "OFF").variable("skip_networking", "ON");
        assert_eq!(made.statuses(&CHECK), [NotApplicable]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
