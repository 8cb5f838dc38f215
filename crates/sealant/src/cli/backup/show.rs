//! `sealant backup show`.

use ::backup::restore::{BackupSelector, open};
use clap::Args;
use report::write_receipt_table;

use super::{Script, Whose};
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::Failure;

/// Show the receipt of a backup
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Show {
    /// Number of the backup, or latest
    #[arg(value_name = "N|latest", default_value = "latest")]
    backup: BackupSelector,
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    script: Script,
}

const EXAMPLES: &str = "\
Examples:
  sealant backup show
  sealant backup show 123 --json";

const EXITS: exit::Codes = &[
    (Exit::Clean, "shown"),
    (Exit::Failed, "there is no such backup, or it cannot be read"),
    (Exit::Usage, "wrong usage"),
];

impl Show {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let (repository, host) = self.whose.open()?;
        let judged = open(&repository, &host, self.backup, None, None)?;
        if !self.script.write(&judged.receipt)? {
            to_stdout(&|out| write_receipt_table(&judged, out).map_err(std::io::Error::from))?;
        }
        Ok(Exit::Clean)
    }
}
