//! `sealant migrate finish` and `abort`: end a migration after its cut-over, or instead of it.

use clap::Args;
use report::{migrate_abort_change, migrate_aborted, migrate_finished};

use super::scope::Scope;
use crate::cli::change::confirm_change;
use crate::exit::{self, Exit};
use crate::output::message::{Failure, say};

/// Remove the state of a migration after its cut-over; the tables stay at both ends
///
/// Only the target is contacted.
#[derive(Debug, Args)]
#[command(after_help = exit::help("", FINISH_EXITS))]
pub(crate) struct Finish {
    #[command(flatten)]
    scope: Scope,
}

/// Give a migration up: the source is writable as before, and the state at the target is removed
#[derive(Debug, Args)]
#[command(after_help = exit::help("", ABORT_EXITS))]
pub(crate) struct Abort {
    #[command(flatten)]
    scope: Scope,
    /// Drop the tables of the migration at the target, too
    #[arg(long)]
    drop_tables: bool,
    /// Do not ask
    #[arg(long)]
    yes: bool,
}

pub(super) const FINISH_EXITS: exit::Codes =
    &[(Exit::Clean, "removed"), (Exit::Failed, "the cut-over was not done, or there is no migration")];
pub(super) const ABORT_EXITS: exit::Codes =
    &[(Exit::Clean, "removed"), (Exit::Failed, "the cut-over was done, or there is no migration")];

impl Finish {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        ::migrate::finish(&self.scope.target()?)?;
        say(&[migrate_finished()]);
        Ok(Exit::Clean)
    }
}

impl Abort {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let [source, target] = self.scope.servers()?;
        if !self.yes {
            confirm_change(migrate_abort_change(self.drop_tables))?;
        }
        ::migrate::abort(&source, &target, self.drop_tables.then(|| self.scope.filter()).as_ref())?;
        say(&[migrate_aborted(self.drop_tables)]);
        Ok(Exit::Clean)
    }
}
