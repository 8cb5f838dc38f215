//! `tls-live-weak`.

use findings::Severity;
use server::tls::{TlsVersion, suites::is_weak_openssl};

use crate::channel::client::{Connection, connections};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::sql::{Row, SqlFacts};
use crate::facts::{Observed, Unavailable};
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "tls-live-weak",
    title: "Clients are connected by an old TLS version or a weak suite",
    severity: Severity::Medium,
    explanation: "These clients fail when old versions and weak suites are switched off; until then whoever records \
        their traffic may decrypt it later. Judged from performance_schema.status_by_thread at one moment.",
    applies: "MySQL 5.7+",
    fix: "upgrade that client's TLS library, then restrict tls_version and ssl_cipher",
    cost: "none on the server",
    standards: &["NIST SP 800-52r2"],
    exposes: Exposes::Help(Attacker::Sniffer, "Sessions that use an old TLS version or a weak suite right now"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    if !sql.answers.contains_key("session_tls") {
        return Ok(CheckResults::not_applicable(format!(
            "{} does not show the TLS of other sessions",
            sql.identity.version
        )));
    }
    let clients = connections(sql)?;
    let rows =
        sql.rows("session_tls").map_err(|seen| Unavailable { what: "the TLS of live sessions".to_owned(), ..seen })?;
    let sessions: Vec<Row<'_>> = rows.into_iter().filter(|row| !row.text("version").is_empty()).collect();
    if sessions.is_empty() && clients.iter().any(|client| client.kind == "SSL/TLS") {
        return Err(hidden(sql));
    }
    let mut results = CheckResults::new();
    for session in &sessions {
        let (version, cipher) = (session.text("version"), session.text("cipher"));
        let Some(why) = fault(version, cipher) else { continue };
        let who = who(&clients, session.text("thread_id"));
        let answer = format!("thread {}: Ssl_version = {version}, Ssl_cipher = {cipher}", session.text("thread_id"));
        results.push(
            CheckResult::fail(&who, EvidenceGrade::Reported, format!("{who} uses {why}"))
                .evidence(sql.evidence("session_tls", answer)),
        );
    }
    let message =
        format!("{} sessions with TLS at this moment, all of TLS 1.2 or later with good suites", sessions.len());
    results.pass_if_clean(
        CheckResult::pass("server", EvidenceGrade::Reported, &message).evidence(sql.evidence("session_tls", message)),
    );
    Ok(results)
}

fn fault(version: &str, cipher: &str) -> Option<String> {
    if TlsVersion::from_name(version).is_some_and(|version| version < TlsVersion::Tls12) {
        return Some(format!("{version} with {cipher}"));
    }
    (!cipher.is_empty() && is_weak_openssl(cipher)).then(|| format!("the suite {cipher}"))
}

fn who(clients: &[Connection<'_>], thread: &str) -> String {
    let client = clients.iter().find(|client| client.thread_id == thread);
    client.map_or_else(|| format!("thread {thread}"), |client| format!("{} ({})", client.who(), client.driver()))
}

fn hidden(sql: &SqlFacts) -> Unavailable {
    Unavailable {
        what: "the TLS of live sessions".to_owned(),
        why: "performance_schema.status_by_thread shows none, although there are sessions with TLS".to_owned(),
        remedy: sql.grant("SELECT ON performance_schema.*"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    const CLIENTS: &[&str] =
        &["thread_id", "user", "host", "command", "connection_type", "client_name", "client_version", "program"];

    fn with(rows: &[&[&str]]) -> FactsBuilder {
        let client: &[&str] = &["7", "app", "10.0.0.9:50001", "Sleep", "SSL/TLS", "libmysql", "5.7.11", ""];
        mysql().answer("connections", CLIENTS, &[client]).answer(
            "session_tls",
            &["thread_id", "version", "cipher"],
            rows,
        )
    }

    #[test]
    fn old_versions_and_weak_suites_fail() {
        let found = with(&[&["7", "TLSv1.1", "ECDHE-RSA-AES256-SHA"]]).judge(&CHECK);
        assert_eq!((found[0].status, found[0].artefact.as_str()), (Fail, "app@10.0.0.9 (libmysql 5.7.11)"));
        assert_eq!(with(&[&["7", "TLSv1.2", "AES128-SHA"]]).statuses(&CHECK), [Fail]);
    }

    #[test]
    fn sessions_of_today_pass() {
        assert_eq!(with(&[&["7", "TLSv1.3", "TLS_AES_256_GCM_SHA384"], &["8", "", ""]]).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn an_empty_table_is_no_evidence() {
        assert_eq!(with(&[]).statuses(&CHECK), [Unknown]);
        assert_eq!(mariadb().statuses(&CHECK), [NotApplicable]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
