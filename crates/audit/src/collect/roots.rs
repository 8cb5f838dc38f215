//! Which places hold the server's files: the data directory, and wherever variables point.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::facts::host::Role;
use crate::facts::sql::SqlFacts;
pub(super) use crate::path::normal;

/// Which files of a directory belong to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of them, at any depth.
    Tree,
    /// Those directly in it whose name begins with one of these.
    Prefixes(Vec<String>),
    /// As above, and only those of the server's own user: the directory is everybody's.
    OwnPrefixes(Vec<String>),
    /// The one file itself.
    File,
}

/// A place to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Absolute, as the server names it; the file itself for [`Extent::File`].
    pub(super) path: PathBuf,
    pub(super) role: Role,
    /// The variable or option that points there.
    pub(super) via: String,
    pub(super) extent: Extent,
    /// Which log it is, if it is one.
    pub(super) log: Option<&'static str>,
}

impl Place {
    fn new(path: PathBuf, role: Role, via: &str, extent: Extent) -> Self {
        Self { path, role, via: via.to_owned(), extent, log: None }
    }

    /// The directory that is read.
    pub(super) fn directory(&self) -> &Path {
        match self.extent {
            Extent::File => self.path.parent().unwrap_or(&self.path),
            _ => &self.path,
        }
    }

    /// Whether a file at `path` is one of this place.
    pub(super) fn claims(&self, path: &Path) -> bool {
        match &self.extent {
            Extent::Tree => path.starts_with(&self.path),
            Extent::File => path == self.path,
            Extent::Prefixes(prefixes) | Extent::OwnPrefixes(prefixes) => {
                path.strip_prefix(&self.path).is_ok_and(|below| begins(below, prefixes))
            }
        }
    }
}

fn begins(below: &Path, prefixes: &[String]) -> bool {
    let first = below.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
    first.is_some_and(|name| prefixes.iter().any(|prefix| name.starts_with(prefix.as_str())))
}

/// The places of a running server. The data directory comes first.
pub(super) fn of_server(sql: &SqlFacts, datadir: &Path, backup_dirs: &[PathBuf]) -> Vec<Place> {
    of_variables(&|name| sql.variable_or_none(name), &key_store_files(sql, datadir), datadir, backup_dirs)
}

/// The places that variables name, whoever told them.
pub(super) fn of_variables<'v>(
    variable: &dyn Fn(&str) -> Option<&'v str>,
    key_stores: &[PathBuf],
    datadir: &Path,
    backup_dirs: &[PathBuf],
) -> Vec<Place> {
    let mut places = vec![Place::new(datadir.to_owned(), Role::Data, "datadir", Extent::Tree)];
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    let absolute = |value: &str| normal(&datadir.join(value));
    for (name, role, prefixes) in DIRECTORIES {
        // `tmpdir` may be a list.
        for value in variable(name).into_iter().flat_map(|value| value.split(':')) {
            let prefixes = prefixes.iter().map(|prefix| (*prefix).to_owned()).collect();
            let extent = if *role == Role::Temporary && *name != "innodb_temp_tablespaces_dir" {
                Extent::OwnPrefixes(prefixes)
            } else {
                Extent::Prefixes(prefixes)
            };
            places.push(Place::new(absolute(value), *role, name, extent));
        }
    }
    for (name, role) in BASENAMES {
        let Some(base) = variable(name).map(absolute) else { continue };
        let (Some(parent), Some(file)) = (base.parent(), base.file_name()) else { continue };
        let prefix = format!("{}.", file.to_string_lossy());
        places.push(Place::new(parent.to_owned(), *role, name, Extent::Prefixes(vec![prefix])));
    }
    for (name, log) in LOGS {
        // `log_error` is `stderr` when the service manager takes it.
        if let Some(value) = variable(name).filter(|value| *value != "stderr") {
            places.push(Place { log: Some(log), ..Place::new(absolute(value), Role::Log, name, Extent::File) });
        }
    }
    for (name, role) in DATA_FILES {
        let Some(value) = variable(name) else { continue };
        places.push(Place::new(absolute(value), *role, name, Extent::File));
    }
    for (role, name) in KEY_FILES.iter().map(|n| (Role::Key, n)).chain(TLS_FILES.iter().map(|n| (Role::Tls, n))) {
        let Some(value) = variable(name).map(|value| value.trim_start_matches("FILE:")) else { continue };
        places.push(Place::new(absolute(value), role, name, Extent::File));
    }
    for path in key_stores {
        places.push(Place::new(path.clone(), Role::Key, "keyring component's Data_file", Extent::File));
    }
    if let Some(value) = variable("secure_file_priv").filter(|value| !value.eq_ignore_ascii_case("null")) {
        places.push(Place::new(absolute(value), Role::Backup, "secure_file_priv", Extent::Tree));
    }
    places.extend(of_backups(backup_dirs));
    without_repeats(places)
}

/// Files beside the program and among the plug-ins that say where keys are, and the copy of a
/// key file that the plug-in leaves when it was interrupted.
pub(super) fn key_configurations(sql: &SqlFacts, datadir: &Path, program: Option<&Path>) -> Vec<Place> {
    const COMPONENTS: [&str; 4] = [
        "component_keyring_file",
        "component_keyring_encrypted_file",
        "component_keyring_vault",
        "component_keyring_kmip",
    ];
    let file = |path: PathBuf, via: &str| Place::new(path, Role::Key, via, Extent::File);
    let mut places = Vec::new();
    places.extend(program.and_then(Path::parent).map(|dir| file(dir.join("mysqld.my"), "beside the server's program")));
    if let Some(dir) = sql.variable_or_none("plugin_dir").filter(|dir| !dir.is_empty()) {
        places.extend(
            COMPONENTS.iter().map(|name| file(normal(&datadir.join(dir).join(format!("{name}.cnf"))), "plugin_dir")),
        );
    }
    let plugin = sql.variable_or_none("keyring_file_data").filter(|keys| !keys.is_empty());
    let stores = key_store_files(sql, datadir).into_iter().chain(plugin.map(|keys| normal(&datadir.join(keys))));
    places.extend(stores.map(|keys| file(PathBuf::from(format!("{}.backup", keys.display())), "beside the key file")));
    places
}

/// Data files outside the data directory, by their directories.
pub(super) fn of_external_files(sql: &SqlFacts, datadir: &Path) -> Vec<Place> {
    let files = datafiles(sql, datadir).into_iter().filter(|file| !file.starts_with(datadir));
    let parents: std::collections::BTreeSet<PathBuf> = files.filter_map(|f| Some(f.parent()?.to_owned())).collect();
    let place = |parent| Place::new(parent, Role::ExternalData, "data file", Extent::Tree);
    parents.into_iter().map(place).collect()
}

/// Directories that the operator named, relative to where we run.
pub(super) fn of_backups(dirs: &[PathBuf]) -> Vec<Place> {
    let absolute = |dir: &PathBuf| normal(&std::path::absolute(dir).unwrap_or_else(|_| dir.clone()));
    dirs.iter().map(|dir| Place::new(absolute(dir), Role::Backup, "--backup", Extent::Tree)).collect()
}

/// The places of a directory without a server.
pub(super) fn of_directory(dir: &Path, role: Role) -> Vec<Place> {
    vec![Place::new(dir.to_owned(), role, "the command line", Extent::Tree)]
}

/// Variables that name a directory, its role, and what the server calls its files there.
const DIRECTORIES: &[(&str, Role, &[&str])] = &[
    ("innodb_log_group_home_dir", Role::Redo, &["ib_logfile", "#innodb_redo", "#ib_redo", "ib_redo"]),
    ("innodb_undo_directory", Role::Undo, &["undo"]),
    ("innodb_doublewrite_dir", Role::Doublewrite, &["#ib_"]),
    ("innodb_data_home_dir", Role::Data, &["ibdata", "ibtmp"]),
    ("innodb_temp_tablespaces_dir", Role::Temporary, &["temp_"]),
    ("tmpdir", Role::Temporary, TEMPORARY),
    ("innodb_tmpdir", Role::Temporary, TEMPORARY),
    ("replica_load_tmpdir", Role::Temporary, &["SQL_LOAD"]),
    ("slave_load_tmpdir", Role::Temporary, &["SQL_LOAD"]),
    ("aria_log_dir_path", Role::Redo, &["aria_log"]),
];

/// Variables that name a file of data. Percona Server 5.7 to 8.0.19 lets its parallel doublewrite file
/// have any name.
const DATA_FILES: &[(&str, Role)] = &[("innodb_parallel_doublewrite_path", Role::Doublewrite)];

/// Sort runs, binary log caches, DDL buffers, temporary tables.
const TEMPORARY: &[&str] = &["#sql", "ib", "MY", "ML", "mysql_temptable", "Innodb Merge"];

const BASENAMES: &[(&str, Role)] = &[("log_bin_basename", Role::BinaryLog), ("relay_log_basename", Role::RelayLog)];

const LOGS: &[(&str, &str)] = &[
    ("general_log_file", "general"),
    ("slow_query_log_file", "slow"),
    ("log_error", "error"),
    ("audit_log_file", "audit"),
    ("audit_log_filter.file", "audit"),
    ("audit_log_filter_file", "audit"),
    ("server_audit_file_path", "audit"),
    ("log_slow_query_file", "slow"),
];

/// Files with keys, and the file that unlocks them.
const KEY_FILES: &[&str] = &[
    "file_key_management_filename",
    "file_key_management_filekey",
    "keyring_file_data",
    "keyring_encrypted_file_data",
    "keyring_vault_config",
];

/// Certificates and private keys of the listeners.
pub(super) const TLS_FILES: &[&str] = &[
    "ssl_ca",
    "ssl_cert",
    "ssl_key",
    "admin_ssl_ca",
    "admin_ssl_cert",
    "admin_ssl_key",
    "mysqlx_ssl_ca",
    "mysqlx_ssl_cert",
    "mysqlx_ssl_key",
    "group_replication_recovery_ssl_ca",
    "group_replication_recovery_ssl_cert",
    "group_replication_recovery_ssl_key",
    "clone_ssl_ca",
    "clone_ssl_cert",
    "clone_ssl_key",
];

/// Files of keyring components, as `performance_schema.keyring_component_status` names them.
pub(super) fn key_store_files(sql: &SqlFacts, datadir: &Path) -> Vec<PathBuf> {
    let rows = sql.rows("keyring_status").unwrap_or_default();
    let file = |row: &crate::facts::sql::Row<'_>| ["Data_file", "Config_file"].contains(&row.text("key"));
    let path = |row: &crate::facts::sql::Row<'_>| {
        row.get("value").filter(|v| !v.is_empty() && !v.starts_with('<')).map(|v| normal(&datadir.join(v)))
    };
    rows.iter().filter(|row| file(row)).filter_map(path).collect()
}

/// The data files that a server names, absolute.
pub(super) fn datafiles(sql: &SqlFacts, datadir: &Path) -> Vec<PathBuf> {
    let rows = sql.rows("datafiles").unwrap_or_default();
    rows.iter().filter_map(|row| row.get("path")).map(|path| normal(&datadir.join(path))).collect()
}

/// The first of those with equal path, role and extent.
fn without_repeats(places: Vec<Place>) -> Vec<Place> {
    let mut kept: Vec<Place> = Vec::new();
    let mut seen = BTreeMap::new();
    for place in places {
        let key = (place.path.clone(), place.role, format!("{:?}", place.extent));
        if seen.insert(key, ()).is_none() {
            kept.push(place);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::mysql;

    fn places(made: &crate::testing::Made) -> Vec<Place> {
        of_server(made.0.sql.as_ref().unwrap(), Path::new("/var/lib/mysql"), &[])
    }

    fn find<'p>(places: &'p [Place], via: &str) -> &'p Place {
        places.iter().find(|place| place.via == via).unwrap()
    }

    #[test]
    fn relative_paths_are_relative_to_the_data_directory() {
        let made = mysql()
            .variable("innodb_undo_directory", "./")
            .variable("ssl_cert", "server-cert.pem")
            .variable("log_error", "./err/../db.err");
        let places = places(&made);
        assert_eq!(find(&places, "innodb_undo_directory").path, Path::new("/var/lib/mysql"));
        assert_eq!(find(&places, "ssl_cert").path, Path::new("/var/lib/mysql/server-cert.pem"));
        assert_eq!(find(&places, "log_error").path, Path::new("/var/lib/mysql/db.err"));
    }

    #[test]
    fn of_shared_directories_only_the_servers_names_are_taken() {
        let places = places(&mysql().variable("log_bin_basename", "/var/log/mysql/binlog").variable("tmpdir", "/tmp"));
        let binlog = find(&places, "log_bin_basename");
        assert!(binlog.claims(Path::new("/var/log/mysql/binlog.000001")));
        assert!(!binlog.claims(Path::new("/var/log/mysql/error.log")));
        assert!(matches!(find(&places, "tmpdir").extent, Extent::OwnPrefixes(_)));
    }

    #[test]
    fn a_key_in_a_variable_is_no_path() {
        let made =
            mysql().variable("file_key_management_filekey", "FILE:/etc/mysql/pw").variable("secure_file_priv", "NULL");
        let places = places(&made);
        assert_eq!(find(&places, "file_key_management_filekey").path, Path::new("/etc/mysql/pw"));
        assert!(places.iter().all(|place| place.role != Role::Backup));
    }
}
