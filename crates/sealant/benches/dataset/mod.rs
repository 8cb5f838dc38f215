//! Directories of stopped servers to copy and back up, with four large tables, three of them encrypted. Each is made once
//! and kept in the cache of the test harness.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use harness::{Kind, Server, ServerBuilder, require};

/// How a server creates such a directory.
pub(crate) struct Recipe {
    pub(crate) kind: Kind,
    pub(crate) builder: ServerBuilder,
    /// Table options: encrypted and unencrypted.
    pub(crate) encryption: [&'static str; 2],
    /// Path of the keys in the server's private directory.
    pub(crate) keys: &'static str,
}

/// The directory of a stopped server, and its keys.
pub(crate) struct DataSet {
    directory: PathBuf,
}

const MIB: u64 = 1 << 20;
pub(crate) const TABLES: [(&str, bool); 4] = [("t1", true), ("t2", true), ("t3", true), ("t4", false)];
/// Rows of one statement: few enough for its time limit.
const MOST_ROWS: u64 = 50_000;

impl DataSet {
    /// Uses tables with this size in total, kept under a name of their own; `None` if the server is not installed on this
    /// machine.
    pub(crate) fn of(recipe: Recipe, name: &str, mib: u64) -> Option<Self> {
        let version = require(recipe.kind)?.version;
        let directory = harness::cache().join("bench").join(format!("{name}-{mib}-{version}"));
        let data = Self { directory };
        if !data.directory.exists() {
            let unfinished = Self { directory: data.directory.with_extension("new") };
            let _ = fs::remove_dir_all(&unfinished.directory);
            fs::create_dir_all(&unfinished.directory).expect("a directory");
            unfinished.make(recipe, mib);
            fs::rename(&unfinished.directory, &data.directory).expect("renamed");
        }
        Some(data)
    }

    pub(crate) fn datadir(&self) -> PathBuf {
        self.directory.join("data")
    }

    pub(crate) fn keys(&self) -> PathBuf {
        self.directory.join("keyring")
    }

    fn make(&self, recipe: Recipe, mib: u64) {
        let mut server = recipe.builder.start().expect("a server");
        server.sql("CREATE DATABASE bench").expect("a schema");
        let [encrypted, clear] = recipe.encryption;
        for (name, is_encrypted) in TABLES {
            fill(&server, name, if is_encrypted { encrypted } else { clear }, mib * MIB / TABLES.len() as u64);
        }
        server.stop().expect("stopped");
        fs::copy(server.dir().join(recipe.keys), self.keys()).expect("copied");
        let copied = Command::new("cp").arg("-a").arg(server.datadir()).arg(self.datadir()).status();
        assert!(copied.expect("cp").success());
    }
}

/// Size of all tables, in MiB: `SEALANT_BENCH_MIB`.
pub(crate) fn mib() -> u64 {
    env::var("SEALANT_BENCH_MIB").ok().and_then(|text| text.parse().ok()).unwrap_or(1024)
}

/// `sealant bench SUITE` on a directory. Programs of the cache come before those of the machine; options after `--`
/// are passed on.
pub(crate) fn measure(
    suite: &str,
    directory: &Path,
    options: &[OsString],
    programs: &[PathBuf],
) -> Result<(), Box<dyn Error>> {
    let status = command(suite, directory, options, programs)?.status()?;
    if status.success() { Ok(()) } else { Err(format!("sealant bench {suite}: {status}").into()) }
}

/// The command of [`measure`].
pub(crate) fn command(
    suite: &str,
    directory: &Path,
    options: &[OsString],
    programs: &[PathBuf],
) -> Result<Command, Box<dyn Error>> {
    let peers = harness::cache().join("servers/peers/root/usr/bin");
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(std::iter::once(&peers).chain(programs).cloned().chain(env::split_paths(&path)))?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_sealant"));
    command.args(["bench", suite]).arg(directory).args(options);
    command.arg("--into").arg(harness::cache().join("bench")).env("PATH", path);
    command.args(env::args().skip(1).filter(|argument| argument.starts_with('-') && argument != "--bench"));
    Ok(command)
}

/// Inserts rows like sysbench's: they consist of random digits, so that they compress as well as sysbench's tables.
fn fill(server: &Server, name: &str, encryption: &str, bytes: u64) {
    let table = format!("bench.{name}");
    let path = server.datadir().join("bench").join(format!("{name}.ibd"));
    let row = format!("FLOOR(RAND() * 1000000), {}, {}", digits(10), digits(5));
    let create = format!(
        "CREATE TABLE {table} (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL, c CHAR(120) NOT NULL,
             pad CHAR(60) NOT NULL, KEY k (k)) {encryption};
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
