//! `sealant migrate pause` and `resume`: keep a migration from working, and let it work again.

use clap::Args;
use report::{migrate_paused, migrate_resumed};

use super::scope::Scope;
use crate::exit::{self, Exit};
use crate::output::message::{Failure, say};

/// End the process that works on a migration, and let none begin until `sealant migrate resume`
///
/// Only the target is contacted. Returns when no process works on it any more. Everything that is copied stays; the
/// source has to keep its binary log until the migration goes on.
#[derive(Debug, Args)]
#[command(after_help = exit::help("", PAUSE_EXITS))]
pub(crate) struct Pause {
    #[command(flatten)]
    scope: Scope,
}

/// Let a paused migration go on; `sealant migrate run` continues it
#[derive(Debug, Args)]
#[command(after_help = exit::help("", RESUME_EXITS))]
pub(crate) struct Resume {
    #[command(flatten)]
    scope: Scope,
}

pub(super) const PAUSE_EXITS: exit::Codes = &[
    (Exit::Clean, "paused"),
    (Exit::Failed, "the cut-over was done, there is no migration, or its process did not end"),
];
pub(super) const RESUME_EXITS: exit::Codes =
    &[(Exit::Clean, "it may go on"), (Exit::Failed, "it was not paused, or there is no migration")];

impl Pause {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        ::migrate::pause(&self.scope.target()?)?;
        say(&migrate_paused());
        Ok(Exit::Clean)
    }
}

impl Resume {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        ::migrate::resume(&self.scope.target()?)?;
        say(&migrate_resumed());
        Ok(Exit::Clean)
    }
}
