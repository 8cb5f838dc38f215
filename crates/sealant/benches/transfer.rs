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
#[path = "dataset/mysql.rs"]
mod mysql;

use std::error::Error;

use crate::dataset::{DataSet, measure, mib};

fn main() -> Result<(), Box<dyn Error>> {
    let Some(data) = DataSet::of(mysql::recipe(), "transfer", mib()) else { return Ok(()) };
    measure("transfer", &data.datadir(), &["--keyring".into(), data.keys().into()], &[])
}
