//! A temporary schema while leftovers are rewritten: an encrypted table whose pages overwrite clear-text ones, and the
//! variables to restore, which survive a crash of this program.

use std::time::Duration;

use server::dialect::encryption::table_option;

use crate::{Error, Session};

/// Time limit for the server to write its pages, or to resize its log.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);
/// Polling interval of these operations.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Capacity of the redo log, in bytes.
pub(crate) const REDO_CAPACITY: &str = "innodb_redo_log_capacity";
/// Maximum share of dirty pages in the buffer pool, in percent.
pub(crate) const DIRTY_PAGES: &str = "innodb_max_dirty_pages_pct";

pub(crate) const SCHEMA: &str = "sealant_scratch";

/// The statement that creates the schema.
pub(crate) fn create_schema() -> String {
    format!("CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
}

/// Length of a row: half a page, so that each row fills one page.
const ROW_BYTES: u32 = 8000;
/// Number of rows: several times the number of slots in MySQL's doublewrite files. They write 32 MiB of redo, several
/// times the smallest log.
const ROWS: u32 = 4096;
/// Number of parts that are flushed page by page. Each part has as many pages as there are slots for single pages.
const PARTS: u32 = ROWS / 512;

/// The schema; executed statements are appended to `executed`.
pub(crate) struct ScratchSchema<'s, 'l> {
    session: &'s mut Session<'l>,
    executed: &'s mut Vec<String>,
}

impl<'s, 'l> ScratchSchema<'s, 'l> {
    /// Creates the schema.
    pub(crate) fn make(session: &'s mut Session<'l>, executed: &'s mut Vec<String>) -> Result<Self, Error> {
        let mut schema = Self { session, executed };
        let encrypted = table_option(schema.session.identity().flavor(), true);
        schema.change(&create_schema())?;
        schema.change(&format!(
            "CREATE TABLE IF NOT EXISTS {SCHEMA}.set_back (variable VARCHAR(64) PRIMARY KEY, value VARCHAR(64)) \
             ENGINE = InnoDB {encrypted}"
        ))?;
        schema.change(&format!(
            "CREATE TABLE IF NOT EXISTS {SCHEMA}.pages (n BIGINT AUTO_INCREMENT PRIMARY KEY, \
             x VARCHAR({ROW_BYTES}) CHARACTER SET latin1) ENGINE = InnoDB {encrypted}"
        ))?;
        Ok(schema)
    }

    /// Sets a variable temporarily. The old value is stored first, so that the next run restores it if this one is
    /// killed.
    pub(crate) fn set(&mut self, variable: &str, value: &str, before: &str) -> Result<(), Error> {
        // An existing row is from a killed run, and has the original value.
        self.change(&format!("INSERT IGNORE INTO {SCHEMA}.set_back VALUES ('{variable}', '{before}')"))?;
        self.change(&format!("SET GLOBAL {variable} = {value}"))
    }

    /// Writes new pages.
    pub(crate) fn fill(&mut self) -> Result<(), Error> {
        self.change(&format!("TRUNCATE TABLE {SCHEMA}.pages"))?;
        self.change(&format!(
            "INSERT INTO {SCHEMA}.pages SELECT NULL, REPEAT('x', {ROW_BYTES}) \
             FROM information_schema.COLLATIONS a JOIN information_schema.COLLATIONS b LIMIT {ROWS}"
        ))
    }

    /// Updates every page, one part per transaction, which fills as many undo logs.
    pub(crate) fn change_in(&mut self, transactions: u32) -> Result<(), Error> {
        for share in 0..transactions {
            self.change(&format!(
                "UPDATE {SCHEMA}.pages SET x = REPEAT('y', {ROW_BYTES}) WHERE n % {transactions} = {share}"
            ))?;
        }
        Ok(())
    }

    /// Updates the pages part by part, and flushes each part page by page. The parts are small, so that the server's
    /// batch flushing does not come first (seen under load: a third of the slots for single pages was not overwritten).
    pub(crate) fn export(&mut self) -> Result<(), Error> {
        for part in 0..PARTS {
            self.change(&format!("UPDATE {SCHEMA}.pages SET x = REPEAT('z', {ROW_BYTES}) WHERE n % {PARTS} = {part}"))?;
            self.change(&format!("FLUSH TABLES {SCHEMA}.pages FOR EXPORT"))?;
            self.change("UNLOCK TABLES")?;
        }
        Ok(())
    }

    /// The session, for queries.
    pub(crate) fn session(&mut self) -> &mut Session<'l> {
        self.session
    }

    /// Restores the variables, and drops the schema.
    pub(crate) fn remove(self) -> Result<(), Error> {
        restore(self.session, self.executed)
    }

    fn change(&mut self, sql: &str) -> Result<(), Error> {
        self.executed.push(sql.to_owned());
        self.session.change(sql)
    }
}

/// Whether a killed run has left the schema.
pub(crate) fn exists(session: &mut Session<'_>) -> Result<bool, Error> {
    let sql = format!("SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{SCHEMA}'");
    Ok(session.value(&sql)?.is_some())
}

/// Restores the stored variables, then drops the schema.
pub(crate) fn restore(session: &mut Session<'_>, executed: &mut Vec<String>) -> Result<(), Error> {
    let mut change = |session: &mut Session<'_>, sql: String| {
        executed.push(sql.clone());
        session.change(&sql)
    };
    // The run may have been killed before it created the tables.
    if let Ok(notes) = session.query(&format!("SELECT variable, value FROM {SCHEMA}.set_back")) {
        for row in 0..notes.rows.len() {
            let (variable, value) = (notes.value(row, "variable"), notes.value(row, "value"));
            // Accounts that may write to the schema must not be able to set other variables.
            let number = value.filter(|value| value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
            if let (Some(variable @ (REDO_CAPACITY | DIRTY_PAGES)), Some(value)) = (variable, number) {
                change(session, format!("SET GLOBAL {variable} = {value}"))?;
            }
        }
    }
    for table in ["set_back", "pages", "online"] {
        change(session, format!("DROP TABLE IF EXISTS {SCHEMA}.{table}"))?;
    }
    drop_schema(session, executed)
}

/// Drops the schema, unless it contains tables of others.
pub(crate) fn drop_schema(session: &mut Session<'_>, executed: &mut Vec<String>) -> Result<(), Error> {
    let others = format!("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{SCHEMA}'");
    if session.value(&others)?.is_some_and(|count| count != "0") {
        return Ok(());
    }
    let sql = format!("DROP SCHEMA IF EXISTS {SCHEMA}");
    executed.push(sql.clone());
    session.change(&sql)
}
