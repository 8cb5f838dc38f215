//! How fast a data directory is copied: `sealant bench transfer` on that of a MySQL server, three of
//! its four large tables encrypted, against every peer of the test harness.
//!
//! `cargo bench --package sealant --bench transfer [-- --OPTION=VALUE…]` hands options on, for example
//! `--rate=1Gbit`, `--peers-without-aes` or `--html=transfer.html`; `docs/benchmarks.md` has results and
//! machine. The directory is made once and kept in the cache of the test harness, where copies go too.
//!
//! | variable | meaning |
//! |---|---|
//! | `SEALANT_BENCH_MIB` | size of all four tables [1024] |

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::{KeyringPlace, Kind, Server, require};

fn main() -> Result<(), Box<dyn Error>> {
    let mib = env::var("SEALANT_BENCH_MIB").ok().and_then(|text| text.parse().ok()).unwrap_or(1024);
    let Some(data) = Data::made(mib) else { return Ok(()) };
    let mut command = Command::new(env!("CARGO_BIN_EXE_sealant"));
    command.args(["bench", "transfer"]).arg(data.datadir()).arg("--keyring").arg(data.keyring());
    command.arg("--into").arg(harness::cache().join("bench")).env("PATH", path_with_peers());
    command.args(env::args().skip(1).filter(|argument| argument.starts_with('-') && argument != "--bench"));
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("sealant bench transfer: {status}").into()) }
}

/// Programs of the cache come before those of the machine.
fn path_with_peers() -> OsString {
    let peers = harness::cache().join("servers/peers/root/usr/bin");
    let path = env::var_os("PATH").unwrap_or_default();
    env::join_paths(std::iter::once(peers).chain(env::split_paths(&path))).unwrap_or(path)
}

/// The directory of a stopped server, and its keyring.
struct Data {
    directory: PathBuf,
}

const MIB: u64 = 1 << 20;
const TABLES: [(&str, &str); 4] = [("t1", "'Y'"), ("t2", "'Y'"), ("t3", "'Y'"), ("t4", "'N'")];
/// Rows of one statement: few enough for its time limit.
const MOST_ROWS: u64 = 50_000;
/// Quick to fill: nothing has to survive a crash.
const OPTIONS: [&str; 5] = [
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--innodb-buffer-pool-size=512M",
    "--innodb-redo-log-capacity=64M",
    "--skip-log-bin",
];

impl Data {
    /// Tables of so many MiB together; `None` if the server is not on this machine.
    fn made(mib: u64) -> Option<Self> {
        let mysql = require(Kind::MySql97)?;
        let directory = harness::cache().join("bench").join(format!("transfer-{mib}-{}", mysql.version));
        let data = Self { directory };
        if !data.directory.exists() {
            let unfinished = Self { directory: data.directory.with_extension("new") };
            let _ = fs::remove_dir_all(&unfinished.directory);
            fs::create_dir_all(&unfinished.directory).expect("a directory");
            unfinished.make(mib);
            fs::rename(&unfinished.directory, &data.directory).expect("renamed");
        }
        Some(data)
    }

    fn datadir(&self) -> PathBuf {
        self.directory.join("data")
    }

    fn keyring(&self) -> PathBuf {
        self.directory.join("keyring")
    }

    fn make(&self, mib: u64) {
        let server = Server::builder(Kind::MySql97).keyring(KeyringPlace::Beside).options(OPTIONS);
        let mut server = server.start().expect("MySQL");
        server.sql("CREATE DATABASE bench").expect("a schema");
        for (name, encryption) in TABLES {
            fill(&server, name, encryption, mib * MIB / TABLES.len() as u64);
        }
        server.stop().expect("stopped");
        fs::copy(server.dir().join("keyring"), self.keyring()).expect("copied");
        let copied = Command::new("cp").arg("-a").arg(server.datadir()).arg(self.datadir()).status();
        assert!(copied.expect("cp").success());
    }
}

/// Rows as sysbench makes them: of random digits, so that they compress as its tables do.
fn fill(server: &Server, name: &str, encryption: &str, bytes: u64) {
    let table = format!("bench.{name}");
    let path = server.datadir().join("bench").join(format!("{name}.ibd"));
    let row = format!("FLOOR(RAND() * 1000000), {}, {}", digits(10), digits(5));
    let create = format!(
        "CREATE TABLE {table} (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL, c CHAR(120) NOT NULL,
             pad CHAR(60) NOT NULL, KEY k (k)) ENCRYPTION={encryption};
         INSERT INTO {table} (k, c, pad)
             WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT {row} FROM n;"
    );
    server.sql(&create).expect("a table");
    let mut rows = 1000;
    while length(&path) < bytes {
        let more = rows.min(MOST_ROWS);
        server.sql(&format!("INSERT INTO {table} (k, c, pad) SELECT {row} FROM {table} LIMIT {more}")).expect("rows");
        rows += more;
    }
}

/// Groups of eleven random digits.
fn digits(groups: usize) -> String {
    let group = "LPAD(FLOOR(RAND() * 100000000000), 11, '0')";
    format!("CONCAT_WS('-', {})", vec![group; groups].join(", "))
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}
