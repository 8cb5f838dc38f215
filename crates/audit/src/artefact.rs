//! Artefacts at rest: tablespaces, logs and other files, with what the server reports about each and what its bytes
//! show.
//!
//! Checks, the coverage map and the search for contradictions all use them, so that they cannot disagree. A tablespace
//! of the server is joined with its file by path, else by space id; one without a counterpart stays alone.

mod bytes;
mod join;
mod kind;
mod reported;
pub(crate) mod system;

use std::cmp::Ordering;

use innodb::SpaceId;
use innodb::file_name::decoded;
use innodb::tablespace::{DoublewriteCopies, Family, TablespaceScan};
use serde::{Deserialize, Serialize};
use server::dialect::catalog::is_system_schema;

pub use self::bytes::{DeclaredEncryption, byte_evidence, declared_encryption, state_of};
use self::join::Join;
use crate::facts::Facts;
use crate::facts::files::{Content, FileFact};
use crate::facts::host::DiskLayer;
use crate::facts::sql::Tablespace;
use crate::finding::{Evidence, EvidenceGrade};

/// Kind of an artefact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// File-per-table tablespace or partition.
    Table,
    /// General tablespace.
    GeneralTablespace,
    /// MySQL's `mysql.ibd`.
    MysqlTablespace,
    /// System tablespace: `ibdata1` and further files.
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
    /// Table of an engine that cannot encrypt.
    PlainTable,
    /// Galera's write-set cache.
    GaleraCache,
    /// Temporary file of the server in `tmpdir`.
    Spill,
    /// Dump or backup.
    Backup,
}

/// Encryption of an artefact.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Everything that must be encrypted is.
    Encrypted,
    /// Partly encrypted, partly clear.
    Partly,
    /// Clear.
    Clear,
    /// Without content.
    Empty,
}

/// An artefact at rest.
#[derive(Debug, Clone)]
pub struct Artefact<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Name in findings: path of the file below its root, or the tablespace's name if no file was found.
    pub name: String,
    /// State according to the server; `None` if it does not report one.
    pub reported: Option<State>,
    /// The server's row, for a tablespace.
    pub tablespace: Option<Tablespace<'a>>,
    /// Name of the query (see `server::dialect`) that gave `reported`.
    pub reported_by: &'static str,
    /// Name of the variable that gave `reported`, if it is one.
    pub switch: Option<&'static str>,
    /// Absolute path of the file according to the server.
    pub datafile: Option<String>,
    /// The file that was found.
    pub file: Option<&'a FileFact>,
    /// State according to the bytes; `None` if they could not be read or interpreted.
    pub bytes: Option<State>,
    /// Why damage to the file makes its state uncertain, so that the server's report proves nothing either.
    pub doubt: Option<String>,
    /// Encryption of the disk, if known.
    pub disk: Option<&'a DiskLayer>,
}

/// All artefacts of one server.
#[derive(Debug, Default)]
pub struct Artefacts<'a> {
    all: Vec<Artefact<'a>>,
}

impl<'a> Artefacts<'a> {
    /// Joins the server's reports with the files.
    #[must_use]
    pub fn join(facts: &'a Facts) -> Self {
        Self { all: Join::artefacts(facts) }
    }

    /// Every artefact.
    pub fn iter(&self) -> impl Iterator<Item = &Artefact<'a>> {
        self.all.iter()
    }

    /// Whether MariaDB wrote the files, judged by most of the tablespaces: one may have been copied from another
    /// server. `None` if they do not show it.
    #[must_use]
    pub fn written_by_mariadb(&self) -> Option<bool> {
        let families = self.all.iter().filter_map(|artefact| Some(artefact.scan()?.page0.family));
        let (mut mysql, mut mariadb) = (0_u64, 0_u64);
        for family in families {
            match family {
                Family::MySql => mysql += 1,
                Family::MariaDbFullCrc32 | Family::MariaDbLegacy => mariadb += 1,
                Family::Undetermined => {}
            }
        }
        let aria = || self.all.iter().any(|artefact| artefact.kind == Kind::AriaLog);
        match mysql.cmp(&mariadb) {
            Ordering::Less => Some(true),
            Ordering::Greater => Some(false),
            Ordering::Equal if aria() => Some(true),
            Ordering::Equal => (mysql > 0).then_some(false),
        }
    }

    /// Artefacts of a kind.
    pub fn with_kind(&self, kind: Kind) -> impl Iterator<Item = &Artefact<'a>> {
        self.all.iter().filter(move |artefact| artefact.kind == kind)
    }
}

impl Artefact<'_> {
    /// State and grade of the strongest evidence; `None` without evidence, or if the file is damaged.
    #[must_use]
    pub fn state(&self) -> Option<(State, EvidenceGrade)> {
        if self.doubt.is_some() {
            return None;
        }
        let reported = if self.switch.is_some() { EvidenceGrade::Declared } else { EvidenceGrade::Reported };
        self.bytes.map(|s| (s, EvidenceGrade::Bytes)).or_else(|| self.reported.map(|s| (s, reported)))
    }

    /// Whether the server reports it as encrypted but the bytes read so far are not.
    #[must_use]
    pub fn contradicted(&self) -> bool {
        self.reported == Some(State::Encrypted) && matches!(self.bytes, Some(State::Clear | State::Partly))
    }

    /// What page 0 declares about encryption; `None` if it was not read or does not exist.
    #[must_use]
    pub fn declared_encryption(&self) -> Option<DeclaredEncryption> {
        self.scan().map(declared_encryption)
    }

    /// Whether the server or page 0 declares it encrypted, or encryption in progress.
    #[must_use]
    pub fn meant_to_be_encrypted(&self) -> bool {
        let bytes = self.declared_encryption().is_some_and(|declared| declared != DeclaredEncryption::None)
            || matches!(self.bytes, Some(State::Encrypted | State::Partly));
        bytes || matches!(self.reported, Some(State::Encrypted | State::Partly))
    }

    /// The encrypting layer of the disk, if there is one.
    #[must_use]
    pub fn disk_encryption(&self) -> Option<&str> {
        match self.disk {
            Some(DiskLayer::Encrypted { by }) => Some(by),
            _ => None,
        }
    }

    /// The scan of its pages, for a tablespace whose file was read.
    #[must_use]
    pub fn scan(&self) -> Option<&TablespaceScan> {
        match self.file.map(|file| &file.content) {
            Some(Content::Tablespace { scan }) => Some(scan),
            _ => None,
        }
    }

    /// Number of pages, blocks or slots read, and their total.
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

    /// Copies of pages in it: a doublewrite file, or the doublewrite area of the system tablespace.
    #[must_use]
    pub fn page_copies(&self) -> Option<&DoublewriteCopies> {
        match self.file.map(|file| &file.content) {
            Some(Content::Doublewrite { scan }) => Some(&scan.copies),
            Some(Content::Tablespace { scan }) if self.kind == Kind::SystemTablespace => Some(&scan.doublewrite),
            _ => None,
        }
    }

    /// Space id, for a tablespace.
    #[must_use]
    pub fn space_id(&self) -> Option<SpaceId> {
        self.scan().map(|scan| scan.page0.space_id).or_else(|| self.tablespace.map(|space| SpaceId(space.space_id)))
    }

    /// Why its state is unknown although its file was read or looked for; `None` if that was not tried.
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
            Content::Redo { .. } => {
                Some("most of its blocks are those of no known log: its header is damaged".to_owned())
            }
            Content::BinaryLog { .. } => Some("no event after its format description can be read".to_owned()),
            _ => None,
        }
    }

    /// Schema and table, as in statements, if it is a file of a table or partition.
    #[must_use]
    pub fn table(&self) -> Option<(String, String)> {
        let path = self.file.map(|file| file.name.as_str()).or(self.datafile.as_deref());
        let (schema, table) = match path {
            Some(path) => encoded_names(path)?,
            None => self.tablespace?.name.rsplit_once('/')?,
        };
        // Files of a partition are named TABLE#p#PARTITION; a # in a name is encoded as @0023.
        let table = table.split_once('#').map_or(table, |(table, _)| table);
        let (schema, table) = (decoded(schema), decoded(table));
        (!table.is_empty()).then_some((schema, table))
    }

    /// Whether its content is the same on every server: settings of the `sys` schema, help texts, time zones.
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

    /// Whether it is one of the server's own tables in an old engine. Log tables do not count, because they contain
    /// users' data.
    #[must_use]
    pub fn is_system_table(&self) -> bool {
        let log = |table: &str| ["general_log", "slow_log"].contains(&table);
        self.kind == Kind::PlainTable
            && self.table().is_some_and(|(schema, table)| is_system_schema(&schema) && !log(&table))
    }

    /// The evidence: the server's row, then the bytes.
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

/// Directory and stem of a table's file, encoded.
fn encoded_names(path: &str) -> Option<(&str, &str)> {
    let (schema, file) = path.rsplit_once('/')?;
    let schema = schema.rsplit_once('/').map_or(schema, |(_, last)| last);
    Some((schema, file.rsplit_once('.').map_or(file, |(stem, _)| stem)))
}
