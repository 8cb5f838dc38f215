//! What earlier checks have seen: the newest receipts, and which objects were read.

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
use crate::{Error, declarations::HostDeclarations};

/// Results of earlier checks, by host: the file of `--state`.
#[derive(Debug)]
pub struct CheckState {
    path: PathBuf,
    hosts: BTreeMap<String, HostRecord>,
}

/// The newest receipt of a host that a check has seen, and which objects were read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct HostRecord {
    /// Number of the newest receipt.
    number: Number,
    /// Its SHA-256.
    sha256: Digest,
    /// SHA-256 of the last object that was read, if a check read only a part of them. Earlier releases wrote the name of
    /// a pack, which has its hash.
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

    /// The state after a check that read the objects of a host up to `last`.
    #[cfg(test)]
    pub(super) fn of_part(host: &str, last: &str) -> Self {
        let record = HostRecord { number: 3, sha256: Digest::compute(b""), read_until: Some(last.to_owned()) };
        Self { path: PathBuf::new(), hosts: BTreeMap::from([(host.to_owned(), record)]) }
    }

    /// SHA-256 of the last object that an earlier check read, if it read only a part of them.
    #[must_use]
    pub fn read_until(&self, host: &str) -> Option<Digest> {
        let last = self.hosts.get(host)?.read_until.as_deref()?;
        last.parse().ok().or_else(|| names::pack_digest(host, last))
    }

    /// Compares a check with the newest receipt that an earlier check saw, and records the newest one now. A receipt
    /// that has disappeared was hidden or removed, unless a prune has declared that it removes it. `declared` reads the
    /// declarations of prunes with valid signatures.
    ///
    /// # Errors
    /// [`Error::Io`] if the file cannot be written, and those of `declared`.
    pub(super) fn compare_and_record(
        mut self,
        checked: &mut Checked,
        host: &str,
        links: &[Link],
        declared: impl FnOnce() -> Result<HostDeclarations, Error>,
    ) -> Result<(), Error> {
        let before = self.hosts.get(host);
        if let Some(newest) = before {
            let is_there = links.iter().any(|link| link.sha256 == newest.sha256);
            checked.newest_known = is_there || newest.is_pruned(links, &declared()?);
            if !checked.newest_known {
                let mut what = "an earlier check saw it, now it is hidden, replaced or removed".to_owned();
                if !checked.signed {
                    what.push_str("; --allowed-signers verifies what prunes have removed");
                }
                checked.bad(&names::receipt(host, newest.number), what);
                return Ok(());
            }
        }
        let Some(last) = links.last() else { return Ok(()) };
        let read_until = checked.read_until.map(|last| last.to_string());
        let read_until = read_until.or_else(|| before?.read_until.clone());
        let newest = HostRecord { number: last.receipt.number, sha256: last.sha256, read_until };
        self.hosts.insert(host.to_owned(), newest);
        let bytes = serde_json::to_vec(&self.hosts).map_err(io::Error::from);
        let bytes = bytes.map_err(Error::io(&self.path, "cannot be written"))?;
        write_atomic(&self.path, &bytes, WriteOptions::SECRET.replacing(true))
            .map_err(Error::io(&self.path, "cannot be written"))
    }
}

impl HostRecord {
    /// Whether a prune has declared that it removes this receipt, and a newer one exists: a prune keeps the newest.
    fn is_pruned(&self, links: &[Link], declared: &HostDeclarations) -> bool {
        let is_declared = declared.removed.contains_key(&self.sha256) && declared.numbers.contains(&self.number);
        is_declared && links.last().is_some_and(|last| last.receipt.number > self.number)
    }
}

#[cfg(test)]
mod tests {
    use archive::Receipt;

    use super::*;

    fn link(number: Number) -> Link {
        let sha256 = Digest::compute(&number.to_le_bytes());
        let text = format!(
            r#"{{"schema":"sealant.receipt/1","repo":"r","host":"db1","number":{number},"kind":"backup",
            "began":"2026-11-23T01:00:00Z","ended":"2026-11-23T01:00:00Z","full":true,"provider":"stopped",
            "manifest":{{"sha256":"{sha256}","bytes":1}},"packs":[],
            "bytes":{{"data":0,"read":0,"changed":0,"stored":0}},
            "pages":{{"seen":0,"changed":0,"damaged":0,"unproven":0}},"recipients":[],"tool":"sealant"}}"#
        );
        Link { sha256, receipt: Receipt::parse(text.as_bytes()).unwrap().summary() }
    }

    #[test]
    fn a_receipt_that_a_prune_has_removed_is_not_hidden() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state");
        // Whether the newest receipt that an earlier check saw is accounted for.
        let is_known = |numbers: &[Number], removed: &[Number]| {
            let links: Vec<Link> = numbers.iter().copied().map(link).collect();
            let declared = HostDeclarations {
                removed: removed.iter().map(|number| (link(*number).sha256, None)).collect(),
                numbers: removed.iter().copied().collect(),
                ..HostDeclarations::default()
            };
            let mut checked = Checked::default();
            let state = CheckState::read(&path).unwrap();
            state.compare_and_record(&mut checked, "db1", &links, || Ok(declared)).unwrap();
            checked.newest_known
        };
        assert!(!is_known(&[1, 2], &[]), "the first check");
        assert!(is_known(&[1, 2], &[]));
        assert!(!is_known(&[1], &[]), "hidden");
        assert!(!is_known(&[1], &[2]), "a prune keeps the newest");
        assert!(!is_known(&[1, 3], &[1]), "another was removed");
        assert!(is_known(&[1, 3], &[2]), "pruned");
        assert!(is_known(&[1, 3], &[]), "the state has gone on");
        assert!(!is_known(&[1], &[2]), "hidden");
    }
}
