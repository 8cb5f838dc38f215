//! Directories in the data directory that belong to the node and not to the data: nothing in them
//! is sent, and on the joiner they stay.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use innodb::{file_suffix, server_file::DATABASE_OPTIONS};
use server::{ProviderOptions, dialect::key_store};

use super::tree::list;
use crate::options::Options;

/// Directories of temporary tables, whose files look like those of a database.
const TEMPORARY: [&str; 3] = ["tmpdir", "innodb-tmpdir", "slave-load-tmpdir"];
/// Options of the server that name directories.
const DIRECTORIES: [&str; 3] = ["wsrep-data-home-dir", "ssl-capath", "ssl-crlpath"];
/// Options of the server that name files.
const FILES: [&str; 17] = [
    "ssl-ca",
    "ssl-cert",
    "ssl-key",
    "ssl-crl",
    "log-error",
    "slow-query-log-file",
    "log-slow-query-file",
    "general-log-file",
    "pid-file",
    "socket",
    "relay-log",
    "relay-log-index",
    "relay-log-info-file",
    "server-audit-file-path",
    key_store::MARIADB_KEYS,
    key_store::MARIADB_PASSWORD,
    "innodb-buffer-pool-filename",
];
/// Options of state transfers that name a directory, and options that name files.
const SST_DIRECTORIES: [&str; 3] = ["tcapath", "ssl-capath", "sst-log-archive-dir"];
const SST_FILES: [&str; 6] = ["tkey", "tcert", "tca", "ssl-key", "ssl-cert", "ssl-ca"];
/// Parameters of the Galera provider that name directories, and parameters that name files.
const PROVIDER_DIRECTORIES: [&str; 2] = ["gcache.dir", "base_dir"];
const PROVIDER_FILES: [&str; 4] = ["gcache.name", "socket.ssl_key", "socket.ssl_cert", "socket.ssl_ca"];
/// Suffixes of files that only the directories of databases have.
const TABLES: [&str; 7] = [
    file_suffix::DEFINITION,
    file_suffix::TABLESPACE,
    file_suffix::ARIA_INDEX,
    file_suffix::ARIA_DATA,
    file_suffix::MYISAM_INDEX,
    file_suffix::MYISAM_DATA,
    file_suffix::PARTITIONS,
];
/// Suffix of certificates and their keys.
const CERTIFICATE: &str = "pem";

/// The directories that a server's options name, with and without links resolved. The data
/// directory itself and databases are not included: databases are sent whatever else is in them.
pub(super) fn directories(options: &Options, datadir: &Path, binlog: Option<&Path>) -> Vec<PathBuf> {
    let provider = ProviderOptions::parse(options.server("wsrep-provider-options").unwrap_or_default());
    let named = DIRECTORIES.iter().filter_map(|name| options.server(name));
    let named = named.chain(SST_DIRECTORIES.iter().filter_map(|name| options.sst(name)));
    let named = named.chain(PROVIDER_DIRECTORIES.iter().filter_map(|name| provider.get(name)));
    let files = FILES.iter().filter_map(|name| options.server(name));
    let files = files.chain(SST_FILES.iter().filter_map(|name| options.sst(name)));
    let files = files.chain(PROVIDER_FILES.iter().filter_map(|name| provider.get(name)));
    let files = files.map(|file| datadir.join(file.strip_prefix(key_store::PASSWORD_FILE).unwrap_or(file)));
    let above = files.chain(binlog.map(Path::to_path_buf)).filter_map(|file| Some(file.parent()?.to_path_buf()));
    let current = named.map(|directory| datadir.join(directory)).chain(above).filter(|current| !is_database(current));
    let temporary = TEMPORARY.map(|name| options.directory(name, datadir));
    // A directory with certificates and without tables belongs to the node even if no option names
    // it.
    let certificates = list(datadir)
        .unwrap_or_default()
        .into_iter()
        .filter(|path| holds(path, |name| file_suffix::has(name, CERTIFICATE)));
    let certificates = certificates.filter(|path| !is_database(path));
    // For a link in the data directory, both the link and its target belong to the node.
    let all = current.chain(temporary).chain(certificates).flat_map(|current| [resolved(&current), current]);
    all.filter(|current| resolved(current) != datadir).collect()
}

/// Whether a directory contains tables.
pub(super) fn is_database(directory: &Path) -> bool {
    let is_of_database =
        |name: &OsStr| name == DATABASE_OPTIONS || TABLES.iter().any(|suffix| file_suffix::has(name, suffix));
    holds(directory, is_of_database)
}

fn holds(directory: &Path, is_one: impl Fn(&OsStr) -> bool) -> bool {
    list(directory).unwrap_or_default().iter().filter_map(|path| path.file_name()).any(is_one)
}

/// The path with links resolved, or unchanged if the directory does not exist yet: it may be
/// created later.
fn resolved(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf())
}
