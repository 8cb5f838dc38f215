//! `sealant bench transfer` against `mariabackup` through `socat` with TLS: on the directory of a stopped MariaDB
//! server, with three of its four large tables encrypted, while an idle server runs on a copy of it.
//!
//! `cargo bench --package sealant --bench mariabackup [-- --OPTION=VALUE…]` passes options on, as the bench `transfer`
//! does. The server's copy is in the directory for temporary files, which should be on the same disk as the cache of
//! the test harness.
//!
//! | variable | meaning |
//! |---|---|
//! | `SEALANT_BENCH_MIB` | total size of the four tables [1024] |

mod dataset;
#[path = "dataset/mariadb.rs"]
mod mariadb;

use std::error::Error;

use crate::dataset::{DataSet, measure, mib};

fn main() -> Result<(), Box<dyn Error>> {
    let Some(data) = DataSet::of(mariadb::recipe(), "transfer", mib()) else { return Ok(()) };
    let server = mariadb::server().datadir_seed(data.datadir()).start()?;
    let mut options = vec!["--mariadb-key-file".into(), data.keys().into()];
    options.extend(["--server-user=root".into(), "--server-socket".into(), server.socket().into()]);
    options.push("--peers=tar-socat-tls,mariabackup-socat-tls".into());
    measure("transfer", &data.datadir(), &options, &[server.binaries().basedir.join("bin")])
}
