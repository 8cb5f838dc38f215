//! How much a running server does: its counters at two points in time.

use std::{
    thread,
    time::{Duration, Instant},
};

use serde::Serialize;
use server::{Rows, dialect::activity};

use super::observer::Observer;
use crate::processor::{busy_seconds, process_seconds};

/// What a server does each second.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Activity {
    /// How long it was observed, in seconds.
    pub seconds: f64,
    /// Statements of clients.
    pub statements: f64,
    /// Mean number of sessions that execute a statement: the time that clients wait for the server.
    pub running_sessions: f64,
    /// New connections.
    pub connections: f64,
    /// Those with TLS; `None` if the server does not count them.
    pub tls_connections: Option<f64>,
    /// Bytes from and to clients.
    pub client_bytes: f64,
    /// Pages that InnoDB reads from files.
    pub pages_read: f64,
    /// Pages that InnoDB writes to files.
    pub pages_written: f64,
    /// Pages of undo logs among those read; `None` if the server does not count them.
    pub undo_pages_read: Option<f64>,
    /// Pages of undo logs among those written.
    pub undo_pages_written: Option<f64>,
    /// Bytes that InnoDB writes to its redo log.
    pub redo_bytes: f64,
    /// Bytes written to binary logs; `None` if that is unknown, 0 without a binary log.
    pub binlog_bytes: Option<f64>,
    /// Processors that the server uses; `None` if its process is unknown.
    pub server_processors: Option<f64>,
    /// Processors of this machine that are in use; `None` if the server's process is unknown.
    pub busy_processors: Option<f64>,
}

/// A server with fewer statements per second is idle.
const IDLE_STATEMENTS: f64 = 1.0;
/// Shortest and longest pause between two looks at the running sessions.
const PAUSE: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];
/// How often they are looked at, at most.
const LOOKS: u32 = 60;

impl Activity {
    /// Whether there is too little work to predict anything from it.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.statements < IDLE_STATEMENTS
    }

    /// Observes a server for a time. `process` is the id of its process, if it is on this machine.
    pub(super) fn observe(
        observer: &mut Observer<'_>,
        process: Option<u32>,
        span: Duration,
        watch: &dyn Fn(&str),
    ) -> Result<Self, Unobserved> {
        let (begin, before) = (Instant::now(), Counters::read(observer, process)?);
        let pause = (span / LOOKS).clamp(PAUSE[0], PAUSE[1]).min(span);
        let (mut looks, mut running, mut statements) = (0.0, 0.0, 0.0);
        while begin.elapsed() < span {
            thread::sleep(pause.min(span.saturating_sub(begin.elapsed())));
            watch(&format!("observing the server, {} of {} s", begin.elapsed().as_secs(), span.as_secs()));
            let look = observer.look()?;
            if look.statements < statements {
                return Err(Unobserved::CountersReset);
            }
            statements = look.statements;
            running += look.running;
            looks += 1.0;
        }
        let (seconds, after) = (begin.elapsed().as_secs_f64(), Counters::read(observer, process)?);
        if after.is_reset_since(&before) {
            return Err(Unobserved::CountersReset);
        }
        let rate = |of: fn(&Counters) -> f64| ((of(&after) - of(&before)) / seconds).max(0.0);
        let optional = |of: fn(&Counters) -> Option<f64>| Some(((of(&after)? - of(&before)?) / seconds).max(0.0));
        let statements = (after.statements - before.statements) / seconds;
        let counts_undo = after.undo_pages() > before.undo_pages();
        Ok(Self {
            seconds,
            statements: statements.max(0.0),
            running_sessions: running / looks,
            connections: rate(|counters| counters.connections),
            tls_connections: optional(|counters| counters.tls_connections),
            client_bytes: rate(|counters| counters.client_bytes),
            pages_read: rate(|counters| counters.pages_read),
            pages_written: rate(|counters| counters.pages_written),
            undo_pages_read: optional(|counters| counters.undo_pages_read).filter(|_| counts_undo),
            undo_pages_written: optional(|counters| counters.undo_pages_written).filter(|_| counts_undo),
            redo_bytes: rate(|counters| counters.redo_bytes),
            binlog_bytes: after.binlogs.growth_since(&before.binlogs).map(|bytes| bytes / seconds),
            server_processors: optional(|counters| counters.server_seconds),
            busy_processors: process.map(|_| rate(|counters| counters.busy_seconds)),
        })
    }
}

/// Why a server could not be observed.
#[derive(Debug)]
pub(super) enum Unobserved {
    /// It does not answer.
    Server(server::Error),
    /// Its counters were set to zero meanwhile.
    CountersReset,
}

impl From<server::Error> for Unobserved {
    fn from(error: server::Error) -> Self {
        Self::Server(error)
    }
}

/// Totals at one point in time.
#[derive(Debug, Default)]
struct Counters {
    /// Statements without those of this program. The total may be off by what was sent before the first look.
    statements: f64,
    connections: f64,
    tls_connections: Option<f64>,
    client_bytes: f64,
    pages_read: f64,
    pages_written: f64,
    undo_pages_read: Option<f64>,
    undo_pages_written: Option<f64>,
    redo_bytes: f64,
    binlogs: BinaryLogs,
    server_seconds: Option<f64>,
    busy_seconds: f64,
}

impl Counters {
    fn read(observer: &mut Observer<'_>, process: Option<u32>) -> Result<Self, server::Error> {
        let binlogs = BinaryLogs::read(observer)?;
        let undo = observer.undo_pages()?.unwrap_or_default();
        let status = observer.ask(&activity::show_counters())?;
        let number = |name: &str| number(&status, name);
        let known = |name: &str| number(name).unwrap_or_default();
        Ok(Self {
            statements: known(activity::STATEMENTS) - f64::from(observer.asked()),
            connections: known(activity::CONNECTIONS),
            tls_connections: number(activity::TLS_CONNECTIONS),
            client_bytes: known(activity::RECEIVED_BYTES) + known(activity::SENT_BYTES),
            pages_read: known(activity::PAGES_READ),
            pages_written: known(activity::PAGES_WRITTEN),
            undo_pages_read: self::number(&undo, activity::UNDO_PAGES_READ),
            undo_pages_written: self::number(&undo, activity::UNDO_PAGES_WRITTEN),
            redo_bytes: known(activity::REDO_BYTES),
            binlogs,
            server_seconds: process.and_then(process_seconds),
            busy_seconds: busy_seconds(),
        })
    }

    /// Whether the server's counters were set to zero after `before`, as MariaDB's `FLUSH GLOBAL STATUS` does.
    fn is_reset_since(&self, before: &Self) -> bool {
        let shrank = |of: fn(&Self) -> f64| of(self) < of(before);
        shrank(|counters| counters.connections) || shrank(|counters| counters.client_bytes)
    }

    /// Counters that are not enabled do not change.
    fn undo_pages(&self) -> f64 {
        [self.undo_pages_read, self.undo_pages_written].into_iter().flatten().sum()
    }
}

fn number(rows: &Rows, name: &str) -> Option<f64> {
    rows.of_name(name)?.parse().ok()
}

/// Binary logs and their sizes.
#[derive(Debug, Default)]
enum BinaryLogs {
    /// The account may not list them.
    #[default]
    Unknown,
    /// Names and sizes; none without a binary log.
    Sizes(Vec<(String, f64)>),
}

impl BinaryLogs {
    fn read(observer: &mut Observer<'_>) -> Result<Self, server::Error> {
        let Some(rows) = observer.query("binary_logs", "how much is written to binary logs")? else {
            return Ok(Self::Unknown);
        };
        let log = |row| Some((rows.value(row, "name")?.to_owned(), rows.value(row, "size")?.parse().ok()?));
        Ok(Self::Sizes((0..rows.rows.len()).filter_map(log).collect()))
    }

    /// Bytes that were written since an earlier list. Logs may have been purged meanwhile.
    fn growth_since(&self, before: &Self) -> Option<f64> {
        let (Self::Sizes(after), Self::Sizes(before)) = (self, before) else { return None };
        let earlier = |name: &str| before.iter().find(|(other, _)| other == name).map_or(0.0, |(_, size)| *size);
        Some(after.iter().map(|(name, size)| (size - earlier(name)).max(0.0)).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(sizes: &[(&str, f64)]) -> BinaryLogs {
        BinaryLogs::Sizes(sizes.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect())
    }

    #[test]
    fn counters_that_were_reset_are_noticed() {
        let at = |connections: f64, client_bytes: f64| Counters { connections, client_bytes, ..Counters::default() };
        assert!(!at(5.0, 100.0).is_reset_since(&at(5.0, 100.0)));
        assert!(at(6.0, 50.0).is_reset_since(&at(5.0, 100.0)) && at(1.0, 200.0).is_reset_since(&at(5.0, 100.0)));
    }

    #[test]
    fn binary_logs_grow_although_old_ones_are_purged() {
        let before = logs(&[("log.1", 900.0), ("log.2", 100.0)]);
        assert_eq!(logs(&[("log.2", 300.0), ("log.3", 50.0)]).growth_since(&before), Some(250.0));
        assert_eq!(logs(&[]).growth_since(&logs(&[])), Some(0.0));
        assert_eq!(BinaryLogs::Unknown.growth_since(&before), None);
    }
}
