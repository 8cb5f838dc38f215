//! What packets showed of a channel, in words.

use sniff::{Origin, Outcome, Service, State, Traffic};

use crate::facts::Facts;

/// When and where packets were seen: a file shows another time than the audit's.
pub(crate) fn when(seen: &Outcome) -> String {
    match &seen.origin {
        Origin::Interface(_) | Origin::AllInterfaces => {
            format!("within {} s", seen.to.duration_since(seen.from).as_secs())
        }
        Origin::File(path) if seen.packets == 0 => {
            format!("in {}, which has no packet of the server's ports", path.display())
        }
        Origin::File(path) => {
            format!("in {}, captured from {:.0} to {:.0}, not now", path.display(), seen.from, seen.to)
        }
    }
}

/// Nobody on the network sees packets that a host sends to itself.
pub(crate) fn is_within_host(row: &Traffic) -> bool {
    row.client.is_loopback() || row.client == row.server.ip()
}

/// How connections for these services crossed the network, which confirms or contradicts what settings say. `None` if
/// packets were not seen.
pub(crate) fn seen_of(facts: &Facts, services: &[Service]) -> Option<String> {
    let seen = facts.traffic.as_ref()?.as_ref().ok()?;
    let rows: Vec<&Traffic> =
        seen.traffic.iter().filter(|row| services.contains(&row.service) && !is_within_host(row)).collect();
    let count = |state: State| -> u64 { rows.iter().filter(|row| row.state == state).map(|row| row.connections).sum() };
    let states = [(State::Clear, "in clear"), (State::Encrypted, "encrypted"), (State::Unknown, "not recognised")];
    let numbers = states.map(|(state, name)| (count(state), name));
    let shown: Vec<String> =
        numbers.iter().filter(|(number, _)| *number > 0).map(|(number, name)| format!("{number} {name}")).collect();
    let shown = if shown.is_empty() { "none".to_owned() } else { shown.join(", ") };
    let is_partial = seen.skipped > 0 || seen.left_out > 0 || seen.is_cut;
    let partial = if is_partial { "; some packets could not be judged" } else { "" };
    Some(format!("connections between hosts that were seen {}: {shown}{partial}", when(seen)))
}

/// Rows of packets for tests.
#[cfg(test)]
pub(crate) mod made {
    use sniff::{Counts, Direction, Origin, Outcome, Protocol, Service, State, Traffic, Verdict};

    use crate::testing::{FactsBuilder, NOW, mysql};

    /// Two connections of a client to 10.0.0.1:3306.
    pub(crate) fn row(client: &str, protocol: Protocol, state: State) -> Traffic {
        let evidence = sniff::Evidence {
            direction: Direction::ToServer,
            offset: 0,
            bytes: "0c00000003".to_owned(),
            meaning: "COM_QUERY".to_owned(),
        };
        Traffic {
            client: client.parse().unwrap(),
            server: "10.0.0.1:3306".parse().unwrap(),
            service: Service::Classic,
            protocol,
            state,
            tls: None,
            connections: 2,
            bytes_to_server: 30,
            bytes_to_client: 400,
            first_seen: NOW.parse().unwrap(),
            last_seen: NOW.parse().unwrap(),
            evidence: vec![evidence],
            entropy: None,
        }
    }

    /// A server whose packets were watched.
    pub(crate) fn seen(traffic: Vec<Traffic>) -> FactsBuilder {
        let count = |state| traffic.iter().filter(|row| row.state == state).count() as u64;
        let connections =
            Counts { clear: count(State::Clear), encrypted: count(State::Encrypted), ..Counts::default() };
        let columns = ["channel", "host", "port"];
        let mut made = mysql().variable("performance_schema", "ON").answer("replica_channels", &columns, &[]);
        made.0.traffic = Some(Ok(Outcome {
            schema: sniff::SCHEMA.to_owned(),
            sealant: "0".to_owned(),
            origin: Origin::AllInterfaces,
            ports: vec![3306],
            from: NOW.parse().unwrap(),
            to: NOW.parse().unwrap(),
            packets: 10,
            skipped: 0,
            is_cut: false,
            verdict: Verdict::Nothing,
            connections,
            left_out: 0,
            traffic,
        }));
        made
    }
}
