//! The rounds: threads that audit the servers that are due.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use audit::finding::{Finding, Status};
use audit::fleet::Member;
use audit::outcome::Outcome;
use audit::rules::Rules;
use jiff::Timestamp;

use crate::schedule::{Intervals, Schedule, Scope};
use crate::state::{StateDir, Stored};
use crate::view::{ServerView, View};
use crate::{Config, Error, Measurements, round};

/// Writes a line for the operator.
pub type Log = dyn Fn(&str) + Send + Sync;

/// A running monitor. Its threads end with the process.
pub struct Monitor {
    shared: Arc<Shared>,
}

struct Shared {
    fleet: Mutex<FleetState>,
    /// A server was added, finished or freed.
    changed: Condvar,
    /// Increases with each change of what the pages show.
    generation: AtomicU64,
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
    /// Identifies the round in progress.
    round: Option<u64>,
    /// The round has exceeded its time limit: it keeps the server busy until its thread ends.
    is_abandoned: bool,
    outcome: Outcome,
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

/// Which servers a thread serves. Those whose last round failed may take long to fail again: they have threads of their
/// own, so that they do not delay the others.
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
            started: Instant::now(),
            state,
            log,
        });
        shared.replace_fleet(config, rules, fleet.into_members());
        for lane in [Lane::Healthy, Lane::Failing] {
            for _ in 0..threads {
                let shared = Arc::clone(&shared);
                let worker = thread::Builder::new().name("audit".to_owned()).spawn(move || shared.work(lane));
                worker.map_err(|source| Error::System { what: "a thread could not be started", source })?;
            }
        }
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
        let mut outcome = Outcome::empty(Timestamp::now());
        outcome.absorb_all(state.servers.iter().map(|server| server.outcome.clone()));
        View { outcome, servers: state.servers.iter().map(|server| server.view.clone()).collect() }
    }

    /// Number of servers, and how many of them answered in their last round.
    #[must_use]
    pub fn reachable(&self) -> (usize, usize) {
        let state = self.shared.lock();
        (state.servers.len(), state.servers.iter().filter(|server| server.view.up == Some(true)).count())
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, FleetState> {
        self.fleet.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Replaces the configuration and the fleet. Servers that are in both fleets keep what is known about them.
    fn replace_fleet(&self, config: Arc<Config>, rules: Arc<Rules>, members: Vec<Member>) {
        let known: BTreeSet<String> = self.lock().servers.iter().map(|server| server.view.name.clone()).collect();
        let (count, now) = (members.len(), self.now());
        let new = |(index, member): (usize, Member)| {
            let name = member.label();
            let first = Schedule::first(config.intervals(), index, count).after(now);
            match self.state.load(&name).filter(|_| !known.contains(&name)) {
                Some(stored) => MonitoredServer::restored(member, name, &stored, first, &config, &rules),
                None => MonitoredServer::new(member, name, first),
            }
        };
        let mut servers: Vec<MonitoredServer> = members.into_iter().enumerate().map(new).collect();
        let mut state = self.lock();
        for server in &mut servers {
            let old = state.servers.iter().position(|old| old.view.name == server.view.name);
            if let Some(old) = old.map(|old| state.servers.swap_remove(old)) {
                *server = MonitoredServer { member: server.member.clone(), ..old };
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

    /// Audits servers of the lane, one after the other, for ever.
    fn work(self: Arc<Self>, lane: Lane) {
        loop {
            let job = Arc::new(self.next_job(lane));
            let result = match Self::spawn(&self, &job) {
                Ok(results) => self.wait(&results, &job),
                Err(error) => Some(Err(format!("a thread could not be started: {error}"))),
            };
            match result {
                Some(result) => self.record(&job, result),
                None => {
                    let reason = format!("the audit did not end within {} s", job.config.time_limit.as_secs());
                    self.record_failure(&job, &reason);
                }
            }
        }
    }

    /// The result of the round; `None` if it has not ended within its time limit, and its thread is left alone.
    fn wait(&self, results: &mpsc::Receiver<Result<Stored, String>>, job: &Job) -> Option<Result<Stored, String>> {
        match results.recv_timeout(job.config.time_limit) {
            Ok(result) => Some(result),
            Err(mpsc::RecvTimeoutError::Disconnected) => Some(Err("the audit ended with an internal error".to_owned())),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                // It sends its result with the fleet locked.
                let mut state = self.lock();
                results.try_recv().map_or_else(
                    |_| {
                        state.server(&job.name).into_iter().for_each(|server| server.is_abandoned = true);
                        None
                    },
                    Some,
                )
            }
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
                        let number = self.generation.fetch_add(1, Ordering::AcqRel);
                        server.round = Some(number);
                        return Job {
                            name: server.view.name.clone(),
                            member: server.member.clone(),
                            scope,
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
    fn spawn(shared: &Arc<Self>, job: &Arc<Job>) -> std::io::Result<mpsc::Receiver<Result<Stored, String>>> {
        let (sender, receiver) = mpsc::channel();
        let (shared, job) = (Arc::clone(shared), Arc::clone(job));
        thread::Builder::new().name("round".to_owned()).spawn(move || {
            let warn = |text: &str| (shared.log)(&format!("{}: {text}", job.name));
            let result = round::collect(&job.config, &job.member, job.scope, &shared.state, &warn);
            let mut state = shared.lock();
            match state.server(&job.name).filter(|server| server.round == Some(job.number) && server.is_abandoned) {
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

    /// Records the result of a round.
    fn record(&self, job: &Job, result: Result<Stored, String>) {
        let stored = match result {
            Ok(stored) => stored,
            Err(reason) => {
                self.record_failure(job, &reason);
                return self.free(job);
            }
        };
        if let Err(error) = self.state.save(&job.name, &stored) {
            (self.log)(&format!("{}: the facts are not saved: {error}", job.name));
        }
        let outcome = round::outcome(&stored.facts, &job.rules);
        let took = self.now().saturating_sub(job.started);
        let measurements = Measurements::new(&stored.facts);
        let lines = {
            let mut state = self.lock();
            let intervals = state.config.intervals();
            state.server(&job.name).map(|server| {
                let lines = changes(&server.outcome, &outcome, server.view.up);
                server.schedule.succeeded(job.scope, job.started, intervals);
                server.view.measurements = measurements;
                server.view.succeed(job.scope, stored.facts.collected_at, took);
                server.outcome = outcome;
                lines
            })
        };
        lines.iter().flatten().for_each(|line| (self.log)(&format!("{}: {line}", job.name)));
        self.free(job);
    }

    /// Records a failed round, and logs it if the round before did not fail.
    fn record_failure(&self, job: &Job, reason: &str) {
        let was_up = {
            let mut state = self.lock();
            let intervals = state.config.intervals();
            state.server(&job.name).map(|server| {
                let was_up = server.view.up;
                server.fail(reason, job.started, intervals);
                was_up
            })
        };
        if was_up.is_some_and(|up| up != Some(false)) {
            (self.log)(&format!("{}: cannot be audited: {reason}", job.name));
        }
        self.publish();
    }

    /// The server may be audited again.
    fn free(&self, job: &Job) {
        if let Some(server) = self.lock().server(&job.name).filter(|server| server.round == Some(job.number)) {
            server.round = None;
        }
        self.publish();
    }
}

impl FleetState {
    fn server(&mut self, name: &str) -> Option<&mut MonitoredServer> {
        self.servers.iter_mut().find(|server| server.view.name == name)
    }
}

impl MonitoredServer {
    /// A server about which nothing is known.
    fn new(member: Member, name: String, schedule: Schedule) -> Self {
        let outcome = round::failed(&name, "not audited yet");
        let view =
            ServerView { name, up: None, failed_rounds: 0, rounds: Vec::new(), measurements: Measurements::default() };
        Self { member, schedule, round: None, is_abandoned: false, outcome, view }
    }

    /// A server whose facts an earlier process has stored.
    fn restored(
        member: Member,
        name: String,
        stored: &Stored,
        schedule: Schedule,
        config: &Config,
        rules: &Rules,
    ) -> Self {
        let mut server = Self::new(member, name, schedule);
        server.outcome = round::outcome(&stored.facts, rules);
        server.view.measurements = Measurements::new(&stored.facts);
        server.view.rounds.push((Scope::Light, stored.facts.collected_at, Duration::ZERO));
        if let Some(at) = stored.full_at {
            let ago = Timestamp::now().duration_since(at);
            let ago = Duration::try_from(ago).unwrap_or_default();
            server.schedule = schedule.with_full_round(ago, config.intervals());
            server.view.rounds.push((Scope::Full, at, Duration::ZERO));
        }
        server
    }

    /// The last round failed: what was found before is kept.
    fn fail(&mut self, reason: &str, started: Duration, intervals: Intervals) {
        self.schedule.failed(started, intervals);
        self.view.up = Some(false);
        self.view.failed_rounds = self.view.failed_rounds.saturating_add(1);
        for server in &mut self.outcome.servers {
            server.error = Some(reason.to_owned());
        }
        self.outcome.finish();
    }
}

impl ServerView {
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

/// Lines about what is different from the round before; only totals for the first one.
fn changes(before: &Outcome, after: &Outcome, was_up: Option<bool>) -> Vec<String> {
    fn failures(outcome: &Outcome) -> BTreeSet<(&str, &str)> {
        let failed = |finding: &&Finding| finding.status == Status::Fail;
        outcome.findings.iter().filter(failed).map(|finding| (finding.id.as_str(), finding.artefact.as_str())).collect()
    }
    const MOST: usize = 20;
    let (old, new) = (failures(before), failures(after));
    let mut lines = Vec::new();
    match was_up {
        None if before.findings.is_empty() => return vec![format!("audited: {} failures", new.len())],
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
