//! Compares the table definitions that both servers have now: a migration takes days, and anyone may change a table
//! meanwhile.

use std::collections::BTreeSet;

use server::Connection;

use crate::{
    Difference, Error, Side,
    catalog::{Catalog, Filter, Table, TableName, base_table_names, differences, less_encrypted, read},
    link::{self, Server},
    settings::Settings,
};

/// Checks that no table of the target is less encrypted than the source's was when the command began. If a later
/// statement encrypts a table of the source, a migration that has begun finds it in the log and ends. A migration that
/// is just beginning needs [`check`] as well.
///
/// # Errors
/// [`Error::Structure`].
pub(crate) fn check_encryption(settings: &Settings) -> Result<(), Error> {
    let target = catalog(Side::Target, &settings.target, &names(settings))?;
    refuse(less_encrypted(&settings.catalog, &target, settings.encrypt.least()).collect())
}

/// As [`check_moved`], and checks that all tables which are selected are moved.
///
/// # Errors
/// [`Error::Structure`], [`Error::NewTables`].
pub(crate) fn check(settings: &Settings) -> Result<(), Error> {
    let mut source = link::definitions(Side::Source, &settings.source)?;
    check_list(settings, &mut source)?;
    check_moved_of(settings, &mut source)
}

/// Checks the encryption, and all columns, indexes and options, of the tables that are moved.
///
/// # Errors
/// [`Error::Structure`].
pub(crate) fn check_moved(settings: &Settings) -> Result<(), Error> {
    check_moved_of(settings, &mut link::definitions(Side::Source, &settings.source)?)
}

fn check_moved_of(settings: &Settings, source: &mut Connection) -> Result<(), Error> {
    let names = names(settings);
    let source = only(read(source, &settings.filter).map_err(Error::at(Side::Source))?, &names);
    let target = catalog(Side::Target, &settings.target, &names)?;
    let less = less_encrypted(&source, &target, settings.encrypt.least());
    refuse(less.chain(differences(&source, &target)).collect())
}

/// Checks that all tables which are selected at the source are moved.
///
/// # Errors
/// [`Error::NewTables`].
pub(crate) fn check_list(settings: &Settings, source: &mut Connection) -> Result<(), Error> {
    refuse_new(&not_moved(settings, source)?)
}

/// The tables that are selected at the source, and not moved. Such tables can be made at any time after the command has
/// read which there are.
pub(crate) fn not_moved(settings: &Settings, source: &mut Connection) -> Result<BTreeSet<TableName>, Error> {
    let selected = base_table_names(source, &settings.filter).map_err(Error::at(Side::Source))?;
    Ok(others(selected, &names(settings)))
}

fn others(mut selected: BTreeSet<TableName>, moved: &BTreeSet<TableName>) -> BTreeSet<TableName> {
    selected.retain(|name| !moved.contains(name));
    selected
}

/// Refuses tables that are not moved, if there are any.
///
/// # Errors
/// [`Error::NewTables`].
pub(crate) fn refuse_new<'n>(tables: impl IntoIterator<Item = &'n TableName>) -> Result<(), Error> {
    let tables = named(tables);
    if tables.is_empty() { Ok(()) } else { Err(Error::NewTables { tables }) }
}

/// Names of tables, with commas.
pub(crate) fn named<'n>(tables: impl IntoIterator<Item = &'n TableName>) -> String {
    let names: Vec<_> = tables.into_iter().map(|(schema, table)| format!("{schema}.{table}")).collect();
    names.join(", ")
}

fn refuse(differences: Vec<Difference>) -> Result<(), Error> {
    if differences.is_empty() { Ok(()) } else { Err(Error::Structure { differences }) }
}

/// Names of the tables that are moved.
pub(crate) fn names(settings: &Settings) -> BTreeSet<TableName> {
    settings.catalog.tables.iter().map(Table::full_name).collect()
}

/// The tables of these names at a server.
pub(crate) fn catalog(side: Side, server: &Server, names: &BTreeSet<TableName>) -> Result<Catalog, Error> {
    let schemas: BTreeSet<_> = names.iter().map(|(schema, _)| schema.clone()).collect();
    let filter = Filter { schemas: schemas.into_iter().collect(), ..Filter::default() };
    let catalog = read(&mut link::definitions(side, server)?, &filter).map_err(Error::at(side))?;
    Ok(only(catalog, names))
}

fn only(mut catalog: Catalog, names: &BTreeSet<TableName>) -> Catalog {
    catalog.tables.retain(|table| names.contains(&table.full_name()));
    catalog.structure.retain(|table, _| names.contains(table));
    catalog
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(tables: &[&str]) -> BTreeSet<TableName> {
        tables.iter().map(|table| ("shop".to_owned(), (*table).to_owned())).collect()
    }

    #[test]
    fn tables_that_are_not_moved_are_named() {
        let moved = names(&["orders", "users"]);
        // A table that is gone is found in the log.
        assert!(refuse_new(&others(names(&["orders"]), &moved)).is_ok());
        let error = refuse_new(&others(names(&["new", "orders", "users", "visits"]), &moved)).unwrap_err();
        assert!(matches!(&error, Error::NewTables { tables } if tables == "shop.new, shop.visits"), "{error}");
        assert!(error.is_refusal());
    }
}
