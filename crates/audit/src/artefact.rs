//! Data at rest, piece by piece: what the server reports of each, and what its bytes show.
//!
//! Checks, the coverage map and the search for contradictions all judge these, so that they
//! cannot disagree. A tablespace of the server is joined with its file by path, then by space
//! id; what only one side knows stays with that side alone.

mod bytes;
mod join;
pub(crate) mod system;

use innodb::SpaceId;
use innodb::file_name::decoded;
use innodb::tablespace::{DoublewriteCopies, Family, TablespaceScan};
use serde::{Deserialize, Serialize};

pub use self::bytes::{Promise, byte_evidence, promise_of, state_of};
use self::join::Join;
use crate::facts::Facts;
use crate::facts::files::{Content, FileFact};
use crate::facts::host::DiskLayer;
use crate::facts::sql::Tablespace;
use crate::finding::{Evidence, Grade};

/// What a piece of data at rest is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// File-per-table tablespace or partition.
    Table,
    /// General tablespace.
    GeneralTablespace,
    /// MySQL's `mysql.ibd`.
    MysqlTablespace,
    /// `ibdata1` and its siblings.
    SystemTablespace,
    /// Undo tablespace.
    Undo,
    /// `ibtmp1`, session temporary tablespaces.
    TemporaryTablespace,
    /// Redo log file.
    Redo,
    /// Doublewrite file.
    Doublewrite,
    /// Binary log.
    BinaryLog,
    /// Relay log.
    RelayLog,
    /// Aria table.
    AriaTable,
    /// Aria log.
    AriaLog,
    /// Table of an engine without encryption.
    PlainTable,
    /// Galera's write-set cache.
    GaleraCache,
    /// Temporary file of the server in `tmpdir`.
    Spill,
    /// Dump or backup.
    Backup,
}

/// Variables that switch the encryption of temporary tablespaces: MariaDB's, Percona's.
pub(crate) const TEMPORARY_SWITCHES: [&str; 2] = ["innodb_encrypt_temporary_tables", "innodb_temp_tablespace_encrypt"];
/// Variables that switch the encryption of temporary files: of MariaDB and Percona, of MariaDB's tables on disk,
/// of the files that Percona's InnoDB sorts and logs table changes in. A server has some of them, or none.
pub(crate) const TEMPORARY_FILE_SWITCHES: [&str; 3] =
    ["encrypt_tmp_files", "encrypt_tmp_disk_tables", "innodb_encrypt_online_alter_logs"];

/// Whether it is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// All that must be encrypted is.
    Encrypted,
    /// Some of it is, some is clear.
    Partly,
    /// It is clear.
    Clear,
    /// It holds nothing.
    Empty,
}

/// One piece of data at rest.
#[derive(Debug, Clone)]
pub struct Artefact<'a> {
    /// What it is.
    pub kind: Kind,
    /// What findings call it: the file below its root, or the tablespace's name if no file was seen.
    pub name: String,
    /// What the server says; none if it says nothing.
    pub reported: Option<State>,
    /// The server's row, if it is a tablespace.
    pub tablespace: Option<Tablespace<'a>>,
    /// The answer (see `server::dialect`) behind `reported`.
    pub reported_by: &'static str,
    /// The variable behind `reported`, if it is one.
    pub switch: Option<&'static str>,
    /// Where the server says that its file is, absolute.
    pub datafile: Option<String>,
    /// Its file.
    pub file: Option<&'a FileFact>,
    /// What the bytes say; none if they could not be read or told.
    pub bytes: Option<State>,
    /// Why its file, which was read, is damaged: then the server's word is no proof either.
    pub doubt: Option<String>,
    /// What the disk below does, if that is known.
    pub disk: Option<&'a DiskLayer>,
}

/// All data at rest of one server.
#[derive(Debug, Default)]
pub struct Artefacts<'a> {
    all: Vec<Artefact<'a>>,
}

impl<'a> Artefacts<'a> {
    /// Joins what the server reports with what the files hold.
    #[must_use]
    pub fn of(facts: &'a Facts) -> Self {
        Self { all: Join::of(facts) }
    }

    /// Every artefact.
    pub fn iter(&self) -> impl Iterator<Item = &Artefact<'a>> {
        self.all.iter()
    }

    /// Whether the files are MariaDB's; none if they do not tell.
    #[must_use]
    pub fn written_by_mariadb(&self) -> Option<bool> {
        let families = self.all.iter().filter_map(|artefact| Some(artefact.scan()?.page0.family));
        let told = families.filter_map(|family| match family {
            Family::MySql => Some(false),
            Family::MariaDbFullCrc32 | Family::MariaDbLegacy => Some(true),
            Family::Undetermined => None,
        });
        let aria = || self.all.iter().any(|artefact| artefact.kind == Kind::AriaLog).then_some(true);
        told.into_iter().next().or_else(aria)
    }

    /// Those of one kind.
    pub fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Artefact<'a>> {
        self.all.iter().filter(move |artefact| artefact.kind == kind)
    }
}

impl Artefact<'_> {
    /// The state by the strongest evidence, and its grade; none if nothing tells, or if a damaged
    /// file leaves it in doubt.
    #[must_use]
    pub fn state(&self) -> Option<(State, Grade)> {
        if self.doubt.is_some() {
            return None;
        }
        let reported = if self.switch.is_some() { Grade::Declared } else { Grade::Reported };
        self.bytes.map(|s| (s, Grade::Bytes)).or_else(|| self.reported.map(|s| (s, reported)))
    }

    /// Whether the server calls it encrypted and the bytes, as far as they were read, do not.
    #[must_use]
    pub fn contradicted(&self) -> bool {
        self.reported == Some(State::Encrypted) && matches!(self.bytes, Some(State::Clear | State::Partly))
    }

    /// What page 0 promises; none if it was not read, or there is none.
    #[must_use]
    pub fn promise(&self) -> Option<Promise> {
        self.scan().map(promise_of)
    }

    /// Whether somebody, server or page 0, calls it encrypted or begun to be.
    #[must_use]
    pub fn meant_to_be_encrypted(&self) -> bool {
        let bytes = self.promise().is_some_and(|promise| promise != Promise::None)
            || matches!(self.bytes, Some(State::Encrypted | State::Partly));
        bytes || matches!(self.reported, Some(State::Encrypted | State::Partly))
    }

    /// The layer that encrypts the disk below, if one does.
    #[must_use]
    pub fn disk_encryption(&self) -> Option<&str> {
        match self.disk {
            Some(DiskLayer::Encrypted { by }) => Some(by),
            _ => None,
        }
    }

    /// The scan of its pages, if it is a tablespace whose file was read.
    #[must_use]
    pub fn scan(&self) -> Option<&TablespaceScan> {
        match self.file.map(|file| &file.content) {
            Some(Content::Tablespace { scan }) => Some(scan),
            _ => None,
        }
    }

    /// How many of its pages, blocks or slots were read, and how many there are.
    #[must_use]
    pub fn extent(&self) -> Option<(u64, u64)> {
        match self.file.map(|file| &file.content)? {
            Content::Tablespace { scan } => Some((scan.counts.scanned, scan.counts.total)),
            Content::Redo { scan } => Some((scan.blocks.scanned, scan.blocks.total)),
            Content::AriaData { scan } => Some((scan.counts.scanned, scan.counts.total)),
            Content::Doublewrite { scan } => {
                Some((scan.copies.slots, scan.file_bytes.checked_div(u64::from(scan.page_bytes)).unwrap_or(0)))
            }
            _ => None,
        }
    }

    /// The copies of pages in it: a doublewrite file, or the area in the system tablespace.
    #[must_use]
    pub fn page_copies(&self) -> Option<&DoublewriteCopies> {
        match self.file.map(|file| &file.content) {
            Some(Content::Doublewrite { scan }) => Some(&scan.copies),
            Some(Content::Tablespace { scan }) if self.kind == Kind::SystemTablespace => Some(&scan.doublewrite),
            _ => None,
        }
    }

    /// Its number, if it is a tablespace.
    #[must_use]
    pub fn space_id(&self) -> Option<SpaceId> {
        self.scan().map(|scan| scan.page0.space_id).or_else(|| self.tablespace.map(|space| SpaceId(space.space_id)))
    }

    /// Why its state is not known although its file was read or looked for; none if nothing was tried.
    #[must_use]
    pub fn why_unknown(&self) -> Option<String> {
        if self.doubt.is_some() {
            return self.doubt.clone();
        }
        match &self.file?.content {
            Content::UnidentifiedTablespace { why, .. } | Content::Unreadable { why } => Some(why.clone()),
            Content::Empty => Some("the file has no byte".to_owned()),
            Content::Link { target } => Some(format!("it is a link to {target}, which was not followed")),
            Content::Tablespace { scan } => Some(bytes::undecided(scan).to_owned()),
            Content::Unknown { .. } => Some("its bytes are those of no known file".to_owned()),
            _ => None,
        }
    }

    /// Schema and table as statements spell them, if it is a table's or partition's tablespace, or a file of one.
    #[must_use]
    pub fn table(&self) -> Option<(String, String)> {
        let path = self.file.map(|file| file.name.as_str()).or(self.datafile.as_deref());
        let (schema, table) = match path {
            Some(path) => encoded_names(path)?,
            None => self.tablespace?.name.rsplit_once('/')?,
        };
        // The files of a partition are called TABLE#p#PARTITION; a # of a name is written @0023.
        let table = table.split_once('#').map_or(table, |(table, _)| table);
        let (schema, table) = (decoded(schema), decoded(table));
        (!table.is_empty()).then_some((schema, table))
    }

    /// Whether it holds what every server of its kind holds: settings of the `sys` schema that nobody
    /// puts data into, help texts, time zones.
    #[must_use]
    pub fn is_public(&self) -> bool {
        let Some((schema, table)) = self.table() else { return false };
        let texts =
            || table.starts_with("help_") || table.starts_with("time_zone") || table == "plugin" || table == "func";
        match self.kind {
            Kind::Table => schema == "sys" && table == "sys_config",
            Kind::AriaTable => schema == "sys" || schema == "mysql" && texts(),
            _ => false,
        }
    }

    /// Whether it is a table of an old engine that the server keeps for itself. The log tables are
    /// not: they hold what users write.
    #[must_use]
    pub fn is_servers_own(&self) -> bool {
        let own = |schema: &str| ["mysql", "performance_schema", "information_schema", "sys"].contains(&schema);
        let log = |table: &str| ["general_log", "slow_log"].contains(&table);
        self.kind == Kind::PlainTable && self.table().is_some_and(|(schema, table)| own(&schema) && !log(&table))
    }

    /// What to quote: the server's row, then the bytes.
    #[must_use]
    pub fn evidence(&self, facts: &Facts) -> Vec<Evidence> {
        let mut evidence = Vec::new();
        if let (Some(sql), Some(space)) = (&facts.sql, self.tablespace) {
            let answer = format!("{} (space {}): encrypted = {:?}", space.name, space.space_id, space.encrypted);
            evidence.push(sql.evidence(self.reported_by, answer));
        } else if let (Some(sql), Some(name)) = (&facts.sql, self.switch) {
            evidence.push(sql.variable_evidence(name));
        } else if let (Some(sql), Some(state)) = (&facts.sql, self.reported) {
            evidence.push(sql.evidence(self.reported_by, format!("{}: {state:?}", self.name)));
        }
        if let Some(file) = self.file {
            evidence.extend(byte_evidence(file));
        }
        evidence
    }
}

/// Directory and stem of a table's file.
fn encoded_names(path: &str) -> Option<(&str, &str)> {
    let (schema, file) = path.rsplit_once('/')?;
    let schema = schema.rsplit_once('/').map_or(schema, |(_, last)| last);
    Some((schema, file.rsplit_once('.').map_or(file, |(stem, _)| stem)))
}
