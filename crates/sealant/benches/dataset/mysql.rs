//! A MySQL server that makes a data set.

use harness::{KeyringLocation, Kind, Server};

use crate::dataset::Recipe;

/// For quick inserts: nothing has to survive a crash.
const OPTIONS: [&str; 5] = [
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--innodb-buffer-pool-size=512M",
    "--innodb-redo-log-capacity=64M",
    "--skip-log-bin",
];

pub(crate) fn recipe() -> Recipe {
    let kind = Kind::MySql97;
    let builder = Server::builder(kind).keyring(KeyringLocation::Beside).options(OPTIONS);
    Recipe { kind, builder, encryption: ["ENCRYPTION='Y'", "ENCRYPTION='N'"], keys: "keyring" }
}
