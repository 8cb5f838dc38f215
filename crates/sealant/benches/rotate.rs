//! Measures what a key rotation costs on a MySQL server with many tablespaces: the whole run with both proofs, and the
//! server's own share of it.
//!
//! `cargo bench --package sealant --bench rotate`.
//!
//! | variable | meaning |
//! |---|---|
//! | `SEALANT_BENCH_TABLES` | tablespaces [10000] |
//! | `SEALANT_BENCH_ROUNDS` | rotations [3] |

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::error::Error;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::Instant;

use harness::{KeyringLocation, Kind, Server, require};
use serde_json::Value;

/// Connections that create tables.
const MAKERS: u64 = 4;
type Failed = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Failed> {
    let Some(_) = require(Kind::MySql97) else { return Ok(()) };
    let (tables, rounds) = (number("SEALANT_BENCH_TABLES", 10_000)?, number("SEALANT_BENCH_ROUNDS", 3)?);
    let options = ["--log-bin=binlog", "--binlog-encryption=ON", "--default-table-encryption=ON", "--sync-binlog=0"];
    let speed = ["--innodb-flush-log-at-trx-commit=0", "--innodb-redo-log-capacity=1G"];
    let server =
        Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).options(options).options(speed).start()?;
    make(&server, tables)?;
    println!("{tables} encrypted tablespaces");
    let identity = agefile::Identity::generate()?;
    for round in 0..rounds {
        rotate(&server, &identity.recipient().to_string(), round)?;
    }
    Ok(())
}

fn number(name: &str, default: u64) -> Result<u64, Failed> {
    std::env::var(name).map_or(Ok(default), |text| Ok(text.parse()?))
}

fn make(server: &Server, tables: u64) -> Result<(), Failed> {
    server.sql("CREATE DATABASE many")?;
    thread::scope(|scope| {
        let makers: Vec<_> = (0..MAKERS)
            .map(|maker| {
                scope.spawn(move || {
                    let numbers: Vec<u64> = (maker..tables).step_by(MAKERS as usize).collect();
                    numbers.chunks(250).try_for_each(|chunk| {
                        let make = |n: &u64| format!("CREATE TABLE many.t{n} (id INT PRIMARY KEY);");
                        server.sql(&chunk.iter().map(make).collect::<String>()).map(drop)
                    })
                })
            })
            .collect();
        for maker in makers {
            maker.join().map_err(|_| "a maker of tables panicked")??;
        }
        Ok(())
    })
}

fn rotate(server: &Server, recipient: &str, round: u64) -> Result<(), Failed> {
    let (dir, log) = (server.dir(), server.dir().join(format!("statements{round}")));
    let mut command = Command::new(env!("CARGO_BIN_EXE_sealant"));
    command.args(["rotate", "run", "--user", "root", "--master-key", "--yes", "--quiet", "--format", "json"]);
    command.args(["--recipient", recipient, "--socket"]).arg(server.socket()).arg("--state-dir").arg(dir.join("state"));
    command.arg("--keyring-backup").arg(dir.join(format!("backup{round}.age"))).arg("--log").arg(&log);
    let began = Instant::now();
    let output = command.output()?;
    let whole = began.elapsed().as_secs_f64();
    let report: Value =
        serde_json::from_slice(&output.stdout).map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
    if report["done"] != true {
        return Err(report.to_string().into());
    }
    let text = fs::read_to_string(&log)?;
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let server_seconds: f64 = lines.filter_map(|line| line["seconds"].as_f64()).sum();
    println!(
        "rotation {round}: {whole:.1} s, of it the server's own statements {server_seconds:.1} s, the rest {:.1} s",
        whole - server_seconds
    );
    for step in report["steps"].as_array().into_iter().flatten() {
        println!(
            "  {:>7.2} s  {}",
            step["seconds"].as_f64().unwrap_or_default(),
            step["what"].as_str().unwrap_or_default()
        );
    }
    Ok(())
}
