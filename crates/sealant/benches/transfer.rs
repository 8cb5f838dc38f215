//! Measures how fast a data directory is copied: `sealant bench transfer` on that of a MySQL server, with three of its
//! four large tables encrypted, against every peer of the test harness except `mariabackup`.
//!
//! `cargo bench --package sealant --bench transfer [-- --OPTION=VALUE…]` passes options on, for example `--rate=1Gbit`,
//! `--peers-without-aes` or `--html=transfer.html`; `docs/benchmarks.md` has results and machine. The directory is
//! created once and kept in the cache of the test harness, where the copies go too.
//!
//! | variable | meaning |
//! |---|---|
//! | `SEALANT_BENCH_MIB` | total size of the four tables [1024] |

mod dataset;

use std::error::Error;

use harness::{KeyringLocation, Kind, Server};

use crate::dataset::{DataSet, Recipe, measure};

fn main() -> Result<(), Box<dyn Error>> {
    let kind = Kind::MySql97;
    let builder = Server::builder(kind).keyring(KeyringLocation::Beside).options(OPTIONS);
    let recipe = Recipe { kind, builder, encryption: ["ENCRYPTION='Y'", "ENCRYPTION='N'"], keys: "keyring" };
    let Some(data) = DataSet::made(recipe) else { return Ok(()) };
    measure("transfer", &data.datadir(), &["--keyring".into(), data.keys().into()], &[])
}

/// For quick inserts: nothing has to survive a crash.
const OPTIONS: [&str; 5] = [
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--innodb-buffer-pool-size=512M",
    "--innodb-redo-log-capacity=64M",
    "--skip-log-bin",
];
