//! Client connections: whether TLS is offered, whether clear text is accepted, who is connected.

use server::address;
use server::dialect::variable;
use server::error_code::LOGIN_DENIED;
use server::option_group;
use server::probe::PlainLogin;
use server::switch::is_on;

use super::WithEvidence;
use crate::facts::sql::{Row, SqlFacts};
use crate::facts::wire::{MAIN_PORT, Port};
use crate::facts::{Facts, Observed, Unavailable};
use crate::finding::{Evidence, EvidenceGrade};

/// Whether the server listens on no network interface, so that only this host reaches it.
#[must_use]
pub fn networking_off(facts: &Facts) -> bool {
    facts.sql.as_ref().is_some_and(|sql| sql.variable_on(variable::SKIP_NETWORKING) == Ok(true))
}

/// Whether the main listener offers TLS, according to greeting, own session, the server's table and `have_ssl`.
///
/// A missing `have_ssl` shows nothing: MySQL removed the variable, not TLS.
///
/// # Errors
/// [`Unavailable`] if none of these is available.
pub fn offers_tls(facts: &Facts) -> Observed<WithEvidence<bool>> {
    let port = facts.wire.as_ref().and_then(|wire| wire.ports().into_iter().find(|port| port.name == MAIN_PORT));
    if let Some(port) = port
        && let Some(offers) = port.offers_tls
    {
        let message = if offers {
            "the greeting offers TLS (CLIENT_SSL is set)"
        } else {
            "the greeting offers no TLS (CLIENT_SSL is not set)"
        };
        return Ok(WithEvidence::new(offers, EvidenceGrade::Wire, seen_at(&port, message)));
    }
    let sql = facts.sql().map_err(|unseen| facts.wire().err().unwrap_or(unseen))?;
    our_session(sql).or_else(|| channel_enabled(sql)).or_else(|| have_ssl(sql)).ok_or_else(|| Unavailable {
        what: "whether the server offers TLS".to_owned(),
        why: "the port was not probed, and neither performance_schema.tls_channel_status nor have_ssl tells".to_owned(),
        remedy: format!(
            "give a TCP address that reaches the server, or GRANT SELECT ON performance_schema.tls_channel_status TO \
                {}",
            sql.session.account
        ),
    })
}

fn our_session(sql: &SqlFacts) -> Option<WithEvidence<bool>> {
    let tls = sql.session.tls.as_ref()?;
    let observation = format!("this audit's own connection uses {tls}");
    Some(WithEvidence::new(
        true,
        EvidenceGrade::Wire,
        Evidence::Wire { endpoint: sql.session.endpoint.clone(), observation },
    ))
}

fn channel_enabled(sql: &SqlFacts) -> Option<WithEvidence<bool>> {
    let rows = sql.rows("tls_channels").ok()?;
    let row = rows.iter().find(|row| row.text("channel") == "mysql_main" && row.text("property") == "Enabled")?;
    let evidence = sql.evidence("tls_channels", format!("mysql_main Enabled = {}", row.text("value")));
    Some(WithEvidence::new(row.yes("value"), EvidenceGrade::Reported, evidence))
}

fn have_ssl(sql: &SqlFacts) -> Option<WithEvidence<bool>> {
    let name = ["have_ssl", "have_openssl"].into_iter().find(|name| sql.variable_or_none(name).is_some())?;
    Some(WithEvidence::new(sql.variable_on(name).ok()?, EvidenceGrade::Declared, sql.variable_evidence(name)))
}

/// Whether accounts that do not require TLS can log in over TCP in clear text.
///
/// The refusal of one account shows that all are refused only if the server is configured to do so: the account itself
/// may require TLS. MariaDB answers 1045, as for a wrong password. The same account has logged in over TLS or the
/// socket, so the password is right and the transport was refused.
///
/// # Errors
/// [`Unavailable`] if neither a probe nor a variable shows it.
pub fn takes_plain_text(facts: &Facts) -> Observed<WithEvidence<bool>> {
    let tried = facts.wire.as_ref().and_then(|wire| wire.plain_login.as_ref());
    let Some(sql) = &facts.sql else {
        return match tried {
            Some(PlainLogin::Accepted) => {
                Ok(WithEvidence::new(true, EvidenceGrade::Wire, plain_evidence(facts, "succeeded")))
            }
            _ => Err(facts.sql().err().unwrap_or_else(nothing_tried)),
        };
    };
    let required = sql.variable_on(variable::REQUIRE_SECURE_TRANSPORT) == Ok(true);
    let declared = sql.variable_evidence(variable::REQUIRE_SECURE_TRANSPORT);
    let seen = |accepted, message: &str| {
        WithEvidence::new(accepted, EvidenceGrade::Wire, plain_evidence(facts, message)).and(declared.clone())
    };
    Ok(match tried {
        Some(PlainLogin::Accepted) => seen(true, "succeeded"),
        Some(PlainLogin::RefusedTransport(code)) if required => seen(false, &format!("was refused with error {code}")),
        Some(PlainLogin::Denied(LOGIN_DENIED)) if required && sql.is_mariadb() => {
            seen(false, "was refused with error 1045")
        }
        _ => WithEvidence::new(!required, EvidenceGrade::Declared, declared),
    })
}

fn plain_evidence(facts: &Facts, outcome: &str) -> Evidence {
    let main = facts.wire.as_ref().and_then(|wire| wire.classic.as_ref()).map(|main| main.endpoint.clone());
    let endpoint = main.unwrap_or_else(|| facts.target.clone());
    Evidence::Wire { endpoint, observation: format!("a login without TLS {outcome}") }
}

fn nothing_tried() -> Unavailable {
    Unavailable {
        what: "whether the server takes clear text".to_owned(),
        why: "no login in clear was tried".to_owned(),
        remedy: "run on the server's host with a TCP address".to_owned(),
    }
}

/// Observations at a port, as evidence.
#[must_use]
pub fn seen_at(port: &Port<'_>, observation: impl Into<String>) -> Evidence {
    Evidence::Wire { endpoint: port.endpoint.to_owned(), observation: observation.into() }
}

/// A connection to the server.
#[derive(Debug, Clone, Copy)]
pub struct Connection<'a> {
    /// The server's thread id.
    pub thread_id: &'a str,
    /// Account name.
    pub user: &'a str,
    /// Client host, without the port.
    pub host: &'a str,
    /// Current command: `Query`, `Sleep`, `Binlog Dump GTID`, …
    pub command: &'a str,
    /// Connection type: `TCP/IP` is clear text; `SSL/TLS`, `Socket`, `Named Pipe`, `Shared Memory`.
    pub kind: &'a str,
    /// Client library.
    pub client: &'a str,
    /// Version of the client library.
    pub client_version: &'a str,
    /// Name of the program, if sent.
    pub program: &'a str,
}

impl<'a> Connection<'a> {
    fn from_row(row: &Row<'a>) -> Self {
        let host = row.text("host");
        Self {
            thread_id: row.text("thread_id"),
            user: row.text("user"),
            host: without_port(host),
            command: row.text("command"),
            kind: row.text("connection_type"),
            client: row.text("client_name"),
            client_version: row.text("client_version"),
            program: row.text("program"),
        }
    }

    /// Whether a sniffer can read it.
    #[must_use]
    pub fn clear(&self) -> bool {
        self.kind.eq_ignore_ascii_case("TCP/IP")
    }

    /// Whether it uses a network, encrypted or not.
    #[must_use]
    pub fn networked(&self) -> bool {
        self.clear() || self.kind.eq_ignore_ascii_case("SSL/TLS")
    }

    /// Whether a replica reads the binary log over it.
    #[must_use]
    pub fn is_dump(&self) -> bool {
        self.command.to_ascii_lowercase().starts_with("binlog dump")
    }

    /// `user@host`.
    #[must_use]
    pub fn who(&self) -> String {
        format!("{}@{}", self.user, self.host)
    }

    /// Library, version and program, as far as the client sent them.
    #[must_use]
    pub fn driver(&self) -> String {
        let parts: Vec<&str> =
            [self.client, self.client_version, self.program].into_iter().filter(|p| !p.is_empty()).collect();
        if parts.is_empty() { "unknown client".to_owned() } else { parts.join(" ") }
    }
}

/// `host:port` of a process list without the port; an IPv6 address keeps its colons.
fn without_port(host: &str) -> &str {
    address::split(host).map_or(host, |(name, _)| name)
}

/// All client connections; the server's internal threads have no connection type.
///
/// # Errors
/// [`Unavailable`] if the performance schema is disabled or not accessible: its table is then empty, which proves
/// nothing about connections.
pub fn connections(sql: &SqlFacts) -> Observed<Vec<Connection<'_>>> {
    let unseen = |why: String, remedy: String| Unavailable { what: "live connections".to_owned(), why, remedy };
    if sql.variable_or_none(variable::PERFORMANCE_SCHEMA).is_some_and(|value| !is_on(value)) {
        return Err(unseen(
            "performance_schema = OFF, so performance_schema.threads is empty whoever is connected".to_owned(),
            format!(
                "performance_schema = ON below [{}] in the option file, then restart",
                option_group::of_flavor(sql.flavor())
            ),
        ));
    }
    if !sql.answers.contains_key("connections") {
        return Err(unseen(
            format!("{} does not show how its clients are connected", sql.identity.version),
            "capture a sample of the network, or upgrade to MySQL 5.7.8 or MariaDB 10.5.2 or later".to_owned(),
        ));
    }
    let rows = sql.rows("connections").map_err(|seen| unseen(seen.why, seen.remedy))?;
    let connections: Vec<Connection<'_>> =
        rows.iter().map(Connection::from_row).filter(|c| !c.kind.is_empty()).collect();
    if connections.is_empty() {
        // The audit's own connection must be in the list.
        return Err(unseen(
            "performance_schema.threads shows not even this audit's own connection".to_owned(),
            format!("GRANT SELECT ON performance_schema.* TO {}", sql.session.account),
        ));
    }
    Ok(connections)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_clients_are_cut_off_and_addresses_are_not() {
        assert_eq!(without_port("10.0.0.7:51234"), "10.0.0.7");
        assert_eq!(without_port("app.example:51234"), "app.example");
        assert_eq!(without_port("app.example"), "app.example");
        assert_eq!(without_port("2001:db8::7"), "2001:db8::7");
    }
}
