//! Definitions of the tables on both servers as they are now: a migration takes days, and anyone may change a table
//! meanwhile.

use std::collections::BTreeSet;

use crate::{
    Error, Side,
    catalog::{Catalog, Creation, Filter, TableName, differences, less_encrypted, read},
    link::{self, Server},
    settings::Settings,
};

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    /// That no table of the target is less encrypted than the source's.
    Encryption,
    /// Encryption, and all columns, indexes and options.
    Everything,
}

/// Checks the tables that are moved.
///
/// # Errors
/// [`Error::Structure`].
pub(crate) fn check(settings: &Settings, compare: Compare) -> Result<(), Error> {
    let names: BTreeSet<_> = settings.tables.iter().map(crate::Table::full_name).collect();
    let source = catalog(Side::Source, &settings.source, &names)?;
    let target = catalog(Side::Target, &settings.target, &names)?;
    let mut wrong: Vec<_> = less_encrypted(&source, &target, Creation { encrypt: false }).collect();
    if compare == Compare::Everything {
        wrong.extend(differences(&source, &target));
    }
    if wrong.is_empty() { Ok(()) } else { Err(Error::Structure { differences: wrong }) }
}

fn catalog(side: Side, server: &Server, names: &BTreeSet<TableName>) -> Result<Catalog, Error> {
    let schemas: BTreeSet<_> = names.iter().map(|(schema, _)| schema.clone()).collect();
    let filter = Filter { schemas: schemas.into_iter().collect(), ..Filter::default() };
    let mut catalog = read(&mut link::definitions(side, server)?, &filter).map_err(Error::at(side))?;
    catalog.tables.retain(|table| names.contains(&table.full_name()));
    catalog.structure.retain(|table, _| names.contains(table));
    Ok(catalog)
}
