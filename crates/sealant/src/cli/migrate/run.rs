//! `sealant migrate run`: copies the tables, follows the source, and compares every row.

use ::migrate::plan::Plan;
use ::migrate::{Preparation, Until, prepare, run};
use clap::Args;
use report::{MigrateLine, migrate_copied, migrate_ready, write_migrate_plan};

use super::exit_code;
use super::reporting::{Reporter, Reporting};
use super::scope::Scope;
use crate::cli::change::confirm;
use crate::cli::value::{self, Word};
use crate::exit::{self, Exit};
use crate::output::message::Failure;
use crate::process::ended_by_signals;

/// Copy the tables while the source is in use, apply its changes, and compare every row
///
/// Creates the tables at the target, encrypted. The state is in the schema `_sealant` there, so the same command
/// resumes after any interruption, of this program or of a server. Nothing is written on this host or to the source.
#[derive(Debug, Args)]
#[command(after_help = exit::help("", EXITS))]
pub(crate) struct Run {
    #[command(flatten)]
    scope: Scope,
    /// How far to go
    #[arg(long, value_name = "GOAL", default_value = "verified", value_parser = value::word(GOALS))]
    until: Until,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    reporting: Reporting,
}

const GOALS: &[Word<Until>] = &[
    ("copied", Until::Copied, "Every row is copied, and every change since then applied once"),
    ("verified", Until::Verified, "Every row is compared as well"),
    ("forever", Until::Forever, "Changes are applied and compared until SIGINT or SIGTERM ends it"),
];

pub(super) const EXITS: exit::Codes = &[
    (Exit::Clean, "the goal is reached"),
    (Exit::Failed, "not reached; the same command resumes"),
    (Exit::Findings, "a check blocks the migration, or rows differ"),
    (Exit::Incomplete, "something necessary could not be judged"),
];

impl Run {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        self.reporting.run(|reporter| self.work(reporter))
    }

    fn work(&self, reporter: &mut Reporter<'_>) -> Result<Exit, Failure> {
        let [source, target] = self.scope.servers()?;
        let prepared = prepare(source, target, self.scope.request()?, |plan| self.confirm(plan, reporter))?;
        let mut settings = match prepared {
            Preparation::Ready(settings) => settings,
            Preparation::Refused(plan) => return refused(&plan, reporter),
        };
        settings.until = self.until;
        settings.stop = ended_by_signals()?;
        let verified = run(&settings, &mut |event| reporter.event(&event))?;
        let messages = match self.until {
            Until::Copied => migrate_copied(),
            Until::Verified | Until::Forever => migrate_ready(&verified),
        };
        reporter.end(&MigrateLine::Compared(&verified), &messages);
        Ok(Exit::Clean)
    }

    fn confirm(&self, plan: &Plan, reporter: &Reporter<'_>) -> Result<(), Failure> {
        if !self.yes {
            confirm("migrate plan", &|out| show(plan, out))?;
        }
        reporter.line(&MigrateLine::Plan(plan));
        Ok(())
    }
}

/// Shows a plan that does not allow the migration.
fn refused(plan: &Plan, reporter: &Reporter<'_>) -> Result<Exit, Failure> {
    let exit = exit_code(plan.readiness());
    let (error, hint) = ("the plan does not allow it", Some("sealant migrate plan shows what blocks it"));
    reporter.line(&MigrateLine::Failed { error, hint, exit: exit.code() });
    let unseen = |error| Failure::new(format!("the plan cannot be shown: {error}"));
    show(plan, &mut std::io::stderr()).map_err(unseen)?;
    Ok(exit)
}

fn show(plan: &Plan, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    write_migrate_plan(plan, out).map_err(std::io::Error::from)
}
