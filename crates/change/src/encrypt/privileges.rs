//! The privileges that a run needs. Only an account that surely cannot do the work is refused before the run; in doubt
//! the run begins, and what the server denies is explained with the `GRANT` statements that are missing.

use server::{
    Capability, Flavor, Grants,
    dialect::{query, variable},
};

use super::{EncryptAction, EncryptPlan, EncryptReport, Method, Options, Policy, TableMethod};
use crate::{
    Error, Session,
    grants::{self, READ_ONLY_ADMIN, SESSION_VARIABLES, SYSTEM_VARIABLES},
    scratch_schema,
};

const EVERYTHING: &str = "*.*";

/// Privileges to copy a table, and to fill and drop the tables of the scratch schema.
const ON_TABLES: [&str; 6] = ["SELECT", "ALTER", "CREATE", "DROP", "INSERT", "UPDATE"];
/// Privileges for online tools, in addition; gh-ost also reads the binary log.
const FOR_TOOLS: [&str; 2] = ["DELETE", "TRIGGER"];

/// What an account lacks for a run.
#[derive(Debug, Default)]
pub(super) struct Lacking {
    account: String,
    /// What its grants do not cover, as `GRANT` expects it.
    missing: Vec<String>,
    /// Whether the grants are all that the account has.
    is_certain: bool,
    /// Whether a run cannot work without what is missing.
    is_needed: bool,
}

impl Lacking {
    /// Compares the account's grants with what a plan does, or may do if there is none.
    pub(super) fn query(
        session: &mut Session<'_>,
        options: &Options,
        plan: Option<&EncryptPlan>,
    ) -> Result<Self, Error> {
        let grants = match grants::own(session) {
            // A server with skip_grant_tables has none to show.
            Err(Error::Server(server::Error::Server { .. })) => return Ok(Self::default()),
            grants => grants?,
        };
        let needs = needs(session, options, plan)?;
        let missing = grants::missing(&grants, &session.identity().version, &needs);
        let is_needed = is_needed(&grants, session, plan);
        Ok(Self { account: grants::account(session)?, missing, is_certain: grants.are_complete(), is_needed })
    }

    /// Why a run would be refused.
    pub(super) fn refusal(&self) -> Option<Error> {
        self.is_needed.then(|| self.warning()).flatten()
    }

    /// What is surely missing.
    pub(super) fn warning(&self) -> Option<Error> {
        let is_lacking = self.is_certain && !self.missing.is_empty();
        is_lacking.then(|| Error::Privileges { account: self.account.clone(), missing: self.missing.clone() })
    }

    /// An error, with the privileges that are missing if the server has denied something.
    pub(super) fn explain(&self, error: Error) -> Error {
        if !error.is_privilege() {
            return error;
        }
        self.warning().or_else(|| self.denied(&error.to_string())).unwrap_or(error)
    }

    /// The first denial in a report, with the privileges that are missing.
    pub(super) fn denied_step(&self, report: &EncryptReport) -> Option<Error> {
        report.denied.as_deref().and_then(|error| self.denied(error))
    }

    fn denied(&self, error: &str) -> Option<Error> {
        let (account, missing) = (self.account.clone(), self.missing.clone());
        (!missing.is_empty()).then(|| Error::Denied { error: error.to_owned(), account, missing })
    }
}

/// Whether something is missing without which no run works: to read the list of tablespaces, to keep its statements
/// from replicas, and to change the tables of this plan.
fn is_needed(grants: &Grants, session: &Session<'_>, plan: Option<&EncryptPlan>) -> bool {
    let is_mariadb = session.identity().flavor() == Flavor::MariaDb;
    let needs = ["PROCESS ON *.*", if is_mariadb { "BINLOG ADMIN ON *.*" } else { SESSION_VARIABLES }];
    let changes_tables = has_table(plan, |method| matches!(method, TableMethod::Copy | TableMethod::Online(_)))
        && !grants.mention("ALTER");
    changes_tables || !grants::missing(grants, &session.identity().version, &needs).is_empty()
}

fn has_table(plan: Option<&EncryptPlan>, is: impl Fn(&TableMethod) -> bool) -> bool {
    let mut steps = plan.into_iter().flat_map(|plan| &plan.steps);
    steps.any(|step| matches!(&step.action, EncryptAction::Table(change) if is(&change.method)))
}

/// Sources: MySQL manual, "Privileges Provided by MySQL"; MariaDB documentation, "GRANT"; and runs with exactly these.
fn needs(session: &mut Session<'_>, options: &Options, plan: Option<&EncryptPlan>) -> Result<Vec<String>, Error> {
    let mut needs = vec!["PROCESS ON *.*"];
    needs.extend(for_binary_logs(session, options)?);
    if session.identity().flavor() == Flavor::MariaDb {
        needs.extend(["SUPER ON *.*", "BINLOG ADMIN ON *.*"]);
    } else {
        needs.extend(of_mysql(session, options)?);
    }
    if session.is_on(variable::READ_ONLY)? {
        // Without it, not even an administrator may write.
        let is_mariadb = session.identity().flavor() == Flavor::MariaDb;
        needs.push(if is_mariadb { READ_ONLY_ADMIN } else { "CONNECTION_ADMIN ON *.*" });
    }
    let has_tool = match plan {
        Some(_) => has_table(plan, |method| matches!(method, TableMethod::Online(_))),
        None => matches!(options.method, Method::GhOst | Method::PtOsc),
    };
    let mut on_objects = ON_TABLES.to_vec();
    if has_tool {
        on_objects.extend(FOR_TOOLS);
        needs.push("REPLICATION SLAVE ON *.*");
    }
    let mut needs: Vec<String> = needs.into_iter().map(str::to_owned).collect();
    needs.push(format!("LOCK TABLES ON {}.*", scratch_schema::SCHEMA));
    for object in objects(options) {
        needs.extend(on_objects.iter().map(|privilege| format!("{privilege} ON {object}")));
    }
    Ok(needs)
}

/// To list binary logs, and on MySQL to find those with which the server cannot start again.
fn for_binary_logs(session: &mut Session<'_>, options: &Options) -> Result<Vec<&'static str>, Error> {
    let is_on = session.is_on(variable::LOG_BIN)?;
    let finds = is_on && session.can(Capability::EncryptGeneral);
    let lists = finds || is_on && (options.policy != Policy::Tables || options.purge_binlogs);
    let list = query(&session.identity().version, "binary_logs").filter(|_| lists).map(|list| list.needs);
    Ok(list.into_iter().chain(finds.then_some("REPLICATION SLAVE ON *.*")).collect())
}

fn of_mysql(session: &mut Session<'_>, options: &Options) -> Result<Vec<&'static str>, Error> {
    let (tables, logs) = (options.policy != Policy::Logs, options.policy != Policy::Tables);
    // `FLUSH TABLES … FOR EXPORT`, `FLUSH BINARY LOGS`.
    let mut needs = vec![SYSTEM_VARIABLES, "RELOAD ON *.*"];
    if session.can(Capability::KeyringComponents) {
        needs.push("SELECT ON performance_schema.keyring_component_status");
    }
    let has_spaces = session.can(Capability::EncryptGeneral) || session.can(Capability::EncryptUndo);
    if has_spaces && (logs || options.schemas.is_empty()) {
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
    Ok(needs)
}

/// What the account must be able to change: everything, or the chosen schemas; and the scratch schema in any case.
fn objects(options: &Options) -> Vec<String> {
    let is_everything = options.schemas.is_empty();
    if options.policy != Policy::Logs && is_everything {
        return vec![EVERYTHING.to_owned()];
    }
    // The server's own error names what is missing on a schema whose name is ambiguous without quotes.
    let names = options.schemas.iter().filter(|name| !name.contains(['.', '*', '`', '"', '\'']));
    let names = names.filter(|_| options.policy != Policy::Logs);
    names.map(String::as_str).chain([scratch_schema::SCHEMA]).map(|name| format!("{name}.*")).collect()
}
