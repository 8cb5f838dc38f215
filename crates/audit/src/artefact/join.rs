//! Joins the server's reports with the files.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use innodb::redo::{RedoFormat, RedoScan};
use innodb::server_file;
use innodb::tablespace::TablespaceKind;
use server::dialect::directory;
use server::dialect::encryption::Encrypts;

use super::bytes::{damage, is_misread, state_of_temporary, state_of_temporary_file, undecided};
use super::kind::{is_table_by_name, is_tablespace, is_unused_extension, kind_by_name, kind_of_scan, kind_of_space};
use super::reported::{Reported, datafile_paths, reported_binary_log, reported_state, switched};
use super::{Artefact, Kind, State, state_of};
use crate::facts::Facts;
use crate::facts::files::{Content, FileFact};
use crate::facts::host::Role;
use crate::facts::sql::SqlFacts;
use crate::path::normal;

/// Artefacts so far, and the files that already belong to one.
pub(super) struct Join<'a> {
    facts: &'a Facts,
    by_path: HashMap<&'a str, &'a FileFact>,
    /// Files of the data directory by relative name: absolute paths differ where a link leads there.
    by_name: HashMap<&'a str, &'a FileFact>,
    by_space: HashMap<u32, Vec<&'a FileFact>>,
    /// Directories and names of binary logs, without the number.
    log_stems: HashSet<&'a str>,
    /// Total pages of the system tablespace's files.
    system_pages: u64,
    claimed: HashSet<&'a str>,
    artefacts: Vec<Artefact<'a>>,
}

impl<'a> Join<'a> {
    pub(super) fn artefacts(facts: &'a Facts) -> Vec<Artefact<'a>> {
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
        // The copy of a tablespace in a backup is not the server's tablespace.
        let files = facts.files.iter().flat_map(|files| &files.files).filter(|file| file.role != Role::Backup);
        let mut by_space: HashMap<u32, Vec<&FileFact>> = HashMap::new();
        let mut log_stems = HashSet::new();
        let mut system_pages = 0_u64;
        for file in files.clone() {
            match &file.content {
                Content::Tablespace { scan } => {
                    by_space.entry(scan.page0.space_id.0).or_default().push(file);
                    let system = scan.kind == TablespaceKind::System;
                    system_pages = system_pages.saturating_add(if system { scan.counts.total } else { 0 });
                }
                Content::BinaryLog { .. } => log_stems.extend(file.path.rsplit_once('.').map(|(stem, _)| stem)),
                _ => {}
            }
        }
        let by_path = files.clone().map(|file| (file.path.as_str(), file)).collect();
        let by_name = files.filter(|file| file.role == Role::Data).map(|file| (file.name.as_str(), file)).collect();
        Self {
            facts,
            by_path,
            by_name,
            by_space,
            log_stems,
            system_pages,
            claimed: HashSet::new(),
            artefacts: Vec::new(),
        }
    }

    fn tablespaces(&mut self, sql: &'a SqlFacts) {
        let Ok(spaces) = sql.tablespaces() else { return };
        let paths = datafile_paths(sql);
        for space in spaces {
            let path = paths.get(&space.space_id);
            let file = path
                .and_then(|path| self.at_path(sql, path))
                .or_else(|| self.by_name.get(format!("{}.ibd", space.name).as_str()).copied())
                .filter(|file| may_hold(file, space.space_id))
                .or_else(|| self.only_file_of(space.space_id));
            let kind = kind_of_space(&space);
            let reported = match kind {
                // MariaDB lists its temporary tablespace as clear even if it encrypts it.
                Kind::TemporaryTablespace if sql.is_mariadb() => switched(sql, Encrypts::TemporaryTablespaces),
                _ => Reported { state: reported_state(&space), by: "tablespaces", switch: None },
            };
            self.add(kind, space.name.to_owned(), file, reported);
            if let Some(last) = self.artefacts.last_mut() {
                last.tablespace = Some(space);
                last.datafile = path.cloned();
                let location = path.map_or(sql.identity.datadir.as_str(), String::as_str);
                last.disk = last.disk.or_else(|| self.facts.host.as_ref()?.layer_of(location));
            }
        }
    }

    fn at_path(&self, sql: &SqlFacts, path: &str) -> Option<&'a FileFact> {
        let below = || path.strip_prefix(sql.identity.datadir.trim_end_matches('/'))?.strip_prefix('/');
        self.by_path.get(path).copied().or_else(|| self.by_name.get(below()?).copied())
    }

    /// The system tablespace has several files. Any other space id has one file, or copies among which we must not
    /// guess.
    fn only_file_of(&self, space_id: u32) -> Option<&'a FileFact> {
        match self.by_space.get(&space_id)?.as_slice() {
            [file] => Some(file),
            _ => None,
        }
    }

    fn files(&mut self) {
        let files = self.facts.files.iter().flat_map(|files| &files.files);
        for file in files {
            if self.claimed.contains(file.path.as_str()) {
                continue;
            }
            if let Some(kind) = self.kind_of_file(file) {
                let reported = self.reported_of(kind, file);
                self.add(kind, file.name.clone(), Some(file), reported);
            }
        }
    }

    fn kind_of_file(&self, file: &FileFact) -> Option<Kind> {
        let kind = match &file.content {
            Content::Tablespace { scan } if is_unused_extension(scan) => return None,
            Content::Tablespace { scan } if is_table_by_name(file, scan) => kind_by_name(file)?,
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
            Content::UnidentifiedTablespace { .. } | Content::Unreadable { .. } | Content::Empty => {
                self.kind_by_name(file)?
            }
            Content::Unknown { .. } if file.role == Role::Temporary => Kind::Spill,
            Content::Unknown { .. } if server_file::is_undo(file.base_name()) => Kind::Undo,
            Content::Unknown { .. } if self.is_numbered_log(file) => Kind::BinaryLog,
            Content::Link { target } if self.leads_away(file, target) => Kind::Table,
            _ => return None,
        };
        Some(match (file.role, kind) {
            (Role::Backup, _) => Kind::Backup,
            // An internal temporary table of the server, such as #sql-temptable-7-5-0.MAD.
            (Role::Temporary, Kind::AriaTable | Kind::PlainTable | Kind::Table) => Kind::Spill,
            _ => kind,
        })
    }

    /// Relay logs have the content of binary logs; only their directory and name distinguish them.
    fn is_relay_log(&self, file: &FileFact) -> bool {
        let base_name = file.base_name();
        let usual = server_file::is_named_as_relay_log(base_name);
        let Some(sql) = &self.facts.sql else { return file.role == Role::RelayLog || usual };
        let listed = sql.rows("binary_logs").is_ok_and(|rows| rows.iter().any(|row| row.text("name") == base_name));
        let relay = sql.variable_or_none(directory::RELAY_LOGS).and_then(|path| path.rsplit('/').next());
        let named = relay.is_some_and(|name| !name.is_empty() && base_name.starts_with(&format!("{name}.")));
        file.role == Role::RelayLog || !listed && (named || usual)
    }

    /// The kind of a file whose bytes do not show it.
    fn kind_by_name(&self, file: &FileFact) -> Option<Kind> {
        kind_by_name(file).or_else(|| {
            let unread = matches!(file.content, Content::Unreadable { .. });
            (unread && self.is_numbered_log(file)).then_some(Kind::BinaryLog)
        })
    }

    /// Named like a binary log of this server, or of most servers.
    fn is_numbered_log(&self, file: &FileFact) -> bool {
        let stem = file.path.rsplit_once('.').map(|(stem, _)| stem);
        let known = stem.is_some_and(|stem| self.log_stems.contains(stem));
        let usual = stem.is_some_and(|stem| stem.ends_with("binlog") || stem.ends_with("-bin"));
        server_file::log_base(file.base_name()).is_some()
            && (known || usual || matches!(file.role, Role::BinaryLog | Role::RelayLog))
    }

    /// A link to a table's file or a schema outside. Links are not followed out of a directory; the server itself lists
    /// its tablespaces and their paths.
    fn leads_away(&self, file: &FileFact, target: &str) -> bool {
        let listed = self.facts.sql.as_ref().is_some_and(|sql| sql.answered("tablespaces"));
        let name = file.base_name();
        let table = server_file::has_rows(name);
        let schema = file.name == name && !name.contains('.');
        let base = Path::new(&file.path).parent().unwrap_or_else(|| Path::new("/"));
        let target = normal(&base.join(target));
        let roots = self.facts.files.iter().flat_map(|files| &files.roots).filter(|root| root.error.is_none());
        let walked = roots.map(|root| Path::new(&root.path)).any(|root| target.starts_with(root));
        !listed && !walked && (table || schema) && file.role == Role::Data
    }

    /// The server's report about files that are not tablespaces.
    fn reported_of(&self, kind: Kind, file: &FileFact) -> Reported {
        let Some(sql) = &self.facts.sql else { return Reported::default() };
        match kind {
            Kind::Redo => switched(sql, Encrypts::Redo),
            Kind::BinaryLog => {
                Reported { state: reported_binary_log(sql, file.base_name()), by: "binary_logs", switch: None }
            }
            Kind::TemporaryTablespace => switched(sql, Encrypts::TemporaryTablespaces),
            _ => Reported::default(),
        }
    }

    /// Logs that the server lists count even if their files were not found.
    fn binary_logs_without_file(&mut self, sql: &'a SqlFacts) {
        let seen: HashSet<String> =
            self.artefacts.iter().filter_map(|a| a.file).map(|file| file.base_name().to_owned()).collect();
        for row in sql.rows("binary_logs").unwrap_or_default() {
            let name = row.text("name");
            if !seen.contains(name) {
                let reported = Reported { state: reported_binary_log(sql, name), by: "binary_logs", switch: None };
                self.add(Kind::BinaryLog, name.to_owned(), None, reported);
            }
        }
    }

    fn redo_without_file(&mut self, sql: &'a SqlFacts) {
        let reported = switched(sql, Encrypts::Redo);
        if reported.state.is_some() && !self.artefacts.iter().any(|a| a.kind == Kind::Redo) {
            self.add(Kind::Redo, "redo log".to_owned(), None, reported);
        }
    }

    fn add(&mut self, kind: Kind, name: String, file: Option<&'a FileFact>, reported: Reported) {
        let disk = file.and_then(|file| self.facts.host.as_ref()?.layer_of(&file.path));
        if let Some(file) = file {
            self.claimed.insert(&file.path);
        }
        let name = file.map_or(name, |file| file.name.clone());
        // A tablespace of zero bytes is neither encrypted nor clear.
        let bytes = file
            .and_then(|file| match kind {
                Kind::Spill => state_of_temporary_file(&file.content),
                Kind::TemporaryTablespace => state_of_temporary(&file.content),
                _ => state_of(&file.content),
            })
            .filter(|state| *state != State::Empty || !is_tablespace(kind));
        let doubt = file.and_then(|file| self.doubt(kind, file, bytes, reported.state));
        let Reported { state: reported, by: reported_by, switch } = reported;
        let (tablespace, datafile) = (None, None);
        self.artefacts.push(Artefact {
            kind,
            name,
            reported,
            tablespace,
            reported_by,
            switch,
            datafile,
            file,
            bytes,
            doubt,
            disk,
        });
    }

    /// Why a damaged file makes the state doubtful. Files that are clear, or that nobody declares encrypted, remain
    /// failures despite damage.
    fn doubt(&self, kind: Kind, file: &FileFact, bytes: Option<State>, reported: Option<State>) -> Option<String> {
        match &file.content {
            Content::Tablespace { scan } if bytes == Some(State::Encrypted) && is_tablespace(kind) => {
                damage(scan, self.system_pages)
            }
            Content::Tablespace { scan } if is_misread(scan) && reported != Some(State::Clear) => {
                Some(undecided(scan).to_owned())
            }
            // The server's report counts for a tablespace that it has created but not written yet.
            Content::UnidentifiedTablespace { why, unwritten: false } if reported == Some(State::Encrypted) => {
                Some(why.clone())
            }
            Content::Unknown { .. } if kind == Kind::BinaryLog => {
                Some("its first bytes are not those of a binary log".to_owned())
            }
            Content::BinaryLog { log, .. } if bytes.is_none() && log.has_no_event() => {
                Some("no event follows its magic: it is cut, or was begun a moment ago".to_owned())
            }
            Content::BinaryLog { .. } if bytes.is_none() => {
                Some("no event after its format description can be read: it is damaged, or cut".to_owned())
            }
            Content::AriaData { scan } if scan.counts.unrecognised > 0 && is_closed(bytes) => Some(format!(
                "{} of its pages are not those of an Aria table: they are damaged",
                scan.counts.unrecognised
            )),
            Content::Redo { scan } if is_without_header(kind, file, scan) && is_closed(bytes) => {
                Some("it has no header, although servers write one before they give a file this name".to_owned())
            }
            Content::Redo { .. } if bytes.is_none() => {
                Some("most of its blocks are those of no known log: its header is damaged".to_owned())
            }
            _ => None,
        }
    }
}

/// Whether the file can belong to the tablespace: the path may belong to another tablespace by now.
fn may_hold(file: &FileFact, space_id: u32) -> bool {
    match &file.content {
        Content::Tablespace { scan } => scan.page0.space_id.0 == space_id,
        _ => true,
    }
}

fn is_without_header(kind: Kind, file: &FileFact, scan: &RedoScan) -> bool {
    kind == Kind::Redo && scan.format == RedoFormat::Blank && server_file::is_redo_with_header(file.base_name())
}

/// Whether no byte of a file was seen to be clear.
const fn is_closed(bytes: Option<State>) -> bool {
    !matches!(bytes, Some(State::Clear | State::Partly))
}
