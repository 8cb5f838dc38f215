//! `tls-cert-expiry`.

use findings::{Remedy, Severity};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use pki::Certificate;

use super::certificates::{self, Found, Use};
use super::{reload, without_tls};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::sql::SqlFacts;
use crate::facts::wire::MAIN_PORT;
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "tls-cert-expiry",
    title: "A certificate has expired or is about to",
    severity: Severity::High,
    explanation: "When the certificate expires, clients that verify it can no longer connect; operators then switch \
        verification off, and it stays off. Judged from the certificates that the ports send, those that variables \
        name and those in the data directory: authorities and client certificates expire, too. Without any of these, \
        Ssl_server_not_after decides.",
    applies: "every server with TLS",
    fix: concat!(
        "renew the certificate, then ",
        server::mysql_reload_tls!(),
        " or, on MariaDB, ",
        server::mariadb_reload_tls!()
    ),
    cost: "no lock, no restart",
    standards: &["PCI DSS 4.0.1 4.2.1", "PCI DSS 4.0.1 4.2.1.1"],
    exposes: Exposes::Help(Attacker::Impostor, "Sessions of clients that learn to ignore an expired certificate"),
    closed_by: ClosedBy::Cert,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let found = certificates::all(cx.facts);
    let mut results = CheckResults::new();
    for found in &found {
        if let Some((severity, message)) = trouble(cx, found.certificate.not_before, found.certificate.not_after) {
            let message = format!("{}: the certificate {} {message}", found.artefact, found.certificate.subject);
            let result = CheckResult::fail(&found.artefact, found.grade, message).severity(severity);
            results.push(result.evidence(found.evidence.clone()).fix(fix(cx, found)));
        }
    }
    // Files alone do not show the certificate in use: it may be elsewhere.
    if let Some(served) = found.iter().find(|found| found.purpose == Use::Server) {
        let message = format!(
            "certificates seen: {}, the first to expire on {}",
            found.len(),
            first_end(&found, served.certificate)
        );
        results.pass_if_clean(CheckResult::pass("server", served.grade, message).evidence(served.evidence.clone()));
    } else if let Some(none) = without_tls(cx) {
        return Ok(if results.is_empty() { none } else { results });
    } else {
        by_status(cx, &mut results);
    }
    Ok(results)
}

/// What is wrong with a validity period, and the severity.
fn trouble(cx: &Context<'_>, from: Timestamp, until: Timestamp) -> Option<(Severity, String)> {
    let days = |a: Timestamp, b: Timestamp| (b.as_second() - a.as_second()).div_euclid(86_400);
    if until <= cx.now {
        return Some((Severity::High, format!("expired on {until}")));
    }
    if from > cx.now {
        return Some((Severity::High, format!("is not valid before {from}")));
    }
    let left = days(cx.now, until);
    if left < cx.policy.certificate_fail_days {
        return Some((Severity::High, format!("ends in {left} days, on {until}")));
    }
    (left < cx.policy.certificate_warn_days).then(|| (Severity::Medium, format!("ends in {left} days, on {until}")))
}

fn first_end(found: &[Found<'_>], served: &Certificate) -> Timestamp {
    found.iter().map(|found| found.certificate.not_after).min().unwrap_or(served.not_after)
}

/// The server's own report, if its certificate was not seen.
fn by_status(cx: &Context<'_>, results: &mut CheckResults) {
    match cx.facts.sql().and_then(|sql| status_result(cx, sql)) {
        Ok(result) => results.push(result),
        Err(unseen) => results.push_unknown(MAIN_PORT, unseen),
    }
}

fn status_result(cx: &Context<'_>, sql: &SqlFacts) -> Observed<CheckResult> {
    let (name, value) = end_by_status(sql).ok_or_else(|| Unavailable {
        what: "when the server's certificate expires".to_owned(),
        why: "no port was probed, its file was not read, and Ssl_server_not_after is empty".to_owned(),
        remedy: "give a TCP address that reaches the server".to_owned(),
    })?;
    let until = openssl_time(&value).ok_or_else(|| Unavailable {
        what: "when the server's certificate expires".to_owned(),
        why: format!("{name} is {value:?}"),
        remedy: "give a TCP address that reaches the server".to_owned(),
    })?;
    let result = match trouble(cx, Timestamp::MIN, until) {
        Some((severity, message)) => {
            CheckResult::fail(MAIN_PORT, EvidenceGrade::Reported, format!("the server's certificate {message}"))
                .severity(severity)
        }
        None => CheckResult::pass(
            MAIN_PORT,
            EvidenceGrade::Reported,
            format!("the server's certificate is valid until {until}"),
        ),
    };
    Ok(result.evidence(sql.evidence("status", format!("{name} = {value}"))))
}

/// `Ssl_server_not_after`: a status variable everywhere, and a row of MySQL's channel table.
fn end_by_status(sql: &SqlFacts) -> Option<(&'static str, String)> {
    const NAME: &str = "Ssl_server_not_after";
    let channels = sql.rows("tls_channels").unwrap_or_default();
    let row = channels.iter().find(|row| row.text("channel") == "mysql_main" && row.text("property") == NAME);
    let value = row.map(|row| row.text("value")).filter(|value| !value.is_empty());
    let value = value.or_else(|| sql.status(NAME).ok().filter(|value| !value.is_empty()))?;
    Some((NAME, value.to_owned()))
}

/// OpenSSL's text form, `Aug  1 12:00:00 2033 GMT`.
pub(super) fn openssl_time(text: &str) -> Option<Timestamp> {
    let message: Vec<&str> = text.split_whitespace().collect();
    let [month, day, time, year, "GMT"] = message.as_slice() else { return None };
    let text = format!("{month} {day:0>2} {time} {year}");
    let time = DateTime::strptime("%b %d %H:%M:%S %Y", text).ok()?;
    time.to_zoned(TimeZone::UTC).ok().map(|zoned| zoned.timestamp())
}

fn fix(cx: &Context<'_>, found: &Found<'_>) -> Remedy {
    match found.purpose {
        Use::Server => Remedy::advice("issue a new certificate with the same names and key file")
            .then(reload(cx.facts.sql.as_ref())),
        Use::Authority => {
            "issue a new authority, distribute it to every client, then renew the certificates it signed".into()
        }
        Use::Other => "renew it, or remove the file if nobody uses it".into(),
    }
}

#[cfg(test)]
mod tests {
    use server::probe::TlsProbe;

    use super::super::made::{authority, certificate, good_tls, probed};
    use super::*;
    use crate::facts::files::Content;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn ending(day: &str) -> Certificate {
        Certificate { not_after: format!("{day}T00:00:00Z").parse().unwrap(), sha256: day.repeat(4), ..certificate() }
    }

    fn sending(day: &str) -> Option<TlsProbe> {
        Some(TlsProbe { certificates: vec![ending(day)], ..good_tls() })
    }

    #[test]
    fn the_nearer_the_end_the_worse() {
        let cases = [
            ("2026-11-01", Fail, Severity::High),
            ("2026-12-10", Fail, Severity::High),
            ("2027-01-20", Fail, Severity::Medium),
            ("2028-01-01", Pass, Severity::High),
        ];
        for (day, status, severity) in cases {
            let found = probed(mysql(), sending(day)).judge(&CHECK);
            assert_eq!(
                (found[0].status, found[0].severity, found[0].grade),
                (status, severity, Some(EvidenceGrade::Wire)),
                "{day}"
            );
        }
    }

    #[test]
    fn files_of_authorities_and_clients_are_judged_too() {
        let ca = Certificate { not_after: "2026-11-30T00:00:00Z".parse().unwrap(), ..authority() };
        let made = probed(mysql(), Some(good_tls())).file("ca.pem", Content::Certificates { certificates: vec![ca] });
        let found = made.judge(&CHECK);
        assert_eq!(
            (found[0].status, found[0].artefact.as_str(), found[0].grade),
            (Fail, "ca.pem", Some(EvidenceGrade::Bytes))
        );
    }

    #[test]
    fn a_bundle_of_public_authorities_is_not_ours() {
        let expired = |n: usize| Certificate {
            subject: format!("CN={n}"),
            issuer: format!("CN={n}"),
            sha256: n.to_string(),
            is_ca: true,
            self_signed: true,
            ..ending("2020-01-01")
        };
        let made = probed(mysql(), Some(good_tls()))
            .file("bundle.pem", Content::Certificates { certificates: (0..140).map(expired).collect() });
        assert_eq!(made.statuses(&CHECK), [Pass]);
    }

    #[test]
    fn without_certificates_the_status_tells() {
        let status = |value: &str| {
            mysql().answer("status", &["name", "value"], &[&["Ssl_server_not_after", value]]).judge(&CHECK)
        };
        assert_eq!(status("Aug  1 12:00:00 2033 GMT")[0].status, Pass);
        assert_eq!(status("Nov 25 12:00:00 2026 GMT")[0].status, Fail);
        assert_eq!(status("")[0].status, Unknown);
        assert_eq!(status("soon")[0].status, Unknown);
    }

    #[test]
    fn a_server_without_tls_is_not_concerned_and_offline_files_do_not_pass() {
        assert_eq!(mariadb().variable("have_ssl", "DISABLED").statuses(&CHECK), [NotApplicable]);
        let lying = FactsBuilder::nothing()
            .file("server-cert.pem", Content::Certificates { certificates: vec![certificate()] });
        assert_eq!(lying.statuses(&CHECK), [Unknown]);
        let expired = FactsBuilder::nothing()
            .file("server-cert.pem", Content::Certificates { certificates: vec![ending("2026-01-02")] });
        assert_eq!(expired.statuses(&CHECK), [Fail, Unknown]);
    }

    #[test]
    fn dates_are_read_as_openssl_writes_them() {
        assert_eq!(openssl_time("Aug  1 12:00:00 2033 GMT"), "2033-08-01T12:00:00Z".parse().ok());
        assert_eq!(openssl_time("Aug 31 12:00:00 2033 CET"), None);
        assert_eq!(openssl_time(""), None);
    }
}
