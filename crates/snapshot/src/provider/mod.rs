//! Methods to make a copy that is consistent at one instant.
//!
//! | provider | how | the server |
//! |---|---|---|
//! | `stopped` | the data directory itself, since no server has it open | is not running |
//! | `btrfs` | a snapshot of the subvolume | is stopped for a moment |
//! | `zfs` | snapshots of the data sets, all at once | keeps running; writes wait for a moment |
//! | `reflink` | a clone of every file (XFS, btrfs, and others that share extents) | is stopped meanwhile |
//! | `lvm` | a snapshot of the logical volume | keeps running; writes wait for a moment |
//! | `follow` | files copied while the server works, then its log | keeps running; commits wait for a moment |
//!
//! Copying files under locks is not one of them: InnoDB keeps writing under every lock.

mod btrfs;
mod covered;
mod follow;
mod lvm;
mod reflink;
mod stopped;
mod zfs;

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use innodb::server_file::{DICTIONARY, FIRST_OLDER_REDO, FIRST_SYSTEM, FIRST_UNDO, REDO_DIRECTORY};

use crate::{
    Options,
    calibrate::{Costs, FALLBACK},
    choice::{Provider, ProviderChoice},
    datadir::DataDir,
    error::Error,
    estimate::Estimate,
    external::{self, ExternalFiles},
    freeze::Freeze,
    listing::{self, Listing},
    process::ServerProcess,
    sending,
    size::Size,
    snapshot_copy::SnapshotCopy,
    sys,
};

/// Undo tablespaces that every server with a data dictionary has. A crash during the truncation of one can leave only
/// the other.
const UNDO: [&str; 2] = [FIRST_UNDO, "undo_002"];

/// Implementation of a provider; one file each.
pub(crate) trait Driver: Sync {
    /// Directory for the copy, or the reason why the provider cannot be used.
    fn location(&self, source: &Source<'_>, options: &Options) -> Result<PathBuf, Error>;
    /// Makes the copy.
    fn take(&self, prepared: &Prepared<'_>, options: &Options) -> Result<SnapshotCopy, Error>;
    /// Removes the parts of a copy that [`std::fs::remove_dir_all`] cannot remove: mounts and
    /// volumes.
    fn remove(&self, directory: &Path, volumes: &[String]) -> Result<(), Error>;
    /// Checks that the volumes of a copy are still of its instant.
    fn check(&self, _volumes: &[String]) -> Result<(), Error> {
        Ok(())
    }
}

impl Provider {
    fn driver(self) -> &'static dyn Driver {
        match self {
            Self::Stopped => &stopped::Stopped,
            Self::Btrfs => &btrfs::Btrfs,
            Self::Zfs => &zfs::Zfs,
            Self::Reflink => &reflink::Reflink,
            Self::Lvm => &lvm::Lvm,
            Self::Follow => &follow::Follow,
        }
    }

    pub(crate) fn take(self, prepared: &Prepared<'_>, options: &Options) -> Result<SnapshotCopy, Error> {
        let taken = self.driver().take(prepared, options);
        match &prepared.source.server {
            // In any case, because the server may have been stopped for the copy.
            Some(server) if self.stops_the_server() && !matches!(taken, Err(Error::Sending { .. })) => {
                sending::prove(server.pid).and(taken)
            }
            _ => taken,
        }
    }

    /// Bytes that a copy takes on a disk, if it does not share them with the data.
    fn copy_bytes(self, source: &Source<'_>) -> u64 {
        if self == Self::Follow { follow::bytes_of(source) } else { 0 }
    }

    pub(crate) fn remove(self, directory: &Path, volumes: &[String]) -> Result<(), Error> {
        self.driver().remove(directory, volumes)
    }

    pub(crate) fn check(self, volumes: &[String]) -> Result<(), Error> {
        self.driver().check(volumes)
    }
}

/// A listed data directory.
pub(crate) struct Source<'d> {
    pub(crate) datadir: &'d DataDir,
    pub(crate) server: Option<ServerProcess>,
    pub(crate) listing: Listing,
    /// Files outside of the data directory.
    pub(crate) external: Vec<ExternalFiles>,
}

/// A usable provider and its estimate.
pub(crate) struct Prepared<'d> {
    pub(crate) source: Source<'d>,
    pub(crate) provider: Provider,
    pub(crate) estimate: Estimate,
    /// Directory for the copy.
    pub(crate) location: PathBuf,
}

/// Selects the provider.
pub(crate) fn choose<'d>(datadir: &'d DataDir, options: &Options) -> Result<Prepared<'d>, Error> {
    let tried = match options.provider {
        ProviderChoice::Only(provider) => vec![provider],
        // Without an account the server cannot be queried, so it cannot be followed.
        ProviderChoice::Auto => {
            let possible = |provider: &Provider| *provider != Provider::Follow || options.account.is_some();
            Provider::ALL.into_iter().filter(possible).collect()
        }
        ProviderChoice::Stream(program) => return Err(Error::OnlyAStream { program }),
    };
    let server = datadir.server()?;
    if server.is_none() {
        check_complete(datadir.path())?;
    }
    let began = Instant::now();
    let listing = Listing::scan(datadir.path())?;
    let listed = began.elapsed();
    if server.is_some() {
        // A copy only waits for what becomes dirty after this.
        write_out(datadir.path(), &listing);
    }
    let external = server.as_ref().map_or_else(|| Ok(Vec::new()), |server| external::find(server, datadir.path()))?;
    let size = Size { listed, ..Size::measure(datadir.path(), &listing, &external)? };
    let source = Source { datadir, server, listing, external };
    let mut refused = Vec::new();
    for provider in tried {
        let found = provider.driver().location(&source, options).and_then(|location| {
            let costs = match provider {
                // The directory for copies may not exist yet.
                Provider::Reflink => location.parent().and_then(Costs::measured_in),
                _ => None,
            };
            let estimate = size.estimate(provider, &costs.unwrap_or(FALLBACK), source.server.is_some());
            let estimate = Estimate { copy_bytes: provider.copy_bytes(&source), ..estimate };
            within(&estimate, options).map(|()| (location, estimate))
        });
        match found {
            Ok((location, estimate)) => return Ok(Prepared { source, provider, estimate, location }),
            // Only relevant if this provider was requested.
            Err(Error::Runs { .. } | Error::NotBtrfs { .. } | Error::NotZfs { .. } | Error::NotLvm { .. })
                if options.provider == ProviderChoice::Auto => {}
            // The other providers are for running servers: their reasons would hide this one.
            Err(error @ Error::LeadsOut { .. }) if source.server.is_none() => return Err(error),
            Err(error) => refused.push((provider, error)),
        }
    }
    Err(Error::from_refusals(datadir.path(), refused))
}

fn within(estimate: &Estimate, options: &Options) -> Result<(), Error> {
    if estimate.freeze() <= options.max_freeze {
        return Ok(());
    }
    Err(Error::OverBudget { estimate: Box::new(estimate.clone()), limit: options.max_freeze })
}

/// Without a running server, checks that InnoDB's own files are in the data directory, or linked from it.
fn check_complete(datadir: &Path) -> Result<(), Error> {
    let is_there = |name: &str| datadir.join(name).exists();
    let files = [
        (FIRST_SYSTEM, is_there(FIRST_SYSTEM)),
        ("the redo log", is_there(REDO_DIRECTORY) || is_there(FIRST_OLDER_REDO)),
        ("the undo log", !is_there(DICTIONARY) || UNDO.into_iter().any(is_there)),
    ];
    match files.into_iter().find(|(_, is_there)| !is_there) {
        Some((missing, _)) => Err(Error::Incomplete { path: datadir.to_owned(), missing }),
        None => Ok(()),
    }
}

/// Writes out dirty pages in advance, since a copy has to wait for them.
fn write_out(from: &Path, listing: &Listing) {
    for path in &listing.files {
        // Pages that cannot be written now are written by the copy.
        let _ = listing::open(&from.join(path)).and_then(|file| sys::write_out(&file));
    }
}

/// Stops the server, if one is running and is still the same.
fn freeze(prepared: &Prepared<'_>, options: &Options) -> Result<Option<Freeze>, Error> {
    let source = &prepared.source;
    let Some(server) = &source.server else { return Ok(None) };
    sending::refuse(server.pid)?;
    Freeze::begin(server, source.datadir, &options.watchdog, options.max_freeze).map(Some)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// A data directory of MySQL 8.0 without a server.
    fn stopped(root: &Path) -> DataDir {
        fs::create_dir_all(root.join("#innodb_redo")).unwrap();
        for name in ["ibdata1", "mysql.ibd", "undo_001", "undo_002"] {
            fs::write(root.join(name), "").unwrap();
        }
        DataDir::at(root).unwrap()
    }

    fn refused(datadir: &DataDir, options: &Options) -> Error {
        choose(datadir, options).map(|prepared| prepared.provider).unwrap_err()
    }

    #[test]
    fn a_stopped_server_without_its_undo_log_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let (datadir, options) = (stopped(directory.path()), Options::default());
        assert_eq!(choose(&datadir, &options).unwrap().provider, Provider::Stopped);
        fs::remove_file(directory.path().join("undo_001")).unwrap();
        assert!(choose(&datadir, &options).is_ok());
        fs::remove_file(directory.path().join("undo_002")).unwrap();
        let error = refused(&datadir, &options);
        assert!(matches!(error, Error::Incomplete { missing: "the undo log", .. }), "{error}");
        // MariaDB, and MySQL before 8.0.
        fs::remove_file(directory.path().join("mysql.ibd")).unwrap();
        assert!(choose(&datadir, &options).is_ok());
    }

    #[test]
    fn a_link_out_of_the_directory_of_a_stopped_server_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        let (datadir, other) = (stopped(&root.join("data")), root.join("other"));
        fs::create_dir(&other).unwrap();
        symlink("ibdata1", root.join("data/within")).unwrap();
        assert!(choose(&datadir, &Options::default()).is_ok());
        symlink("../other", root.join("data/db")).unwrap();
        let only = Options { provider: ProviderChoice::Only(Provider::Stopped), ..Options::default() };
        for options in [Options::default(), only] {
            let error = refused(&datadir, &options);
            assert!(error.hint().is_some_and(|hint| hint.contains("in place of the link")), "{error}");
            match error {
                Error::LeadsOut { path, target } => assert_eq!((path, &target), (root.join("data/db"), &other)),
                error => panic!("{error}"),
            }
        }
    }

    #[test]
    fn a_link_that_no_copy_can_have_is_refused_by_every_provider() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        let datadir = stopped(&root);
        symlink(root.join("ibdata1"), root.join("absolute")).unwrap();
        let only = Provider::ALL.map(ProviderChoice::Only);
        for provider in only.into_iter().chain([ProviderChoice::Auto]) {
            let error = refused(&datadir, &Options { provider, ..Options::default() });
            assert!(matches!(&error, Error::LeadsBack { path, .. } if *path == root.join("absolute")), "{error}");
            assert!(error.to_string().contains("is absolute; make it relative"), "{error}");
        }
    }

    #[test]
    fn certificates_of_a_stopped_server_may_be_links() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        let (datadir, other) = (stopped(&root.join("data")), root.join("cert.pem"));
        fs::write(&other, "").unwrap();
        symlink(&other, root.join("data/server-cert.pem")).unwrap();
        symlink("/nowhere/key.pem", root.join("data/server-key.pem")).unwrap();
        assert_eq!(choose(&datadir, &Options::default()).unwrap().provider, Provider::Stopped);
        fs::create_dir(root.join("data/db")).unwrap();
        symlink(&other, root.join("data/db/t.pem")).unwrap();
        assert!(matches!(refused(&datadir, &Options::default()), Error::LeadsOut { .. }));
    }
}
