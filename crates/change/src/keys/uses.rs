//! Which keys files ask for, by their headers.

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    path::{Path, PathBuf},
    thread,
};

use files::Reader;
use innodb::{
    SpaceId, doublewrite,
    verify::{Check, Verdict},
};
use serde::Serialize;
use verify::{Depth, FileResult, Plan, Settings, Unread};

use super::back_end::Holding;
use crate::{
    Session,
    rotate::{Error, data_files, proof::key_names},
};

/// Files that are named as examples.
const EXAMPLES: usize = 3;

/// What kind of file asks for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Where {
    /// Tables, general tablespaces, `mysql.ibd`.
    Tablespace,
    /// MariaDB's `ibdata1`.
    System,
    /// Undo tablespaces.
    Undo,
    /// Temporary tablespaces, which are made anew at every start.
    Temporary,
    /// The redo log.
    Redo,
    /// Binary logs.
    BinaryLog,
    /// Relay logs.
    RelayLog,
    /// Pages in doublewrite files, by the tablespaces that they are of.
    Doublewrite,
    /// Aria tables.
    Aria,
    /// Anything else.
    Other,
}

/// Files of one kind that ask for a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Uses {
    /// How many.
    pub files: u64,
    /// How many of them the held keys do not open.
    pub shut: u64,
    /// Pages, in doublewrite files only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages: Option<u64>,
    /// The first of them.
    pub examples: Vec<PathBuf>,
}

/// By name of the key and kind of file.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) by_key: BTreeMap<String, BTreeMap<Where, Uses>>,
    pub(super) files: u64,
    pub(super) unread: Vec<Unread>,
}

impl Asked {
    /// By the files of a running server.
    pub(super) fn by_server(session: &mut Session<'_>, places: &[PathBuf], holding: &Holding) -> Result<Self, Error> {
        let relay = session.ask("SHOW GLOBAL VARIABLES LIKE 'relay_log_basename'")?;
        let relay = relay.value(0, "Value").and_then(|base| Path::new(base).file_name()?.to_str().map(str::to_owned));
        Ok(Self::by_files(&Plan::scan_server(places), holding, relay.as_deref()))
    }

    /// By the files of a backup, in a directory. One without any is no backup, or is not mounted: it must not count as one
    /// that needs no key.
    pub(super) fn by_backup(directory: &Path, holding: &Holding) -> Result<Self, Error> {
        let listed = std::fs::read_dir(directory);
        listed.map_err(|error| Error::Unread { path: directory.to_owned(), reason: error.to_string() })?;
        let asked = Self::by_files(&Plan::scan(&[directory.to_owned()]), holding, None);
        if asked.files == 0 && asked.unread.is_empty() {
            let reason = "no file of a server here; the backup may not be mounted".to_owned();
            return Err(Error::Unread { path: directory.to_owned(), reason });
        }
        Ok(asked)
    }

    fn by_files(plan: &Plan, holding: &Holding, relay: Option<&str>) -> Self {
        let jobs = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let settings = Settings { jobs, depth: Depth::FirstPages, progress: &|_| {} };
        let report = verify::run(plan, &holding.keys, &settings);
        let mut asked = Self { files: report.files.len() as u64, ..Self::default() };
        // What a server dropped meanwhile is no file any more.
        asked.unread = report.errors.into_iter().filter(|unread| unread.path.symlink_metadata().is_ok()).collect();
        for file in &report.files {
            for name in key_names(file) {
                let shut = holding.readable && (is_shut(file) || !holding.holds(&name));
                asked.add(name, place(file, relay), &file.path, shut);
            }
        }
        let slots = report.files.iter().filter(|file| file.kind == "doublewrite").collect::<Vec<_>>();
        if !slots.is_empty() {
            asked.add_doublewrite(&slots, &spaces(&report.files));
        }
        asked
    }

    fn add(&mut self, name: String, place: Where, path: &Path, shut: bool) -> &mut Uses {
        let uses = self.by_key.entry(name).or_default().entry(place).or_default();
        uses.files = uses.files.saturating_add(1);
        uses.shut = uses.shut.saturating_add(u64::from(shut));
        if uses.examples.len() < EXAMPLES {
            uses.examples.push(path.to_owned());
        }
        uses
    }

    /// Copies of pages are sealed with the keys of their tablespaces.
    fn add_doublewrite(&mut self, files: &[&FileResult], spaces: &BTreeMap<SpaceId, String>) {
        for file in files {
            let Ok(reader) = Reader::open(&file.path) else { continue };
            let name = file.path.file_name().unwrap_or_default().to_string_lossy();
            let Ok(scan) = doublewrite::scan(&reader, doublewrite::page_bytes_of_name(&name), u64::MAX) else {
                continue;
            };
            let mut pages: BTreeMap<&String, u64> = BTreeMap::new();
            for copies in scan.copies.by_space.iter().filter(|copies| copies.encrypted > 0) {
                if let Some(key) = spaces.get(&copies.space_id) {
                    *pages.entry(key).or_default() += copies.encrypted;
                }
            }
            for (key, pages) in pages {
                let uses = self.add(key.clone(), Where::Doublewrite, &file.path, false);
                *uses.pages.get_or_insert(0) += pages;
            }
        }
    }

    /// As the register keeps them.
    pub(super) fn counts(&self) -> BTreeMap<String, BTreeMap<String, u64>> {
        let counts =
            |uses: &BTreeMap<Where, Uses>| uses.iter().map(|(place, uses)| (place.name(), uses.files)).collect();
        self.by_key.iter().map(|(name, uses)| (name.clone(), counts(uses))).collect()
    }
}

impl Where {
    /// In JSON and in the register.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Tablespace => "tablespace",
            Self::System => "system",
            Self::Undo => "undo",
            Self::Temporary => "temporary",
            Self::Redo => "redo",
            Self::BinaryLog => "binary-log",
            Self::RelayLog => "relay-log",
            Self::Doublewrite => "doublewrite",
            Self::Aria => "aria",
            Self::Other => "other",
        }
        .to_owned()
    }
}

/// Damage of another kind is no fault of the key.
fn is_shut(file: &FileResult) -> bool {
    let by_key = |check| matches!(check, Check::Key | Check::KeyOpens);
    matches!(file.verdict, Verdict::MissingKey | Verdict::WrongKey)
        || file.findings.iter().any(|finding| by_key(finding.check))
}

fn place(file: &FileResult, relay: Option<&str>) -> Where {
    let name = file.path.file_name().unwrap_or_default().to_string_lossy();
    match (file.kind.as_str(), file.tablespace.as_deref()) {
        ("tablespace", Some("undo")) => Where::Undo,
        // MariaDB's look like tables but for their names.
        ("tablespace", _) if innodb::file_kind::is_mariadb_undo(&name) => Where::Undo,
        ("tablespace", Some("system")) => Where::System,
        ("tablespace", Some(kind)) if kind.ends_with("temporary") => Where::Temporary,
        ("tablespace", _) => Where::Tablespace,
        ("redo", _) => Where::Redo,
        ("binlog", _) if relay.is_some_and(|relay| name.starts_with(relay)) || name.contains("relay") => {
            Where::RelayLog
        }
        ("binlog", _) => Where::BinaryLog,
        ("aria-index" | "aria-data", _) => Where::Aria,
        _ => Where::Other,
    }
}

/// Which key a tablespace asks for, by its number.
fn spaces(files: &[FileResult]) -> BTreeMap<SpaceId, String> {
    let tablespaces = files.iter().filter(|file| file.kind == "tablespace");
    let keyed = tablespaces.filter_map(|file| Some((file, key_names(file).pop()?)));
    keyed.filter_map(|(file, name)| Some((data_files::page0(&file.path)?.space_id, name))).collect()
}
