//! What earlier checks have seen: the newest receipts, and which packs were read.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use archive::{
    Digest,
    chain::Link,
    names::{self, Number},
};
use files::{WriteOptions, write_atomic};
use serde::{Deserialize, Serialize};

use super::Checked;
use crate::Error;

/// Results of earlier checks, by host: the file of `--state`.
#[derive(Debug)]
pub struct CheckState {
    path: PathBuf,
    hosts: BTreeMap<String, HostRecord>,
}

/// The newest receipt of a host that a check has seen, and which packs were read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct HostRecord {
    /// Number of the newest receipt.
    number: Number,
    /// Its SHA-256.
    sha256: Digest,
    /// Name of the last pack that was read, if a check read only a part of them.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    read_until: Option<String>,
}

impl CheckState {
    /// Reads the file; empty if it does not exist.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let hosts = match fs::read(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            read => {
                let bytes = read.map_err(Error::io(path, "cannot be read"))?;
                let read = serde_json::from_slice(&bytes).map_err(io::Error::from);
                read.map_err(Error::io(path, "it was not written by a check"))?
            }
        };
        Ok(Self { path: path.to_owned(), hosts })
    }

    /// The state after a check that read the packs of a host up to `pack`.
    #[cfg(test)]
    pub(super) fn of_part(host: &str, pack: &str) -> Self {
        let record = HostRecord { number: 3, sha256: Digest::compute(b""), read_until: Some(pack.to_owned()) };
        Self { path: PathBuf::new(), hosts: BTreeMap::from([(host.to_owned(), record)]) }
    }

    /// Name of the last pack that an earlier check read, if it read only a part of them.
    #[must_use]
    pub fn read_until(&self, host: &str) -> Option<&str> {
        self.hosts.get(host)?.read_until.as_deref()
    }

    /// Compares a check with the newest receipt that an earlier check saw, and records the newest one now. A receipt
    /// that has disappeared was hidden or removed.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written.
    pub fn compare_and_record(mut self, checked: &mut Checked, host: &str, links: &[Link]) -> Result<(), Error> {
        let before = self.hosts.get(host);
        if let Some(newest) = before {
            checked.newest_known = links.iter().any(|link| link.sha256 == newest.sha256);
            if !checked.newest_known {
                let what = "an earlier check saw it, now it is hidden, replaced or removed";
                checked.bad(&names::receipt(host, newest.number), what.to_owned());
                return Ok(());
            }
        }
        let Some(last) = links.last() else { return Ok(()) };
        let read_until = checked.read_until.clone().or_else(|| before?.read_until.clone());
        let newest = HostRecord { number: last.receipt.number, sha256: last.sha256, read_until };
        self.hosts.insert(host.to_owned(), newest);
        let bytes = serde_json::to_vec(&self.hosts).map_err(io::Error::from);
        let bytes = bytes.map_err(Error::io(&self.path, "cannot be written"))?;
        write_atomic(&self.path, &bytes, WriteOptions::SECRET.replacing(true))
            .map_err(Error::io(&self.path, "cannot be written"))
    }
}
