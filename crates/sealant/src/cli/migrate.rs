//! `sealant migrate`: moves the tables of a server into another one over SQL.

mod ends;
mod plan;

use clap::{Args, Subcommand};

use crate::exit::{self, Exit};
use crate::output::message::Failure;

/// Move the tables of a server into another one over SQL, while they are used, never less encrypted
///
/// Both links are verified TLS, or sockets. This version plans: it judges both servers, names what stands in the way and
/// the statement that removes it, and changes nothing.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, plan::EXITS))]
pub(crate) struct Migrate {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Plan(Box<plan::Plan>),
}

const EXAMPLES: &str = "\
Example:
  sealant migrate plan --source mysql://mig@db1 --source-tls-ca ca1.pem --target mysql://mig@db2 --target-tls-ca ca2.pem";

impl Migrate {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        match self.command {
            Command::Plan(verb) => verb.run(),
        }
    }
}
