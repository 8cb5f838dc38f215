//! Compares TLS as declared with the behaviour of the listener.

use std::path::Path;

use server::dialect::variable;
use server::probe::PlainLogin;
use server::switch::is_on;

use crate::check::{CheckResult, CheckResults, Context};
use crate::checks::tls::listed_versions;
use crate::facts::files::Content;
use crate::facts::sql::SqlFacts;
use crate::facts::wire::WireFacts;
use crate::finding::{Evidence, EvidenceGrade};

/// Compares each declaration with the listener; returns the number of comparisons.
pub(super) fn compare(cx: &Context<'_>, sql: &SqlFacts, results: &mut CheckResults) -> usize {
    let Some(wire) = &cx.facts.wire else { return 0 };
    let pairs = [offer(sql, wire), versions(sql, wire), plain_text(sql, wire), certificate(cx, sql, wire)];
    let mut compared = 0_usize;
    for pair in pairs.into_iter().flatten() {
        compared = compared.saturating_add(1);
        if let Some(result) = pair {
            results.push(result);
        }
    }
    compared
}

/// Observations at the main listener, as evidence of agreement.
pub(super) fn compared(cx: &Context<'_>) -> Option<Evidence> {
    let listener = cx.facts.wire.as_ref()?.classic.as_ref()?;
    let offers = listener.probe.greeting.as_ref()?.offers_tls;
    let accepted: Vec<String> =
        listener.probe.tls.iter().flat_map(|tls| tls.accepted()).map(|v| v.to_string()).collect();
    let description = format!(
        "offers TLS: {offers}; accepts {}",
        if accepted.is_empty() { "none".to_owned() } else { accepted.join(", ") }
    );
    Some(seen(&listener.endpoint, description))
}

/// A comparison, with the contradiction if there is one.
type Pair = Option<Option<CheckResult>>;

fn seen(endpoint: &str, observation: String) -> Evidence {
    Evidence::Wire { endpoint: endpoint.to_owned(), observation }
}

/// What the server declares about TLS on its main port: the variable if it exists, else the channel.
fn declared_offer(sql: &SqlFacts) -> Option<(bool, Evidence)> {
    if let Ok(rows) = sql.rows("tls_channels")
        && let Some(row) = rows
            .iter()
            .find(|row| row.text("channel") == "mysql_main" && row.text("property").eq_ignore_ascii_case("Enabled"))
    {
        return Some((
            row.yes("value"),
            sql.evidence("tls_channels", format!("mysql_main Enabled = {}", row.text("value"))),
        ));
    }
    let value = sql.variable_or_none(variable::HAVE_SSL)?;
    Some((is_on(value), sql.variable_evidence(variable::HAVE_SSL)))
}

fn offer(sql: &SqlFacts, wire: &WireFacts) -> Pair {
    let listener = wire.classic.as_ref()?;
    let offers = listener.probe.greeting.as_ref()?.offers_tls;
    let (declared, evidence) = declared_offer(sql)?;
    Some((declared && !offers).then(|| {
        CheckResult::fail(
            &listener.endpoint,
            EvidenceGrade::Wire,
            "the server says that TLS is on, and the listener does not offer it",
        )
        .evidence(evidence)
        .evidence(seen(&listener.endpoint, "CLIENT_SSL is not set in the greeting".to_owned()))
    }))
}

fn versions(sql: &SqlFacts, wire: &WireFacts) -> Pair {
    let listener = wire.classic.as_ref()?;
    let tls = listener.probe.tls.as_ref()?;
    let declared = sql.variable_or_none(variable::TLS_VERSION).filter(|value| !value.is_empty())?;
    let allowed = listed_versions(declared);
    let beyond: Vec<String> =
        tls.accepted().iter().filter(|version| !allowed.contains(version)).map(ToString::to_string).collect();
    Some((!beyond.is_empty()).then(|| {
        let message = format!("tls_version allows {declared}, and the listener accepts {}", beyond.join(", "));
        CheckResult::fail(&listener.endpoint, EvidenceGrade::Wire, message)
            .evidence(sql.variable_evidence(variable::TLS_VERSION))
            .evidence(seen(&listener.endpoint, format!("handshake with {} succeeded", beyond.join(", "))))
    }))
}

fn plain_text(sql: &SqlFacts, wire: &WireFacts) -> Pair {
    let listener = wire.classic.as_ref()?;
    let required = sql.variable_or_none(variable::REQUIRE_SECURE_TRANSPORT).is_some_and(is_on);
    match (required, wire.plain_login.as_ref()?) {
        (true, PlainLogin::Accepted) => Some(Some(
            CheckResult::fail(
                &listener.endpoint,
                EvidenceGrade::Wire,
                "require_secure_transport is ON, and a login in clear was accepted",
            )
            .evidence(sql.variable_evidence(variable::REQUIRE_SECURE_TRANSPORT))
            .evidence(seen(&listener.endpoint, "a login without TLS succeeded".to_owned())),
        )),
        (true, PlainLogin::RefusedTransport(_) | PlainLogin::Denied(_)) => Some(None),
        _ => None,
    }
}

/// Compares the certificate file that the variable names with the certificate that the listener presents.
fn certificate(cx: &Context<'_>, sql: &SqlFacts, wire: &WireFacts) -> Pair {
    let listener = wire.classic.as_ref()?;
    let shown = listener.probe.tls.as_ref()?.certificates.first()?;
    let path = sql.variable_or_none(variable::SSL_CERT).filter(|path| !path.is_empty())?;
    // Relative to the data directory, the server's working directory.
    let path = Path::new(&sql.identity.datadir).join(path);
    let file = cx.facts.files.as_ref()?.at(path.to_str()?)?;
    let Content::Certificates { certificates } = &file.content else { return None };
    let named = certificates.first()?;
    Some((named.sha256 != shown.sha256).then(|| {
        let message = format!("the listener shows another certificate than {}", file.path);
        CheckResult::fail(&listener.endpoint, EvidenceGrade::Wire, message)
            .evidence(seen(&listener.endpoint, format!("SHA-256 {}, until {}", shown.sha256, shown.not_after)))
            .evidence(Evidence::Host {
                source: file.path.clone(),
                observation: format!("SHA-256 {}, until {}", named.sha256, named.not_after),
            })
            .fix(crate::checks::tls::reload(Some(sql)))
    }))
}

#[cfg(test)]
mod tests {
    use server::tls::TlsVersion::{Tls10, Tls12};

    use crate::checks::ev::mismatch::CHECK;
    use crate::checks::probes::{probed, tls};
    use crate::finding::Status;
    use crate::testing::mariadb;

    fn fails(allowed: &str) -> bool {
        let probe = tls(&[(Tls10, &[0xc013]), (Tls12, &[0xc02f])]);
        let findings = probed(mariadb().variable("tls_version", allowed), Some(probe)).judge(&CHECK);
        findings.iter().any(|finding| finding.status == Status::Fail && finding.message.contains("tls_version allows"))
    }

    #[test]
    fn versions_are_compared_as_the_servers_name_them() {
        assert!(!fails("TLSv1.0,TLSv1.2"), "MariaDB's name");
        assert!(!fails("TLSv1, tlsv1.2"), "MySQL's name");
        assert!(fails("TLSv1.2"));
    }
}
