//! Replication channels of this server as a replica.

use server::Capability;
use server::address;
use server::dialect::channel::GROUP_CHANNELS;
use server::dialect::variable;
use server::switch::{is_on, is_switched_on};

use crate::facts::sql::{Answer, QueryOutcome, Row, SqlFacts};
use crate::facts::{Observed, Unavailable};

/// A channel by which this server reads another one's binary log.
#[derive(Debug, Clone, Copy)]
pub struct Channel<'a> {
    /// Name; empty for the default channel.
    pub name: &'a str,
    /// Host of the source.
    pub host: &'a str,
    /// Port of the source.
    pub port: &'a str,
    /// The account on the source.
    pub user: &'a str,
    /// Whether TLS is used. `Ignored` means that the server was built without TLS, so it is not.
    pub tls: bool,
    /// Whether the source's certificate and name are verified.
    pub verified: bool,
    /// File with the authorities; may be empty.
    pub ca: &'a str,
    /// Whether the RSA key for the password is requested from an unverified source.
    pub fetches_key: bool,
    /// Whether it is connected or tries to connect: nobody stopped it.
    pub runs: bool,
}

impl<'a> Channel<'a> {
    fn from_row(row: &Row<'a>) -> Self {
        Self {
            name: row.text("channel"),
            host: row.text("host"),
            port: row.text("port"),
            user: row.text("user"),
            tls: row.yes("ssl_allowed"),
            verified: row.yes("ssl_verify"),
            ca: row.text("ssl_ca"),
            fetches_key: row.yes("get_public_key"),
            runs: is_switched_on(row.text("io_state")),
        }
    }

    /// Whether the channel refuses a source that does not offer TLS.
    ///
    /// MariaDB treats `MASTER_SSL=1` as a preference unless the certificate is verified, too: replicas of 10.11.19 and
    /// 11.8.6 were seen to replicate in clear text with it. MySQL enforces it since 5.7.3 (`rpl_slave.cc`,
    /// `MYSQL_OPT_SSL_ENFORCE`; seen on 9.7.4).
    #[must_use]
    pub fn enforces_tls(&self, sql: &SqlFacts) -> bool {
        self.tls && (self.verified || sql.can(Capability::ReplicaEnforcesTls))
    }

    /// Name in findings.
    #[must_use]
    pub fn artefact(&self) -> String {
        if self.name.is_empty() { "default channel".to_owned() } else { format!("channel {}", self.name) }
    }

    /// `host:port` of the source.
    #[must_use]
    pub fn source(&self) -> String {
        address::join(self.host, self.port)
    }
}

/// The configured channels, except Group Replication's own: these are judged together with the group.
///
/// # Errors
/// [`Unavailable`] if they cannot be queried, or if the table is empty because the performance schema is disabled.
pub fn channels(sql: &SqlFacts) -> Observed<Vec<Channel<'_>>> {
    let rows = sql
        .rows("replica_channels")
        .map_err(|unseen| Unavailable { what: "replication channels".to_owned(), ..unseen })?;
    if rows.is_empty() && !empty_is_an_answer(sql) {
        return Err(Unavailable {
            what: "replication channels".to_owned(),
            why: "performance_schema = OFF, so its tables are empty whatever is configured".to_owned(),
            remedy: format!("GRANT REPLICATION CLIENT ON *.* TO {} and read SHOW REPLICA STATUS", sql.session.account),
        });
    }
    let ours = |channel: &Channel<'_>| !channel.host.is_empty() && !GROUP_CHANNELS.contains(&channel.name);
    Ok(rows.iter().map(Channel::from_row).filter(ours).collect())
}

/// Whether an empty list means that there are no channels: it comes from `SHOW … STATUS`, which works without the
/// performance schema, or the performance schema is enabled.
fn empty_is_an_answer(sql: &SqlFacts) -> bool {
    let asked = |answer: &Answer| {
        matches!(answer.outcome, QueryOutcome::Rows { .. })
            && answer.sql.trim_start().to_ascii_uppercase().starts_with("SHOW")
    };
    sql.answers.get("replica_channels").is_some_and(asked)
        || sql.variable_or_none(variable::PERFORMANCE_SCHEMA).is_some_and(is_on)
}
