//! `sealant migrate cutover`: the source takes no more writes, and the target has every one.

use std::time::Duration;

use ::migrate::{MAX_BLOCKED, cut_over};
use clap::{Args, ValueEnum};
use report::{MigrateLine, migrate_cut_over};

use super::reporting::{Reporter, Reporting};
use super::scope::Scope;
use crate::cli::change::confirm_change;
use crate::exit::{self, Exit};
use crate::output::message::Failure;
use crate::process::ended_by_signals;

/// Stop writes at the source, apply and compare the rest, and leave the target ready; `abort` undoes it until then
///
/// Needs SYSTEM_VARIABLES_ADMIN and XA_RECOVER_ADMIN at the source. If it fails before the end, the source takes writes
/// again. The same command goes on after a kill.
#[derive(Debug, Args)]
#[command(after_help = exit::help("", EXITS))]
pub(crate) struct Cutover {
    #[command(flatten)]
    scope: Scope,
    /// How writes to the source are stopped
    #[arg(long, value_enum, value_name = "HOW")]
    fence: Fence,
    /// Give up, and let the source take writes again, after this many seconds without them
    #[arg(long, value_name = "SECONDS", default_value_t = MAX_BLOCKED.as_secs())]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=86_400))]
    max_blocked: u64,
    /// Do not ask
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
    (Exit::Failed, "not done; the source takes writes as before"),
    (Exit::Findings, "rows differ; the source takes writes as before"),
    (Exit::Incomplete, "the account lacks a privilege, which is named; the source takes writes as before"),
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
        settings.max_blocked = Duration::from_secs(self.max_blocked);
        settings.stop = ended_by_signals()?;
        let done = cut_over(&settings, &mut |event| reporter.event(&event))?;
        reporter.end(&MigrateLine::CutOver(&done), &migrate_cut_over(&done));
        Ok(Exit::Clean)
    }
}
