//! A copy of a running server, see [`crate::follow`].

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::{
    Driver, Prepared, Provider, Source,
    reflink::{Cloned, copy_attributes},
};
use crate::{
    Options,
    error::Error,
    follow,
    listing::Listing,
    location,
    snapshot_copy::{PendingCopy, SnapshotCopy},
};

pub(super) struct Follow;

impl Driver for Follow {
    fn location(&self, source: &Source<'_>, options: &Options) -> Result<PathBuf, Error> {
        let datadir = source.datadir.path();
        let account = options.account.as_ref().ok_or(Error::NoAccount)?;
        if source.server.is_none() {
            return Err(Error::NotRunning { path: datadir.to_owned() });
        }
        follow::check_supported(account)?;
        let location = location::writable(datadir, options.location.as_deref())?;
        follow::check_room(location.parent().unwrap_or(datadir), bytes_of(source))?;
        Ok(location)
    }

    fn take(&self, prepared: &Prepared<'_>, options: &Options) -> Result<SnapshotCopy, Error> {
        let account = options.account.as_ref().ok_or(Error::NoAccount)?;
        let from = prepared.source.datadir.path();
        let pending = PendingCopy::begin(&prepared.location, from, Path::new("data"), Provider::Follow, options)?;
        let to = pending.root().to_owned();
        fs::create_dir(&to).map_err(Error::copying(&to))?;
        let followed = follow::copy(&follow::Job {
            datadir: from,
            external: &prepared.source.external,
            account,
            keys: &options.keys,
            recover_from: options.recover_from,
            lock_wait: options.lock_wait,
            ddl_wait_max: options.ddl_wait_max,
            progress: &options.progress,
            root: &to,
        })?;
        // Directories that the server has created since are not in the copy.
        let listing = Listing { directories: Listing::scan(&to)?.directories, ..Listing::scan(from)? };
        copy_attributes(from, &to, &Cloned { listing, files: Vec::new(), indexes: Vec::new() })?;
        let copy = pending.finish(followed.commits_waited.max(followed.others_waited), options.keep)?;
        Ok(copy.with_followed(followed))
    }

    fn remove(&self, _: &Path, _: &[String]) -> Result<(), Error> {
        Ok(())
    }
}

/// Bytes of all files that the copy will contain.
pub(super) fn bytes_of(source: &Source<'_>) -> u64 {
    let datadir = source.datadir.path();
    let inside = source.listing.files.iter().map(|path| datadir.join(path));
    let outside = source.external.iter().filter_map(|files| files.files().ok()).flatten().map(|file| file.from);
    inside.chain(outside).filter_map(|path| fs::metadata(path).ok()).map(|metadata| metadata.len()).sum()
}
