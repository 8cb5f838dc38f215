//! `tls-cert-stale`.

use findings::{Remedy, Severity};
use jiff::Timestamp;
use pki::Certificate;
use server::dialect::statement::RELOAD_ADMIN_TLS;
use server::dialect::variable;

use super::cert_expiry::openssl_time;
use super::certificates::{describe, named_certificates, path_of};
use super::{reload, tls_ports, without_tls};
use crate::access;
use crate::channel::client::seen_at;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{ClosedBy, Exposes};
use crate::facts::sql::SqlFacts;
use crate::facts::wire::{ADMIN_PORT, MAIN_PORT, Port, X_PORT};
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "tls-cert-stale",
    title: "The certificate in use is not the one on disk",
    severity: Severity::Medium,
    explanation: "A renewed file has no effect until the server loads it: checks of the file pass, but when the old \
        certificate expires, clients that verify it can no longer connect. The SHA-256 of the certificate that a port \
        sends is compared with that of the file which ssl_cert (admin_ssl_cert, mysqlx_ssl_cert) names; a relative \
        name is below the data directory. Without a probe the dates in the server's status are compared.",
    applies: "every server with TLS and a certificate file",
    fix: concat!(
        server::mysql_reload_tls!(),
        ", on MariaDB ",
        server::mariadb_reload_tls!(),
        ", or a restart on versions without either"
    ),
    cost: "no lock; existing connections keep the old certificate",
    standards: &["PCI DSS 4.0.1 4.2.1.1"],
    exposes: Exposes::Nothing,
    closed_by: ClosedBy::Cert,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    if let Some(none) = without_tls(cx) {
        return Ok(none);
    }
    let sql = cx.facts.sql()?;
    if path_of(sql, variable::SSL_CERT).is_none() {
        return Ok(no_file(sql));
    }
    let mut results = CheckResults::new();
    for port in tls_ports(cx) {
        results.push(port_result(cx, sql, &port).unwrap_or_else(|unseen| CheckResult::unknown(port.name, unseen)));
    }
    if results.is_empty() {
        results.push(by_dates(cx, sql)?);
    }
    Ok(results)
}

fn no_file(sql: &SqlFacts) -> CheckResults {
    let why = if sql.is_mariadb() {
        "ssl_cert is empty: the server generates its certificate in memory at each start"
    } else {
        "ssl_cert is empty: there is no certificate file to compare with"
    };
    CheckResults::not_applicable(why)
}

/// The variable of a port's certificate: its own, or that of the main port.
fn variable_of(sql: &SqlFacts, port: &str) -> &'static str {
    let current = match port {
        ADMIN_PORT => "admin_ssl_cert",
        X_PORT => "mysqlx_ssl_cert",
        _ => variable::SSL_CERT,
    };
    if path_of(sql, current).is_some() { current } else { variable::SSL_CERT }
}

fn port_result(cx: &Context<'_>, sql: &SqlFacts, port: &Port<'_>) -> Observed<CheckResult> {
    let variable = variable_of(sql, port.name);
    let sent = port.tls.and_then(|tls| tls.certificates.first()).ok_or_else(|| Unavailable {
        what: format!("the certificate of the {}", port.name),
        why: port.tls.and_then(|tls| tls.certificate_error.clone()).unwrap_or_else(|| "it was not sent".to_owned()),
        remedy: "run again when the server answers the probe's connections".to_owned(),
    })?;
    let (path, on_disk) = file(cx, sql, variable)?;
    let result = if sent.sha256 == on_disk.sha256 {
        CheckResult::pass(port.name, EvidenceGrade::Wire, format!("{} sends the certificate of {path}", port.name))
    } else {
        CheckResult::fail(
            port.name,
            EvidenceGrade::Wire,
            format!("{} sends another certificate than {path} holds", port.name),
        )
        .fix(reload_of(sql, port.name, variable))
    };
    Ok(result
        .evidence(seen_at(port, format!("sent: {}", describe(sent))))
        .evidence(Evidence::Host { source: path, observation: describe(on_disk) })
        .evidence(sql.variable_evidence(variable)))
}

/// The X plug-in reads its certificate at start: `ALTER INSTANCE RELOAD TLS` does not affect it (seen on 9.7.4).
fn reload_of(sql: &SqlFacts, port: &str, variable: &str) -> Remedy {
    match (port, variable) {
        (X_PORT, _) => "restart the server: the X plug-in reads its certificate at start only".into(),
        (ADMIN_PORT, "admin_ssl_cert") => Remedy::statement(RELOAD_ADMIN_TLS),
        _ => reload(Some(sql)),
    }
}

fn file<'a>(cx: &'a Context<'_>, sql: &SqlFacts, variable: &str) -> Observed<(String, &'a Certificate)> {
    let path = path_of(sql, variable).unwrap_or_default();
    let first = named_certificates(cx.facts, variable).and_then(<[Certificate]>::first);
    first.map(|certificate| (path.clone(), certificate)).ok_or_else(|| Unavailable {
        what: format!("the certificate file of {variable}"),
        why: format!("{path} was not read"),
        remedy: access::reading(&path),
    })
}

/// Without a probe: compares the dates that the server reports with those of the file.
fn by_dates(cx: &Context<'_>, sql: &SqlFacts) -> Observed<CheckResult> {
    let (path, on_disk) = file(cx, sql, variable::SSL_CERT)?;
    let loaded = reported_dates(sql).ok_or_else(|| Unavailable {
        what: "the certificate in use".to_owned(),
        why: "no port was probed, and Ssl_server_not_before and Ssl_server_not_after are empty".to_owned(),
        remedy: "give a TCP address that reaches the server".to_owned(),
    })?;
    let result = if loaded == (on_disk.not_before, on_disk.not_after) {
        CheckResult::pass(MAIN_PORT, EvidenceGrade::Reported, format!("the certificate in use has the dates of {path}"))
    } else {
        CheckResult::fail(
            MAIN_PORT,
            EvidenceGrade::Reported,
            format!("the certificate in use has other dates than {path}"),
        )
        .fix(reload(Some(sql)))
    };
    Ok(result
        .evidence(
            sql.evidence(
                "status",
                format!("Ssl_server_not_before = {}, Ssl_server_not_after = {}", loaded.0, loaded.1),
            ),
        )
        .evidence(Evidence::Host { source: path, observation: describe(on_disk) }))
}

fn reported_dates(sql: &SqlFacts) -> Option<(Timestamp, Timestamp)> {
    let date = |name: &str| sql.status(name).ok().and_then(openssl_time);
    Some((date("Ssl_server_not_before")?, date("Ssl_server_not_after")?))
}

#[cfg(test)]
mod tests {
    use super::super::made::{certificate, good_tls, probed};
    use super::*;
    use crate::facts::files::Content;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn with_file(made: FactsBuilder, certificate: Certificate) -> FactsBuilder {
        // A relative name is below the data directory.
        let mut made = made.variable("ssl_cert", "server-cert.pem");
        made.0.sql.as_mut().unwrap().identity.datadir = "/var/lib/mysql/".to_owned();
        made.file("server-cert.pem", Content::Certificates { certificates: vec![certificate] })
    }

    fn renewed() -> Certificate {
        Certificate { sha256: "dd".repeat(32), not_after: "2028-01-01T00:00:00Z".parse().unwrap(), ..certificate() }
    }

    #[test]
    fn a_renewed_file_that_was_not_loaded_fails() {
        let found = with_file(probed(mysql(), Some(good_tls())), renewed()).judge(&CHECK);
        assert_eq!((found[0].status, found[0].grade), (Fail, Some(EvidenceGrade::Wire)));
        assert_eq!(found[0].remediation.as_deref(), Some("ALTER INSTANCE RELOAD TLS"));
        let maria = with_file(probed(mariadb(), Some(good_tls())), renewed()).judge(&CHECK);
        assert_eq!(maria[0].remediation.as_deref(), Some("FLUSH NO_WRITE_TO_BINLOG SSL"));
    }

    #[test]
    fn the_same_certificate_passes() {
        assert_eq!(with_file(probed(mysql(), Some(good_tls())), certificate()).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn without_a_probe_the_dates_are_compared() {
        let rows: &[&[&str]] = &[
            &["Ssl_server_not_before", "Jan  1 00:00:00 2026 GMT"],
            &["Ssl_server_not_after", "Nov  1 00:00:00 2027 GMT"],
        ];
        let reported = |file| with_file(mysql().answer("status", &["name", "value"], rows), file).statuses(&CHECK);
        assert_eq!(reported(certificate()), [Pass]);
        assert_eq!(reported(renewed()), [Fail]);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let found = probed(mysql().variable("ssl_cert", "/etc/ssl/db.pem"), Some(good_tls())).judge(&CHECK);
        assert_eq!(found[0].status, Unknown);
        assert!(found[0].remediation.as_deref().unwrap().contains("/etc/ssl/db.pem"));
    }

    #[test]
    fn a_certificate_in_memory_cannot_be_stale() {
        assert_eq!(probed(mariadb().variable("ssl_cert", ""), Some(good_tls())).statuses(&CHECK), [NotApplicable]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
