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
    /// The scope for a host: everything if `full`; otherwise the changes, plus the packs that the report of a check
    /// names as missing or damaged.
    ///
    /// # Errors
    /// [`Error::Io`] if the report cannot be read, or is not one of a check of this host.
    pub fn new(full: bool, report: Option<&Path>, host: &str) -> Result<Self, Error> {
        match report {
            Some(report) => Self::again(report, host),
            None if full => Ok(Self::All),
            None => Ok(Self::Changes),
        }
    }

    /// Reads the packs of a host that a check found missing or damaged, from its report in JSON.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be read, or is not a report of a check of this host.
    fn again(path: &Path, host: &str) -> Result<Self, Error> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_a_check_decides_before_anything_else() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        assert_eq!(Scope::new(false, None, "db1").unwrap(), Scope::Changes);
        assert_eq!(Scope::new(true, None, "db1").unwrap(), Scope::All);
        assert!(Scope::new(false, Some(&path), "db1").is_err());
        let report = |host: &str| format!(r#"{{"schema":"{}","host":"{host}","objects":{{"bad":[]}}}}"#, check::SCHEMA);
        fs::write(&path, report("db1")).unwrap();
        assert_eq!(Scope::new(false, Some(&path), "db1").unwrap(), Scope::Again(BTreeSet::new()));
        fs::write(&path, report("db2")).unwrap();
        let other = Scope::new(false, Some(&path), "db1").unwrap_err().to_string();
        assert!(other.contains("db2, not of db1"), "{other}");
    }
}
