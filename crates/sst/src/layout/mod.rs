//! Locations of a server's files, which of them are sent, and where they belong on the joiner.
//!
//! Files are sent as if all were in the data directory; each node has its own locations for
//! InnoDB's system tablespace, redo log and undo tablespaces and for Aria's log.

mod install;
mod node_directories;
mod plan;
#[cfg(test)]
mod tests;
mod tree;

use std::{
    fs,
    path::{Path, PathBuf},
};

use glob::Pattern;
use innodb::server_file::{self, ARIA_CONTROL, FIRST_OLDER_REDO, REDO_DIRECTORY, log_index, pattern};
use server::dialect::directory;

use self::tree::matches;
pub(crate) use self::tree::remove_tree;
use crate::{arguments::Arguments, error::Error, options::Options};

/// Staging directory of a joiner, in its data directory.
pub(crate) const STAGING: &str = ".sealant_in";

/// Files of a kind, and their directory.
#[derive(Debug)]
struct FileLocation {
    directory: PathBuf,
    names: Vec<Pattern>,
}

/// The directories of a server.
#[derive(Debug)]
pub struct Layout {
    datadir: PathBuf,
    locations: Vec<FileLocation>,
    binlog: Option<PathBuf>,
    binlog_index: Option<PathBuf>,
    /// Directories of the node that may be inside the data directory; nothing in them is sent or
    /// replaced.
    node_directories: Vec<PathBuf>,
}

/// Files at the top of the data directory that belong to the data and not to the node. Everything
/// else there is neither sent nor replaced: the cluster's state and cache, logs, certificates,
/// sockets.
const DATA: [&str; 4] = ["*.ibd", pattern::MYSQL_UNDO[0], pattern::MYSQL_UNDO[1], pattern::DOUBLEWRITE];

impl Layout {
    /// The layout of a server with these arguments and options.
    ///
    /// # Errors
    /// [`Error::Outside`] if the system tablespace has files that cannot be found by name.
    pub fn new(arguments: &Arguments, options: &Options) -> Result<Self, Error> {
        let datadir = &arguments.datadir;
        let datadir = fs::canonicalize(datadir).map_err(Error::file(datadir, "cannot be opened"))?;
        let directory = |name: &str| {
            let path = options.directory(name, &datadir);
            // A directory that does not exist yet is created when needed.
            fs::canonicalize(&path).unwrap_or(path)
        };
        let patterns = |names: &[&str]| names.iter().filter_map(|name| Pattern::new(name).ok()).collect::<Vec<_>>();
        let mut system = patterns(&[pattern::SYSTEM]);
        for name in server_file::listed_data_files(options.server(directory::SYSTEM_FILES).unwrap_or_default()) {
            if name.contains('/') {
                let reason =
                    "a file of the system tablespace with a directory in innodb_data_file_path is not supported";
                return Err(Error::Outside { path: name.into(), reason });
            }
            system.extend(Pattern::new(&Pattern::escape(name)).ok());
        }
        let location = |name: &str, names: Vec<Pattern>| FileLocation { directory: directory(name), names };
        let locations = vec![
            location(directory::SYSTEM, system),
            location(directory::REDO, patterns(&[pattern::OLDER_REDO])),
            location(directory::UNDO, patterns(&[pattern::MARIADB_UNDO])),
            location(directory::ARIA, patterns(&[ARIA_CONTROL, pattern::ARIA_LOG])),
        ];
        let binlog = arguments.binlog.as_ref().map(|binlog| datadir.join(binlog));
        let index = arguments.binlog_index.clone().or_else(|| Some(log_index(arguments.binlog.clone()?).into()));
        let binlog_index = index.filter(|_| binlog.is_some()).map(|index| datadir.join(index));
        let node_directories = node_directories::directories(options, &datadir, binlog.as_deref());
        Ok(Self { datadir, locations, binlog, binlog_index, node_directories })
    }

    /// The data directory.
    #[must_use]
    pub fn datadir(&self) -> &Path {
        &self.datadir
    }

    /// Whether prepared transactions are decided by the last binary log (else by the log of the
    /// transaction coordinator).
    #[must_use]
    pub const fn has_binlog(&self) -> bool {
        self.binlog.is_some()
    }

    /// Whether everything is in the data directory, so that a copy of it is complete.
    #[must_use]
    pub fn is_single_directory(&self) -> bool {
        let binlog = self.binlog.as_ref().is_none_or(|binlog| binlog.starts_with(&self.datadir));
        binlog && self.locations.iter().all(|location| location.directory.starts_with(&self.datadir))
    }

    /// Checks that the top of `path` has all required files: otherwise old files would be mixed
    /// with new ones.
    fn check_complete(&self, path: &Path, names: &[&Path]) -> Result<(), Error> {
        let system = self.locations.first().map(|location| location.names.as_slice()).unwrap_or_default();
        let is_system = |name: &&Path| matches(system, name.as_os_str());
        // MySQL's redo log is a directory.
        let is_redo = |name: &&Path| *name == Path::new(FIRST_OLDER_REDO) || name.starts_with(REDO_DIRECTORY);
        let missing = match (names.iter().any(is_system), names.iter().any(is_redo)) {
            (true, true) => return Ok(()),
            (false, _) => "system tablespace",
            (true, false) => "redo log",
        };
        Err(Error::Incomplete { path: path.to_path_buf(), missing })
    }

    /// Path of the staging directory.
    pub(crate) fn staging(&self) -> PathBuf {
        self.datadir.join(STAGING)
    }
}
