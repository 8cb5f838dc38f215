//! `sealant cost compare`: two reports side by side.

use std::path::PathBuf;

use ::bench::cost::CostRecord;
use clap::Args;
use report::{write_cost_comparison_json, write_cost_comparison_table};

use crate::exit::{self, Exit};
use crate::output::message::Failure;
use crate::output::render::Render;

/// Compare two reports: of two machines, versions or dates
///
/// Values are only reported as different if the 95 % intervals of both have no value in common.
#[derive(Debug, Args)]
#[command(after_help = exit::help("", EXITS))]
pub(super) struct Compare {
    /// The first report, as `sealant cost --format json` wrote it
    #[arg(value_name = "A")]
    before: PathBuf,
    /// The second report
    #[arg(value_name = "B")]
    after: PathBuf,
    #[command(flatten)]
    render: Render,
}

const EXITS: exit::Codes =
    &[(Exit::Clean, "compared"), (Exit::Failed, "a file could not be read, or is not a report of costs")];

impl Compare {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        let (before, after) = (CostRecord::read(&self.before)?, CostRecord::read(&self.after)?);
        let compared = before.compare(&after);
        self.render.write_figures(&compared, write_cost_comparison_json, write_cost_comparison_table)?;
        Ok(Exit::Clean)
    }
}
