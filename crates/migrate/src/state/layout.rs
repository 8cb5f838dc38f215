//! The tables of the state: created with a migration, checked when it is resumed, removed at its end.

use std::collections::BTreeSet;

use innodb::binlog::LogPosition;
use server::{Connection, dialect::encryption::table_option, quote};

use super::{Phase, creating::LIST, failed, hex, name, position::position_values, target_log::begin_target_log};
use crate::{
    Error, STATE_SCHEMA, journal,
    link::{flavor, identity_expression},
    log_access,
    moved_table::MovedTable,
    position::{Start, Tracking},
    random::random,
};

/// Version of the layout of the tables below.
pub(super) const FORMAT: u32 = 10;

/// Creates the schema.
pub(super) const CREATE_SCHEMA: &str = "CREATE DATABASE IF NOT EXISTS `_sealant` CHARACTER SET ascii";

const TABLES: [&str; 9] = [
    // The token is part of the key, so that the log has it with each update, even with `binlog_row_image=MINIMAL`.
    "`_sealant`.`run` (id INT NOT NULL, token CHAR(32) NOT NULL, back_token CHAR(32) NOT NULL, format INT NOT NULL, source_uuid VARCHAR(64) NOT NULL, \
     tracking VARCHAR(32) NOT NULL, logs_cascades TINYINT NOT NULL, old_until VARCHAR(600) NOT NULL, phase VARCHAR(32) NOT NULL, \
     step VARCHAR(32) NOT NULL, fence LONGTEXT NOT NULL, source_end VARCHAR(600) NOT NULL, \
     target_end VARCHAR(600) NOT NULL, target_gtids LONGTEXT NOT NULL, fallback BIGINT UNSIGNED NOT NULL, \
     heartbeat TIMESTAMP NOT NULL, paused TINYINT NOT NULL, \
     PRIMARY KEY (id, token))",
    "`_sealant`.`tbl` (number INT PRIMARY KEY, name VARCHAR(1100) NOT NULL, shape LONGTEXT NOT NULL)",
    "`_sealant`.`chunk` (tbl INT NOT NULL, number BIGINT UNSIGNED NOT NULL, after_key LONGTEXT, upto_key LONGTEXT, \
     row_count BIGINT UNSIGNED NOT NULL, bytes BIGINT UNSIGNED NOT NULL, verified TINYINT NOT NULL, \
     touches BIGINT UNSIGNED NOT NULL, PRIMARY KEY (tbl, number))",
    // The position in the source's log of the snapshot from which a table was copied whole.
    "`_sealant`.`snapshot` (tbl INT PRIMARY KEY, gtids LONGTEXT NOT NULL, file VARCHAR(512) NOT NULL, \
     position BIGINT UNSIGNED NOT NULL)",
    "`_sealant`.`pos` (id INT PRIMARY KEY, gtids LONGTEXT NOT NULL, file VARCHAR(512) NOT NULL, \
     position BIGINT UNSIGNED NOT NULL, row_tbl INT, row_key LONGTEXT, batches BIGINT UNSIGNED NOT NULL)",
    "`_sealant`.`log_file` (id INT PRIMARY KEY, server_uuid VARCHAR(64) NOT NULL, file VARCHAR(512) NOT NULL, \
     created INT UNSIGNED NOT NULL)",
    "`_sealant`.`target_log` (id INT PRIMARY KEY, server_uuid VARCHAR(64) NOT NULL, file VARCHAR(512) NOT NULL, \
     position BIGINT UNSIGNED NOT NULL, created INT UNSIGNED NOT NULL)",
    // Accounts that the migration has created: user and host in hexadecimal.
    "`_sealant`.`account` (name VARCHAR(2000) PRIMARY KEY, is_role TINYINT NOT NULL, opens TINYINT NOT NULL)",
    // In a table of its own, because the row of `run` is updated each second.
    "`_sealant`.`epoch` (id INT PRIMARY KEY, epoch BIGINT UNSIGNED NOT NULL)",
];

/// What a migration begins with.
pub(crate) struct Beginning<'b> {
    /// The migration's random text, which no other one has.
    pub(crate) token: String,
    pub(crate) tracking: Tracking,
    /// Whether the source logs the rows that foreign keys change.
    pub(crate) logs_cascades: bool,
    pub(crate) source_uuid: &'b str,
    pub(crate) start: Start,
    /// Whether the state is encrypted.
    pub(crate) encrypted: bool,
    /// Where the target's log is read first; `None` if it is not read.
    pub(crate) target_log: Option<LogPosition>,
    pub(crate) phase: Phase,
    /// Statements of the same transaction.
    pub(crate) more: Vec<String>,
}

/// All tables of the state.
fn tables() -> impl Iterator<Item = &'static str> {
    TABLES.into_iter().chain(journal::TABLES)
}

/// Checks that no table of the state is missing: the proof, too, is a part of it.
///
/// # Errors
/// [`Error::State`].
pub(crate) fn require_whole(target: &mut Connection) -> Result<(), Error> {
    let sql = format!("SELECT table_name AS name FROM information_schema.tables WHERE table_schema = '{STATE_SCHEMA}'");
    let rows = target.query(&sql).map_err(failed)?;
    let found: BTreeSet<_> = (0..rows.rows.len()).filter_map(|row| rows.value(row, "name")).collect();
    match tables().map(name_of).find(|name| !found.contains(name)) {
        None => Ok(()),
        Some(what) => Err(Error::State { what }),
    }
}

/// The table's name, from its definition.
fn name_of(table: &'static str) -> &'static str {
    table.split('`').nth(3).unwrap_or_default()
}

/// Checks that the schema contains no other tables. Some of its own may exist already, if a migration was killed while
/// it created them.
pub(super) fn no_foreign_table(target: &mut Connection) -> Result<(), Error> {
    let own: Vec<&str> = tables().map(name_of).chain([LIST]).collect();
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{STATE_SCHEMA}' \
         AND table_name NOT IN ('{}')",
        own.join("', '")
    );
    let rows = target.query(&sql).map_err(failed)?;
    if rows.scalar() == Some("0") { Ok(()) } else { Err(Error::ForeignState { schema: STATE_SCHEMA }) }
}

/// Creates the schema, and begins a migration that follows the source from `start`.
///
/// # Errors
/// [`Error::NotEmpty`] if a table at the target has rows: once a table is in the state, `abort` may drop it as a copy.
pub(crate) fn begin(
    target: &mut Connection,
    (tracking, logs_cascades, source_uuid): (Tracking, bool, &str),
    moved: &[MovedTable],
    start: &Start,
    encrypted: bool,
) -> Result<(), Error> {
    // Read before the tables are found empty, so that no foreign write falls in between.
    let target_log = log_access::start(target)?;
    moved.iter().try_for_each(|table| require_empty(target, table))?;
    let (start, phase, more) = (start.clone(), Phase::Copy, Vec::new());
    let token = random_token();
    store_beginning(
        target,
        moved,
        Beginning { token, tracking, logs_cascades, source_uuid, start, encrypted, target_log, phase, more },
    )
}

/// A text that no other migration has.
fn random_token() -> String {
    format!("{:016x}{:016x}", random(), random())
}

/// Creates the schema with the state of a migration that begins.
pub(crate) fn store_beginning(
    target: &mut Connection,
    moved: &[MovedTable],
    beginning: Beginning<'_>,
) -> Result<(), Error> {
    let Beginning { token, tracking, logs_cascades, source_uuid, start, encrypted, target_log, phase, more } =
        beginning;
    let encryption = encryption_option(target, encrypted);
    let identity = identity_expression(target);
    let mut statements = vec![CREATE_SCHEMA.to_owned()];
    // What is left of a state without its row of `run`, perhaps of another version with other columns.
    statements.extend(tables().map(|table| format!("DROP TABLE IF EXISTS `{STATE_SCHEMA}`.`{}`", name_of(table))));
    statements.extend(tables().map(|table| format!("CREATE TABLE {table} ENGINE = InnoDB{encryption}")));
    statements.push("START TRANSACTION".to_owned());
    for table in moved {
        statements.push(journal::keep_encryption(table));
        let (name, shape) = (hex(table.shown.as_bytes()), hex(table.shape().as_bytes()));
        statements.push(format!("REPLACE INTO `_sealant`.`tbl` VALUES ({}, '{name}', '{shape}')", table.number));
    }
    statements.push("REPLACE INTO `_sealant`.`epoch` VALUES (1, 0)".to_owned());
    statements.push(format!("REPLACE INTO `_sealant`.`pos` VALUES (1, {}, 0)", position_values(&start.position)));
    statements.extend(target_log.iter().map(|start| begin_target_log(start, identity)));
    statements.extend(more);
    statements.push(format!(
        "INSERT INTO `_sealant`.`run` VALUES (1, '{token}', '{}', {FORMAT}, {}, '{}', {}, {}, '{}', '', '', '', '', '', 0, NOW(), 0)",
        random_token(),
        quote::text(source_uuid),
        tracking.text(),
        u8::from(logs_cascades),
        quote::text(&start.old_until.to_string()),
        phase.text()
    ));
    statements.push("COMMIT".to_owned());
    // Only now: until then it names the tables that the target has.
    statements.push(format!("DROP TABLE IF EXISTS `{STATE_SCHEMA}`.`{LIST}`"));
    statements.iter().try_for_each(|statement| target.query(statement).map(drop).map_err(failed))
}

/// The option of `CREATE TABLE` for a table of the state.
pub(super) fn encryption_option(target: &Connection, encrypted: bool) -> String {
    if encrypted { format!(" {}", table_option(flavor(target), true)) } else { String::new() }
}

/// Whether the state is encrypted: a table was to be, when the migration began.
pub(crate) fn is_encrypted(target: &mut Connection) -> Result<bool, Error> {
    let sql = format!(
        "SELECT create_options AS o FROM information_schema.tables \
         WHERE table_schema = '{STATE_SCHEMA}' AND table_name = 'run'"
    );
    let rows = target.query(&sql).map_err(failed)?;
    let is_quote = |character: &char| matches!(character, '\'' | '"' | '`');
    let options: String = rows.value(0, "o").unwrap_or_default().chars().filter(|it| !is_quote(it)).collect();
    let options = options.to_ascii_uppercase();
    Ok(["ENCRYPTION=Y", "ENCRYPTED=YES"].into_iter().any(|option| options.contains(option)))
}

fn require_empty(target: &mut Connection, table: &MovedTable) -> Result<(), Error> {
    let rows = target.query(&format!("SELECT 1 FROM {} LIMIT 1", table.quoted)).map_err(failed)?;
    if rows.rows.is_empty() { Ok(()) } else { Err(Error::NotEmpty { table: table.shown.clone() }) }
}

/// Compares the tables with those with which the migration began.
///
/// # Errors
/// [`Error::OtherMigration`].
pub(crate) fn compare_tables(target: &mut Connection, tables: &[MovedTable]) -> Result<(), Error> {
    let rows = target.query("SELECT number, name, shape FROM `_sealant`.`tbl` ORDER BY number").map_err(failed)?;
    let other = |what: String| Err(Error::OtherMigration { what });
    let stored: BTreeSet<_> = (0..rows.rows.len()).filter_map(|row| name(rows.value(row, "name")?)).collect();
    let now: BTreeSet<_> = tables.iter().map(|table| table.shown.clone()).collect();
    if let Some(more) = now.difference(&stored).next() {
        return other(format!("{more} is not one of its tables"));
    }
    if let Some(gone) = stored.difference(&now).next() {
        return other(format!("{gone} is one of its tables, and is not at the source or was not selected"));
    }
    for (row, table) in tables.iter().enumerate() {
        if rows.value(row, "name") != Some(&hex(table.shown.as_bytes())) {
            return Err(Error::State { what: "table" });
        }
        if rows.value(row, "shape") != Some(&hex(table.shape().as_bytes())) {
            return other(format!("{} had other columns when it was begun", table.shown));
        }
    }
    Ok(())
}

/// Numbers and names of the tables.
pub(crate) fn table_names(target: &mut Connection) -> Result<Vec<(String, String)>, Error> {
    let rows = target.query("SELECT number, name FROM `_sealant`.`tbl` ORDER BY number").map_err(failed)?;
    let table = |row| Some((rows.value(row, "number")?.to_owned(), name(rows.value(row, "name")?)?));
    (0..rows.rows.len()).map(|row| table(row).ok_or(Error::State { what: "table" })).collect()
}

/// Removes the state.
pub(crate) fn remove(target: &mut Connection) -> Result<(), Error> {
    target.query("DROP DATABASE IF EXISTS `_sealant`").map(drop).map_err(failed)
}
