//! `mydumper` into a directory, and `myloader` from there: several threads, first on one side, then on the other.

use std::process::Command;

use super::{MigrationTool, Pair, Side};
use crate::{Error, program, tls::OLTP_DATABASE};

/// `mydumper` and `myloader`, with their default number of threads, which is 4.
#[derive(Debug)]
pub(crate) struct MyDumper;

/// Programs that must be installed.
pub(crate) const PROGRAMS: &[&str] = &["mydumper", "myloader"];

impl MyDumper {
    /// Name for reports.
    pub(crate) const NAME: &str = "mydumper, myloader";

    /// A program that connects to a server.
    fn command(name: &str, pair: &Pair<'_>, side: Side) -> Command {
        let (address, mut command) = (pair.address(side), Command::new(name));
        command.arg(format!("--defaults-file={}", pair.option_file(side).display()));
        command.args(["--host", &address.ip().to_string(), "--port", &address.port().to_string()]);
        command.args(["--user", super::pair::ACCOUNT, "--ssl", "--ca"]).arg(pair.authority());
        command
    }
}

impl MigrationTool for MyDumper {
    fn migrate(&self, pair: &Pair<'_>) -> Result<(), Error> {
        let between = pair.between()?;
        let mut dump = Self::command(PROGRAMS[0], pair, Side::Source);
        dump.args(["--trx-consistency-only", "--database", OLTP_DATABASE, "--outputdir"]).arg(&between);
        program::succeed(&mut dump)?;
        let mut load = Self::command(PROGRAMS[1], pair, Side::Target);
        // Its default is not to log what it loads.
        load.arg("--enable-binlog").arg("--directory").arg(&between);
        program::succeed(&mut load).map(drop)
    }
}
