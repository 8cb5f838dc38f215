//! Determines a listener's TLS versions, cipher suites and certificates by handshakes that are not completed.

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    sync::Arc,
};

use pki::Certificate;
use rustls::ClientConnection;

use super::{Acceptance, ProbeLimits, SuiteSeen, TlsProbe, VersionProbe};
use crate::{
    connect::{server_name, unverified_builder},
    error::{Error, Phase},
    packet,
    socket::Socket,
    tls::{
        TlsVersion, client_hello,
        record::{Deframer, Message, alert_name},
        server_hello::{self, KeyExchange, ServerHello},
        suites::{self, Strength},
        verify::CertificatePolicy,
    },
};

/// yaSSL, in MySQL 5.5 to 5.7, reads at most 64 suites.
const SUITES_PER_HELLO: usize = 60;

/// Opens connections to a listener, up to the point where a ClientHello may be sent.
pub(super) trait Connector {
    /// A new connection, ready for TLS.
    fn open(&mut self) -> Result<Socket, Error>;
}

/// Number of connections that may still be opened.
#[derive(Debug)]
pub(super) struct Budget {
    pub(super) used: u32,
    pub(super) limit: u32,
}

impl Budget {
    pub(super) fn spend(&mut self) -> bool {
        if self.used >= self.limit {
            return false;
        }
        self.used = self.used.saturating_add(1);
        true
    }

    fn is_spent(&self) -> bool {
        self.used >= self.limit
    }
}

/// The server's part of an incomplete handshake.
#[derive(Debug)]
struct Answer {
    hello: ServerHello,
    chain: Vec<Vec<u8>>,
    key_exchange: Option<KeyExchange>,
}

#[derive(Debug)]
enum Outcome {
    Accepted(Answer),
    Refused { reason: String, by_version: bool },
    Unknown(String),
}

/// Suites of one version and strength that the server has not refused yet.
#[derive(Debug)]
struct Group {
    version: TlsVersion,
    strength: Strength,
    left: Vec<u16>,
    open: bool,
    asked: bool,
}

/// Determines everything about a listener's TLS that the limits permit.
pub(super) fn probe_tls(connector: &mut dyn Connector, budget: &mut Budget, limits: &ProbeLimits) -> TlsProbe {
    let mut probe = TlsProbe::default();
    let mut chain = Vec::new();
    // Newest first: if the connections run out, the versions that current clients use are known.
    for version in TlsVersion::ALL.into_iter().rev() {
        probe.versions.insert(0, one_version(connector, budget, version, &mut chain));
    }
    let mut groups = Vec::new();
    for version in &mut probe.versions {
        if version.acceptance.is_accepted() {
            groups.extend(groups_of(version));
        }
    }
    if limits.enumerate_suites {
        enumerate(connector, budget, &mut groups, &mut probe.versions, &mut chain);
    }
    for version in &mut probe.versions {
        version.complete = match version.acceptance {
            Acceptance::Accepted => {
                limits.enumerate_suites && !groups.iter().any(|group| group.version == version.version && group.open)
            }
            Acceptance::Refused(_) => true,
            Acceptance::Unknown(_) => false,
        };
    }
    if chain.is_empty() && !probe.accepted().is_empty() {
        match chain_of_tls13(connector, budget) {
            Ok(found) => chain = found,
            Err(reason) => probe.certificate_error = Some(reason),
        }
    }
    describe_chain(&chain, &mut probe);
    probe.complete = probe.versions.iter().all(|version| version.complete);
    probe
}

fn one_version(
    connector: &mut dyn Connector,
    budget: &mut Budget,
    version: TlsVersion,
    chain: &mut Vec<Vec<u8>>,
) -> VersionProbe {
    let mut probe = VersionProbe {
        version,
        acceptance: Acceptance::Unknown("no connection left".to_owned()),
        suites: Vec::new(),
        complete: false,
        secure_renegotiation: None,
        extended_master_secret: None,
    };
    // Strongest first, so that a current server answers the first hello.
    let mut candidates: Vec<u16> = suites::candidates(version).collect();
    candidates.sort_by_key(|id| std::cmp::Reverse(suites::strength(*id)));
    for offer in candidates.chunks(SUITES_PER_HELLO) {
        if !budget.spend() {
            break;
        }
        match attempt(connector, version, offer) {
            Outcome::Accepted(answer) => {
                probe.acceptance = Acceptance::Accepted;
                note(&mut probe, &answer);
                if chain.is_empty() {
                    *chain = answer.chain;
                }
                break;
            }
            Outcome::Refused { reason, by_version } => {
                probe.acceptance = Acceptance::Refused(reason);
                if by_version {
                    break;
                }
            }
            Outcome::Unknown(reason) => {
                probe.acceptance = Acceptance::Unknown(reason);
                break;
            }
        }
    }
    probe
}

fn note(probe: &mut VersionProbe, answer: &Answer) {
    let (group, dh_bits) = match (answer.key_exchange, answer.hello.group) {
        (Some(KeyExchange::Curve(curve)), _) => (Some(curve), None),
        (Some(KeyExchange::FiniteField(bits)), _) => (None, Some(bits)),
        (None, group) => (group, None),
    };
    probe.suites.push(SuiteSeen {
        id: answer.hello.suite,
        name: suites::name(answer.hello.suite),
        group: group.map(server_hello::group_name),
        dh_bits,
    });
    if probe.version != TlsVersion::Tls13 {
        probe.secure_renegotiation = Some(answer.hello.secure_renegotiation);
        probe.extended_master_secret = Some(answer.hello.extended_master_secret);
    }
}

fn groups_of(probe: &VersionProbe) -> Vec<Group> {
    let seen: BTreeSet<u16> = probe.suites.iter().map(|suite| suite.id).collect();
    let mut groups = Vec::new();
    for strength in Strength::ALL {
        let left: Vec<u16> = suites::candidates(probe.version)
            .filter(|id| suites::strength(*id) == strength && !seen.contains(id))
            .collect();
        groups.extend(left.chunks(SUITES_PER_HELLO).map(|part| Group {
            version: probe.version,
            strength,
            left: part.to_vec(),
            open: true,
            asked: false,
        }));
    }
    groups
}

/// Offers each group, removes the suite that the server chose, and repeats until it refuses. Every group is offered
/// once before any is offered twice, weak ones first.
fn enumerate(
    connector: &mut dyn Connector,
    budget: &mut Budget,
    groups: &mut [Group],
    versions: &mut [VersionProbe],
    chain: &mut Vec<Vec<u8>>,
) {
    groups.sort_by_key(|group| (group.strength, group.version));
    loop {
        let next = groups
            .iter()
            .position(|group| group.open && !group.asked)
            .or_else(|| groups.iter().position(|group| group.open));
        let Some(group) = next.and_then(|position| groups.get_mut(position)) else {
            return;
        };
        group.asked = true;
        if group.left.is_empty() {
            group.open = false;
            continue;
        }
        if !budget.spend() {
            return;
        }
        match attempt(connector, group.version, &group.left) {
            Outcome::Accepted(answer) if group.left.contains(&answer.hello.suite) => {
                group.left.retain(|id| *id != answer.hello.suite);
                if chain.is_empty() {
                    chain.clone_from(&answer.chain);
                }
                if let Some(probe) = versions.iter_mut().find(|probe| probe.version == group.version) {
                    note(probe, &answer);
                }
            }
            Outcome::Accepted(_) | Outcome::Refused { .. } => group.open = false,
            // The group is not exhausted: the server may accept more of its suites.
            Outcome::Unknown(_) => return,
        }
        if budget.is_spent() {
            // A group without remaining suites need not be offered.
            for group in groups.iter_mut() {
                group.open &= !group.left.is_empty();
            }
        }
    }
}

fn attempt(connector: &mut dyn Connector, version: TlsVersion, suites: &[u16]) -> Outcome {
    let mut socket = match connector.open() {
        Ok(socket) => socket,
        Err(error) => return Outcome::Unknown(error.to_string()),
    };
    let Some(hello) = client_hello::encode(version, suites) else {
        return Outcome::Unknown("the system gives no random bytes".to_owned());
    };
    if let Err(error) = socket.write_all(&hello) {
        return Outcome::Unknown(socket.failure(Phase::Tls, error).to_string());
    }
    let outcome = read_answer(&mut socket, version);
    if matches!(outcome, Outcome::Accepted(_)) {
        // close_notify, so that the server need not wait.
        let [high, low] = version.wire().min(0x0303).to_be_bytes();
        let _ = socket.write_all(&[0x15, high, low, 0, 2, 1, 0]);
    }
    outcome
}

fn read_answer(socket: &mut Socket, version: TlsVersion) -> Outcome {
    let mut deframer = Deframer::default();
    let mut answer: Option<Answer> = None;
    let mut buffer = [0; 4096];
    loop {
        match deframer.next_message() {
            Ok(Some(Message::Handshake { kind: 2, body })) => {
                let found = match read_hello(&body, version) {
                    Ok(found) => found,
                    Err(outcome) => return outcome,
                };
                if version == TlsVersion::Tls13 {
                    // The following messages are encrypted.
                    return Outcome::Accepted(found);
                }
                answer = Some(found);
            }
            Ok(Some(Message::Handshake { kind, body })) => {
                let Some(found) = &mut answer else {
                    return Outcome::Unknown("handshake without ServerHello".to_owned());
                };
                match kind {
                    11 => found.chain = server_hello::certificates(&body).unwrap_or_default(),
                    12 => {
                        found.key_exchange = server_hello::key_exchange(found.hello.suite, &body);
                    }
                    // ServerHelloDone.
                    14 => break,
                    _ => {}
                }
            }
            Ok(Some(Message::Alert { level, description })) if level == 2 || answer.is_none() => {
                return Outcome::Refused { reason: alert_name(description), by_version: description == 70 };
            }
            Ok(Some(_)) => {}
            Ok(None) => {
                let count = match socket.read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => count,
                    Err(error) => match socket.failure(Phase::Tls, error) {
                        Error::Lost { .. } => break,
                        other if answer.is_none() => return Outcome::Unknown(other.to_string()),
                        _ => break,
                    },
                };
                if deframer.push(buffer.get(..count).unwrap_or_default()).is_err() {
                    return Outcome::Unknown("the server sends too much".to_owned());
                }
            }
            Err(_) => return not_tls(deframer.unread()),
        }
    }
    match answer {
        Some(answer) => Outcome::Accepted(answer),
        None => Outcome::Refused { reason: "connection closed".to_owned(), by_version: false },
    }
}

/// Reads a ServerHello; an error if it is damaged or of another version.
fn read_hello(body: &[u8], version: TlsVersion) -> Result<Answer, Outcome> {
    let Some(hello) = server_hello::parse(body) else {
        return Err(Outcome::Unknown("malformed ServerHello".to_owned()));
    };
    if hello.version != version.wire() {
        let other =
            TlsVersion::from_wire(hello.version).map_or_else(|| format!("{:#06x}", hello.version), |v| v.to_string());
        return Err(Outcome::Refused { reason: format!("server chose {other}"), by_version: true });
    }
    Ok(Answer { hello, chain: Vec::new(), key_exchange: None })
}

/// MySQL 5.6 answers a hello that it cannot use with an error packet in clear text.
fn not_tls(bytes: &[u8]) -> Outcome {
    match bytes.get(4..).and_then(packet::server_error) {
        Some(error) => Outcome::Refused { reason: error.to_string(), by_version: false },
        None => Outcome::Unknown("the server's answer is not TLS".to_owned()),
    }
}

/// TLS 1.3 encrypts the certificate, so one handshake must be completed.
fn chain_of_tls13(connector: &mut dyn Connector, budget: &mut Budget) -> Result<Vec<Vec<u8>>, String> {
    if !budget.spend() {
        return Err("no connection left".to_owned());
    }
    let mut socket = connector.open().map_err(|error| error.to_string())?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = unverified_builder(&provider, CertificatePolicy::Nothing)
        .map_err(|error| error.to_string())?
        .with_no_client_auth();
    let mut client =
        ClientConnection::new(Arc::new(config), server_name("localhost")).map_err(|error| error.to_string())?;
    let mut result = Ok(());
    while client.is_handshaking() && result.is_ok() {
        result = client.complete_io(&mut socket).map(|_| ());
    }
    // A handshake that failed later may still have presented the chain.
    let chain: Vec<Vec<u8>> =
        client.peer_certificates().unwrap_or_default().iter().map(|certificate| certificate.to_vec()).collect();
    match result {
        Err(error) if chain.is_empty() => Err(error.to_string()),
        _ => Ok(chain),
    }
}

fn describe_chain(chain: &[Vec<u8>], probe: &mut TlsProbe) {
    for der in chain {
        match Certificate::from_der(der) {
            Ok(certificate) => probe.certificates.push(certificate),
            Err(error) => {
                probe.certificate_error = Some(error.to_string());
                return;
            }
        }
    }
}
