//! Clones of all files, made while the server stands still.

use std::{
    fs::{self, File, FileTimes, Metadata, OpenOptions, Permissions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown, symlink},
    path::{Path, PathBuf},
};

use rustix::fs::ioctl_ficlone;

use super::{Prepared, Source, Way};
use crate::{
    Options,
    error::Error,
    freeze::Freeze,
    listing::{self, Listing},
    location,
    still::{Still, Taking},
    sys,
};

pub(super) struct Reflink;

impl Way for Reflink {
    fn freezes(&self) -> bool {
        true
    }

    fn place(&self, source: &Source<'_>, options: &Options) -> Result<PathBuf, Error> {
        location::for_clones(source.datadir.path(), options.place.as_deref())
    }

    fn take(&self, prepared: &Prepared<'_>, options: &Options) -> Result<Still, Error> {
        let from = prepared.source.datadir.path();
        let taking = Taking::begin(&prepared.place, from, Path::new("data"), prepared.provider, options)?;
        let to = taking.root().to_owned();
        make_directories(&to, &prepared.source.listing)?;
        write_out(from, &prepared.source.listing);
        let freeze = match &prepared.source.server {
            Some(server) => Some(Freeze::begin(server, &options.watchdog, options.max_freeze)?),
            None => None,
        };
        let cloned = clone_all(from, &to, freeze.as_ref())?;
        let frozen = freeze.map(Freeze::end).transpose()?.unwrap_or_default();
        dress(from, &to, &cloned)?;
        taking.finish(frozen, options.keep)
    }

    fn remove(&self, _: &Path) -> Result<(), Error> {
        Ok(())
    }
}

/// What was cloned, and what each file was like.
struct Cloned {
    listing: Listing,
    files: Vec<(File, Metadata)>,
}

fn failed(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    |source| Error::Copy { path: path.to_owned(), source }
}

/// Makes the directories beforehand: the server need not wait for that.
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

/// Writes out dirty pages beforehand: a clone has to wait for them.
fn write_out(from: &Path, listing: &Listing) {
    for path in &listing.files {
        // What is not written now is written by the clone.
        let _ = listing::open(&from.join(path)).and_then(|file| sys::write_out(&file));
    }
}

/// Lists and clones everything; the list is made only now, since servers make and remove files all the time.
fn clone_all(from: &Path, to: &Path, freeze: Option<&Freeze>) -> Result<Cloned, Error> {
    let listing = Listing::of(from)?;
    for directory in &listing.directories {
        make_directory(&to.join(directory))?;
    }
    let mut files = Vec::with_capacity(listing.files.len());
    for path in &listing.files {
        files.push(clone_one(&from.join(path), &to.join(path))?);
        freeze.map_or(Ok(()), Freeze::check_time)?;
    }
    Ok(Cloned { listing, files })
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
fn dress(from: &Path, to: &Path, cloned: &Cloned) -> Result<(), Error> {
    for (path, (file, metadata)) in cloned.listing.files.iter().zip(&cloned.files) {
        dress_one(file, metadata).map_err(failed(&to.join(path)))?;
    }
    for link in &cloned.listing.links {
        // A link that is gone by now led to nothing the server needs.
        if let Ok(target) = fs::read_link(from.join(link)) {
            let link = to.join(link);
            symlink(target, &link).map_err(failed(&link))?;
        }
    }
    // The inner first, since a directory's time changes with what is in it.
    let directories = cloned.listing.directories.iter().rev().map(PathBuf::as_path);
    for directory in directories.chain([Path::new("")]) {
        let (from, to) = (from.join(directory), to.join(directory));
        // A directory that was dropped since is as the one above it.
        let metadata = fs::metadata(&from).or_else(|_| fs::metadata(from.parent().unwrap_or(&from)));
        let dressed = metadata.and_then(|metadata| dress_one(&File::open(&to)?, &metadata));
        dressed.map_err(failed(&to))?;
    }
    Ok(())
}

fn dress_one(file: &File, like: &Metadata) -> io::Result<()> {
    if rustix::process::geteuid().is_root() {
        fchown(file, Some(like.uid()), Some(like.gid()))?;
    }
    file.set_permissions(Permissions::from_mode(like.mode() & 0o7777))?;
    file.set_times(FileTimes::new().set_modified(like.modified()?))
}
