//! The tables of sysbench, with the same rows on every server.

use std::fmt::Write;

use server::{
    Flavor,
    dialect::{encryption::table_option, innodb::page_compression},
};

use super::workload::{column_c, column_pad, row};
use crate::stats::Random;

/// Size of the data, and how it is accessed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSet {
    /// Number of tables.
    pub tables: u32,
    /// Rows in each table.
    pub rows: u32,
    /// Whether all rows are accessed equally often. Otherwise, as in sysbench by default, most accesses go to one
    /// percent of the rows.
    pub uniform: bool,
}

/// How tables are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableFormat {
    /// Whether they are encrypted.
    pub encrypted: bool,
    /// Whether their pages are compressed, and the rest of each page is a hole in the file.
    pub compressed: bool,
    /// Whether MariaDB encrypts them because of its default, which its background threads follow when it changes.
    pub by_default: bool,
}

/// Rows of an `INSERT`.
const BATCH: u32 = 500;
/// Space for a row in a table and its index, including free space in pages.
const ROW_BYTES: u64 = 260;

impl TableSet {
    /// Approximate size of the tables on disk.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        u64::from(self.tables) * u64::from(self.rows) * ROW_BYTES
    }

    /// Statements that create a table and fill it.
    pub(super) fn statements(self, table: u32, flavor: Flavor, format: TableFormat) -> impl Iterator<Item = String> {
        let encrypted = match format.by_default && flavor == Flavor::MariaDb {
            true => "",
            false => table_option(flavor, format.encrypted),
        };
        let compressed = if format.compressed { page_compression(flavor) } else { "" };
        let create = format!(
            "CREATE TABLE sbtest{table} (id INTEGER NOT NULL AUTO_INCREMENT, k INTEGER DEFAULT '0' NOT NULL, \
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id)) \
             ENGINE=InnoDB {encrypted} {compressed}"
        );
        let mut random = Random(u64::from(table));
        let mut next = 1;
        let inserts = std::iter::from_fn(move || {
            let first = next;
            next = (first + BATCH).min(self.rows + 1);
            (first < next).then(|| insert(table, first..next, self.rows, &mut random))
        });
        let index = format!("CREATE INDEX k_{table} ON sbtest{table} (k)");
        std::iter::once(create).chain(inserts).chain([index])
    }
}

fn insert(table: u32, ids: std::ops::Range<u32>, rows: u32, random: &mut Random) -> String {
    let mut sql = format!("INSERT INTO sbtest{table} (id, k, c, pad) VALUES ");
    for id in ids.clone() {
        let k = row(random, rows, false);
        let comma = if id == ids.start { "" } else { "," };
        // Writing to a string cannot fail.
        let _ = write!(sql, "{comma}({id},{k},'{}','{}')", column_c(random), column_pad(random));
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_inserted_once_and_the_same_each_time() {
        let set = TableSet { tables: 1, rows: 1_200, uniform: false };
        let format = |encrypted, compressed| TableFormat { encrypted, compressed, by_default: false };
        let all: Vec<String> = set.statements(1, Flavor::MariaDb, format(true, false)).collect();
        assert_eq!(all.len(), 1 + 3 + 1);
        assert!(all[0].trim_end().ends_with("ENCRYPTED=YES") && all[4].starts_with("CREATE INDEX"));
        let rows: usize =
            all.iter().map(|sql| sql.matches("),(").count() + usize::from(sql.starts_with("INSERT"))).sum();
        assert_eq!(rows, 1_200);
        assert!(all[3].contains("(1200,") && !all[3].contains("(1201,"));
        let clear: Vec<String> = set.statements(1, Flavor::MySql, format(false, true)).collect();
        assert_eq!(all[1..], clear[1..]);
        assert!(clear[0].ends_with("ENCRYPTION='N' COMPRESSION='zlib'"));
    }
}
