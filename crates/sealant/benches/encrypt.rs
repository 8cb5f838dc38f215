//! Measures what `sealant encrypt` costs the clients of a MySQL server, by method, compared with a plain shell loop of
//! `ALTER TABLE`: total time, longest and p99 latency of writes, and number of writes.
//!
//! `cargo bench --package sealant --bench encrypt`. gh-ost is an arm where it is installed.
//!
//! | variable | meaning |
//! |---|---|
//! | `SEALANT_BENCH_MIB` | total size of all tables [2048] |
//! | `SEALANT_BENCH_TABLES` | number of tables [8] |
//! | `SEALANT_BENCH_ROUNDS` | rounds of all arms [2] |

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::error::Error;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use harness::{KeyringLocation, Kind, Server, require};
use server::{Connection, Endpoint, Options, Password, Target};

const ROW_BYTES: u64 = 1024;
const CLIENTS: u64 = 2;
type Failed = Box<dyn Error + Send + Sync>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Arm {
    Shell,
    Native,
    GhOst,
}

impl Arm {
    const fn name(self) -> &'static str {
        match self {
            Self::Shell => "loop of ALTER TABLE",
            Self::Native => "sealant, native",
            Self::GhOst => "sealant, gh-ost",
        }
    }
}

fn main() -> Result<(), Failed> {
    let Some(_) = require(Kind::MySql97) else { return Ok(()) };
    let (mib, tables) = (number("SEALANT_BENCH_MIB", 2048)?, number("SEALANT_BENCH_TABLES", 8)?);
    let options =
        ["--innodb-buffer-pool-size=1G", "--innodb-redo-log-capacity=1G", "--log-bin=binlog", "--sync-binlog=0"];
    let server = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).options(options).start()?;
    fill(&server, tables, mib * (1 << 20) / tables / ROW_BYTES)?;
    let gh_ost = Command::new("gh-ost").arg("--version").stdout(Stdio::null()).status().is_ok();
    let arms = [Some(Arm::Shell), Some(Arm::Native), gh_ost.then_some(Arm::GhOst)];
    println!("{tables} tables, {mib} MiB, {CLIENTS} clients that write one row at a time");
    let (_, idle) = under_load(&server, tables, || {
        thread::sleep(Duration::from_secs(10));
        Ok(())
    })?;
    println!("{:<22} {:>9}   {idle}", "nothing beside", "");
    for round in 0..number("SEALANT_BENCH_ROUNDS", 2)? {
        let mut order: Vec<Arm> = arms.into_iter().flatten().collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for arm in order {
            let (took, writes) = under_load(&server, tables, || encrypt(&server, tables, arm))?;
            println!("{:<22} {:>7.1} s   {writes}", arm.name(), took.as_secs_f64());
            decrypt(&server, tables)?;
        }
    }
    Ok(())
}

fn number(name: &str, default: u64) -> Result<u64, Failed> {
    std::env::var(name).map_or(Ok(default), |text| Ok(text.parse()?))
}

fn fill(server: &Server, tables: u64, rows: u64) -> Result<(), Failed> {
    server.sql("CREATE DATABASE shop")?;
    for table in 0..tables {
        let pad = ROW_BYTES - 40;
        server.sql(&format!(
            "CREATE TABLE shop.t{table} (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL DEFAULT 0, v VARCHAR(2000))"
        ))?;
        let part = 10_000.min(rows);
        for _ in 0..rows / part {
            server.sql(&format!(
                "SET SESSION cte_max_recursion_depth = {part}; INSERT INTO shop.t{table} (v) \
                 WITH RECURSIVE s AS (SELECT 1 n UNION ALL SELECT n + 1 FROM s WHERE n < {part}) \
                 SELECT REPEAT(LEFT(SHA2(RAND(), 256), 32), {pad} / 32) FROM s"
            ))?;
        }
    }
    Ok(())
}

fn encrypt(server: &Server, tables: u64, arm: Arm) -> Result<(), Failed> {
    if arm == Arm::Shell {
        for table in 0..tables {
            server.sql(&format!("ALTER TABLE shop.t{table} ENCRYPTION = 'Y'"))?;
        }
        return Ok(());
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_sealant"));
    command.args(["encrypt", "run", "--user", "root", "--policy", "tables", "--yes", "--quiet", "--socket"]);
    command.arg(server.socket()).arg("--state-dir").arg(server.dir()).arg("--log").arg(server.dir().join("log"));
    command.args(["--schema", "shop", "--method", if arm == Arm::GhOst { "gh-ost" } else { "native" }]);
    let output = command.args(["--format", "json"]).output()?;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let mut seconds = 0.0;
    for step in report["steps"].as_array().into_iter().flatten() {
        if step["step"].as_str().is_some_and(|id| id.starts_with("table ")) {
            seconds += step["seconds"].as_f64().unwrap_or_default();
            if step["state"] != "done" {
                return Err(step.to_string().into());
            }
        }
    }
    println!("{:<22} {seconds:>7.1} s   of it in the tables, the rest is proof", arm.name());
    Ok(())
}

fn decrypt(server: &Server, tables: u64) -> Result<(), Failed> {
    for table in 0..tables {
        server.sql(&format!("ALTER TABLE shop.t{table} ENCRYPTION = 'N'"))?;
    }
    Ok(())
}

/// Latencies of writes.
struct Writes {
    sorted: Vec<Duration>,
    seconds: f64,
}

impl std::fmt::Display for Writes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let at = |share: usize| self.sorted.get(self.sorted.len() * share / 1000).or_else(|| self.sorted.last());
        let ms = |time: Option<&Duration>| time.map_or(0.0, Duration::as_secs_f64) * 1000.0;
        let rate = self.sorted.len() as f64 / self.seconds;
        let (p99, p999, most) = (ms(at(990)), ms(at(999)), ms(self.sorted.last()));
        write!(f, "{rate:>6.0} writes/s   p99 {p99:>8.1} ms   p99.9 {p999:>8.1} ms   longest {most:>8.0} ms")
    }
}

/// Runs `work` while clients write to each table in turn.
fn under_load(
    server: &Server,
    tables: u64,
    act: impl FnOnce() -> Result<(), Failed>,
) -> Result<(Duration, Writes), Failed> {
    let stop = AtomicBool::new(false);
    let began = Instant::now();
    let (result, times) = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|n| {
                scope.spawn({
                    let stop = &stop;
                    move || client(server, tables, n, stop)
                })
            })
            .collect();
        let result = act();
        stop.store(true, Ordering::Relaxed);
        let times: Result<Vec<_>, Failed> =
            clients.into_iter().map(|client| client.join().map_err(|_| "a client panicked")?).collect();
        (result, times)
    });
    let took = began.elapsed();
    result?;
    let mut sorted: Vec<Duration> = times?.into_iter().flatten().collect();
    sorted.sort_unstable();
    Ok((took, Writes { sorted, seconds: took.as_secs_f64() }))
}

fn client(server: &Server, tables: u64, number: u64, stop: &AtomicBool) -> Result<Vec<Duration>, Failed> {
    let options = Options {
        password: Some(Password::new("")),
        changes: true,
        statement_timeout: Duration::from_secs(3600),
        ..Options::default()
    };
    let target = Target { endpoint: Endpoint::Socket(server.socket().to_owned()), user: "root".to_owned() };
    let mut connection = Connection::open(&target, &options)?;
    let mut times = Vec::new();
    let mut id = number;
    while !stop.load(Ordering::Relaxed) {
        id = id.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (table, row) = ((id >> 33) % tables, 1 + (id >> 40) % 10_000);
        let began = Instant::now();
        connection.query(&format!("UPDATE shop.t{table} SET k = k + 1 WHERE id = {row}"))?;
        times.push(began.elapsed());
    }
    Ok(times)
}
