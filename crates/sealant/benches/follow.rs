//! Measures what a backup of a running server costs its clients: `sealant backup run --full` with `provider = "follow"`
//! while two clients commit without a pause. Each round has a window without a backup and one with it, in alternating
//! order, so that disturbances affect both.
//!
//! `cargo bench --package sealant --bench follow`; `docs/benchmarks.md` describes it.
//!
//! | variable | meaning |
//! |---|---|
//! | `SEALANT_BENCH_MIB` | size of the tables [1024] |
//! | `SEALANT_BENCH_ROUNDS` | rounds [7] |
//! | `SEALANT_BENCH_SERVER` | `mysql` or `mariadb`: only that server [both] |

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::error::Error;
use std::fs;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use harness::{Kind, Server, ServerBuilder, require};
use serde_json::Value;
use server::{Connection, Endpoint, Options, Password, Target};

const ROW_BYTES: u64 = 1024;
const TABLES: u64 = 4;
const CLIENTS: u64 = 2;
/// The bars: commits a second while a backup is made, as a share of those without, and how long commits wait.
const LEAST_RATE: f64 = 0.85;
const MOST_WAIT_MS: f64 = 300.0;
type Failed = Box<dyn Error + Send + Sync>;

/// Also a part of the bench `backup`.
pub(crate) fn main() -> Result<(), Failed> {
    let only = std::env::var("SEALANT_BENCH_SERVER").ok();
    let options = ["--innodb-buffer-pool-size=512M", "--log-bin=binlog", "--sync-binlog=1"];
    if only.as_deref() != Some("mariadb") && require(Kind::MySql97).is_some() {
        measure(
            "MySQL 9.7",
            Server::builder(Kind::MySql97).options(options).option("--innodb-redo-log-capacity=512M"),
        )?;
    }
    if only.as_deref() != Some("mysql") && require(Kind::MariaDb1011).is_some() {
        measure(
            "MariaDB 10.11",
            Server::builder(Kind::MariaDb1011).options(options).option("--innodb-log-file-size=512M"),
        )?;
    }
    Ok(())
}

fn number(name: &str, default: u64) -> Result<u64, Failed> {
    std::env::var(name).map_or(Ok(default), |text| Ok(text.parse()?))
}

/// Figures of all rounds: rates in commits a second, times in milliseconds.
#[derive(Default)]
struct Figures {
    alone: Vec<f64>,
    copying: Vec<f64>,
    running: Vec<f64>,
    longest_alone: Vec<f64>,
    longest_running: Vec<f64>,
    reported: Vec<f64>,
}

fn measure(name: &str, builder: ServerBuilder) -> Result<(), Failed> {
    let (mib, rounds) = (number("SEALANT_BENCH_MIB", 1024)?, number("SEALANT_BENCH_ROUNDS", 7)?);
    let server = builder.start()?;
    fill(&server, mib * (1 << 20) / TABLES / ROW_BYTES)?;
    let repository = Repository::new(&server)?;
    let clients = Clients::start(&server);
    // Not measured: the first backup creates the state, and the clients fill the caches.
    repository.run()?;
    let (mut figures, mut length) = (Figures::default(), Duration::ZERO);
    for round in 0..rounds {
        // The window without a backup lasts as long as the last backup.
        let before = (round % 2 == 1).then(|| idle(length));
        let began = Instant::now();
        let (copied, longest) = repository.run()?;
        let ended = Instant::now();
        length = ended - began;
        let (alone, alone_ended) = before.unwrap_or_else(|| idle(length));
        figures.copying.push(clients.rate(began, began + copied));
        figures.running.push(clients.rate(began, ended));
        figures.alone.push(clients.rate(alone, alone_ended));
        figures.longest_running.push(clients.longest(began, ended));
        figures.longest_alone.push(clients.longest(alone, alone_ended));
        figures.reported.push(longest);
    }
    figures.print(name, mib);
    Ok(())
}

/// Lets a window pass; returns its beginning and its end.
fn idle(length: Duration) -> (Instant, Instant) {
    let began = Instant::now();
    thread::sleep(length);
    (began, Instant::now())
}

impl Figures {
    fn print(&self, name: &str, mib: u64) {
        let ratio = |rates: &[f64]| match bench::ratio_interval(rates, &self.alone) {
            Some(found) => format!("{:.2} ({:.2} to {:.2})", found.estimate, found.low, found.high),
            None => "none".to_owned(),
        };
        let median = |values: &[f64]| bench::median(values).unwrap_or_default();
        let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
        println!("{name}, {mib} MiB, {CLIENTS} clients, {} rounds", self.alone.len());
        println!("  commits/s without a backup {:.0}", median(&self.alone));
        println!("  while files are copied     {:.0}, {} of that", median(&self.copying), ratio(&self.copying));
        println!("  during the whole backup    {:.0}, {} of that", median(&self.running), ratio(&self.running));
        println!("  longest wait as reported   {:.0} ms, at most {:.0}", median(&self.reported), most(&self.reported));
        self.print_bars();
        for (what, values) in [("with", &self.longest_running), ("without", &self.longest_alone)] {
            println!("  longest commit {what:<7} backup {:.0} ms, at most {:.0}", median(values), most(values));
        }
    }
}

impl Figures {
    /// Says which bars are met.
    fn print_bars(&self) {
        let verdict = |is_met| if is_met { "met" } else { "missed" };
        if let Some(found) = bench::ratio_interval(&self.running, &self.alone) {
            let doubt = if (found.low < LEAST_RATE) == (found.high < LEAST_RATE) {
                ""
            } else {
                ", but its interval includes the bar"
            };
            println!(
                "bar {}{doubt}: commits a second during a backup, as a share of those without {:.3} ({:.3} to {:.3}), \
                 at least {LEAST_RATE}",
                verdict(found.estimate >= LEAST_RATE),
                found.estimate,
                found.low,
                found.high
            );
        }
        let longest = self.reported.iter().copied().fold(0.0, f64::max);
        println!(
            "bar {}: longest wait of commits in {} backups {longest:.0} ms, at most {MOST_WAIT_MS:.0} ms",
            verdict(longest <= MOST_WAIT_MS),
            self.reported.len()
        );
    }
}

fn fill(server: &Server, rows: u64) -> Result<(), Failed> {
    server.sql("CREATE DATABASE shop; CREATE TABLE shop.part (v VARCHAR(2000))")?;
    for _ in 0..10 {
        server.sql(&format!(
            "INSERT INTO shop.part {}",
            vec!["SELECT LEFT(SHA2(RAND(), 256), 32)"; 100].join(" UNION ALL ")
        ))?;
    }
    for table in 0..TABLES {
        server.sql(&format!(
            "CREATE TABLE shop.t{table} (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL DEFAULT 0, v VARCHAR(2000))"
        ))?;
        for _ in 0..rows / 1000 {
            let repeats = (ROW_BYTES - 40) / 32;
            server.sql(&format!(
                "INSERT INTO shop.t{table} (v) SELECT REPEAT(LEFT(SHA2(RAND(), 256), 32), {repeats}) FROM shop.part"
            ))?;
        }
    }
    Ok(())
}

/// A repository beside the server.
struct Repository {
    config: std::path::PathBuf,
    _directory: tempfile::TempDir,
}

impl Repository {
    fn new(server: &Server) -> Result<Self, Failed> {
        let directory = tempfile::tempdir_in(server.dir())?;
        let at = |name: &str| directory.path().join(name);
        let identity = agefile::Identity::generate()?;
        let text = format!(
            "[repository]\nurl = {:?}\n[host]\nname = \"bench\"\nsigning_key = {:?}\n[server]\ndatadir = {:?}\n\
             socket = {:?}\nuser = \"root\"\n[data]\nprovider = \"follow\"\nrecipients = [\"{}\"]\n\
             [state]\ndirectory = {:?}\n",
            at("repository"),
            at("key"),
            server.datadir(),
            server.socket(),
            identity.recipient(),
            at("state"),
        );
        let made = Self { config: at("backup.toml"), _directory: directory };
        fs::write(&made.config, text)?;
        made.sealant(&["init", "--unproven-recipient"])?;
        Ok(made)
    }

    fn sealant(&self, verb: &[&str]) -> Result<Vec<u8>, Failed> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sealant"));
        let output = command.arg("backup").args(verb).arg("--config").arg(&self.config).output()?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(String::from_utf8_lossy(&output.stderr).into()),
        }
    }

    /// A full backup: how long the files were copied, and the longest wait that it reports, in milliseconds.
    fn run(&self) -> Result<(Duration, f64), Failed> {
        let output = self.sealant(&["run", "--full", "--json", "--quiet"])?;
        // The report is the last of the events.
        let last = output.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        let report: Value = serde_json::from_slice(last)?;
        let number = |pointer: &str| report.pointer(pointer).and_then(Value::as_f64).ok_or("no such number");
        Ok((Duration::from_secs_f64(number("/phases/copy")? / 1000.0), number("/stood_still_ms")?))
    }
}

/// Clients that commit until they are dropped.
struct Clients {
    stop: std::sync::Arc<AtomicBool>,
    commits: std::sync::Arc<std::sync::Mutex<Vec<(Instant, Duration)>>>,
    threads: Vec<thread::JoinHandle<()>>,
}

impl Clients {
    fn start(server: &Server) -> Self {
        let (stop, commits) = (std::sync::Arc::default(), std::sync::Arc::default());
        let client = |number| {
            let target = Target { endpoint: Endpoint::Socket(server.socket().to_owned()), user: "root".to_owned() };
            let (stop, commits) = (std::sync::Arc::clone(&stop), std::sync::Arc::clone(&commits));
            thread::spawn(move || client(&target, number, &stop, &commits))
        };
        let threads = (0..CLIENTS).map(client).collect();
        Self { stop, commits, threads }
    }

    /// Latencies of the commits that ended between two moments.
    fn between(&self, from: Instant, to: Instant) -> Vec<Duration> {
        let all = self.commits.lock().expect("no client panics");
        all.iter().filter(|(ended, _)| (from..to).contains(ended)).map(|(_, took)| *took).collect()
    }

    #[allow(clippy::cast_precision_loss, reason = "a rate")]
    fn rate(&self, from: Instant, to: Instant) -> f64 {
        self.between(from, to).len() as f64 / (to - from).as_secs_f64()
    }

    fn longest(&self, from: Instant, to: Instant) -> f64 {
        self.between(from, to).into_iter().max().unwrap_or_default().as_secs_f64() * 1000.0
    }
}

impl Drop for Clients {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.threads.drain(..) {
            let _ = client.join();
        }
    }
}

/// A transaction like those of sysbench's `oltp_read_write`, but shorter: four rows are read, two are changed.
fn client(target: &Target, number: u64, stop: &AtomicBool, commits: &std::sync::Mutex<Vec<(Instant, Duration)>>) {
    let options = Options { password: Some(Password::new("")), changes: true, ..Options::default() };
    let mut connection = Connection::open(target, &options).expect("it answers");
    let mut id = number;
    while !stop.load(Ordering::Relaxed) {
        let mut row = || {
            id = id.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((id >> 33) % TABLES, 1 + (id >> 40) % 10_000)
        };
        let reads: Vec<(u64, u64)> = (0..4).map(|_| row()).collect();
        let writes: Vec<(u64, u64)> = (0..2).map(|_| row()).collect();
        let began = Instant::now();
        let reads = reads.into_iter().map(|(table, row)| format!("SELECT v FROM shop.t{table} WHERE id = {row}"));
        let writes =
            writes.into_iter().map(|(table, row)| format!("UPDATE shop.t{table} SET k = k + 1 WHERE id = {row}"));
        let statements = ["BEGIN".to_owned()].into_iter().chain(reads).chain(writes).chain(["COMMIT".to_owned()]);
        // A deadlock rolls it back.
        let committed = statements.into_iter().all(|statement| connection.query(&statement).is_ok());
        if committed {
            // The wait for the list is no latency.
            let ended = Instant::now();
            commits.lock().expect("no client panics").push((ended, ended - began));
        } else {
            let _ = connection.query("ROLLBACK");
        }
    }
}
