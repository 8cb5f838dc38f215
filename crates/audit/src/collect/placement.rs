//! Locations of a server's files: every relevant path, its disk, and the amount of data. No file is read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use luks::plan;
use server::dialect::directory;
use server::dialect::variable;
use server::option_file::{Entries, Value};
use server::{option_group, option_name};

use super::disks::Disks;
use super::host::wanted;
use super::location::{locate, scan_roots};
use super::request::LiveOptions;
use super::roots::{self, ScanRoot};
use super::sql;
use super::view::{Host, View};
use crate::Error;
use crate::facts::host::{DiskLayer, PathOnDisk, Role, Swap};

/// The default data directory of the servers' packages.
const USUAL_DATADIR: &str = "/var/lib/mysql";
/// Counting stops after this many files below one path.
const MAX_FILES: usize = 5_000_000;

/// The paths of a server.
#[derive(Debug, Clone)]
pub struct Placement {
    /// The data directory.
    pub datadir: PathBuf,
    /// All relevant paths.
    pub paths: Vec<PathUse>,
    /// Active swap areas.
    pub swaps: Vec<Swap>,
    /// Why the swap areas could not be read.
    pub swaps_unseen: Option<String>,
    /// Option files that exist and could not be read, with the reason.
    pub unread: Vec<(String, String)>,
}

/// A path, and the data in it.
#[derive(Debug, Clone)]
pub struct PathUse {
    /// The disk below it.
    pub on_disk: PathOnDisk,
    /// Bytes of the server's files there; `None` if they cannot be counted.
    pub bytes: Option<u64>,
}

impl Placement {
    /// Input for a plan to encrypt the server's disk. `disk` is the new disk; `unit` is the server's unit, if it
    /// differs from the usual one.
    #[must_use]
    pub fn sources(&self, disk: Option<plan::Disk>, name: String, unit: Option<String>) -> plan::PlanInput {
        plan::PlanInput {
            datadir: self.datadir.to_string_lossy().into_owned(),
            paths: self.paths.iter().map(path).collect(),
            swaps: self.swaps.iter().map(swap).collect(),
            disk,
            machine: plan::Machine::this(),
            name,
            unit: unit.unwrap_or_else(|| super::unit::usual(&self.datadir).to_owned()),
        }
    }
}

fn path(located: &PathUse) -> plan::Path {
    let at = &located.on_disk;
    plan::Path {
        role: at.role.as_str().to_owned(),
        path: at.resolved.clone(),
        via: at.via.clone(),
        mount: at.mount_point.clone(),
        fs_type: at.fs_type.clone(),
        chain: at.chain.clone(),
        state: state(&at.layer),
        bytes: located.bytes,
    }
}

fn swap(swap: &Swap) -> plan::Path {
    plan::Path {
        role: "swap".to_owned(),
        path: swap.name.clone(),
        via: "/proc/swaps".to_owned(),
        mount: String::new(),
        fs_type: String::new(),
        chain: Vec::new(),
        state: state(&swap.layer),
        bytes: None,
    }
}

fn state(layer: &DiskLayer) -> plan::Protection {
    match layer {
        DiskLayer::Encrypted { by } => plan::Protection::Encrypted(by.clone()),
        DiskLayer::Plain => plan::Protection::Plain,
        DiskLayer::Memory => plan::Protection::Memory,
        DiskLayer::Unknown { why } => plan::Protection::Unknown(why.clone()),
    }
}

/// The paths of a running server, which is queried.
///
/// # Errors
/// [`Error::Server`]; [`Error::NotADataDirectory`] if the server is not on this host.
pub fn from_server(options: &LiveOptions<'_>) -> Result<Placement, Error> {
    let (answers, host) = (sql::query_server(options)?, Host::this());
    let seen = locate(&host, options, &answers).map_err(|gap| Error::NotADataDirectory {
        path: PathBuf::from(&answers.sql.identity.datadir),
        why: format!("{}; {}", gap.why, gap.remedy),
    })?;
    let mut scan_roots = scan_roots(&host, options, &answers.sql, &seen);
    scan_roots.extend(roots::from_external_files(&answers.sql, &seen.datadir));
    let disks = Disks::read(&host, seen.process.as_ref().map(|process| process.pid));
    Ok(placement(seen.datadir.clone(), &scan_roots, &seen.view, &disks))
}

/// The paths of a stopped server, from option files.
///
/// # Errors
/// [`Error::NotADataDirectory`] if the named data directory does not exist.
pub fn from_option_files(
    files: &[PathBuf],
    datadir: Option<&Path>,
    backup_dirs: &[PathBuf],
) -> Result<Placement, Error> {
    let mut unread = Vec::new();
    let mut variables = BTreeMap::new();
    for file in files {
        match Entries::read(file) {
            Ok(read) => {
                read.entries.into_iter().filter(|entry| option_group::is_server(&entry.group)).for_each(|entry| {
                    let value = match entry.value {
                        Value::Text(text) => text,
                        _ => String::new(),
                    };
                    variables.insert(variable_of(&entry.key), value);
                })
            }
            Err(error) => unread.push((file.display().to_string(), error.to_string())),
        }
    }
    let named = variables.get("datadir").filter(|value| !value.is_empty()).map(PathBuf::from);
    let datadir = datadir.map(Path::to_owned).or(named).unwrap_or_else(|| PathBuf::from(USUAL_DATADIR));
    let not = |error: std::io::Error| Error::NotADataDirectory { path: datadir.clone(), why: error.to_string() };
    let datadir = fs::canonicalize(&datadir).map_err(not)?;
    View::ours().open_dir(&datadir).map_err(not)?;
    let scan_roots = roots::from_variables(&|name| variables.get(name).map(String::as_str), &[], &datadir, backup_dirs);
    let disks = Disks::read(&Host::this(), None);
    Ok(Placement { unread, ..placement(datadir, &scan_roots, &View::ours(), &disks) })
}

fn placement(datadir: PathBuf, scan_roots: &[ScanRoot], view: &View, disks: &Disks) -> Placement {
    let bytes_of = |path: &Path, role: Role| {
        let current: Vec<&ScanRoot> =
            scan_roots.iter().filter(|p| p.role == role && p.directory() == path || p.path == path).collect();
        bytes(&view.reach(path), &|below: &Path| current.iter().any(|scan_root| scan_root.claims(&path.join(below))))
    };
    let located = |((path, role), via): ((PathBuf, Role), String)| PathUse {
        bytes: bytes_of(&path, role),
        on_disk: disks.below(&path, role, &via),
    };
    let swaps = disks.swaps();
    Placement {
        paths: wanted(view, scan_roots).into_iter().map(located).collect(),
        swaps_unseen: swaps.as_ref().err().cloned(),
        swaps: swaps.unwrap_or_default(),
        datadir,
        unread: Vec::new(),
    }
}

/// Bytes on disk of the server's files below `root`, on its file system only, each file once.
fn bytes(root: &Path, claims: &dyn Fn(&Path) -> bool) -> Option<u64> {
    let top = fs::metadata(root).ok()?;
    if top.is_file() {
        return Some(top.blocks().saturating_mul(512));
    }
    let (mut total, mut seen, mut todo) = (0_u64, BTreeSet::new(), vec![root.to_owned()]);
    while let Some(directory) = todo.pop() {
        for entry in fs::read_dir(&directory).ok()? {
            let entry = entry.ok()?;
            let path = entry.path();
            let (Ok(metadata), Ok(below)) = (fs::symlink_metadata(&path), path.strip_prefix(root)) else { continue };
            if metadata.dev() != top.dev() || !claims(below) {
                continue;
            }
            if metadata.is_dir() {
                todo.push(path);
            } else if seen.insert(metadata.ino()) {
                total = total.saturating_add(metadata.blocks().saturating_mul(512));
            }
            if seen.len() > MAX_FILES {
                return None;
            }
        }
    }
    Some(total)
}

/// The variable that an option sets; two have other names.
fn variable_of(option: &str) -> String {
    let name = option_name::with_underscores(option);
    let name = option_name::without_loose(&name);
    match name.strip_prefix("maximum_").unwrap_or(name) {
        variable::LOG_BIN => directory::BINARY_LOGS.to_owned(),
        "relay_log" => directory::RELAY_LOGS.to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_files_of_a_server_that_is_down() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        for sub in ["data/sakila", "logs", "undo"] {
            fs::create_dir_all(root.join(sub)).unwrap();
        }
        fs::write(root.join("data/sakila/actor.ibd"), [7; 8192]).unwrap();
        fs::write(root.join("logs/binlog.000001"), [7; 4096]).unwrap();
        fs::write(root.join("logs/other"), [7; 4096]).unwrap();
        let file = root.join("my.cnf");
        let text = format!(
            "[client]\ndatadir=/wrong\n[mysqld]\ndatadir={0}/data\ninnodb_undo_directory=../undo\n\
             [client-server]\nlog-bin={0}/logs/binlog\n[mariadb-client]\ndatadir=/wrong\n",
            root.display()
        );
        fs::write(&file, text).unwrap();
        let placement = from_option_files(&[file, root.join("gone")], None, &[]).unwrap();
        let found: Vec<(Role, &str, Option<u64>)> =
            placement.paths.iter().map(|p| (p.on_disk.role, p.on_disk.path.as_str(), p.bytes)).collect();
        let path = |name: &str| root.join(name).to_string_lossy().into_owned();
        assert!(found.contains(&(Role::Data, &path("data"), Some(8192))), "{found:?}");
        assert!(found.contains(&(Role::Undo, &path("undo"), Some(0))), "{found:?}");
        assert!(found.contains(&(Role::BinaryLog, &path("logs"), Some(4096))), "{found:?}");
        assert_eq!(placement.unread.len(), 1);
    }

    #[test]
    fn no_data_directory_is_an_error() {
        assert!(from_option_files(&[], Some(Path::new("/nonexistent")), &[]).is_err());
    }
}
