//! `wire-plaintext`.

use files::quantity::size;
use findings::Severity;
use sniff::{Outcome, Service, State, Traffic};

use crate::channel::packets::{is_within_host, when};
use crate::channel::replica::channels;
use crate::check::{Check, CheckResult, CheckResults, Context};
use crate::exposure::{Attacker, ClosedBy, Exposes};
use crate::facts::{Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

pub(crate) const CHECK: Check = Check {
    id: "wire-plaintext",
    title: "Traffic of the server was seen in clear",
    severity: Severity::High,
    explanation: "Judged from the packets of the server's ports, with --sniff or --pcap: each connection is followed \
        from its first bytes, and the headers of its protocol are the evidence. Settings say what should be encrypted, \
        packets what is: a MariaDB replica with MASTER_SSL=1, for example, reads in clear from a source without TLS. \
        Only what this host sent or received while the audit watched is seen, or what a file captured, which shows \
        another time. Connections within this host are info only.",
    applies: "servers whose packets this host sends or receives, with --sniff, or with a file of them, with --pcap",
    fix: "enable TLS for what the finding names: a client and its account, a channel, the cluster, its state transfer",
    cost: "as for the channel",
    standards: &["PCI DSS 4.0.1 4.2.1"],
    exposes: Exposes::Data(Attacker::Sniffer, "What was seen in clear on the network"),
    closed_by: ClosedBy::Administrator,
    locked_out: None,
    judge,
};

/// Number of encrypted kinds of traffic that are quoted as evidence.
const QUOTED: usize = 10;

fn judge(cx: &Context<'_>) -> Observed<CheckResults> {
    let Some(traffic) = &cx.facts.traffic else {
        return Ok(CheckResults::not_applicable(
            "packets were not watched: --sniff does it, and --pcap reads a file with them",
        ));
    };
    let seen = traffic.as_ref().map_err(Clone::clone)?;
    if seen.ports.is_empty() {
        return Ok(CheckResults::not_applicable("the server listens on no TCP port, and reads from no source"));
    }
    let mut results = CheckResults::new();
    for row in &seen.traffic {
        match row.state {
            State::Clear => results.push(in_clear(row, seen)),
            State::Unknown => results.push_unknown(artefact(row), unrecognised(row)),
            State::Opening | State::Encrypted => {}
        }
    }
    // Which sources were not watched is not known.
    if let Some(Err(unseen)) = cx.facts.sql.as_ref().map(channels) {
        results.push_unknown("replication sources", unseen);
    }
    if let Some(unread) = unread(seen) {
        results.push_unknown("packets", unread);
    }
    if seen.connections.encrypted > 0 {
        results.pass_if_clean(all_encrypted(seen));
    } else if results.is_empty() {
        return Err(nothing_seen(seen));
    }
    Ok(results)
}

fn in_clear(row: &Traffic, seen: &Outcome) -> CheckResult {
    let message = format!(
        "{} from {} to {} was in clear, on the port for {}, seen {}: {}",
        row.protocol.name(),
        row.client,
        row.server,
        row.service.name(),
        when(seen),
        amount(row)
    );
    let result = CheckResult::fail(artefact(row), EvidenceGrade::Wire, message).fix(advice(row.service));
    let result = if is_within_host(row) { result.severity(Severity::Info) } else { result };
    headers(row).into_iter().fold(result, CheckResult::evidence)
}

/// Stable across runs, unlike the client's port.
fn artefact(row: &Traffic) -> String {
    format!("{} from {} to {}", row.protocol.name(), row.client, row.server)
}

fn amount(row: &Traffic) -> String {
    let connections = if row.connections == 1 { "connection" } else { "connections" };
    let (to_server, to_client) = (size(row.bytes_to_server), size(row.bytes_to_client));
    format!("{} {connections}, {to_server} to the server, {to_client} to the client", row.connections)
}

/// Headers of protocols, never what is behind them.
fn headers(row: &Traffic) -> Vec<Evidence> {
    let endpoint = format!("{} to {}", row.client, row.server);
    let header = |header: &sniff::Evidence| Evidence::Wire {
        endpoint: endpoint.clone(),
        observation: format!(
            "{} at byte {}: {} ({}), first seen {:.0}",
            header.direction.name(),
            header.offset,
            header.bytes,
            header.meaning,
            row.first_seen
        ),
    };
    row.evidence.iter().map(header).collect()
}

fn advice(service: Service) -> &'static str {
    match service {
        Service::Classic | Service::Admin | Service::X | Service::Other => {
            "let this peer use TLS, and refuse it otherwise: REQUIRE SSL for its account, or \
             require_secure_transport = ON for all; for a replica, TLS in its channel, with verification"
        }
        Service::Source => {
            "TLS in this server's channel, with verification; on the source, REQUIRE SSL for the account of replication"
        }
        Service::Galera | Service::IncrementalTransfer => "socket.ssl=yes in wsrep_provider_options of every node",
        Service::StateTransfer => "wsrep_sst_method=sealant, or TLS in [sst], on every node",
        Service::GroupCommunication => "group_replication_ssl_mode = REQUIRED or stronger on every member",
    }
}

fn all_encrypted(seen: &Outcome) -> CheckResult {
    let message = format!("{} connections were seen {}, all encrypted", seen.connections.encrypted, when(seen));
    let encrypted = seen.traffic.iter().filter(|row| row.state == State::Encrypted).take(QUOTED);
    encrypted.flat_map(headers).fold(CheckResult::pass("server", EvidenceGrade::Wire, message), CheckResult::evidence)
}

fn unrecognised(row: &Traffic) -> Unavailable {
    Unavailable {
        what: artefact(row),
        why: format!("its protocol was not recognised, or its beginning was not seen: {}", amount(row)),
        remedy: "watch for longer, until the peer connects again; `sealant sniff` shows its entropy".to_owned(),
    }
}

/// Packets that were not judged.
fn unread(seen: &Outcome) -> Option<Unavailable> {
    let skipped = (seen.skipped > 0).then(|| format!("{} packets could not be parsed", seen.skipped));
    let too_many = || format!("{} connections are counted only, because there are too many", seen.left_out);
    let why: Vec<String> = skipped.into_iter().chain((seen.left_out > 0).then(too_many)).collect();
    if why.is_empty() {
        return None;
    }
    let why = why.join("; ");
    let remedy = "`sealant sniff --port` watches fewer ports, --interface one interface".to_owned();
    Some(Unavailable { what: "the server's packets".to_owned(), why, remedy })
}

fn nothing_seen(seen: &Outcome) -> Unavailable {
    Unavailable {
        what: "the server's traffic".to_owned(),
        why: format!("no connection with data was seen {}", when(seen)),
        remedy: "watch or capture for longer, on a host and an interface through which it passes".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use sniff::{Origin, Protocol};

    use super::*;
    use crate::channel::packets::made::{row, seen};
    use crate::finding::Status::{Fail, NotApplicable, Pass, Unknown};
    use crate::testing::mysql;

    #[test]
    fn what_is_in_clear_fails_with_the_header_as_evidence() {
        let found = seen(vec![
            row("10.0.0.2", Protocol::Mysql, State::Clear),
            row("10.0.0.1", Protocol::Mysql, State::Clear),
            row("10.0.0.3", Protocol::Mysql, State::Encrypted),
        ])
        .judge(&CHECK);
        let [far, local] = &found[..] else { panic!("{found:?}") };
        assert_eq!((far.status, far.severity, local.severity), (Fail, Severity::High, Severity::Info));
        assert_eq!(
            (far.grade, far.artefact.as_str()),
            (Some(EvidenceGrade::Wire), "MySQL from 10.0.0.2 to 10.0.0.1:3306")
        );
        let [Evidence::Wire { endpoint, observation }] = &far.evidence[..] else { panic!("{far:?}") };
        assert_eq!(endpoint, "10.0.0.2 to 10.0.0.1:3306");
        assert!(
            observation.starts_with("to the server at byte 0: 0c00000003 (COM_QUERY), first seen 2026-"),
            "{observation}"
        );
    }

    #[test]
    fn only_what_was_seen_and_recognised_passes() {
        let encrypted = || row("10.0.0.3", Protocol::Mysql, State::Encrypted);
        assert_eq!(seen(vec![encrypted()]).statuses(&CHECK), [Pass]);
        assert_eq!(seen(vec![encrypted()]).refused("replica_channels", 1227).statuses(&CHECK), [Unknown]);
        assert_eq!(
            seen(vec![encrypted(), row("10.0.0.4", Protocol::Unknown, State::Unknown)]).statuses(&CHECK),
            [Unknown]
        );
        assert_eq!(seen(vec![row("10.0.0.4", Protocol::Mysql, State::Opening)]).statuses(&CHECK), [Unknown]);
        assert_eq!(seen(vec![]).statuses(&CHECK), [Unknown]);
        assert_eq!(mysql().statuses(&CHECK), [NotApplicable]);
        let mut skipped = seen(vec![encrypted()]);
        if let Some(Ok(outcome)) = &mut skipped.0.traffic {
            outcome.skipped = 1;
        }
        assert_eq!(skipped.statuses(&CHECK), [Unknown]);
        let mut no_port = seen(vec![]);
        if let Some(Ok(outcome)) = &mut no_port.0.traffic {
            outcome.ports.clear();
        }
        assert_eq!(no_port.statuses(&CHECK), [NotApplicable]);
        let mut refused = mysql();
        refused.0.traffic = Some(Err(nothing_seen(&sample())));
        assert_eq!(refused.statuses(&CHECK), [Unknown]);
    }

    #[test]
    fn a_capture_is_said_to_show_another_time() {
        for (row, status) in [
            (row("10.0.0.2", Protocol::Mysql, State::Clear), Fail),
            (row("10.0.0.3", Protocol::Mysql, State::Encrypted), Pass),
        ] {
            let mut made = seen(vec![row]);
            if let Some(Ok(outcome)) = &mut made.0.traffic {
                outcome.origin = Origin::File("old.pcap".into());
            }
            let found = made.judge(&CHECK);
            assert_eq!(found[0].status, status);
            assert!(found[0].message.contains("seen in old.pcap, captured from 2026-"), "{}", found[0].message);
            assert!(found[0].message.contains("Z, not now"), "{}", found[0].message);
        }
        let mut empty = seen(vec![]);
        if let Some(Ok(outcome)) = &mut empty.0.traffic {
            (outcome.origin, outcome.packets) = (Origin::File("old.pcap".into()), 0);
        }
        assert!(empty.judge(&CHECK)[0].message.contains("has no packet of the server's ports"));
    }

    fn sample() -> Outcome {
        seen(vec![]).0.traffic.unwrap().unwrap()
    }
}
