//! Tables that are rebuilt to get new keys.
//!
//! Only the server's own `ALTER TABLE` with a copy writes no clear text to disk. On MySQL `ENCRYPTION = 'N'` and back
//! would write the table in clear text, and an in-place rebuild sorts secondary indexes in temporary files that are not
//! encrypted (seen on 9.7: 125,332 rows of a table in two unlinked files of `tmpdir`). On MariaDB such files are
//! encrypted only with `innodb_encrypt_log`. General tablespaces, `mysql` and the system tablespace have no such
//! statement.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use innodb::{keys::MARIADB_SYSTEM_KEY, server_file::full_text_table_id};
use serde::Serialize;
use server::dialect::variable;
use server::{Flavor, Rows, quote, switch::is_on};

use super::Error;
use crate::{Session, encrypt::clear};

/// Why `mysql.ibd` and general tablespaces keep their key.
const SHARED: &str = "MySQL gives a shared tablespace a new key only by writing it in clear text first";
const SHARED_REMEDY: &str = "move its tables into a new encrypted tablespace, or into file-per-table tablespaces";
const DICTIONARY_REMEDY: &str = "dump the server and restore it into a new data directory";
/// Why the redo log keeps its own key. Seen on 9.7.4: neither switching its encryption off and on nor replacing all
/// files changed the key; a start without encryption did.
const REDO: &str = "the redo log's own key, which the new master key now wraps, stays as long as the log is encrypted";
const REDO_REMEDY: &str = "restart with innodb_redo_log_encrypt=OFF, which writes changes in clear text, then set it \
    ON and let `sealant encrypt run --policy logs` overwrite them";
const SYSTEM_REMEDY: &str =
    "MariaDB always uses key 1 there: make a new data directory with other keys, and restore a dump into it";
const FULL_TEXT_REMEDY: &str = "drop the full-text index; new auxiliary tables always take key 1";

/// Why a tablespace or file still needs older versions of a rotated key.
const OLDER_VERSION: &str = "keeps the version with which it was written";
const ROTATE_AGE_REMEDY: &str = "the server's own threads write it anew if innodb_encryption_threads is not 0 and \
    innodb_encryption_rotate_key_age is 1";
const KEEP_REMEDY: &str = "keep the older versions in the Vault until these files are gone or written anew";

/// A table to rebuild.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TableRebuild {
    pub(super) schema: String,
    pub(super) table: String,
    /// Bytes of all its tablespaces.
    pub(super) bytes: u64,
    /// Their files.
    pub(super) files: Vec<PathBuf>,
}

/// A tablespace or a kind of file that keeps its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnrotatedKey {
    /// A tablespace, or a kind of file.
    pub artefact: String,
    /// The reason.
    pub reason: String,
    /// The remedy.
    pub remedy: String,
}

/// Tables to rebuild.
#[derive(Clone, Debug, Default)]
pub(super) struct Work {
    /// Smallest first.
    pub(super) tables: Vec<TableRebuild>,
    /// Files of these tables, and of those that already use the new key.
    pub(super) files: BTreeSet<PathBuf>,
    pub(super) leftovers: Vec<UnrotatedKey>,
}

impl TableRebuild {
    pub(super) fn name(&self) -> String {
        format!("{}.{}", self.schema, self.table)
    }

    /// The statement that gives the table a new key, or the MariaDB key `key_id`.
    pub(super) fn statement(&self, key_id: Option<u32>) -> String {
        let name = quote::table(&self.schema, &self.table);
        match key_id {
            Some(id) => format!("ALTER TABLE {name} ENCRYPTION_KEY_ID = {id}, ALGORITHM = COPY, LOCK = SHARED"),
            None => format!("ALTER TABLE {name} FORCE, ALGORITHM = COPY, LOCK = SHARED"),
        }
    }
}

/// Size and files of each table.
type Sizes = BTreeMap<(String, String), (u64, Vec<PathBuf>)>;

impl Work {
    /// Encrypted MySQL tables with tablespaces of their own.
    pub(super) fn for_mysql(session: &mut Session<'_>, datadir: &Path) -> Result<Self, Error> {
        let known = clear::tables(session)?;
        let spaces = session.query(session.dictionary().encrypted)?;
        let home = session.identity().datadir.clone();
        let (mut sizes, mut work) = (Sizes::new(), Self::default());
        for row in 0..spaces.rows.len() {
            let Some(name) = spaces.value(row, "name") else { continue };
            if spaces.value(row, "kind") == Some("General") {
                let remedy = if name == "mysql" { DICTIONARY_REMEDY } else { SHARED_REMEDY };
                work.leave(format!("tablespace {name}"), SHARED, remedy);
            } else if let Some(table) = clear::table_of(&session.space_name(name), &known) {
                // Auxiliary tables of full-text indexes are rebuilt with their parent, and not listed.
                add(&mut sizes, table, &spaces, row, [&home, datadir]);
            }
        }
        work.finish(sizes);
        Ok(work)
    }

    /// Adds a leftover for the redo log.
    pub(super) fn leave_redo(&mut self) {
        self.leave("redo log".to_owned(), REDO, REDO_REMEDY);
    }

    /// Encrypted MariaDB tables that use the key `key_id`, for a rotation to a new version of that key.
    pub(super) fn for_mariadb_version(session: &mut Session<'_>, datadir: &Path, key_id: u32) -> Result<Self, Error> {
        let known = clear::tables(session)?;
        let spaces = session.query(session.dictionary().encrypted)?;
        let home = session.identity().datadir.clone();
        let (mut sizes, mut work) = (Sizes::new(), Self::default());
        let wanted = key_id.to_string();
        for row in 0..spaces.rows.len() {
            let Some(name) = spaces.value(row, "name") else { continue };
            let encrypted = spaces.value(row, "scheme").is_some_and(|scheme| scheme != "0");
            if !encrypted || spaces.value(row, "id") != Some(&wanted) {
                continue;
            }
            let name = session.space_name(name).into_owned();
            match clear::table_of(&name, &known) {
                Some(table) => add(&mut sizes, table, &spaces, row, [&home, datadir]),
                // Auxiliary tables of full-text indexes are copied with their parent.
                None if full_text(&name).is_some() => {}
                None => work.leave(name, OLDER_VERSION, ROTATE_AGE_REMEDY),
            }
        }
        for (artefact, variable) in OTHERS.iter().filter(|_| key_id == MARIADB_SYSTEM_KEY) {
            let value = session.value(&format!("SELECT @@GLOBAL.{variable}")).ok().flatten();
            if value.is_some_and(|value| is_on(&value)) {
                work.leave((*artefact).to_owned(), OLDER_VERSION, KEEP_REMEDY);
            }
        }
        work.finish(sizes);
        Ok(work)
    }

    /// Encrypted MariaDB tables that do not use the key `key_id`.
    pub(super) fn for_mariadb(session: &mut Session<'_>, datadir: &Path, key_id: u32) -> Result<Self, Error> {
        let known = clear::tables(session)?;
        let spaces = session.query(session.dictionary().encrypted)?;
        let home = session.identity().datadir.clone();
        let (mut sizes, mut work) = (Sizes::new(), Self::default());
        let wanted = key_id.to_string();
        let mut full_texts = BTreeMap::new();
        for row in 0..spaces.rows.len() {
            let Some(name) = spaces.value(row, "name") else { continue };
            if spaces.value(row, "scheme").is_none_or(|scheme| scheme == "0") {
                continue;
            }
            let there = spaces.value(row, "id") == Some(&wanted);
            let name = session.space_name(name).into_owned();
            let index = full_text(&name);
            match clear::table_of(&name, &known) {
                Some(_) if there => work.files.extend(path(&spaces, row, [&home, datadir])),
                Some(table) => add(&mut sizes, table, &spaces, row, [&home, datadir]),
                None if there => {}
                None => match index {
                    Some(index) => *full_texts.entry(index).or_insert(0_u32) += 1,
                    None => work.leave(name, "is a tablespace of the system", SYSTEM_REMEDY),
                },
            }
        }
        for (index, tables) in full_texts {
            let artefact = format!("{index}_* ({tables} tablespaces)");
            work.leave(
                artefact,
                "are auxiliary tables of a full-text index, without options of their own",
                FULL_TEXT_REMEDY,
            );
        }
        for (artefact, variable) in OTHERS {
            let value = session.value(&format!("SELECT @@GLOBAL.{variable}")).ok().flatten();
            if value.is_some_and(|value| is_on(&value)) {
                work.leave((*artefact).to_owned(), "takes no other key", SYSTEM_REMEDY);
            }
        }
        work.finish(sizes);
        Ok(work)
    }

    fn leave(&mut self, artefact: String, reason: &str, remedy: &str) {
        self.leftovers.push(UnrotatedKey { artefact, reason: reason.to_owned(), remedy: remedy.to_owned() });
    }

    fn finish(&mut self, sizes: Sizes) {
        let table = |((schema, table), (bytes, files))| TableRebuild { schema, table, bytes, files };
        self.tables = sizes.into_iter().map(table).collect();
        self.tables.sort_by(|a, b| (a.bytes, &a.schema, &a.table).cmp(&(b.bytes, &b.schema, &b.table)));
        self.leftovers.sort_by(|a, b| a.artefact.cmp(&b.artefact));
        self.files.extend(self.tables.iter().flat_map(|table| table.files.iter().cloned()));
    }
}

/// Files of the tablespaces that MySQL lists as encrypted, by their paths on this host; MariaDB has no such list. Undo
/// tablespaces are recognised by their earlier keys.
pub(super) fn called_encrypted(session: &mut Session<'_>, datadir: &Path) -> Result<BTreeSet<PathBuf>, Error> {
    if session.identity().flavor() == Flavor::MariaDb {
        return Ok(BTreeSet::new());
    }
    let home = session.identity().datadir.clone();
    let spaces = session.query(session.dictionary().encrypted)?;
    Ok((0..spaces.rows.len()).filter_map(|row| path(&spaces, row, [&home, datadir])).collect())
}

fn add(sizes: &mut Sizes, table: &(String, String), spaces: &Rows, row: usize, locations: [&Path; 2]) {
    let (bytes, files) = sizes.entry(table.clone()).or_default();
    let more = spaces.value(row, "bytes").and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
    *bytes = bytes.saturating_add(more);
    files.extend(path(spaces, row, locations));
}

/// Path of a tablespace's file on this host; most are relative to the data directory.
fn path(spaces: &Rows, row: usize, [home, datadir]: [&Path; 2]) -> Option<PathBuf> {
    let path = Path::new(spaces.value(row, "path")?);
    // Removes the `.` of `./shop/orders.ibd`.
    Some(datadir.join(path.strip_prefix(home).unwrap_or(path)).components().collect())
}

/// Kinds of files, other than InnoDB's tablespaces, that MariaDB encrypts with key 1, each with the variable that
/// enables it.
const OTHERS: &[(&str, &str)] = &[
    ("the redo log", variable::MARIADB_REDO),
    ("binary and relay logs", variable::MARIADB_BINARY_LOGS),
    ("Aria tables", variable::ARIA_TABLES),
];

/// `schema/FTS_<table id>`, the prefix of an auxiliary table of a full-text index.
fn full_text(space: &str) -> Option<String> {
    let (schema, table) = space.rsplit_once('/')?;
    full_text_table_id(table).map(|id| format!("{schema}/FTS_{id:016x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_a_full_text_index_are_known_by_their_table() {
        assert_eq!(full_text("d/FTS_0000000000000025_CONFIG").as_deref(), Some("d/FTS_0000000000000025"));
        assert_eq!(full_text("d/orders"), None);
        assert_eq!(full_text("d/fts_short"), None);
    }

    #[test]
    fn statements_copy_and_quote() {
        let table = TableRebuild { schema: "a`b".to_owned(), table: "t".to_owned(), bytes: 0, files: Vec::new() };
        assert_eq!(table.statement(None), "ALTER TABLE `a``b`.`t` FORCE, ALGORITHM = COPY, LOCK = SHARED");
        let moved = "ALTER TABLE `a``b`.`t` ENCRYPTION_KEY_ID = 7, ALGORITHM = COPY, LOCK = SHARED";
        assert_eq!(table.statement(Some(7)), moved);
    }
}
