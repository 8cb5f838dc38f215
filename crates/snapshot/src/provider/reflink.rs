//! Clones of all files, made while the server process is stopped.

use std::{
    collections::BTreeSet,
    ffi::OsStr,
    fs::{self, File, Metadata, OpenOptions},
    io,
    os::unix::fs::{OpenOptionsExt, symlink},
    path::{Path, PathBuf},
};

use innodb::server_file::REDO_DIRECTORY;
use rustix::fs::ioctl_ficlone;

use super::{Driver, Prepared, Source};
use crate::{
    Options, attributes,
    error::Error,
    external::ExternalFiles,
    freeze::Freeze,
    listing::{self, Listing},
    location,
    snapshot_copy::{PendingCopy, SnapshotCopy},
};

pub(super) struct Reflink;

impl Driver for Reflink {
    fn location(&self, source: &Source<'_>, options: &Options) -> Result<PathBuf, Error> {
        location::for_clones(source.datadir.path(), options.location.as_deref())
    }

    fn take(&self, prepared: &Prepared<'_>, options: &Options) -> Result<SnapshotCopy, Error> {
        let from = prepared.source.datadir.path();
        let pending = PendingCopy::begin(&prepared.location, from, Path::new("data"), prepared.provider, options)?;
        let to = pending.root().to_owned();
        make_directories(&to, &prepared.source.listing)?;
        super::write_out(from, &prepared.source.listing);
        let freeze = super::freeze(prepared, options)?;
        let cloned = clone_all(from, &to, &prepared.source.external, freeze.as_ref())?;
        if freeze.is_none()
            && let Some(server) = prepared.source.datadir.server()?
        {
            return Err(Error::Runs { pid: server.pid, path: from.to_owned() });
        }
        let frozen = freeze.map(Freeze::end).transpose()?.unwrap_or_default();
        copy_attributes(from, &to, &cloned)?;
        pending.finish(frozen, options.keep)
    }

    fn remove(&self, _: &Path, _: &[String]) -> Result<(), Error> {
        Ok(())
    }
}

/// The cloned files, and the metadata of their originals.
pub(super) struct Cloned {
    pub(super) listing: Listing,
    /// Path and open file in the copy, and metadata of the original.
    pub(super) files: Vec<(PathBuf, File, Metadata)>,
    /// Paths of indexes of binary logs in the copy.
    pub(super) indexes: Vec<PathBuf>,
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    |source| Error::Copy { path: path.to_owned(), source }
}

/// Creates the directories in advance, while the server is running.
fn make_directories(to: &Path, listing: &Listing) -> Result<(), Error> {
    fs::create_dir(to).map_err(failed(to))?;
    for directory in &listing.directories {
        make_directory(&to.join(directory))?;
    }
    Ok(())
}

fn make_directory(path: &Path) -> Result<(), Error> {
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(failed(path)(error)),
        _ => Ok(()),
    }
}

/// Lists and clones everything. Listed only now, since servers create and remove files all the
/// time.
fn clone_all(from: &Path, to: &Path, external: &[ExternalFiles], freeze: Option<&Freeze>) -> Result<Cloned, Error> {
    let listing = Listing::scan(from)?;
    for directory in &listing.directories {
        make_directory(&to.join(directory))?;
    }
    let (mut files, mut indexes) = (Vec::with_capacity(listing.files.len()), Vec::new());
    let mut in_use = BTreeSet::new();
    let mut clone = |from: &Path, to: PathBuf| {
        let (file, metadata) = clone_one(from, &to)?;
        files.push((to, file, metadata));
        freeze.map_or(Ok(()), Freeze::check_time)
    };
    for file in external.iter().map(ExternalFiles::files).collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
        let copy = to.join(&file.to);
        if let Some(above) = copy.parent() {
            make_directory(above)?;
        }
        indexes.extend(file.is_index.then(|| copy.clone()));
        clone(&file.from, copy)?;
        in_use.insert(file.to);
    }
    // The server uses its external files; those of the same name here are left from before they
    // were moved.
    let redo_is_external = in_use.iter().any(|path| path.starts_with(REDO_DIRECTORY));
    let left_from_before =
        |path: &Path| in_use.contains(path) || (redo_is_external && path.starts_with(REDO_DIRECTORY));
    for path in listing.files.iter().filter(|path| !left_from_before(path)) {
        clone(&from.join(path), to.join(path))?;
        // An index with absolute paths would lead a server on the copy to the live logs.
        let is_index = path.extension() == Some(OsStr::new("index")) && path.components().count() == 1;
        indexes.extend(is_index.then(|| to.join(path)));
    }
    Ok(Cloned { listing, files, indexes })
}

fn clone_one(from: &Path, to: &Path) -> Result<(File, Metadata), Error> {
    let source = listing::open(from).map_err(failed(from))?;
    let copy = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).map_err(failed(to))?;
    ioctl_ficlone(&copy, &source).map_err(|error| match error {
        rustix::io::Errno::XDEV => Error::TwoFileSystems { path: from.to_owned() },
        error => failed(from)(error.into()),
    })?;
    let metadata = source.metadata().map_err(failed(from))?;
    Ok((copy, metadata))
}

/// Owners, permissions and times, which the server need not wait for.
pub(super) fn copy_attributes(from: &Path, to: &Path, cloned: &Cloned) -> Result<(), Error> {
    for index in &cloned.indexes {
        rewrite_index(index, from, to).map_err(failed(index))?;
    }
    for (path, file, metadata) in &cloned.files {
        attributes::copy_to(file, metadata).map_err(failed(path))?;
    }
    for link in &cloned.listing.links {
        // A removed link led to nothing that the server needs.
        if let Ok(target) = fs::read_link(from.join(link)) {
            let link = to.join(link);
            symlink(target, &link).map_err(failed(&link))?;
        }
    }
    // Innermost first, since a directory's time changes with its content.
    let directories = cloned.listing.directories.iter().rev().map(PathBuf::as_path);
    for directory in directories.chain([Path::new("")]) {
        let (from, to) = (from.join(directory), to.join(directory));
        // A directory that was dropped in the meantime gets the attributes of its parent.
        let metadata = fs::metadata(&from).or_else(|_| fs::metadata(from.parent().unwrap_or(&from)));
        let copied = metadata.and_then(|metadata| attributes::copy_to(&File::open(&to)?, &metadata));
        copied.map_err(failed(&to))?;
    }
    Ok(())
}

/// Rewrites an index of binary logs to paths in the copy: relative for logs inside the data
/// directory, next to the index for others.
fn rewrite_index(index: &Path, from: &Path, to: &Path) -> io::Result<()> {
    let text = fs::read_to_string(index)?;
    let here = |line| {
        let path = Path::new(line);
        let below = path.strip_prefix(from).or_else(|_| path.strip_prefix(".")).unwrap_or(path);
        let is_there = below.is_relative() && to.join(below).is_file();
        if is_there { Some(below) } else { path.file_name().map(Path::new) }
    };
    let here: String = text.lines().filter_map(here).map(|log| format!("./{}\n", log.display())).collect();
    fs::write(index, here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_of_logs_is_rewritten_to_paths_in_the_copy() {
        let directory = tempfile::tempdir().unwrap();
        let (from, to) = (Path::new("/data"), directory.path());
        fs::create_dir(to.join("binlog")).unwrap();
        for log in ["binlog/bin.000001", "binlog/bin.000002", "bin.000003", "bin.000004"] {
            fs::write(to.join(log), "").unwrap();
        }
        let index = to.join("bin.index");
        let lines = "/data/binlog/bin.000001\n./binlog/bin.000002\n/external/bin.000003\n./bin.000004\n";
        fs::write(&index, lines).unwrap();
        rewrite_index(&index, from, to).unwrap();
        let expected = "./binlog/bin.000001\n./binlog/bin.000002\n./bin.000003\n./bin.000004\n";
        assert_eq!(fs::read_to_string(&index).unwrap(), expected);
    }
}
