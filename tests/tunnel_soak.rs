//! `sealant tunnel` for a long time: clients come, go and are killed, servers and far ends restart, certificates are
//! reloaded. Every answer is checked, and nothing may grow.
//!
//! | variable | meaning |
//! |---|---|
//! | `SEALANT_SOAK_SECONDS` | duration [15]; `make soak` sets 1800 |

#![allow(clippy::print_stdout, reason = "the figures of a long run")]

use std::fs;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use harness::{Kind, Server, require};
use rustix::process::Signal;
use server::{Connection, Endpoint, Options, Password, Target};

use crate::support::chance::{Random, number};
use crate::support::tunnel::{End, Near, Setup, eventually, free_port};

/// Sessions per tunnel that query all the time.
const CLIENTS: u64 = 3;
/// Rows whose sum every answer must have.
const ROWS: u64 = 2000;
/// Permitted growth of an end's memory after warm-up.
const GROWTH_KIB: u64 = 16 << 10;

/// A server behind its own tunnel.
struct Tunnel {
    server: Server,
    id: u64,
    far: Option<End>,
    far_port: u16,
    near: Near,
}

/// Results seen by clients.
#[derive(Default)]
struct Seen {
    answers: AtomicU64,
    connections: AtomicU64,
    failures: AtomicU64,
}

#[test]
fn no_bytes_are_mixed_up_and_no_memory_grows() {
    let Some(_) = require(Kind::MariaDb1011) else { return };
    let seconds = number("SEALANT_SOAK_SECONDS", 15);
    let setup = Setup::new();
    let mut tunnels: Vec<Tunnel> = [1, 2].map(|id| Tunnel::new(&setup, id)).into();
    let (stop, seen) = (AtomicBool::new(false), Seen::default());
    let mut chance = Random::new(7);
    let (before, faults) = thread::scope(|scope| {
        for tunnel in &tunnels {
            let (socket, id) = (tunnel.near.socket.clone(), tunnel.id);
            for client in 0..CLIENTS {
                let (socket, stop, seen) = (socket.clone(), &stop, &seen);
                scope.spawn(move || ask(&socket, id, client, stop, seen));
            }
        }
        // When this ends, for whatever reason, the clients end, too.
        let _stopped = Stopping(&stop);
        // Until both ends have allocated what this number of clients needs.
        thread::sleep(Duration::from_secs(5));
        let before: Vec<[u64; 2]> = tunnels.iter().map(Tunnel::memory_kib).collect();
        let began = Instant::now();
        let mut faults = 0;
        while began.elapsed() < Duration::from_secs(seconds) {
            let tunnel = chance.below(tunnels.len() as u64);
            tunnels[usize::try_from(tunnel).expect("small")].fault(&setup, chance.below(6));
            faults += 1;
            // Pause before the next fault.
            thread::sleep(Duration::from_millis(500 + chance.below(1500)));
        }
        (before, faults)
    });
    let [answers, connections, failures] =
        [&seen.answers, &seen.connections, &seen.failures].map(|count| count.load(Ordering::Relaxed));
    assert!(answers > 10 * seconds && connections > 5 * seconds, "{answers} answers of {connections} connections");
    assert!(failures < connections, "{failures} of {connections} connections failed");
    for (tunnel, before) in tunnels.iter().zip(before) {
        assert_eq!(tunnel.near.said(&tunnel.server, "SELECT 1"), (true, "1\n".to_owned()), "{}", tunnel.near.end.log());
        let now = tunnel.memory_kib();
        for (now, before) in now.iter().zip(before) {
            assert!(*now < before + GROWTH_KIB, "{now} KiB, {before} KiB before {faults} faults");
        }
        // Links of the last burst may still wait; a leak exceeds any such number.
        let far = tunnel.far.as_ref().expect("it runs");
        let few = || tunnel.near.end.descriptors() < 150 && far.descriptors() < 150;
        assert!(eventually(few), "{} and {} descriptors", tunnel.near.end.descriptors(), far.descriptors());
    }
    println!("{seconds} s, {faults} faults: {answers} answers of {connections} connections, {failures} refused");
}

/// Tells all threads to stop when dropped.
struct Stopping<'a>(&'a AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Tunnel {
    fn new(setup: &Setup, id: u64) -> Self {
        let server = Server::builder(Kind::MariaDb1011).option(format!("--server-id={id}")).start().expect("it starts");
        let rows = format!(
            "CREATE DATABASE d; USE d; CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(300)); \
             INSERT INTO d.t SELECT seq, CONCAT({id}, ' ', REPEAT(MD5(seq), 8)) FROM seq_1_to_{ROWS}"
        );
        server.sql(&rows).expect("filled");
        let far_port = free_port();
        let far = Some(setup.far(&server, far_port, &[]));
        let near = setup.near(&[far_port], &["--warm-min", "2"]);
        Self { server, id, far, far_port, near }
    }

    /// Resident memory of the near and the far end.
    fn memory_kib(&self) -> [u64; 2] {
        [self.near.end.pid(), self.far.as_ref().expect("it runs").pid()].map(|pid| {
            let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
            let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("a figure");
            line.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
        })
    }

    fn fault(&mut self, setup: &Setup, which: u64) {
        match which {
            0 => {
                self.server.stop().expect("it stops");
                self.server.start().expect("it starts");
            }
            1 => {
                self.server.kill();
                self.server.start().expect("it starts");
            }
            2 => {
                // Killed, not stopped: sessions break.
                drop(self.far.take());
                self.far = Some(setup.far(&self.server, self.far_port, &[]));
            }
            3 => {
                ["app", "far"].iter().for_each(|name| setup.cert(&["renew", "--dir", setup.dir(), "--name", name]));
                self.near.end.signal(Signal::HUP);
                self.far.as_ref().expect("it runs").signal(Signal::HUP);
            }
            _ => self.kill_clients(),
        }
        assert!(eventually(|| self.near.said(&self.server, "SELECT 1").0), "{}", self.near.end.log());
    }

    /// Kills clients in the middle of a result.
    fn kill_clients(&self) {
        let clients: Vec<_> = (0..4)
            .map(|_| {
                let mut client = self.near.client(&self.server, "root", "");
                client.args(["-e", "SELECT a.v FROM d.t a, d.t b"]).stdout(Stdio::null()).stderr(Stdio::null());
                client.spawn().expect("the client starts")
            })
            .collect();
        // Chooses the moment of the kill.
        thread::sleep(Duration::from_millis(150));
        for mut client in clients {
            client.kill().expect("it is ours");
            client.wait().expect("it is ours");
        }
    }
}

/// Connects repeatedly, with a few queries each; connections may fail, answers must be right.
fn ask(socket: &std::path::Path, id: u64, client: u64, stop: &AtomicBool, seen: &Seen) {
    let target = Target { endpoint: Endpoint::Socket(socket.to_owned()), user: "root".to_owned() };
    let options = Options { password: Some(Password::new("")), ..Options::default() };
    let sum = (1..=ROWS).sum::<u64>();
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut connection) = Connection::open(&target, &options) else {
            seen.failures.fetch_add(1, Ordering::Relaxed);
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        seen.connections.fetch_add(1, Ordering::Relaxed);
        for _ in 0..client * 3 {
            let Ok(rows) = connection.query("SELECT @@server_id, id, v FROM d.t ORDER BY id") else { break };
            let value = |row: usize, column: &str| rows.value(row, column).expect("a value").to_owned();
            assert_eq!(rows.rows.len() as u64, ROWS, "an answer that is cut short passed for whole");
            let ids = (0..rows.rows.len()).map(|row| value(row, "id").parse::<u64>().expect("a number"));
            assert_eq!(ids.sum::<u64>(), sum);
            let current = format!("{id} ");
            assert!((0..rows.rows.len()).all(|row| value(row, "v").starts_with(&current)), "rows of another server");
            assert_eq!(value(0, "@@server_id"), id.to_string());
            seen.answers.fetch_add(1, Ordering::Relaxed);
            // Leaves the processors to the tunnel.
            thread::sleep(Duration::from_millis(20));
        }
    }
}
