//! `sealant migrate status`: how far a migration is.

use ::migrate::status;
use clap::Args;
use report::write_migrate_status;

use super::scope::Scope;
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::Failure;

/// Show how far a migration is, even while another process runs it
///
/// Only the target is contacted: the state is there.
#[derive(Debug, Args)]
#[command(after_help = exit::help("", EXITS))]
pub(crate) struct Status {
    #[command(flatten)]
    scope: Scope,
}

pub(super) const EXITS: exit::Codes =
    &[(Exit::Clean, "shown"), (Exit::Failed, "no migration was begun, or the target cannot be reached")];

impl Status {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let found = status(&self.scope.target()?)?;
        to_stdout(&|out| write_migrate_status(&found, out).map_err(std::io::Error::from))?;
        Ok(Exit::Clean)
    }
}
