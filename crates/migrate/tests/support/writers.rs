//! Clients that change the source all the time. Each change is a single statement in its own transaction.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{JoinHandle, sleep},
};

use server::{Connection, Flavor};

use super::{Pair, word};

/// Only one client of MySQL since 9.6 at a time changes the tables that cascades connect: see [`keeps_on_after_deadlocks`].
static CASCADES: Mutex<()> = Mutex::new(());

/// Running writers.
pub(crate) struct Writers {
    stop: Arc<AtomicBool>,
    /// Statements that the source has acknowledged.
    pub(crate) acknowledged: Arc<AtomicU64>,
    threads: Vec<JoinHandle<Vec<u64>>>,
}

/// A small generator (xorshift), so that a seed gives the same statements.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

impl Writers {
    /// Starts writers on the rows that the source was filled with.
    pub(crate) fn start(pair: &Pair, count: u64, rows: u64) -> Self {
        Self::with((0..count).map(|_| pair.client()).collect(), 0, rows)
    }

    /// Starts a writer on each connection. The first has this number, which makes its markers differ from those of others.
    pub(crate) fn with(connections: Vec<Connection>, first: u64, rows: u64) -> Self {
        let (stop, acknowledged) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let pause = harness::writer_pause();
        let threads = connections.into_iter().zip(first..).map(|(mut connection, number)| {
            let (stop, acknowledged) = (Arc::clone(&stop), Arc::clone(&acknowledged));
            std::thread::spawn(move || {
                let mut chance = Chance(0x9e37_79b9_7f4a_7c15 ^ (number + 1));
                let mut inserted = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let marker = (number << 32) | inserted.len() as u64;
                    if write(&mut connection, &mut chance, rows, marker) {
                        inserted.push(marker);
                    }
                    acknowledged.fetch_add(1, Ordering::Relaxed);
                    sleep(pause);
                }
                inserted
            })
        });
        let threads = threads.collect();
        Self { stop, acknowledged, threads }
    }

    /// Stops the writers. Returns the markers whose insertion into `ack` the source has acknowledged.
    pub(crate) fn stop(self) -> Vec<u64> {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    }
}

/// Whether the server goes on after a deadlock on the second level of a cascade, and logs what that has undone
/// (`a_log_that_has_what_was_undone_passes_no_comparison`): a migration cannot succeed then.
fn keeps_on_after_deadlocks(connection: &Connection) -> bool {
    let version = connection.greeting().server_version();
    version.is_some_and(|version| version.flavor == Flavor::MySql && version.at_least(9, 6, 0))
}

/// Makes one change. Returns whether a row with the marker was inserted and acknowledged. Ignores collisions with other
/// writers, and a read-only source.
fn write(connection: &mut Connection, chance: &mut Chance, rows: u64, marker: u64) -> bool {
    let (id, other) = (1 + chance.below(rows), rows + 1 + chance.below(rows * 3));
    // As many bills as the source was filled with.
    let few = rows / 100 + 8;
    let (a, k) = (chance.below(97) as i64 - 48, 1 + chance.below(rows));
    let choice = chance.below(37);
    let is_of_cascades = (31..=36).contains(&choice) && keeps_on_after_deadlocks(connection);
    let _alone = is_of_cascades.then(|| CASCADES.lock().unwrap_or_else(PoisonError::into_inner));
    let (sql, inserts) = match choice {
        12 | 13 | 20 | 21 => (format!("INSERT INTO shop.ack VALUES ({marker})"), true),
        0 | 1 => (format!("INSERT INTO shop.item (name, doc) VALUES ('m{marker}', '[{marker}]')"), false),
        2 => (format!("UPDATE shop.item SET id = {other} WHERE id = {id}"), false),
        3 => (format!("UPDATE shop.item SET id = {id}, c = NULL WHERE id = {other}"), false),
        4 => (
            format!("UPDATE shop.item SET name = REVERSE(name), d = -d, f = f * 1.1 WHERE id = {id} OR id = {other}"),
            false,
        ),
        5 => (format!("DELETE FROM shop.item WHERE id = {id} AND name LIKE 'n%'"), false),
        6 => (format!("REPLACE INTO shop.item (id, name, b) VALUES ({id}, 'n {marker}\\\\', 7)"), false),
        7 => (format!("UPDATE shop.pair SET a = {a}, v = 'moved' WHERE u = {k}"), false),
        8 => (format!("DELETE FROM shop.pair WHERE u = {k}"), false),
        9 => (format!("REPLACE INTO shop.pair VALUES ({a}, UNHEX(LEFT(SHA2({k}, 256), 32)), 'new', {k})"), false),
        10 => (
            format!(
                "UPDATE shop.wide SET body = REPEAT('{k}', {}), n = n + 0.01 WHERE day = '2020-01-{:02}' LIMIT 1",
                k % 3000,
                1 + k % 13
            ),
            false,
        ),
        14 => (format!("UPDATE shop.word SET w = {}, n = {marker} WHERE w = {}", word(other), word(k)), false),
        15 => (format!("DELETE FROM shop.word WHERE w = {}", word(k)), false),
        16 => (format!("REPLACE INTO shop.word VALUES ({}, ' é', {marker})", word(k)), false),
        17 => (format!("UPDATE shop.label SET l = UPPER(l), n = {marker} WHERE l = {} AND c = 'a'", word(k)), false),
        18 => (
            format!("UPDATE shop.label SET w = {}, n = {marker} WHERE c = 'B' AND l = {}", word(other), word(k)),
            false,
        ),
        19 => (format!("DELETE FROM shop.label WHERE c = 'ä' AND l = {}", word(k)), false),
        22 => (format!("REPLACE INTO shop.label VALUES ({}, 'A', {}, {marker})", word(k), word(other % 9)), false),
        25 => (
            format!("INSERT INTO shop.entry SELECT n, t, f, doc, b, at FROM shop.entry WHERE n = {} LIMIT 2", k % 300),
            false,
        ),
        26 => (
            format!(
                "UPDATE shop.entry SET f = f * 1.1, doc = '[\"{marker}\"]', b = x'00ff27' WHERE n = {} LIMIT 2",
                k % 300
            ),
            false,
        ),
        27 => (format!("UPDATE shop.entry SET t = UPPER(t), at = NULL WHERE n = {} LIMIT 1", k % 300), false),
        28 => (format!("DELETE FROM shop.entry WHERE n = {} LIMIT 1", k % 300), false),
        29 => (format!("REPLACE INTO shop.grade VALUES ({}, {k} / 7, 'm{marker}')", 1 + k % 3), false),
        30 => (format!("UPDATE IGNORE shop.grade SET e = {}, d = d * 1.1 WHERE e = 'y' LIMIT 1", 1 + k % 3), false),
        31 => (format!("DELETE FROM shop.bill WHERE id BETWEEN {0} AND {0} + 1", other % few), false),
        32 => (format!("UPDATE shop.bill SET id = {}, v = 'm{marker}' WHERE id = {}", other % few, k % few), false),
        33 => {
            (format!("INSERT INTO shop.bill VALUES ({}, 'm{marker}'), ({}, NULL)", k % few, rows + other % few), false)
        }
        34 | 35 => (
            format!(
                "INSERT INTO shop.bill_line (bill, v) SELECT id, {marker} FROM shop.bill WHERE id >= {} LIMIT 3",
                k % few
            ),
            false,
        ),
        36 => (
            format!("INSERT INTO shop.part SELECT {}, id FROM shop.bill_line WHERE bill = {}", k % 90, other % few),
            false,
        ),
        _ => (format!("UPDATE shop.pair SET u = NULL WHERE u = {k}"), false),
    };
    let done = connection.execute(sql.as_bytes());
    match done {
        Ok(executed) => inserts && executed.affected_rows == 1,
        Err(server::Error::Server { .. }) => false,
        // The test has ended already.
        Err(_) => false,
    }
}
