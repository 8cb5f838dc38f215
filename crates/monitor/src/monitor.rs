//! The rounds: threads that audit the servers that are due.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use audit::facts::Facts;
use audit::finding::{Finding, Status};
use audit::fleet::Member;
use audit::outcome::Outcome;
use audit::rules::Rules;
use jiff::Timestamp;

use crate::packed::Packed;
use crate::round::{FullRound, Round, RoundResult, combined, timed_out, wait};
use crate::schedule::{Intervals, Schedule, Scope};
use crate::sources::Source;
use crate::state::StateDir;
use crate::view::{Known, ServerView, View};
use crate::{Config, Error, Measurements, SourceView};

/// Writes a line for the operator.
pub type Log = dyn Fn(&str) + Send + Sync;

/// A running monitor. Its threads end with the process.
pub struct Monitor {
    shared: Arc<Shared>,
}

struct Shared {
    fleet: Mutex<FleetState>,
    /// Notified when a server was added, when its round has ended, and when its abandoned thread has ended.
    changed: Condvar,
    /// Increases with each change of what the pages show.
    generation: AtomicU64,
    /// Number of the next round.
    rounds: AtomicU64,
    /// What other processes of this host said last.
    sources: Mutex<Vec<SourceView>>,
    started: Instant,
    state: StateDir,
    log: Box<Log>,
}

struct FleetState {
    config: Arc<Config>,
    rules: Arc<Rules>,
    servers: Vec<MonitoredServer>,
}

struct MonitoredServer {
    member: Member,
    schedule: Schedule,
    /// Number of the round in progress.
    round: Option<u64>,
    /// Whether the round has exceeded its time limit. The server stays busy until the round's thread ends.
    is_abandoned: bool,
    /// The last full round.
    full: Option<FullRound>,
    /// What the pages show: findings of the last light round, and those of the last full round that need files or host.
    outcome: Arc<Packed>,
    /// Whether there was a round.
    is_known: bool,
    /// Why the last round failed.
    error: Option<String>,
    view: ServerView,
}

/// A round to be done.
struct Job {
    name: String,
    member: Member,
    scope: Scope,
    started: Duration,
    number: u64,
    config: Arc<Config>,
    rules: Arc<Rules>,
}

/// Which servers a thread audits. A server whose last round failed may take long to fail again, so failing servers have
/// their own threads and do not delay the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lane {
    Healthy,
    Failing,
}

impl Monitor {
    /// Reads the last facts of each server, and starts the rounds.
    ///
    /// # Errors
    /// Errors of the configuration; [`Error::Busy`]; [`Error::System`] if a thread cannot be started.
    pub fn start(config: Config, log: Box<Log>) -> Result<Self, Error> {
        let (fleet, rules) = (config.fleet()?, config.rules()?);
        let state = StateDir::open(&config.state_directory)?;
        let threads = fleet.concurrency().clamp(1, fleet.members().len().max(1));
        let (config, rules) = (Arc::new(config), Arc::new(rules));
        let empty = FleetState { config: Arc::clone(&config), rules: Arc::clone(&rules), servers: Vec::new() };
        let shared = Arc::new(Shared {
            fleet: Mutex::new(empty),
            changed: Condvar::new(),
            generation: AtomicU64::new(0),
            rounds: AtomicU64::new(0),
            sources: Mutex::default(),
            started: Instant::now(),
            state,
            log,
        });
        shared.replace_fleet(config, rules, fleet.into_members());
        for lane in [Lane::Healthy, Lane::Failing] {
            for _ in 0..threads {
                let shared = Arc::clone(&shared);
                start("audit", move || shared.work(lane))?;
            }
        }
        let for_sources = Arc::clone(&shared);
        start("metrics", move || for_sources.read_sources())?;
        Ok(Self { shared })
    }

    /// Uses another configuration from now on. Listeners, state directory and number of threads stay as they are.
    ///
    /// # Errors
    /// Errors of the fleet, the waivers and the policy; the old ones stay in use then.
    pub fn reload(&self, config: Config) -> Result<(), Error> {
        let (fleet, rules) = (config.fleet()?, config.rules()?);
        self.shared.replace_fleet(Arc::new(config), Arc::new(rules), fleet.into_members());
        Ok(())
    }

    /// Increases with each change of what [`Self::view`] returns.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.shared.generation.load(Ordering::Acquire)
    }

    /// The fleet as it is known now.
    #[must_use]
    pub fn view(&self) -> View {
        let state = self.shared.lock();
        let known = |server: &MonitoredServer| {
            let known = Known { outcome: Arc::clone(&server.outcome), error: server.error.clone() };
            (server.view.name.clone(), known)
        };
        let known = state.servers.iter().map(known).collect();
        let servers = state.servers.iter().map(|server| server.view.clone()).collect();
        drop(state);
        let sources = self.shared.sources.lock().unwrap_or_else(PoisonError::into_inner).clone();
        View::of(known, servers, sources)
    }

    /// Number of servers, and how many of them answered in their last round.
    #[must_use]
    pub fn reachable(&self) -> (usize, usize) {
        let state = self.shared.lock();
        (state.servers.len(), state.servers.iter().filter(|server| server.view.up == Some(true)).count())
    }
}

/// Starts a thread that ends with the process.
pub(crate) fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    let started = thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map(drop).map_err(|source| Error::System { what: "a thread could not be started", source })
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, FleetState> {
        self.fleet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Replaces the configuration and the fleet. Servers that are in both fleets keep what is known about them, judged
    /// by the new rules.
    fn replace_fleet(&self, config: Arc<Config>, rules: Arc<Rules>, members: Vec<Member>) {
        let (count, now) = (members.len(), self.now());
        let known = |(index, member)| {
            let first = Schedule::first(config.intervals(), index, count, now);
            MonitoredServer::stored(member, first, &self.state, &config, &rules, now)
        };
        let mut servers: Vec<MonitoredServer> = members.into_iter().enumerate().map(known).collect();
        let mut state = self.lock();
        for server in &mut servers {
            if let Some(old) = state.servers.iter().position(|old| old.view.name == server.view.name) {
                server.continue_from(state.servers.swap_remove(old), config.intervals(), now);
            }
        }
        *state = FleetState { config, rules, servers };
        drop(state);
        self.publish();
    }

    fn publish(&self) {
        self.generation.fetch_add(1, Ordering::Release);
        self.changed.notify_all();
    }

    /// Reads the metrics of other processes again and again, without end.
    fn read_sources(&self) {
        loop {
            let config = Arc::clone(&self.lock().config);
            let read: Vec<SourceView> = config.metrics.iter().map(|source| self.read_source(source)).collect();
            let mut sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
            let is_change = *sources != read;
            *sources = read;
            drop(sources);
            if is_change {
                self.publish();
            }
            thread::sleep(config.intervals().light.min(SOURCES_EVERY));
        }
    }

    /// Reads the metrics of a process, and logs the reason if they cannot be read but could be before.
    fn read_source(&self, source: &Source) -> SourceView {
        let families = source.read();
        if let Err(reason) = &families {
            let sources = self.sources.lock().unwrap_or_else(PoisonError::into_inner);
            let known = sources.iter().find(|known| known.name == source.name);
            if known.is_none_or(|known| known.families.is_some()) {
                drop(sources);
                (self.log)(&format!("{}: its metrics cannot be read: {reason}", source.name));
            }
        }
        SourceView { name: source.name.clone(), families: families.ok() }
    }

    /// Audits servers of the lane, one after the other, without end.
    fn work(self: Arc<Self>, lane: Lane) {
        loop {
            let job = Arc::new(self.next_job(lane));
            let result = match Self::spawn(&self, &job) {
                Ok(results) => self.wait(&results, &job),
                Err(error) => Some(Err(format!("a thread could not be started: {error}"))),
            };
            let ended = result.is_some();
            match result {
                Some(Ok((facts, round))) => self.record(&job, &facts, round),
                Some(Err(reason)) => self.record_failure(&job, &reason),
                None => self.record_failure(&job, &timed_out(job.scope, job.config.time_limit)),
            }
            if ended {
                self.lock().of_job(&job).into_iter().for_each(|server| server.round = None);
            }
            self.publish();
        }
    }

    /// Waits until a server of the lane is due.
    fn next_job(&self, lane: Lane) -> Job {
        let mut state = self.lock();
        loop {
            let now = self.now();
            let FleetState { config, rules, servers } = &mut *state;
            let of_lane = |server: &&mut MonitoredServer| {
                server.round.is_none() && (lane == Lane::Failing) == server.schedule.is_failing()
            };
            let next = servers.iter_mut().filter(of_lane).min_by_key(|server| server.schedule.next().0);
            let wait = match next {
                Some(server) => {
                    let (due, scope) = server.schedule.next();
                    if due <= now {
                        let number = self.rounds.fetch_add(1, Ordering::Relaxed);
                        server.round = Some(number);
                        return Job {
                            name: server.view.name.clone(),
                            member: server.member.clone(),
                            // Saved facts may include files and host, so each of their rounds is a full one.
                            scope: if server.member.is_recorded() { Scope::Full } else { scope },
                            started: now,
                            number,
                            config: Arc::clone(config),
                            rules: Arc::clone(rules),
                        };
                    }
                    due.saturating_sub(now)
                }
                None => Duration::from_secs(60),
            };
            state = self.changed.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Does the round in a thread of its own, which may outlive the time limit.
    fn spawn(shared: &Arc<Self>, job: &Arc<Job>) -> std::io::Result<mpsc::Receiver<RoundResult>> {
        let (sender, receiver) = mpsc::channel();
        let (shared, job) = (Arc::clone(shared), Arc::clone(job));
        thread::Builder::new().name("round".to_owned()).spawn(move || {
            let warn = |text: &str| (shared.log)(&format!("{}: {text}", job.name));
            let result = Round::run(&job.config, &job.rules, &job.member, job.scope, &warn);
            let mut state = shared.lock();
            match state.of_job(&job).filter(|server| server.is_abandoned) {
                Some(server) => {
                    (server.round, server.is_abandoned) = (None, false);
                    drop(state);
                    shared.changed.notify_all();
                }
                None => {
                    let _ = sender.send(result);
                }
            }
        })?;
        Ok(receiver)
    }

    /// The result of the round; `None` if the round exceeded its time limit. Its thread then continues on its own.
    fn wait(&self, results: &mpsc::Receiver<RoundResult>, job: &Job) -> Option<RoundResult> {
        if let Some(result) = wait(results, job.config.time_limit) {
            return Some(result);
        }
        // The thread sends its result while it holds this lock: the result is here by now, or the round is abandoned.
        let mut state = self.lock();
        let late = results.try_recv().ok();
        if late.is_none() {
            state.of_job(job).into_iter().for_each(|server| server.is_abandoned = true);
        }
        late
    }

    /// Records what a round found, and logs what is different from the round before.
    fn record(&self, job: &Job, facts: &Facts, round: Round) {
        if self.lock().of_job(job).is_none() {
            // A reload has removed the server.
            return;
        }
        if let Err(error) = self.state.save(&job.name, job.scope, facts) {
            (self.log)(&format!("{}: the facts are not saved: {error}", job.name));
        }
        let now = self.now();
        let lines = {
            let mut state = self.lock();
            let intervals = state.config.intervals();
            state.of_job(job).map(|server| {
                let was_up = server.view.up;
                let before = server.is_known.then(|| server.outcome.unpack());
                server.schedule.succeeded(job.scope, job.started, intervals);
                server.view.succeed(job.scope, facts.collected_at, now.saturating_sub(job.started));
                if !server.take(round) {
                    server.schedule.request_full(now);
                }
                changes(before.as_ref(), &server.outcome.unpack(), was_up)
            })
        };
        lines.iter().flatten().for_each(|line| (self.log)(&format!("{}: {line}", job.name)));
    }

    /// Records a failed round, and logs it if the round before did not fail.
    fn record_failure(&self, job: &Job, reason: &str) {
        let now = self.now();
        let is_news = {
            let mut state = self.lock();
            let intervals = state.config.intervals();
            state.of_job(job).is_some_and(|server| {
                // After a failed full round, a light round shows whether the server still answers. Saved facts have no
                // light rounds, so their failure counts as one.
                let scope = if server.member.is_recorded() { Scope::Light } else { job.scope };
                let up = server.view.up;
                server.schedule.failed(scope, job.started, now, intervals);
                server.view.failed_rounds = server.view.failed_rounds.saturating_add(1);
                if scope == Scope::Full {
                    return up == Some(true);
                }
                server.set_error(reason);
                up != Some(false)
            })
        };
        if is_news {
            let what = if job.scope == Scope::Full { "the full round failed" } else { "cannot be audited" };
            (self.log)(&format!("{}: {what}: {reason}", job.name));
        }
    }
}

impl FleetState {
    /// The server of this round; `None` if a reload has removed or replaced it.
    fn of_job(&mut self, job: &Job) -> Option<&mut MonitoredServer> {
        self.servers.iter_mut().find(|server| server.round == Some(job.number) && server.view.name == job.name)
    }
}

impl MonitoredServer {
    /// A server, with the results that an earlier process has stored.
    fn stored(
        member: Member,
        first: Schedule,
        state: &StateDir,
        config: &Config,
        rules: &Rules,
        now: Duration,
    ) -> Self {
        let name = member.label();
        let load = |scope| state.load(&name, scope).ok().flatten();
        let [light, full] = Scope::ALL
            .map(|scope| load(scope).map(|facts| (facts.collected_at, Round::of_facts(&facts, rules, scope))));
        let mut server = Self {
            member,
            schedule: first,
            round: None,
            is_abandoned: false,
            full: None,
            outcome: Arc::new(Packed::new(&Outcome::failed(&name, NOT_YET, Timestamp::now()))),
            is_known: false,
            error: None,
            view: ServerView {
                name,
                up: None,
                failed_rounds: 0,
                rounds: Vec::new(),
                measurements: Measurements::default(),
            },
        };
        if let Some((at, round)) = full {
            let ago = Duration::try_from(Timestamp::now().duration_since(at)).unwrap_or_default();
            server.schedule = first.with_full_round(ago, config.intervals(), now);
            server.view.rounds = vec![(Scope::Light, at, Duration::ZERO), (Scope::Full, at, Duration::ZERO)];
            server.take(round);
        }
        if let Some((at, round)) = light.filter(|(at, _)| server.view.is_before(*at)) {
            server.view.rounds.retain(|(scope, ..)| *scope == Scope::Full);
            server.view.rounds.insert(0, (Scope::Light, at, Duration::ZERO));
            server.take(round);
        }
        server.set_error(NOT_YET);
        server.view.up = None;
        server
    }

    /// Takes over the state that the same server had before a reload.
    fn continue_from(&mut self, old: Self, intervals: Intervals, now: Duration) {
        self.schedule = old.schedule;
        self.schedule.adapt(intervals, now);
        (self.round, self.is_abandoned, self.view, self.error) = (old.round, old.is_abandoned, old.view, old.error);
        if !self.is_known {
            (self.full, self.outcome, self.is_known) = (old.full, old.outcome, old.is_known);
        }
    }

    /// Takes over the results of a round. Returns false if a full round is needed: the light round shows another server
    /// than the last full one.
    fn take(&mut self, round: Round) -> bool {
        (self.is_known, self.error) = (true, None);
        if round.scope == Scope::Full {
            self.full = Some(FullRound::new(&round));
            self.outcome = Arc::new(Packed::new(&round.outcome));
            self.view.measurements = round.measurements;
            return true;
        }
        let known = self.full.take().map(|full| (full.round(), full));
        let (outcome, is_same) = match known {
            Some((earlier, full)) if earlier.is_same_server(&round) => {
                self.full = Some(full);
                (combined(&earlier, &round), true)
            }
            other => (round.outcome, other.is_none()),
        };
        self.view.measurements.certificates = round.measurements.certificates;
        self.outcome = Arc::new(Packed::new(&outcome));
        is_same
    }

    /// Records that the last round failed. Earlier findings are kept.
    fn set_error(&mut self, reason: &str) {
        self.view.up = Some(false);
        self.error = Some(reason.to_owned());
    }
}

/// Time between two reads of the metrics of other processes, unless light rounds are more frequent.
const SOURCES_EVERY: Duration = Duration::from_secs(15);

/// The error of a server that this process has not audited yet.
const NOT_YET: &str = "not audited since the monitor started";

impl ServerView {
    /// Whether all rounds took place before this time.
    fn is_before(&self, at: Timestamp) -> bool {
        self.rounds.iter().all(|(_, done, _)| *done < at)
    }

    fn succeed(&mut self, scope: Scope, at: Timestamp, took: Duration) {
        self.up = Some(true);
        let scopes: &[Scope] = if scope == Scope::Full { &Scope::ALL } else { &[Scope::Light] };
        for scope in scopes {
            self.rounds.retain(|(done, _, _)| done != scope);
            self.rounds.push((*scope, at, took));
        }
        self.rounds.sort_by_key(|(scope, _, _)| *scope);
    }
}

/// Lines about the differences from the previous round; only totals for the first round.
fn changes(before: Option<&Outcome>, after: &Outcome, was_up: Option<bool>) -> Vec<String> {
    fn failures(outcome: &Outcome) -> BTreeSet<(&str, &str)> {
        let failed = |finding: &&Finding| finding.status == Status::Fail;
        outcome.findings.iter().filter(failed).map(|finding| (finding.id.as_str(), finding.artefact.as_str())).collect()
    }
    const MOST: usize = 20;
    let (old, new) = (before.map(failures).unwrap_or_default(), failures(after));
    let mut lines = Vec::new();
    match was_up {
        None if before.is_none() => return vec![format!("audited: {} failures", new.len())],
        Some(false) => lines.push("can be audited again".to_owned()),
        _ => {}
    }
    let told = |word: &str, (id, artefact): &(&str, &str)| {
        if artefact.is_empty() { format!("{word}: {id}") } else { format!("{word}: {id}: {artefact}") }
    };
    let began = new.difference(&old).map(|failure| told("new failure", failure));
    let ended = old.difference(&new).map(|failure| told("no longer a failure", failure));
    let all: Vec<String> = began.chain(ended).collect();
    let left_out = all.len().saturating_sub(MOST);
    lines.extend(all.into_iter().take(MOST));
    if left_out > 0 {
        lines.push(format!("{left_out} more changes"));
    }
    lines
}
