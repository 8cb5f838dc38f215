//! `sealant luks`: the encrypted disk under a data directory.

mod audit;
mod device;

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::output::message::Failure;

/// Judge the LUKS disk under a data directory
///
/// Reads LUKS1 and LUKS2 headers from the bytes, also damaged ones, without a key and without cryptsetup.
#[derive(Debug, Args)]
pub(crate) struct Luks {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Audit(audit::Audit),
}

impl Luks {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        match self.task {
            Task::Audit(task) => task.run(),
        }
    }
}
