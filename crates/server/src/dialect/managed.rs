//! Managed services: how their servers are recognised, and what they have in place of statements that they withhold.
//!
//! Sources: Amazon RDS user guide, "Common DBA tasks for MySQL DB instances" and "MySQL on Amazon RDS SQL reference"; Amazon
//! Aurora user guide, "Stored procedures"; Microsoft Learn, "Built-in stored procedures in Azure Database for MySQL"; Cloud
//! SQL documentation, "Configure database flags". Seen on none of them.

use std::collections::BTreeSet;

use super::statement::{end_session, show_variables};
use crate::{connect::Connection, error::Error};

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

const DATADIR: &str = "datadir";
/// The variable with the version of Aurora.
const AURORA_VERSION: &str = "aurora_version";
/// A part of Cloud SQL's versions: `8.0.36-google`.
const GOOGLE: &str = "-google";
/// The procedures that end sessions.
const RDS_KILL: &str = "rds_kill";
const AZURE_KILL: &str = "az_kill";
const PROCEDURES: &str = "SELECT ROUTINE_NAME FROM information_schema.ROUTINES \
     WHERE ROUTINE_SCHEMA = 'mysql' AND ROUTINE_NAME IN ('rds_kill', 'az_kill')";
/// Where data directories of RDS are.
const RDS_DATA: &str = "/rdsdbdata/";

impl ManagedService {
    /// Recognises the service of a session's server by its version, its variables and the procedures in the schema `mysql`.
    /// An account that may not see procedures does not recognise Azure.
    ///
    /// # Errors
    /// Those of [`Connection::query`].
    pub fn of_session(connection: &mut Connection) -> Result<Option<Self>, Error> {
        let variables = connection.query(&show_variables(&[AURORA_VERSION, DATADIR]))?;
        let version = connection.greeting().version.clone();
        let procedures = connection.query(PROCEDURES)?;
        let procedures = procedures.rows.iter().filter_map(|row| row.first()?.as_deref());
        Ok(Self::detect(&version, |name| variables.of_name(name), &procedures.collect()))
    }

    fn detect<'v>(
        version: &str,
        variable: impl Fn(&str) -> Option<&'v str>,
        procedures: &BTreeSet<&str>,
    ) -> Option<Self> {
        let has = |name: &str| procedures.contains(name);
        if variable(AURORA_VERSION).is_some() {
            Some(Self::Aurora)
        } else if version.contains(GOOGLE) {
            Some(Self::CloudSql)
        } else if variable(DATADIR).is_some_and(|path| path.starts_with(RDS_DATA)) || has(RDS_KILL) {
            Some(Self::Rds)
        } else if has(AZURE_KILL) {
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

    /// The procedure in the schema `mysql` by which an account ends sessions of others. `KILL` would need a privilege that
    /// these services withhold.
    #[must_use]
    pub const fn kill_procedure(self) -> Option<&'static str> {
        match self {
            Self::Rds | Self::Aurora => Some(RDS_KILL),
            Self::Azure => Some(AZURE_KILL),
            Self::CloudSql => None,
        }
    }

    /// The statement that makes the service keep binary logs for this many hours. The server's own variables do not.
    #[must_use]
    pub fn keep_binary_logs(self, hours: u64) -> Option<String> {
        let sets = matches!(self, Self::Rds | Self::Aurora);
        sets.then(|| format!("CALL mysql.rds_set_configuration('binlog retention hours', {hours})"))
    }
}

/// Ends a session by this procedure, or without one by `KILL`.
#[must_use]
pub fn end_session_by(procedure: Option<&str>, id: &str) -> String {
    procedure.map_or_else(|| end_session(id), |name| format!("CALL mysql.{name}({id})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn services_are_recognised_by_what_they_have() {
        let detect = |version: &str, variable: &[(&str, &'static str)], procedure: &str| {
            let value = |name: &str| variable.iter().find(|(it, _)| *it == name).map(|(_, value)| *value);
            ManagedService::detect(version, value, &[procedure].into())
        };
        let datadir = [("datadir", "/rdsdbdata/db/")];
        assert_eq!(detect("8.0.36-google", &[], ""), Some(ManagedService::CloudSql));
        assert_eq!(detect("8.0.32", &[("aurora_version", "3.06.0"), datadir[0]], ""), Some(ManagedService::Aurora));
        assert_eq!(detect("10.11.6-MariaDB", &[], "rds_kill"), Some(ManagedService::Rds));
        assert_eq!(detect("8.4.3", &datadir, ""), Some(ManagedService::Rds));
        assert_eq!(detect("8.0.37-azure", &[], "az_kill"), Some(ManagedService::Azure));
        assert_eq!(detect("9.7.4", &[("datadir", "/var/lib/mysql/")], ""), None);
    }

    #[test]
    fn sessions_are_ended_as_the_service_permits() {
        let statement = |service: ManagedService| end_session_by(service.kill_procedure(), "7");
        assert_eq!(statement(ManagedService::Rds), "CALL mysql.rds_kill(7)");
        assert_eq!(statement(ManagedService::Azure), "CALL mysql.az_kill(7)");
        assert_eq!(statement(ManagedService::CloudSql), "KILL 7");
    }
}
