//! Selects the files to send, from the server's data directory or from a copy of it.

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
};

use files::{
    LOST_AND_FOUND, MANIFEST, STAGING,
    regular::{self, Links},
};
use glob::Pattern;
use innodb::file_suffix;
use innodb::server_file::{
    DDL_RECOVERY, GALERA_CACHE, GALERA_PAGE, TEMPORARY_DIRECTORY, TRANSACTION_COORDINATOR, pattern::TEMPORARY,
};
use transfer::plan::{Plan, Selection};

use super::{DATA, Layout, tree::list};
use crate::error::Error;

/// Needed by a server after a crash to complete or undo a statement.
const RECOVERY: [&str; 2] = [DDL_RECOVERY[0], TRANSACTION_COORDINATOR];
/// Files and directories next to the directories of databases that are not sent.
const EXCLUDED: [&str; 3] = [".*", LOST_AND_FOUND, TEMPORARY_DIRECTORY];
/// Names in the directories of databases that are not sent.
const EXCLUDED_IN_DATABASES: [&str; 7] =
    ["#sql-temptable-*", GALERA_CACHE, "*.err", "*.pid", "*.sock", "*.pem", STAGING];
/// Prefixes of such names.
const EXCLUDED_PREFIXES: [&str; 2] = [GALERA_PAGE, MANIFEST];

/// Maximum length of an index of binary logs.
const MAX_INDEX_BYTES: u64 = 64 << 20;

impl Layout {
    /// Plans what is sent from the server's data directory.
    ///
    /// # Errors
    /// [`Error::Transfer`] names what cannot be read, [`Error::Outside`] data outside of the
    /// data directory.
    pub fn plan(&self) -> Result<Plan, Error> {
        self.plan_at(&self.datadir, &[])
    }

    /// Plans what is sent from an atomic copy of the data directory. Also returns the name of its
    /// newest binary log, if there is one.
    ///
    /// # Errors
    /// As [`plan`](Self::plan).
    pub fn plan_of_copy(&self, copy: &Path) -> Result<(Plan, Option<String>), Error> {
        let mut plan = self.plan_at(copy, &RECOVERY)?;
        let Some(log) = self.last_binlog(copy)? else { return Ok((plan, None)) };
        let name = log.file_name().and_then(OsStr::to_str).unwrap_or_default().to_owned();
        let names = Pattern::new(&Pattern::escape(&name)).map(|name| vec![name]).unwrap_or_default();
        plan.add(log.parent().unwrap_or(copy), &names)?;
        if !plan.entries.iter().any(|planned| planned.entry.path.as_path() == Path::new(&name)) {
            return Err(Error::Incomplete { path: log, missing: "binary log, which its index names" });
        }
        Ok((plan, Some(name)))
    }

    /// The newest binary log in a copy of the data directory.
    fn last_binlog(&self, copy: &Path) -> Result<Option<PathBuf>, Error> {
        let Some(index) = &self.binlog_index else { return Ok(None) };
        let in_copy = |path: &Path| path.strip_prefix(&self.datadir).map(|below| copy.join(below)).ok();
        let index = in_copy(index).unwrap_or_else(|| index.clone());
        let text = regular::read(&index, Links::Followed, MAX_INDEX_BYTES);
        let text = String::from_utf8(text.map_err(Error::file(&index, "cannot be read"))?)
            .map_err(|error| Error::file(&index, "cannot be read")(io::Error::other(error)))?;
        let last = text.lines().rfind(|line| !line.is_empty());
        Ok(last.and_then(|line| in_copy(&self.datadir.join(line.trim_start_matches("./")))))
    }

    fn plan_at(&self, root: &Path, more: &[&str]) -> Result<Plan, Error> {
        let pattern = |text: &str| Pattern::new(text).ok();
        let mut include: Vec<Pattern> = DATA.iter().chain(more).copied().chain(["*/*"]).filter_map(pattern).collect();
        let mut exclude = excluded();
        let mut others = Vec::new();
        for location in &self.locations {
            match location.directory.strip_prefix(&self.datadir) {
                Ok(below) if below.as_os_str().is_empty() => include.extend(location.names.iter().cloned()),
                Ok(below) => {
                    exclude.extend(location.names.iter().filter_map(|name| pattern_below(below, name.as_str())));
                    others.push((root.join(below), &location.names));
                }
                Err(_) => others.push((location.directory.clone(), &location.names)),
            }
        }
        // The temporary tablespace is next to the system tablespace; a table of the same name is in
        // a database directory.
        let home = self.locations.first().and_then(|home| home.directory.strip_prefix(&self.datadir).ok());
        exclude
            .extend(home.filter(|home| !home.as_os_str().is_empty()).and_then(|home| pattern_below(home, TEMPORARY)));
        for node_directories in self.node_directories.iter().filter_map(|path| path.strip_prefix(&self.datadir).ok()) {
            exclude.extend(pattern_below(node_directories, "*"));
            // The directory itself is excluded too: even statements that only read may change it, for example with
            // temporary files.
            exclude.extend(
                node_directories
                    .to_str()
                    .and_then(|node_directories| Pattern::new(&Pattern::escape(node_directories)).ok()),
            );
        }
        let mut plan = Plan::scan(root, &Selection { include, exclude })?;
        for (directory, names) in others {
            plan.add(&directory, names)?;
        }
        self.check(root, &plan)?;
        let names: Vec<&Path> = plan.entries.iter().map(|planned| planned.entry.path.as_path()).collect();
        self.check_complete(root, &names)?;
        Ok(plan)
    }

    /// Refuses data behind symbolic links and in the DATA DIRECTORY of a table, which the joiner would not get.
    fn check(&self, root: &Path, plan: &Plan) -> Result<(), Error> {
        if let Some(path) = plan.external_links.first() {
            let reason = "a link that leads out of the data directory; what it points at would not be sent";
            return Err(Error::Outside { path: path.clone(), reason });
        }
        // A link at the top of the data directory is not sent.
        let is_nodes_data =
            |path: &Path| self.is_node_directory(&self.datadir.join(path.file_name().unwrap_or_default()));
        if let Some(path) =
            list(root)?.into_iter().find(|path| path.is_symlink() && path.is_dir() && !is_nodes_data(path))
        {
            let reason = "a symbolic link to a database directory, which would not be sent";
            return Err(Error::Outside { path, reason });
        }
        let external_locations =
            plan.entries.iter().find(|planned| file_suffix::has(planned.entry.path.as_path(), file_suffix::LINK));
        match external_locations {
            Some(planned) => {
                let reason = "a table with a DATA DIRECTORY of its own, which would not be sent";
                Err(Error::Outside { path: plan.absolute(planned), reason })
            }
            None => Ok(()),
        }
    }
}

/// Patterns of everything that is not sent, wherever the node has its files.
fn excluded() -> Vec<Pattern> {
    let beginnings = EXCLUDED_PREFIXES.map(|beginning| format!("*/{beginning}*"));
    let in_databases = EXCLUDED_IN_DATABASES.map(|name| format!("*/{name}"));
    let patterns = EXCLUDED.map(str::to_owned).into_iter().chain(in_databases).chain(beginnings);
    patterns.filter_map(|pattern| Pattern::new(&pattern).ok()).collect()
}

/// A pattern for names below a directory.
fn pattern_below(directory: &Path, name: &str) -> Option<Pattern> {
    Pattern::new(&format!("{}/{name}", Pattern::escape(directory.to_str()?))).ok()
}
