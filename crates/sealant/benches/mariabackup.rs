//! `sealant bench transfer` against `mariabackup` through `socat` with TLS: on the directory of a stopped MariaDB
//! server, three of its four large tables encrypted, while a server that does nothing else runs on a copy of it.
//!
//! `cargo bench --package sealant --bench mariabackup [-- --OPTION=VALUE…]` passes options on, as the bench `transfer`
//! does. The server's copy is in the directory for temporary files, which should be on the same disk as the cache of
//! the test harness.
//!
//! | variable | meaning |
//! |---|---|
//! | `SEALANT_BENCH_MIB` | total size of the four tables [1024] |

mod dataset;

use std::error::Error;

use harness::{Kind, Server, ServerBuilder};

use crate::dataset::{DataSet, Recipe, measure};

const KIND: Kind = Kind::MariaDb1011;

fn main() -> Result<(), Box<dyn Error>> {
    let builder = server().options(OPTIONS);
    let recipe = Recipe { kind: KIND, builder, encryption: ["ENCRYPTED=YES", "ENCRYPTED=NO"], keys: "keys.txt" };
    let Some(data) = DataSet::made(recipe) else { return Ok(()) };
    let server = server().datadir_seed(data.datadir()).start()?;
    let mut options = vec!["--mariadb-key-file".into(), data.keys().into()];
    options.extend(["--server-user=root".into(), "--server-socket".into(), server.socket().into()]);
    options.push("--peers=tar-socat-tls,mariabackup-socat-tls".into());
    measure("transfer", &data.datadir(), &options, &[server.binaries().basedir.join("bin")])
}

fn server() -> ServerBuilder {
    Server::builder(KIND).mariadb_keys("1;a7addd9adea9978fda19f21e6be987880e68ac92632ca052e5bb42b1a506939a\n")
}

/// For quick inserts: nothing has to survive a crash.
const OPTIONS: [&str; 4] = [
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--innodb-buffer-pool-size=512M",
    "--innodb-log-file-size=64M",
];
