//! Compares the table definitions that both servers have now: a migration takes days, and anyone may change a table
//! meanwhile.

use std::collections::BTreeSet;

use crate::{
    Difference, Error, Side,
    catalog::{Catalog, Encrypt, Filter, Table, TableName, differences, less_encrypted, read},
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
    refuse(less_encrypted(&settings.catalog, &target, Encrypt::AsSource).collect())
}

/// Checks the encryption, and all columns, indexes and options, of the tables that are moved.
///
/// # Errors
/// [`Error::Structure`].
pub(crate) fn check(settings: &Settings) -> Result<(), Error> {
    let names = names(settings);
    let source = catalog(Side::Source, &settings.source, &names)?;
    let target = catalog(Side::Target, &settings.target, &names)?;
    let less = less_encrypted(&source, &target, Encrypt::AsSource);
    refuse(less.chain(differences(&source, &target)).collect())
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
    let mut catalog = read(&mut link::definitions(side, server)?, &filter).map_err(Error::at(side))?;
    catalog.tables.retain(|table| names.contains(&table.full_name()));
    catalog.structure.retain(|table, _| names.contains(table));
    Ok(catalog)
}
