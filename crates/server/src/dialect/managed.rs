//! Managed services: how their servers are recognised, and what they have in place of statements that they withhold.
//!
//! Sources: Amazon RDS user guide, "Common DBA tasks for MySQL DB instances" and "MySQL on Amazon RDS SQL reference"; Amazon
//! Aurora user guide, "Stored procedures"; Microsoft Learn, "Built-in stored procedures in Azure Database for MySQL"; Cloud
//! SQL documentation, "Configure database flags". Seen on none of them.

use std::collections::BTreeSet;

use super::statement::end_session;
use crate::{connect::Connection, error::Error, version::ServerVersion};

/// A managed service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagedService {
    /// Amazon RDS for MySQL or MariaDB.
    Rds,
    /// Amazon Aurora MySQL.
    Aurora,
    /// Azure Database for MySQL.
    Azure,
    /// Google Cloud SQL for MySQL.
    CloudSql,
}

/// The variable with the version of Aurora.
const AURORA_VERSION: &str = "aurora_version";
/// A part of Cloud SQL's versions: `8.0.36-google`.
const GOOGLE: &str = "-google";
/// The procedures by which an account ends sessions of others. `KILL` would need a privilege that these services withhold.
const KILL_PROCEDURES: [&str; 2] = ["rds_kill", "az_kill"];

impl ManagedService {
    /// Recognises the service by a server's version, the names of its variables, and its procedures, as [`procedures`]
    /// lists them. An account that may not see the procedures does not recognise RDS and Azure.
    #[must_use]
    pub fn detect<'v>(
        version: &ServerVersion,
        mut variables: impl Iterator<Item = &'v str>,
        procedures: &BTreeSet<String>,
    ) -> Option<Self> {
        let has = |prefix: &str| procedures.iter().any(|name| name.starts_with(prefix));
        if variables.any(|name| name == AURORA_VERSION) {
            Some(Self::Aurora)
        } else if version.text.contains(GOOGLE) {
            Some(Self::CloudSql)
        } else if has("rds_") {
            Some(Self::Rds)
        } else if has("az_") {
            Some(Self::Azure)
        } else {
            None
        }
    }

    /// What the service calls the place where global variables are set.
    #[must_use]
    pub const fn settings(self) -> &'static str {
        match self {
            Self::Rds => "the DB parameter group",
            Self::Aurora => "the DB cluster parameter group",
            Self::Azure => "the server parameters",
            Self::CloudSql => "the database flags",
        }
    }

    /// The statement that makes the service keep binary logs for this many hours. The server's own variables do not.
    #[must_use]
    pub fn keep_binary_logs(self, hours: u64) -> Option<String> {
        let sets = matches!(self, Self::Rds | Self::Aurora);
        sets.then(|| format!("CALL mysql.rds_set_configuration('binlog retention hours', {hours})"))
    }
}

/// The procedures of managed services that the account may see.
///
/// # Errors
/// Those of [`Connection::query`].
pub fn procedures(connection: &mut Connection) -> Result<BTreeSet<String>, Error> {
    let sql = r"SELECT ROUTINE_NAME FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = 'mysql'
                AND (ROUTINE_NAME LIKE 'rds|_%' ESCAPE '|' OR ROUTINE_NAME LIKE 'az|_%' ESCAPE '|')";
    let rows = connection.query(sql)?;
    Ok(rows.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
}

/// The procedure in the schema `mysql` by which an account ends sessions of others, if the service has one.
#[must_use]
pub fn kill_procedure(procedures: &BTreeSet<String>) -> Option<&'static str> {
    KILL_PROCEDURES.into_iter().find(|name| procedures.contains(*name))
}

/// Ends a session by this procedure, or without one by `KILL`.
#[must_use]
pub fn end_session_by(procedure: Option<&str>, id: &str) -> String {
    procedure.map_or_else(|| end_session(id), |name| format!("CALL mysql.{name}({id})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::VersionHints;

    #[test]
    fn services_are_recognised_by_what_they_have() {
        let detect = |version: &str, variable: &str, procedure: &str| {
            let version = ServerVersion::parse(version, VersionHints::default()).unwrap();
            ManagedService::detect(&version, [variable].into_iter(), &[procedure.to_owned()].into())
        };
        assert_eq!(detect("8.0.36-google", "port", ""), Some(ManagedService::CloudSql));
        assert_eq!(detect("8.0.32", "aurora_version", "rds_kill"), Some(ManagedService::Aurora));
        assert_eq!(detect("10.11.6-MariaDB", "port", "rds_kill"), Some(ManagedService::Rds));
        assert_eq!(detect("8.0.37-azure", "port", "az_kill"), Some(ManagedService::Azure));
        assert_eq!(detect("9.7.4", "port", "rdsx"), None);
    }

    #[test]
    fn sessions_are_ended_as_the_service_permits() {
        let procedure = |name: &str| kill_procedure(&[name.to_owned(), "az_other".to_owned()].into());
        assert_eq!(end_session_by(procedure("rds_kill"), "7"), "CALL mysql.rds_kill(7)");
        assert_eq!(end_session_by(procedure("az_kill"), "7"), "CALL mysql.az_kill(7)");
        assert_eq!(end_session_by(procedure("rds_kill_query"), "7"), "KILL 7");
    }
}
