//! The accounts of both servers, and what the target knows.

use std::collections::{BTreeMap, BTreeSet};

use server::{
    Account, Connection, Error as ServerError, Flavor, Rows, auth_plugin,
    dialect::{
        accounts::{
            AUTHENTICATION_PLUGINS, HEX_CREDENTIALS, SALTED, SECOND_PASSWORDS, SHOW_PRIVILEGES, credential,
            has_partial_revokes, is_of_server, list,
        },
        statement::SHOW_GRANTS,
    },
    error_code,
};
use zeroize::Zeroizing;

use super::{
    definition::Definition,
    grant::{Grants, quoted},
};
use crate::{Error, Side, catalog::TableName, link::flavor};

/// The accounts of both servers, except those that belong to a server and those of the migration.
#[derive(Clone, Debug)]
pub struct AccountFacts {
    pub(super) source: BTreeMap<Account, Record>,
    pub(super) target: TargetFacts,
    pub(super) flavors: [Flavor; 2],
    /// As [`TargetFacts::revokes`], of the source.
    pub(super) source_revokes: bool,
}

/// What counts of the target.
#[derive(Clone, Debug)]
pub(super) struct TargetFacts {
    /// Empty if the migration's account may not see them.
    pub(super) accounts: BTreeMap<Account, Record>,
    /// What the migration's account may do.
    pub(super) own: Grants,
    /// Names of authentication plug-ins.
    pub(super) plugins: BTreeSet<String>,
    /// Names of privileges, in upper case.
    pub(super) privileges: BTreeSet<String>,
    /// Whether parts of global privileges can be revoked. Then `_` and `%` in the name of a schema stand for
    /// themselves.
    pub(super) revokes: bool,
    /// Tables of the server itself.
    pub(super) tables: BTreeSet<TableName>,
}

/// An account or a role of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Whether it is a role of MariaDB.
    pub(super) is_role: bool,
    /// As the server shows it, or the word at which a clause begins that is not known.
    pub(super) definition: Result<Definition, String>,
    pub(super) grants: Grants,
    /// Whether it has a second password, which the server does not show.
    pub(super) has_second_password: bool,
}

/// Whether an account is locked; `None` if it does not exist.
pub(crate) fn is_locked(connection: &mut Connection, name: &Account) -> Result<Option<bool>, ServerError> {
    show_hex(connection)?;
    let found = record(connection, name, false)?;
    Ok(found.map(|found| found.definition.is_ok_and(|definition| definition.locked)))
}

/// Whether the session may see all accounts.
pub(crate) fn may_read(connection: &mut Connection) -> Result<bool, ServerError> {
    Ok(server::Grants::of_session(connection)?.cover("SELECT ON mysql.*"))
}

impl AccountFacts {
    /// Reads the accounts of both servers, over sessions with UTF-8.
    ///
    /// # Errors
    /// [`Error::Server`].
    pub(crate) fn read(source: &mut Connection, target: &mut Connection) -> Result<Self, Error> {
        let (of_source, of_target) = (Error::at(Side::Source), Error::at(Side::Target));
        let own = [own_name(source).map_err(&of_source)?, own_name(target).map_err(&of_target)?];
        Ok(Self {
            source: records(source, &own).map_err(&of_source)?,
            source_revokes: has_partial_revokes(source).map_err(&of_source)?,
            flavors: [flavor(source), flavor(target)],
            target: TargetFacts::read(target, &own).map_err(&of_target)?,
        })
    }
}

impl TargetFacts {
    fn read(target: &mut Connection, own: &[Account]) -> Result<Self, ServerError> {
        let lines = target.query(SHOW_GRANTS)?;
        let mut plugins = first_column(target, AUTHENTICATION_PLUGINS)?;
        // Built in, and not in the list of every version.
        if flavor(target) == Flavor::MariaDb {
            plugins.insert(auth_plugin::NATIVE_PASSWORD.to_owned());
        }
        let privileges = first_column(target, SHOW_PRIVILEGES)?;
        let tables = target.query(
            "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES \
             WHERE TABLE_SCHEMA IN ('mysql', 'performance_schema', 'sys')",
        )?;
        let tables = tables.rows.into_iter().filter_map(|row| {
            let mut row = row.into_iter();
            Some((row.next()??, row.next()??))
        });
        Ok(Self {
            own: Grants::parse(lines.rows.iter().filter_map(|row| row.first()?.as_deref()), None),
            plugins,
            privileges: privileges.iter().map(|name| name.to_ascii_uppercase()).collect(),
            revokes: has_partial_revokes(target)?,
            tables: tables.collect(),
            accounts: if may_read(target)? { records(target, own)? } else { BTreeMap::new() },
        })
    }
}

fn first_column(connection: &mut Connection, statement: &str) -> Result<BTreeSet<String>, ServerError> {
    let rows = connection.query(statement)?;
    Ok(rows.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
}

/// The account that the server has chosen for the session.
fn own_name(connection: &mut Connection) -> Result<Account, ServerError> {
    let rows = connection.query("SELECT CURRENT_USER()")?;
    let Ok(name) = rows.scalar().unwrap_or_default().parse();
    Ok(name)
}

/// The accounts and roles of a server, except those that belong to a server and these.
fn records(connection: &mut Connection, except: &[Account]) -> Result<BTreeMap<Account, Record>, ServerError> {
    let hostname = connection.query("SELECT @@GLOBAL.hostname")?.scalar().unwrap_or_default().to_owned();
    show_hex(connection)?;
    let second = second_passwords(connection)?;
    let rows = connection.query(list(flavor(connection)))?;
    let mut records = BTreeMap::new();
    for row in 0..rows.rows.len() {
        let text = |name| rows.value(row, name).unwrap_or_default();
        let name = Account { user: text("user").to_owned(), host: text("host").to_owned() };
        if is_of_server(&name, &hostname) || except.contains(&name) {
            continue;
        }
        let has_second_password = second.contains(&name);
        if let Some(record) = record(connection, &name, text("is_role") == "Y")? {
            records.insert(name, Record { has_second_password, ..record });
        }
    }
    Ok(records)
}

/// Makes credentials readable that are no texts.
fn show_hex(connection: &mut Connection) -> Result<(), ServerError> {
    match connection.query(HEX_CREDENTIALS) {
        Ok(_) | Err(ServerError::Server { code: error_code::UNKNOWN_SYSTEM_VARIABLE, .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

fn second_passwords(connection: &mut Connection) -> Result<BTreeSet<Account>, ServerError> {
    if flavor(connection) == Flavor::MariaDb {
        return Ok(BTreeSet::new());
    }
    match connection.query(SECOND_PASSWORDS) {
        Ok(rows) => Ok((0..rows.rows.len())
            .map(|row| {
                let text = |name| rows.value(row, name).unwrap_or_default().to_owned();
                Account { user: text("user"), host: text("host") }
            })
            .collect()),
        Err(ServerError::Server { code: error_code::UNKNOWN_COLUMN, .. }) => Ok(BTreeSet::new()),
        Err(error) => Err(error),
    }
}

/// One account or role; `None` if it was dropped meanwhile.
fn record(connection: &mut Connection, name: &Account, is_role: bool) -> Result<Option<Record>, ServerError> {
    let mut ask = |sql: String| match connection.query(&sql) {
        Ok(rows) => Ok(Some(rows)),
        Err(ServerError::Server { code, .. }) if error_code::NO_SUCH_ACCOUNT.contains(&code) => Ok(None),
        Err(error) => Err(error),
    };
    let mut definition = Ok(Definition::default());
    if !is_role {
        let Some(rows) = ask(format!("SHOW CREATE USER {}", name.quoted()))? else { return Ok(None) };
        let mut shown = Zeroizing::new(rows.scalar().unwrap_or_default().to_owned());
        if shows_salt(&shown)
            && let Some(stored) = ask(credential(name))?
        {
            shown = in_hexadecimal(&shown, &stored);
        }
        definition = Definition::parse(&shown);
    }
    let Some(rows) = ask(format!("SHOW GRANTS FOR {}", quoted(name)))? else { return Ok(None) };
    let lines = rows.rows.iter().filter_map(|row| row.first()?.as_deref());
    let grants = Grants::parse(lines, Some(name));
    if let Ok(definition) = &mut definition {
        definition.default_roles.extend(grants.default_roles.iter().cloned());
    }
    Ok(Some(Record { is_role, definition, grants, has_second_password: false }))
}

/// Whether the server shows a salt as it is.
fn shows_salt(shown: &str) -> bool {
    SALTED.into_iter().any(|plugin| shown.contains(&format!("'{plugin}' AS '")))
}

/// The definition with its credential in hexadecimal, as newer servers show it.
fn in_hexadecimal(shown: &str, stored: &Rows) -> Zeroizing<String> {
    let (raw, hex) = (stored.value(0, "raw").unwrap_or_default(), stored.value(0, "hex").unwrap_or_default());
    if raw.is_empty() {
        return Zeroizing::new(shown.to_owned());
    }
    let (raw, hex) = (Zeroizing::new(format!(" AS '{raw}'")), Zeroizing::new(format!(" AS 0x{hex}")));
    Zeroizing::new(shown.replacen(raw.as_str(), &hex, 1))
}

impl AccountFacts {
    /// No accounts, for the tests of other modules.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        let target = TargetFacts {
            accounts: BTreeMap::new(),
            own: Grants::default(),
            plugins: BTreeSet::new(),
            privileges: BTreeSet::new(),
            revokes: false,
            tables: BTreeSet::new(),
        };
        Self { source: BTreeMap::new(), target, flavors: [Flavor::MySql; 2], source_revokes: false }
    }
}

/// Reads one account of the target again.
pub(super) fn read_again(
    target: &mut Connection,
    name: &Account,
    is_role: bool,
) -> Result<Option<Record>, ServerError> {
    record(target, name, is_role)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MySQL 5.7 and 8.0 before 8.0.17.
    #[test]
    fn salts_of_older_servers_are_read_whole() {
        let raw = "$5$a'b\\c\n REQUIRE$hash";
        let shown = |credential: &str| {
            format!(
                "CREATE USER 'u'@'%' IDENTIFIED WITH 'sha256_password' AS {credential} REQUIRE NONE PASSWORD EXPIRE DEFAULT ACCOUNT UNLOCK"
            )
        };
        let hex: String = raw.bytes().map(|byte| format!("{byte:02X}")).collect();
        let columns = ["raw", "hex"].map(str::to_owned).to_vec();
        let stored = Rows { columns, rows: vec![vec![Some(raw.to_owned()), Some(hex.clone())]] };
        let old = shown(&format!("'{raw}'"));
        assert!(shows_salt(&old));
        let expected = shown(&format!("0x{hex}"));
        assert_eq!(in_hexadecimal(&old, &stored).as_str(), expected);
        assert!(!shows_salt(&expected) && Definition::parse(&expected).is_ok());
        assert!(!shows_salt(&shown("''").replace("sha256", "mysql_native")));
    }
}
