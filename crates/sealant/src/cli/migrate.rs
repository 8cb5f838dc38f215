//! `sealant migrate`: moves the tables of a server into another one over SQL.

mod cutover;
mod fallback;
mod finish;
mod pause;
mod plan;
mod report;
mod reporting;
mod run;
mod scope;
mod servers;
mod status;
mod verify;

use ::migrate::plan::Readiness;
use clap::{Args, Subcommand};

use crate::exit::{self, Exit};
use crate::output::message::Failure;
use crate::process::forbid_dumps;

/// Move the tables of a server into another one over SQL while they are in use, never less encrypted
///
/// Both connections are sockets, or TLS with verified certificates. `plan` judges both servers and changes nothing.
/// `run` copies the tables, applies their changes and compares every row. `cutover` stops writes at the source for
/// seconds, and `fallback` returns to the source. After an interruption, the same command resumes.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, plan::EXITS))]
pub(crate) struct Migrate {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Plan(Box<plan::Plan>),
    Run(Box<run::Run>),
    Status(Box<status::Status>),
    Pause(Box<pause::Pause>),
    Resume(Box<pause::Resume>),
    Verify(Box<verify::Verify>),
    Cutover(Box<cutover::Cutover>),
    Fallback(Box<fallback::Fallback>),
    Report(Box<report::Report>),
    Finish(Box<finish::Finish>),
    Abort(Box<finish::Abort>),
}

const EXAMPLES: &str = "\
Example:
  sealant migrate plan --source mysql://mig@db1 --source-tls-ca ca1.pem --target mysql://mig@db2 --target-tls-ca ca2.pem";

impl Migrate {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        match self.command {
            Command::Plan(verb) => verb.run(),
            Command::Run(verb) => verb.run(),
            Command::Status(verb) => verb.run(),
            Command::Pause(verb) => verb.run(),
            Command::Resume(verb) => verb.run(),
            Command::Verify(verb) => verb.run(),
            Command::Cutover(verb) => verb.run(),
            Command::Fallback(verb) => verb.run(),
            Command::Report(verb) => verb.run(),
            Command::Finish(verb) => verb.run(),
            Command::Abort(verb) => verb.run(),
        }
    }
}

/// The exit code that a plan means.
const fn exit_code(readiness: Readiness) -> Exit {
    match readiness {
        Readiness::Ready => Exit::Clean,
        Readiness::Blocked => Exit::Findings,
        Readiness::Unknown => Exit::Incomplete,
    }
}
