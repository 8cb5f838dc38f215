//! The newest backups that a keeper has seen. Whoever may delete objects, but not their versions, can hide the newest
//! receipts. To a prune without a memory the repository would look older and whole, and it would remove for good what
//! only the hidden backups need.

use std::{collections::BTreeMap, io, path::Path};

use archive::{Digest, chain::Link, names::Number};
use serde::{Deserialize, Serialize};

use crate::{declarations::HostDeclarations, note_file::NoteFile};

/// Name of the subdirectory of the state directory, with a file for each repository.
const DIRECTORY: &str = "newest-seen";
/// Maximum length of a file: that of 100,000 hosts.
const MAX_BYTES: u64 = 16 << 20;

/// The newest receipts that earlier prunes have seen, by host.
#[derive(Debug, Default)]
pub(super) struct NewestSeen {
    file: NoteFile,
    hosts: BTreeMap<String, Newest>,
}

/// The newest receipt of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Newest {
    number: Number,
    sha256: Digest,
}

impl NewestSeen {
    /// Reads what was noted for the repository `id`. A file that is missing or damaged counts as empty.
    pub(super) fn read(state: &Path, id: &str) -> Self {
        let file = NoteFile::new(state.join(DIRECTORY).join(id));
        let hosts = serde_json::from_slice(&file.read(MAX_BYTES)).unwrap_or_default();
        Self { file, hosts }
    }

    /// Names of the hosts.
    pub(super) fn hosts(&self) -> impl Iterator<Item = &String> {
        self.hosts.keys()
    }

    /// Number of the newest backup of a host that was seen, if its receipt is not among `links`, and no prune has
    /// declared that it removes it. A prune always keeps the newest.
    pub(super) fn hidden(&self, host: &str, links: &[Link], declared: &HostDeclarations) -> Option<Number> {
        let Newest { number, sha256 } = self.hosts.get(host)?;
        let is_newer = links.last().is_some_and(|last| last.receipt.number > *number);
        let is_pruned = is_newer && declared.removed.contains_key(sha256);
        let is_there = links.iter().any(|link| link.sha256 == *sha256);
        (!is_there && !is_pruned).then_some(*number)
    }

    /// Notes the newest backup of each host; `None` for a host that has none any more.
    pub(super) fn note<'h>(mut self, hosts: impl Iterator<Item = (&'h str, Option<&'h Link>)>) -> io::Result<()> {
        let before = self.hosts.clone();
        for (host, newest) in hosts {
            self.hosts.remove(host);
            let newest = newest.map(|link| Newest { number: link.receipt.number, sha256: link.sha256 });
            self.hosts.extend(newest.map(|newest| (host.to_owned(), newest)));
        }
        if self.hosts == before {
            return Ok(());
        }
        self.file.replace(&serde_json::to_vec(&self.hosts)?)
    }
}
