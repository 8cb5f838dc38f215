//! Joins what the server reports with what the files hold.

use std::collections::{BTreeMap, HashMap, HashSet};

use innodb::file_kind::{self, FileKind};
use innodb::tablespace::{TablespaceKind, TablespaceScan};

use super::{Artefact, Kind, State, state_of};
use crate::facts::Facts;
use crate::facts::files::{Content, FileFact};
use crate::facts::host::Role;
use crate::facts::sql::{SqlFacts, Tablespace, is_on, is_switched_on};

/// Variables that switch the encryption of the redo log: MySQL's and Percona's, MariaDB's.
const REDO_SWITCHES: [&str; 2] = ["innodb_redo_log_encrypt", "innodb_encrypt_log"];
/// Variables that switch the encryption of temporary tablespaces: MariaDB's, Percona's.
const TEMPORARY_SWITCHES: [&str; 2] = ["innodb_encrypt_temporary_tables", "innodb_temp_tablespace_encrypt"];

/// Joins, and remembers which files are taken.
pub(super) struct Join<'a> {
    facts: &'a Facts,
    by_path: HashMap<&'a str, &'a FileFact>,
    /// Files of the data directory by their name below it: paths differ where a link leads there.
    by_name: HashMap<&'a str, &'a FileFact>,
    by_space: HashMap<u32, Vec<&'a FileFact>>,
    taken: HashSet<&'a str>,
    artefacts: Vec<Artefact<'a>>,
}

impl<'a> Join<'a> {
    pub(super) fn of(facts: &'a Facts) -> Vec<Artefact<'a>> {
        let mut join = Self::new(facts);
        if let Some(sql) = &facts.sql {
            join.tablespaces(sql);
        }
        join.files();
        if let Some(sql) = &facts.sql {
            join.binary_logs_without_file(sql);
            join.redo_without_file(sql);
        }
        join.artefacts
    }

    fn new(facts: &'a Facts) -> Self {
        // A backup's copy of a tablespace is not the server's tablespace.
        let files = facts.files.iter().flat_map(|files| &files.files).filter(|file| file.role != Role::Backup);
        let mut by_space: HashMap<u32, Vec<&FileFact>> = HashMap::new();
        for file in files.clone() {
            if let Content::Tablespace { scan } = &file.content {
                by_space.entry(scan.page0.space_id.0).or_default().push(file);
            }
        }
        let by_path = files.clone().map(|file| (file.path.as_str(), file)).collect();
        let by_name = files.filter(|file| file.role == Role::Data).map(|file| (file.name.as_str(), file)).collect();
        Self { facts, by_path, by_name, by_space, taken: HashSet::new(), artefacts: Vec::new() }
    }

    fn tablespaces(&mut self, sql: &'a SqlFacts) {
        let Ok(spaces) = sql.tablespaces() else { return };
        let paths = datafile_paths(sql);
        for space in spaces {
            let path = paths.get(&space.space_id);
            let file = path
                .and_then(|path| self.at_path(sql, path))
                .or_else(|| self.by_name.get(format!("{}.ibd", space.name).as_str()).copied())
                .or_else(|| self.only_file_of(space.space_id));
            self.add(kind_of_space(&space), space.name.to_owned(), file, reported_state(&space), "tablespaces");
            if let Some(last) = self.artefacts.last_mut() {
                last.tablespace = Some(space);
                let place = path.map_or(sql.identity.datadir.as_str(), String::as_str);
                last.disk = last.disk.or_else(|| self.facts.host.as_ref()?.layer_of(place));
            }
        }
    }

    fn at_path(&self, sql: &SqlFacts, path: &str) -> Option<&'a FileFact> {
        let below = || path.strip_prefix(sql.identity.datadir.trim_end_matches('/'))?.strip_prefix('/');
        self.by_path.get(path).copied().or_else(|| self.by_name.get(below()?).copied())
    }

    /// The system tablespace has many files; every other space id has one, or copies we must not guess among.
    fn only_file_of(&self, space_id: u32) -> Option<&'a FileFact> {
        match self.by_space.get(&space_id)?.as_slice() {
            [file] => Some(file),
            _ => None,
        }
    }

    fn files(&mut self) {
        let files = self.facts.files.iter().flat_map(|files| &files.files);
        for file in files {
            if self.taken.contains(file.path.as_str()) {
                continue;
            }
            if let Some(kind) = self.kind_of_file(file) {
                let (reported, by) = self.reported_for(kind, file);
                self.add(kind, file.name.clone(), Some(file), reported, by);
            }
        }
    }

    fn kind_of_file(&self, file: &FileFact) -> Option<Kind> {
        let kind = match &file.content {
            Content::Tablespace { scan } => kind_of_scan(scan),
            Content::Redo { .. } => Kind::Redo,
            Content::Doublewrite { .. } => Kind::Doublewrite,
            Content::BinaryLog { .. } if self.is_relay_log(file) => Kind::RelayLog,
            Content::BinaryLog { .. } => Kind::BinaryLog,
            Content::AriaData { .. } => Kind::AriaTable,
            Content::AriaLog => Kind::AriaLog,
            Content::PlainTable { .. } => Kind::PlainTable,
            Content::GaleraCache { .. } => Kind::GaleraCache,
            Content::Backup { .. } => Kind::Backup,
            Content::UnidentifiedTablespace { .. } | Content::Unreadable { .. } | Content::Empty => kind_by_name(file)?,
            _ => return None,
        };
        Some(if file.role == Role::Backup { Kind::Backup } else { kind })
    }

    /// Relay logs are binary logs by content; only where the server keeps them, and their name, tells them apart.
    fn is_relay_log(&self, file: &FileFact) -> bool {
        let base_name = file.base_name();
        let Some(sql) = &self.facts.sql else { return file.role == Role::RelayLog || base_name.contains("relay") };
        let listed = sql.rows("binary_logs").is_ok_and(|rows| rows.iter().any(|row| row.text("name") == base_name));
        let relay = sql.variable_or_none("relay_log_basename").and_then(|path| path.rsplit('/').next());
        let named = relay.is_some_and(|name| !name.is_empty() && base_name.starts_with(&format!("{name}.")));
        file.role == Role::RelayLog || !listed && (named || base_name.contains("relay"))
    }

    /// What the server says of files that are not tablespaces.
    fn reported_for(&self, kind: Kind, file: &FileFact) -> (Option<State>, &'static str) {
        let Some(sql) = &self.facts.sql else { return (None, "") };
        match kind {
            Kind::Redo => (switched(sql, &REDO_SWITCHES), "variables"),
            Kind::BinaryLog => (reported_binary_log(sql, file.base_name()), "binary_logs"),
            Kind::TemporaryTablespace => (switched(sql, &TEMPORARY_SWITCHES), "variables"),
            _ => (None, ""),
        }
    }

    /// Logs that the server lists and whose files were not seen still count.
    fn binary_logs_without_file(&mut self, sql: &'a SqlFacts) {
        let seen: HashSet<String> =
            self.artefacts.iter().filter_map(|a| a.file).map(|file| file.base_name().to_owned()).collect();
        for row in sql.rows("binary_logs").unwrap_or_default() {
            let name = row.text("name");
            if !seen.contains(name) {
                self.add(Kind::BinaryLog, name.to_owned(), None, reported_binary_log(sql, name), "binary_logs");
            }
        }
    }

    fn redo_without_file(&mut self, sql: &'a SqlFacts) {
        let reported = switched(sql, &REDO_SWITCHES);
        if reported.is_some() && !self.artefacts.iter().any(|a| a.kind == Kind::Redo) {
            self.add(Kind::Redo, "redo log".to_owned(), None, reported, "variables");
        }
    }

    fn add(
        &mut self,
        kind: Kind,
        name: String,
        file: Option<&'a FileFact>,
        reported: Option<State>,
        reported_by: &'static str,
    ) {
        let disk = file.and_then(|file| self.facts.host.as_ref()?.layer_of(&file.path));
        if let Some(file) = file {
            self.taken.insert(&file.path);
        }
        let name = file.map_or(name, |file| file.name.clone());
        // A tablespace without a byte is not one: neither encrypted nor clear.
        let bytes = file
            .and_then(|file| state_of(&file.content))
            .filter(|state| *state != State::Empty || !is_tablespace(kind));
        self.artefacts.push(Artefact { kind, name, reported, tablespace: None, reported_by, file, bytes, disk });
    }
}

const fn is_tablespace(kind: Kind) -> bool {
    use Kind::{GeneralTablespace, MysqlTablespace, SystemTablespace, Table, Undo};
    matches!(kind, Table | GeneralTablespace | MysqlTablespace | SystemTablespace | Undo)
}

fn switched(sql: &SqlFacts, names: &[&str]) -> Option<State> {
    let value = names.iter().find_map(|name| sql.variable_or_none(name))?;
    Some(if is_switched_on(value) { State::Encrypted } else { State::Clear })
}

fn datafile_paths(sql: &SqlFacts) -> BTreeMap<u32, String> {
    let rows = sql.rows("datafiles").unwrap_or_default();
    let path = |row: &crate::facts::sql::Row<'_>| {
        let space = u32::try_from(row.number("space_id")?).ok()?;
        let path = row.text("path").trim_start_matches("./");
        let datadir = sql.identity.datadir.trim_end_matches('/');
        Some((space, if path.starts_with('/') { path.to_owned() } else { format!("{datadir}/{path}") }))
    };
    rows.iter().filter_map(path).collect()
}

fn reported_binary_log(sql: &SqlFacts, name: &str) -> Option<State> {
    let rows = sql.rows("binary_logs").ok()?;
    let row = rows.iter().find(|row| row.text("name") == name)?;
    match row.get("encrypted") {
        Some(value) if is_on(value) => Some(State::Encrypted),
        Some(_) => Some(State::Clear),
        // MariaDB lists no column for it; the switch only speaks for logs begun after it was set.
        None => None,
    }
}

fn reported_state(space: &Tablespace<'_>) -> Option<State> {
    match space.encrypted {
        "Y" => Some(State::Encrypted),
        "P" => Some(State::Partly),
        "N" => Some(State::Clear),
        _ => None,
    }
}

/// MySQL lists `mysql` as a general and `innodb_temporary` as a system tablespace.
fn kind_of_space(space: &Tablespace<'_>) -> Kind {
    match (space.name, space.kind) {
        ("mysql", _) | (_, "Mysql") => Kind::MysqlTablespace,
        ("innodb_temporary", _) | (_, "Temporary") => Kind::TemporaryTablespace,
        ("innodb_system", _) | (_, "System") => Kind::SystemTablespace,
        (_, "General") => Kind::GeneralTablespace,
        (name, _) if name.starts_with("innodb_undo") => Kind::Undo,
        (_, "Undo") => Kind::Undo,
        _ => Kind::Table,
    }
}

/// What a file must be whose bytes do not tell: cut, zeroed, unreadable.
fn kind_by_name(file: &FileFact) -> Option<Kind> {
    let name = file.base_name();
    match file_kind::recognise(&[], name, 0) {
        Some(FileKind::Tablespace) => Some(kind_of_tablespace_name(name)),
        Some(FileKind::Redo) => Some(Kind::Redo),
        Some(FileKind::Doublewrite) => Some(Kind::Doublewrite),
        Some(FileKind::AriaData) => Some(Kind::AriaTable),
        Some(FileKind::AriaLog) => Some(Kind::AriaLog),
        Some(FileKind::MyisamData | FileKind::Archive | FileKind::Csv) => Some(Kind::PlainTable),
        Some(FileKind::GaleraCache) => Some(Kind::GaleraCache),
        _ if is_undo_name(name) => Some(Kind::Undo),
        _ if matches!(file.content, Content::Empty) || !is_numbered(name) => None,
        _ => match file.role {
            Role::BinaryLog => Some(Kind::BinaryLog),
            Role::RelayLog => Some(Kind::RelayLog),
            _ => None,
        },
    }
}

fn kind_of_tablespace_name(name: &str) -> Kind {
    match name {
        "mysql.ibd" => Kind::MysqlTablespace,
        _ if name.starts_with("ibdata") => Kind::SystemTablespace,
        _ if name.starts_with("ibtmp") || name.ends_with(".ibt") => Kind::TemporaryTablespace,
        _ if name.ends_with(".ibu") => Kind::Undo,
        _ => Kind::Table,
    }
}

/// `undo_001` of MySQL 8, `undo001` of older servers and MariaDB.
fn is_undo_name(name: &str) -> bool {
    let number = name.strip_prefix("undo").map(|rest| rest.trim_start_matches('_'));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// Ends as logs do: a dot and at least six digits.
fn is_numbered(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, end)| end.len() >= 6 && end.bytes().all(|b| b.is_ascii_digit()))
}

fn kind_of_scan(scan: &TablespaceScan) -> Kind {
    match scan.kind {
        TablespaceKind::General => Kind::GeneralTablespace,
        TablespaceKind::Dictionary => Kind::MysqlTablespace,
        TablespaceKind::System => Kind::SystemTablespace,
        TablespaceKind::Undo => Kind::Undo,
        TablespaceKind::GlobalTemporary | TablespaceKind::SessionTemporary => Kind::TemporaryTablespace,
        TablespaceKind::FilePerTable => Kind::Table,
    }
}
