//! `repl-channel-plaintext`.

use findings::{Remedy, Severity};

use super::change;
use crate::channel::replica::{Channel, channels};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::sql::SqlFacts;
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "repl-channel-plaintext",
    title: "This replica receives the binary log in clear",
    severity: Severity::High,
    explanation: "The binary log holds every changed row: whoever listens on a clear channel can read all changes and \
        the login of the replication account. Judged from performance_schema.replication_connection_configuration on \
        MySQL and SHOW ALL SLAVES STATUS on MariaDB, whose performance schema is off by default and then shows an \
        empty table. With MASTER_SSL=1 MariaDB continues in clear if the source offers no TLS, unless it also verifies \
        the certificate.",
    applies: "every replica",
    fix: "CHANGE REPLICATION SOURCE TO SOURCE_SSL=1, SOURCE_SSL_CA='…', SOURCE_SSL_VERIFY_SERVER_CERT=1 / CHANGE \
        MASTER TO MASTER_SSL=1, MASTER_SSL_CA='…', MASTER_SSL_VERIFY_SERVER_CERT=1",
    cost: "the channel stops for a moment; it stays down if the source's certificate does not carry its name",
    standards: &["CIS MySQL 9.x", "PCI DSS 4.0.1 4.2.1", "HIPAA 164.312(e)(1)"],
    exposes: Exposes::Data(Attacker::Sniffer, "Every change, as this replica fetches it"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    let channels = channels(sql)?;
    if channels.is_empty() {
        return Ok(CheckResults::not_applicable("no replication channel is configured"));
    }
    let mut results = CheckResults::new();
    for channel in &channels {
        results.push(result(sql, channel));
    }
    Ok(results)
}

fn result(sql: &SqlFacts, channel: &Channel<'_>) -> CheckResult {
    let (name, source) = (channel.artefact(), channel.source());
    let result = if channel.tls && !channel.enforces_tls(sql) {
        CheckResult::unknown(&name, wished_for(sql, channel))
    } else if channel.tls {
        CheckResult::pass(&name, EvidenceGrade::Reported, format!("{name} reads from {source} over TLS"))
    } else {
        CheckResult::fail(&name, EvidenceGrade::Reported, format!("{name} reads from {source} in clear"))
            .fix(verified_tls(sql, channel))
    };
    result.evidence(evidence(sql, channel))
}

fn wished_for(sql: &SqlFacts, channel: &Channel<'_>) -> Unavailable {
    Unavailable {
        what: format!("whether {} is encrypted", channel.artefact()),
        why: format!(
            "TLS is requested but not enforced: without verification the replica continues in clear if {} offers none",
            channel.source()
        ),
        remedy: verified_tls(sql, channel).to_string(),
    }
}

/// Makes a channel enforce and verify TLS at once: unverified TLS does not stop a man in the middle.
pub(super) fn verified_tls(sql: &SqlFacts, channel: &Channel<'_>) -> Remedy {
    let ca = if channel.ca.is_empty() { "/etc/mysql/ca.pem" } else { channel.ca };
    change(sql, channel.name, &["SSL=1", &format!("SSL_CA='{ca}'"), "SSL_VERIFY_SERVER_CERT=1"])
}

/// Evidence: the settings of the channel, as the server lists them.
pub(super) fn evidence(sql: &SqlFacts, channel: &Channel<'_>) -> Evidence {
    let yes = |on: bool| if on { "yes" } else { "no" };
    let ca = if channel.ca.is_empty() { "(empty)" } else { channel.ca };
    let answer = format!(
        "{} from {} as {}: ssl_allowed = {}, ssl_verify_server_certificate = {}, ssl_ca_file = {ca}",
        channel.artefact(),
        channel.source(),
        channel.user,
        yes(channel.tls),
        yes(channel.verified),
    );
    sql.evidence("replica_channels", answer)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{channel, no_channel};
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    #[test]
    fn channels_without_tls_fail_by_name() {
        for allowed in ["NO", "No", "IGNORED", "Ignored"] {
            let found = channel(mysql(), &[("ssl_allowed", allowed), ("channel", "east")]).judge(&CHECK);
            assert_eq!((found[0].status, found[0].artefact.as_str()), (Fail, "channel east"), "{allowed}");
        }
        assert_eq!(channel(mariadb(), &[("ssl_allowed", "Yes")]).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn tls_that_is_only_wished_for_proves_nothing() {
        let unverified = |made| channel(made, &[("ssl_verify", "No")]);
        assert_eq!(unverified(mariadb()).statuses(&CHECK), [Unknown]);
        assert_eq!(unverified(mysql()).statuses(&CHECK), [Pass]);
        assert_eq!(
            unverified(FactsBuilder::server("5.6.51", "MySQL Community Server (GPL)")).statuses(&CHECK),
            [Unknown]
        );
    }

    #[test]
    fn an_empty_table_of_a_performance_schema_that_is_off_is_no_evidence() {
        assert_eq!(no_channel(mariadb().variable("performance_schema", "OFF")).statuses(&CHECK), [Unknown]);
        assert_eq!(no_channel(mysql().variable("performance_schema", "ON")).statuses(&CHECK), [NotApplicable]);
        let mut shown = no_channel(mariadb().variable("performance_schema", "OFF"));
        shown.0.sql.as_mut().unwrap().answers.get_mut("replica_channels").unwrap().sql =
            "SHOW ALL SLAVES STATUS".to_owned();
        assert_eq!(shown.statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn channels_of_a_group_are_judged_with_it() {
        let made = channel(
            mysql().variable("performance_schema", "ON"),
            &[("channel", "group_replication_applier"), ("ssl_allowed", "NO")],
        );
        assert_eq!(made.statuses(&CHECK), [NotApplicable]);
    }

    #[test]
    fn refusal_is_unknown() {
        assert_eq!(mysql().refused("replica_channels", 1142).statuses(&CHECK), [Unknown]);
        assert_eq!(FactsBuilder::nothing().statuses(&CHECK), [Unknown]);
    }
}
