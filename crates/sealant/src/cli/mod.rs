//! The command line: one file per verb.

mod audit;
mod backup;
mod bench;
mod bucket;
mod cert;
mod change;
mod checks;
mod client_options;
mod connect;
mod cost;
mod encrypt;
mod generate;
mod key_stores;
mod keyring;
mod keys;
mod luks;
mod manifest;
mod migrate;
mod monitor;
#[cfg(test)]
mod printed;
mod provision;
mod receive;
mod restore;
mod rotate;
mod send;
mod snapshot;
mod sniff;
pub(crate) mod sst;
mod transfer;
mod tunnel;
mod value;
mod verify;

use std::ffi::OsString;

use clap::{Command, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::exit::{self, Exit};
use crate::output::message::Failure;

/// Encrypt a MySQL server everywhere its data rests or moves, prove it from the bytes, and know what it costs.
#[derive(Debug, Parser)]
#[command(name = "sealant", version, max_term_width = 100, after_help = exit::help(EXITS, exit::ALL))]
pub(crate) struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

const EXITS: &str = "What the exit codes mean for a verb is at the end of its help: sealant VERB --help.";

#[derive(Debug, Subcommand)]
enum Verb {
    Audit(Box<audit::Audit>),
    Backup(backup::Backup),
    Bench(bench::Bench),
    Cert(cert::Cert),
    Checks(checks::Checks),
    Cost(Box<cost::Cost>),
    Encrypt(encrypt::Encrypt),
    Keyring(keyring::Keyring),
    Keys(Box<keys::Keys>),
    Luks(luks::Luks),
    Migrate(migrate::Migrate),
    Monitor(monitor::Monitor),
    Provision(Box<provision::Provision>),
    Receive(Box<receive::Receive>),
    Restore(Box<restore::Restore>),
    Rotate(rotate::Rotate),
    Send(Box<send::Send>),
    Snapshot(Box<snapshot::Snapshot>),
    Sniff(sniff::Sniff),
    Tunnel(tunnel::Tunnel),
    Verify(Box<verify::Verify>),
    #[command(hide = true)]
    Sst(sst::Sst),
    #[command(hide = true)]
    Generate(generate::Generate),
}

/// The commands with their options.
pub(crate) fn command() -> Command {
    client_options::with_host_option(Cli::command())
}

impl Cli {
    /// Parses the arguments of this process. Wrong ones, and those that ask for help, end it.
    pub(crate) fn from_arguments() -> Result<Self, Failure> {
        let arguments: Vec<OsString> = std::env::args_os().collect();
        let matches = match command().try_get_matches_from(&arguments) {
            Ok(matches) => matches,
            Err(error) => match client_options::password_in(arguments.into_iter()).filter(|_| error.use_stderr()) {
                Some(failure) => return Err(failure),
                None => error.exit(),
            },
        };
        Ok(Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()))
    }

    /// Runs the verb.
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        match self.verb {
            Verb::Audit(verb) => verb.run(),
            Verb::Backup(verb) => verb.run(),
            Verb::Bench(verb) => verb.run(),
            Verb::Cert(verb) => verb.run(),
            Verb::Checks(verb) => verb.run(),
            Verb::Cost(verb) => verb.run(),
            Verb::Encrypt(verb) => verb.run(),
            Verb::Keyring(verb) => verb.run(),
            Verb::Keys(verb) => verb.run(),
            Verb::Luks(verb) => verb.run(),
            Verb::Migrate(verb) => verb.run(),
            Verb::Monitor(verb) => verb.run(),
            Verb::Provision(verb) => verb.run(),
            Verb::Receive(verb) => verb.run(),
            Verb::Restore(verb) => verb.run(),
            Verb::Rotate(verb) => verb.run(),
            Verb::Send(verb) => verb.run(),
            Verb::Snapshot(verb) => verb.run(),
            Verb::Sniff(verb) => verb.run(),
            Verb::Tunnel(verb) => verb.run(),
            Verb::Verify(verb) => verb.run(),
            Verb::Sst(verb) => verb.run(),
            Verb::Generate(verb) => verb.run(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_says_what_its_exit_codes_mean() {
        let silent: Vec<_> = command()
            .get_subcommands()
            .filter(|verb| !verb.is_hide_set() && !says_codes(verb))
            .map(|verb| verb.get_name().to_owned())
            .collect();
        assert_eq!(silent, [""; 0]);
    }

    #[test]
    fn the_commands_are_consistent() {
        command().debug_assert();
    }

    /// Whether the verb itself, or else each of its parts, lists its exit codes.
    fn says_codes(verb: &Command) -> bool {
        let says = verb.get_after_help().is_some_and(|end| end.to_string().contains("Exit codes:\n  0  "));
        says || (verb.has_subcommands() && verb.get_subcommands().filter(|part| !part.is_hide_set()).all(says_codes))
    }
}
