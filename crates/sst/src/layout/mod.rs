//! Where a server keeps its files, which of them go, and where they belong on the other side.
//!
//! They travel as if all of them were in the data directory; each side has its own places for InnoDB's
//! system tablespace, redo log and undo tablespaces and for Aria's log.

mod own;
mod placing;
mod plan;
#[cfg(test)]
mod tests;
mod tree;

use std::{
    fs,
    path::{Path, PathBuf},
};

use glob::Pattern;

use self::tree::matches;
pub(crate) use self::tree::remove_tree;
use crate::{arguments::Arguments, error::SstError, options::Options};

/// Where a joiner stages what comes, in its data directory.
pub(crate) const STAGING: &str = ".sealant_in";

/// Files of a kind, and the directory they are in.
#[derive(Debug)]
struct Place {
    directory: PathBuf,
    names: Vec<Pattern>,
}

/// The directories of a server.
#[derive(Debug)]
pub struct Layout {
    datadir: PathBuf,
    places: Vec<Place>,
    binlog: Option<PathBuf>,
    binlog_index: Option<PathBuf>,
    /// Directories of the node that may be in the data directory and hold nothing that goes.
    spared: Vec<PathBuf>,
}

/// Files in the data directory itself that belong to the data and not to the node. What else is there
/// stays where it is, on both sides: the cluster's state and cache, logs, certificates, sockets.
const DATA: [&str; 4] = ["*.ibd", "undo_*", "*.ibu", "#ib_*.dblwr"];
impl Layout {
    /// Of a server that was started so.
    ///
    /// # Errors
    /// [`SstError::Outside`] if the system tablespace has files that cannot be found by their names.
    pub fn of(arguments: &Arguments, options: &Options) -> Result<Self, SstError> {
        let datadir = &arguments.datadir;
        let datadir = fs::canonicalize(datadir).map_err(SstError::file(datadir, "cannot be opened"))?;
        let directory = |name: &str| {
            let path = options.directory(name, &datadir);
            // One that is not there yet is made when something comes to it.
            fs::canonicalize(&path).unwrap_or(path)
        };
        let patterns = |names: &[&str]| names.iter().filter_map(|name| Pattern::new(name).ok()).collect::<Vec<_>>();
        let mut system = patterns(&["ibdata[0-9]*"]);
        for file in options.server("innodb-data-file-path").unwrap_or_default().split(';') {
            let name = file.split(':').next().unwrap_or_default().trim();
            if name.contains('/') {
                let reason =
                    "a file of the system tablespace with a directory in innodb_data_file_path is not supported";
                return Err(SstError::Outside { path: name.into(), reason });
            }
            system.extend((!name.is_empty()).then(|| Pattern::new(&Pattern::escape(name)).ok()).flatten());
        }
        let place = |name: &str, names: Vec<Pattern>| Place { directory: directory(name), names };
        let places = vec![
            place("innodb-data-home-dir", system),
            place("innodb-log-group-home-dir", patterns(&["ib_logfile[0-9]*"])),
            place("innodb-undo-directory", patterns(&["undo[0-9]*"])),
            place("aria-log-dir-path", patterns(&["aria_log_control", "aria_log.[0-9]*"])),
        ];
        let binlog = arguments.binlog.as_ref().map(|binlog| datadir.join(binlog));
        let index = arguments.binlog_index.clone().or_else(|| {
            let mut index = arguments.binlog.clone()?.into_os_string();
            index.push(".index");
            Some(index.into())
        });
        let binlog_index = index.filter(|_| binlog.is_some()).map(|index| datadir.join(index));
        let spared = own::directories(options, &datadir, binlog.as_deref());
        Ok(Self { datadir, places, binlog, binlog_index, spared })
    }

    /// The data directory.
    #[must_use]
    pub fn datadir(&self) -> &Path {
        &self.datadir
    }

    /// The log that decides whether transactions that were prepared were committed: the last binary log,
    /// or that of the transaction coordinator.
    #[must_use]
    pub const fn has_binlog(&self) -> bool {
        self.binlog.is_some()
    }

    /// Whether all of it is in the data directory, so that a copy of that is a copy of all.
    #[must_use]
    pub fn is_in_one_place(&self) -> bool {
        let binlog = self.binlog.as_ref().is_none_or(|binlog| binlog.starts_with(&self.datadir));
        binlog && self.places.iter().all(|place| place.directory.starts_with(&self.datadir))
    }

    /// Makes sure that what is at the top of `path` is a whole: without, old files would meet new ones.
    fn check_complete(&self, path: &Path, names: &[&Path]) -> Result<(), SstError> {
        let system = self.places.first().map(|place| place.names.as_slice()).unwrap_or_default();
        let is_system = |name: &&Path| matches(system, name.as_os_str());
        // MySQL's is a directory.
        let is_redo = |name: &&Path| *name == Path::new("ib_logfile0") || name.starts_with("#innodb_redo");
        let missing = match (names.iter().any(is_system), names.iter().any(is_redo)) {
            (true, true) => return Ok(()),
            (false, _) => "system tablespace",
            (true, false) => "redo log",
        };
        Err(SstError::Incomplete { path: path.to_path_buf(), missing })
    }

    /// Where a joiner stages what comes.
    pub(crate) fn staging(&self) -> PathBuf {
        self.datadir.join(STAGING)
    }
}
