//! Compares `sealant verify` with keys in a real HashiCorp Vault and the same keys in a file, on many encrypted
//! tablespaces. The Vault's audit log counts the requests.
//!
//! `cargo bench --package sealant --bench verify_vault`; the ratio means little on a busy machine. The tablespaces
//! are copies of one of a MySQL, so they need one of the keyring's keys.
//!
//! | variable | meaning |
//! |---|---|
//! | `SEALANT_BENCH_TABLESPACES` | number of tablespaces [10000] |
//! | `SEALANT_BENCH_ROUNDS` | runs of each [9] |

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![allow(clippy::expect_used, reason = "a benchmark stops at the first failure")]

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use data_encoding::{BASE64, HEXUPPER};
use harness::vault::{self, Vault};
use harness::{KeyringLocation, Kind, Server, require};

const POLICY: &str = "path \"mysql/data/db/*\" { capabilities = [\"read\"] }
    path \"mysql/metadata/db/*\" { capabilities = [\"list\"] }";

fn main() {
    let (Some(program), Some(_)) = (vault::require(), require(Kind::MySql97)) else { return };
    let (tablespaces, rounds) = (number("SEALANT_BENCH_TABLESPACES", 10_000), number("SEALANT_BENCH_ROUNDS", 9));
    let server = server();
    let keyring = server.dir().join("keyring");
    let vault = Vault::start(program).expect("Vault starts");
    let keys = put(&vault, &keyring);
    let config = configuration(&vault);
    println!("{keys} keys in the keyring, {rounds} runs of each, medians");
    println!("tablespaces  file      Vault     ratio  difference  requests of a run");
    for tablespaces in [1, tablespaces] {
        let many = copies(&server, tablespaces);
        let [file, service, requests] = measured(&vault, &many, [&keyring, &config], rounds);
        // The version of the engine, the list, and each key.
        assert!(requests <= keys as f64 + 2.0, "{requests} requests for {keys} keys");
        let (ratio, difference) = (service / file, (service - file) * 1e3);
        println!("{tablespaces:<11}  {file:.3} s   {service:.3} s   {ratio:.3}  {difference:6.1} ms   {requests}");
    }
}

/// Median seconds of runs with each of the two keyrings, in turn, and the requests of a run with the second.
fn measured(vault: &Vault, tablespaces: &Path, keyrings: [&Path; 2], rounds: usize) -> [f64; 3] {
    // The first run fills the page cache.
    verify(tablespaces, keyrings[0]);
    let before = vault.requests().expect("an audit log").len();
    let times: Vec<[Duration; 2]> = (0..rounds).map(|_| keyrings.map(|keyring| verify(tablespaces, keyring))).collect();
    let requests = (vault.requests().expect("an audit log").len() - before) as f64 / rounds as f64;
    let of = |which: usize| median(times.iter().map(|times| times[which]).collect()).as_secs_f64();
    [of(0), of(1), requests]
}

/// A stopped MySQL with an encrypted table and two master keys.
fn server() -> Server {
    let builder = Server::builder(Kind::MySql97).keyring(KeyringLocation::Beside).option("--skip-log-bin");
    let mut server = builder.start().expect("MySQL starts");
    let table = "CREATE DATABASE demo; CREATE TABLE demo.t (x TEXT) ENCRYPTION='Y'; INSERT INTO demo.t VALUES ('x');";
    server.sql(&format!("{table} ALTER INSTANCE ROTATE INNODB MASTER KEY")).expect("SQL");
    server.stop().expect("it stops");
    server
}

fn copies(server: &Server, number: usize) -> PathBuf {
    let many = server.dir().join(format!("copies-{number}"));
    fs::create_dir(&many).expect("room");
    for copy in 0..number {
        fs::copy(server.datadir().join("demo/t.ibd"), many.join(format!("t{copy}.ibd"))).expect("room");
    }
    many
}

/// Stores the keys as Percona's component does, and returns their number.
fn put(vault: &Vault, keyring: &Path) -> usize {
    vault.run(&["secrets", "enable", "-path=mysql", "-version=2", "kv"]).expect("an engine");
    let json: serde_json::Value =
        serde_json::from_slice(&fs::read(keyring).expect("a keyring")).expect("the keyring is JSON");
    let elements = json["elements"].as_array().expect("elements");
    for element in elements {
        let text = |name: &str| element[name].as_str().expect("text");
        let name = BASE64.encode(format!("{}_{}0_", text("data_id").len(), text("data_id")).as_bytes());
        let key = HEXUPPER.decode(text("data").as_bytes()).expect("digits");
        let value = format!("value={}", BASE64.encode(&key));
        vault.run(&["kv", "put", &format!("mysql/db/{name}"), "type=AES", &value]).expect("stored");
    }
    elements.len()
}

fn configuration(vault: &Vault) -> PathBuf {
    let token = vault.token("mysql", POLICY, &[]).expect("a token");
    let json = serde_json::json!({
        "vault_url": vault.address(), "secret_mount_point": "mysql/db", "secret_mount_point_version": "AUTO",
        "vault_ca": vault.authority(), "token": token,
    });
    let path = vault.path("component_keyring_vault.cnf");
    fs::write(&path, json.to_string()).expect("room");
    path
}

/// Time of a run, which must open everything.
fn verify(tablespaces: &Path, keyring: &Path) -> Duration {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sealant"));
    command.arg("verify").arg(tablespaces).arg("--keyring").arg(keyring).stdout(Stdio::null());
    let began = Instant::now();
    let status = command.status().expect("the binary starts");
    let took = began.elapsed();
    assert!(status.success(), "{status}");
    took
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn number(variable: &str, default: usize) -> usize {
    env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
