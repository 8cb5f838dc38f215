//! The state of a migration, in its own schema at the target, so that it is as durable as the rows.
//!
//! The transaction that loads a chunk also marks it as loaded, and the transaction that applies changes also stores the
//! position after them. Nothing is stored anywhere else.

use std::collections::{BTreeSet, HashMap};

use data_encoding::HEXLOWER;
use innodb::binlog::LogPosition;
use server::{Account, Connection, Rows, dialect::encryption::table_option, error_code, quote};

use crate::{
    Error, STATE_SCHEMA, Side,
    chunk_map::{Chunk, Copied, State},
    collision, journal,
    key::{Key, KeyColumns},
    link::{flavor, identity_expression},
    log_access,
    log_file::LogFile,
    moved_table::MovedTable,
    position::{ChangedRow, Position, Start, Tracking},
    random::random,
};

/// Version of the layout of the tables below.
const FORMAT: u32 = 8;

const TABLES: [&str; 9] = [
    // The token is part of the key, so that the log has it with each update, even with `binlog_row_image=MINIMAL`.
    "`_sealant`.`run` (id INT NOT NULL, token CHAR(32) NOT NULL, back_token CHAR(32) NOT NULL, format INT NOT NULL, source_uuid VARCHAR(64) NOT NULL, \
     tracking VARCHAR(32) NOT NULL, old_until VARCHAR(600) NOT NULL, phase VARCHAR(32) NOT NULL, \
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

/// How far a migration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Rows are copied.
    Copy,
    /// Every row was copied, and every change since then was applied once.
    Copied,
    /// The cut-over was begun.
    CutOver,
    /// The source is fenced, and everything was applied and compared.
    Switched,
}

impl Phase {
    const fn text(self) -> &'static str {
        match self {
            Self::Copy => "copy",
            Self::Copied => "copied",
            Self::CutOver => "cut-over",
            Self::Switched => "switched",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Copy, Self::Copied, Self::CutOver, Self::Switched].into_iter().find(|phase| phase.text() == text)
    }
}

/// The row of the table `run`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// A random text that no other migration has.
    pub(crate) token: String,
    /// The token of its way back.
    pub(crate) back_token: String,
    pub(crate) source_uuid: String,
    pub(crate) tracking: Tracking,
    /// The end of the source's log when the migration was begun.
    pub(crate) old_until: LogPosition,
    pub(crate) phase: Phase,
    /// The last step of the cut-over that was done.
    pub(crate) step: String,
    /// The source's settings before it was fenced; empty if it is not fenced.
    pub(crate) fence: String,
    /// The end of the source's log when it was fenced.
    pub(crate) source_end: String,
    /// The end of the target's log when the switch was stored; empty before that, and without a log.
    pub(crate) target_end: String,
    /// The GTIDs that the target had executed then; empty unless a fallback was wanted and the target has GTIDs.
    pub(crate) target_gtids: String,
    /// Until when a fallback is wanted, in seconds since 1970; 0 for no fallback.
    pub(crate) fallback: u64,
    /// Whether no process may work on it.
    pub(crate) paused: bool,
}

/// What a migration begins with.
pub(crate) struct Beginning<'b> {
    /// The migration's random text, which no other one has.
    pub(crate) token: String,
    pub(crate) tracking: Tracking,
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

/// What is stored with the switch.
#[derive(Debug, Default)]
pub(crate) struct SwitchEnd {
    /// The end of the target's log; empty without a log.
    pub(crate) target_end: String,
    pub(crate) target_gtids: String,
    /// In seconds since 1970; 0 for no fallback.
    pub(crate) fallback: u64,
}

/// A loaded chunk, and whether it was compared since it last changed.
#[derive(Clone, Debug)]
pub(crate) struct StoredChunk {
    pub(crate) table: usize,
    pub(crate) chunk: Chunk<Key>,
    pub(crate) copied: Copied,
    pub(crate) verified: bool,
}

/// An account that the migration has created, or is about to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CreatedAccount {
    pub(crate) name: Account,
    pub(crate) is_role: bool,
    /// Whether it waits for the switch to be unlocked.
    pub(crate) opens: bool,
}

fn failed(error: server::Error) -> Error {
    Error::at(Side::Target)(error)
}

/// Reads the row of the run; `None` if no migration was begun.
///
/// # Errors
/// [`Error::ForeignState`] if the schema contains tables of something else; [`Error::OtherFormat`].
pub(crate) fn run(target: &mut Connection) -> Result<Option<Run>, Error> {
    // Read first and alone: another version has other columns.
    let rows = match target.query("SELECT format FROM `_sealant`.`run` WHERE id = 1") {
        Ok(rows) => rows,
        Err(server::Error::Server { code: error_code::UNKNOWN_DATABASE | error_code::NO_SUCH_TABLE, .. }) => {
            return no_foreign_table(target).map(|()| None);
        }
        Err(server::Error::Server { code: error_code::UNKNOWN_COLUMN, .. }) => {
            return Err(Error::ForeignState { schema: STATE_SCHEMA });
        }
        Err(error) => return Err(failed(error)),
    };
    let Some(format) = rows.scalar() else { return Ok(None) };
    if format != FORMAT.to_string() {
        return Err(Error::OtherFormat { found: format.to_owned(), known: FORMAT });
    }
    let sql = "SELECT token, back_token, source_uuid, tracking, old_until, phase, step, fence, source_end, target_end, \
               target_gtids, fallback, paused \
               FROM `_sealant`.`run` WHERE id = 1";
    let rows = target.query(sql).map_err(failed)?;
    let text = |name| rows.value(0, name).unwrap_or_default().to_owned();
    let phase = Phase::parse(&text("phase")).ok_or(Error::State { what: "phase" })?;
    let tracking = Tracking::parse(&text("tracking")).ok_or(Error::State { what: "tracking" })?;
    let old_until = text("old_until").parse().map_err(|_| Error::State { what: "old_until" })?;
    let (token, back_token, source_uuid) = (text("token"), text("back_token"), text("source_uuid"));
    let (step, fence, source_end) = (text("step"), text("fence"), text("source_end"));
    let (target_end, target_gtids) = (text("target_end"), text("target_gtids"));
    let fallback = text("fallback").parse().map_err(|_| Error::State { what: "fallback" })?;
    let paused = text("paused") != "0";
    Ok(Some(Run {
        token,
        back_token,
        source_uuid,
        tracking,
        old_until,
        phase,
        step,
        fence,
        source_end,
        target_end,
        target_gtids,
        fallback,
        paused,
    }))
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
fn no_foreign_table(target: &mut Connection) -> Result<(), Error> {
    let own: Vec<&str> = tables().map(name_of).collect();
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
    (tracking, source_uuid): (Tracking, &str),
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
        Beginning { token, tracking, source_uuid, start, encrypted, target_log, phase, more },
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
    let Beginning { token, tracking, source_uuid, start, encrypted, target_log, phase, more } = beginning;
    let option = table_option(flavor(target), true);
    let encryption = if encrypted { format!(" {option}") } else { String::new() };
    let identity = identity_expression(target);
    let mut statements = vec!["CREATE DATABASE IF NOT EXISTS `_sealant` CHARACTER SET ascii".to_owned()];
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
        "INSERT INTO `_sealant`.`run` VALUES (1, '{token}', '{}', {FORMAT}, {}, '{}', {}, '{}', '', '', '', '', '', 0, NOW(), 0)",
        random_token(),
        quote::text(source_uuid),
        tracking.text(),
        quote::text(&start.old_until.to_string()),
        phase.text()
    ));
    statements.push("COMMIT".to_owned());
    statements.iter().try_for_each(|statement| target.query(statement).map(drop).map_err(failed))
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

/// The loaded chunks of all tables.
pub(crate) fn chunks(target: &mut Connection, tables: &[MovedTable]) -> Result<Vec<StoredChunk>, Error> {
    let sql = "SELECT tbl, number, after_key, upto_key, row_count, bytes, verified FROM `_sealant`.`chunk` ORDER BY tbl, number";
    let rows = target.query(sql).map_err(failed)?;
    (0..rows.rows.len()).map(|row| stored_chunk(&rows, row, tables)).collect()
}

/// Numbers and names of the tables.
pub(crate) fn table_names(target: &mut Connection) -> Result<Vec<(String, String)>, Error> {
    let rows = target.query("SELECT number, name FROM `_sealant`.`tbl` ORDER BY number").map_err(failed)?;
    let table = |row| Some((rows.value(row, "number")?.to_owned(), name(rows.value(row, "name")?)?));
    (0..rows.rows.len()).map(|row| table(row).ok_or(Error::State { what: "table" })).collect()
}

/// The stored chunks, with their keys as texts.
pub(crate) fn copied(target: &mut Connection) -> Result<Rows, Error> {
    let sql = "SELECT tbl, after_key, upto_key, row_count, bytes, verified FROM `_sealant`.`chunk`";
    target.query(sql).map_err(failed)
}

fn stored_chunk(rows: &Rows, row: usize, tables: &[MovedTable]) -> Result<StoredChunk, Error> {
    let damaged = || Error::State { what: "chunk" };
    let number = |name| rows.value(row, name).and_then(|text| text.parse::<u64>().ok()).ok_or_else(damaged);
    let table = usize::try_from(number("tbl")?).map_err(|_| damaged())?;
    let columns = &tables.get(table).ok_or_else(damaged)?.key;
    let key = |name| match rows.value(row, name) {
        None => Ok(None),
        Some(text) => key_from(text, columns).map(Some).ok_or_else(damaged),
    };
    let chunk =
        Chunk { number: number("number")?, after: key("after_key")?, upto: key("upto_key")?, state: State::Loaded };
    let copied = Copied { rows: number("row_count")?, bytes: number("bytes")? };
    Ok(StoredChunk { table, chunk, copied, verified: number("verified")? != 0 })
}

/// Begins the epoch of a process. Transactions of earlier processes, which the server may still be executing, are
/// committed before this returns, or fail.
pub(crate) fn begin_epoch(target: &mut Connection) -> Result<u64, Error> {
    // Waits for transactions that have read and locked the old epoch.
    // One that was loading a whole table may take long to be rolled back.
    collision::repeat(
        target,
        |target| target,
        |target| target.query("UPDATE `_sealant`.`epoch` SET epoch = epoch + 1 WHERE id = 1").map(drop).map_err(failed),
    )?;
    // Keeps an earlier process from marking a chunk as compared.
    target.query("UPDATE `_sealant`.`chunk` SET touches = touches + 1 WHERE verified = 0").map_err(failed)?;
    epoch(target, "")
}

/// Keeps a later process from beginning its epoch until the current transaction ends.
///
/// # Errors
/// [`Error::Locked`] if a later process has begun its epoch.
pub(crate) fn require_epoch(target: &mut Connection, expected: u64) -> Result<(), Error> {
    let found = epoch(target, " LOCK IN SHARE MODE")?;
    if found == expected { Ok(()) } else { Err(Error::Locked { side: Side::Target }) }
}

fn epoch(target: &mut Connection, lock: &str) -> Result<u64, Error> {
    let rows = target.query(&format!("SELECT epoch FROM `_sealant`.`epoch` WHERE id = 1{lock}")).map_err(failed)?;
    rows.scalar().and_then(|text| text.parse().ok()).ok_or(Error::State { what: "epoch" })
}

/// The statement that marks a chunk as loaded.
pub(crate) fn mark_loaded(table: usize, chunk: &Chunk<Key>, rows: u64, bytes: u64) -> String {
    let key = |key: &Option<Key>| key.as_ref().map_or_else(|| "NULL".to_owned(), |key| format!("'{}'", key_text(key)));
    let (after, upto, number) = (key(&chunk.after), key(&chunk.upto), chunk.number);
    format!("INSERT INTO `_sealant`.`chunk` VALUES ({table}, {number}, {after}, {upto}, {rows}, {bytes}, 0, 0)")
}

/// The statement that marks a chunk as changed since its last comparison.
pub(crate) fn mark_touched(table: usize, chunk: u64) -> String {
    format!(
        "UPDATE `_sealant`.`chunk` SET verified = 0, touches = touches + 1 WHERE tbl = {table} AND number = {chunk}"
    )
}

const UNVERIFY: &str = "UPDATE `_sealant`.`chunk` SET verified = 0, touches = touches + 1";

/// Marks every chunk as not compared.
pub(crate) fn unverify(target: &mut Connection) -> Result<(), Error> {
    target.query(UNVERIFY).map(drop).map_err(failed)
}

/// How often a chunk has changed since it was first stored.
pub(crate) fn touches(target: &mut Connection, table: usize, chunk: u64) -> Result<u64, Error> {
    let sql = format!("SELECT touches FROM `_sealant`.`chunk` WHERE tbl = {table} AND number = {chunk}");
    let rows = target.query(&sql).map_err(failed)?;
    rows.scalar().and_then(|text| text.parse().ok()).ok_or(Error::State { what: "chunk" })
}

/// Marks a chunk as compared, unless it was changed since `touches` was read.
pub(crate) fn mark_verified(target: &mut Connection, table: usize, chunk: u64, touches: u64) -> Result<(), Error> {
    let sql = format!(
        "UPDATE `_sealant`.`chunk` SET verified = 1 WHERE tbl = {table} AND number = {chunk} AND touches = {touches}"
    );
    target.query(&sql).map(drop).map_err(failed)
}

/// The stored position.
pub(crate) fn position(target: &mut Connection, tables: &[MovedTable]) -> Result<Position, Error> {
    let sql = "SELECT gtids, file, position, row_tbl, row_key FROM `_sealant`.`pos` WHERE id = 1";
    let rows = target.query(sql).map_err(failed)?;
    let damaged = || Error::State { what: "position" };
    let gtids = rows.value(0, "gtids").and_then(|text| text.parse().ok()).ok_or_else(damaged)?;
    let offset = rows.value(0, "position").and_then(|text| text.parse().ok()).ok_or_else(damaged)?;
    let file = rows.value(0, "file").unwrap_or_default().to_owned();
    let row = match (rows.value(0, "row_tbl"), rows.value(0, "row_key")) {
        (Some(table), Some(key)) => Some(changed_row(table, key, tables).ok_or_else(damaged)?),
        _ => None,
    };
    Ok(Position { gtids, log: LogPosition { file, offset }, row })
}

/// The statement that stores the snapshot from which a table was copied.
pub(crate) fn store_snapshot(table: usize, position: &Position) -> String {
    let (gtids, file) = (quote::text(&position.gtids.to_string()), quote::text(&position.log.file));
    format!("INSERT INTO `_sealant`.`snapshot` VALUES ({table}, {gtids}, {file}, {})", position.log.offset)
}

/// The snapshots from which tables were copied whole, by the numbers of the tables.
pub(crate) fn snapshots(target: &mut Connection) -> Result<HashMap<usize, Position>, Error> {
    let rows = target.query("SELECT tbl, gtids, file, position FROM `_sealant`.`snapshot`").map_err(failed)?;
    let snapshot = |row| {
        let log = LogPosition {
            file: rows.value(row, "file")?.to_owned(),
            offset: rows.value(row, "position")?.parse().ok()?,
        };
        let gtids = rows.value(row, "gtids")?.parse().ok()?;
        Some((rows.value(row, "tbl")?.parse().ok()?, Position { gtids, log, row: None }))
    };
    (0..rows.rows.len()).map(|row| snapshot(row).ok_or(Error::State { what: "snapshot" })).collect()
}

/// The statement that stores where the target's log is read first.
fn begin_target_log(start: &LogPosition, identity: &str) -> String {
    let file = quote::text(&start.file);
    format!("REPLACE INTO `_sealant`.`target_log` VALUES (1, {identity}, {file}, {}, 0)", start.offset)
}

/// The newest file of the target's log that was read, and how far; `None` if this migration does not read it. The time of
/// creation is 0 if it is not known yet.
pub(crate) fn target_log(target: &mut Connection) -> Result<Option<(LogFile, LogPosition)>, Error> {
    let sql = "SELECT server_uuid, file, position, created FROM `_sealant`.`target_log` WHERE id = 1";
    let rows = target.query(sql).map_err(failed)?;
    let (Some(uuid), Some(file)) = (rows.value(0, "server_uuid"), rows.value(0, "file")) else { return Ok(None) };
    let damaged = || Error::State { what: "target log" };
    let offset = rows.value(0, "position").and_then(|text| text.parse().ok()).ok_or_else(damaged)?;
    let created = rows.value(0, "created").and_then(|text| text.parse().ok()).ok_or_else(damaged)?;
    let known = LogFile { server_uuid: uuid.to_owned(), file: file.to_owned(), created };
    Ok(Some((known, LogPosition { file: file.to_owned(), offset })))
}

/// Stores how far the target's log was read, and when that file was created; 0 if that is not known yet.
pub(crate) fn store_target_log(target: &mut Connection, upto: &LogPosition, created: u32) -> Result<(), Error> {
    let (file, offset, identity) = (quote::text(&upto.file), upto.offset, identity_expression(target));
    // The server may have another identity after a restart from a copy.
    let sql = format!(
        "UPDATE `_sealant`.`target_log` SET server_uuid = {identity}, file = {file}, position = {offset}, \
         created = {created} WHERE id = 1"
    );
    target.query(&sql).map(drop).map_err(failed)
}

/// Stores that somebody else has changed moved tables. No chunk counts as compared any more: a transaction can change
/// more tables than the log names, through cascades and statements.
pub(crate) fn foreign_write(target: &mut Connection, end: &LogPosition, created: u32) -> Result<(), Error> {
    target.query("START TRANSACTION").map_err(failed)?;
    unverify(target)?;
    store_target_log(target, end, created)?;
    target.query("COMMIT").map(drop).map_err(failed)
}

/// Stores that the target's log is not read any more, because it cannot be. No chunk counts as compared any more.
pub(crate) fn give_up_target_log(target: &mut Connection) -> Result<(), Error> {
    target.query("START TRANSACTION").map_err(failed)?;
    unverify(target)?;
    target.query("DELETE FROM `_sealant`.`target_log`").map_err(failed)?;
    target.query("COMMIT").map(drop).map_err(failed)
}

/// The stored position, as messages show it.
pub(crate) fn position_text(target: &mut Connection, tracking: Tracking) -> Result<String, Error> {
    let rows = target.query("SELECT gtids, file, position FROM `_sealant`.`pos` WHERE id = 1").map_err(failed)?;
    let text = |name| rows.value(0, name).unwrap_or_default();
    Ok(match tracking {
        Tracking::Gtids => text("gtids").to_owned(),
        Tracking::Positions | Tracking::Snapshots => format!("{}:{}", text("file"), text("position")),
    })
}

fn changed_row(table: &str, key: &str, tables: &[MovedTable]) -> Option<ChangedRow> {
    let table: usize = table.parse().ok()?;
    let key = key_from(key, &tables.get(table)?.key)?;
    Some(ChangedRow { table, key })
}

/// The newest file of the source's log that was read; `None` if no run has read any.
pub(crate) fn log_file(target: &mut Connection) -> Result<Option<LogFile>, Error> {
    let sql = "SELECT server_uuid, file, created FROM `_sealant`.`log_file` WHERE id = 1";
    let rows = target.query(sql).map_err(failed)?;
    let (Some(server_uuid), Some(file)) = (rows.value(0, "server_uuid"), rows.value(0, "file")) else {
        return Ok(None);
    };
    let created = rows.value(0, "created").and_then(|text| text.parse().ok());
    let created = created.ok_or(Error::State { what: "log file" })?;
    Ok(Some(LogFile { server_uuid: server_uuid.to_owned(), file: file.to_owned(), created }))
}

/// The statement that stores the newest file of the source's log that was read.
pub(crate) fn store_log_file(file: &LogFile) -> String {
    let (server_uuid, name) = (quote::text(&file.server_uuid), quote::text(&file.file));
    format!("REPLACE INTO `_sealant`.`log_file` VALUES (1, {server_uuid}, {name}, {})", file.created)
}

/// The statement that stores a position.
pub(crate) fn store_position(position: &Position) -> String {
    // The counter makes each batch change the row, so that the target's log shows that the batch is one of a migration.
    format!(
        "REPLACE INTO `_sealant`.`pos` SELECT 1, {}, batches + 1 FROM `_sealant`.`pos` WHERE id = 1",
        position_values(position)
    )
}

fn position_values(position: &Position) -> String {
    let (gtids, file) = (quote::text(&position.gtids.to_string()), quote::text(&position.log.file));
    let row = position.row.as_ref().map(|row| format!("{}, '{}'", row.table, key_text(&row.key)));
    format!("{gtids}, {file}, {}, {}", position.log.offset, row.as_deref().unwrap_or("NULL, NULL"))
}

/// Stores how far the migration is.
pub(crate) fn set_phase(target: &mut Connection, phase: Phase) -> Result<(), Error> {
    set(target, &format!("phase = '{}'", phase.text()))
}

/// Stores a step of the cut-over, and further columns of `run` with it.
pub(crate) fn set_step(target: &mut Connection, step: &str, more: &[(&str, &str)]) -> Result<(), Error> {
    let more: String = more.iter().map(|(name, value)| format!(", {name} = {}", quote::text(value))).collect();
    set(target, &format!("step = {}{more}", quote::text(step)))
}

/// Stores that the source is about to be fenced, and its settings before that.
pub(crate) fn set_fencing(target: &mut Connection, fence: &str) -> Result<(), Error> {
    set_step(target, "fencing", &[("fence", fence), ("phase", Phase::CutOver.text())])
}

/// Stores that the source is writable again.
pub(crate) fn set_lifted(target: &mut Connection) -> Result<(), Error> {
    set(target, &format!("step = '', fence = '', phase = '{}'", Phase::Copied.text()))
}

/// Stores in one statement that the target is ready for writes.
///
/// # Errors
/// [`Error::State`] if the state was removed. After an error of the server or of the state, nothing is stored.
pub(crate) fn set_switched(target: &mut Connection, end: &SwitchEnd) -> Result<(), Error> {
    let (phase, fallback) = (Phase::Switched.text(), end.fallback);
    let [target_end, gtids] = [&end.target_end, &end.target_gtids].map(|text| quote::text(text));
    let sql = update(&format!(
        "step = 'switched', target_end = {target_end}, target_gtids = {gtids}, fallback = {fallback}, \
         phase = '{phase}'"
    ));
    // One statement: an error of the server after it would not tell that the switch is stored. It changes the row, if
    // there is one, because the step is another.
    let stored = target.execute(sql.as_bytes()).map_err(failed)?;
    if stored.affected_rows == 0 { Err(Error::State { what: "run" }) } else { Ok(()) }
}

/// Stores whether the migration is paused; it never is after the cut-over.
pub(crate) fn set_paused(target: &mut Connection, paused: bool) -> Result<(), Error> {
    let switched = Phase::Switched.text();
    set(target, &format!("paused = {} AND phase <> '{switched}'", u8::from(paused)))
}

/// Stores the time, to show that the run is alive.
///
/// # Errors
/// [`Error::Paused`] if another process has asked this one to end; [`Error::State`] if the state was removed.
pub(crate) fn heartbeat(target: &mut Connection) -> Result<(), Error> {
    set(target, "heartbeat = NOW()")?;
    let rows = target.query("SELECT paused FROM `_sealant`.`run` WHERE id = 1").map_err(failed)?;
    match rows.scalar() {
        Some("0") => Ok(()),
        Some(_) => Err(Error::Paused),
        None => Err(Error::State { what: "run" }),
    }
}

fn set(target: &mut Connection, assignments: &str) -> Result<(), Error> {
    target.query(&update(assignments)).map(drop).map_err(failed)
}

fn update(assignments: &str) -> String {
    format!("UPDATE `_sealant`.`run` SET {assignments} WHERE id = 1")
}

/// Stores that there is no fallback any more.
pub(crate) fn end_fallback(target: &mut Connection) -> Result<(), Error> {
    set(target, "fallback = 0")
}

/// Rows of an `INSERT` statement that copies a part of the state.
const COPIED_ROWS: usize = 1000;

/// The statements that insert the chunks of this migration, and their last comparisons, into the state of another one of
/// the same tables, whose source has them at `position` of its log. Without `compared`, no chunk counts as compared there.
pub(crate) fn copies_of_chunks(target: &mut Connection, position: &str, compared: bool) -> Result<Vec<String>, Error> {
    let mut statements = Vec::new();
    let position = quote::text(position);
    for (table, columns) in [
        ("chunk", "tbl, number, after_key, upto_key, row_count, bytes, verified, touches"),
        ("compared", "tbl, number, row_count, checksum, source_end, at, touches"),
    ] {
        let values = columns.replace("source_end", &position);
        let rows = target.query(&format!("SELECT {values} FROM `_sealant`.`{table}`")).map_err(failed)?;
        let value = |value: &Option<String>| value.as_ref().map_or_else(|| "NULL".to_owned(), |text| quote::text(text));
        for rows in rows.rows.chunks(COPIED_ROWS) {
            let rows = rows.iter().map(|row| format!("({})", row.iter().map(value).collect::<Vec<_>>().join(", ")));
            let rows = rows.collect::<Vec<_>>().join(", ");
            statements.push(format!("INSERT INTO `_sealant`.`{table}` ({columns}) VALUES {rows}"));
        }
    }
    if !compared {
        statements.push(UNVERIFY.to_owned());
    }
    Ok(statements)
}

/// The accounts that the migration has created.
pub(crate) fn accounts(target: &mut Connection) -> Result<Vec<CreatedAccount>, Error> {
    let rows = target.query("SELECT name, is_role, opens FROM `_sealant`.`account` ORDER BY name").map_err(failed)?;
    let account = |row| {
        let (user, host) = rows.value(row, "name")?.split_once(',')?;
        let name = Account { user: name(user)?, host: name(host)? };
        let is = |column| rows.value(row, column) == Some("1");
        Some(CreatedAccount { name, is_role: is("is_role"), opens: is("opens") })
    };
    (0..rows.rows.len()).map(|row| account(row).ok_or(Error::State { what: "account" })).collect()
}

/// Stores an account before it is created, or that it was unlocked.
pub(crate) fn add_account(target: &mut Connection, created: &CreatedAccount) -> Result<(), Error> {
    let (name, is_role, opens) = (account_name(&created.name), u8::from(created.is_role), u8::from(created.opens));
    let sql = format!("REPLACE INTO `_sealant`.`account` VALUES ('{name}', {is_role}, {opens})");
    target.query(&sql).map(drop).map_err(failed)
}

pub(crate) fn remove_account(target: &mut Connection, name: &Account) -> Result<(), Error> {
    let sql = format!("DELETE FROM `_sealant`.`account` WHERE name = '{}'", account_name(name));
    target.query(&sql).map(drop).map_err(failed)
}

fn account_name(name: &Account) -> String {
    format!("{},{}", hex(name.user.as_bytes()), hex(name.host.as_bytes()))
}

/// Removes the state.
pub(crate) fn remove(target: &mut Connection) -> Result<(), Error> {
    target.query("DROP DATABASE IF EXISTS `_sealant`").map(drop).map_err(failed)
}

/// A table's name from its hexadecimal text.
fn name(text: &str) -> Option<String> {
    HEXLOWER.decode(text.as_bytes()).ok().and_then(|name| String::from_utf8(name).ok())
}

fn hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(bytes)
}

/// A key as hexadecimal texts with commas between them.
fn key_text(key: &Key) -> String {
    key.texts().map(hex).collect::<Vec<_>>().join(",")
}

fn key_from(text: &str, columns: &KeyColumns) -> Option<Key> {
    let parts: Result<Vec<_>, _> = text.split(',').map(|part| HEXLOWER.decode(part.as_bytes())).collect();
    columns.parse(parts.ok()?.iter().map(Vec::as_slice))
}
