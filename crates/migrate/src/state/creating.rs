//! The list of tables that a run creates at the target before the migration begins. It is stored before the first of
//! them is created, so that after a kill the next run, or `abort`, knows them.

use server::{Connection, error_code};

use super::{
    failed, hex,
    layout::{CREATE_SCHEMA, encryption_option},
    name,
};
use crate::{Error, catalog::TableName};

/// The list's table. It is not a part of the state, which names the tables itself once the migration has begun.
pub(super) const LIST: &str = "creating";

/// Stores the list, in place of an earlier one.
pub(crate) fn begin_creating(
    target: &mut Connection,
    tables: impl Iterator<Item = TableName>,
    encrypted: bool,
) -> Result<(), Error> {
    let option = encryption_option(target, encrypted);
    let mut statements = vec![
        CREATE_SCHEMA.to_owned(),
        format!(
            "CREATE TABLE IF NOT EXISTS `_sealant`.`{LIST}` (number INT PRIMARY KEY, name VARCHAR(1100) NOT NULL) \
             ENGINE = InnoDB{option}"
        ),
        // A part of the list would let the next run find a table that it does not know.
        "START TRANSACTION".to_owned(),
        format!("DELETE FROM `_sealant`.`{LIST}`"),
    ];
    let numbered = (1_u32..).zip(tables);
    statements.extend(
        numbered
            .map(|(number, table)| format!("INSERT INTO `_sealant`.`{LIST}` VALUES ({number}, '{}')", text(&table))),
    );
    statements.push("COMMIT".to_owned());
    statements.iter().try_for_each(|statement| target.query(statement).map(drop).map_err(failed))
}

/// The tables that an interrupted run may have created; empty if there is no list.
pub(crate) fn creating(target: &mut Connection) -> Result<Vec<TableName>, Error> {
    let rows = match target.query(&format!("SELECT name FROM `_sealant`.`{LIST}` ORDER BY number")) {
        Ok(rows) => rows,
        Err(server::Error::Server { code: error_code::UNKNOWN_DATABASE | error_code::NO_SUCH_TABLE, .. }) => {
            return Ok(Vec::new());
        }
        Err(error) => return Err(failed(error)),
    };
    let table = |row| parsed(rows.value(row, "name")?);
    (0..rows.rows.len()).map(|row| table(row).ok_or(Error::State { what: LIST })).collect()
}

fn text((schema, table): &TableName) -> String {
    format!("{},{}", hex(schema.as_bytes()), hex(table.as_bytes()))
}

fn parsed(text: &str) -> Option<TableName> {
    let (schema, table) = text.split_once(',')?;
    Some((name(schema)?, name(table)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_kept_exactly() {
        for (schema, table) in [("shop", "orders"), ("a.b", "c,d"), ("we`ird", "ü'")] {
            let name = (schema.to_owned(), table.to_owned());
            assert_eq!(parsed(&text(&name)), Some(name));
        }
        assert_eq!(parsed("00"), None);
    }
}
