//! `sealant migrate plan`: what a migration would do, and what blocks it.

use ::migrate::plan::plan;
use clap::Args;
use report::{write_migrate_json, write_migrate_plan};

use super::exit_code;
use super::scope::Scope;
use crate::exit::{self, Exit};
use crate::output::message::Failure;
use crate::output::render::Render;

/// Judge both servers, and show the method, the tables, the grants and what blocks the migration; change nothing
///
/// Reads the catalogues, settings and privileges of both servers in read-only sessions. Of the rows, only JSON columns
/// are read.
#[derive(Debug, Args)]
#[command(after_help = exit::help("", EXITS))]
pub(crate) struct Plan {
    #[command(flatten)]
    scope: Scope,
    #[command(flatten)]
    render: Render,
}

pub(super) const EXITS: exit::Codes = &[
    (Exit::Clean, "nothing blocks the migration"),
    (Exit::Failed, "a server cannot be reached, or refuses"),
    (Exit::Findings, "a check blocks the migration, or a server could not be verified"),
    (
        Exit::Incomplete,
        "something necessary could not be judged, for example because a grant is missing, which is named",
    ),
];

impl Plan {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let [source, target] = self.scope.servers()?;
        let plan = plan(&source, &target, self.scope.request()?)?;
        self.render.write(&plan, write_migrate_json, write_migrate_plan)?;
        Ok(exit_code(plan.readiness()))
    }
}
