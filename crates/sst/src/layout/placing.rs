//! What came takes the place of what was there.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs, io,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use glob::Pattern;

use super::{
    DATA, Layout, Place,
    own::is_database,
    tree::{is_directory, list, matches, remove_matching, remove_tree},
};
use crate::error::SstError;

/// Files of a joiner's old data that must not meet the new, and are not sent.
const OLD: [&str; 6] =
    ["ib_buffer_pool", "ib_lru_dump", "tc.log", "ddl_recovery.log", "ddl_recovery-backup.log", "ibtmp*"];

impl Layout {
    /// Puts what was staged in the place of what was there. `binlog` is the name of the donor's newest binary
    /// log, if that came along.
    pub(crate) fn replace(&self, binlog: Option<&str>) -> Result<(), SstError> {
        let staging = self.staging();
        let staged = list(&staging)?;
        let names: Vec<&Path> = staged.iter().filter_map(|path| path.file_name().map(Path::new)).collect();
        self.check_complete(&staging, &names)?;
        // An index that names a log which is not there keeps a server from starting.
        let binlog = binlog.filter(|log| names.contains(&Path::new(log)));
        // Servers do not make the directory of their binary log themselves.
        let logs = self.binlog.iter().chain(&self.binlog_index).filter_map(|log| log.parent());
        for directory in self.places.iter().map(|place| place.directory.as_path()).chain(logs) {
            fs::create_dir_all(directory).map_err(SstError::file(directory, "cannot be made"))?;
        }
        self.remove_old()?;
        let mut touched = BTreeSet::from([self.datadir.as_path()]);
        for from in staged {
            let name = from.file_name().unwrap_or_default();
            if name == transfer::plan::MANIFEST {
                continue;
            }
            let to = match (binlog, &self.binlog) {
                // A database may have any name.
                _ if is_directory(&from) => &self.datadir,
                (Some(log), Some(own)) if name == log => own.parent().unwrap_or(&self.datadir),
                _ => self.home_of(name),
            };
            touched.insert(to);
            self.put(&from, &to.join(name)).map_err(SstError::file(&from, "cannot be moved into place"))?;
        }
        if let Some(name) = binlog {
            self.write_index(name)?;
        }
        remove_tree(&staging)?;
        for directory in touched {
            let synced = fs::File::open(directory).and_then(|directory| directory.sync_all());
            synced.map_err(SstError::file(directory, "cannot be written to disk"))?;
        }
        Ok(())
    }

    /// The joiner's list of binary logs is the one that came.
    fn write_index(&self, name: &str) -> Result<(), SstError> {
        let (Some(own), Some(index)) = (&self.binlog, &self.binlog_index) else { return Ok(()) };
        let log = own.with_file_name(name);
        // As servers write it: below the data directory relative to that.
        let line = match log.strip_prefix(&self.datadir) {
            Ok(below) => format!("./{}\n", below.display()),
            Err(_) => format!("{}\n", log.display()),
        };
        let written = fs::write(index, line).and_then(|()| {
            fs::set_permissions(index, PermissionsExt::from_mode(0o660))?;
            fs::File::open(index)?.sync_all()
        });
        written.map_err(SstError::file(index, "cannot be written"))
    }

    /// The directory that a file belongs to.
    fn home_of(&self, name: &OsStr) -> &Path {
        let place = self.places.iter().find(|place| matches(&place.names, name));
        place.map_or(&self.datadir, |place| &place.directory)
    }

    /// Makes sure that all of the old data can be removed: of a directory that something is mounted in, only what is in it
    /// could be, and the new one would find no room.
    ///
    /// # Errors
    /// [`SstError::Outside`].
    pub(crate) fn check_replaceable(&self) -> Result<(), SstError> {
        let mounted = files::mounts::Mounts::own();
        let mounted = mounted.map_err(SstError::file("/proc/self/mountinfo", "cannot be read"))?;
        for path in self.old()? {
            let other = device(&path) != device(&self.datadir);
            let within = mounted.below(&path).next().map(|mount| mount.point.clone());
            if let Some(path) = within.or_else(|| other.then_some(path)) {
                let reason =
                    "a file system of its own in the data directory, which cannot be replaced: unmount it first";
                return Err(SstError::Outside { path, reason });
            }
        }
        Ok(())
    }

    /// The data that was there, and nothing of the node itself.
    fn old(&self) -> Result<Vec<PathBuf>, SstError> {
        let data = DATA.iter().chain(&OLD).filter_map(|name| Pattern::new(name).ok());
        let data: Vec<Pattern> = data.chain(self.places.iter().flat_map(|place| place.names.clone())).collect();
        let mut old = Vec::new();
        for path in list(&self.datadir)? {
            let name = path.file_name().unwrap_or_default();
            let kind = fs::symlink_metadata(&path).map_err(SstError::file(&path, "cannot be looked at"))?;
            let hidden = name.as_encoded_bytes().starts_with(b".") || name == "lost+found";
            // Behind a link or not.
            let directory = path.is_dir() && !hidden && !self.is_spared(&path);
            if directory || !kind.is_dir() && matches(&data, name) {
                old.push(path);
            }
        }
        Ok(old)
    }

    fn remove_old(&self) -> Result<(), SstError> {
        self.check_replaceable()?;
        self.old()?.iter().try_for_each(|path| remove_tree(path))?;
        for place in self.elsewhere() {
            remove_matching(&place.directory, &place.names)?;
        }
        self.remove_binlogs()
    }

    pub(super) fn is_spared(&self, path: &Path) -> bool {
        let places = self.places.iter().map(|place| &place.directory);
        places.chain(&self.spared).any(|spared| spared.starts_with(path))
    }

    /// What the joiner logged belongs to the data that it had.
    fn remove_binlogs(&self) -> Result<(), SstError> {
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

    /// Moves a file or a directory. What is in a directory goes into the one that was spared, but nothing into one that is
    /// the node's own.
    fn put(&self, from: &Path, to: &Path) -> io::Result<()> {
        if !is_directory(from) || !is_directory(to) {
            return move_file(from, to);
        }
        let is_place = self.places.iter().any(|place| place.directory == to);
        if self.spared.iter().any(|own| own == to) && !is_place && !is_database(from) {
            return fs::remove_dir_all(from);
        }
        for item in fs::read_dir(from)? {
            let name = item?.file_name();
            self.put(&from.join(&name), &to.join(&name))?;
        }
        fs::File::open(to)?.sync_all()?;
        fs::remove_dir(from)
    }

    /// Places that are not the data directory itself.
    fn elsewhere(&self) -> impl Iterator<Item = &Place> {
        self.places.iter().filter(|place| place.directory != self.datadir)
    }
}

fn device(path: &Path) -> Option<u64> {
    fs::symlink_metadata(path).map(|metadata| metadata.dev()).ok()
}

/// Moves a file, on another file system by a copy that takes its place when it is whole.
fn move_file(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let mut beside = to.as_os_str().to_owned();
            beside.push(".sealant_in");
            fs::copy(from, &beside)?;
            fs::File::open(&beside)?.sync_all()?;
            fs::rename(&beside, to)?;
            fs::remove_file(from)
        }
        moved => moved,
    }
}
