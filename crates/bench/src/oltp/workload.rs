//! Operations of a client: the statements of sysbench's `oltp_*` scripts, and its random numbers.
//!
//! Source: sysbench 1.0, `oltp_common.lua` and `sb_rand.c`.

use std::io;

use super::tables::TableSet;
use crate::{
    random::Random,
    tls::{Client, OLTP_DATABASE, Prepared, Value},
};

/// A script of sysbench.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// `oltp_read_write`: 10 point selects, 4 ranges, 2 updates, a delete and an insert in a transaction.
    ReadWrite,
    /// `oltp_read_only`: 10 point selects and 4 ranges in a transaction.
    ReadOnly,
    /// `oltp_write_only`: 2 updates, a delete and an insert in a transaction.
    WriteOnly,
    /// `oltp_point_select`: one row by its primary key.
    PointSelect,
    /// `oltp_update_index`: one row of an indexed column.
    UpdateIndex,
}

const POINT_SELECTS: u32 = 10;
const RANGE_ROWS: u32 = 100;

impl Workload {
    /// All workloads.
    pub const ALL: [Self; 5] = [Self::ReadWrite, Self::ReadOnly, Self::WriteOnly, Self::PointSelect, Self::UpdateIndex];

    /// Name, as in sysbench.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadWrite => "oltp_read_write",
            Self::ReadOnly => "oltp_read_only",
            Self::WriteOnly => "oltp_write_only",
            Self::PointSelect => "oltp_point_select",
            Self::UpdateIndex => "oltp_update_index",
        }
    }

    /// The workload with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|workload| workload.as_str() == name)
    }
}

/// Prepared statements for one table.
struct Statements {
    point: Prepared,
    /// Simple, sum, ordered, distinct.
    ranges: [Prepared; 4],
    update_index: Prepared,
    update_text: Prepared,
    delete: Prepared,
    insert: Prepared,
}

impl Statements {
    fn prepare(client: &mut Client, table: u32) -> io::Result<Self> {
        let mut prepare = |sql: &str| client.prepare(&sql.replace("{}", &format!("sbtest{table}")));
        Ok(Self {
            point: prepare("SELECT c FROM {} WHERE id=?")?,
            ranges: [
                prepare("SELECT c FROM {} WHERE id BETWEEN ? AND ?")?,
                prepare("SELECT SUM(k) FROM {} WHERE id BETWEEN ? AND ?")?,
                prepare("SELECT c FROM {} WHERE id BETWEEN ? AND ? ORDER BY c")?,
                prepare("SELECT DISTINCT c FROM {} WHERE id BETWEEN ? AND ? ORDER BY c")?,
            ],
            update_index: prepare("UPDATE {} SET k=k+1 WHERE id=?")?,
            update_text: prepare("UPDATE {} SET c=? WHERE id=?")?,
            delete: prepare("DELETE FROM {} WHERE id=?")?,
            insert: prepare("INSERT INTO {} (id, k, c, pad) VALUES (?, ?, ?, ?)")?,
        })
    }
}

/// A client with its connection.
pub(super) struct Session {
    client: Client,
    workload: Workload,
    tables: TableSet,
    statements: Vec<Statements>,
    random: Random,
    /// Statements sent so far.
    pub(super) sent: u64,
}

impl Session {
    pub(super) fn new(mut client: Client, workload: Workload, tables: TableSet, seed: u64) -> io::Result<Self> {
        client.query(&format!("USE {OLTP_DATABASE}"))?;
        let statements = (1..=tables.tables).map(|table| Statements::prepare(&mut client, table));
        let statements = statements.collect::<io::Result<_>>()?;
        Ok(Self { client, workload, tables, statements, random: Random(seed), sent: 0 })
    }

    pub(super) fn quit(self) {
        self.client.quit();
    }

    /// One operation.
    pub(super) fn operate(&mut self) -> io::Result<()> {
        match self.workload {
            Workload::PointSelect => self.select_points(1),
            Workload::UpdateIndex => self.update_index(),
            Workload::ReadOnly => self.transaction(|session| session.read()),
            Workload::WriteOnly => self.transaction(|session| session.write()),
            Workload::ReadWrite => self.transaction(|session| session.read().and_then(|()| session.write())),
        }
    }

    /// Rolls back a failed transaction.
    pub(super) fn roll_back(&mut self) -> io::Result<()> {
        self.text("ROLLBACK")
    }

    fn transaction(&mut self, work: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        self.text("BEGIN")?;
        work(self)?;
        self.text("COMMIT")
    }

    fn read(&mut self) -> io::Result<()> {
        self.select_points(POINT_SELECTS)?;
        for kind in 0..4 {
            let (table, from) = (self.table(), self.row());
            let statement = self.statements[table].ranges[kind];
            self.execute(statement, &[Value::Number(from), Value::Number(from + RANGE_ROWS - 1)])?;
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        self.update_index()?;
        let (table, row) = (self.table(), self.row());
        let text = column_c(&mut self.random);
        self.execute(self.statements[table].update_text, &[Value::Text(&text), Value::Number(row)])?;
        let (table, row, k) = (self.table(), self.row(), self.row());
        self.execute(self.statements[table].delete, &[Value::Number(row)])?;
        let (c, pad) = (column_c(&mut self.random), column_pad(&mut self.random));
        let values = [Value::Number(row), Value::Number(k), Value::Text(&c), Value::Text(&pad)];
        self.execute(self.statements[table].insert, &values)
    }

    fn select_points(&mut self, count: u32) -> io::Result<()> {
        let table = self.table();
        for _ in 0..count {
            let row = self.row();
            self.execute(self.statements[table].point, &[Value::Number(row)])?;
        }
        Ok(())
    }

    fn update_index(&mut self) -> io::Result<()> {
        let (table, row) = (self.table(), self.row());
        self.execute(self.statements[table].update_index, &[Value::Number(row)])
    }

    fn execute(&mut self, statement: Prepared, values: &[Value<'_>]) -> io::Result<()> {
        self.sent += 1;
        self.client.execute(statement, values)
    }

    fn text(&mut self, sql: &str) -> io::Result<()> {
        self.sent += 1;
        self.client.query(sql).map(drop)
    }

    fn table(&mut self) -> usize {
        self.random.below(self.statements.len())
    }

    fn row(&mut self) -> u32 {
        row(&mut self.random, self.tables.rows, self.tables.uniform)
    }
}

/// A row number from 1 to `rows`. Unless `uniform`, as in sysbench by default: a quarter of the accesses follow a bell
/// curve around the middle, and the others go to one percent of the rows there.
pub(super) fn row(random: &mut Random, rows: u32, uniform: bool) -> u32 {
    const REST: u64 = 4;
    const BELL: u32 = 12;
    let range = u64::from(rows);
    if uniform {
        return 1 + below(random, range);
    }
    let drawn = u64::from(below(random, range * REST));
    if drawn < range {
        let sum: u64 = (0..BELL).map(|_| u64::from(below(random, range))).sum();
        return 1 + narrow(sum / u64::from(BELL));
    }
    let few = (range / 100).max(1);
    1 + narrow(range / 2 - few / 2 + drawn % few)
}

fn below(random: &mut Random, end: u64) -> u32 {
    narrow(u64::try_from(random.below(usize::try_from(end).unwrap_or(usize::MAX))).unwrap_or_default())
}

fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// Ten groups of eleven digits.
pub(super) fn column_c(random: &mut Random) -> String {
    groups(random, 10)
}

/// Five groups of eleven digits.
pub(super) fn column_pad(random: &mut Random) -> String {
    groups(random, 5)
}

fn groups(random: &mut Random, count: usize) -> String {
    const DIGITS: usize = 11;
    let mut text = String::with_capacity(count * (DIGITS + 1));
    for group in 0..count {
        if group > 0 {
            text.push('-');
        }
        let mut drawn = random.next();
        for _ in 0..DIGITS {
            text.push(char::from(b'0' + u8::try_from(drawn % 10).unwrap_or_default()));
            drawn /= 10;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_within_the_table_and_mostly_in_its_middle() {
        let mut random = Random(5);
        for rows in [1, 2, 99, 100, 10_000] {
            for uniform in [false, true] {
                let all = (0..2000).map(|_| row(&mut random, rows, uniform));
                assert!(all.into_iter().all(|row| (1..=rows).contains(&row)), "{rows}");
            }
        }
        let mut random = Random(3);
        let middle = (0..10_000).filter(|_| (4_950..=5_050).contains(&row(&mut random, 10_000, false))).count();
        assert!((7_000..8_500).contains(&middle), "{middle}");
        let middle = (0..10_000).filter(|_| (4_950..=5_050).contains(&row(&mut random, 10_000, true))).count();
        assert!(middle < 200, "{middle}");
    }

    #[test]
    fn texts_have_the_format_of_sysbench() {
        let (c, pad) = (column_c(&mut Random(1)), column_pad(&mut Random(1)));
        assert_eq!((c.len(), pad.len()), (119, 59));
        assert!(c.split('-').all(|group| group.len() == 11 && group.bytes().all(|byte| byte.is_ascii_digit())));
    }

    #[test]
    fn workloads_have_the_names_of_sysbench() {
        assert_eq!(Workload::named("oltp_read_write"), Some(Workload::ReadWrite));
        assert_eq!(Workload::named("read_write"), None);
    }
}
