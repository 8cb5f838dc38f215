//! Why a server was not made to follow another.

use server::Endpoint;

use crate::gtid::NotGtids;

/// What went wrong, on which server; [`Error::hint`] says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A server cannot be reached, or does not answer.
    #[error("{server}: {source}")]
    Server {
        /// Which one.
        server: String,
        /// Why.
        source: server::Error,
    },
    /// Connections could not be opened; the message names the server.
    #[error("{source}")]
    Connect {
        /// Which one.
        endpoint: Endpoint,
        /// Why.
        source: server::Error,
    },
    /// A server refuses a statement that may hold a password. Its message is left out: that of a syntax error quotes the
    /// statement.
    #[error("{server}: the server refuses a statement with error {code}; without --yes the statements are shown")]
    Refused {
        /// Which one.
        server: String,
        /// The server's error number.
        code: u16,
    },
    /// What a server gives as GTIDs is none.
    #[error("{server}: {source}")]
    NotGtids {
        /// Which one.
        server: String,
        /// The text.
        source: NotGtids,
    },
    /// One is a MySQL, the other one a MariaDB.
    #[error("{server}: is {version}, and the source is {source_version}")]
    OtherFamily {
        /// The new server.
        server: String,
        /// Its version.
        version: String,
        /// The source's version.
        source_version: String,
    },
    /// Both servers have one `server_id`.
    #[error("{server}: has the source's server_id, {id}; each needs its own")]
    SameId {
        /// The new server.
        server: String,
        /// The number.
        id: String,
    },
    /// Both servers have one `server_uuid`.
    #[error("{server}: has the source's server_uuid; stop it, remove auto.cnf and start it again")]
    SameUuid {
        /// The new server.
        server: String,
    },
    /// The source numbers no transactions.
    #[error("{server}: gtid_mode is not ON, so there is no position to go on from")]
    NoGtidMode {
        /// The source.
        server: String,
    },
    /// The copy has no position.
    #[error("{server}: {variable} is empty, so there is no position to go on from")]
    NoPosition {
        /// The new server.
        server: String,
        /// Where the position would stand.
        variable: &'static str,
    },
    /// The new server is no copy of the source, or was written to since.
    #[error(
        "{server}: has transactions that the source does not have ({transactions}), so it is not a copy of it, or was \
         written to"
    )]
    Ahead {
        /// The new server.
        server: String,
        /// What only it has.
        transactions: String,
    },
    /// A MariaDB replica whose binary log is behind what it has applied.
    #[error(
        "{server}: has applied {applied} as a replica, and its binary log is at {logged}: what lies between would be \
         applied twice"
    )]
    LogBehind {
        /// The new server.
        server: String,
        /// A transaction that was applied.
        applied: String,
        /// The position of the binary log.
        logged: String,
    },
    /// The source no longer has what came after the copy.
    #[error("{server}: has purged the binary logs since the copy, so it cannot be followed from there")]
    Purged {
        /// The source.
        server: String,
    },
    /// The new server could not tell its source from whoever answers there.
    #[error("without --replication-ca whoever answers at the source's address can get the replication password")]
    Unverified,
    /// Group replication was asked of a MariaDB.
    #[error("--as group-member is for MySQL")]
    NoGroups,
    /// The new server is set up for another group, or for none.
    #[error("{server}: its group_replication_group_name is not that of the source")]
    OtherGroup {
        /// The new server.
        server: String,
    },
    /// Recovery from the group would not be encrypted.
    #[error("{server}: recovery from the group would go in clear text")]
    ClearRecovery {
        /// The new server.
        server: String,
    },
    /// The group did not take the new member.
    #[error("{server}: the group refused it; see its error log")]
    GroupRefused {
        /// The new server.
        server: String,
    },
    /// The new member is not in the group yet.
    #[error("{server}: is {state} and not ONLINE after {seconds} s")]
    NotOnline {
        /// The new server.
        server: String,
        /// What it is.
        state: String,
        /// How long was waited.
        seconds: u64,
    },
    /// Replication stopped with an error.
    #[error("{server}: {reason}")]
    Stopped {
        /// The new server.
        server: String,
        /// What its status says.
        reason: String,
    },
    /// The replica is still behind.
    #[error("{server}: has not caught up in {seconds} s")]
    NotCaughtUp {
        /// The new server.
        server: String,
        /// How long was waited.
        seconds: u64,
    },
}

impl Error {
    /// The next step, if there is one to suggest.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Connect { source, .. } => return source.fixed_hint(),
            Self::NoPosition { .. } => {
                "the source has to write a binary log with GTIDs, and the copy and its server's log_bin have to include it"
            }
            Self::LogBehind { .. } => {
                "a replica that is to be copied, or set up again, has to run with log_slave_updates"
            }
            Self::Purged { .. } => "take a new copy",
            Self::Unverified => "give --replication-ca FILE; MySQL's own is ca.pem in the source's data directory",
            Self::NoGroups => "a MariaDB takes --as replica",
            Self::OtherGroup { .. } => "give it the settings of a member of the source's group",
            Self::ClearRecovery { .. } => "SET PERSIST group_replication_recovery_use_ssl = ON",
            Self::GroupRefused { .. } => "mend what it names, and run this again",
            Self::NotOnline { .. } => "it goes on by itself; run this again to wait for it",
            Self::NotCaughtUp { .. } => "replication is set up and may still be working; look at its status",
            _ => return None,
        })
    }
}
