//! Measures how long an audit takes: a server with 20 tables, one with 10,000, and a fleet of 1,000 recorded servers,
//! once and under a monitor.
//! Uses real servers and complete runs of the binary; reports medians with the spread of all runs.
//!
//! `cargo bench --package sealant --bench audit`; `docs/benchmarks.md` has results and machine.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its figures")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
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
    monitor(facts.path(), 1_000);
}

/// Time that the pages are read again and again after the first round.
const READING: Duration = Duration::from_secs(60);

/// Measures the first round of all servers under a monitor, and its memory while all are audited every ten seconds and
/// its pages are read.
fn monitor(directory: &Path, servers: usize) {
    let config = directory.join("monitor.toml");
    let text = "fleet = \"fleet.toml\"\nstate-directory = \"state\"\nlisten = [\"127.0.0.1:0\"]\n\
                light-every = \"10s\"\nfull-every = \"10s\"\n";
    fs::write(&config, text).expect("written");
    let began = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_sealant"))
        .args(["monitor", "--config"])
        .arg(&config)
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let ready = lines.find_map(|line| Some(line.split_once("ready: http://")?.1.trim_end_matches('/').to_owned()));
    let address = ready.expect("an address");
    // What it logs must not stop it.
    let log = std::thread::spawn(move || lines.count());
    let audited = || page(&address, "/healthz").contains(&format!("{servers} of {servers} servers answered"));
    while !audited() {
        std::thread::sleep(Duration::from_millis(50));
    }
    let round = began.elapsed();
    let (mut longest, mut pages) = (Duration::ZERO, 0);
    while began.elapsed() < round + READING {
        for path in ["/metrics", "/"] {
            let asked = Instant::now();
            assert!(page(&address, path).starts_with("HTTP/1.1 200 "), "{path}");
            longest = longest.max(asked.elapsed());
            pages += 1;
        }
    }
    let peak = high_water(&format!("/proc/{}/status", child.id())).unwrap_or(0);
    println!(
        "monitor of {servers} recorded servers: first round of all {:.1} s, peak memory {} MiB; {pages} pages read, the \
         slowest in {:.1} s",
        round.as_secs_f64(),
        peak / 1024,
        longest.as_secs_f64()
    );
    child.kill().expect("it runs");
    child.wait().expect("a child");
    log.join().expect("its lines");
}

fn page(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("asked");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("answered");
    text
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
