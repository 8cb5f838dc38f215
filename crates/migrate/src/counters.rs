//! AUTO_INCREMENT at the target: no number that the source has given is given again.
//!
//! The target's counters follow the rows that it gets. Those of the source are ahead of them by numbers of rows that
//! were deleted, or never stored. Such counters are set before writes are blocked, and further than necessary, so that
//! hardly one has to be set meanwhile. A counter that is not behind stays as it is.

use std::{
    collections::{BTreeMap, HashMap},
    time::{Duration, Instant},
};

use server::{
    Connection, Rows,
    dialect::{catalog::FRESH_STATISTICS, statement::set_lock_timeout},
    error_code, quote,
};

use crate::{
    Error, Event, Side,
    active::Active,
    catalog::{Structure, TableName},
    moved_table::MovedTable,
    shared::Shared,
};

/// How far a counter is set beyond that of the source before writes are blocked, but at most by a hundredth of the
/// numbers that are left.
const MARGIN: u64 = 10_000;
/// Longest wait of an attempt for the transactions that use a table. Others wait behind it.
const LOCK_WAIT: Duration = Duration::from_secs(1);
/// Lets the session's other statements wait as long as the server does.
const USUAL_LOCK_WAIT: &str = "SET SESSION lock_wait_timeout = DEFAULT";
/// How long a table may be in use before writes are blocked.
const PATIENCE: Duration = Duration::from_secs(5);
/// Pause between the attempts.
const PAUSE: Duration = Duration::from_millis(500);

/// A table with an AUTO_INCREMENT column.
struct Counted<'m> {
    table: &'m MovedTable,
    /// The largest number of the column; 0 if it has no integers.
    largest: u64,
}

impl Counted<'_> {
    /// The counter that is set in place of this one, which the source has.
    fn beyond(&self, counter: u64, margin: u64) -> u64 {
        let left = self.largest.saturating_sub(counter);
        counter.saturating_add(margin.min(left / 100))
    }
}

/// The next number of each table, as a server has it.
type Counters = HashMap<TableName, u64>;

/// Sets the counters that are behind, before writes are blocked.
///
/// # Errors
/// [`Error::TargetInUse`].
pub(crate) fn raise(
    active: &mut Active<'_>,
    source: &mut Connection,
    events: &mut dyn FnMut(Event),
) -> Result<(), Error> {
    let tables = counted(active);
    let wanted = read(source, Side::Source, &tables)?;
    // The target then has the rows of these numbers, and is behind only where there are none.
    active.catch_up(events)?;
    set_those_behind(active, &tables, &wanted, (MARGIN, PATIENCE))
}

/// Sets the counters that are behind now, while writes are blocked.
///
/// # Errors
/// [`Error::TargetInUse`].
pub(crate) fn complete(active: &mut Active<'_>, source: &mut Connection) -> Result<(), Error> {
    let tables = counted(active);
    let wanted = read(source, Side::Source, &tables)?;
    set_those_behind(active, &tables, &wanted, (0, Duration::ZERO))
}

/// The moved tables with an AUTO_INCREMENT column.
fn counted<'m>(active: &Active<'m>) -> Vec<Counted<'m>> {
    let structures = &active.settings.catalog.structure;
    let counted = |table: &'m MovedTable| {
        let column = counting_column(structures.get(&table.table.full_name())?)?;
        Some(Counted { table, largest: column.get("column_type").map_or(0, |kind| largest(kind)) })
    };
    active.tables.iter().filter_map(counted).collect()
}

/// The attributes of the AUTO_INCREMENT column.
fn counting_column(structure: &Structure) -> Option<&BTreeMap<String, String>> {
    let counts = |extra: &String| extra.to_ascii_lowercase().contains("auto_increment");
    structure.objects.values().find(|attributes| attributes.get("extra").is_some_and(counts))
}

/// The largest number of an integer type; 0 for other types.
fn largest(column_type: &str) -> u64 {
    let (signed, unsigned) = match column_type.split(['(', ' ']).next() {
        Some("tinyint") => (0x7f, 0xff),
        Some("smallint") => (0x7fff, 0xffff),
        Some("mediumint") => (0x7f_ffff, 0xff_ffff),
        Some("int") => (0x7fff_ffff, 0xffff_ffff),
        Some("bigint") => (i64::MAX.unsigned_abs(), u64::MAX),
        _ => (0, 0),
    };
    if column_type.contains("unsigned") { unsigned } else { signed }
}

fn read(connection: &mut Connection, side: Side, tables: &[Counted<'_>]) -> Result<Counters, Error> {
    if tables.is_empty() {
        return Ok(Counters::new());
    }
    match connection.query(FRESH_STATISTICS) {
        // Older servers do not cache these counters.
        Ok(_) | Err(server::Error::Server { code: error_code::UNKNOWN_SYSTEM_VARIABLE, .. }) => {}
        Err(error) => return Err(Error::at(side)(error)),
    }
    let name = |it: &Counted<'_>| {
        let [schema, name] = [&it.table.table.schema, &it.table.table.name].map(|name| quote::text(name));
        format!("({schema}, {name})")
    };
    let names: Vec<_> = tables.iter().map(name).collect();
    let sql = format!(
        "SELECT table_schema AS s, table_name AS n, auto_increment AS c FROM information_schema.tables \
         WHERE (table_schema, table_name) IN ({})",
        names.join(", ")
    );
    Ok(counters(&connection.query(&sql).map_err(Error::at(side))?))
}

/// A table that has never given a number may have none.
fn counters(rows: &Rows) -> Counters {
    let counter = |row| {
        let name = (rows.value(row, "s")?.to_owned(), rows.value(row, "n")?.to_owned());
        Some((name, rows.value(row, "c")?.parse().ok()?))
    };
    (0..rows.rows.len()).filter_map(counter).collect()
}

fn set_those_behind(
    active: &mut Active<'_>,
    tables: &[Counted<'_>],
    wanted: &Counters,
    (margin, patience): (u64, Duration),
) -> Result<(), Error> {
    let found = read(&mut active.target, Side::Target, tables)?;
    let mut behind = those_behind(tables, wanted, &found).peekable();
    if behind.peek().is_none() {
        return Ok(());
    }
    let (target, shared) = (&mut active.target, active.shared);
    target.query(&set_lock_timeout(LOCK_WAIT)).map_err(Error::at(Side::Target))?;
    let ended = behind.try_for_each(|(counted, counter)| {
        set(target, shared, counted.table, counted.beyond(counter, margin), patience)
    });
    // The session goes on with other work, also after a failure.
    let restored = target.query(USUAL_LOCK_WAIT).map_err(Error::at(Side::Target));
    ended.and_then(|()| restored.map(drop))
}

/// The tables whose counters are lower than wanted, with the wanted ones.
fn those_behind<'t, 'm>(
    tables: &'t [Counted<'m>],
    wanted: &'t Counters,
    found: &'t Counters,
) -> impl Iterator<Item = (&'t Counted<'m>, u64)> {
    tables.iter().filter_map(move |counted| {
        let name = counted.table.table.full_name();
        let wanted = *wanted.get(&name)?;
        (found.get(&name).copied().unwrap_or(1) < wanted).then_some((counted, wanted))
    })
}

fn set(
    target: &mut Connection,
    shared: &Shared,
    table: &MovedTable,
    counter: u64,
    patience: Duration,
) -> Result<(), Error> {
    let began = Instant::now();
    let sql = table.set_counter(counter);
    while let Err(error) = target.query(&sql).map_err(Error::at(Side::Target)) {
        if !error.is_collision() {
            return Err(error);
        }
        if began.elapsed() >= patience {
            let by = users(target, table);
            return Err(Error::TargetInUse { table: table.shown.clone(), by });
        }
        shared.sleep(PAUSE)?;
    }
    Ok(())
}

/// Who uses a table, as far as the account may see that.
fn users(target: &mut Connection, table: &MovedTable) -> String {
    let [schema, name] = [&table.table.schema, &table.table.name].map(|name| quote::text(name));
    let sql = format!(
        "SELECT DISTINCT CONCAT('session ', t.PROCESSLIST_ID, ' of ', t.PROCESSLIST_USER) \
         FROM performance_schema.metadata_locks l JOIN performance_schema.threads t ON t.THREAD_ID = l.OWNER_THREAD_ID \
         WHERE l.OBJECT_TYPE = 'TABLE' AND l.OBJECT_SCHEMA = {schema} AND l.OBJECT_NAME = {name} \
         AND l.LOCK_STATUS = 'GRANTED' AND t.PROCESSLIST_ID <> CONNECTION_ID()"
    );
    let rows = target.query(&sql).unwrap_or_default();
    let users: Vec<_> = rows.rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect();
    if users.is_empty() { "a transaction or a statement".to_owned() } else { users.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preflight::testing;

    fn counters_of(all: &[(&str, u64)]) -> Counters {
        all.iter().map(|(name, counter)| (("shop".to_owned(), (*name).to_owned()), *counter)).collect()
    }

    #[test]
    fn only_counters_that_are_behind_are_set() {
        let moved = ["a", "b", "c", "d", "e"].map(|name| MovedTable::new(0, &testing::table(name)));
        let tables: Vec<_> = moved.iter().map(|table| Counted { table, largest: u64::MAX }).collect();
        let wanted = counters_of(&[("a", 7), ("b", 7), ("c", 7), ("d", 1)]);
        let found = counters_of(&[("a", 6), ("b", 7)]);
        let behind = those_behind(&tables, &wanted, &found);
        let behind: Vec<_> = behind.map(|(counted, wanted)| (counted.table.shown.as_str(), wanted)).collect();
        // The target shows no counter of a table that never had a row.
        assert_eq!(behind, [("shop.a", 7), ("shop.c", 7)]);
    }

    #[test]
    fn the_margin_leaves_numbers() {
        let table = MovedTable::new(0, &testing::table("t"));
        for (kind, counter, beyond) in [
            ("int unsigned", 5, 10_005),
            ("bigint", 5, 10_005),
            ("tinyint(1)", 5, 6),
            ("tinyint unsigned", 250, 250),
            ("smallint", 32_767, 32_767),
            ("smallint(5) unsigned zerofill", 32_768, 33_095),
            ("double", 5, 5),
            ("bigint unsigned", u64::MAX, u64::MAX),
        ] {
            let counted = Counted { table: &table, largest: largest(kind) };
            assert_eq!(counted.beyond(counter, MARGIN), beyond, "{kind}");
            assert_eq!(counted.beyond(counter, 0), counter, "{kind}");
        }
    }

    #[test]
    fn the_counting_column_is_found_by_its_attribute() {
        let attributes = |extra: &str, column_type: &str| {
            [("extra", extra), ("column_type", column_type)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into_iter()
                .collect::<BTreeMap<_, _>>()
        };
        let mut structure = Structure::default();
        structure.objects.insert("column a".to_owned(), attributes("", "int"));
        assert_eq!(counting_column(&structure), None);
        structure.objects.insert("column b".to_owned(), attributes("auto_increment INVISIBLE", "bigint unsigned"));
        assert_eq!(counting_column(&structure).map(|column| column["column_type"].as_str()), Some("bigint unsigned"));
    }
}
