//! Directories and files of a server: the data directory, and whatever variables name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use innodb::server_file;

use crate::facts::host::Role;
use crate::facts::sql::SqlFacts;

pub(super) use crate::path::normal;
use keyring::{COMPONENT_MANIFEST, CONFIGURED_COMPONENTS};
use server::ProviderOptions;
use server::dialect::variable;
use server::dialect::{
    directory,
    key_store::{Component, KEY_FILE_VARIABLES, KEYRING_PLUGIN_FILE, named_file},
};

/// Which files of a directory belong to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Extent {
    /// All files, at any depth.
    Tree,
    /// Files directly in it whose names have one of these prefixes.
    Prefixes(Vec<String>),
    /// The same, but only files of the server's user: the directory is shared.
    ServerPrefixes(Vec<String>),
    /// A single file.
    File,
}

/// A directory or file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScanRoot {
    /// Absolute path according to the server; for [`Extent::File`] that of the file.
    pub(super) path: PathBuf,
    pub(super) role: Role,
    /// The variable or option that names it.
    pub(super) via: String,
    pub(super) extent: Extent,
    /// Kind of log, if it is one.
    pub(super) log: Option<&'static str>,
}

impl ScanRoot {
    fn new(path: PathBuf, role: Role, via: &str, extent: Extent) -> Self {
        Self { path, role, via: via.to_owned(), extent, log: None }
    }

    /// The directory to read.
    pub(super) fn directory(&self) -> &Path {
        match self.extent {
            Extent::File => self.path.parent().unwrap_or(&self.path),
            _ => &self.path,
        }
    }

    /// Whether the file at `path` belongs to it.
    pub(super) fn claims(&self, path: &Path) -> bool {
        match &self.extent {
            Extent::Tree => path.starts_with(&self.path),
            Extent::File => path == self.path,
            Extent::Prefixes(prefixes) | Extent::ServerPrefixes(prefixes) => {
                path.strip_prefix(&self.path).is_ok_and(|below| begins(below, prefixes))
            }
        }
    }
}

fn begins(below: &Path, prefixes: &[String]) -> bool {
    let first = below.components().next().map(|part| part.as_os_str().to_string_lossy().into_owned());
    first.is_some_and(|name| prefixes.iter().any(|prefix| name.starts_with(prefix.as_str())))
}

/// The roots of a running server, the data directory first.
pub(super) fn from_server(sql: &SqlFacts, datadir: &Path, backup_dirs: &[PathBuf]) -> Vec<ScanRoot> {
    from_variables(&|name| sql.variable_or_none(name), &key_store_files(sql, datadir), datadir, backup_dirs)
}

/// The roots that variables name; `value_of` gives a variable's value.
pub(super) fn from_variables<'v>(
    value_of: &dyn Fn(&str) -> Option<&'v str>,
    key_stores: &[PathBuf],
    datadir: &Path,
    backup_dirs: &[PathBuf],
) -> Vec<ScanRoot> {
    let named = NamedPaths { value_of, datadir };
    let mut roots = vec![ScanRoot::new(datadir.to_owned(), Role::Data, "datadir", Extent::Tree)];
    roots.extend(named.directories());
    roots.extend(named.logs());
    roots.extend(DATA_FILES.iter().filter_map(|(name, role)| named.file(name, *role)));
    for root in named.system_tablespaces() {
        if !roots.iter().any(|other| other.claims(&root.path)) {
            roots.push(root);
        }
    }
    roots.extend(named.keys());
    roots.extend(TLS_FILES.iter().filter_map(|name| named.file(name, Role::Tls)));
    for path in key_stores {
        roots.push(ScanRoot::new(path.clone(), Role::Key, "keyring component's Data_file", Extent::File));
    }
    roots.extend(named.exports());
    roots.extend(from_backups(backup_dirs));
    without_repeats(roots)
}

/// Paths in the values of variables; relative ones are below the data directory.
struct NamedPaths<'a, 'v> {
    value_of: &'a dyn Fn(&str) -> Option<&'v str>,
    datadir: &'a Path,
}

impl<'v> NamedPaths<'_, 'v> {
    fn value(&self, name: &str) -> Option<&'v str> {
        (self.value_of)(name).filter(|value| !value.is_empty())
    }

    fn absolute(&self, value: &str) -> PathBuf {
        normal(&self.datadir.join(value))
    }

    fn file(&self, name: &str, role: Role) -> Option<ScanRoot> {
        Some(ScanRoot::new(self.absolute(self.value(name)?), role, name, Extent::File))
    }

    /// Directories, and files that begin with a path.
    fn directories(&self) -> Vec<ScanRoot> {
        let mut roots = Vec::new();
        for (name, role, prefixes) in DIRECTORIES {
            // `tmpdir` may be a list.
            for value in self.value(name).into_iter().flat_map(|value| value.split(':')) {
                let prefixes = prefixes.iter().map(|prefix| (*prefix).to_owned()).collect();
                let extent = if *role == Role::Temporary && *name != "innodb_temp_tablespaces_dir" {
                    Extent::ServerPrefixes(prefixes)
                } else {
                    Extent::Prefixes(prefixes)
                };
                roots.push(ScanRoot::new(self.absolute(value), *role, name, extent));
            }
        }
        for (name, role) in BASENAMES {
            let Some(base) = self.value(name).map(|value| self.absolute(value)) else { continue };
            let (Some(parent), Some(file)) = (base.parent(), base.file_name()) else { continue };
            let prefix = format!("{}.", file.to_string_lossy());
            roots.push(ScanRoot::new(parent.to_owned(), *role, name, Extent::Prefixes(vec![prefix])));
        }
        let provider = ProviderOptions::parse(self.value(variable::WSREP_PROVIDER_OPTIONS).unwrap_or_default());
        if let Some(cache) = provider.get("gcache.dir").filter(|cache| !cache.is_empty()) {
            let prefixes = [server_file::GALERA_CACHE, server_file::GALERA_PAGE].map(str::to_owned).into();
            roots.push(ScanRoot::new(self.absolute(cache), Role::Data, "gcache.dir", Extent::Prefixes(prefixes)));
        }
        roots
    }

    /// `log_error` is `stderr` if the service manager collects it.
    fn logs(&self) -> Vec<ScanRoot> {
        let root = |name: &'static str, log: &'static str| {
            let path = self.absolute(self.value(name).filter(|value| *value != "stderr")?);
            Some(ScanRoot { log: Some(log), ..ScanRoot::new(path, Role::Log, name, Extent::File) })
        };
        LOGS.iter().filter_map(|(name, log)| root(name, log)).collect()
    }

    fn system_tablespaces(&self) -> Vec<ScanRoot> {
        let home = self.datadir.join(self.value(directory::SYSTEM).unwrap_or_default());
        let files = |name: &'static str| {
            let listed = server_file::listed_data_files(self.value(name).unwrap_or_default());
            listed
                .map(|file| ScanRoot::new(normal(&home.join(file)), Role::Data, name, Extent::File))
                .collect::<Vec<_>>()
        };
        [variable::INNODB_DATA_FILE_PATH, "innodb_temp_data_file_path"].into_iter().flat_map(files).collect()
    }

    fn keys(&self) -> Vec<ScanRoot> {
        let root = |name: &str| {
            let path = named_file(name, self.value(name)?)?;
            Some(ScanRoot::new(self.absolute(path), Role::Key, name, Extent::File))
        };
        KEY_FILE_VARIABLES.iter().filter_map(|(name, _)| root(name)).collect()
    }

    /// The directory into which the server exports tables; `NULL` forbids it.
    fn exports(&self) -> Option<ScanRoot> {
        const NAME: &str = "secure_file_priv";
        let value = self.value(NAME).filter(|value| !value.eq_ignore_ascii_case("null"))?;
        Some(ScanRoot::new(self.absolute(value), Role::Backup, NAME, Extent::Tree))
    }
}

/// Files next to the program and the plug-ins that name the location of keys, and the copy of a key file that the
/// plug-in leaves when it is interrupted.
pub(super) fn key_configurations(sql: &SqlFacts, datadir: &Path, program: Option<&Path>) -> Vec<ScanRoot> {
    let file = |path: PathBuf, via: &str| ScanRoot::new(path, Role::Key, via, Extent::File);
    let mut roots = Vec::new();
    roots.extend(
        program.and_then(Path::parent).map(|dir| file(dir.join(COMPONENT_MANIFEST), "beside the server's program")),
    );
    if let Some(dir) = sql.variable_or_none(variable::PLUGIN_DIR).filter(|dir| !dir.is_empty()) {
        roots.extend(
            CONFIGURED_COMPONENTS
                .iter()
                .map(|name| file(normal(&datadir.join(dir).join(format!("{name}.cnf"))), variable::PLUGIN_DIR)),
        );
    }
    let stores = keyring_files(sql, datadir).into_iter();
    roots.extend(stores.map(|keys| file(PathBuf::from(format!("{}.backup", keys.display())), "beside the key file")));
    roots
}

/// Directories of data files outside the data directory.
pub(super) fn from_external_files(sql: &SqlFacts, datadir: &Path) -> Vec<ScanRoot> {
    let files = datafiles(sql, datadir).into_iter().filter(|file| !file.starts_with(datadir));
    let parents: std::collections::BTreeSet<PathBuf> = files.filter_map(|f| Some(f.parent()?.to_owned())).collect();
    let location = |parent| ScanRoot::new(parent, Role::ExternalData, "data file", Extent::Tree);
    parents.into_iter().map(location).collect()
}

/// Directories that the operator named, relative to the working directory.
pub(super) fn from_backups(dirs: &[PathBuf]) -> Vec<ScanRoot> {
    let absolute = |dir: &PathBuf| normal(&std::path::absolute(dir).unwrap_or_else(|_| dir.clone()));
    dirs.iter().map(|dir| ScanRoot::new(absolute(dir), Role::Backup, "--backup", Extent::Tree)).collect()
}

/// The roots of a directory without a server.
pub(super) fn from_directory(dir: &Path, role: Role) -> Vec<ScanRoot> {
    vec![ScanRoot::new(dir.to_owned(), role, "the command line", Extent::Tree)]
}

/// Variables that name a directory, its role, and the prefixes of the server's files there.
const DIRECTORIES: &[(&str, Role, &[&str])] = &[
    (directory::REDO, Role::Redo, &server_file::REDO_BEGINNINGS),
    (directory::UNDO, Role::Undo, &[server_file::UNDO]),
    (directory::DOUBLEWRITE, Role::Doublewrite, &[server_file::DOUBLEWRITE]),
    (directory::SYSTEM, Role::Data, &[server_file::SYSTEM, server_file::TEMPORARY]),
    ("innodb_temp_tablespaces_dir", Role::Temporary, &["temp_"]),
    ("tmpdir", Role::Temporary, TEMPORARY),
    ("innodb_tmpdir", Role::Temporary, TEMPORARY),
    ("replica_load_tmpdir", Role::Temporary, &["SQL_LOAD"]),
    ("slave_load_tmpdir", Role::Temporary, &["SQL_LOAD"]),
    (directory::ARIA, Role::Redo, &[server_file::ARIA]),
];

/// Variables that name a data file. Percona Server 5.7 to 8.0.19 permits any name for its parallel doublewrite file.
const DATA_FILES: &[(&str, Role)] = &[("innodb_parallel_doublewrite_path", Role::Doublewrite)];

/// Prefixes: sort runs, binary log caches, DDL buffers, temporary tables.
const TEMPORARY: &[&str] = &["#sql", "ib", "MY", "ML", "mysql_temptable", "Innodb Merge"];

const BASENAMES: &[(&str, Role)] =
    &[(directory::BINARY_LOGS, Role::BinaryLog), (directory::RELAY_LOGS, Role::RelayLog)];

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

/// Certificates and private keys of the listeners.
pub(super) const TLS_FILES: &[&str] = &[
    variable::SSL_CA,
    variable::SSL_CERT,
    variable::SSL_KEY,
    "admin_ssl_ca",
    "admin_ssl_cert",
    "admin_ssl_key",
    "mysqlx_ssl_ca",
    "mysqlx_ssl_cert",
    "mysqlx_ssl_key",
    variable::GROUP_REPLICATION_RECOVERY_SSL_CA,
    "group_replication_recovery_ssl_cert",
    "group_replication_recovery_ssl_key",
    variable::CLONE_SSL_CA,
    "clone_ssl_cert",
    "clone_ssl_key",
];

/// Files of the keyring component: its keys, its configuration.
pub(super) fn key_store_files(sql: &SqlFacts, datadir: &Path) -> Vec<PathBuf> {
    let status = sql.component_status();
    let component = Component::from_pairs(&status);
    let files = component.iter().flat_map(|component| [component.data_file, component.config_file]);
    files.flatten().map(|path| normal(&datadir.join(path))).collect()
}

/// Key files of MySQL that the server names, by its component or its plug-in.
pub(super) fn keyring_files(sql: &SqlFacts, datadir: &Path) -> Vec<PathBuf> {
    let plugin = sql.variable_or_none(KEYRING_PLUGIN_FILE).and_then(|value| named_file(KEYRING_PLUGIN_FILE, value));
    let plugin = plugin.map(|value| normal(&datadir.join(value)));
    key_store_files(sql, datadir).into_iter().chain(plugin).collect()
}

/// Absolute paths of the data files that a server names.
pub(super) fn datafiles(sql: &SqlFacts, datadir: &Path) -> Vec<PathBuf> {
    let rows = sql.rows("datafiles").unwrap_or_default();
    rows.iter().filter_map(|row| row.get("path")).map(|path| normal(&datadir.join(path))).collect()
}

/// Without duplicates in path, role and extent.
fn without_repeats(roots: Vec<ScanRoot>) -> Vec<ScanRoot> {
    let mut kept: Vec<ScanRoot> = Vec::new();
    let mut seen = BTreeMap::new();
    for location in roots {
        let key = (location.path.clone(), location.role, format!("{:?}", location.extent));
        if seen.insert(key, ()).is_none() {
            kept.push(location);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::mysql;

    fn roots(made: &crate::testing::FactsBuilder) -> Vec<ScanRoot> {
        from_server(made.0.sql.as_ref().unwrap(), Path::new("/var/lib/mysql"), &[])
    }

    fn find<'p>(roots: &'p [ScanRoot], via: &str) -> &'p ScanRoot {
        roots.iter().find(|location| location.via == via).unwrap()
    }

    #[test]
    fn relative_paths_are_relative_to_the_data_directory() {
        let made = mysql()
            .variable("innodb_undo_directory", "./")
            .variable("ssl_cert", "server-cert.pem")
            .variable("log_error", "./err/../db.err");
        let roots = roots(&made);
        assert_eq!(find(&roots, "innodb_undo_directory").path, Path::new("/var/lib/mysql"));
        assert_eq!(find(&roots, "ssl_cert").path, Path::new("/var/lib/mysql/server-cert.pem"));
        assert_eq!(find(&roots, "log_error").path, Path::new("/var/lib/mysql/db.err"));
    }

    #[test]
    fn of_shared_directories_only_the_servers_names_are_taken() {
        let roots = roots(&mysql().variable("log_bin_basename", "/var/log/mysql/binlog").variable("tmpdir", "/tmp"));
        let binlog = find(&roots, "log_bin_basename");
        assert!(binlog.claims(Path::new("/var/log/mysql/binlog.000001")));
        assert!(!binlog.claims(Path::new("/var/log/mysql/error.log")));
        assert!(matches!(find(&roots, "tmpdir").extent, Extent::ServerPrefixes(_)));
    }

    #[test]
    fn data_files_of_any_name_are_read_once() {
        let roots = roots(
            &mysql()
                .variable("innodb_data_home_dir", "/home")
                .variable("innodb_data_file_path", "ibdata1:12M;/fast/more:10M:autoextend")
                .variable("innodb_temp_data_file_path", "../t/spill:12M:autoextend"),
        );
        let files = roots.iter().filter(|root| root.extent == Extent::File).map(|root| root.path.as_path());
        assert_eq!(files.collect::<Vec<_>>(), [Path::new("/fast/more"), Path::new("/t/spill")]);
    }

    #[test]
    fn a_key_in_a_variable_is_no_path() {
        let made =
            mysql().variable("file_key_management_filekey", "FILE:/etc/mysql/pw").variable("secure_file_priv", "NULL");
        let roots = roots(&made);
        assert_eq!(find(&roots, "file_key_management_filekey").path, Path::new("/etc/mysql/pw"));
        assert!(roots.iter().all(|location| location.role != Role::Backup));
    }
}
