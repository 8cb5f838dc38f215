//! The ways to take a copy that is of one instant.
//!
//! | provider | how | the server |
//! |---|---|---|
//! | `stopped` | the data directory itself, since no server has it open | does not run |
//! | `btrfs` | a snapshot of the subvolume | stands still for a moment |
//! | `reflink` | a clone of every file (XFS, btrfs, and others that share extents) | stands still meanwhile |
//!
//! Copying files under locks is not among them: InnoDB writes on under every lock there is.

mod btrfs;
mod reflink;
mod stopped;

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use serde::{Deserialize, Serialize};

use crate::{
    Options,
    datadir::{DataDir, ServerProcess},
    elsewhere::{self, Elsewhere, REDO},
    error::Error,
    estimate::{Estimate, Size},
    freeze::Freeze,
    listing::{self, Listing},
    still::Still,
    sys,
};

/// A way to take a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Provider {
    /// No server runs on it.
    Stopped,
    /// A snapshot of a btrfs subvolume.
    Btrfs,
    /// Clones of all files while the server stands still.
    Reflink,
}

/// Which way to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The best that is sound here and fits the longest freeze.
    Auto,
    /// This one.
    Only(Provider),
}

/// What one provider can do; one file each.
pub(crate) trait Way: Sync {
    /// Whether the server has to stand still for it.
    fn freezes(&self) -> bool;
    /// Where the copy would be made; why not, if it cannot be.
    fn place(&self, source: &Source<'_>, options: &Options) -> Result<PathBuf, Error>;
    /// Takes the copy.
    fn take(&self, prepared: &Prepared<'_>, options: &Options) -> Result<Still, Error>;
    /// Removes what [`std::fs::remove_dir_all`] cannot remove from the directory of a copy.
    fn remove(&self, directory: &Path) -> Result<(), Error>;
}

impl Provider {
    /// All of them, the best first.
    pub const ALL: [Self; 3] = [Self::Stopped, Self::Btrfs, Self::Reflink];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Btrfs => "btrfs",
            Self::Reflink => "reflink",
        }
    }

    fn way(self) -> &'static dyn Way {
        match self {
            Self::Stopped => &stopped::Stopped,
            Self::Btrfs => &btrfs::Btrfs,
            Self::Reflink => &reflink::Reflink,
        }
    }

    pub(crate) fn take(self, prepared: &Prepared<'_>, options: &Options) -> Result<Still, Error> {
        self.way().take(prepared, options)
    }

    pub(crate) fn remove(self, directory: &Path) -> Result<(), Error> {
        self.way().remove(directory)
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Provider::ALL.into_iter().find(|provider| provider.name() == text);
        match known {
            Some(provider) => Ok(Self::Only(provider)),
            None if text == "auto" => Ok(Self::Auto),
            None => Err(format!("auto, {}", Provider::ALL.map(Provider::name).join(", "))),
        }
    }
}

/// A data directory, looked at.
pub(crate) struct Source<'d> {
    pub(crate) datadir: &'d DataDir,
    pub(crate) server: Option<ServerProcess>,
    pub(crate) listing: Listing,
    /// What the server has outside its data directory.
    pub(crate) elsewhere: Vec<Elsewhere>,
}

/// A provider that will do, and what it takes.
pub(crate) struct Prepared<'d> {
    pub(crate) source: Source<'d>,
    pub(crate) provider: Provider,
    pub(crate) estimate: Estimate,
    /// Where copies go.
    pub(crate) place: PathBuf,
}

/// Finds the provider to use.
pub(crate) fn choose<'d>(datadir: &'d DataDir, options: &Options) -> Result<Prepared<'d>, Error> {
    let server = datadir.server()?;
    if server.is_none() {
        check_complete(datadir.path())?;
    }
    let listing = Listing::of(datadir.path())?;
    let elsewhere = server.as_ref().map_or_else(|| Ok(Vec::new()), |server| elsewhere::of(server, datadir.path()))?;
    let size = Size::of(datadir.path(), &listing, &elsewhere)?;
    let source = Source { datadir, server, listing, elsewhere };
    let tried = match options.provider {
        Choice::Only(provider) => vec![provider],
        Choice::Auto => Provider::ALL.to_vec(),
    };
    let mut refused = Vec::new();
    for provider in tried {
        let way = provider.way();
        let estimate = size.estimate(provider, way.freezes() && source.server.is_some());
        match way.place(&source, options).and_then(|place| within(&estimate, options).map(|()| place)) {
            Ok(place) => return Ok(Prepared { source, provider, estimate, place }),
            // Of no use to anyone who did not ask for that provider.
            Err(Error::Runs { .. } | Error::NotBtrfs { .. }) if options.provider == Choice::Auto => {}
            Err(error) => refused.push((provider, error)),
        }
    }
    Err(Error::of_refusals(datadir.path(), refused))
}

fn within(estimate: &Estimate, options: &Options) -> Result<(), Error> {
    if estimate.freeze() <= options.max_freeze {
        return Ok(());
    }
    Err(Error::OverBudget { estimate: Box::new(estimate.clone()), limit: options.max_freeze })
}

/// Makes sure that all is in the data directory if no server runs that could tell where the rest is.
fn check_complete(datadir: &Path) -> Result<(), Error> {
    let is_there = |name: &str| datadir.join(name).exists();
    let missing = match (is_there("ibdata1"), is_there(REDO) || is_there("ib_logfile0")) {
        (true, true) => return Ok(()),
        (false, _) => "ibdata1",
        (true, false) => "the redo log",
    };
    Err(Error::Incomplete { path: datadir.to_owned(), missing })
}

/// Writes out dirty pages beforehand: a copy has to wait for them.
fn write_out(from: &Path, listing: &Listing) {
    for path in &listing.files {
        // What is not written now is written by the copy.
        let _ = listing::open(&from.join(path)).and_then(|file| sys::write_out(&file));
    }
}

/// Stops the server, if one runs, and if it is still the one that was found.
fn freeze(prepared: &Prepared<'_>, options: &Options) -> Result<Option<Freeze>, Error> {
    let source = &prepared.source;
    let Some(server) = &source.server else { return Ok(None) };
    // Writing out may have taken minutes, and the server may be another process now.
    if source.datadir.server()?.map(|now| now.pid) != Some(server.pid) {
        return Err(Error::ServerGone { pid: server.pid });
    }
    Freeze::begin(server, source.datadir.path(), &options.watchdog, options.max_freeze).map(Some)
}
