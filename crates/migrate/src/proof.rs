//! The proof of a migration: what was compared, when, and at which position, and how each table is encrypted.

use std::collections::{BTreeSet, HashMap};

use serde::Serialize;
use server::{Connection, Rows};

use crate::{
    Error, Phase, Server, Side, Status, TableStatus,
    catalog::{self, Filter},
    journal::{OPENED, STORAGE},
    link, state,
    status::of_connection,
};

/// What the target has recorded of a migration, and how its tables are encrypted now.
#[derive(Clone, Debug)]
pub struct Proof {
    /// When the proof was read, in UTC.
    pub at: String,
    /// The target: address, version, UUID.
    pub target: [String; 3],
    /// UUID of the source.
    pub source_uuid: String,
    /// End of the source's log when it was fenced; empty before that.
    pub source_end: String,
    /// End of the target's log when the cut-over was done; empty before that.
    pub target_end: String,
    /// How far the migration is.
    pub status: Status,
    /// The tables, in the order of [`Status::tables`].
    pub tables: Vec<TableProof>,
    /// Events of the migration, oldest first.
    pub journal: Vec<JournalEntry>,
}

/// What is proved for a table.
#[derive(Clone, Debug, Serialize)]
pub struct TableProof {
    /// `schema.table`.
    pub table: String,
    /// Whether it was encrypted at the source when the migration began; `None` if unknown.
    pub source_encrypted: Option<bool>,
    /// Whether it is encrypted at the target now; `None` if the target lacks it.
    pub target_encrypted: Option<bool>,
    /// Whether it rests on storage that a service encrypts, as was attested.
    pub storage_encrypted: bool,
    /// The last comparison of each of its chunks.
    #[serde(skip)]
    pub chunks: Vec<ChunkProof>,
}

impl TableProof {
    /// Whether it is less encrypted than before, or either state is unknown.
    #[must_use]
    pub const fn is_weaker(&self) -> bool {
        let target = match self.target_encrypted {
            Some(encrypted) => Some(encrypted || self.storage_encrypted),
            None => None,
        };
        !matches!((self.source_encrypted, target), (Some(false), Some(_)) | (Some(true), Some(true)))
    }
}

/// The last comparison of a chunk: both servers had this many rows with this sum of hashes.
#[derive(Clone, Debug, Serialize)]
pub struct ChunkProof {
    /// `schema.table`.
    pub table: String,
    /// Number of the chunk.
    pub chunk: u64,
    /// Number of rows.
    pub rows: u64,
    /// Sum of the hashes of the rows: 60 bits of SHA-256 each.
    pub checksum: String,
    /// End of the source's log when the rows were read.
    pub position: String,
    /// When the rows were read, in UTC.
    pub at: String,
    /// Number of rows that have changed since then, and were compared alone; one that has changed again counts again.
    pub changed_rows: u64,
    /// End of the source's log when the last of these were read; empty if there are none.
    pub changed_position: String,
    /// When these were read, in UTC; empty if there are none.
    pub changed_at: String,
    /// Whether no row has changed since it was compared.
    pub current: bool,
}

impl ChunkProof {
    /// When rows of it were compared last, and the end of the source's log at that time.
    #[must_use]
    pub fn last(&self) -> (&str, &str) {
        if self.changed_rows > 0 { (&self.changed_at, &self.changed_position) } else { (&self.at, &self.position) }
    }
}

/// An event of the migration.
#[derive(Clone, Debug, Serialize)]
pub struct JournalEntry {
    /// When it happened, in UTC.
    pub at: String,
    /// Name of the event, such as `copied`.
    pub what: String,
    /// Details of the event.
    pub detail: String,
}

/// What a proof shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProofVerdict {
    /// Every row was compared after its last change and is equal, and no table is less encrypted.
    Proven,
    /// Some rows were not copied, were not compared after their last change, or differ.
    NotCompared,
    /// A table is less encrypted than it was at the source, or that is unknown.
    LessEncrypted,
}

impl Proof {
    /// Decides what the proof shows.
    #[must_use]
    pub fn verdict(&self) -> ProofVerdict {
        let whole = |table: &TableStatus| table.complete && table.verified == table.chunks;
        if self.tables.iter().any(TableProof::is_weaker) {
            return ProofVerdict::LessEncrypted;
        }
        if self.status.tables.iter().all(whole) { ProofVerdict::Proven } else { ProofVerdict::NotCompared }
    }
}

/// Reads the proof from the target. The source is not contacted.
///
/// # Errors
/// [`Error::NotBegun`] and others.
pub fn proof(server: &Server) -> Result<Proof, Error> {
    read(&mut link::target(server)?, server)
}

/// Reads the proof over a connection to the target.
pub(crate) fn read(target: &mut Connection, server: &Server) -> Result<Proof, Error> {
    let run = state::run(target)?.ok_or(Error::NotBegun)?;
    let status = of_connection(target, &run)?;
    let sql = format!(
        "SELECT NOW() AS at, @@GLOBAL.version AS version, {} AS uuid, \
         (SELECT target_end FROM `_sealant`.`run` WHERE id = 1) AS target_end",
        link::identity_expression(target)
    );
    let rows = ask(target, &sql)?;
    let text = |name| rows.value(0, name).unwrap_or_default().to_owned();
    let journal = entries(target)?;
    let tables = tables(target, server, rests_on_storage(&journal))?;
    let source_end = if run.phase == Phase::Switched { run.source_end } else { String::new() };
    Ok(Proof {
        at: text("at"),
        target: [server.target.endpoint.to_string(), text("version"), text("uuid")],
        source_uuid: run.source_uuid,
        source_end,
        target_end: text("target_end"),
        status,
        tables,
        journal,
    })
}

/// Whether the tables rest on attested storage: what the last process has found, which is that of the cut-over once it is done.
/// What was attested to an earlier one says nothing about the tables that the target has now.
fn rests_on_storage(journal: &[JournalEntry]) -> bool {
    let last = journal.rsplit(|entry| entry.what == OPENED).next();
    last.is_some_and(|entries| entries.iter().any(|entry| entry.what == STORAGE))
}

fn ask(target: &mut Connection, sql: &str) -> Result<Rows, Error> {
    target.query(sql).map_err(Error::at(Side::Target))
}

fn tables(target: &mut Connection, server: &Server, storage_encrypted: bool) -> Result<Vec<TableProof>, Error> {
    let names = state::table_names(target)?;
    let now = encrypted_now(server, &names)?;
    let rest = ask(target, "SELECT tbl, encrypted FROM `_sealant`.`rest`")?;
    let each =
        (0..rest.rows.len()).filter_map(|row| Some((rest.value(row, "tbl")?, rest.value(row, "encrypted")? != "0")));
    let before: HashMap<_, _> = each.collect();
    let mut chunks = chunks(target, &names)?;
    let table = |(number, name): (String, String)| TableProof {
        source_encrypted: before.get(number.as_str()).copied(),
        target_encrypted: now.get(&name).copied(),
        storage_encrypted,
        chunks: chunks.remove(&number).unwrap_or_default(),
        table: name,
    };
    Ok(names.into_iter().map(table).collect())
}

/// Encryption of the tables according to the target's dictionary.
fn encrypted_now(server: &Server, names: &[(String, String)]) -> Result<HashMap<String, bool>, Error> {
    let schemas: BTreeSet<_> =
        names.iter().filter_map(|(_, name)| name.split_once('.')).map(|(schema, _)| schema).collect();
    let filter = Filter { schemas: schemas.into_iter().map(str::to_owned).collect(), ..Filter::default() };
    let catalog =
        catalog::read(&mut link::definitions(Side::Target, server)?, &filter).map_err(Error::at(Side::Target))?;
    Ok(catalog.tables.iter().map(|table| (table.label(), table.encrypted)).collect())
}

/// The comparisons, by the numbers of the tables.
fn chunks(target: &mut Connection, names: &[(String, String)]) -> Result<HashMap<String, Vec<ChunkProof>>, Error> {
    let sql = "SELECT d.tbl AS tbl, d.number AS number, d.row_count AS row_count, checksum, source_end, at, \
                 changed_rows, changed_end, changed_at, verified <> 0 AND c.touches = d.touches AS verified \
               FROM `_sealant`.`compared` d JOIN `_sealant`.`chunk` c ON c.tbl = d.tbl AND c.number = d.number \
               ORDER BY d.tbl, d.number";
    let rows = ask(target, sql)?;
    let names: HashMap<_, _> = names.iter().map(|(number, name)| (number.as_str(), name)).collect();
    let mut chunks: HashMap<String, Vec<ChunkProof>> = HashMap::new();
    for row in 0..rows.rows.len() {
        let text = |name| rows.value(row, name).unwrap_or_default().to_owned();
        let number = |name| rows.value(row, name).and_then(|text| text.parse().ok()).unwrap_or(0_u64);
        let table = text("tbl");
        let chunk = ChunkProof {
            table: names.get(table.as_str()).map_or_else(String::new, |name| (*name).clone()),
            chunk: number("number"),
            rows: number("row_count"),
            checksum: text("checksum"),
            position: text("source_end"),
            at: text("at"),
            changed_rows: number("changed_rows"),
            changed_position: text("changed_end"),
            changed_at: text("changed_at"),
            current: number("verified") != 0,
        };
        chunks.entry(table).or_default().push(chunk);
    }
    Ok(chunks)
}

fn entries(target: &mut Connection) -> Result<Vec<JournalEntry>, Error> {
    let rows = ask(target, "SELECT at, event, detail FROM `_sealant`.`journal` ORDER BY id")?;
    let entry = |row| {
        let text = |name| rows.value(row, name).unwrap_or_default().to_owned();
        JournalEntry { at: text("at"), what: text("event"), detail: text("detail") }
    };
    Ok((0..rows.rows.len()).map(entry).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn storage_was_attested_to_the_last_process() {
        let rests = |events: &[&str]| {
            let entry =
                |what: &&str| JournalEntry { at: String::new(), what: (*what).to_owned(), detail: String::new() };
            rests_on_storage(&events.iter().map(entry).collect::<Vec<_>>())
        };
        assert!(rests(&[OPENED, "copied", OPENED, STORAGE, "fenced", "switched"]));
        assert!(!rests(&[OPENED, STORAGE, "copied", OPENED, "fenced", "switched"]));
        assert!(!rests(&[]));
    }
}
