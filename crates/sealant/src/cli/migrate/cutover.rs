//! `sealant migrate cutover`: makes the source read-only, and the target complete.

use std::time::Duration;

use ::migrate::{cut_over, follow_back};
use clap::{Args, ValueEnum};
use report::{MigrateLine, migrate_cut_over, migrate_way_back, migrate_way_back_ended};

use super::reporting::{Reporter, Reporting};
use super::scope::Scope;
use crate::cli::change::confirm_change;
use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::message::Failure;
use crate::process::ended_by_signals;

/// Stop writes at the source, apply and compare the last changes, and leave the target ready
///
/// Needs SYSTEM_VARIABLES_ADMIN and XA_RECOVER_ADMIN at the source. If it fails before the end, the source is writable
/// again. After a kill the same command resumes, or `sealant migrate abort` undoes it. With --fallback, the source stays
/// ready: both accounts need privileges for the way back, which are named if they are missing.
#[derive(Debug, Args)]
#[command(after_help = exit::help("", EXITS))]
pub(crate) struct Cutover {
    #[command(flatten)]
    scope: Scope,
    /// How to stop writes to the source
    #[arg(long, value_enum, value_name = "HOW")]
    fence: Fence,
    /// Longest time that writes are stopped; then give up, and make the source writable again
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = value::seconds(1, 86_400))]
    max_blocked: Duration,
    /// After the cut-over, apply the target's changes to the source for this long, so that `sealant migrate fallback`
    /// can return to it; the command runs until then
    #[arg(long, value_name = "TIME", value_parser = value::seconds(1, 2_592_000))]
    fallback: Option<Duration>,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    reporting: Reporting,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Fence {
    /// SET GLOBAL super_read_only = ON
    ReadOnly,
}

pub(super) const EXITS: exit::Codes = &[
    (Exit::Clean, "the target has every row, and was compared"),
    (
        Exit::Failed,
        "not done; the source is writable as before. With --fallback after the switch: the target is in use",
    ),
    (
        Exit::Findings,
        "rows differ; the source is writable as before. With --fallback after the switch: the way back is closed",
    ),
    (Exit::Incomplete, "the account lacks a privilege, which is named; the source is writable as before"),
];

impl Cutover {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let Fence::ReadOnly = self.fence;
        self.reporting.run(|reporter| self.work(reporter))
    }

    fn work(&self, reporter: &mut Reporter<'_>) -> Result<Exit, Failure> {
        let mut settings = self.scope.settings()?;
        if !self.yes {
            confirm_change("The source will be read-only (super_read_only).")?;
        }
        settings.max_blocked = self.max_blocked;
        settings.fallback = self.fallback;
        settings.stop = ended_by_signals()?;
        let done = cut_over(&settings, &mut |event| reporter.event(&event))?;
        if self.fallback.is_none() {
            reporter.end(&MigrateLine::CutOver(&done), &migrate_cut_over(&done));
            return Ok(Exit::Clean);
        }
        if done.blocked.is_some() {
            reporter.say(&migrate_way_back());
        }
        let end = follow_back(&settings, &mut |event| reporter.event(&event))?;
        reporter.end(&MigrateLine::CutOver(&done), &migrate_way_back_ended(end));
        Ok(Exit::Clean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_of_max_blocked_is_that_of_the_library() {
        let command = Cutover::augment_args(clap::Command::new("cutover"));
        let default = command.get_arguments().find(|argument| argument.get_id() == "max_blocked");
        let default = default.unwrap().get_default_values()[0].to_str().unwrap();
        assert_eq!(value::time(default), Ok(::migrate::MAX_BLOCKED));
    }
}
