//! The tables of sysbench, with the same rows on every server.

use std::fmt::Write;

use server::{
    Flavor,
    dialect::{encryption::table_option, innodb::page_compression},
};

use super::workload::{column_c, column_pad, row};
use crate::random::Random;

/// Size of the data, and how it is accessed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableSet {
    /// Number of tables.
    pub tables: u32,
    /// Rows in each table.
    pub rows: u32,
    /// Whether all rows are accessed equally often. Otherwise, as in sysbench by default, most accesses go to one
    /// percent of the rows.
    pub uniform: bool,
    /// Length of a column that sysbench's tables do not have, so that rows are as long as those of a user.
    pub filler_bytes: u32,
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

/// Rows of an `INSERT`, if they are as short as those of sysbench.
const BATCH: u32 = 500;
/// Length of a row of sysbench in its table.
const ROW_BYTES: u64 = 220;
/// Space for a row in its index, and free space in pages.
const INDEX_BYTES: u64 = 40;
/// Space for a row of sysbench with its index.
pub(super) const INDEXED_ROW_BYTES: u64 = ROW_BYTES + INDEX_BYTES;
/// Longer rows are not kept in one page.
const MOST_FILLER_BYTES: u64 = 7000;

impl TableSet {
    /// Approximate size of the tables on disk.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        u64::from(self.tables) * u64::from(self.rows) * (self.row_bytes() + INDEX_BYTES)
    }

    /// Approximate length of a row.
    #[must_use]
    pub fn row_bytes(&self) -> u64 {
        ROW_BYTES + u64::from(self.filler_bytes)
    }

    /// These tables with rows of about this length, as far as that is possible.
    pub(crate) fn with_rows_of(self, bytes: u64) -> Self {
        let filler = bytes.saturating_sub(ROW_BYTES).min(MOST_FILLER_BYTES);
        Self { filler_bytes: u32::try_from(filler).unwrap_or_default(), ..self }
    }

    fn batch(&self) -> u32 {
        u32::try_from(u64::from(BATCH) * ROW_BYTES / self.row_bytes()).unwrap_or(BATCH).max(1)
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
             c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL{}, PRIMARY KEY (id)) \
             ENGINE=InnoDB {encrypted} {compressed}",
            self.filler_column(table)
        );
        let mut random = Random(u64::from(table));
        let mut next = 1;
        let inserts = std::iter::from_fn(move || {
            let first = next;
            next = (first + self.batch()).min(self.rows + 1);
            (first < next).then(|| self.insert(table, first..next, &mut random))
        });
        let index = format!("CREATE INDEX k_{table} ON sbtest{table} (k)");
        std::iter::once(create).chain(inserts).chain([index])
    }

    /// The column that makes rows longer. Its default is as long, for rows that clients insert.
    fn filler_column(&self, table: u32) -> String {
        if self.filler_bytes == 0 {
            return String::new();
        }
        let text = self.filler(&mut Random(u64::from(table)));
        format!(", filler VARCHAR({}) DEFAULT '{text}' NOT NULL", self.filler_bytes)
    }

    fn filler(&self, random: &mut Random) -> String {
        let length = usize::try_from(self.filler_bytes).unwrap_or_default();
        let mut text = String::new();
        while text.len() < length {
            text.push_str(&column_c(random));
        }
        text.truncate(length);
        text
    }

    fn insert(&self, table: u32, ids: std::ops::Range<u32>, random: &mut Random) -> String {
        let filler = if self.filler_bytes > 0 { ", filler" } else { "" };
        let mut sql = format!("INSERT INTO sbtest{table} (id, k, c, pad{filler}) VALUES ");
        for id in ids.clone() {
            let k = row(random, self.rows, false);
            let comma = if id == ids.start { "" } else { "," };
            // Writing to a string cannot fail.
            let _ = write!(sql, "{comma}({id},{k},'{}','{}'", column_c(random), column_pad(random));
            if self.filler_bytes > 0 {
                let _ = write!(sql, ",'{}'", self.filler(random));
            }
            sql.push(')');
        }
        sql
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_inserted_once_and_the_same_each_time() {
        let set = TableSet { tables: 1, rows: 1_200, ..TableSet::default() };
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

    #[test]
    fn rows_are_as_long_as_those_of_a_user() {
        let set = TableSet { tables: 1, rows: 500, ..TableSet::default() }.with_rows_of(1000);
        let all: Vec<String> = set
            .statements(1, Flavor::MySql, TableFormat { encrypted: false, compressed: false, by_default: false })
            .collect();
        assert!(all[0].contains("filler VARCHAR(780)") && all.len() == 1 + 5 + 1, "{} statements", all.len());
        let bytes: usize = all[1..6].iter().map(String::len).sum();
        assert!((480_000..520_000).contains(&bytes), "{bytes}");
    }
}
