//! Measures what backups cost, and says which bars are met and which are missed:
//!
//! - `sealant bench backup` on the directories of a MySQL and of a MariaDB server, once with four large encrypted tables,
//!   once with four clear ones, before and after one page in a hundred was changed, against every peer of the test
//!   harness. `mariadb-backup` copies from an idle server that runs on a copy.
//! - Growth: the same for a directory of four times the size, this program alone. Seconds for each byte have to stay.
//! - The bench `follow`: what a backup of a server at work costs its clients.
//!
//! `cargo bench --package sealant --bench backup [-- --OPTION=VALUE…]` hands options on to `sealant bench backup`, for
//! example `--rounds=6`; `docs/benchmarks.md` has results and machine. The directories are made once and kept in the
//! cache of the test harness, where repositories go too. A store of objects is measured by the benches of the store.
//!
//! | variable | meaning |
//! |---|---|
//! | `SEALANT_BENCH_MIB` | size of all four tables [1024] |
//! | `SEALANT_BENCH_SERVER` | `mysql` or `mariadb`: only that server [both] |
//! | `SEALANT_BENCH_TABLES` | `encrypted` or `clear`: only these [both] |
//! | `SEALANT_BENCH_PARTS` | `peers`, `growth` or `follow`: only that part [all] |

#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod dataset;
mod follow;
#[path = "dataset/mariadb.rs"]
mod mariadb;
#[path = "dataset/mysql.rs"]
mod mysql;

use std::error::Error;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use bench::{Interval, Record};
use harness::ServerBuilder;

use crate::dataset::{DataSet, Recipe, TABLES, command, measure, mib};

/// A page has some 70 rows, and each changed row changes a page of the secondary index, too.
const CHANGED_EVERY: u64 = 14_000;
/// How much larger the second directory is.
const GROWTH: u64 = 4;
/// How many times as long a byte of it may take.
const MOST_GROWTH: f64 = 1.15;

fn main() -> Result<(), Box<dyn Error>> {
    for tables in Tables::ALL.into_iter().filter(|tables| is_wanted("SEALANT_BENCH_TABLES", tables.name())) {
        if is_wanted("SEALANT_BENCH_PARTS", "peers") {
            compare(tables)?;
        }
        if is_wanted("SEALANT_BENCH_PARTS", "growth") {
            grow(tables)?;
        }
    }
    if is_wanted("SEALANT_BENCH_PARTS", "follow") {
        follow::main().map_err(|failed| failed.to_string())?;
    }
    Ok(())
}

/// Whether a variable names this, or nothing.
fn is_wanted(variable: &str, name: &str) -> bool {
    std::env::var(variable).map_or(true, |only| only == name)
}

/// How the large tables are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tables {
    Encrypted,
    Clear,
}

impl Tables {
    const ALL: [Self; 2] = [Self::Encrypted, Self::Clear];

    const fn name(self) -> &'static str {
        match self {
            Self::Encrypted => "encrypted",
            Self::Clear => "clear",
        }
    }

    /// The data with tables of this kind only; `None` if the server is not installed.
    fn data(self, recipe: Recipe, mib: u64) -> Option<DataSet> {
        let [encrypted, clear] = recipe.encryption;
        let all = if self == Self::Encrypted { encrypted } else { clear };
        DataSet::of(Recipe { encryption: [all; 2], ..recipe }, self.name(), mib)
    }

    /// The option that names the keys, if there is anything to decrypt.
    fn keys(self, option: &str, data: &DataSet) -> Vec<OsString> {
        match self {
            Self::Encrypted => vec![option.into(), data.keys().into()],
            Self::Clear => Vec::new(),
        }
    }
}

fn compare(tables: Tables) -> Result<(), Box<dyn Error>> {
    if is_wanted("SEALANT_BENCH_SERVER", "mysql")
        && let Some(data) = tables.data(mysql::recipe(), mib())
    {
        println!("MySQL, {} tables", tables.name());
        let changed = changed(&data, mysql::recipe().builder.file("keyring", std::fs::read(data.keys())?));
        let mut options = tables.keys("--keyring", &data);
        options.extend(["--before".into(), data.datadir().into()]);
        measure("backup", &changed, &options, &[])?;
    }
    if is_wanted("SEALANT_BENCH_SERVER", "mariadb")
        && let Some(data) = tables.data(mariadb::recipe(), mib())
    {
        println!("MariaDB, {} tables", tables.name());
        let changed = changed(&data, mariadb::recipe().builder);
        let server = mariadb::server().datadir_seed(&changed).start()?;
        let mut options = tables.keys("--mariadb-key-file", &data);
        options.extend(["--before".into(), data.datadir().into(), "--server-user=root".into()]);
        options.extend(["--server-socket".into(), server.socket().into()]);
        measure("backup", &changed, &options, &[server.binaries().basedir.join("bin")])?;
    }
    Ok(())
}

/// The directory after a server, which `builder` starts on a copy, has changed one page in a hundred.
fn changed(data: &DataSet, builder: ServerBuilder) -> PathBuf {
    let changed = data.datadir().with_file_name("changed");
    if !changed.exists() {
        let mut server = builder.datadir_seed(data.datadir()).start().expect("a server");
        for (name, _) in TABLES {
            let update = format!("UPDATE bench.{name} SET k = k + 1 WHERE id % {CHANGED_EVERY} = 1");
            server.sql(&update).expect("changed");
        }
        server.stop().expect("stopped");
        let copied = Command::new("cp").arg("-a").arg(server.datadir()).arg(&changed).status();
        assert!(copied.expect("cp").success());
    }
    changed
}

/// Compares the time for each byte of a directory with that of a larger one.
fn grow(tables: Tables) -> Result<(), Box<dyn Error>> {
    if !is_wanted("SEALANT_BENCH_SERVER", "mysql") {
        return Ok(());
    }
    let mut found = Vec::new();
    for mib in [mib(), mib() * GROWTH] {
        let Some(data) = tables.data(mysql::recipe(), mib) else { return Ok(()) };
        found.push(alone(&data, &tables.keys("--keyring", &data))?);
    }
    let [small, large] = found.as_slice() else { return Ok(()) };
    for experiment in ["full backup", "restore"] {
        let [small, large] = [per_byte(small, experiment)?, per_byte(large, experiment)?];
        // The rounds of the two are not interleaved, so the interval is the widest that the two allow.
        let estimate = large.estimate / small.estimate;
        let (low, high) = (large.low / small.high, large.high / small.low);
        let verdict = if estimate <= MOST_GROWTH { "met" } else { "missed" };
        let doubt =
            if (low > MOST_GROWTH) == (high > MOST_GROWTH) { "" } else { ", but its interval includes the bar" };
        println!(
            "bar {verdict}{doubt}: {experiment}, time for each byte of {GROWTH} times as much ({} tables) \
             {estimate:.3} ({low:.3} to {high:.3}), at most {MOST_GROWTH}",
            tables.name()
        );
    }
    Ok(())
}

/// The figures of this program alone.
fn alone(data: &DataSet, options: &[OsString]) -> Result<Record, Box<dyn Error>> {
    let mut options = options.to_vec();
    options.extend(["--no-peers".into(), "--format=json".into()]);
    let output = command("backup", &data.datadir(), &options, &[])?.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("sealant bench backup: {}", output.status).into());
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// Seconds for each byte in an experiment.
#[allow(clippy::cast_precision_loss, reason = "a ratio")]
fn per_byte(record: &Record, experiment: &str) -> Result<Interval, Box<dyn Error>> {
    let experiment = record.experiments.iter().find(|found| found.name == experiment).ok_or("no such experiment")?;
    let Interval { estimate, low, high } =
        experiment.arms.iter().find(|arm| arm.name == "sealant").ok_or("no such arm")?.seconds;
    let bytes = record.subject.bytes as f64;
    Ok(Interval { estimate: estimate / bytes, low: low / bytes, high: high / bytes })
}
