//! `sealant checks`: lists and explains the checks.

use clap::Args;
use report::RenderOptions;

use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::Failure;

/// List the checks of `audit`, or explain one
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLE, EXITS))]
pub(crate) struct Checks {
    /// The check to explain; without it, all are listed
    id: Option<String>,
}

const EXAMPLE: &str = "\
Example:
  sealant checks rest-redo-plaintext";

const EXITS: exit::Codes =
    &[(Exit::Clean, "listed, or explained"), (Exit::Usage, "wrong usage, or there is no such check")];

impl Checks {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let options = RenderOptions { width: 100, ..RenderOptions::default() };
        let text = match &self.id {
            None => report::render_checks_list(&options),
            Some(id) => report::render_check(id, &options)?,
        };
        to_stdout(&|out| out.write_all(text.as_bytes()))?;
        Ok(Exit::Clean)
    }
}
