//! A schema of our own for as long as leftovers are renewed: an encrypted table whose pages take the
//! place of clear ones, and a note of what has to be set back, which outlives this program.

use server::Flavor;

use super::redo::CAPACITY;

/// How much of the buffer pool may wait to be written, in percent.
pub(super) const DIRTY_PAGES: &str = "innodb_max_dirty_pages_pct";
use crate::{Error, Session};

pub(crate) const SCHEMA: &str = "sealant_scratch";
/// Rows of half a page: each takes one page to itself.
const ROW_BYTES: u32 = 8000;
/// Several times as many as there are slots in MySQL's doublewrite files, for single pages or in a
/// batch, and 32 MiB of redo: several times the smallest log.
const ROWS: u32 = 4096;
/// In which pages are flushed one by one: each has as many as there are slots for single pages.
const PARTS: u32 = ROWS / 512;

/// What ran is added to the list.
pub(super) struct Scratch<'s, 'l> {
    session: &'s mut Session<'l>,
    ran: &'s mut Vec<String>,
}

impl<'s, 'l> Scratch<'s, 'l> {
    /// Makes the schema.
    pub(super) fn make(session: &'s mut Session<'l>, ran: &'s mut Vec<String>) -> Result<Self, Error> {
        let mut scratch = Self { session, ran };
        let mariadb = scratch.session.identity().flavor() == Flavor::MariaDb;
        let encrypted = if mariadb { "ENCRYPTED = YES" } else { "ENCRYPTION = 'Y'" };
        scratch.change(&format!("CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))?;
        scratch.change(&format!(
            "CREATE TABLE IF NOT EXISTS {SCHEMA}.set_back (variable VARCHAR(64) PRIMARY KEY, value VARCHAR(64)) \
             ENGINE = InnoDB {encrypted}"
        ))?;
        scratch.change(&format!(
            "CREATE TABLE IF NOT EXISTS {SCHEMA}.pages (n BIGINT AUTO_INCREMENT PRIMARY KEY, \
             x VARCHAR({ROW_BYTES}) CHARACTER SET latin1) ENGINE = InnoDB {encrypted}"
        ))?;
        Ok(scratch)
    }

    /// Sets a variable for a while. The value of before is noted first, so that a run that is killed
    /// here is put right by the next.
    pub(super) fn set(&mut self, variable: &str, value: &str, before: &str) -> Result<(), Error> {
        // A note that is there already is of a run that was killed, and older.
        self.change(&format!("INSERT IGNORE INTO {SCHEMA}.set_back VALUES ('{variable}', '{before}')"))?;
        self.change(&format!("SET GLOBAL {variable} = {value}"))
    }

    /// Writes new pages.
    pub(super) fn fill(&mut self) -> Result<(), Error> {
        self.change(&format!("TRUNCATE TABLE {SCHEMA}.pages"))?;
        self.change(&format!(
            "INSERT INTO {SCHEMA}.pages SELECT NULL, REPEAT('x', {ROW_BYTES}) \
             FROM information_schema.COLLATIONS a JOIN information_schema.COLLATIONS b LIMIT {ROWS}"
        ))
    }

    /// Changes every page, a share of them in each transaction, and so fills as many undo logs.
    pub(super) fn change_in(&mut self, transactions: u32) -> Result<(), Error> {
        for share in 0..transactions {
            self.change(&format!(
                "UPDATE {SCHEMA}.pages SET x = REPEAT('y', {ROW_BYTES}) WHERE n % {transactions} = {share}"
            ))?;
        }
        Ok(())
    }

    /// Changes the pages part by part, and flushes each part one page at a time. Parts are small, so that
    /// the server, which flushes many pages at a time, does not come first (seen under load: a third of
    /// the slots for single pages was left).
    pub(super) fn export(&mut self) -> Result<(), Error> {
        for part in 0..PARTS {
            self.change(&format!("UPDATE {SCHEMA}.pages SET x = REPEAT('z', {ROW_BYTES}) WHERE n % {PARTS} = {part}"))?;
            self.change(&format!("FLUSH TABLES {SCHEMA}.pages FOR EXPORT"))?;
            self.change("UNLOCK TABLES")?;
        }
        Ok(())
    }

    /// The session, to ask it something.
    pub(super) fn session(&mut self) -> &mut Session<'l> {
        self.session
    }

    /// Sets back what was set, and removes the schema.
    pub(super) fn remove(self) -> Result<(), Error> {
        set_back(self.session, self.ran)
    }

    fn change(&mut self, sql: &str) -> Result<(), Error> {
        self.ran.push(sql.to_owned());
        self.session.change(sql)
    }
}

/// Whether a run that was killed has left the schema.
pub(super) fn is_left(session: &mut Session<'_>) -> Result<bool, Error> {
    let sql = format!("SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{SCHEMA}'");
    Ok(session.value(&sql)?.is_some())
}

/// Sets back what is noted, and removes the schema with the notes after that.
pub(super) fn set_back(session: &mut Session<'_>, ran: &mut Vec<String>) -> Result<(), Error> {
    let mut change = |session: &mut Session<'_>, sql: String| {
        ran.push(sql.clone());
        session.change(&sql)
    };
    // The schema may have been left before its tables were made.
    if let Ok(notes) = session.ask(&format!("SELECT variable, value FROM {SCHEMA}.set_back")) {
        for row in 0..notes.rows.len() {
            let (variable, value) = (notes.value(row, "variable"), notes.value(row, "value"));
            // Whoever may write to the schema is not to set whatever they like.
            let number = value.filter(|value| value.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
            if let (Some(variable @ (CAPACITY | DIRTY_PAGES)), Some(value)) = (variable, number) {
                change(session, format!("SET GLOBAL {variable} = {value}"))?;
            }
        }
    }
    for table in ["set_back", "pages", "online"] {
        change(session, format!("DROP TABLE IF EXISTS {SCHEMA}.{table}"))?;
    }
    drop_schema(session, ran)
}

/// Removes the schema. Tables in it that are not ours stay, and the schema with them.
pub(crate) fn drop_schema(session: &mut Session<'_>, ran: &mut Vec<String>) -> Result<(), Error> {
    let others = format!("SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = '{SCHEMA}'");
    if session.value(&others)?.is_some_and(|count| count != "0") {
        return Ok(());
    }
    let sql = format!("DROP SCHEMA IF EXISTS {SCHEMA}");
    ran.push(sql.clone());
    session.change(&sql)
}
