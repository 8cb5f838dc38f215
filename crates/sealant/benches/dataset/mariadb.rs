//! A MariaDB server that makes a data set.

use harness::{Kind, Server, ServerBuilder};

use crate::dataset::Recipe;

const KIND: Kind = Kind::MariaDb1011;
/// For quick inserts: nothing has to survive a crash.
const OPTIONS: [&str; 4] = [
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--innodb-buffer-pool-size=512M",
    "--innodb-log-file-size=64M",
];

pub(crate) fn recipe() -> Recipe {
    let builder = server().options(OPTIONS);
    Recipe { kind: KIND, builder, encryption: ["ENCRYPTED=YES", "ENCRYPTED=NO"], keys: "keys.txt" }
}

/// A server that opens the data set.
pub(crate) fn server() -> ServerBuilder {
    Server::builder(KIND).mariadb_keys("1;a7addd9adea9978fda19f21e6be987880e68ac92632ca052e5bb42b1a506939a\n")
}
