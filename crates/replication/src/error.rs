//! Errors of replication.

use std::path::PathBuf;

use server::Endpoint;

use crate::gtid::NotGtids;

/// What failed on which server; [`Error::hint`] suggests the next step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A server cannot be reached, or does not answer.
    #[error("{server}: {source}")]
    Server {
        /// Address of the server.
        server: String,
        /// The client's error.
        source: server::Error,
    },
    /// A connection could not be opened; the message names the server.
    #[error("{}", source.naming(endpoint))]
    Connect {
        /// Address of the server.
        endpoint: Endpoint,
        /// The client's error.
        source: server::Error,
    },
    /// A server refuses a statement that may contain a password. The server's message is omitted: for a syntax error it
    /// quotes the statement.
    #[error("{server}: the server refuses a statement with error {code}; without --yes the statements are shown")]
    Refused {
        /// Address of the server.
        server: String,
        /// The server's error number.
        code: u16,
    },
    /// A server returned a malformed GTID.
    #[error("{server}: {source}")]
    NotGtids {
        /// Address of the server.
        server: String,
        /// The parser's error.
        source: NotGtids,
    },
    /// One server is MySQL and the other MariaDB.
    #[error("{server}: is {version}, and the source is {source_version}")]
    OtherFamily {
        /// Address of the new server.
        server: String,
        /// Its version.
        version: String,
        /// The source's version.
        source_version: String,
    },
    /// Both servers have the same `server_id`.
    #[error("{server}: has the source's server_id, {id}; each needs its own")]
    SameId {
        /// Address of the new server.
        server: String,
        /// The shared `server_id`.
        id: String,
    },
    /// Both servers have the same `server_uuid`.
    #[error("{server}: has the source's server_uuid; stop it, remove auto.cnf and start it again")]
    SameUuid {
        /// Address of the new server.
        server: String,
    },
    /// The new server does not run, or cannot be reached.
    #[error("{}: no server runs on it, or --socket was not given", datadir.display())]
    NoNewServer {
        /// Its data directory.
        datadir: PathBuf,
        /// Whether the directory still has the source's uuid.
        has_uuid: bool,
    },
    /// The source does not use GTIDs.
    #[error("{server}: gtid_mode is not ON, so there is no position to start from")]
    NoGtidMode {
        /// Address of the source.
        server: String,
    },
    /// The copy has no replication position.
    #[error("{server}: {variable} is empty, so there is no position to start from")]
    NoPosition {
        /// Address of the new server.
        server: String,
        /// The variable that would contain the position.
        variable: &'static str,
    },
    /// The new server is not a copy of the source, or was written to since.
    #[error(
        "{server}: has transactions that the source does not have ({transactions}), so it is not a copy of it, or was \
         written to"
    )]
    Ahead {
        /// Address of the new server.
        server: String,
        /// GTIDs that only the new server has.
        transactions: String,
    },
    /// A MariaDB replica whose binary log lacks transactions that it has applied.
    #[error(
        "{server}: has applied {applied} as a replica, and its binary log is at {logged}: what lies between would be \
         applied twice"
    )]
    LogBehind {
        /// Address of the new server.
        server: String,
        /// An applied transaction that is missing from the binary log.
        applied: String,
        /// Position of the binary log.
        logged: String,
    },
    /// The source has purged binary logs that the copy needs.
    #[error("{server}: has purged the binary logs since the copy, so it cannot be followed from there")]
    Purged {
        /// Address of the source.
        server: String,
    },
    /// The new server could not verify the source's identity.
    #[error("without --replication-ca whoever answers at the source's address can get the replication password")]
    Unverified,
    /// The source is named by its socket.
    #[error("the source has to be named by host and port: replication goes over TCP")]
    NoTcp,
    /// Group replication was requested for MariaDB.
    #[error("--role group-member is for MySQL")]
    NoGroups,
    /// Setup by statements was requested for a Galera node, which joins by state transfer instead.
    #[error("a Galera node needs no statements: it joins by state transfer")]
    GaleraNode,
    /// The new server is configured for another group, or for none.
    #[error("{server}: its group_replication_group_name is not that of the source")]
    OtherGroup {
        /// Address of the new server.
        server: String,
    },
    /// Recovery from the group would not be encrypted.
    #[error("{server}: recovery from the group would go in clear text")]
    ClearRecovery {
        /// Address of the new server.
        server: String,
    },
    /// The group rejected the new member.
    #[error("{server}: the group refused it; see its error log")]
    GroupRefused {
        /// Address of the new server.
        server: String,
    },
    /// The new member is not ONLINE yet.
    #[error("{server}: is {state} and not ONLINE after {seconds} s")]
    NotOnline {
        /// Address of the new server.
        server: String,
        /// Its member state.
        state: String,
        /// How long the run waited.
        seconds: u64,
    },
    /// Replication stopped with an error.
    #[error("{server}: {reason}")]
    Stopped {
        /// Address of the new server.
        server: String,
        /// The error in its replication status.
        reason: String,
    },
    /// The replica has not caught up with the source.
    #[error("{server}: has not caught up in {seconds} s")]
    NotCaughtUp {
        /// Address of the new server.
        server: String,
        /// How long the run waited.
        seconds: u64,
    },
}

impl Error {
    /// Whether the request is one that this kind of server never supports.
    #[must_use]
    pub const fn is_misuse(&self) -> bool {
        matches!(self, Self::NoGroups | Self::NoTcp | Self::GaleraNode)
    }

    /// The next step, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Connect { source: server::Error::TlsTooOld { .. }, .. } => {
                "the replication link would be as weak: run the source on a build with OpenSSL, as all of MySQL are \
                 from 5.7.28 on, with TLSv1.2 in its tls_version"
            }
            Self::Connect { source, .. } => return source.fixed_hint(),
            Self::NoNewServer { has_uuid: true, .. } => {
                "remove auto.cnf before the first start: two servers must not share a uuid; start it with a server_id \
                 of its own, and give its --socket"
            }
            Self::NoNewServer { .. } => "start it with a server_id of its own, and give its --socket",
            Self::NoPosition { .. } => {
                "the source has to write a binary log with GTIDs, and the copy and its server's log_bin have to \
                 include it"
            }
            Self::LogBehind { .. } => {
                "a replica that is to be copied, or set up again, has to run with log_slave_updates"
            }
            Self::Purged { .. } => "take a new copy",
            Self::Unverified => "give --replication-ca FILE; MySQL's own is ca.pem in the source's data directory",
            Self::GaleraNode => "set wsrep_sst_method=sealant on it and start it",
            Self::NoGroups => "a MariaDB takes --role replica",
            Self::OtherGroup { .. } => "give it the settings of a member of the source's group",
            Self::ClearRecovery { .. } => "SET PERSIST group_replication_recovery_use_ssl = ON",
            Self::GroupRefused { .. } => "fix what it names, and run this again",
            Self::NotOnline { .. } => "recovery continues by itself; run this again to wait for it",
            Self::NotCaughtUp { .. } => "replication is set up and may still be working; look at its status",
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::statements::Source;

    #[test]
    fn replication_does_not_go_by_a_socket() {
        let at = |url: &str| Source::at(&url.parse().unwrap(), "repl".to_owned(), None, None);
        assert_eq!(at("mysql://a@db1:3307").unwrap().port, 3307);
        assert!(at("mysql://a@?socket=/s").unwrap_err().is_misuse());
    }
}
