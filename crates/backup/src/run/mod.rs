//! Making a backup.

mod commit;
mod files;
mod gather;
mod packs;
mod worker;

use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use agefile::Recipient;
use archive::{
    Digest,
    manifest::LeftOut,
    names::Number,
    receipt::{Finding, Pages, Receipt},
};
use jiff::Timestamp;
use verify::Keys;

pub(crate) use self::commit::key_check;
use self::{
    commit::Commit,
    files::Files,
    packs::Packs,
    worker::{Queue, Worker},
};
use crate::{
    BackupError, Config, Repository, config,
    judge::{self, Worth},
    selection,
    state::{Base, State},
};

/// Why a backup is a full one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// It was asked for.
    #[error("it was asked for")]
    Asked,
    /// There is none before it.
    #[error("it is the first one")]
    First,
    /// The state is gone.
    #[error("this host has no state of the last backup, which tells which pages changed")]
    NoState,
    /// The state is of another backup than the newest.
    #[error("the state of this host is not of the newest backup in the repository")]
    OtherState,
    /// Packs that the last backup needs are gone or cut.
    #[error("packs of the last backup are missing or damaged in the repository")]
    LostPacks,
}

/// What a run does, for whoever watches it.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of all files.
    pub total_bytes: AtomicU64,
    /// Bytes that were read.
    pub bytes: AtomicU64,
    /// Bytes that were packed, as they are in the files.
    pub changed_bytes: AtomicU64,
    /// Bytes that were opened.
    pub opened_bytes: AtomicU64,
    /// Bytes that were stored.
    pub stored_bytes: AtomicU64,
    /// Bytes whose pages were verified.
    pub verified_bytes: AtomicU64,
}

/// A data directory that stands still.
pub struct Source<'s> {
    /// Where it is.
    pub root: &'s Path,
    /// How the copy was taken.
    pub provider: &'s str,
    /// When.
    pub instant: Timestamp,
    /// Makes sure at the end that it stood still.
    pub prove: &'s (dyn Fn() -> Result<(), BackupError> + Sync),
}

/// What a run made.
#[derive(Debug)]
pub struct Backup {
    /// Its receipt.
    pub receipt: Receipt,
    /// SHA-256 of the receipt.
    pub sha256: Digest,
    /// Number of the backup that it goes on from.
    pub base: Option<Number>,
    /// Why there is none.
    pub full: Option<Full>,
    /// What of the data directory is not in it.
    pub left_out: Vec<LeftOut>,
    /// Number of files.
    pub files: u64,
    /// Whether an earlier run was cut off just before its end, and was finished first.
    pub finished: Option<Number>,
}

/// Makes a backup.
///
/// # Errors
/// [`BackupError`]: there is no backup then.
pub fn run(
    config: &Config,
    repository: &Repository,
    source: &Source<'_>,
    full: bool,
    progress: &Progress,
) -> Result<Backup, BackupError> {
    let began = Timestamp::now();
    let key = config.signing_key()?;
    let state = State::open(&config.state, &repository.id, &config.host)?;
    let finished = commit::finish_earlier(repository, &config.host, &state)?;
    let before = Before::find(repository, &config.host, &state, full)?;
    let keys = config.server.keys()?;
    let (plan, left_out) = selection::plan(source.root, &config.server.key_files())?;
    progress.total_bytes.store(plan.bytes, Ordering::Relaxed);
    let draft = state.begin(before.number)?;
    let files = Files::look(&plan, &keys, config.pages, before.base.as_ref(), &state)?;
    let packs = Packs::new(repository, config, before.base.as_ref().map(|base| &base.manifest));
    let run = Run {
        config,
        plan: &plan,
        files: &files,
        keys: &keys,
        base: before.base.as_ref(),
        packs: &packs,
        progress,
        pages: &draft.pages,
        secret: &state.secret,
    };
    run.store()?;
    plan.check_unchanged()?;
    let (pages, findings) = judge(source.root, &keys, config.streams, progress);
    (source.prove)()?;
    let (previous, number) = (before.previous, before.number);
    let commit = Commit {
        repository,
        config,
        source,
        key: &key,
        keys: &keys,
        began,
        number,
        previous,
        full: before.full.is_some(),
    };
    let summary = commit::Summary { pages, findings, left_out: left_out.clone(), progress };
    let (receipt, sha256) = commit.commit(&state, draft, &files, packs, &plan, summary)?;
    let base = before.base.as_ref().map(|base| base.manifest.head.number);
    Ok(Backup { receipt, sha256, base, full: before.full, left_out, files: files.count(), finished })
}

/// What there is before this backup.
struct Before {
    number: Number,
    previous: Option<Digest>,
    base: Option<Base>,
    full: Option<Full>,
}

impl Before {
    fn find(repository: &Repository, host: &str, state: &State, full: bool) -> Result<Self, BackupError> {
        let (numbers, highest) = repository.numbers(host)?;
        let newest = match numbers.last() {
            Some(number) => repository.receipt(host, *number)?.map(|(link, _)| link),
            None => None,
        };
        let previous = newest.as_ref().map(|link| link.sha256);
        let remembered = state.newest()?;
        let (base, full) = match (previous, remembered) {
            (None, _) => (None, Some(Full::First)),
            _ if full => (None, Some(Full::Asked)),
            (Some(_), None) => (None, Some(Full::NoState)),
            (Some(previous), Some(remembered)) if remembered.sha256 != previous => (None, Some(Full::OtherState)),
            (Some(_), Some(remembered)) => match remembered.base() {
                None => (None, Some(Full::NoState)),
                Some(_) if !has_packs(repository, &remembered.receipt)? => (None, Some(Full::LostPacks)),
                Some(base) => (Some(base), None),
            },
        };
        Ok(Self { number: highest.saturating_add(1), previous, base, full })
    }
}

/// Whether all packs of a backup are there, each as long as it was.
fn has_packs(repository: &Repository, receipt: &Receipt) -> Result<bool, BackupError> {
    for pack in &receipt.packs {
        let name = archive::names::pack(&receipt.host, &pack.sha256);
        if repository.store().head(&crate::repository::name(&name)?)? != Some(pack.bytes) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What all threads share.
struct Run<'r> {
    config: &'r Config,
    plan: &'r transfer::plan::Plan,
    files: &'r Files,
    keys: &'r Keys,
    base: Option<&'r Base>,
    packs: &'r Packs<'r>,
    progress: &'r Progress,
    pages: &'r std::fs::File,
    secret: &'r [u8; 32],
}

impl Run<'_> {
    /// Reads everything, and stores what changed.
    fn store(&self) -> Result<(), BackupError> {
        let queue = Queue::new(self.plan);
        thread::scope(|scope| {
            let work = || {
                let worked = Worker::new(self).and_then(|worker| worker.work(&queue));
                worked.inspect_err(|_| queue.stop())
            };
            let workers: Vec<_> = (0..self.config.streams).map(|_| scope.spawn(work)).collect();
            let ended: Vec<_> =
                workers.into_iter().map(|worker| worker.join().unwrap_or(Err(BackupError::Stopped))).collect();
            first_error(ended)
        })
    }
}

/// The error that came first: the others ended because of it.
pub(crate) fn first_error(ended: Vec<Result<(), BackupError>>) -> Result<(), BackupError> {
    let mut errors = ended.into_iter().filter_map(Result::err);
    let first = errors.next();
    match first {
        Some(BackupError::Stopped) => {
            Err(errors.find(|error| !matches!(error, BackupError::Stopped)).unwrap_or(BackupError::Stopped))
        }
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Opens and checks every page with the keys at hand.
fn judge(root: &Path, keys: &Keys, jobs: u16, progress: &Progress) -> (Pages, Vec<Finding>) {
    let note = |verified: &verify::Progress| progress.verified_bytes.store(verified.bytes(), Ordering::Relaxed);
    let report = judge::verify(root, keys, jobs, &note);
    let (mut pages, mut findings) = (Pages::default(), Vec::new());
    for file in &report.files {
        pages.seen = pages.seen.saturating_add(file.units.total);
        let id = match judge::worth(file) {
            Worth::Sound => continue,
            Worth::Damaged(bad) => {
                pages.damaged = pages.damaged.saturating_add(bad);
                "damaged"
            }
            Worth::Unproven(unproven) => {
                pages.unproven = pages.unproven.saturating_add(unproven);
                "unproven"
            }
        };
        let path = file.path.strip_prefix(root).unwrap_or(&file.path).display();
        findings.push(Finding { id: id.to_owned(), text: format!("{path}: {}", file.verdict.name()) });
    }
    for unread in &report.errors {
        let path = unread.path.strip_prefix(root).unwrap_or(&unread.path).display();
        pages.unproven = pages.unproven.saturating_add(1);
        findings.push(Finding { id: "unproven".to_owned(), text: format!("{path}: {}", unread.reason) });
    }
    (pages, findings)
}

/// How a receipt names a recipient: the first 16 digits of SHA-256 over its text.
#[must_use]
pub fn fingerprint(recipient: &Recipient) -> String {
    let digits = Digest::of(recipient.to_string().as_bytes()).to_string();
    digits.get(..16).unwrap_or_default().to_owned()
}

impl config::Pages {
    /// Whether pages are opened.
    #[must_use]
    pub fn are_opened(self) -> bool {
        self == Self::Open
    }
}
