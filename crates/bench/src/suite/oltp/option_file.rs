//! Settings of a server's own option file, for the servers of the measurement.

use std::path::Path;

use server::{option_file::Entries, option_group, option_name::without_loose};

use super::limits::check_option;
use crate::Error;

/// Beginnings of the options that are taken over: storage, logs, buffers and limits.
const TAKEN: [&str; 24] = [
    "aria-",
    "back-log",
    "binlog-",
    "character-set-server",
    "collation-server",
    "enforce-gtid-consistency",
    "gtid-mode",
    "innodb-",
    "join-buffer-size",
    "key-buffer-size",
    "max-",
    "open-files-limit",
    "optimizer-",
    "performance-schema",
    "query-cache-",
    "read-buffer-size",
    "read-rnd-buffer-size",
    "sort-buffer-size",
    "sql-mode",
    "sync-binlog",
    "table-",
    "thread-",
    "tmp-table-size",
    "transaction-isolation",
];
/// Options that the arms or the measurement set, or with which a server cannot be filled.
const OWN: [&str; 6] = [
    "innodb-buffer-pool-size",
    "innodb-force-recovery",
    "innodb-log-file-size",
    "innodb-max-dirty-pages-pct",
    "innodb-read-only",
    "innodb-redo-log-capacity",
];

/// Options of an option file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileOptions {
    /// Those for the servers of the measurement, as arguments.
    pub taken: Vec<String>,
    /// Names of the others: paths, accounts, network, encryption, and what the measurement sets itself.
    pub left_out: Vec<String>,
}

impl FileOptions {
    /// Reads the groups of servers. Options in groups of MariaDB alone do not keep MySQL from starting.
    ///
    /// # Errors
    /// [`Error::OptionFile`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let entries = Entries::read(path).map_err(|error| Error::OptionFile(Box::new(error)))?;
        let mut found = Self::default();
        for entry in entries.entries.iter().filter(|entry| option_group::is_server(&entry.group)) {
            let loose = if option_group::is_named_for_mariadb(&entry.group) { "loose-" } else { "" };
            let name = without_loose(&entry.key);
            let value = entry.value.text().map(|value| format!("={value}")).unwrap_or_default();
            let option = format!("--{loose}{}{value}", entry.key);
            match is_taken(name) && check_option(&option).is_ok() {
                true => found.taken.push(option),
                false => found.left_out.push(name.to_owned()),
            }
        }
        Ok(found)
    }

    /// A sentence on the options that are left out, if any.
    #[must_use]
    pub fn warning(&self, path: &Path) -> Option<String> {
        let names = self.left_out.join(", ");
        (!self.left_out.is_empty()).then(|| format!("of {}, these options are left out: {names}", path.display()))
    }
}

fn is_taken(name: &str) -> bool {
    TAKEN.iter().any(|beginning| name.starts_with(beginning)) && !name.contains("encrypt") && !OWN.contains(&name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn settings_are_taken_over_and_paths_accounts_and_encryption_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("my.cnf");
        let text = "[client]\nuser=u\n[mysqld]\ndatadir=/var/lib/mysql\ninnodb_flush_log_at_trx_commit=2\n\
                    innodb_data_home_dir = /srv/data\nport=3306\nsync_binlog=0\nskip-name-resolve\n\
                    innodb_buffer_pool_size=8G\nbinlog_encryption=ON\nssl_ca=ca.pem\nperformance_schema\n\
                    [mariadb-10.11]\naria-pagecache-buffer-size=64M\n";
        fs::write(&path, text).unwrap();
        let found = FileOptions::read(&path).unwrap();
        assert_eq!(
            found.taken,
            [
                "--innodb-flush-log-at-trx-commit=2",
                "--sync-binlog=0",
                "--performance-schema",
                "--loose-aria-pagecache-buffer-size=64M"
            ]
        );
        let left_out = "datadir, innodb-data-home-dir, port, skip-name-resolve, innodb-buffer-pool-size, \
                        binlog-encryption, ssl-ca";
        assert!(found.warning(&path).unwrap().ends_with(left_out), "{found:?}");
        assert_eq!(FileOptions::default().warning(&path), None);
        let error = FileOptions::read(&directory.path().join("none.cnf")).unwrap_err();
        assert!(error.to_string().contains("none.cnf"), "{error}");
    }
}
