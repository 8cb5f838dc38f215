//! `repl-channel-unverified`.

use findings::Severity;

use super::channel_plaintext::{evidence, verified_tls};
use crate::channel::replica::{Channel, channels};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::facts::sql::SqlFacts;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "repl-channel-unverified",
    title: "This replica does not verify its source",
    severity: Severity::Medium,
    explanation: "Over TLS without verification a replica accepts any server as its source: a man in the middle can \
        read and change what it applies. That is MySQL's default. On MySQL a CA file without \
        SOURCE_SSL_VERIFY_SERVER_CERT checks the authority but not the name.",
    applies: "every replica with TLS",
    fix: "SOURCE_SSL_VERIFY_SERVER_CERT=1 with SOURCE_SSL_CA / MASTER_SSL_VERIFY_SERVER_CERT=1 with MASTER_SSL_CA",
    cost: "the channel stops for a moment; it stays down if the source's certificate does not carry its name",
    standards: &["PCI DSS 4.0.1 4.2.1", "NIST SP 800-53r5 SC-23"],
    exposes: Exposes::Help(Attacker::Impostor, "Replication, to whoever poses as the source"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    let channels = channels(sql)?;
    let mut results = CheckResults::new();
    for channel in channels.iter().filter(|channel| channel.tls) {
        results.push(result(sql, channel));
    }
    if results.is_empty() {
        let why = if channels.is_empty() {
            "no replication channel is configured"
        } else {
            "no channel uses TLS; see repl-channel-plaintext"
        };
        return Ok(CheckResults::not_applicable(why));
    }
    Ok(results)
}

fn result(sql: &SqlFacts, channel: &Channel<'_>) -> CheckResult {
    let (name, source) = (channel.artefact(), channel.source());
    let result = if channel.verified {
        CheckResult::pass(&name, EvidenceGrade::Reported, format!("{name} verifies {source}"))
    } else if channel.ca.is_empty() || sql.is_mariadb() {
        CheckResult::fail(&name, EvidenceGrade::Reported, format!("{name} accepts any server as {source}"))
            .fix(verified_tls(sql, channel))
    } else {
        // Source: sql/rpl_replica.cc, connect_to_master(): a CA alone means VERIFY_CA.
        let message = format!("{name} checks the authority of {source}, not its name");
        CheckResult::fail(&name, EvidenceGrade::Reported, message)
            .severity(Severity::Low)
            .fix(verified_tls(sql, channel))
    };
    result.evidence(evidence(sql, channel))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{channel, no_channel};
    use super::*;
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::{mariadb, mysql};

    #[test]
    fn a_channel_that_takes_any_server_fails() {
        let found = channel(mysql(), &[("ssl_verify", "NO"), ("ssl_ca", "")]).judge(&CHECK);
        assert_eq!((found[0].status, found[0].severity), (Fail, Severity::Medium));
        assert!(found[0].remediation.as_deref().unwrap().contains("SOURCE_SSL_VERIFY_SERVER_CERT=1"));
        let authority = channel(mysql(), &[("ssl_verify", "NO")]).judge(&CHECK);
        assert_eq!((authority[0].status, authority[0].severity), (Fail, Severity::Low));
        assert_eq!(channel(mariadb(), &[("ssl_verify", "No")]).judge(&CHECK)[0].severity, Severity::Medium);
    }

    #[test]
    fn a_verified_channel_passes() {
        assert_eq!(channel(mysql(), &[]).statuses(&CHECK), [Pass]);
        // MariaDB 11.4 verifies without a CA file, by the account's password.
        assert_eq!(channel(mariadb(), &[("ssl_verify", "Yes"), ("ssl_ca", "")]).statuses(&CHECK), [Pass]);
    }

    #[test]
    fn clear_channels_are_another_checks_matter() {
        assert_eq!(channel(mysql(), &[("ssl_allowed", "NO"), ("ssl_verify", "NO")]).statuses(&CHECK), [NotApplicable]);
        assert_eq!(no_channel(mariadb().variable("performance_schema", "OFF")).statuses(&CHECK), [Unknown]);
    }
}
