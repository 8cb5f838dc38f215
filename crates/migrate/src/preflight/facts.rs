//! Everything that the checks judge, read from both servers.

use std::collections::{BTreeMap, BTreeSet};

use server::{
    Connection, Error as ServerError, Flavor, Grants, Identity, ServerVersion, describe,
    dialect::{
        self,
        catalog::{UTF8MB4_BEFORE_8, UTF8MB4_DEFAULT},
        managed::ManagedService,
        statement::{PREPARED_TRANSACTIONS, XA_RECOVER, replication_threads},
    },
    switch::is_switched_on,
};

use super::{
    Link, Support,
    grants::{Scope, required, sets_restricted},
    json::{self, JsonColumn},
    pairs::{NATIVE_FOREIGN_KEYS, logs_cascades},
};
use crate::{
    Accept, Attestation, Error, NotProven, STATE_SCHEMA, Server, Side,
    accounts::{self, AccountFacts, Accounts, Moved},
    catalog::{self, Catalog, Encrypt, Filter, RESTRICTED, TableName},
    link,
    log_access::{self, log_filters},
    open_transactions,
    server_lock::is_one_server,
    state, storage,
};

/// What the user asks for.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Which tables to move.
    pub filter: Filter,
    /// Which of them are encrypted at the target.
    pub encrypt: Encrypt,
    /// Whether the accounts of the source are created at the target.
    pub accounts: Accounts,
    /// What a service says about the storage of the target.
    pub attestation: Option<Attestation>,
}

/// All facts that the checks judge.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The server whose tables are moved.
    pub source: ServerFacts,
    /// The server that receives them.
    pub target: ServerFacts,
    /// Whether both addresses lead to the same server. False if the pair is not supported.
    pub one_server: bool,
    /// What the user asks for.
    pub request: Request,
    /// The evidence that the target's storage is encrypted.
    pub storage: Result<String, NotProven>,
    /// `None` if the pair is not supported, if a link is too weak to read tables over it, or if an account lacks a
    /// privilege and so would not see everything.
    pub tables: Option<Tables>,
}

/// A server, and the account on it.
#[derive(Clone, Debug)]
pub struct ServerFacts {
    /// Whether it is the source or the target.
    pub side: Side,
    /// Address or socket.
    pub endpoint: String,
    /// The account that the server has chosen for the session: `mig@%`.
    pub account: String,
    /// Its version, UUID and host name.
    pub identity: Identity,
    /// How the connection is protected.
    pub link: Link,
    /// What weaker protection of the link the user accepts.
    pub accept: Accept,
    /// Global variables, by name in lower case.
    pub variables: BTreeMap<String, String>,
    /// The account's privileges, with those of its active roles.
    pub grants: Grants,
    /// The managed service that it belongs to, as far as the account can see that.
    pub service: Option<ManagedService>,
}

/// Facts that only an account with privileges can read.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// The selected tables.
    pub source: Catalog,
    /// Everything in the schemas of the same names.
    pub target: Catalog,
    /// Whether the target has the state of a migration, or something else in the schema for it.
    pub state_exists: bool,
    /// Tables that an interrupted run has created at the target before the migration began.
    pub created: BTreeSet<TableName>,
    /// Number of prepared transactions at the source that are still open.
    pub prepared: u64,
    /// Whether the source applies changes of another server.
    pub source_replicates: bool,
    /// Whether the target applies changes of another server.
    pub target_replicates: bool,
    /// Options that limit the source's log to some schemas, and their values.
    pub log_filters: Vec<(String, String)>,
    /// The same options of the target.
    pub target_log_filters: Vec<(String, String)>,
    /// Columns with JSON values that cannot be sent as text.
    pub json_columns: Vec<JsonColumn>,
    /// Whether the target rounds some fractional numbers when it reads JSON text.
    pub target_rounds_json: bool,
    /// The collations of the target.
    pub target_collations: BTreeSet<String>,
    /// The accounts of both servers; `None` if the account at the source may not see them.
    pub accounts: Option<AccountFacts>,
    /// Whether a keyring of the target is active; `None` if the account may not ask, and no encrypted object proves it.
    pub target_keyring: Option<bool>,
}

impl Facts {
    /// Reads all facts from both servers. Of rows, reads only JSON columns. Changes nothing on either server.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub fn read(source: &Server, target: &Server, request: Request) -> Result<Self, Error> {
        let mut ends = (link::inspection(Side::Source, source)?, link::inspection(Side::Target, target)?);
        let mut facts = Self {
            source: ServerFacts::read(Side::Source, &mut ends.0, source)?,
            target: ServerFacts::read(Side::Target, &mut ends.1, target)?,
            one_server: false,
            storage: storage::evidence(request.attestation.as_ref(), target),
            request,
            tables: None,
        };
        facts.one_server = facts.support() == Support::Yes && is_one_server(&mut ends.0, &mut ends.1)?;
        let sufficient = facts.servers().into_iter().all(ServerFacts::has_sufficient_link);
        if facts.support() == Support::Yes && sufficient && facts.sees_everything() {
            facts.tables = Some(Tables::read(&facts, &mut ends.0, &mut ends.1)?);
        }
        Ok(facts)
    }

    /// Whether the pair is supported.
    #[must_use]
    pub fn support(&self) -> Support {
        Support::for_versions(&self.source.identity.version, &self.target.identity.version)
    }

    /// The facts of one server.
    #[must_use]
    pub const fn server(&self, side: Side) -> &ServerFacts {
        match side {
            Side::Source => &self.source,
            Side::Target => &self.target,
        }
    }

    /// The facts of both servers.
    #[must_use]
    pub const fn servers(&self) -> [&ServerFacts; 2] {
        [&self.source, &self.target]
    }

    /// The tables that the target will have.
    #[must_use]
    pub fn moved_tables(&self) -> BTreeSet<TableName> {
        let tables = self.tables.iter().flat_map(|tables| &tables.source.tables);
        tables.map(catalog::Table::full_name).collect()
    }

    /// What becomes of the accounts; `None` if they are not to be created, or cannot be seen.
    pub(crate) fn accounts<T>(&self, judge: impl FnOnce(&AccountFacts, &Moved<'_>) -> T) -> Option<T> {
        if self.request.accounts == Accounts::Report {
            return None;
        }
        let (filter, tables) = (&self.request.filter, &self.moved_tables());
        Some(judge(self.tables.as_ref()?.accounts.as_ref()?, &Moved { filter, tables }))
    }

    /// Whether the accounts see what the checks need. Grants on schemas of the target do not count: only the tables of
    /// the source tell which of them are needed.
    fn sees_everything(&self) -> bool {
        let of_schema = |grant: &super::Grant| grant.side == Side::Target && matches!(grant.scope, Scope::Schema(_));
        let mut needed = self.required_grants().into_iter().filter(|grant| !of_schema(grant));
        needed.all(|grant| self.server(grant.side).holds(&grant))
    }

    /// The privileges that both accounts need: for the schemas that were found, or else for the schemas that the user
    /// named.
    #[must_use]
    pub fn required_grants(&self) -> Vec<super::Grant> {
        let schemas: Vec<String> = match &self.tables {
            Some(tables) => tables.source.schemas.iter().map(|schema| schema.name.clone()).collect(),
            None => self.request.filter.schemas.clone(),
        };
        let (source, target) = (&self.source.identity.version, &self.target.identity.version);
        let mut grants = required(source, target, &self.request, &schemas);
        if self.creates_with_other_settings() {
            grants.push(sets_restricted());
            grants.sort();
        }
        grants
    }

    /// Whether the session that creates tables needs other settings than the target has, which MySQL lets only accounts
    /// with a privilege set.
    fn creates_with_other_settings(&self) -> bool {
        let (source, target) = (&self.source, &self.target);
        if target.identity.version.flavor == Flavor::MariaDb {
            return false;
        }
        let has = |name: &str| !target.variable(name).is_empty();
        let is_other = |(name, wanted): (&str, bool)| has(name) && target.is_on(name) != wanted;
        // MySQL before 8.0 does not have the variable.
        let collation = source.variable(UTF8MB4_DEFAULT);
        let collation = if collation.is_empty() { UTF8MB4_BEFORE_8 } else { collation };
        let same_fork = source.identity.version.flavor != Flavor::MariaDb;
        RESTRICTED.into_iter().any(is_other)
            || (same_fork && has(UTF8MB4_DEFAULT) && target.variable(UTF8MB4_DEFAULT) != collation)
    }
}

impl ServerFacts {
    /// Reads the facts of one server.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub(crate) fn read(side: Side, connection: &mut Connection, server: &Server) -> Result<Self, Error> {
        let failed = |error| Error::Server { side, error };
        let identity = describe(connection).map_err(failed)?;
        let version = &identity.version;
        let variables = pairs(connection, version, "variables").map_err(failed)?;
        let grants = Grants::of_session(connection).map_err(failed)?;
        let service = ManagedService::of_session(connection).map_err(failed)?;
        let session = dialect::query(version, "session").map(|query| query.run(connection));
        let session = session.transpose().map_err(failed)?.unwrap_or_default();
        Ok(Self {
            side,
            endpoint: connection.target().endpoint.to_string(),
            account: session.value(0, "current_user").unwrap_or_default().to_owned(),
            link: Link::inspect(side, connection, &server.options),
            accept: server.accept,
            variables,
            grants,
            service,
            identity,
        })
    }

    /// Reads the global variables again.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub(crate) fn read_variables(&mut self, connection: &mut Connection) -> Result<(), Error> {
        self.variables = pairs(connection, &self.identity.version, "variables").map_err(Error::at(self.side))?;
        Ok(())
    }

    /// The value of a global variable; empty if the server does not have it.
    #[must_use]
    pub fn variable(&self, name: &str) -> &str {
        self.variables.get(name).map_or("", String::as_str)
    }

    /// Whether a global variable is on.
    #[must_use]
    pub fn is_on(&self, name: &str) -> bool {
        is_switched_on(self.variable(name))
    }

    /// Whether its log contains the rows that foreign keys change.
    #[must_use]
    pub fn logs_cascades(&self) -> bool {
        logs_cascades(&self.identity.version, self.is_on(NATIVE_FOREIGN_KEYS))
    }

    /// The value of a global variable as a number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<u64> {
        self.variable(name).parse().ok()
    }

    /// Whether the link is a local socket, or uses a version of TLS that the user accepts.
    #[must_use]
    pub fn has_sufficient_link(&self) -> bool {
        self.link.transport.is_at_least(self.accept.min_tls)
    }

    /// Whether the account has all privileges of the grant.
    #[must_use]
    pub fn holds(&self, grant: &super::Grant) -> bool {
        grant.missing(&self.grants).is_empty()
    }
}

impl Tables {
    fn read(facts: &Facts, source: &mut Connection, target: &mut Connection) -> Result<Self, Error> {
        let of_source = |error| Error::Server { side: Side::Source, error };
        let of_target = |error| Error::Server { side: Side::Target, error };
        let found = catalog::read(source, &facts.request.filter).map_err(of_source)?;
        let schemas: Vec<String> = found.schemas.iter().map(|schema| schema.name.clone()).collect();
        let (state_exists, created) = state_and_created(target, &facts.target.identity.version)?;
        let existing = existing(target, schemas).map_err(of_target)?;
        Ok(Self {
            state_exists,
            created,
            prepared: prepared(source).map_err(of_source)?,
            source_replicates: replicates(source).map_err(of_source)?,
            target_replicates: replicates(target).map_err(of_target)?,
            log_filters: log_filters(source).map_err(of_source)?,
            target_log_filters: target_log_filters(&facts.target, target).map_err(of_target)?,
            json_columns: json::read(source, &facts.source.identity.version, &found.tables).map_err(of_source)?,
            target_rounds_json: json::rounds(target).map_err(of_target)?,
            target_collations: catalog::collations(target, facts.target.identity.version.flavor).map_err(of_target)?,
            accounts: accounts::may_read(source)
                .map_err(of_source)?
                .then(|| AccountFacts::read(source, target))
                .transpose()?,
            target_keyring: keyring(target, &facts.target).map_err(of_target)?,
            source: found,
            target: existing,
        })
    }
}

/// Whether the target has the state of a migration, and otherwise the tables that an interrupted run has created there.
fn state_and_created(target: &mut Connection, version: &ServerVersion) -> Result<(bool, BTreeSet<TableName>), Error> {
    let schemas = target.query(dialect::catalog::catalog(version).schemas).map_err(Error::at(Side::Target))?;
    // Where there is no such schema, the server may answer that a privilege is missing.
    if !(0..schemas.rows.len()).any(|row| schemas.value(row, "schema") == Some(STATE_SCHEMA)) {
        return Ok((false, BTreeSet::new()));
    }
    match state::run(target) {
        Ok(None) => Ok((false, created(target)?)),
        Err(Error::Server { side, error }) if !error.is_privilege() => Err(Error::Server { side, error }),
        Ok(Some(_)) | Err(_) => Ok((true, BTreeSet::new())),
    }
}

/// The tables of the list of an interrupted run that exist.
fn created(target: &mut Connection) -> Result<BTreeSet<TableName>, Error> {
    let listed: BTreeSet<_> = state::creating(target)?.into_iter().collect();
    if listed.is_empty() {
        return Ok(listed);
    }
    let filter = Filter { only: Some(listed), ..Filter::default() };
    catalog::base_table_names(target, &filter).map_err(Error::at(Side::Target))
}

/// The objects in these schemas of the target.
fn existing(connection: &mut Connection, schemas: Vec<String>) -> Result<Catalog, ServerError> {
    if schemas.is_empty() {
        return Ok(Catalog::default());
    }
    catalog::read(connection, &Filter { schemas, ..Filter::default() })
}

fn pairs(
    connection: &mut Connection,
    version: &ServerVersion,
    query: &str,
) -> Result<BTreeMap<String, String>, ServerError> {
    let Some(query) = dialect::query(version, query) else { return Ok(BTreeMap::new()) };
    let rows = query.run(connection)?;
    let pair = |row: &Vec<Option<String>>| match row.as_slice() {
        [Some(name), Some(value)] => Some((name.to_ascii_lowercase(), value.clone())),
        _ => None,
    };
    Ok(rows.rows.iter().filter_map(pair).collect())
}

/// Number of prepared transactions. On MySQL, `XA RECOVER` needs a privilege, and a prepared transaction has no session.
/// On MariaDB it can have one until that session ends, and everybody may ask.
fn prepared(connection: &mut Connection) -> Result<u64, ServerError> {
    if link::flavor(connection) == Flavor::MariaDb {
        let rows = connection.query(XA_RECOVER)?;
        return Ok(u64::try_from(rows.rows.len()).unwrap_or(u64::MAX));
    }
    open_transactions::count(connection, PREPARED_TRANSACTIONS)
}

fn replicates(connection: &mut Connection) -> Result<bool, ServerError> {
    let statement = replication_threads(link::flavor(connection));
    Ok(count(connection, statement)? > 0)
}

fn count(connection: &mut Connection, statement: &str) -> Result<u64, ServerError> {
    Ok(connection.query(statement)?.scalar().and_then(|text| text.parse().ok()).unwrap_or_default())
}

/// The filters of the target's log, if the account may see them.
fn target_log_filters(facts: &ServerFacts, target: &mut Connection) -> Result<Vec<(String, String)>, ServerError> {
    if facts.is_on("log_bin") && log_access::missing(facts.identity.version.flavor, &facts.grants).is_empty() {
        log_filters(target)
    } else {
        Ok(Vec::new())
    }
}

/// Log settings that prove a keyring: without a keyring the server would not have started, or would have refused them.
const NEEDS_KEYRING: [&str; 2] = ["binlog_encryption", "innodb_redo_log_encrypt"];

/// Whether a keyring is active: the server says so, or something is encrypted with it.
fn keyring(connection: &mut Connection, server: &ServerFacts) -> Result<Option<bool>, ServerError> {
    let version = &server.identity.version;
    if version.flavor == Flavor::MariaDb {
        return plug_in(connection, version).map(Some);
    }
    if NEEDS_KEYRING.into_iter().any(|name| server.is_on(name)) {
        return Ok(Some(true));
    }
    if let Some(query) = dialect::query(version, "keyring_status") {
        match query.run(connection) {
            Ok(rows) => {
                let active = |row| {
                    rows.value(row, "key") == Some("Component_status") && rows.value(row, "value") == Some("Active")
                };
                if (0..rows.rows.len()).any(active) {
                    return Ok(Some(true));
                }
                return plug_in(connection, version).map(Some);
            }
            Err(error) if error.is_privilege() => {}
            Err(error) => return Err(error),
        }
    }
    if plug_in(connection, version)? || anything_encrypted(connection, version)? {
        return Ok(Some(true));
    }
    Ok(None)
}

/// Whether a plug-in is active that has keys: a keyring, or MariaDB's key management. Needs no privilege.
fn plug_in(connection: &mut Connection, version: &ServerVersion) -> Result<bool, ServerError> {
    let Some(query) = dialect::query(version, "plugins") else { return Ok(false) };
    let rows = query.run(connection)?;
    // `daemon_keyring_proxy_plugin` is always there.
    let is_keyring = |row| {
        let name = rows.value(row, "name").unwrap_or_default();
        let has_keys = name.starts_with("keyring_") && !name.contains("proxy");
        (has_keys || rows.value(row, "type") == Some("ENCRYPTION")) && rows.value(row, "status") == Some("ACTIVE")
    };
    Ok((0..rows.rows.len()).any(is_keyring))
}

fn anything_encrypted(connection: &mut Connection, version: &ServerVersion) -> Result<bool, ServerError> {
    let Some(query) = dialect::query(version, "tablespaces") else { return Ok(false) };
    let rows = query.run(connection)?;
    Ok((0..rows.rows.len()).any(|row| rows.value(row, "encrypted") == Some("Y")))
}
