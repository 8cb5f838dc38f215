//! Makes backups.

mod commit;
mod files;
mod frames;
mod judgement;
mod packs;
mod plan;
mod scope;
mod uploads;
mod worker;

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use archive::{
    Digest,
    manifest::LeftOut,
    names::Number,
    receipt::{self, Pack, Receipt, fingerprint},
    sshsig::SigningKey,
};
use innodb::binlog::CopyPosition;
use jiff::Timestamp;
use serde::Serialize;
use snapshot::{Keep, SnapshotCopy, SnapshotGuard, follow};
use verify::{Judge, Keys};

pub(crate) use self::commit::key_check;
pub use self::plan::{RunPlan, plan};
pub use self::scope::Scope;
use self::{
    commit::Commit,
    files::Files,
    judgement::Judgement,
    packs::Packs,
    uploads::Uploads,
    worker::{Queue, Worker},
};
use crate::{
    Config, Error, Outcome, Repository, config, judge, selection,
    state::{Base, State},
};

/// Why a backup is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// The user asked for it.
    #[error("it was requested")]
    Asked,
    /// The host has no earlier backup.
    #[error("it is the first backup")]
    First,
    /// This host has no state.
    #[error("this host has no state of the last backup, which shows the changed pages")]
    NoState,
    /// The state does not belong to the newest backup.
    #[error("the state of this host does not belong to the newest backup in the repository")]
    OtherState,
    /// Packs that the last backup needs are missing or truncated.
    #[error("packs of the last backup are missing or damaged in the repository")]
    LostPacks,
}

/// Progress of a run, in bytes.
#[derive(Debug, Default)]
pub struct RunProgress {
    /// Length of all files.
    pub total_bytes: AtomicU64,
    /// Bytes read.
    pub bytes: AtomicU64,
    /// Bytes of changed units, uncompressed.
    pub changed_bytes: AtomicU64,
    /// Bytes of decrypted units.
    pub opened_bytes: AtomicU64,
    /// Bytes stored in the repository.
    pub stored_bytes: AtomicU64,
}

/// A consistent copy of a data directory.
struct Source {
    guard: SnapshotGuard,
    /// The snapshot provider that made it.
    provider: String,
    /// Time of the copy.
    instant: Timestamp,
    /// Position of the binary log at that time, if it was read.
    position: Option<CopyPosition>,
}

/// Result of a run.
#[derive(Debug)]
pub struct Backup {
    /// Its receipt.
    pub receipt: Receipt,
    /// SHA-256 of the receipt.
    pub sha256: Digest,
    /// Number of the backup that this one builds on.
    pub base: Option<Number>,
    /// Why it does not build on one.
    pub full: Option<Full>,
    /// Files that were left out.
    pub left_out: Vec<LeftOut>,
    /// Position of the backup in the binary log, if known.
    pub position: Option<CopyPosition>,
    /// Number of files.
    pub files: u64,
    /// An interrupted run that was completed first.
    pub finished: Option<Number>,
    /// How long the server waited for the copy.
    pub waited: Waited,
    /// The step that took most of the time of reading and storing.
    pub limited_by: Limit,
    /// Duration of the parts of the run.
    pub phases: Phases,
}

impl Backup {
    /// The verdict on its pages. Those that no key opened count only if the backup has to be complete.
    #[must_use]
    pub const fn outcome(&self, require_complete: bool) -> Outcome {
        outcome(self.receipt.pages, require_complete)
    }
}

const fn outcome(pages: receipt::Pages, require_complete: bool) -> Outcome {
    match (pages.damaged, pages.unproven) {
        (1.., _) => Outcome::Damaged,
        (_, 1..) if require_complete => Outcome::Unjudged,
        _ => Outcome::Proven,
    }
}

/// How long a server waited for its copy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waited {
    /// How long the server was stopped, or commits waited.
    pub stood_still: Duration,
    /// How long changes of tables other than InnoDB's waited for a lock; `None` if the provider takes no locks.
    pub locks: Option<Duration>,
    /// How long DDL waited; `None` if the provider takes no locks.
    pub definitions: Option<Duration>,
}

impl Waited {
    fn of_copy(copy: &SnapshotCopy) -> Self {
        let followed = copy.followed();
        Self {
            stood_still: copy.frozen(),
            locks: followed.map(|followed| followed.others_waited),
            definitions: followed.map(|followed| followed.ddl_waited),
        }
    }
}

/// The step that took most of the time of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// Reading the files.
    Reading,
    /// Decrypting, checking and compressing pages.
    #[default]
    Processor,
    /// Waiting for the store.
    Storing,
}

impl Limit {
    /// The step with the longest time. `total` is the time of all threads; of it they waited for `reading` and
    /// `storing`.
    fn longest(total: Duration, reading: Duration, storing: Duration) -> Self {
        let computing = total.saturating_sub(reading).saturating_sub(storing);
        let all = [(computing, Self::Processor), (reading, Self::Reading), (storing, Self::Storing)];
        all.into_iter().max_by_key(|(time, _)| *time).map_or(Self::Processor, |(_, limit)| limit)
    }
}

/// Duration of the parts of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Phases {
    /// Taking the copy.
    pub copy: Duration,
    /// Reading all files, storing what changed.
    pub store: Duration,
    /// Manifest, signature and receipt.
    pub commit: Duration,
}

impl From<Phases> for receipt::Phases {
    fn from(phases: Phases) -> Self {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Self { copy_ms: milliseconds(phases.copy), store_ms: milliseconds(phases.store) }
    }
}

/// The copy that a backup reads, and the signing key.
#[derive(Debug)]
pub struct SourceCopy {
    /// The copy.
    pub copy: SnapshotCopy,
    signing_key: SigningKey,
    duration: Duration,
}

/// Takes the copy that a backup reads, or uses the directory itself if no server runs on it.
///
/// # Errors
/// [`Error::Snapshot`]; [`Error::Key`] before a server is frozen.
pub fn take(config: &Config) -> Result<SourceCopy, Error> {
    let (signing_key, began) = (config.signing_key()?, Instant::now());
    let copy = snapshot::take(&config.server.datadir()?, &options(config)?)?;
    Ok(SourceCopy { copy, signing_key, duration: began.elapsed() })
}

/// How the copy is taken.
fn options(config: &Config) -> Result<snapshot::Options, Error> {
    Ok(snapshot::Options {
        provider: config.provider,
        max_freeze: config.max_freeze,
        keep: Keep::WhileInUse,
        account: config.server.account(config.provider)?,
        keys: follow::Keys::new(config.server.keys()?),
        ..snapshot::Options::default()
    })
}

/// Makes a backup of a copy. `hold` releases the copy if the program is told to stop.
///
/// # Errors
/// [`Error`]: no backup was made.
pub fn run(
    config: &Config,
    repository: &Repository,
    source_copy: SourceCopy,
    hold: impl FnOnce(SnapshotCopy) -> SnapshotGuard,
    scope: &Scope,
    progress: &RunProgress,
) -> Result<Backup, Error> {
    let SourceCopy { copy, signing_key, duration } = source_copy;
    let (mut phases, waited) = (Phases { copy: duration, ..Phases::default() }, Waited::of_copy(&copy));
    let (provider, position) = (copy.provider().to_string(), copy.followed().map(|followed| followed.position.clone()));
    let source = &Source { guard: hold(copy), provider, instant: Timestamp::now(), position };
    let (began, clock) = (Timestamp::now(), Instant::now());
    let state = State::open(&config.state, &repository.id, &config.host)?;
    let finished = commit::finish_earlier(repository, &config.host, &state)?;
    let predecessor = Predecessor::find(repository, &config.host, &state, scope)?;
    let keys = config.server.keys()?;
    let (plan, left_out) = selection::plan(source.guard.root(), &config.server.key_files())?;
    progress.total_bytes.store(plan.bytes, Ordering::Relaxed);
    let draft = state.begin(predecessor.number)?;
    let files = Files::read(&plan, &keys, config, predecessor.base.as_ref(), &state)?;
    let packs = Packs::new(repository, config, predecessor.base.as_ref().map(|base| &base.manifest));
    let verified = verify::Plan::scan(&[source.guard.root().to_owned()]);
    let settings = judge::settings(config.streams);
    let judge = Judge::new(&verified, &keys, &settings);
    let judgement = Judgement::new(&judge, &plan, &files);
    let run = Run {
        config,
        plan: &plan,
        files: &files,
        keys: &keys,
        base: predecessor.base.as_ref(),
        packs: &packs,
        uploads: &Uploads::new(&packs, config.streams, progress),
        judgement: &judgement,
        progress,
        pages: &draft.pages,
        secret: &state.secret,
        reading: AtomicU64::new(0),
    };
    let limited_by = run.store()?;
    plan.check_unchanged()?;
    let opened_from = judgement.lowest_opened();
    drop(judgement);
    let judged = judgement::conclude(&judge.finish(), &plan, &opened_from);
    source.guard.prove().map_err(|error| Error::Void(error.to_string()))?;
    phases.store = clock.elapsed();
    let (previous, number) = (predecessor.previous, predecessor.number);
    let commit = Commit {
        repository,
        config,
        source,
        key: &signing_key,
        keys: &keys,
        began,
        number,
        previous,
        full: predecessor.full.is_some(),
        phases,
    };
    let recipients = state.recipients()?;
    let unproven_recipients = recipients.unproven(&config.all_recipients()).into_iter().map(fingerprint).collect();
    let summary = commit::Summary { judged, left_out: left_out.clone(), unproven_recipients, progress };
    let (receipt, sha256) = commit.commit(&state, draft, &files, packs, &plan, summary)?;
    phases.commit = clock.elapsed().saturating_sub(phases.store);
    let base = predecessor.base.as_ref().map(|base| base.manifest.head.number);
    Ok(Backup {
        receipt,
        sha256,
        base,
        full: predecessor.full,
        left_out,
        position: source.position.clone(),
        files: files.count(),
        finished,
        waited,
        limited_by,
        phases,
    })
}

/// State of the repository before this backup.
struct Predecessor {
    number: Number,
    previous: Option<Digest>,
    base: Option<Base>,
    full: Option<Full>,
}

impl Predecessor {
    fn find(repository: &Repository, host: &str, state: &State, scope: &Scope) -> Result<Self, Error> {
        if !repository.may_read() {
            return Self::remembered(state, scope);
        }
        let (numbers, highest) = repository.numbers(host)?;
        let newest = match numbers.last() {
            Some(number) => repository.receipt(host, *number)?.map(|(link, _)| link),
            None => None,
        };
        let previous = newest.as_ref().map(|link| link.sha256);
        let remembered = state.newest()?;
        let (base, full) = match (previous, remembered) {
            (None, _) => (None, Some(Full::First)),
            _ if *scope == Scope::All => (None, Some(Full::Asked)),
            (Some(_), None) => (None, Some(Full::NoState)),
            (Some(previous), Some(remembered)) if remembered.sha256 != previous => (None, Some(Full::OtherState)),
            (Some(_), Some(remembered)) => match remembered.base() {
                None => (None, Some(Full::NoState)),
                Some(_) if !has_packs(repository, &remembered.receipt, scope)? => (None, Some(Full::LostPacks)),
                Some(base) => (Some(base.only_with(|pack| scope.uses(pack))), None),
            },
        };
        Ok(Self { number: highest.saturating_add(1), previous, base, full })
    }

    /// Like [`Self::find`], from the host's own state, since it may not read the repository. Only a check can find lost
    /// packs.
    fn remembered(state: &State, scope: &Scope) -> Result<Self, Error> {
        let remembered = state.newest()?;
        let highest = remembered.as_ref().map_or(0, |remembered| remembered.receipt.number).max(state.reserved()?);
        // `finish_earlier` found this run too old to complete, so its receipt was never stored.
        let unfinished = remembered.as_ref().filter(|remembered| !state.is_committed(remembered.receipt.number));
        if let Some(unfinished) = unfinished {
            let previous = unfinished.receipt.previous;
            return Ok(Self { number: highest.saturating_add(1), previous, base: None, full: Some(Full::NoState) });
        }
        let previous = remembered.as_ref().map(|remembered| remembered.sha256);
        let (base, full) = match remembered.map(|remembered| remembered.base()) {
            None => (None, Some(Full::First)),
            Some(_) if *scope == Scope::All => (None, Some(Full::Asked)),
            Some(None) => (None, Some(Full::NoState)),
            Some(Some(base)) => (Some(base.only_with(|pack| scope.uses(pack))), None),
        };
        Ok(Self { number: highest.saturating_add(1), previous, base, full })
    }
}

/// Whether all packs to be reused of a backup exist with the right length.
fn has_packs(repository: &Repository, receipt: &Receipt, scope: &Scope) -> Result<bool, Error> {
    let lengths = repository.lengths(&receipt.host)?;
    let has = |pack: &Pack| lengths.get(&archive::names::pack(&receipt.host, &pack.sha256)) == Some(&pack.bytes);
    Ok(receipt.packs.iter().filter(|pack| scope.uses(&pack.sha256)).all(has))
}

/// State that all threads share.
struct Run<'r, 'j> {
    config: &'r Config,
    plan: &'r transfer::plan::Plan,
    files: &'r Files,
    keys: &'r Keys,
    base: Option<&'r Base>,
    packs: &'r Packs<'r>,
    uploads: &'r Uploads<'r>,
    judgement: &'r Judgement<'j>,
    progress: &'r RunProgress,
    pages: &'r std::fs::File,
    secret: &'r [u8; 32],
    /// Nanoseconds that all threads spent on reading.
    reading: AtomicU64,
}

impl Run<'_, '_> {
    /// Reads all files, judges their pages and stores what changed.
    fn store(&self) -> Result<Limit, Error> {
        let began = Instant::now();
        self.uploads.during(|| self.pack())?;
        let total = began.elapsed().saturating_mul(u32::from(self.config.streams));
        let reading = Duration::from_nanos(self.reading.load(Ordering::Relaxed));
        Ok(Limit::longest(total, reading, self.uploads.waited()))
    }

    /// Reads all files, judges their pages and packs what changed. System tablespaces come last: they have copies of
    /// other tablespaces' pages, which can only be judged when these are.
    fn pack(&self) -> Result<(), Error> {
        let mut workers: Vec<Worker<'_, '_>> =
            (0..self.config.streams).map(|_| Worker::new(self)).collect::<Result<_, _>>()?;
        for system in [false, true] {
            let queue = Queue::new(self.plan, |number| self.judgement.is_system(number) == system);
            let work = |worker: &mut Worker<'_, '_>| worker.work(&queue).inspect_err(|_| queue.stop());
            first_error(on_threads(workers.iter_mut(), work))?;
            self.judgement.conclude(system);
        }
        first_error(on_threads(workers, Worker::finish))
    }
}

/// Runs the same function on several threads, each with a worker of its own.
fn on_threads<W: Send>(
    workers: impl IntoIterator<Item = W>,
    work: impl Fn(W) -> Result<(), Error> + Sync,
) -> Vec<Result<(), Error>> {
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> = workers.into_iter().map(|worker| scope.spawn(move || work(worker))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or(Err(Error::Stopped))).collect()
    })
}

/// The first error, which made the other threads stop.
pub(crate) fn first_error(ended: Vec<Result<(), Error>>) -> Result<(), Error> {
    let mut errors = ended.into_iter().filter_map(Result::err);
    let first = errors.next();
    match first {
        Some(Error::Stopped) => Err(errors.find(|error| !matches!(error, Error::Stopped)).unwrap_or(Error::Stopped)),
        Some(error) => Err(error),
        None => Ok(()),
    }
}

impl config::PageStorage {
    /// Whether pages are decrypted.
    #[must_use]
    pub fn are_opened(self) -> bool {
        self == Self::Open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_without_a_key_count_only_if_the_backup_has_to_be_complete() {
        let pages = |damaged, unproven| receipt::Pages { seen: 9, changed: 0, damaged, unproven };
        for (damaged, unproven, expected) in [
            (0, 0, [Outcome::Proven, Outcome::Proven]),
            (0, 1, [Outcome::Proven, Outcome::Unjudged]),
            (1, 1, [Outcome::Damaged, Outcome::Damaged]),
        ] {
            assert_eq!([false, true].map(|complete| outcome(pages(damaged, unproven), complete)), expected);
        }
    }
}
