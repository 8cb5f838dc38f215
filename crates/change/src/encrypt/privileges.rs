//! The privileges that a run needs, checked before it changes anything.

use server::{
    Capability, Flavor,
    dialect::{query, variable},
};

use super::{Options, Policy};
use crate::{
    Error, Session,
    grants::{SYSTEM_VARIABLES, require},
    scratch_schema,
};

const EVERYTHING: &str = "*.*";

/// Privileges to copy a table, and to fill and drop the tables of the scratch schema.
const ON_TABLES: [&str; 6] = ["SELECT", "ALTER", "CREATE", "DROP", "INSERT", "UPDATE"];

/// Refuses a run whose account lacks a privilege.
pub(super) fn check(session: &mut Session<'_>, options: &Options) -> Result<(), Error> {
    let needs = needs(session, options)?;
    require(session, &needs)
}

/// Sources: MySQL manual, "Privileges Provided by MySQL"; MariaDB documentation, "GRANT"; and runs with exactly these.
fn needs(session: &mut Session<'_>, options: &Options) -> Result<Vec<String>, Error> {
    let (tables, logs) = (options.policy != Policy::Logs, options.policy != Policy::Tables);
    let mut needs = vec!["PROCESS ON *.*"];
    let lists_logs = (logs || options.purge_binlogs) && session.is_on(variable::LOG_BIN)?;
    if let Some(list) = query(&session.identity().version, "binary_logs").filter(|_| lists_logs) {
        needs.push(list.needs);
    }
    if session.identity().flavor() == Flavor::MariaDb {
        needs.extend(["SUPER ON *.*", "BINLOG ADMIN ON *.*"]);
    } else {
        needs.push(SYSTEM_VARIABLES);
        if session.can(Capability::KeyringComponents) {
            needs.push("SELECT ON performance_schema.keyring_component_status");
        }
        // `FLUSH TABLES … FOR EXPORT`, `FLUSH BINARY LOGS`.
        needs.extend(["RELOAD ON *.*", "LOCK TABLES ON *.*"]);
        if logs || options.schemas.is_empty() {
            needs.push("CREATE TABLESPACE ON *.*");
        }
        if tables && session.can(Capability::EncryptByDefault) && !session.is_on(variable::MYSQL_NEW_TABLES)? {
            needs.push("TABLE_ENCRYPTION_ADMIN ON *.*");
        }
        if options.purge_binlogs {
            needs.push("BINLOG_ADMIN ON *.*");
        }
        if logs && session.can(Capability::EncryptBinaryLogs) && !session.is_on(variable::MYSQL_BINARY_LOGS)? {
            needs.push("BINLOG_ENCRYPTION_ADMIN ON *.*");
        }
    }
    let mut needs: Vec<String> = needs.into_iter().map(str::to_owned).collect();
    for object in objects(options) {
        needs.extend(ON_TABLES.map(|privilege| format!("{privilege} ON {object}")));
    }
    Ok(needs)
}

/// What the account must be able to change: everything, or the chosen schemas.
fn objects(options: &Options) -> Vec<String> {
    if options.schemas.is_empty() {
        return vec![EVERYTHING.to_owned()];
    }
    // The server's own error names what is missing on a schema whose name is ambiguous without quotes.
    let names = options.schemas.iter().filter(|name| !name.contains(['.', '*', '`', '"', '\'']));
    names.map(String::as_str).chain([scratch_schema::SCHEMA]).map(|name| format!("{name}.*")).collect()
}
