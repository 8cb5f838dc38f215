//! `sealant backup list`.

use std::path::PathBuf;

use ::backup::list::ListReport;
use clap::Args;
use report::write_backup_list_table;

use super::{HostSelection, Script};
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::Failure;

/// List the backups
///
/// With --json, also until when each is locked, and, from the files of records, when it was last proven that a copy of
/// the keyring opens it, and that a server recovers what is restored.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct List {
    #[command(flatten)]
    selection: HostSelection,
    /// File in which `sealant restore --record` has recorded restores
    #[arg(long, value_name = "FILE")]
    restores: Option<PathBuf>,
    /// File in which `sealant backup keyring check --record` has recorded tests of copies of the keyring
    #[arg(long, value_name = "FILE")]
    key_checks: Option<PathBuf>,
    #[command(flatten)]
    script: Script,
}

const EXAMPLES: &str = "\
Examples:
  sealant backup list
  sealant backup list --json --restores restores.jsonl --key-checks keys.jsonl";

const EXITS: exit::Codes =
    &[(Exit::Clean, "listed"), (Exit::Failed, "the repository, a receipt in it or a file of records cannot be read")];

impl List {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let (repository, host) = self.selection.open_with_cache()?;
        let spooled = self.selection.spooled(&repository, &host)?;
        let mut list = ListReport::read(&repository, &host, spooled)?;
        list.add_records(self.restores.as_deref(), self.key_checks.as_deref())?;
        if !self.script.write(&list)? {
            to_stdout(&|out| write_backup_list_table(&list, out).map_err(std::io::Error::from))?;
        }
        Ok(Exit::Clean)
    }
}
