//! Probes the server's listeners.

use std::path::PathBuf;

use files::accounts;
use server::Endpoint;
use server::address::bind_addresses;
use server::dialect::variable;
use server::probe::{self, PlainLogin, ProbeLimits};
use server::switch::is_on;

use super::process::local_address;
use super::request::{LiveOptions, report};
use crate::facts::sql::SqlFacts;
use crate::facts::wire::{ChainTrust, Listener, WireFacts};
use crate::facts::{Unavailable, WIRE_GAP};

/// Probes every port that the server reports.
///
/// # Errors
/// Why no port of the server can be probed.
pub(super) fn probe(
    options: &LiveOptions<'_>,
    sql: &SqlFacts,
    ca_file: Option<PathBuf>,
) -> Result<WireFacts, Unavailable> {
    let here = accounts::host_name().unwrap_or_default();
    let endpoint = &options.target.endpoint;
    if let Some(unseen) = relay(endpoint, sql).or_else(|| other_host(endpoint, sql, &here)) {
        return Err(unseen);
    }
    let limits = options.limits.probe;
    let host = host(&options.target.endpoint, sql);
    let main = main_endpoint(&options.target.endpoint, sql, host.as_deref()).map_err(unseen)?;
    let mut facts = WireFacts::default();
    let tell = |step| report(options.progress, step, 0, 0);
    tell("probing the main port");
    facts.classic = Some(Listener { endpoint: main.to_string(), probe: probe::classic(&main, &limits) });
    if let Some(endpoint) = admin_endpoint(sql, host.as_deref()) {
        tell("probing the admin port");
        facts.admin = Some(Listener { endpoint: endpoint.to_string(), probe: probe::classic(&endpoint, &limits) });
    }
    if let Some(endpoint) = x_endpoint(sql, host.as_deref()) {
        tell("probing the X Protocol port");
        facts.x = Some(Listener { endpoint: endpoint.to_string(), probe: probe::x_protocol(&endpoint, &limits) });
    }
    facts.plain_login = options.plaintext_probe.then(|| plain_login(options, &main, &limits));
    facts.chain = ca_file.and_then(|file| chain(options, &main, file));
    Ok(facts)
}

/// Whether the port of our connection belongs to a proxy that forwards to the server's socket. Its behaviour shows
/// nothing about the server's own listener.
fn relay(endpoint: &Endpoint, sql: &SqlFacts) -> Option<Unavailable> {
    let Endpoint::Tcp { .. } = endpoint else { return None };
    let rows = sql.rows("own_host").ok()?;
    let by_socket = !rows.first()?.get("host")?.contains(':');
    by_socket.then(|| Unavailable {
        what: WIRE_GAP.to_owned(),
        why: format!(
            "{endpoint} is not the server's own port: it came to the server's socket, through a tunnel or a proxy"
        ),
        remedy: "audit on the server's host, or give an address of the server itself".to_owned(),
    })
}

/// Whether the socket of our connection leads to a server on another host; then the port of that number on this host is
/// not its own.
fn other_host(endpoint: &Endpoint, sql: &SqlFacts, here: &str) -> Option<Unavailable> {
    let Endpoint::Socket(_) = endpoint else { return None };
    let there = sql.identity.hostname.as_str();
    let known = !there.is_empty() && !here.is_empty();
    (known && !there.eq_ignore_ascii_case(here)).then(|| Unavailable {
        what: WIRE_GAP.to_owned(),
        why: format!(
            "the server says that its host is {there}, and this is {here}: {endpoint} leads elsewhere, by a tunnel or \
                out of a container, and ports of this host are not the server's"
        ),
        remedy: "audit on the server's host, or give an address of the server itself".to_owned(),
    })
}

/// The host to probe: the given one, or this one if we are connected by a socket.
fn host(endpoint: &Endpoint, sql: &SqlFacts) -> Option<String> {
    match endpoint {
        Endpoint::Tcp { host, .. } => Some(host.clone()),
        Endpoint::Socket(_) => bound_host(sql.variable_or_none(variable::BIND_ADDRESS).unwrap_or("*")),
    }
}

/// Address at which a listener with this bind address is reachable from its own host.
fn bound_host(bind_address: &str) -> Option<String> {
    bind_addresses(bind_address).next()?.reachable()
}

fn main_endpoint(given: &Endpoint, sql: &SqlFacts, host: Option<&str>) -> Result<Endpoint, String> {
    if let tcp @ Endpoint::Tcp { .. } = given {
        return Ok(tcp.clone());
    }
    let off = sql.variable_on(variable::SKIP_NETWORKING).unwrap_or(false);
    match (host, sql.identity.port) {
        _ if off => Err("the server has networking switched off (skip_networking)".to_owned()),
        (_, 0) => Err("the server has no TCP port".to_owned()),
        (None, _) => Err("the server listens in another network namespace".to_owned()),
        (Some(host), port) => Ok(Endpoint::tcp(host, port)),
    }
}

/// MySQL's `admin_address` and `admin_port`, Percona's and MariaDB's `extra_port`.
fn admin_endpoint(sql: &SqlFacts, host: Option<&str>) -> Option<Endpoint> {
    let port = |name: &str| sql.variable_or_none(name)?.parse::<u16>().ok().filter(|port| *port != 0);
    if let Some(address) = sql.variable_or_none(variable::ADMIN_ADDRESS).filter(|address| !address.is_empty()) {
        return Some(Endpoint::tcp(bound_host(address)?, port(variable::ADMIN_PORT)?));
    }
    Some(Endpoint::tcp(host?, port(variable::EXTRA_PORT)?))
}

/// The X plug-in has its own listener: the default of `mysqlx_bind_address` is `*` regardless of `bind_address`.
fn x_endpoint(sql: &SqlFacts, host: Option<&str>) -> Option<Endpoint> {
    let active = sql
        .active_plugins()
        .is_ok_and(|plugins| plugins.iter().any(|plugin| plugin.name.eq_ignore_ascii_case("mysqlx")));
    let port = sql.variable_or_none(variable::MYSQLX_PORT)?.parse().ok().filter(|port: &u16| *port != 0)?;
    let off = sql.variable_or_none(variable::SKIP_NETWORKING).is_some_and(is_on);
    if !active || off {
        return None;
    }
    let bound = sql.variable_or_none(variable::MYSQLX_BIND_ADDRESS).and_then(bound_host)?;
    // Uses the given host if that is another host; otherwise the address to which the X plug-in is bound.
    let far = host.filter(|host| local_address(host, port).is_none());
    Some(Endpoint::tcp(far.unwrap_or(&bound), port))
}

/// The response of a clear-text login crosses the network, so it is tried only on this host.
fn plain_login(options: &LiveOptions<'_>, endpoint: &Endpoint, limits: &ProbeLimits) -> PlainLogin {
    match endpoint {
        Endpoint::Tcp { host, port } if local_address(host, *port).is_some() => {
            probe::plaintext_login(endpoint, &options.target.user, options.connect.password.as_ref(), limits)
        }
        _ => PlainLogin::NotTried(
            "the server is on another host, and a login in clear would cross the network".to_owned(),
        ),
    }
}

/// Whether the authorities in `ca_file` issued the certificate that the listener presents: connects again and requires
/// it. It does not log in, because the server itself names this file: its authority may have certified an impostor,
/// too.
fn chain(options: &LiveOptions<'_>, endpoint: &Endpoint, ca_file: PathBuf) -> Option<ChainTrust> {
    let name = ca_file.to_string_lossy().into_owned();
    let authorities = pki::ders_from_pem(&std::fs::read(ca_file).ok()?).ok()?;
    let error = match probe::served(endpoint, Some(&authorities), options.connect.connect_timeout) {
        // The chain was verified before its key was judged.
        Ok(_) | Err(server::Error::CertificateNotTrusted { why: pki::Untrusted::ShortKey }) => None,
        Err(server::Error::CertificateNotTrusted { why }) => Some(why.to_string()),
        Err(_) => return None,
    };
    Some(ChainTrust { ca_file: name, error })
}

fn unseen(why: String) -> Unavailable {
    Unavailable { what: WIRE_GAP.to_owned(), why, remedy: "give a TCP address that reaches the server".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FactsBuilder, mysql};

    fn sql(made: &FactsBuilder) -> &SqlFacts {
        made.0.sql.as_ref().unwrap()
    }

    fn socket() -> Endpoint {
        Endpoint::Socket("/run/mysqld.sock".into())
    }

    #[test]
    fn a_socket_leads_to_the_port_beside_it() {
        let made = mysql().variable("bind_address", "127.0.0.1").variable("skip_networking", "OFF");
        let host = host(&socket(), sql(&made));
        assert_eq!(main_endpoint(&socket(), sql(&made), host.as_deref()), Ok(Endpoint::tcp("127.0.0.1", 3306)));
        let made = mysql().variable("skip_networking", "ON");
        assert!(main_endpoint(&socket(), sql(&made), Some("127.0.0.1")).unwrap_err().contains("skip_networking"));
    }

    #[test]
    fn a_port_that_leads_to_a_socket_is_not_the_servers() {
        let tcp = Endpoint::tcp("127.0.0.1", 3307);
        let at = |host: &str| mysql().answer("own_host", &["host"], &[&[host]]);
        assert!(relay(&tcp, sql(&at("localhost"))).unwrap().why.contains("127.0.0.1:3307 is not the server's own"));
        assert_eq!(relay(&socket(), sql(&at("localhost"))), None);
        for host in ["localhost:53412", "10.0.0.7:53412", "::1:53412"] {
            assert_eq!(relay(&tcp, sql(&at(host))), None, "{host}");
        }
        assert_eq!(relay(&tcp, sql(&mysql())), None, "an old report does not say");
    }

    #[test]
    fn a_socket_of_another_host_says_nothing_of_ports_here() {
        let made = mysql();
        let there = &sql(&made).identity.hostname;
        assert_eq!((other_host(&socket(), sql(&made), there), other_host(&socket(), sql(&made), "")), (None, None));
        assert_eq!(other_host(&Endpoint::tcp(there, 3306), sql(&made), "app1"), None);
        let why = other_host(&socket(), sql(&made), "app1").unwrap().why;
        assert!(why.contains("its host is db1, and this is app1"), "{why}");
    }

    #[test]
    fn the_x_port_needs_an_active_plugin() {
        let made = mysql().variable("mysqlx_port", "33060").variable("mysqlx_bind_address", "*");
        assert_eq!(x_endpoint(sql(&made), Some("127.0.0.1")), None);
        let made = made.answer("plugins", &["name", "status", "type"], &[&["mysqlx", "ACTIVE", "DAEMON"]]);
        assert_eq!(x_endpoint(sql(&made), Some("127.0.0.1")), Some(Endpoint::tcp("127.0.0.1", 33060)));
    }
}
