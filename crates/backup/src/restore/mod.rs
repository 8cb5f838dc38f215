//! Restores a backup: staged, verified from disk, then renamed into place as a whole.

mod base;
mod fetch;
mod interrupted;
mod job;
mod links;
mod missing;
mod open;
mod pack_runs;
mod plan;
mod point_in_time;
mod proof;
mod ranges;
mod read_back;
mod report;
mod request;
mod salvage;
mod scratch;

use std::{
    io,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use agefile::Identity;
use archive::{
    Manifest,
    names::{self, Number},
};
use codec::{
    entry::{Entry, Kind},
    hash::Hash,
};
use innodb::binlog::CopyPosition;
use keyring::WritableKeyring;
use serde::{Deserialize, Serialize};
use transfer::{
    receiver::{CommitMarker, Owner, Staging},
    rekey::{Rekeyed, check_location},
    wire::Root,
};
use verify::Keys;

use self::{
    fetch::{Fetch, Reading},
    interrupted::Verdict,
    plan::plan,
    proof::{check_rekey, prove_staged},
    salvage::Salvaged,
    scratch::lists,
};
pub use self::{
    job::{Event, Job, JobResult, Observer, Target, Work},
    links::ExternalLinks,
    open::{BackupSelector, JudgedReceipt, Opened, open},
    plan::RestorePlan,
    point_in_time::{PointInTime, ReplayResult},
    report::RestoreReport,
    request::{Found, Request},
};
use crate::{
    Error, Outcome, Repository,
    prove::{Proof, Prover, Subject, Uncompared, prove},
    run::first_error,
    temporary_directory::TemporaryDirectory,
};

/// Options of a restore.
#[derive(Debug)]
pub struct RestoreOptions<'o> {
    /// Target directory: it must not exist, be empty, or have an interrupted restore.
    pub into: PathBuf,
    /// Identities that decrypt the age files.
    pub identities: &'o [Identity],
    /// Keys that encrypt the pages again.
    pub keys: &'o Keys,
    /// Owner of all files, instead of the original one.
    pub owner: Option<Owner>,
    /// Keyring of the server that will use the directory: new master keys in it wrap the keys of the files.
    pub rekey: Option<&'o WritableKeyring>,
    /// An existing directory: parts of its files that equal the backup are copied from there.
    pub base: Option<PathBuf>,
    /// Whether to find the files in the packs alone, without the manifest.
    pub salvage: bool,
    /// What becomes of links that lead out of the directory.
    pub links: ExternalLinks,
    /// Number of threads.
    pub streams: u16,
}

/// Progress of a restore, in bytes.
#[derive(Debug, Default)]
pub struct RestoreProgress {
    /// Number of files; 0 until it is known.
    pub files: AtomicU64,
    /// Length of all files.
    pub total_bytes: AtomicU64,
    /// Bytes of packs read.
    pub fetched_bytes: AtomicU64,
    /// Bytes written to files.
    pub written_bytes: AtomicU64,
    /// Bytes of files that an earlier attempt restored.
    pub kept_bytes: AtomicU64,
    /// Bytes copied from the existing directory.
    pub base_bytes: AtomicU64,
    /// Bytes read back and compared.
    pub proven_bytes: AtomicU64,
}

/// Result of a restore.
#[derive(Debug)]
pub struct Restored {
    /// Number of the restored backup.
    pub number: Number,
    /// Hash of the list of files.
    pub tree: Hash,
    /// Number of files, directories and links.
    pub entries: u64,
    /// Length of all files, in bytes.
    pub bytes: u64,
    /// Number of packs read.
    pub packs: u64,
    /// Number of those among them of which only ranges were read.
    pub partial_packs: u64,
    /// A file that differed when it was read back, if packs of which only ranges were read were then read as a whole.
    pub read_again: Option<PathBuf>,
    /// Counts of the pages, verified with the given keys.
    pub pages: PageCounts,
    /// The complete verification; `None` if only an interrupted commit had to be completed.
    pub report: Option<verify::Report>,
    /// Names of complete binary logs of MySQL whose order of events may keep a server from starting.
    pub logs_out_of_order: Vec<String>,
    /// Position of the backup in the binary log, if known, until binary logs are replayed.
    pub position: Option<CopyPosition>,
    /// Whether binary logs were replayed on the files.
    pub is_replayed: bool,
    /// Files whose keys were rewrapped with other master keys, if requested.
    pub rekeyed: Option<Rekeyed>,
    /// Keys of the other keyring, if the files' keys were rewrapped.
    pub new_keys: Option<Keys>,
    /// Whether only an interrupted commit had to be completed.
    pub finished: bool,
    /// Packs that are missing or damaged, if the files were found in the packs alone.
    pub salvaged: Option<Vec<String>>,
}

impl Restored {
    /// The verdict, including the proof by a server if there was one.
    #[must_use]
    pub fn outcome(&self, opened: &Opened, proof: Option<&Proof>) -> Outcome {
        let has_lost = self.salvaged.as_ref().is_some_and(|lost| !lost.is_empty());
        if self.pages.bad > 0 || has_lost || proof.is_some_and(|proof| !proof.is_sound()) {
            Outcome::Damaged
        } else if self.is_complete(opened) {
            Outcome::Proven
        } else {
            Outcome::Unjudged
        }
    }

    /// Starts a server on the restored directory `into`, checks its tables, and stops it. The directory is recovered
    /// afterwards. `keys` are those of the restore, unless the files' keys were rewrapped.
    ///
    /// # Errors
    /// [`Error::Prove`] if the server does not start, recover, answer or stop.
    pub fn prove(
        &self,
        into: &Path,
        opened: &Opened,
        keys: &Keys,
        prover: &Prover,
        note: &dyn Fn(&str),
    ) -> Result<Proof, Error> {
        let subject = Subject {
            datadir: into,
            keys: self.new_keys.as_ref().unwrap_or(keys),
            report: self.report.as_ref(),
            position: self.compared_position(),
            server_uuid: opened.server_uuid(),
        };
        prove(&subject, prover, note)
    }

    /// The position that a server has to recover, or why none can be compared.
    fn compared_position(&self) -> Result<&CopyPosition, Uncompared> {
        match &self.position {
            Some(position) if *position == CopyPosition::default() => Err(Uncompared::NoBinaryLog),
            Some(position) => Ok(position),
            None if self.is_replayed => Err(Uncompared::Replayed),
            None if self.salvaged.is_some() => Err(Uncompared::Salvaged),
            None => Err(Uncompared::NotRecorded),
        }
    }

    /// Whether everything was proven.
    pub(crate) fn is_complete(&self, opened: &Opened) -> bool {
        opened.is_signed() && opened.is_newest_known() && self.pages.unproven == 0 && self.salvaged.is_none()
    }
}

/// Numbers of pages, by verdict.
///
/// Commit markers contain them as JSON, so their fields are part of that format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageCounts {
    /// All pages of the restored files.
    pub total: u64,
    /// Sound: in clear, or decrypted with a given key.
    pub proven: u64,
    /// Pages that fail a check.
    pub bad: u64,
    /// Pages that no given key decrypts.
    pub unproven: u64,
}

/// Restores a backup.
///
/// # Errors
/// [`Error`]; the target is unchanged, except for a staging directory from which the same call continues.
fn restore(
    repository: &Repository,
    opened: &Opened,
    options: &RestoreOptions<'_>,
    progress: &RestoreProgress,
) -> Result<Restored, Error> {
    let (mut manifest, salvaged) = manifest(repository, opened, options)?;
    options.links.apply(repository, &mut manifest, &options.into)?;
    if let Some(keyring) = options.rekey {
        check_location(keyring, &options.into)?;
        check_rekey(&manifest)?;
    }
    let staging = Staging::open(&options.into, options.owner)?;
    if staging.is_committed() {
        return interrupted::finish(&staging, &manifest, opened, options);
    }
    let entries = entries(&manifest, opened)?;
    progress.total_bytes.store(manifest.bytes(), Ordering::Relaxed);
    progress.files.store(file_count(&manifest), Ordering::Release);
    let reading = if options.salvage { Reading::Whole } else { Reading::Ranges };
    let mut fetched = {
        let fetch = Fetch::new(repository, opened, &manifest, options, &staging, progress)?;
        let resumed = staging.has_files()?;
        let stored_bytes = stored_bytes(&manifest).map_err(Error::Lists)?;
        staging.check_space(stored_bytes.saturating_sub(staging.staged_bytes(&entries)))?;
        staging.make_resumed(&entries)?;
        // Without a manifest there are no hashes to compare staged files with.
        fetch.run(resumed && !options.salvage, reading)?
    };
    if options.salvage {
        salvage::hash_staged(&staging, &mut manifest, options.streams)?;
    }
    let mut list = with_hashes(entries, &manifest);
    let mut read_again = None;
    let mut prove = || prove_staged(&staging, &manifest, options, progress, &mut list);
    let proven = match prove() {
        Err(Error::ReadBack { path }) if fetched.partial > 0 => {
            // The hashes of packs of which only ranges were read were not verified: one of them may be wrong.
            read_again = Some(path);
            progress.proven_bytes.store(0, Ordering::Relaxed);
            let kept = progress.kept_bytes.load(Ordering::Relaxed);
            let fetch = Fetch::new(repository, opened, &manifest, options, &staging, progress)?;
            fetched.packs = fetched.packs.saturating_add(fetch.run(true, Reading::Whole)?.packs);
            // What the first attempt of this restore wrote was not there before it.
            progress.kept_bytes.store(kept, Ordering::Relaxed);
            prove()
        }
        proven => proven,
    }?;
    let root = manifest.head.root;
    let root = Some(Root { mode: root.mode & 0o7777, uid: root.uid, gid: root.gid });
    let master_keys = proven.rekeyed.as_ref().map(|rekeyed| rekeyed.master_keys.clone());
    let verdict = Verdict::new(opened, &manifest, salvaged, proven.pages, &proven.report);
    let marker = CommitMarker {
        root,
        owner: options.owner,
        verdict: Some(verdict.text(&options.into)?),
        master_keys,
        ..CommitMarker::default()
    };
    staging.commit(&list, &marker)?;
    Ok(Restored {
        number: opened.number(),
        tree: list.tree(),
        entries: list.entries.len() as u64,
        bytes: list.bytes(),
        packs: fetched.packs,
        partial_packs: fetched.partial,
        read_again,
        pages: verdict.pages,
        report: Some(in_place(proven.report, &staging.files_path(), &options.into)),
        logs_out_of_order: verdict.logs_out_of_order,
        position: verdict.position,
        is_replayed: false,
        rekeyed: proven.rekeyed,
        new_keys: proven.new_keys,
        finished: false,
        salvaged: verdict.lost,
    })
}

/// Changes the paths in the report on staged files to the target directory, where the files are now.
fn in_place(mut report: verify::Report, staged: &Path, into: &Path) -> verify::Report {
    let paths = report.files.iter_mut().map(|file| &mut file.path);
    for path in paths.chain(report.errors.iter_mut().map(|unread| &mut unread.path)) {
        if let Ok(relative) = path.strip_prefix(staged) {
            *path = into.join(relative);
        }
    }
    report
}

/// Reads the manifest. If it has to be salvaged from the packs, also returns what is lost.
fn manifest(
    repository: &Repository,
    opened: &Opened,
    options: &RestoreOptions<'_>,
) -> Result<(Manifest, Option<Vec<String>>), Error> {
    match opened.receipt().filter(|_| options.salvage) {
        Some(JudgedReceipt { receipt, .. }) => {
            let Salvaged { manifest, lost } = salvage::find(repository, receipt, options)?;
            Ok((manifest, Some(lost)))
        }
        None => Ok((opened.manifest(repository, options.identities, lists(&options.into)?)?, None)),
    }
}

/// Runs the same function on several threads.
fn in_threads(threads: u16, work: &(dyn Fn() -> Result<(), Error> + Sync)) -> Result<(), Error> {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        first_error(workers.into_iter().map(|worker| worker.join().unwrap_or(Err(Error::Stopped))).collect())
    })
}

/// The list of files, checked to be valid for the target.
fn entries(manifest: &Manifest, opened: &Opened) -> Result<Vec<Entry>, Error> {
    let entries: Vec<Entry> = manifest.files.iter().map(|file| file.entry.clone()).collect();
    if let Some(entry) = transfer::plan::first_invalid(&entries).and_then(|first| entries.get(first)) {
        let reason = format!("its list of files has {}, which cannot be created", entry.path);
        return Err(Error::Untrusted { object: names::manifest(opened.host(), opened.number()), reason });
    }
    Ok(entries)
}

/// A list of files with the hashes of their contents.
fn with_hashes(entries: Vec<Entry>, manifest: &Manifest) -> transfer::manifest::Manifest {
    let hashes = manifest.files.iter().map(|file| file.hash);
    transfer::manifest::Manifest { entries: entries.into_iter().zip(hashes).collect() }
}

/// Number of files.
fn file_count(manifest: &Manifest) -> u64 {
    manifest.files.iter().filter(|file| matches!(file.entry.kind, Kind::File { .. })).count() as u64
}

/// Bytes of all files, without holes.
fn stored_bytes(manifest: &Manifest) -> io::Result<u64> {
    let mut runs = manifest.files.iter().flat_map(|file| file.runs.iter());
    runs.try_fold(0_u64, |sum, run| Ok(sum.saturating_add(run?.bytes)))
}
