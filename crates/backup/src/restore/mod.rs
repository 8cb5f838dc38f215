//! Restoring a backup: staged, proven from the disk, then put in place as a whole or not at all.

mod fetch;
mod open;
mod prove;

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
};

use agefile::Identity;
use archive::{Digest, Manifest, Receipt, names::Number, sshsig::AllowedSigners};
use codec::entry::Entry;
use transfer::{
    hash::Hash,
    receiver::{Mark, Owner, Staging},
    wire::Root,
};
use verify::Keys;

pub use self::open::{Opened, Wanted, open};
use crate::{BackupError, Repository};

/// How to restore.
#[derive(Debug)]
pub struct Options<'o> {
    /// The target directory: not there, or empty, or holding a restore that was cut off.
    pub into: PathBuf,
    /// What opens the age files.
    pub identities: &'o [Identity],
    /// Keys that seal the pages again.
    pub keys: &'o Keys,
    /// Who may have signed the receipt; without them the signature is not judged.
    pub signers: Option<&'o AllowedSigners>,
    /// Owner of everything, instead of the source's.
    pub owner: Option<Owner>,
    /// Threads.
    pub streams: u16,
}

/// What a restore does, for whoever watches it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of all files.
    pub total_bytes: AtomicU64,
    /// Bytes of packs that were read.
    pub fetched_bytes: AtomicU64,
    /// Bytes that were written to files.
    pub written_bytes: AtomicU64,
    /// Bytes of files that an earlier try had restored.
    pub kept_bytes: AtomicU64,
    /// Bytes that were read back and compared.
    pub proven_bytes: AtomicU64,
}

/// What was restored.
#[derive(Debug)]
pub struct Restored {
    /// Of which backup.
    pub number: Number,
    /// Hash of the list of files.
    pub tree: Hash,
    /// Files, directories and links.
    pub entries: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Packs that were read.
    pub packs: u64,
    /// What the pages are worth with the keys at hand.
    pub pages: Pages,
    /// Whether only a commit that was cut off had to be finished.
    pub finished: bool,
}

/// Pages, by what verification found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pages {
    /// Opened with the key, or clear, and sound.
    pub proven: u64,
    /// Some check fails.
    pub bad: u64,
    /// No key at hand opens them.
    pub unproven: u64,
}

/// Restores a backup.
///
/// # Errors
/// [`BackupError`]: the target is as it was, but for a staging directory from which the same call goes on.
pub fn restore(
    repository: &Repository,
    opened: &Opened,
    options: &Options<'_>,
    progress: &Progress,
) -> Result<Restored, BackupError> {
    let staging = Staging::open(&options.into, options.owner)?;
    if staging.is_committed() {
        return finish(&staging, opened);
    }
    let manifest = opened.manifest(repository, options.identities)?;
    let entries: Vec<Entry> = manifest.files.iter().map(|file| file.entry.clone()).collect();
    if let Some(entry) = transfer::plan::first_unsound(&entries).and_then(|first| entries.get(first)) {
        let reason = format!("its list of files has {}, which cannot be made there", entry.path);
        return Err(BackupError::Untrusted { object: opened.receipt.manifest_name(), reason });
    }
    progress.total_bytes.store(manifest.bytes(), Ordering::Relaxed);
    let packs = {
        let fetch = fetch::Fetch::new(repository, opened, &manifest, options, &staging, progress)?;
        let resumed = staging.has_files()?;
        staging.check_space(stored_bytes(&manifest).saturating_sub(staging.staged_bytes(&entries)))?;
        staging.make_again(&entries)?;
        fetch.run(resumed)?
    };
    prove::read_back(&staging, &manifest, options.streams, progress)?;
    let pages = prove::pages(&staging, options);
    let list = transfer::manifest::Manifest {
        entries: entries.into_iter().zip(manifest.files.iter().map(|file| file.hash)).collect(),
    };
    let root = manifest.head.root;
    let root = Some(Root { mode: root.mode & 0o7777, uid: root.uid, gid: root.gid });
    staging.commit(&list, &Mark { root, owner: options.owner, ..Mark::default() })?;
    Ok(Restored {
        number: opened.receipt.number,
        tree: list.tree(),
        entries: list.entries.len() as u64,
        bytes: list.bytes(),
        packs,
        pages,
        finished: false,
    })
}

/// Finishes a commit that was cut off.
fn finish(staging: &Staging, opened: &Opened) -> Result<Restored, BackupError> {
    let list = staging.staged_manifest()?;
    staging.finish(&list)?;
    Ok(Restored {
        number: opened.receipt.number,
        tree: list.tree(),
        entries: list.entries.len() as u64,
        bytes: list.bytes(),
        packs: 0,
        pages: Pages::default(),
        finished: true,
    })
}

/// Bytes that the files take without their holes.
fn stored_bytes(manifest: &Manifest) -> u64 {
    let runs = manifest.files.iter().flat_map(|file| &file.runs);
    runs.fold(0, |sum, run| sum.saturating_add(run.bytes))
}

impl Opened {
    /// Whether the receipt is the one that was asked for by its hash, or is known to be signed.
    #[must_use]
    pub const fn receipt(&self) -> &Receipt {
        &self.receipt
    }

    /// SHA-256 of the receipt.
    #[must_use]
    pub const fn sha256(&self) -> Digest {
        self.sha256
    }
}
