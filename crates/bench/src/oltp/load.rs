//! Clients that run operations for a time span: as fast as possible, or at a fixed rate.

use std::{
    io,
    sync::{
        Barrier,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};
use server::error_code;

use super::{
    rotation::slice,
    sysbench_load::SysbenchLoad,
    tables::TableSet,
    workload::{Session, Workload},
};
use crate::{
    Error, Latencies,
    perf::Perf,
    tls::{Address, Client, KeyPairFiles, Security, ServerError, USER},
};

/// The rate at which clients send operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Each client sends the next operation when the last one is done.
    Closed,
    /// This many operations begin per second, even if earlier ones are not finished. Latencies count from the scheduled
    /// start of an operation.
    Open(u32),
}

/// The program whose clients run the operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Driver {
    /// sysbench if it is installed and can run them, otherwise this program.
    #[default]
    Installed,
    /// sysbench; without it, nothing is measured.
    Sysbench,
    /// This program, with the statements of sysbench.
    Own,
}

/// A load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load<'a> {
    pub(crate) workload: Workload,
    pub(crate) tables: TableSet,
    /// Number of clients, each with a connection and a thread.
    pub(crate) clients: u32,
    pub(crate) pace: Pace,
    /// sysbench, if it runs the operations.
    pub(crate) sysbench: Option<&'a SysbenchLoad>,
    pub(crate) span: Duration,
    /// Samples the server in a run that only warms it up.
    pub(crate) perf: Option<&'a Perf>,
    /// Set to true to end the load.
    pub(crate) stopped: &'a AtomicBool,
}

/// A connection to a server.
#[derive(Clone)]
pub(crate) struct Wire {
    pub(crate) address: Address,
    pub(crate) security: Security,
    /// The certificate of the server in runs over this connection, if they differ in it.
    pub(crate) certificate: Option<KeyPairFiles>,
}

impl Wire {
    /// How it connects, for texts.
    pub(crate) const fn title(&self) -> &'static str {
        match (&self.address, &self.security) {
            (Address::Socket(_), _) => "by the socket",
            (Address::Tcp(_), Security::Plain) => "by TCP",
            (Address::Tcp(_), Security::Tls(_)) => "by TLS",
        }
    }
}

/// Results of a load.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) seconds: f64,
    pub(super) latencies: Latencies,
    pub(super) by_client: Vec<u64>,
    pub(super) statements: u64,
    pub(super) restarts: u64,
    pub(super) cpu_seconds: f64,
    /// Operations completed in each slice of time.
    pub(super) slices: Vec<u64>,
}

/// Results of one client.
#[derive(Default)]
struct ClientResult {
    latencies: Latencies,
    operations: u64,
    statements: u64,
    restarts: u64,
    slices: Vec<u64>,
}

/// Something that is done during a load, given the time at which the clients began.
pub(super) type Meanwhile<'m> = &'m (dyn Fn(Instant) + Sync);

/// Deadlock, lock wait timeout, row changed since the last read: sysbench repeats these operations, too.
const RETRIED_ERRORS: [u16; 3] = [error_code::LOCK_DEADLOCK, error_code::LOCK_WAIT_TIMEOUT, error_code::CHECKREAD];

impl Load<'_> {
    /// Runs the load. Clients connect and prepare their statements before the measured time begins.
    pub(super) fn run(&self, wire: &Wire, seed: u64) -> Result<Done, Error> {
        match self.sysbench {
            Some(sysbench) => sysbench.run(self, wire, seed),
            None => self.run_with(wire, seed, &|_| {}),
        }
    }

    /// Like [`Self::run`] with the clients of this program, while a further thread runs `meanwhile`.
    pub(super) fn run_with(&self, wire: &Wire, seed: u64, meanwhile: Meanwhile<'_>) -> Result<Done, Error> {
        let sessions: Vec<Session> = (0..self.clients)
            .map(|client| self.connect(wire, seed, client))
            .collect::<io::Result<_>>()
            .map_err(|error| self.failed(&error))?;
        let (barrier, tickets) = (Barrier::new(sessions.len().saturating_add(1)), AtomicU64::new(0));
        let outcome = thread::scope(|scope| {
            let clients: Vec<_> =
                sessions.into_iter().map(|session| scope.spawn(|| self.client(session, &barrier, &tickets))).collect();
            barrier.wait();
            let (begin, cpu) = (Instant::now(), process_seconds());
            let beside = scope.spawn(move || meanwhile(begin));
            let clients: Vec<_> = clients.into_iter().map(thread::ScopedJoinHandle::join).collect();
            let (seconds, cpu) = (begin.elapsed().as_secs_f64(), process_seconds() - cpu);
            let _ = beside.join();
            (seconds, cpu, clients)
        });
        let (seconds, cpu_seconds, clients) = outcome;
        let mut done = Done { seconds, cpu_seconds, ..Done::default() };
        for client in clients {
            let client = client.unwrap_or_else(|_| Err(io::Error::other("a client panicked")));
            let client = client.map_err(|error| self.failed(&error))?;
            done.latencies.add(&client.latencies);
            done.by_client.push(client.operations);
            done.statements += client.statements;
            done.restarts += client.restarts;
            done.slices.resize(done.slices.len().max(client.slices.len()), 0);
            done.slices.iter_mut().zip(client.slices).for_each(|(sum, one)| *sum += one);
        }
        if self.stopped.load(Ordering::Relaxed) { Err(Error::Interrupted) } else { Ok(done) }
    }

    fn connect(&self, wire: &Wire, seed: u64, client: u32) -> io::Result<Session> {
        let connection = Client::open(&wire.address, USER, &wire.security)?;
        // The random rows are the same in every arm, and differ between rounds and clients.
        let seed = seed.wrapping_mul(1_000_003).wrapping_add(u64::from(client));
        Session::new(connection, self.workload, self.tables, seed)
    }

    fn client(&self, mut session: Session, barrier: &Barrier, tickets: &AtomicU64) -> io::Result<ClientResult> {
        let mut done = ClientResult::default();
        barrier.wait();
        let begin = Instant::now();
        while let Some(due) = self.next(begin, tickets) {
            if self.stopped.load(Ordering::Relaxed) {
                break;
            }
            thread::sleep(due.saturating_duration_since(Instant::now()));
            // At the end of the time span, operations that a slow server has not begun are recorded with their delay so
            // far.
            if begin.elapsed() >= self.span {
                done.latencies.record(nanoseconds((begin + self.span).saturating_duration_since(due)));
                continue;
            }
            done.restarts += operate(&mut session)?;
            done.latencies.record(nanoseconds(due.elapsed()));
            done.operations += 1;
            let slice = slice(begin.elapsed());
            done.slices.resize(done.slices.len().max(slice + 1), 0);
            done.slices[slice] += 1;
        }
        done.statements = session.sent;
        session.quit();
        Ok(done)
    }

    /// Scheduled start of the next operation; `None` at the end.
    fn next(&self, begin: Instant, tickets: &AtomicU64) -> Option<Instant> {
        match self.pace {
            Pace::Closed => (begin.elapsed() < self.span).then(Instant::now),
            Pace::Open(rate) => {
                let ticket = u32::try_from(tickets.fetch_add(1, Ordering::Relaxed)).ok()?;
                let offset = Duration::from_secs(1) * ticket / rate.max(1);
                (offset < self.span).then(|| begin + offset)
            }
        }
    }

    fn failed(&self, error: &io::Error) -> Error {
        Error::Work { arm: self.workload.as_str().to_owned(), reason: error.to_string() }
    }
}

/// Runs an operation until it succeeds; returns how often the server rolled it back.
fn operate(session: &mut Session) -> io::Result<u64> {
    let mut restarts = 0;
    loop {
        match session.operate() {
            Ok(()) => return Ok(restarts),
            Err(error) if is_retried(&error) => session.roll_back()?,
            Err(error) => return Err(error),
        }
        restarts += 1;
    }
}

fn is_retried(error: &io::Error) -> bool {
    let server = error.get_ref().and_then(|error| error.downcast_ref::<ServerError>());
    server.is_some_and(|error| RETRIED_ERRORS.contains(&error.code))
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// CPU time of this process.
#[allow(clippy::cast_precision_loss, reason = "a duration, not a count")]
fn process_seconds() -> f64 {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(pace: Pace, stopped: &AtomicBool) -> Load<'_> {
        let tables = TableSet { tables: 1, rows: 1, uniform: true, ..TableSet::default() };
        Load {
            workload: Workload::PointSelect,
            tables,
            clients: 1,
            pace,
            sysbench: None,
            span: Duration::from_secs(2),
            perf: None,
            stopped,
        }
    }

    #[test]
    fn operations_begin_at_a_fixed_rate_even_if_earlier_ones_are_late() {
        let (stopped, tickets) = (AtomicBool::new(false), AtomicU64::new(0));
        let begin = Instant::now();
        let open = load(Pace::Open(4), &stopped);
        let due: Vec<_> = std::iter::from_fn(|| open.next(begin, &tickets)).map(|due| due - begin).collect();
        assert_eq!(due, (0..8).map(|quarter| Duration::from_millis(250 * quarter)).collect::<Vec<_>>());
    }

    #[test]
    fn a_closed_loop_ends_after_its_time_span() {
        let (stopped, tickets) = (AtomicBool::new(false), AtomicU64::new(0));
        let closed = load(Pace::Closed, &stopped);
        assert!(closed.next(Instant::now(), &tickets).is_some());
        assert!(closed.next(Instant::now().checked_sub(Duration::from_secs(3)).unwrap(), &tickets).is_none());
    }
}
