//! `sealant migrate verify`: compares every row again.

use ::migrate::verify;
use clap::Args;
use report::{MigrateLine, migrate_verified};

use super::reporting::Reporting;
use super::scope::Scope;
use crate::exit::{self, Exit};
use crate::output::message::Failure;
use crate::process::ended_by_signals;

/// Compare every row of both servers again while they are in use, and name the rows that differ
#[derive(Debug, Args)]
#[command(after_help = exit::help("", EXITS))]
pub(crate) struct Verify {
    #[command(flatten)]
    scope: Scope,
    #[command(flatten)]
    reporting: Reporting,
}

pub(super) const EXITS: exit::Codes = &[
    (Exit::Clean, "all rows are equal"),
    (Exit::Failed, "not every row was compared"),
    (Exit::Findings, "rows differ"),
];

impl Verify {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        self.reporting.run(|reporter| {
            let mut settings = self.scope.settings()?;
            settings.stop = ended_by_signals()?;
            let verified = verify(&settings, &mut |event| reporter.event(&event))?;
            reporter.end(&MigrateLine::Compared(&verified), &migrate_verified(&verified));
            Ok(Exit::Clean)
        })
    }
}
