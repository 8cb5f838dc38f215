//! Installs the received files in place of the old ones.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use files::mounts::{Mounts, SELF_MOUNTINFO};
use files::{LOST_AND_FOUND, PendingFile, WriteOptions};
use glob::Pattern;
use innodb::server_file::{BUFFER_POOL_DUMP, DDL_RECOVERY, TEMPORARY, TRANSACTION_COORDINATOR};

use super::{
    DATA, FileLocation, Layout,
    node_directories::is_database,
    tree::{is_directory, list, matches, remove_matching, remove_tree},
};
use crate::error::Error;

/// Old files of a joiner that must not be mixed with the new ones and are not sent.
const OLD: [&str; 5] = [BUFFER_POOL_DUMP, "ib_lru_dump", TRANSACTION_COORDINATOR, DDL_RECOVERY[0], DDL_RECOVERY[1]];

impl Layout {
    /// Replaces the old files with the staged ones. `binlog` is the name of the donor's newest
    /// binary log, if it was sent.
    pub(crate) fn replace(&self, binlog: Option<&str>) -> Result<(), Error> {
        let staging = self.staging();
        let staged = list(&staging)?;
        let names: Vec<&Path> = staged.iter().filter_map(|path| path.file_name().map(Path::new)).collect();
        self.check_complete(&staging, &names)?;
        // A server does not start if the index names a missing log.
        let binlog = binlog.filter(|log| names.contains(&Path::new(log)));
        // Servers do not create the directory of their binary log.
        let logs = self.binlog.iter().chain(&self.binlog_index).filter_map(|log| log.parent());
        for directory in self.locations.iter().map(|location| location.directory.as_path()).chain(logs) {
            fs::create_dir_all(directory).map_err(Error::file(directory, "cannot be created"))?;
        }
        self.remove_old()?;
        let mut touched = BTreeSet::from([self.datadir.as_path()]);
        for from in staged {
            let name = from.file_name().unwrap_or_default();
            if name == files::MANIFEST {
                continue;
            }
            let to = match (binlog, &self.binlog) {
                // A database can have any name.
                _ if is_directory(&from) => &self.datadir,
                (Some(log), Some(current)) if name == log => current.parent().unwrap_or(&self.datadir),
                _ => self.directory_for(name),
            };
            touched.insert(to);
            self.put(&from, &to.join(name)).map_err(Error::file(&from, "cannot be moved into place"))?;
        }
        if let Some(name) = binlog {
            self.write_index(name)?;
        }
        remove_tree(&staging)?;
        for directory in touched {
            let synced = fs::File::open(directory).and_then(|directory| directory.sync_all());
            synced.map_err(Error::file(directory, "cannot be written to disk"))?;
        }
        Ok(())
    }

    /// The joiner's index of binary logs lists only the received log.
    fn write_index(&self, name: &str) -> Result<(), Error> {
        let (Some(current), Some(index)) = (&self.binlog, &self.binlog_index) else { return Ok(()) };
        let log = current.with_file_name(name);
        // Servers write paths below the data directory relative to it.
        let line = match log.strip_prefix(&self.datadir) {
            Ok(below) => format!("./{}\n", below.display()),
            Err(_) => format!("{}\n", log.display()),
        };
        let placing = WriteOptions { mode: 0o660, owner: None, replace: true };
        files::write_atomic(index, line.as_bytes(), placing).map_err(Error::file(index, "cannot be written"))
    }

    /// The directory that a file belongs to.
    fn directory_for(&self, name: &OsStr) -> &Path {
        let location = self.locations.iter().find(|location| matches(&location.names, name));
        location.map_or(&self.datadir, |location| &location.directory)
    }

    /// Checks that all old data can be replaced. A mount point cannot: only its content could be
    /// removed, and the new directory could not be moved there.
    ///
    /// # Errors
    /// [`Error::Outside`] names a mount point.
    pub(crate) fn check_replaceable(&self) -> Result<(), Error> {
        let mounted = Mounts::of_this_process().map_err(Error::file(SELF_MOUNTINFO, "cannot be read"))?;
        for path in self.old()? {
            let other = device(&path) != device(&self.datadir);
            let within = mounted.below(&path).next().map(|mount| mount.point.clone());
            if let Some(path) = within.or_else(|| other.then_some(path)) {
                let reason =
                    "a file system of its own in the data directory, which cannot be replaced: unmount it first";
                return Err(Error::Outside { path, reason });
            }
        }
        Ok(())
    }

    /// The old data, without files of the node itself.
    fn old(&self) -> Result<Vec<PathBuf>, Error> {
        let names = DATA.iter().chain(&OLD).map(|name| (*name).to_owned()).chain([format!("{TEMPORARY}*")]);
        let data = names.filter_map(|name| Pattern::new(&name).ok());
        let data: Vec<Pattern> =
            data.chain(self.locations.iter().flat_map(|location| location.names.clone())).collect();
        let mut old = Vec::new();
        for path in list(&self.datadir)? {
            let name = path.file_name().unwrap_or_default();
            let kind = fs::symlink_metadata(&path).map_err(Error::file(&path, "cannot be looked at"))?;
            let hidden = name.as_encoded_bytes().starts_with(b".") || name == LOST_AND_FOUND;
            // `is_dir` follows links: a link to a directory counts as a directory.
            let directory = path.is_dir() && !hidden && !self.is_node_directory(&path);
            if directory || !kind.is_dir() && matches(&data, name) {
                old.push(path);
            }
        }
        Ok(old)
    }

    fn remove_old(&self) -> Result<(), Error> {
        self.check_replaceable()?;
        self.old()?.iter().try_for_each(|path| remove_tree(path))?;
        for location in self.external_locations() {
            remove_matching(&location.directory, &location.names)?;
        }
        self.remove_binlogs()
    }

    pub(super) fn is_node_directory(&self, path: &Path) -> bool {
        let locations = self.locations.iter().map(|location| &location.directory);
        locations.chain(&self.node_directories).any(|node_directories| node_directories.starts_with(path))
    }

    /// The joiner's own logs belong to its old data.
    fn remove_binlogs(&self) -> Result<(), Error> {
        let Some(binlog) = &self.binlog else { return Ok(()) };
        let (Some(directory), Some(base)) = (binlog.parent(), binlog.file_name().and_then(OsStr::to_str)) else {
            return Ok(());
        };
        let base = Pattern::escape(base);
        let names = ["[0-9]*", "state", "index"].map(|ending| Pattern::new(&format!("{base}.{ending}")).ok());
        remove_matching(directory, &names.into_iter().flatten().collect::<Vec<_>>())?;
        match &self.binlog_index {
            Some(index) => remove_tree(index),
            None => Ok(()),
        }
    }

    /// Moves a file or a directory. The content of a directory is merged into an existing directory
    /// that was kept, but never into one that belongs to the node.
    fn put(&self, from: &Path, to: &Path) -> io::Result<()> {
        if !is_directory(from) || !is_directory(to) {
            return move_file(from, to);
        }
        let is_location = self.locations.iter().any(|location| location.directory == to);
        if self.node_directories.iter().any(|current| current == to) && !is_location && !is_database(from) {
            return fs::remove_dir_all(from);
        }
        for item in fs::read_dir(from)? {
            let name = item?.file_name();
            self.put(&from.join(&name), &to.join(&name))?;
        }
        fs::File::open(to)?.sync_all()?;
        fs::remove_dir(from)
    }

    /// Locations outside of the data directory.
    fn external_locations(&self) -> impl Iterator<Item = &FileLocation> {
        self.locations.iter().filter(|location| location.directory != self.datadir)
    }
}

fn device(path: &Path) -> Option<u64> {
    fs::symlink_metadata(path).map(|metadata| metadata.dev()).ok()
}

/// Moves a file; to another file system by an atomic copy.
fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let mut input = fs::File::open(from)?;
            let options = WriteOptions { mode: input.metadata()?.mode() & 0o7777, owner: None, replace: true };
            PendingFile::copy(to, &mut input, options)?.0.commit()?;
            fs::remove_file(from)
        }
        moved => moved,
    }
}
