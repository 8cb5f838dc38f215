//! Data that is made like that of a running server: as many tables of such rows, scaled down.
//!
//! Only sizes are read, from the server's statistics, and never a row.

use serde::{Deserialize, Serialize};
use server::{Connection, Error as ServerError, Options, Rows, Target, describe, dialect::catalog, system_schemas};

use crate::{Error, TableSet};

/// Sizes of a server's tables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataShape {
    /// Where the server was asked.
    pub endpoint: String,
    /// Its fork and version.
    pub server: String,
    /// Number of tables of InnoDB, without those of the server itself.
    pub tables: u64,
    /// Rows of all of them, as the server estimates.
    pub rows: u64,
    /// Bytes of these rows.
    pub data_bytes: u64,
    /// Bytes of secondary indexes.
    pub index_bytes: u64,
    /// Number of the largest tables that together have nine tenths of the bytes of rows.
    pub large_tables: u64,
    /// Rows of these tables.
    pub large_rows: u64,
    /// Size of the server's buffer pool.
    pub buffer_pool_bytes: u64,
}

/// The data of a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataRecord {
    /// Number of tables.
    pub tables: u32,
    /// Rows in each table.
    pub rows: u32,
    /// Bytes of a row, about.
    pub row_bytes: u64,
    /// Bytes of all tables with their indexes, about.
    pub bytes: u64,
    /// The server that it was made like, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub like: Option<DataShape>,
}

/// Sizes of each table, the largest first. Statistics of tables that were never analysed are NULL.
const TABLES: &str = concat!(
    "SELECT DATA_LENGTH AS `data`, INDEX_LENGTH AS `index`, TABLE_ROWS AS `rows` FROM information_schema.TABLES \
     WHERE TABLE_TYPE = 'BASE TABLE' AND ENGINE = 'InnoDB' AND TABLE_SCHEMA NOT IN ",
    system_schemas!(),
    " ORDER BY DATA_LENGTH DESC"
);
const BUFFER_POOL: &str = "SELECT @@GLOBAL.innodb_buffer_pool_size";
/// Tables of scratch data at most: clients prepare statements for each.
const MOST_TABLES: u64 = 32;
const LEAST_ROWS: u64 = 100;

impl DataShape {
    /// Asks a server for the sizes of its tables.
    ///
    /// # Errors
    /// [`Error::Server`]: it cannot be asked; [`Error::NoTables`].
    pub fn read(target: &Target, options: &Options) -> Result<Self, Error> {
        let endpoint = target.endpoint.clone();
        let failed = |source| Error::Server { endpoint: endpoint.clone(), source: Box::new(source) };
        let (server, tables, pool) = ask(target, options).map_err(failed)?;
        let shape = Self { endpoint: endpoint.to_string(), server, buffer_pool_bytes: pool, ..Self::of(&tables) };
        if shape.data_bytes == 0 || shape.rows == 0 {
            return Err(Error::NoTables { endpoint });
        }
        Ok(shape)
    }

    fn of(tables: &Rows) -> Self {
        let number = |row, column| tables.value(row, column).and_then(|text| text.parse().ok()).unwrap_or(0_u64);
        let mut shape = Self::default();
        let sizes: Vec<[u64; 3]> =
            (0..tables.rows.len()).map(|row| ["data", "index", "rows"].map(|column| number(row, column))).collect();
        for [data, index, rows] in &sizes {
            shape.tables += 1;
            shape.data_bytes = shape.data_bytes.saturating_add(*data);
            shape.index_bytes = shape.index_bytes.saturating_add(*index);
            shape.rows = shape.rows.saturating_add(*rows);
        }
        let (most, mut bytes) = (shape.data_bytes / 10 * 9, 0_u64);
        for [data, _, rows] in &sizes {
            if bytes >= most && shape.large_tables > 0 {
                break;
            }
            bytes = bytes.saturating_add(*data);
            shape.large_tables += 1;
            shape.large_rows = shape.large_rows.saturating_add(*rows);
        }
        shape
    }

    /// Bytes of a row on average.
    #[must_use]
    pub fn row_bytes(&self) -> u64 {
        self.data_bytes.checked_div(self.rows).unwrap_or_default()
    }

    /// Tables like those that have most of the data, of at most about this many bytes together.
    pub(super) fn scaled(&self, most_bytes: u64) -> TableSet {
        let tables = self.large_tables.clamp(1, MOST_TABLES);
        let set = TableSet { tables: number(tables), rows: 1, ..TableSet::default() }.with_rows_of(self.row_bytes());
        let rows = (self.large_rows / self.large_tables.max(1)).min(most_bytes / set.bytes().max(1));
        TableSet { rows: number(rows.max(LEAST_ROWS)), ..set }
    }
}

impl DataRecord {
    pub(super) fn new(tables: &TableSet, like: Option<&DataShape>) -> Self {
        Self {
            tables: tables.tables,
            rows: tables.rows,
            row_bytes: tables.row_bytes(),
            bytes: tables.bytes(),
            like: like.cloned(),
        }
    }
}

fn number(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn ask(target: &Target, options: &Options) -> Result<(String, Rows, u64), ServerError> {
    let mut connection = Connection::open(target, options)?;
    let identity = describe(&mut connection)?;
    // Otherwise MySQL may answer from statistics of a day ago.
    catalog::catalog(&identity.version).session.iter().try_for_each(|sql| connection.query(sql).map(drop))?;
    let tables = connection.query(TABLES)?;
    let pool = connection.query(BUFFER_POOL)?.scalar().and_then(|text| text.parse().ok()).unwrap_or_default();
    connection.close();
    Ok((identity.version.to_string(), tables, pool))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(sizes: &[[u64; 3]]) -> DataShape {
        let rows = sizes.iter().map(|sizes| sizes.iter().map(|size| Some(size.to_string())).collect());
        let columns = ["data", "index", "rows"].map(str::to_owned).to_vec();
        DataShape::of(&Rows { columns, rows: rows.collect() })
    }

    #[test]
    fn small_tables_do_not_count_for_the_size_of_a_table() {
        let of = shape(&[[8_000_000, 10, 16_000], [1_500_000, 20, 3_000], [500_000, 0, 1_000], [0, 0, 0]]);
        assert_eq!((of.tables, of.rows, of.data_bytes, of.index_bytes), (4, 20_000, 10_000_000, 30));
        assert_eq!((of.large_tables, of.large_rows, of.row_bytes()), (2, 19_000, 500));
        let same = of.scaled(u64::MAX);
        assert_eq!((same.tables, same.rows, same.row_bytes()), (2, 9_500, 500));
        let tenth = of.scaled(1_000_000);
        assert_eq!(tenth.tables, 2);
        assert!((900_000..=1_000_000).contains(&tenth.bytes()), "{tenth:?}");
    }

    #[test]
    fn rows_are_not_smaller_than_those_of_sysbench_and_tables_not_empty() {
        let tiny = shape(&[[1_000, 0, 100]]).scaled(u64::MAX);
        assert_eq!((tiny.tables, tiny.rows), (1, 100));
        assert_eq!(tiny.row_bytes(), TableSet::default().row_bytes());
        let many = shape(&[[1_000_000, 0, 10]; 1000]).scaled(1);
        assert_eq!((u64::from(many.tables), u64::from(many.rows)), (MOST_TABLES, LEAST_ROWS));
    }
}
