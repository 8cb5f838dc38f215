//! `sealant backup list`.

use ::backup::list::ListReport;
use clap::Args;
use report::write_backup_list_table;

use super::{HostSelection, Script};
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::Failure;

/// List the backups
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct List {
    #[command(flatten)]
    selection: HostSelection,
    #[command(flatten)]
    script: Script,
}

const EXAMPLES: &str = "\
Examples:
  sealant backup list
  sealant backup list --json";

const EXITS: exit::Codes =
    &[(Exit::Clean, "listed"), (Exit::Failed, "the repository or a receipt in it cannot be read")];

impl List {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let (repository, host) = self.selection.open_with_cache()?;
        let spooled = self.selection.spooled(&repository, &host)?;
        let list = ListReport::read(&repository, &host, spooled)?;
        if !self.script.write(&list)? {
            to_stdout(&|out| write_backup_list_table(&list, out).map_err(std::io::Error::from))?;
        }
        Ok(Exit::Clean)
    }
}
