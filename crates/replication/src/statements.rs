//! Statements that make a server replicate from another after its files were copied, by fork and version.
//!
//! Sources: "CHANGE REPLICATION SOURCE TO" of the MySQL manual (from 8.0.23; `CHANGE MASTER TO` and `START
//! SLAVE` are gone in 8.4), "CHANGE MASTER TO" of the MariaDB documentation; both run on real servers.

use std::path::PathBuf;

use server::{
    Endpoint, Password, ServerVersion, Target,
    dialect::{
        channel::{Channel, GROUP_RECOVERY},
        setting::setting,
        statement::{
            START_GROUP_REPLICATION, STOP_GROUP_REPLICATION, end_channel, position_by_gtid, replication_terms,
            set_applied,
        },
    },
    quote::text,
};
use zeroize::Zeroizing;

use crate::Error;

/// The source and the account for it.
#[derive(Clone, Debug)]
pub struct Source {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Account for replication.
    pub user: String,
    /// Password of the account; shown statements contain dots instead.
    pub password: Option<Password>,
    /// File on the replica's host with the authorities that must have signed the source's certificate. Without it the
    /// link is encrypted, but the source is not authenticated.
    pub ca: Option<PathBuf>,
}

impl Source {
    /// The source at the address of `target`, which replication reaches over TCP.
    ///
    /// # Errors
    /// [`Error::NoTcp`] if that is a socket.
    pub fn at(target: &Target, user: String, password: Option<Password>, ca: Option<PathBuf>) -> Result<Self, Error> {
        match target.endpoint.clone() {
            Endpoint::Tcp { host, port } => Ok(Self { host, port, user, password, ca }),
            Endpoint::Socket(_) => Err(Error::NoTcp),
        }
    }
}

/// Statements in order. They may contain a password, so they are wiped.
pub type Statements = Vec<Zeroizing<String>>;

/// Makes a server replicate from `source`, starting at the position of its copied files.
///
/// `position` is MariaDB's `gtid_binlog_pos` of the copy; MySQL reads its own from the copied binary log.
#[must_use]
pub fn replica(version: &ServerVersion, source: &Source, position: &str) -> Statements {
    let terms = replication_terms(version);
    let change = format!("{} TO {}, {}", terms.change, *link(terms.prefix, source), position_by_gtid(version));
    let begin = [change, format!("START {}", terms.replica)];
    statements(set_applied(version, position).into_iter().chain(begin))
}

/// Stops these channels and removes their settings.
#[must_use]
pub fn end_channels(version: &ServerVersion, channels: &[String]) -> Statements {
    statements(channels.iter().flat_map(|channel| end_channel(version, channel)))
}

/// Makes a copy of a group member join the group; MySQL only. `failed`: the server tried before and was expelled, so it
/// must leave the group first.
#[must_use]
pub fn group_member(version: &ServerVersion, source: &Source, failed: bool) -> Statements {
    let prefix = replication_terms(version).prefix;
    let password = shown(source);
    // Set globally, and persistently where possible, so that later recoveries verify the source, too.
    let set = |name, value: &str| setting(version, name, value).statement;
    let verified = source.ca.iter().flat_map(|ca| {
        [
            set("group_replication_recovery_ssl_ca", &text(&ca.to_string_lossy())),
            set("group_replication_recovery_ssl_verify_server_cert", "ON"),
        ]
    });
    let join = [
        Channel::named(version, GROUP_RECOVERY).change(&Zeroizing::new(format!(
            "{prefix}_USER={}, {prefix}_PASSWORD={}",
            text(&source.user),
            *password
        ))),
        START_GROUP_REPLICATION.to_owned(),
    ];
    let left = failed.then(|| STOP_GROUP_REPLICATION.to_owned());
    statements(left.into_iter().chain(verified).chain(join))
}

/// Host, account and TLS. Every link uses TLS.
fn link(prefix: &str, source: &Source) -> Zeroizing<String> {
    let (host, port, user, password) = (text(&source.host), source.port, text(&source.user), shown(source));
    let mut clauses = Zeroizing::new(format!(
        "{prefix}_HOST={host}, {prefix}_PORT={port}, {prefix}_USER={user}, {prefix}_PASSWORD={}, {prefix}_SSL=1",
        *password
    ));
    let verify = match &source.ca {
        Some(ca) => format!(", {prefix}_SSL_CA={}, {prefix}_SSL_VERIFY_SERVER_CERT=1", text(&ca.to_string_lossy())),
        None => format!(", {prefix}_SSL_VERIFY_SERVER_CERT=0"),
    };
    clauses.push_str(&verify);
    clauses
}

fn shown(source: &Source) -> Zeroizing<String> {
    match &source.password {
        Some(password) => {
            Zeroizing::new(text(&Zeroizing::new(String::from_utf8_lossy(password.expose()).into_owned())))
        }
        None => Zeroizing::new("'…'".to_owned()),
    }
}

fn statements(each: impl IntoIterator<Item = String>) -> Statements {
    each.into_iter().map(Zeroizing::new).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use server::VersionHints;

    fn source(ca: Option<&str>) -> Source {
        let password = Some(Password::new(*b"it's\\"));
        Source { host: "db1".to_owned(), port: 3306, user: "repl".to_owned(), password, ca: ca.map(PathBuf::from) }
    }

    fn all(text: &str, comment: &str, position: &str) -> String {
        let version = ServerVersion::parse(text, VersionHints { comment, ..VersionHints::default() }).unwrap();
        replica(&version, &source(Some("/ca.pem")), position)
            .iter()
            .map(|text| text.as_str())
            .collect::<Vec<_>>()
            .join("; ")
    }

    #[test]
    fn each_version_gets_its_syntax() {
        assert_eq!(
            all("9.7.4", "MySQL", ""),
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='db1', SOURCE_PORT=3306, SOURCE_USER='repl', \
             SOURCE_PASSWORD='it''s\\\\', SOURCE_SSL=1, SOURCE_SSL_CA='/ca.pem', SOURCE_SSL_VERIFY_SERVER_CERT=1, \
             SOURCE_AUTO_POSITION=1; START REPLICA"
        );
        assert!(all("8.0.22", "MySQL", "").starts_with("CHANGE MASTER TO MASTER_HOST='db1'"));
        let mariadb = all("10.11.19-MariaDB", "Debian", "0-1-77");
        assert!(mariadb.starts_with("SET GLOBAL gtid_slave_pos = '0-1-77'; CHANGE MASTER TO"), "{mariadb}");
        assert!(mariadb.contains("MASTER_SSL=1") && mariadb.ends_with("MASTER_USE_GTID=slave_pos; START SLAVE"));
    }

    #[test]
    fn channels_end_in_the_syntax_of_each_version() {
        let ended = |text: &str, channel: &str| {
            let version = ServerVersion::parse(text, VersionHints::default()).unwrap();
            let all = end_channels(&version, &[channel.to_owned()]);
            format!("{}; {}", *all[0], *all[1])
        };
        assert_eq!(ended("9.7.4", ""), "STOP REPLICA FOR CHANNEL ''; RESET REPLICA ALL FOR CHANNEL ''");
        assert_eq!(ended("5.7.44", "it's"), "STOP SLAVE FOR CHANNEL 'it''s'; RESET SLAVE ALL FOR CHANNEL 'it''s'");
        assert_eq!(ended("10.11.19-MariaDB", "a"), "STOP SLAVE 'a'; RESET SLAVE 'a' ALL");
    }

    #[test]
    fn recovery_from_a_group_verifies_after_a_restart_too() {
        let of = |text: &str| {
            let version = ServerVersion::parse(text, VersionHints::default()).unwrap();
            group_member(&version, &source(Some("/ca.pem")), false)
                .iter()
                .map(|text| text.to_string())
                .collect::<Vec<_>>()
        };
        assert!(of("9.7.4")[..2].iter().all(|text| text.starts_with("SET PERSIST group_replication_recovery_ssl_")));
        assert!(of("5.7.44")[0].starts_with("SET GLOBAL "));
        let version = ServerVersion::parse("9.7.4", VersionHints::default()).unwrap();
        assert_eq!(*group_member(&version, &source(None), true)[0], "STOP GROUP_REPLICATION");
    }

    #[test]
    fn what_is_shown_holds_no_password() {
        let version = ServerVersion::parse("9.7.4", VersionHints::default()).unwrap();
        let shown = replica(&version, &Source { password: None, ..source(None) }, "");
        assert!(shown[0].contains("SOURCE_PASSWORD='…'") && shown[0].contains("SOURCE_SSL=1"));
    }
}
