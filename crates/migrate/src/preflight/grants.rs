//! The privileges that the two accounts need, and no others.

use server::{Account, Flavor, ServerVersion, quote};

use super::Request;
use crate::{
    STATE_SCHEMA, Side,
    accounts::Accounts,
    catalog::Filter,
    fencing::{Fencing, LastingFence, described},
    log_access,
};

/// A privilege that an account needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    /// The account's server.
    pub side: Side,
    /// Names in the syntax of `GRANT`; an account that lacks one of them lacks the grant.
    pub privileges: Vec<&'static str>,
    /// What they are for.
    pub scope: Scope,
    /// What the `GRANT` statement names, such as `ALL`; `None` for the names themselves.
    shown: Option<&'static str>,
}

/// What a privilege is for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The whole server.
    Global,
    /// A schema.
    Schema(String),
    /// A procedure in the schema `mysql`.
    Procedure(&'static str),
}

impl Scope {
    /// A schema, or without one the whole server.
    fn of(schema: Option<&str>) -> Self {
        schema.map_or(Self::Global, |schema| Self::Schema(schema.to_owned()))
    }
}

/// Privileges to read each schema, or all schemas.
const READ: [&str; 5] = ["SELECT", "SHOW VIEW", "TRIGGER", "EVENT", "LOCK TABLES"];

/// Privileges that `ALL` on a schema must include.
const WRITE: [&str; 17] = [
    "SELECT",
    "INSERT",
    "UPDATE",
    "DELETE",
    "CREATE",
    "DROP",
    "REFERENCES",
    "INDEX",
    "ALTER",
    "LOCK TABLES",
    "CREATE VIEW",
    "SHOW VIEW",
    "CREATE ROUTINE",
    "ALTER ROUTINE",
    "EXECUTE",
    "EVENT",
    "TRIGGER",
];

/// The global privilege on the target, to see which tables are encrypted.
const SEES_TABLESPACES: [&str; 1] = ["PROCESS"];
/// The privilege for what [`RESTRICTED`](crate::catalog::RESTRICTED) lists.
const SETS_RESTRICTED: [&str; 1] = ["SESSION_VARIABLES_ADMIN"];

/// The grant to create tables in a session whose settings are others than those of the target.
pub(super) fn sets_restricted() -> Grant {
    Grant { side: Side::Target, privileges: SETS_RESTRICTED.to_vec(), scope: Scope::Global, shown: None }
}

/// The privilege to write in spite of `read_only` or `super_read_only`.
fn writes_in_spite(version: &ServerVersion) -> &'static str {
    match version.flavor {
        Flavor::MariaDb => "READ_ONLY ADMIN",
        Flavor::MySql | Flavor::Percona if version.at_least(8, 0, 0) => "CONNECTION_ADMIN",
        Flavor::MySql | Flavor::Percona => "SUPER",
    }
}

/// The grants by which a cut-over from MariaDB sees who could write in spite of `read_only`: sessions of others by their
/// privileges, and the events of all schemas.
fn mariadb_writers() -> [Grant; 2] {
    let grant = |privilege, scope: Option<&str>| Grant {
        side: Side::Source,
        privileges: vec![privilege],
        scope: Scope::of(scope),
        shown: None,
    };
    [grant("EVENT", None), grant("SELECT", Some("mysql"))]
}

/// The grants that a cut-over needs in addition to [`required`], or that may have been revoked since. `kill_procedure` is
/// that of the source.
pub(crate) fn cut_over(source: &ServerVersion, kill_procedure: Option<&'static str>, fencing: &Fencing) -> Vec<Grant> {
    match &fencing.lasting {
        None => Vec::new(),
        Some(LastingFence::ReadOnly) => read_only(source),
        Some(LastingFence::Accounts(_)) => fence(source, kill_procedure, "accounts"),
        Some(LastingFence::External(_)) => fence(source, kill_procedure, "external"),
    }
}

/// The grants of a fence, by its name.
pub(crate) fn fence(source: &ServerVersion, kill_procedure: Option<&'static str>, name: &str) -> Vec<Grant> {
    let grant = |privileges: &[&'static str], scope: Option<&str>| Grant {
        side: Side::Source,
        privileges: privileges.to_vec(),
        scope: Scope::of(scope),
        shown: None,
    };
    let mut grants = Vec::new();
    let described = described(source, kill_procedure.is_some());
    for fence in described.iter().filter(|fence| fence.name == name && !fence.needs.is_empty()) {
        grants.push(grant(fence.needs, None));
        if fence.sees_accounts {
            grants.push(grant(&["SELECT"], Some("mysql")));
            grants.extend(kill_procedure.map(executes));
        }
    }
    grants
}

/// The grant to call a procedure of a managed service.
fn executes(procedure: &'static str) -> Grant {
    let scope = Scope::Procedure(procedure);
    Grant { side: Side::Source, privileges: vec!["EXECUTE"], scope, shown: None }
}

/// The grants of the fence `read-only`.
fn read_only(source: &ServerVersion) -> Vec<Grant> {
    let writers = (source.flavor == Flavor::MariaDb).then(mariadb_writers);
    fence(source, None, "read-only").into_iter().chain(writers.into_iter().flatten()).collect()
}

/// The grants for a fallback, in addition to those of the migration and its cut-over: those of a migration from the
/// target to the source and of its cut-over, and the one to write in spite of `read_only`: to the source meanwhile, and
/// to the target's state after a fallback.
pub(crate) fn fallback(source: &ServerVersion, target: &ServerVersion, schemas: &[String]) -> Vec<Grant> {
    let filter = Filter { schemas: schemas.to_vec(), ..Filter::default() };
    let mut grants = required(target, source, &Request { filter, ..Request::default() }, schemas);
    grants.extend(read_only(target));
    for grant in &mut grants {
        grant.side = match grant.side {
            Side::Source => Side::Target,
            Side::Target => Side::Source,
        };
    }
    for (side, version) in [(Side::Source, source), (Side::Target, target)] {
        grants.push(Grant { side, privileges: vec![writes_in_spite(version)], scope: Scope::Global, shown: None });
    }
    grants
}

/// Global privileges on the target to create accounts and roles, and to give MySQL's roles to others. MariaDB lets who
/// has created a role give it.
const MYSQL_ACCOUNTS: [&str; 2] = ["CREATE USER", "ROLE_ADMIN"];
const MARIADB_ACCOUNTS: [&str; 1] = ["CREATE USER"];

/// The grants to see the accounts of both servers, and to create them at the target.
fn accounts(target: &ServerVersion) -> [Grant; 3] {
    let create: &[&str] = if target.flavor == Flavor::MariaDb { &MARIADB_ACCOUNTS } else { &MYSQL_ACCOUNTS };
    let grant = |side, privileges: &[&'static str], scope: Option<&str>| Grant {
        side,
        privileges: privileges.to_vec(),
        scope: Scope::of(scope),
        shown: None,
    };
    let sees = |side| grant(side, &["SELECT"], Some("mysql"));
    [sees(Side::Source), sees(Side::Target), grant(Side::Target, create, None)]
}

/// The grants that a migration of these schemas needs.
#[must_use]
pub fn required(source: &ServerVersion, target: &ServerVersion, request: &Request, schemas: &[String]) -> Vec<Grant> {
    let filter = &request.filter;
    let grant = |side, privileges: &[&'static str], scope: Option<&str>, shown| Grant {
        side,
        privileges: privileges.to_vec(),
        scope: Scope::of(scope),
        shown,
    };
    let [send, status] = log_access::privileges(source.flavor);
    let follow = grant(Side::Source, &[send, status, "PROCESS"], None, None);
    let mut grants = vec![follow, grant(Side::Target, &SEES_TABLESPACES, None, None)];
    if filter.schemas.is_empty() {
        grants.push(grant(Side::Source, &READ, None, None));
    }
    let read = filter.schemas.iter().map(|schema| grant(Side::Source, &READ, Some(schema), None));
    grants.extend(read);
    // Without the name of a schema, the privileges on all schemas are required anyway.
    if source.flavor == Flavor::MariaDb && !filter.schemas.is_empty() {
        grants.extend(mariadb_writers());
    }
    if request.accounts == Accounts::Create {
        grants.extend(accounts(target));
    }
    let written = schemas.iter().map(String::as_str).chain([STATE_SCHEMA]);
    // On MariaDB, ALL includes privileges that administrators of RDS cannot give, such as DELETE HISTORY.
    let shown = (target.flavor != Flavor::MariaDb).then_some("ALL");
    grants.extend(written.map(|schema| grant(Side::Target, &WRITE, Some(schema), shown)));
    grants.sort();
    grants.dedup();
    grants
}

impl Grant {
    /// The privileges of this grant that an account lacks.
    #[must_use]
    pub fn missing(&self, held: &server::Grants) -> Vec<&'static str> {
        let holds = |name: &str| match &self.scope {
            Scope::Global => held.cover_user_schemas(name),
            Scope::Schema(schema) => held.cover(&format!("{name} ON {schema}.*")),
            Scope::Procedure(procedure) => held.cover(&format!("{name} ON mysql.{procedure}")),
        };
        self.privileges.iter().copied().filter(|name| !holds(name)).collect()
    }

    /// The statement that grants all of these privileges, or only `names`, to an account such as `` `mig`@`%` ``, which
    /// holds `held`.
    #[must_use]
    pub fn statement(&self, held: &server::Grants, names: &[&str], account: &str) -> String {
        let privileges = self.shown.map_or_else(|| names.join(", "), str::to_owned);
        format!("GRANT {privileges} ON {} TO {account}", self.object(held.names_are_literal()))
    }

    /// The object in the `GRANT` statement. A schema's name is a pattern there, so `_` has to be escaped, unless names are
    /// literal.
    fn object(&self, names_are_literal: bool) -> String {
        let escaped = |schema: &String| match names_are_literal {
            true => schema.clone(),
            false => schema.replace('\\', "\\\\").replace('_', "\\_").replace('%', "\\%"),
        };
        match &self.scope {
            Scope::Global => "*.*".to_owned(),
            Scope::Schema(schema) => format!("{}.*", quote::identifier(&escaped(schema))),
            Scope::Procedure(procedure) => format!("PROCEDURE mysql.{procedure}"),
        }
    }
}

/// Quotes an account: `mig@%` becomes `` `mig`@`%` ``.
#[must_use]
pub fn quoted_account(account: &str) -> String {
    let Ok(account) = account.parse::<Account>();
    account.quoted()
}

#[cfg(test)]
mod tests {
    use server::{Grants, VersionHints};

    use super::*;

    fn grants(filter: &Filter) -> Vec<Grant> {
        let request = Request { filter: filter.clone(), ..Request::default() };
        let version = ServerVersion::parse("9.7.4", VersionHints::default()).unwrap();
        required(&version, &version, &request, &["my_shop".to_owned()])
    }

    #[test]
    fn statements_name_what_is_missing() {
        let filter = Filter::default();
        let held = Grants::parse(["GRANT SELECT, PROCESS, LOCK TABLES, EVENT, TRIGGER ON *.* TO `mig`@`%`"]);
        let missing: Vec<String> = grants(&filter)
            .iter()
            .filter(|grant| grant.side == Side::Source)
            .filter(|grant| !grant.missing(&held).is_empty())
            .map(|grant| grant.statement(&held, &grant.missing(&held), &quoted_account("mig@%")))
            .collect();
        let expected =
            ["GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO `mig`@`%`", "GRANT SHOW VIEW ON *.* TO `mig`@`%`"];
        assert_eq!(missing, expected);
    }

    #[test]
    fn a_cut_over_from_mariadb_has_to_see_all_writers() {
        let version = ServerVersion::parse("10.11.19-MariaDB", VersionHints::default()).unwrap();
        let filter = Filter { schemas: vec!["shop".to_owned()], ..Filter::default() };
        let request = Request { filter, ..Request::default() };
        let missing = |grants: &[Grant], held: &str| -> Vec<String> {
            let held = Grants::parse([held]);
            let lacks = grants.iter().filter(|grant| grant.side == Side::Source && !grant.missing(&held).is_empty());
            lacks.map(|grant| grant.statement(&held, &grant.missing(&held), "`m`@`%`")).collect()
        };
        let planned = required(&version, &version, &request, &["shop".to_owned()]);
        let writers = ["GRANT EVENT ON *.* TO `m`@`%`", "GRANT SELECT ON `mysql`.* TO `m`@`%`"].map(str::to_owned);
        let held = "GRANT ALL PRIVILEGES ON `shop`.* TO `m`@`%`";
        assert!(writers.iter().all(|grant| missing(&planned, held).contains(grant)), "{:?}", missing(&planned, held));
        assert_eq!(missing(&read_only(&version), "GRANT READ_ONLY ADMIN ON *.* TO `m`@`%`"), writers);
        let all = "GRANT SELECT, EVENT, READ_ONLY ADMIN ON *.* TO `m`@`%`";
        assert_eq!(missing(&read_only(&version), all), [""; 0]);
    }

    #[test]
    fn a_service_that_ends_sessions_needs_no_connection_admin() {
        let version = ServerVersion::parse("8.0.36", VersionHints::default()).unwrap();
        let missing = |procedure, held: &str| -> Vec<String> {
            let held = Grants::parse([held]);
            let grants = fence(&version, procedure, "accounts");
            let lacks = grants.iter().filter(|grant| !grant.missing(&held).is_empty());
            lacks.map(|grant| grant.statement(&held, &grant.missing(&held), "`m`@`%`")).collect()
        };
        let held = "GRANT SELECT, CREATE USER, EVENT ON *.* TO `m`@`%`";
        assert_eq!(missing(None, held), ["GRANT CONNECTION_ADMIN ON *.* TO `m`@`%`"]);
        assert_eq!(missing(Some("rds_kill"), held), ["GRANT EXECUTE ON PROCEDURE mysql.rds_kill TO `m`@`%`"]);
        assert_eq!(missing(Some("rds_kill"), "GRANT SELECT, CREATE USER, EXECUTE, EVENT ON *.* TO `m`@`%`"), [""; 0]);
    }

    #[test]
    fn a_schema_is_enough_if_it_is_named() {
        let filter = Filter { schemas: vec!["my_shop".to_owned()], ..Filter::default() };
        let read = grants(&filter).into_iter().find(|grant| grant.scope != Scope::Global).unwrap();
        let held =
            Grants::parse(["GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, LOCK TABLES ON `my\\_shop`.* TO `mig`@`%`"]);
        assert_eq!(read.missing(&held), [""; 0]);
        assert!(read.statement(&held, &READ, "`m`@`%`").ends_with("LOCK TABLES ON `my\\_shop`.* TO `m`@`%`"));
        let write = grants(&filter).pop().unwrap();
        assert_eq!(write.statement(&held, &[], "`m`@`%`"), "GRANT ALL ON `my\\_shop`.* TO `m`@`%`");
    }
}
