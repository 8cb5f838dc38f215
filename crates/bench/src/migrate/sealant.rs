//! `sealant migrate run`.

use std::{path::PathBuf, process::Command};

use super::{ChangeTool, MigrationTool, Pair};
use crate::{Error, Peak, peak_memory, program, tls::OLTP_DATABASE};

/// How far a migration goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// All rows are copied.
    Copied,
    /// All rows are compared as well.
    Verified,
}

/// This program.
#[derive(Debug)]
pub(crate) struct Sealant {
    pub(crate) program: PathBuf,
    pub(crate) goal: Goal,
}

impl Goal {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Copied => "copied",
            Self::Verified => "verified",
        }
    }
}

impl Sealant {
    /// Peak memory of a migration.
    pub(crate) fn peak(&self, pair: &Pair<'_>) -> Result<Peak, Error> {
        peak_memory(&mut self.command(pair))
    }

    fn command(&self, pair: &Pair<'_>) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["migrate", "run", "--yes", "--quiet", "--until", self.goal.as_str(), "--schema", OLTP_DATABASE]);
        command.arg("--defaults-file").arg(pair.options_of_both());
        command
    }
}

impl ChangeTool for Sealant {
    fn apply(&self, pair: &Pair<'_>) -> Result<(), Error> {
        self.migrate(pair)
    }
}

impl MigrationTool for Sealant {
    fn migrate(&self, pair: &Pair<'_>) -> Result<(), Error> {
        program::succeed(&mut self.command(pair)).map(drop)
    }
}
