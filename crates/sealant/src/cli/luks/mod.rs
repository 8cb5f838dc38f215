//! `sealant luks`: the encrypted disk under a data directory.

mod audit;
mod boot;
mod format;
mod header;
mod key;
mod keys;
mod open;
mod plan;
mod reencrypt;

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::output::message::Failure;
use crate::process::forbid_dumps;

/// Check, create, open and re-encrypt the encrypted disk below a data directory, and manage its keys and its header
///
/// Reads LUKS1 and LUKS2 headers from their bytes, even damaged ones. Keys are proven by cryptsetup, which receives
/// them by file descriptor only.
#[derive(Debug, Args)]
pub(crate) struct Luks {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Audit(audit::Audit),
    Boot(boot::Boot),
    Close(open::Close),
    Format(Box<format::FormatVolume>),
    Header(header::Header),
    Key(keys::Key),
    Mount(open::Mount),
    Open(Box<open::Open>),
    Plan(Box<plan::Plan>),
    Reencrypt(Box<reencrypt::Reencrypt>),
}

impl Luks {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        match self.task {
            Task::Audit(task) => task.run(),
            Task::Boot(task) => task.run(),
            Task::Close(task) => task.run(),
            Task::Format(task) => task.run(),
            Task::Header(task) => task.run(),
            Task::Key(task) => task.run(),
            Task::Mount(task) => task.run(),
            Task::Open(task) => task.run(),
            Task::Plan(task) => task.run(),
            Task::Reencrypt(task) => task.run(),
        }
    }
}
