//! `sealant encrypt status`, `pause`, `resume` and `cancel`: control runs of other processes.

use std::path::PathBuf;

use ::change::{Request, Runs};
use clap::Args;
use report::{forgotten_messages, request_text, write_runs_json, write_runs_table};

use crate::cli::change::state_dir;
use crate::exit::Exit;
use crate::output::file::to_stdout;
use crate::output::message::{Failure, say};
use crate::output::render::Render;

/// Show what each run is doing, its progress and remaining time, or how the last one ended
#[derive(Debug, Args)]
pub(super) struct Status {
    #[command(flatten)]
    selection: RunSelection,
    /// Remove the state of runs that have ended: of SERVER, or of all
    #[arg(long)]
    forget: bool,
    #[command(flatten)]
    render: Render,
}

/// The runs that are meant.
#[derive(Debug, Args)]
pub(super) struct RunSelection {
    /// Server of the run, as `sealant encrypt status` shows it; required if there are several
    #[arg(value_name = "SERVER")]
    server: Option<String>,
    /// Directory of the run's state [default: as for `sealant encrypt run`]
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

impl RunSelection {
    fn runs(&self) -> Result<Runs, Failure> {
        Ok(Runs::below(&state_dir(self.state_dir.clone())?))
    }

    /// Makes a request to the runs, or withdraws it.
    pub(super) fn ask(&self, request: Request, wanted: bool) -> Result<Exit, Failure> {
        let run = self.runs()?.alive(self.server.as_deref())?;
        Runs::request(&run, request, wanted)?;
        to_stdout(&|out| writeln!(out, "{}", request_text(&run, request, wanted)))?;
        Ok(Exit::Clean)
    }
}

impl Status {
    pub(super) fn show(&self) -> Result<Exit, Failure> {
        if self.forget {
            say(&forgotten_messages(&self.selection.runs()?.forget(self.selection.server.as_deref())?));
            return Ok(Exit::Clean);
        }
        let known = self.selection.runs()?.of_server(self.selection.server.as_deref())?;
        self.render.write(known.as_slice(), write_runs_json, write_runs_table)?;
        Ok(Exit::Clean)
    }
}
