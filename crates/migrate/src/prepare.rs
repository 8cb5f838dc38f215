//! Prepares the first run: the user confirms a plan, and the tables are created at the target.

use std::collections::BTreeSet;

use server::{Connection, error_code, quote};

use crate::{
    Error, Server, Settings, Side,
    active::lock_target,
    catalog::{Catalog, Table, TableName, create},
    link,
    plan::{Plan, Readiness, judge},
    preflight::{Facts, Request},
    state,
};

/// Result of preparing a run.
#[derive(Debug)]
pub enum Preparation {
    /// The run may begin: the tables exist at the target.
    Ready(Box<Settings>),
    /// The plan does not allow the migration. Nothing was changed.
    Refused(Box<Plan>),
}

/// Prepares a run. If no migration has begun: makes the plan, asks `confirm` to accept it, and creates the tables at
/// the target as the plan has read them at the source; the run compares them before it copies. After a call that was
/// interrupted while it created them, creates the others. If a migration has begun: reads its tables again.
///
/// # Errors
/// What `confirm` returns; [`Error::Unverified`]; [`Error::Server`]; [`Error::ForeignState`] if the schema for the
/// state contains tables of something else; [`Error::Create`], after which the same call can be repeated.
pub fn prepare<E: From<Error>>(
    source: Server,
    target: Server,
    request: Request,
    confirm: impl FnOnce(&Plan) -> Result<(), E>,
) -> Result<Preparation, E> {
    link::require_verified(Side::Source, &source)?;
    if let Some(known) = begun_tables(&target)? {
        let mut settings = Settings::read(source, target, &request)?;
        leave_out_new(&mut settings.catalog, &known);
        return Ok(Preparation::Ready(Box::new(settings)));
    }
    let facts = Facts::read(&source, &target, request)?;
    let plan = judge(&facts);
    let catalog = match facts.tables {
        Some(tables) if plan.readiness() == Readiness::Ready => tables.source,
        _ => return Ok(Preparation::Refused(Box::new(plan))),
    };
    confirm(&plan)?;
    let settings = Settings::requested(source, target, catalog, facts.request);
    create_listed(&settings)?;
    Ok(Preparation::Ready(Box::new(settings)))
}

/// The names of the tables of a migration; `None` if none has begun.
fn begun_tables(target: &Server) -> Result<Option<BTreeSet<String>>, Error> {
    let mut target = link::target(target)?;
    if state::run(&mut target)?.is_none() {
        return Ok(None);
    }
    let tables = state::table_names(&mut target)?;
    Ok(Some(tables.into_iter().map(|(_, name)| name).collect()))
}

/// Leaves out the tables that were made in schemas of the migration since it was begun: the run reports them, and some may
/// be gone before it ends. Tables of other schemas stay, and are refused: others are selected than at first.
fn leave_out_new(catalog: &mut Catalog, known: &BTreeSet<String>) {
    let is_known = |table: &Table| known.contains(&table.label());
    let schemas: BTreeSet<String> =
        catalog.tables.iter().filter(|table| is_known(table)).map(|table| table.schema.clone()).collect();
    catalog.tables.retain(|table| is_known(table) || !schemas.contains(&table.schema));
    let kept: BTreeSet<TableName> = catalog.tables.iter().map(Table::full_name).collect();
    catalog.structure.retain(|table, _| kept.contains(table));
    // Those of the others must not change how the tables are copied.
    catalog.foreign_keys.retain(|key| kept.contains(&key.table));
}

/// Creates the tables, after a list of them, so that a kill at any moment leaves nothing that the next call, or
/// [`give_up`], does not know.
fn create_listed(settings: &Settings) -> Result<(), Error> {
    let mut target = link::definitions(Side::Target, &settings.target)?;
    // In this session, which the server ends only after its last statement: then a killed process creates nothing more.
    lock_target(&mut target)?;
    // Another process may have begun the migration since the plan was made.
    if state::run(&mut target)?.is_none() {
        let tables = &settings.catalog.tables;
        let encrypted = settings.encrypt.requires_any(tables);
        state::begin_creating(&mut target, tables.iter().map(Table::full_name), encrypted)?;
    }
    create(&mut target, &settings.catalog, settings.encrypt).map(drop)
}

/// Gives up what an interrupted [`prepare`] has left of a migration that has not begun: the list of its tables, and
/// with `drop_tables` the tables, which are empty.
///
/// # Errors
/// [`Error::NotBegun`] if there is no such list; [`Error::NotEmpty`], before anything is dropped, if a table has rows.
pub(crate) fn give_up(target: &mut Connection, drop_tables: bool) -> Result<(), Error> {
    let listed = state::creating(target)?;
    if listed.is_empty() {
        return Err(Error::NotBegun);
    }
    if drop_tables {
        drop_empty(target, &listed)?;
    }
    state::remove(target)
}

fn drop_empty(target: &mut Connection, tables: &[TableName]) -> Result<(), Error> {
    let mut existing = Vec::new();
    for (schema, name) in tables {
        let quoted = quote::table(schema, name);
        match has_rows(target, &quoted)? {
            // Somebody else's: nothing was copied.
            Some(true) => return Err(Error::NotEmpty { table: format!("{schema}.{name}") }),
            Some(false) => existing.push(quoted),
            None => {}
        }
    }
    for table in existing {
        target.query(&format!("DROP TABLE IF EXISTS {table}")).map_err(Error::at(Side::Target))?;
    }
    Ok(())
}

/// Whether a table of the target has rows; `None` if it does not exist.
fn has_rows(target: &mut Connection, quoted: &str) -> Result<Option<bool>, Error> {
    match target.query(&format!("SELECT 1 FROM {quoted} LIMIT 1")) {
        Ok(rows) => Ok(Some(!rows.rows.is_empty())),
        Err(server::Error::Server { code: error_code::UNKNOWN_DATABASE | error_code::NO_SUCH_TABLE, .. }) => Ok(None),
        Err(error) => Err(Error::at(Side::Target)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing::{cascade, table};

    #[test]
    fn tables_that_were_made_since_are_left_out() {
        let other = Table { schema: "other".to_owned(), ..table("t") };
        let tables = vec![table("orders"), table("_orders_gho"), other];
        let foreign_keys = vec![cascade("_orders_gho", "orders"), cascade("orders", "customers")];
        let mut catalog = Catalog { tables, foreign_keys, ..Catalog::default() };
        leave_out_new(&mut catalog, &["shop.orders".to_owned()].into());
        let names: Vec<_> = catalog.tables.iter().map(Table::label).collect();
        assert_eq!(names, ["shop.orders", "other.t"]);
        assert_eq!(catalog.foreign_keys, [cascade("orders", "customers")]);
    }
}
