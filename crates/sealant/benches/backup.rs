//! Measures what backups cost: `sealant bench backup` on the directories of a MySQL and of a MariaDB server, with three
//! of their four large tables encrypted, before and after one page in a hundred was changed, against every peer of the
//! test harness. `mariadb-backup` copies from an idle server that runs on a copy.
//!
//! `cargo bench --package sealant --bench backup [-- --OPTION=VALUE…]` hands options on, for example `--rounds=5`;
//! `docs/benchmarks.md` has results and machine. The directories are made once and kept in the cache of the test
//! harness, where repositories go too.
//!
//! | variable | meaning |
//! |---|---|
//! | `SEALANT_BENCH_MIB` | size of all four tables [1024] |
//! | `SEALANT_BENCH_SERVER` | `mysql` or `mariadb`: only that server [both] |

mod dataset;
#[path = "dataset/mariadb.rs"]
mod mariadb;
#[path = "dataset/mysql.rs"]
mod mysql;

use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

use harness::ServerBuilder;

use crate::dataset::{DataSet, TABLES, measure};

/// A page has some 70 rows, and each changed row changes a page of the secondary index, too.
const CHANGED_EVERY: u64 = 14_000;

fn main() -> Result<(), Box<dyn Error>> {
    let only = std::env::var("SEALANT_BENCH_SERVER").ok();
    if only.as_deref() != Some("mariadb") {
        of_mysql()?;
    }
    if only.as_deref() != Some("mysql") {
        of_mariadb()?;
    }
    Ok(())
}

fn of_mysql() -> Result<(), Box<dyn Error>> {
    let Some(data) = DataSet::made(mysql::recipe()) else { return Ok(()) };
    let changed = changed(&data, mysql::recipe().builder.file("keyring", std::fs::read(data.keys())?));
    let options = ["--keyring".into(), data.keys().into(), "--before".into(), data.datadir().into()];
    measure("backup", &changed, &options, &[])
}

fn of_mariadb() -> Result<(), Box<dyn Error>> {
    let Some(data) = DataSet::made(mariadb::recipe()) else { return Ok(()) };
    let changed = changed(&data, mariadb::recipe().builder);
    let server = mariadb::server().datadir_seed(&changed).start()?;
    let mut options = vec!["--mariadb-key-file".into(), data.keys().into(), "--before".into(), data.datadir().into()];
    options.extend(["--server-user=root".into(), "--server-socket".into(), server.socket().into()]);
    measure("backup", &changed, &options, &[server.binaries().basedir.join("bin")])
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
