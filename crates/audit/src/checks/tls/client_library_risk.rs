//! `tls-client-library-risk`.

use std::collections::BTreeMap;

use findings::Severity;

use crate::channel::client::{Connection, connections};
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::Observed;
use crate::finding::EvidenceGrade;

pub(crate) const CHECK: Check = Check {
    id: "tls-client-library-risk",
    title: "A connected client's library treats TLS as optional or verifies badly",
    severity: Severity::Medium,
    explanation: "Old libraries continue in clear although TLS was requested, and some later ones accept a \
        certificate that they should refuse: the client's configuration looks safe and is not. Judged from \
        _client_name and _client_version, which clients send when they connect; clients on a socket are left out.",
    applies: "MySQL 5.6+, MariaDB 10.5+ with performance_schema = ON",
    fix: "upgrade the client library",
    cost: "none on the server",
    standards: &["PCI DSS 4.0.1 6.3.3", "PCI DSS 4.0.1 4.2.1"],
    exposes: Exposes::Help(Attacker::Sniffer, "Sessions of drivers that treat TLS as optional"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

/// A library, the affected versions (first, first fixed), and the problem.
struct Risk {
    name: &'static str,
    from: (u16, u16, u16),
    fixed_in: (u16, u16, u16),
    why: &'static str,
}

/// Source: MySQL WL#8785 and CVE-2015-3152; runs of Connector/C 3.3.20 and 3.4.9; CVE-2026-107819.
const RISKS: &[Risk] = &[
    Risk {
        name: "libmysql",
        from: (0, 0, 0),
        fixed_in: (5, 7, 11),
        why: "--ssl does not enforce TLS: the client continues in clear if the server, or a man in the middle, offers \
            none (CVE-2015-3152)",
    },
    Risk {
        name: "libmariadb",
        from: (0, 0, 0),
        fixed_in: (3, 4, 0),
        why: "--ssl and --ssl-ca do not enforce TLS: only --ssl-verify-server-cert does",
    },
    Risk {
        name: "libmariadb",
        from: (3, 4, 1),
        fixed_in: (3, 4, 11),
        why: "accepts a certificate of an unknown authority from remote hosts if no CA file is given (CVE-2026-107819)",
    },
];

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let sql = cx.facts.sql()?;
    let clients = connections(sql)?;
    let remote: Vec<&Connection<'_>> = clients.iter().filter(|client| client.networked()).collect();
    let mut risky: BTreeMap<String, (&Risk, usize)> = BTreeMap::new();
    for client in &remote {
        if let Some(risk) = risk_of(client) {
            let who = format!("{} ({} {})", client.who(), client.client, client.client_version);
            risky.entry(who).or_insert((risk, 0)).1 += 1;
        }
    }
    let mut results = CheckResults::new();
    for (who, (risk, count)) in &risky {
        // A version that fixes one problem may have another.
        let sound = RISKS.iter().filter(|other| other.name == risk.name).map(|other| other.fixed_in).max();
        let (major, minor, patch) = sound.unwrap_or(risk.fixed_in);
        results.push(
            CheckResult::fail(who, EvidenceGrade::Reported, format!("{who}: {}", risk.why))
                .evidence(sql.evidence("connections", format!("{who}: {count} connections")))
                .fix(format!("upgrade {} to {major}.{minor}.{patch} or later", risk.name)),
        );
    }
    let reported = remote.iter().filter(|client| !client.client.is_empty()).count();
    let message = format!(
        "{reported} of {} clients on the network report their library, and none is known to be at risk",
        remote.len()
    );
    results.pass_if_clean(
        CheckResult::pass("server", EvidenceGrade::Reported, &message).evidence(sql.evidence("connections", message)),
    );
    Ok(results)
}

fn risk_of(client: &Connection<'_>) -> Option<&'static Risk> {
    let version = numbers(client.client_version)?;
    RISKS
        .iter()
        .find(|risk| client.client.eq_ignore_ascii_case(risk.name) && risk.from <= version && version < risk.fixed_in)
}

fn numbers(text: &str) -> Option<(u16, u16, u16)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let mut parts = text.get(..end)?.split('.').map(|part| part.parse().ok());
    Some((parts.next()??, parts.next()??, parts.next().flatten().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Status::{Fail, Pass, Unknown};
    use crate::testing::{mariadb, mysql};

    const COLUMNS: &[&str] =
        &["thread_id", "user", "host", "command", "connection_type", "client_name", "client_version", "program"];

    fn status(kind: &str, name: &str, version: &str) -> crate::finding::Status {
        let row: &[&str] = &["7", "app", "10.0.0.9:1", "Sleep", kind, name, version, ""];
        mysql().answer("connections", COLUMNS, &[row]).statuses(&CHECK)[0]
    }

    #[test]
    fn libraries_are_judged_by_version() {
        let cases = [
            ("libmysql", "5.7.10", Fail),
            ("libmysql", "5.7.11", Pass),
            ("libmysql", "9.7.4", Pass),
            ("libmariadb", "3.3.20", Fail),
            ("libmariadb", "3.4.0", Pass),
            ("libmariadb", "3.4.9", Fail),
            ("libmariadb", "3.4.11", Pass),
            ("mysqlnd", "8.2.0", Pass),
            ("", "", Pass),
        ];
        for (name, version, expected) in cases {
            assert_eq!(status("SSL/TLS", name, version), expected, "{name} {version}");
        }
    }

    #[test]
    fn sockets_carry_no_risk() {
        assert_eq!(status("Socket", "libmariadb", "3.3.20"), Pass);
    }

    #[test]
    fn without_the_performance_schema_nothing_is_known() {
        assert_eq!(mariadb().variable("performance_schema", "OFF").statuses(&CHECK), [Unknown]);
    }
}
