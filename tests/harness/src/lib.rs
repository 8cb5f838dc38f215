//! Real database servers for tests. A value starts, controls and removes a server.
//!
//! A [`Server`] owns a private directory with data, socket, keys and logs, and ports on 127.0.0.1, so that any number
//! can run at once, in any number of test processes. It ends when the value is dropped, and also when the test process
//! is killed.
//!
//! `bin/install-servers` installs the servers; README.md lists them.
//!
//! ```no_run
//! use harness::{Kind, Server};
//! # fn main() -> Result<(), harness::Error> {
//! if harness::require(Kind::MySql97).is_some() {
//!     let server = Server::builder(Kind::MySql97).start()?;
//!     assert_eq!(server.value("SELECT 1 + 1")?, "2");
//! }
//! # Ok(())
//! # }
//! ```

pub mod certs;
pub mod clouds;
pub mod faulty;
pub mod galera;
pub mod group;
pub mod kmip;
pub mod kms;
pub mod s3;
pub mod vault;
pub mod vm;

mod builder;
mod command;
mod error;
mod kind;
mod options;
mod process;
mod replication;
mod search;
mod server;
mod template;
mod wait;

pub use builder::{KeyringLocation, ServerBuilder};
pub use certs::TlsFiles;
pub use command::{run, script};
pub use error::Error;
pub use kind::{Binaries, Kind, Missing, cache};
pub use ports::free_port;
pub use replication::Replication;
pub use search::{contains, find};
pub use server::Server;
pub use wait::{Look, limit, wait_until, within, writer_pause};

/// Finds a server, or prints on stderr that the test is skipped.
///
/// # Panics
/// If `CI` is set and every run must cover this kind (MySQL 9.7 and MariaDB 10.11): a skipped test must not count as
/// passed there.
#[must_use]
pub fn require(kind: Kind) -> Option<Binaries> {
    let missing = match kind.locate() {
        Ok(binaries) => return Some(binaries),
        Err(missing) => missing,
    };
    if kind.always_tested() {
        skip(&missing.to_string());
    } else {
        print_skipped(&missing.to_string());
    }
    None
}

/// Prints on stderr what is not tested, and why.
///
/// # Panics
/// If `CI` is set: a skipped test must not count as passed there.
#[track_caller]
pub fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    print_skipped(why);
}

/// Prints on stderr what is not tested, and why. Also allowed where `CI` is set: for tests that need something that not
/// every machine has.
#[expect(clippy::print_stderr, reason = "whoever runs the tests must see the gap")]
pub fn print_skipped(why: &str) {
    eprintln!("SKIPPED: {why}");
}
