//! The coverage map: which data at rest and in flight is encrypted.

use serde::{Deserialize, Serialize};
use server::dialect::encryption::{Encrypts, switches};
use server::switch::is_switched_on;

use crate::artefact::{Artefact, Artefacts, Kind, State, system};
use crate::facts::Facts;
use crate::facts::host::{DiskLayer, Role};
use crate::facts::sql::SqlFacts;
use crate::finding::EvidenceGrade;

mod in_flight;

/// A row of the map: a kind of artefact at rest, or a network channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// The server.
    pub server: String,
    /// At rest or in flight.
    #[serde(rename = "place")]
    pub location: DataState,
    /// Kind of artefact, or name of the channel: `tables`, `redo log`, `client connections`, …
    pub artefact: String,
    /// Its encryption.
    pub state: CoverageState,
    /// The encrypting layer.
    pub layer: Layer,
    /// Grade of the strongest evidence; `None` if unknown or absent.
    pub grade: Option<EvidenceGrade>,
    /// Number of encrypted artefacts.
    pub encrypted: u64,
    /// Number of clear or partly clear artefacts.
    pub clear: u64,
    /// Number of artefacts that could not be judged.
    pub unknown: u64,
    /// Explanation in one clause.
    pub detail: String,
}

impl Coverage {
    /// Whether it is a channel by which clients connect, rather than one between servers.
    #[must_use]
    pub fn is_client_channel(&self) -> bool {
        self.location == DataState::InFlight && in_flight::is_client_channel(&self.artefact)
    }
}

/// Whether data is at rest or in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DataState {
    /// Stored on a disk.
    AtRest,
    /// Sent over a network.
    InFlight,
}

/// Encryption of an artefact or channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoverageState {
    /// Encrypted.
    Encrypted,
    /// Partly encrypted.
    Partly,
    /// Clear.
    Clear,
    /// Unknown.
    Unknown,
    /// Does not exist on this server.
    Absent,
}

/// The encrypting layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// The server: pages, log blocks.
    Tde,
    /// The disk.
    Disk,
    /// TLS.
    Tls,
    /// Nothing.
    None,
}

/// Kinds at rest, in the order of the map, with their human-readable names.
const AT_REST: &[(Kind, &str)] = &[
    (Kind::Table, "tables"),
    (Kind::GeneralTablespace, "general tablespaces"),
    (Kind::MysqlTablespace, "data dictionary (mysql.ibd)"),
    (Kind::SystemTablespace, "system tablespace (ibdata1)"),
    (Kind::Undo, "undo tablespaces"),
    (Kind::Redo, "redo log"),
    (Kind::Doublewrite, "doublewrite buffer"),
    (Kind::TemporaryTablespace, "temporary tablespaces"),
    (Kind::Spill, "temporary files"),
    (Kind::BinaryLog, "binary logs"),
    (Kind::RelayLog, "relay logs"),
    (Kind::AriaTable, "Aria tables"),
    (Kind::AriaLog, "Aria log"),
    (Kind::PlainTable, "tables of other engines"),
    (Kind::GaleraCache, "Galera cache"),
    (Kind::Backup, "dumps and backups"),
];

/// Builds the map of one server.
#[must_use]
pub fn map(facts: &Facts, artefacts: &Artefacts<'_>) -> Vec<Coverage> {
    let mut rows: Vec<Coverage> =
        AT_REST.iter().map(|(kind, message)| at_rest(facts, artefacts, *kind, message)).collect();
    rows.extend(in_flight::rows(facts));
    rows
}

/// Counts of the artefacts of one kind.
#[derive(Default)]
struct StateCounts {
    tde: u64,
    disk: u64,
    clear: u64,
    partly: u64,
    unknown: u64,
    empty: u64,
    grade: Option<EvidenceGrade>,
}

fn at_rest(facts: &Facts, artefacts: &Artefacts<'_>, kind: Kind, message: &str) -> Coverage {
    let mut counts = StateCounts::default();
    let included = |artefact: &&Artefact<'_>| !artefact.is_public() && !artefact.is_system_table();
    for artefact in artefacts.with_kind(kind).filter(included) {
        if kind == Kind::SystemTablespace && is_without_rows(facts, artefacts, artefact) {
            counts.without_rows(artefact);
        } else {
            counts.count(artefact);
        }
    }
    if kind == Kind::Doublewrite {
        artefacts.with_kind(Kind::SystemTablespace).for_each(|artefact| counts.page_copies(artefact));
    }
    if kind == Kind::TemporaryTablespace {
        counts.predict_temporary_tables(facts, artefacts.with_kind(kind).all(|space| is_protected_by_disk(space)));
    }
    if kind == Kind::Spill {
        counts.count_temporary_files(facts);
        counts.predict_temporary_files(facts);
    }
    let (state, layer) = counts.state(facts.files.is_none() && facts.sql.is_none());
    let grade = if matches!(state, CoverageState::Unknown | CoverageState::Absent) { None } else { counts.grade };
    Coverage {
        server: facts.target.clone(),
        location: DataState::AtRest,
        artefact: message.to_owned(),
        state,
        layer,
        grade,
        encrypted: counts.tde + counts.disk,
        clear: counts.clear + counts.partly,
        unknown: counts.unknown,
        detail: counts.detail(),
    }
}

/// Whether it is a system tablespace that has no user data and cannot be encrypted by the server.
fn is_without_rows(facts: &Facts, artefacts: &Artefacts<'_>, file: &Artefact<'_>) -> bool {
    let harmless = file.scan().is_some_and(|scan| system::contents(facts, scan).is_empty());
    harmless && file.state().is_some() && !system::is_encryptable(facts, artefacts, file)
}

/// Whether its disk protects it. Memory counts as protection only for artefacts that do not outlive the server.
fn is_protected_by_disk(artefact: &Artefact<'_>) -> bool {
    let passing = matches!(artefact.kind, Kind::TemporaryTablespace | Kind::Spill);
    artefact.disk_encryption().is_some() || passing && artefact.disk == Some(&DiskLayer::Memory)
}

/// Whether all of these variables that the server has are on; `None` if it has none.
fn switched_on(sql: &SqlFacts, what: Encrypts) -> Option<bool> {
    let known: Vec<bool> =
        switches(what).into_iter().filter_map(|name| sql.variable_or_none(name)).map(is_switched_on).collect();
    (!known.is_empty()).then(|| known.into_iter().all(|on| on))
}

impl StateCounts {
    fn count(&mut self, artefact: &Artefact<'_>) {
        let Some((state, grade)) = artefact.state() else {
            self.unknown += 1;
            return;
        };
        // The grade of a row is that of its weakest evidence.
        self.grade = Some(self.grade.map_or(grade, |known| known.min(grade)));
        let below = is_protected_by_disk(artefact);
        match state {
            State::Encrypted => self.tde += 1,
            State::Empty => self.empty += 1,
            State::Clear | State::Partly if below => self.disk += 1,
            State::Clear => self.clear += 1,
            State::Partly => self.partly += 1,
        }
    }

    fn without_rows(&mut self, artefact: &Artefact<'_>) {
        self.empty += 1;
        self.grade = self.grade.or_else(|| artefact.state().map(|(_, grade)| grade));
    }

    /// Counts the doublewrite area in a system tablespace, which MariaDB and old versions of MySQL have.
    fn page_copies(&mut self, system: &Artefact<'_>) {
        let Some(copies) = system.page_copies().filter(|copies| copies.slots > 0) else { return };
        let below = system.disk_encryption().is_some();
        match (copies.encrypted > 0, copies.clear_data + copies.mislabelled > 0) {
            (_, true) if below => self.disk += 1,
            (true, true) => self.partly += 1,
            (false, true) => self.clear += 1,
            (true, false) => self.tde += 1,
            (false, false) => self.empty += 1,
        }
        self.grade = Some(self.grade.map_or(EvidenceGrade::Bytes, |known| known.min(EvidenceGrade::Bytes)));
    }

    fn count_temporary_files(&mut self, facts: &Facts) {
        let Some(files) = &facts.files else { return };
        for file in &files.unlinked {
            match file.looks_random {
                Some(true) => self.tde += 1,
                Some(false) => self.clear += 1,
                None => self.empty += 1,
            }
            self.grade = Some(EvidenceGrade::Bytes);
        }
        self.unknown += u64::from(files.unlinked_unseen.is_some());
    }

    /// State of future temporary files, if none exists now.
    fn predict_temporary_files(&mut self, facts: &Facts) {
        let Some(sql) =
            facts.sql.as_ref().filter(|_| self.tde + self.disk + self.clear + self.partly + self.unknown == 0)
        else {
            return;
        };
        let on = switched_on(sql, Encrypts::TemporaryFiles);
        let paths = facts.host.iter().flat_map(|host| &host.paths).filter(|path| path.role == Role::Temporary);
        let layers: Vec<&DiskLayer> = paths.map(|path| &path.layer).collect();
        let below = |layer: &&DiskLayer| matches!(layer, DiskLayer::Encrypted { .. } | DiskLayer::Memory);
        self.grade = Some(EvidenceGrade::Declared);
        match on {
            _ if !layers.is_empty() && layers.iter().all(below) => self.disk += 1,
            Some(true) => self.tde += 1,
            Some(false) => self.clear += 1,
            None if layers.contains(&&DiskLayer::Plain) => self.clear += 1,
            None => self.unknown += 1,
        }
    }

    /// State of future temporary tables, if none has rows now.
    fn predict_temporary_tables(&mut self, facts: &Facts, covered: bool) {
        let nothing = self.tde + self.disk + self.clear + self.partly + self.unknown == 0;
        let Some(sql) = facts.sql.as_ref().filter(|_| nothing && self.empty > 0) else { return };
        self.grade = Some(EvidenceGrade::Declared);
        match switched_on(sql, Encrypts::TemporaryTablespaces) {
            Some(true) => self.tde += 1,
            _ if covered => self.disk += 1,
            // MySQL cannot encrypt them (error 3833).
            Some(false) | None => self.clear += 1,
        }
    }

    const fn state(&self, blind: bool) -> (CoverageState, Layer) {
        let (good, bad) = (self.tde + self.disk > 0, self.clear > 0);
        let layer = if self.tde > 0 || self.partly > 0 {
            Layer::Tde
        } else if self.disk > 0 {
            Layer::Disk
        } else {
            Layer::None
        };
        let state = match (good, bad) {
            _ if self.partly > 0 => CoverageState::Partly,
            (true, true) => CoverageState::Partly,
            (false, true) => CoverageState::Clear,
            _ if self.unknown > 0 || blind => CoverageState::Unknown,
            (true, false) => CoverageState::Encrypted,
            (false, false) => CoverageState::Absent,
        };
        (state, layer)
    }

    fn detail(&self) -> String {
        let message = [
            (self.tde, "encrypted"),
            (self.disk, "on an encrypted disk only"),
            (self.partly, "partly clear"),
            (self.clear, "clear"),
            (self.empty, "without rows"),
            (self.unknown, "not seen"),
        ];
        let counts: Vec<String> =
            message.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
        if counts.is_empty() { "none".to_owned() } else { counts.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::files::Content;
    use crate::testing::{FactsBuilder, mariadb, mysql, tablespace, tablespace_with};
    use innodb::SpaceId;
    use innodb::aria::{AriaCounts, AriaScan};
    use innodb::tablespace::{DoublewriteCopies, TablespaceKind};

    fn row(made: &FactsBuilder, artefact: &str) -> Coverage {
        let artefacts = Artefacts::join(&made.0);
        map(&made.0, &artefacts).into_iter().find(|row| row.artefact == artefact).unwrap()
    }

    #[test]
    fn a_doublewrite_area_inside_the_system_tablespace_is_on_the_map() {
        let ibdata1 = tablespace_with("mariadb", 9, 0, |scan| {
            scan.kind = TablespaceKind::System;
            scan.page0.space_id = SpaceId(0);
            scan.page0.size_in_pages = 10;
            scan.doublewrite =
                DoublewriteCopies { slots: 9, encrypted: 5, clear_data: 4, ..DoublewriteCopies::default() };
        });
        let made = FactsBuilder::nothing().file("ibdata1", ibdata1);
        assert_eq!(row(&made, "doublewrite buffer").state, CoverageState::Partly);
        assert_eq!(row(&made, "system tablespace (ibdata1)").state, CoverageState::Encrypted);
    }

    #[test]
    fn a_system_tablespace_without_rows_is_not_clear() {
        let made = |indexes| {
            let ibdata1 = tablespace_with("plain", 0, 0, |scan| {
                scan.kind = TablespaceKind::System;
                scan.page0.space_id = SpaceId(0);
                scan.page0.size_in_pages = 1;
                scan.clear_index_pages = indexes;
            });
            mysql().file("ibdata1", ibdata1)
        };
        assert_eq!(row(&made(0), "system tablespace (ibdata1)").state, CoverageState::Absent);
        assert_eq!(row(&made(3), "system tablespace (ibdata1)").state, CoverageState::Clear);
    }

    #[test]
    fn temporary_tablespaces_without_rows_are_judged_by_their_switch() {
        let made = |made: FactsBuilder| {
            let space = tablespace_with("plain", 0, 0, |scan| scan.kind = TablespaceKind::SessionTemporary);
            made.file("#innodb_temp/temp_1.ibt", space)
        };
        let percona = |on| made(mysql().variable("innodb_temp_tablespace_encrypt", on));
        assert_eq!(row(&percona("ON"), "temporary tablespaces").state, CoverageState::Encrypted);
        assert_eq!(row(&percona("OFF"), "temporary tablespaces").state, CoverageState::Clear);
        assert_eq!(row(&made(mysql()), "temporary tablespaces").state, CoverageState::Clear);
    }

    #[test]
    fn what_everybody_has_is_not_on_the_map() {
        let counts = AriaCounts { total: 3, scanned: 3, clear: 3, ..AriaCounts::default() };
        let clear =
            AriaScan { file_bytes: 1 << 16, complete: true, counts, key_versions: None, clear_offsets: Vec::new() };
        let made = FactsBuilder::nothing()
            .file("mysql/help_topic.MAD", Content::AriaData { scan: clear })
            .file("sys/sys_config.ibd", tablespace("plain", 0, 2))
            .file("mysql/user.MYD", Content::PlainTable { engine: "MyISAM".to_owned() })
            .file("demo/t.ibd", tablespace("encrypted", 4, 0));
        assert_eq!(row(&made, "Aria tables").state, CoverageState::Absent);
        assert_eq!(row(&made, "tables").state, CoverageState::Encrypted);
        assert_eq!(row(&made, "tables of other engines").state, CoverageState::Absent);
    }

    #[test]
    fn temporary_files_are_judged_by_their_switch_where_none_is_there() {
        let made = |value| mariadb().variable("encrypt_tmp_files", value).variable("encrypt_tmp_disk_tables", value);
        assert_eq!(row(&made("OFF"), "temporary files").state, CoverageState::Clear);
        let on = row(&made("ON"), "temporary files");
        assert_eq!((on.state, on.grade), (CoverageState::Encrypted, Some(EvidenceGrade::Declared)));
        assert_eq!(row(&mysql(), "temporary files").state, CoverageState::Unknown);
    }
}
