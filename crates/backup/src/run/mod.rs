//! Makes backups.

mod commit;
mod contents;
mod files;
mod frames;
mod journal;
mod own_receipts;
mod packs;
mod page_proofs;
mod plan;
mod predecessor;
mod report;
mod result;
mod sample;
mod scope;
mod source;
mod unit_map;
mod uploads;
mod worker;

use std::{
    collections::BTreeSet,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant, SystemTime},
};

use archive::receipt::fingerprint;
use jiff::Timestamp;
use snapshot::{SnapshotCopy, SnapshotGuard};
use verify::{Keys, PageVerifier};

pub use self::plan::{LastBackup, RunPlan, plan};
pub use self::predecessor::{FullReason, Repacked};
pub use self::report::RunReport;
pub use self::result::{Backup, Bottleneck, Phases, Waited};
pub use self::sample::FullEstimate;
pub use self::scope::Scope;
pub use self::source::{SourceCopy, take};
use self::{
    commit::Commit,
    contents::Contents,
    files::Files,
    journal::{Attempts, Journal},
    packs::Packs,
    page_proofs::{PageProofs, Tablespaces},
    predecessor::Predecessor,
    source::Source,
    uploads::Uploads,
    worker::{Queue, Worker},
};
use crate::{
    Config, Error, Repository, judge,
    memory::{Buffers, Lists},
    selection,
    state::{Base, State},
};

/// Progress of a run, in bytes.
#[derive(Debug, Default)]
pub struct RunProgress {
    /// Number of files; 0 until it is known.
    pub files: AtomicU64,
    /// Length of all files.
    pub total_bytes: AtomicU64,
    /// Bytes read, and those that need not be.
    pub bytes: AtomicU64,
    /// Bytes among them of files that have not been written since the last backup, and were not read.
    pub unread_bytes: AtomicU64,
    /// Bytes of changed units, uncompressed.
    pub changed_bytes: AtomicU64,
    /// Bytes of decrypted units.
    pub decrypted_bytes: AtomicU64,
    /// Bytes of units that earlier runs without a receipt have stored, uncompressed.
    pub resumed_bytes: AtomicU64,
    /// Bytes stored in the repository.
    pub stored_bytes: AtomicU64,
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
    let SourceCopy { copy, signing_key, duration, .. } = source_copy;
    let (mut phases, waited) = (Phases { copy: duration, ..Phases::default() }, Waited::of_copy(&copy));
    let source = &Source::new(copy, hold);
    let (began, clock) = (Timestamp::now(), Instant::now());
    // A write after this moment is not in the copy.
    let looked = SystemTime::now().checked_sub(duration).unwrap_or(SystemTime::UNIX_EPOCH);
    let state = State::open(&config.state, &repository.id, &config.host)?;
    predecessor::check_state(repository, &config.host, &state)?;
    let finished = commit::finish_earlier(repository, &config.host, signing_key.public(), &state)?;
    let recipients: BTreeSet<String> = config.recipients.iter().map(fingerprint).collect();
    let keys = &config.server.keys()?.0;
    let predecessor =
        Predecessor::find(repository, &config.host, signing_key.public(), &state, scope, &recipients, keys)?;
    let (plan, left_out) = selection::plan(source.guard.root(), &config.server.key_files())?;
    selection::check_links(&plan)?;
    progress.total_bytes.store(plan.bytes, Ordering::Relaxed);
    progress.files.store(plan.files() as u64, Ordering::Release);
    let draft = state.begin(predecessor.number)?;
    let (base, plan) = (predecessor.base.as_ref(), &plan);
    let first_pack = base.map_or(0, |base| base.manifest.packs.len());
    let mut attempts = Attempts::read(repository, &config.host, &state, scope, &recipients, first_pack)?;
    let journal_fault = attempts.fault.take();
    let files = &Files::read(plan, keys, config, (base, &attempts), &state, looked)?;
    let buffers = buffers(config, plan, first_pack, &attempts, repository.store().copies_bodies());
    let journal = Journal::begin(&draft, recipients, plan, files)?;
    let contents = Contents::new(state.scratch()?, state.scratch()?);
    let packs = Packs::new(repository, config, base.map(|base| &base.manifest), &attempts, journal, (files, contents));
    let (pages, secret) = (&draft.pages, &state.secret);
    let inputs = Inputs { config, buffers, plan, files, keys, base, packs: &packs, progress, pages, secret };
    let (limited_by, proofs) = inputs.store(source.guard.root())?;
    source.guard.prove().map_err(|error| Error::Void(error.to_string()))?;
    phases.store = clock.elapsed();
    let commit = Commit {
        repository,
        config,
        source,
        key: &signing_key,
        keys,
        began,
        oldest: attempts.began.into_iter().chain([began]).min().unwrap_or(began),
        number: predecessor.number,
        previous: predecessor.previous,
        full: predecessor.full.is_some(),
        phases,
    };
    let unproven_recipients = unproven_recipients(config, &state)?;
    let summary = commit::Summary { proofs, left_out: left_out.clone(), unproven_recipients, progress };
    let commit::Committed { receipt, sha256, state_fault } =
        commit.commit(&state, draft, files, packs, plan, summary)?;
    phases.commit = clock.elapsed().saturating_sub(phases.store);
    Ok(Backup {
        receipt,
        sha256,
        base: predecessor.base_number(),
        base_keys: predecessor.base.map(|base| base.keys),
        full: predecessor.full,
        repacked: predecessor.repacked,
        unread_bytes: progress.unread_bytes.load(Ordering::Relaxed),
        resumed_bytes: progress.resumed_bytes.load(Ordering::Relaxed),
        left_out,
        position: source.position.clone(),
        end_lsn: source.end_lsn,
        files: files.count(),
        finished,
        waited,
        limited_by,
        phases,
        journal_fault,
        state_fault,
    })
}

/// Threads and packs that leave room for what the run knows of all files and packs: those of the last backup and of
/// interrupted runs, and new ones, as if nothing could be compressed. `are_copied`: an upload takes a second buffer.
fn buffers(
    config: &Config,
    plan: &transfer::plan::Plan,
    first_pack: usize,
    attempts: &Attempts,
    are_copied: bool,
) -> Buffers {
    let known = (first_pack as u64).saturating_add(attempts.packs.len() as u64);
    let new = plan.allocated_bytes.div_ceil(config.pack_bytes.max(1));
    let lists = Lists { files: plan.entries.len() as u64, packs: known.saturating_add(new) };
    let wanted = Buffers { streams: config.streams, pack_bytes: config.pack_bytes };
    let uploads = if are_copied { uploads::THREADS.saturating_mul(2) } else { uploads::THREADS };
    wanted.fitting(lists, uploads, uploads::MARGIN_BYTES)
}

/// Fingerprints of the recipients for whom nobody has proven possession of the identity.
fn unproven_recipients(config: &Config, state: &State) -> Result<Vec<String>, Error> {
    let recipients = state.recipients()?;
    Ok(recipients.unproven(&config.all_recipients()).into_iter().map(fingerprint).collect())
}

/// What all threads read.
struct Inputs<'r> {
    config: &'r Config,
    buffers: Buffers,
    plan: &'r transfer::plan::Plan,
    files: &'r Files,
    keys: &'r Keys,
    base: Option<&'r Base>,
    packs: &'r Packs<'r>,
    progress: &'r RunProgress,
    pages: &'r std::fs::File,
    secret: &'r [u8; 32],
}

impl Inputs<'_> {
    /// Reads all files below the root, judges their pages and stores what changed.
    fn store(&self, root: &Path) -> Result<(Bottleneck, PageProofs), Error> {
        let verified = verify::Plan::scan(&[root.to_owned()]);
        let settings = judge::settings(self.buffers.streams);
        let judge = PageVerifier::new(&verified, self.keys, &settings);
        let tablespaces = Tablespaces::new(&judge, self.plan, self.files);
        let uploads = Uploads::new(self.packs, self.buffers, self.progress);
        let run = Run { inputs: self, uploads: &uploads, tablespaces: &tablespaces, reading: AtomicU64::new(0) };
        let limited_by = run.store()?;
        self.plan.check_unchanged()?;
        let decrypted_from = tablespaces.lowest_decrypted();
        drop(tablespaces);
        Ok((limited_by, PageProofs::conclude(&judge.finish(), self.plan, &decrypted_from)))
    }
}

/// State that all threads share.
struct Run<'r, 'j> {
    inputs: &'r Inputs<'r>,
    uploads: &'r Uploads<'r>,
    tablespaces: &'r Tablespaces<'j>,
    /// Nanoseconds that all threads spent on reading.
    reading: AtomicU64,
}

impl Run<'_, '_> {
    /// Reads all files, judges their pages and stores what changed.
    fn store(&self) -> Result<Bottleneck, Error> {
        let began = Instant::now();
        self.uploads.during(|| self.pack())?;
        let total = began.elapsed().saturating_mul(u32::from(self.inputs.buffers.streams));
        let reading = Duration::from_nanos(self.reading.load(Ordering::Relaxed));
        Ok(Bottleneck::longest(total, reading, self.uploads.waited()))
    }

    /// Reads all files, judges their pages and packs what changed. System tablespaces come last: they have copies of
    /// other tablespaces' pages, which can only be judged when these are.
    fn pack(&self) -> Result<(), Error> {
        let mut workers: Vec<Worker<'_, '_>> =
            (0..self.inputs.buffers.streams).map(|_| Worker::new(self)).collect::<Result<_, _>>()?;
        for system in [false, true] {
            let queue = Queue::new(self.inputs.plan, |number| self.tablespaces.is_system(number) == system);
            let work = |worker: &mut Worker<'_, '_>| worker.work(&queue).inspect_err(|_| queue.stop());
            first_error(on_threads(workers.iter_mut(), work))?;
            self.tablespaces.conclude(system);
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
