//! `sealant luks`: the encrypted disk under a data directory.

mod audit;
mod device;
mod error;
mod header;
mod key;
mod keys;

use clap::{Args, Subcommand};

use crate::cli::verify::forbid_dumps;
use crate::exit::Exit;
use crate::output::message::Failure;

/// Judge the LUKS disk under a data directory; back up its header, rotate its keys
///
/// Reads LUKS1 and LUKS2 headers from the bytes, also damaged ones. Keys are proven by cryptsetup, to which they go by
/// descriptor only.
#[derive(Debug, Args)]
pub(crate) struct Luks {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Audit(audit::Audit),
    Header(header::Header),
    Key(keys::Key),
}

impl Luks {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        match self.task {
            Task::Audit(task) => task.run(),
            Task::Header(task) => task.run(),
            Task::Key(task) => task.run(),
        }
    }
}
