//! Measures how long an audit takes: a server with 20 tables, one with 10,000, and a fleet of 1,000 recorded servers.
//! Uses real servers and complete runs of the binary; reports medians with the spread of all runs.
//!
//! `cargo bench --package sealant --bench audit`; `docs/benchmarks.md` has results and machine.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its figures")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use harness::{KeyringLocation, Kind, Server, require};

/// Runs of each measurement.
const RUNS: usize = 7;

fn main() {
    if require(Kind::MySql97).is_none() {
        return;
    }
    let small = server_with(20);
    let facts = tempfile::tempdir().expect("a directory");
    measure("audit, 20 tablespaces, local directory", RUNS, &live(&small));
    record(&small, facts.path(), 1_000);
    drop(small);

    let large = server_with(10_000);
    measure("audit, 10,000 tablespaces, local directory", RUNS, &live(&large));
    drop(large);

    let fleet = facts.path().join("fleet.toml");
    fs::write(&fleet, "facts-directory = \"recorded\"\nconcurrency = 2\n").expect("written");
    let fleet = fleet.to_str().expect("ASCII").to_owned();
    measure("fleet of 1,000 recorded servers", 3, &["audit".to_owned(), "--fleet".to_owned(), fleet]);
}

fn server_with(tables: usize) -> Server {
    let server = Server::builder(Kind::MySql97)
        .keyring(KeyringLocation::Beside)
        .options([
            "--skip-log-bin",
            "--innodb-flush-log-at-trx-commit=0",
            "--sync-binlog=0",
            "--innodb-doublewrite=OFF",
        ])
        .start()
        .expect("MySQL 9.7 starts");
    server.sql("CREATE DATABASE bench").expect("a schema");
    for first in (0..tables).step_by(500) {
        let batch: String = (first..tables.min(first + 500))
            .map(|n| {
                format!(
                    "CREATE TABLE bench.t{n} (id INT PRIMARY KEY, v VARCHAR(100)) ENCRYPTION='{}';",
                    ["Y", "N"][n % 2]
                )
            })
            .collect();
        server.sql(&batch).expect("tables");
    }
    server
}

fn live(server: &Server) -> Vec<String> {
    let socket = server.socket().to_str().expect("ASCII");
    ["audit", "--socket", socket, "--user", "root"].map(str::to_owned).to_vec()
}

/// Saves the facts of one server as those of many.
fn record(server: &Server, directory: &Path, copies: usize) {
    let recorded = directory.join("recorded");
    fs::create_dir(&recorded).expect("a directory");
    let one = recorded.join("server0.json");
    let mut args = live(server);
    args.extend(["--save".to_owned(), one.to_str().expect("ASCII").to_owned()]);
    run(&args);
    let text = fs::read_to_string(&one).expect("facts");
    let socket = server.socket().to_str().expect("ASCII");
    for n in 0..copies {
        fs::write(recorded.join(format!("server{n}.json")), text.replace(socket, &format!("/run/server{n}.sock")))
            .expect("a copy");
    }
}

fn measure(what: &str, runs: usize, args: &[String]) {
    let mut results: Vec<(Duration, u64)> = (0..runs).map(|_| run(args)).collect();
    results.sort();
    let seconds = |at: usize| results[at].0.as_secs_f64();
    let peak = results.iter().map(|r| r.1).max().unwrap_or(0);
    println!(
        "{what}: median {:.2} s, {:.2} to {:.2} s in {runs} runs, peak memory {} MiB",
        seconds(runs / 2),
        seconds(0),
        seconds(runs - 1),
        peak / 1024
    );
}

/// Time and peak resident memory in KiB.
fn run(args: &[String]) -> (Duration, u64) {
    let begin = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_sealant"))
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().expect("a child").is_none() {
        peak = peak.max(high_water(&status).unwrap_or(0));
        std::thread::sleep(Duration::from_millis(2));
    }
    (begin.elapsed(), peak)
}

fn high_water(status: &str) -> Option<u64> {
    let text = fs::read_to_string(status).ok()?;
    let line = text.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
