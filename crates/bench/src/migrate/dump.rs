//! `mysqldump`, piped into `mysql`: one thread on each side, and no file between.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use super::{MigrationTool, Pair, Side, client_program};
use crate::{Error, Program, copy::Pipeline, peer, tls::OLTP_DATABASE};

/// The client programs of a server's installation.
#[derive(Debug)]
pub(crate) struct Dump {
    dump: PathBuf,
    client: PathBuf,
}

const DUMP_PROGRAMS: [&str; 2] = ["mysqldump", "mariadb-dump"];
const CLIENT_PROGRAMS: [&str; 2] = ["mysql", "mariadb"];

impl Dump {
    /// Name for reports.
    pub(crate) const NAME: &str = "mysqldump | mysql";

    /// The programs that belong to a server program, or those in `PATH`.
    ///
    /// # Errors
    /// What is missing.
    pub(crate) fn find(server: &Path) -> Result<Self, &'static str> {
        let dump = client_program(server, DUMP_PROGRAMS).ok_or(DUMP_PROGRAMS[0])?;
        let client = client_program(server, CLIENT_PROGRAMS).ok_or(CLIENT_PROGRAMS[0])?;
        Ok(Self { dump, client })
    }

    /// The program that reads the source, for records.
    pub(crate) fn program(&self) -> Program {
        let words = process::version_text(&self.dump, &["--version"]).unwrap_or_default();
        let version = Some(peer::version(&words).to_owned()).filter(|version| !version.is_empty());
        Program { name: DUMP_PROGRAMS[0].to_owned(), version }
    }
}

impl MigrationTool for Dump {
    fn migrate(&self, pair: &Pair<'_>) -> Result<(), Error> {
        let [mut dump, mut load] = [(&self.dump, Side::Source), (&self.client, Side::Target)].map(|(program, side)| {
            let mut command = Command::new(program);
            // It has to be the first option.
            command.arg(format!("--defaults-file={}", pair.option_file(side).display()));
            command
        });
        // MariaDB's has no such option. Without it, MySQL's wants a target without transactions of its own.
        dump.arg("--loose-set-gtid-purged=OFF");
        dump.args(["--single-transaction", "--databases", OLTP_DATABASE]);
        load.arg("--binary-mode");
        Pipeline::start(vec![dump, load])?.finish()
    }
}
