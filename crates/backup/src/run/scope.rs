//! What a run stores besides the changes since the last backup.

use std::{collections::BTreeSet, fs, io, path::Path};

use archive::{Digest, names};
use serde::Deserialize;

use crate::{Error, check};

/// What a run stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The changes since the last backup.
    Changes,
    /// All pages.
    All,
    /// The changes, and everything that the last backup has in these packs, which are damaged or missing.
    Again(BTreeSet<Digest>),
}

#[derive(Deserialize)]
struct Report {
    schema: String,
    host: String,
    objects: Objects,
}

#[derive(Deserialize)]
struct Objects {
    bad: Vec<Bad>,
}

#[derive(Deserialize)]
struct Bad {
    object: String,
}

impl Scope {
    /// Reads the packs of a host that a check found missing or damaged, from its report in JSON.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, or is not a report of a check of this host.
    pub fn again(path: &Path, host: &str) -> Result<Self, Error> {
        let bytes = fs::read(path).map_err(Error::io(path, "cannot be read"))?;
        let report: Report = serde_json::from_slice(&bytes)
            .map_err(io::Error::from)
            .map_err(Error::io(path, "not the report of a check"))?;
        let reason = match (report.schema == check::SCHEMA, report.host == host) {
            (false, _) => format!("it is not of schema {}", check::SCHEMA),
            (_, false) => format!("it is about backups of {}, not of {host}", report.host),
            (true, true) => {
                let packs = report.objects.bad.iter().filter_map(|bad| names::pack_digest(host, &bad.object));
                return Ok(Self::Again(packs.collect()));
            }
        };
        Err(Error::io(path, "cannot be used")(io::Error::other(reason)))
    }

    /// Whether a pack of the last backup may be reused.
    pub(super) fn uses(&self, pack: &Digest) -> bool {
        match self {
            Self::Changes => true,
            Self::All => false,
            Self::Again(bad) => !bad.contains(pack),
        }
    }
}
