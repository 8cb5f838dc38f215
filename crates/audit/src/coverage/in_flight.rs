//! Rows of the map for network channels: what a sniffer could read.

use server::dialect::variable;

use super::{Coverage, CoverageState, DataState, Layer};
use crate::channel::client::{Connection, connections, networking_off, offers_tls, takes_plain_text};
use crate::channel::galera::galera;
use crate::channel::group::group;
use crate::channel::replica::channels;
use crate::channel::transfer::{Security, transfer};
use crate::facts::Facts;
use crate::facts::sql::SqlFacts;
use crate::facts::wire::Port;
use crate::finding::EvidenceGrade;

/// Content of a row.
struct ChannelRow {
    state: CoverageState,
    grade: Option<EvidenceGrade>,
    encrypted: u64,
    clear: u64,
    unknown: u64,
    detail: String,
}

/// Channels by which clients connect; the others are between servers.
const CLIENT_CHANNELS: [&str; 3] = ["client connections", "administrative port", "X Protocol"];

/// Whether clients connect by this channel, which [`rows`] has named.
pub(super) fn is_client_channel(name: &str) -> bool {
    CLIENT_CHANNELS.contains(&name)
}

/// A row for each network channel.
pub(super) fn rows(facts: &Facts) -> Vec<Coverage> {
    let [client_connections, administrative_port, x_protocol_port] = CLIENT_CHANNELS;
    let rows = [
        (client_connections, clients(facts)),
        (administrative_port, admin(facts)),
        (x_protocol_port, x_protocol(facts)),
        ("replication in", replication_in(facts)),
        ("replication out", replication_out(facts)),
        ("Group Replication", group_replication(facts)),
        ("Galera replication", galera_replication(facts)),
        ("state transfer (SST)", state_transfer(facts)),
    ];
    rows.into_iter().map(|(artefact, row)| row.into_coverage(facts, artefact)).collect()
}

impl ChannelRow {
    fn new(state: CoverageState, grade: EvidenceGrade, detail: impl Into<String>) -> Self {
        let (encrypted, clear) = match state {
            CoverageState::Encrypted => (1, 0),
            CoverageState::Partly => (1, 1),
            CoverageState::Clear => (0, 1),
            CoverageState::Unknown | CoverageState::Absent => (0, 0),
        };
        Self { state, grade: Some(grade), encrypted, clear, unknown: 0, detail: detail.into() }
    }

    fn absent(detail: impl Into<String>) -> Self {
        Self { grade: None, ..Self::new(CoverageState::Absent, EvidenceGrade::Declared, detail) }
    }

    fn unknown(detail: impl Into<String>) -> Self {
        Self { grade: None, unknown: 1, ..Self::new(CoverageState::Unknown, EvidenceGrade::Declared, detail) }
    }

    /// The row for these numbers of encrypted and clear connections.
    fn of_many(encrypted: u64, clear: u64, grade: EvidenceGrade, detail: String) -> Self {
        let state = match (encrypted > 0, clear > 0) {
            (true, true) => CoverageState::Partly,
            (false, true) => CoverageState::Clear,
            _ => CoverageState::Encrypted,
        };
        Self { state, grade: Some(grade), encrypted, clear, unknown: 0, detail }
    }

    fn into_coverage(self, facts: &Facts, artefact: &str) -> Coverage {
        let tls = matches!(self.state, CoverageState::Encrypted | CoverageState::Partly);
        Coverage {
            server: facts.target.clone(),
            location: DataState::InFlight,
            artefact: artefact.to_owned(),
            state: self.state,
            layer: if tls { Layer::Tls } else { Layer::None },
            grade: self.grade,
            encrypted: self.encrypted,
            clear: self.clear,
            unknown: self.unknown,
            detail: self.detail,
        }
    }
}

fn clients(facts: &Facts) -> ChannelRow {
    if networking_off(facts) {
        return ChannelRow::absent("listens on no network");
    }
    let offer = match offers_tls(facts) {
        Ok(offer) => offer,
        Err(unseen) => return ChannelRow::unknown(unseen.why),
    };
    if !offer.value {
        return counted(facts, ChannelRow::new(CoverageState::Clear, offer.grade, "no TLS offered"));
    }
    let offered =
        facts.wire.as_ref().and_then(|wire| newest(wire.ports().iter().find(|port| port.name == "main port")?));
    let offered = offered.map_or_else(|| "TLS offered".to_owned(), |version| format!("{version} offered"));
    counted(
        facts,
        match takes_plain_text(facts) {
            Ok(plain) if plain.value => ChannelRow::new(
                CoverageState::Partly,
                plain.grade.min(offer.grade),
                format!("{offered}, plain text accepted"),
            ),
            Ok(plain) => ChannelRow::new(
                CoverageState::Encrypted,
                plain.grade.min(offer.grade),
                format!("{offered}, plain text refused"),
            ),
            Err(_) => ChannelRow::unknown(format!("{offered}; whether plain text is accepted was not seen")),
        },
    )
}

/// Adds the current connections, if the server lists them.
fn counted(facts: &Facts, row: ChannelRow) -> ChannelRow {
    let Some(connections) = facts.sql.as_ref().and_then(|sql| connections(sql).ok()) else { return row };
    let (encrypted, clear) = tally(connections.iter().filter(|connection| !connection.is_dump()));
    let detail = format!("{}; now {encrypted} with TLS, {clear} in clear", row.detail);
    ChannelRow { encrypted, clear, detail, ..row }
}

fn tally<'a>(connections: impl Iterator<Item = &'a Connection<'a>>) -> (u64, u64) {
    connections.filter(|connection| connection.networked()).fold((0, 0), |(encrypted, clear), connection| {
        if connection.clear() { (encrypted, clear + 1) } else { (encrypted + 1, clear) }
    })
}

/// The newest version that a port accepts, by its standard name.
fn newest(port: &Port<'_>) -> Option<&'static str> {
    Some(port.tls?.accepted().last()?.standard_name())
}

fn admin(facts: &Facts) -> ChannelRow {
    let set = facts
        .sql
        .as_ref()
        .map(|sql| sql.variable_or_none(variable::ADMIN_ADDRESS).is_some_and(|address| !address.is_empty()));
    side_port(facts, "admin port", set)
}

fn x_protocol(facts: &Facts) -> ChannelRow {
    let loaded = |sql: &SqlFacts| match sql.active_plugins() {
        Ok(plugins) => plugins.iter().any(|plugin| plugin.name.eq_ignore_ascii_case("mysqlx")),
        Err(_) => sql.variable_or_none(variable::MYSQLX_PORT).is_some(),
    };
    side_port(facts, "X port", facts.sql.as_ref().map(loaded))
}

/// A port other than the main one: whether it offers TLS, and whether it should exist.
fn side_port(facts: &Facts, name: &str, expected: Option<bool>) -> ChannelRow {
    let ports = facts.wire.as_ref().map(|wire| wire.ports()).unwrap_or_default();
    let Some(port) = ports.iter().find(|port| port.name == name && port.offers_tls.is_some()) else {
        return match expected {
            Some(false) => ChannelRow::absent("not set up"),
            Some(true) if networking_off(facts) => ChannelRow::absent("listens on no network"),
            Some(true) => ChannelRow::unknown("set up, and its port was not seen"),
            None => ChannelRow::unknown("no server was asked"),
        };
    };
    if port.offers_tls == Some(false) {
        return ChannelRow::new(CoverageState::Clear, EvidenceGrade::Wire, "no TLS offered");
    }
    let offered = newest(port).unwrap_or("TLS");
    match takes_plain_text(facts) {
        // Only the main port was tested in clear text; the variable applies to every port.
        Ok(plain) if plain.value => ChannelRow::new(
            CoverageState::Partly,
            EvidenceGrade::Declared,
            format!("{offered} offered, plain text accepted"),
        ),
        Ok(_) => ChannelRow::new(
            CoverageState::Encrypted,
            EvidenceGrade::Declared,
            format!("{offered} offered, plain text refused"),
        ),
        Err(_) => ChannelRow::unknown(format!("{offered} offered; whether plain text is accepted was not seen")),
    }
}

fn replication_in(facts: &Facts) -> ChannelRow {
    let Some(sql) = &facts.sql else { return ChannelRow::unknown("no server was asked") };
    match channels(sql) {
        Err(unseen) => ChannelRow::unknown(unseen.why),
        Ok(channels) if channels.is_empty() => ChannelRow::absent("no channel"),
        Ok(channels) => {
            let clear = channels.iter().filter(|channel| !channel.tls).count();
            let unverified = channels.iter().filter(|channel| channel.tls && !channel.verified).count();
            let detail = format!("{} channels: {clear} in clear, {unverified} with TLS and unverified", channels.len());
            let unknown = channels.iter().filter(|channel| channel.tls && !channel.enforces_tls(sql)).count();
            if unknown == channels.len() {
                return ChannelRow {
                    unknown: u64_of(unknown),
                    ..ChannelRow::unknown(format!("{detail}: TLS is not enforced"))
                };
            }
            let (encrypted, clear) = (u64_of(channels.len() - clear - unknown), u64_of(clear));
            ChannelRow {
                unknown: u64_of(unknown),
                ..ChannelRow::of_many(encrypted, clear, EvidenceGrade::Reported, detail)
            }
        }
    }
}

fn replication_out(facts: &Facts) -> ChannelRow {
    let Some(sql) = &facts.sql else { return ChannelRow::unknown("no server was asked") };
    match connections(sql) {
        Err(unseen) => ChannelRow::unknown(unseen.why),
        Ok(connections) => {
            let dumps: Vec<&Connection<'_>> = connections.iter().filter(|connection| connection.is_dump()).collect();
            if dumps.is_empty() {
                return ChannelRow::absent("no replica is connected");
            }
            let clear = dumps.iter().filter(|dump| dump.clear()).count();
            let detail = format!("{} replicas connected, {clear} in clear", dumps.len());
            ChannelRow::of_many(u64_of(dumps.len() - clear), u64_of(clear), EvidenceGrade::Reported, detail)
        }
    }
}

fn group_replication(facts: &Facts) -> ChannelRow {
    let Some(sql) = &facts.sql else { return ChannelRow::unknown("no server was asked") };
    let Some(group) = group(sql) else { return ChannelRow::absent("not a member of a group") };
    let (Some(messages_clear), Some(recovery_tls)) = (group.messages_clear(), group.recovery_tls) else {
        return ChannelRow::unknown("the group's settings were not shown");
    };
    let message = |clear: bool| if clear { "in clear" } else { "over TLS" };
    let detail = format!("messages {}, recovery {}", message(messages_clear), message(!recovery_tls));
    let clear = u64::from(messages_clear) + u64::from(!recovery_tls);
    ChannelRow::of_many(2 - clear, clear, EvidenceGrade::Declared, detail)
}

fn galera_replication(facts: &Facts) -> ChannelRow {
    let Some(sql) = &facts.sql else { return ChannelRow::unknown("no server was asked") };
    let Some(node) = galera(sql) else { return ChannelRow::absent("not a Galera node") };
    match node.encrypted() {
        None => ChannelRow::unknown("the provider shows no options"),
        Some(false) => ChannelRow::new(CoverageState::Clear, EvidenceGrade::Declared, "write-sets and IST in clear"),
        Some(true) if node.takes_clear_peers() => ChannelRow::new(
            CoverageState::Partly,
            EvidenceGrade::Declared,
            "TLS, and clear peers are taken (socket.dynamic)",
        ),
        Some(true) => ChannelRow::new(CoverageState::Encrypted, EvidenceGrade::Declared, "write-sets and IST over TLS"),
    }
}

fn state_transfer(facts: &Facts) -> ChannelRow {
    let Some(sql) = &facts.sql else { return ChannelRow::unknown("no server was asked") };
    let Some(node) = galera(sql) else { return ChannelRow::absent("not a Galera node") };
    if node.sst_method == "skip" {
        return ChannelRow::absent("wsrep_sst_method = skip");
    }
    match transfer(facts, &node) {
        Err(unseen) => ChannelRow::unknown(unseen.why),
        Ok(transfer) if transfer.security == Security::Clear => {
            ChannelRow::new(CoverageState::Clear, EvidenceGrade::Declared, transfer.why)
        }
        Ok(transfer) => ChannelRow::new(CoverageState::Encrypted, EvidenceGrade::Declared, transfer.why),
    }
}

fn u64_of(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::probes::{good_tls, probed};
    use crate::testing::{FactsBuilder, mariadb, mysql};

    fn row(made: &FactsBuilder, artefact: &str) -> Coverage {
        rows(&made.0).into_iter().find(|row| row.artefact == artefact).unwrap()
    }

    #[test]
    fn a_port_with_tls_that_takes_plain_text_is_partly_encrypted() {
        let made = probed(mysql().variable("require_secure_transport", "OFF"), Some(good_tls()));
        let clients = row(&made, "client connections");
        assert_eq!((clients.state, clients.layer), (CoverageState::Partly, Layer::Tls));
        assert_eq!(clients.detail, "TLS 1.3 offered, plain text accepted");
        let required = probed(mysql().variable("require_secure_transport", "ON"), Some(good_tls()));
        assert_eq!(row(&required, "client connections").state, CoverageState::Encrypted);
        assert_eq!(row(&probed(mysql(), None), "client connections").state, CoverageState::Clear);
    }

    #[test]
    fn what_was_not_seen_is_unknown_and_what_is_not_there_absent() {
        let nothing = FactsBuilder::nothing();
        assert!(rows(&nothing.0).iter().all(|row| row.state == CoverageState::Unknown && row.grade.is_none()));
        let quiet = mariadb().variable("skip_networking", "ON");
        assert_eq!(row(&quiet, "client connections").state, CoverageState::Absent);
        assert_eq!(row(&quiet, "Galera replication").state, CoverageState::Absent);
    }

    #[test]
    fn galera_and_its_transfer_are_judged_apart() {
        let node = mariadb()
            .variable("wsrep_provider", "/usr/lib/galera/libgalera_smm.so")
            .variable("wsrep_provider_options", "socket.ssl = YES")
            .variable("wsrep_sst_method", "mariabackup")
            .host(|_| {});
        assert_eq!(row(&node, "Galera replication").state, CoverageState::Encrypted);
        assert_eq!(row(&node, "state transfer (SST)").state, CoverageState::Clear);
    }
}
