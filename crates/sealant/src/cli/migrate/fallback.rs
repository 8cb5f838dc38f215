//! `sealant migrate fallback`: returns to the source after a cut-over.

use std::time::Duration;

use ::migrate::fall_back;
use clap::Args;
use report::{MigrateLine, migrate_fell_back};

use super::reporting::{Reporter, Reporting};
use super::scope::Scope;
use crate::cli::change::confirm_change;
use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::message::Failure;
use crate::process::ended_by_signals;

/// Return to the source after a cut-over with --fallback: stop writes at the target, apply and compare the last changes
///
/// `sealant migrate cutover --fallback` may still run; it ends. Every row was compared after its last change before the
/// source is writable again. If it fails before that, the target is writable again. After a kill the same command resumes.
#[derive(Debug, Args)]
#[command(after_help = exit::help("", EXITS))]
pub(crate) struct Fallback {
    #[command(flatten)]
    scope: Scope,
    /// Longest time that writes are stopped; then give up, and make the target writable again
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = value::seconds(1, 86_400))]
    max_blocked: Duration,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    reporting: Reporting,
}

pub(super) const EXITS: exit::Codes = &[
    (Exit::Clean, "the source has every row, was compared, and is writable"),
    (Exit::Failed, "not done; the target is writable as before, unless the source is named as still read-only"),
    (Exit::Findings, "rows differ, or the way back is closed; the target is writable as before"),
    (Exit::Incomplete, "an account lacks a privilege, which is named; the target is writable as before"),
];

impl Fallback {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        self.reporting.run(|reporter| self.work(reporter))
    }

    fn work(&self, reporter: &mut Reporter<'_>) -> Result<Exit, Failure> {
        let mut settings = self.scope.settings()?;
        if !self.yes {
            confirm_change("The target will be read-only (super_read_only), and the source writable.")?;
        }
        settings.max_blocked = self.max_blocked;
        settings.stop = ended_by_signals()?;
        let done = fall_back(&settings, &mut |event| reporter.event(&event))?;
        reporter.end(&MigrateLine::CutOver(&done), &migrate_fell_back(&done));
        Ok(Exit::Clean)
    }
}
