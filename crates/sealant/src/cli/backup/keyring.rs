//! `sealant backup keyring`: checks whether a copy of the keys opens a backup.

use std::path::PathBuf;

use ::backup::keys::check_backup;
use ::backup::restore::BackupSelector;
use clap::{Args, Subcommand};
use report::{key_check_message, store_messages, write_key_check_table};

use super::Configured;
use crate::cli::key_stores::KeyStores;
use crate::exit::{self, Exit};
use crate::output::file::{self, to_stdout};
use crate::output::message::{Failure, say};

/// Check copies of the keyring, which a backup never contains
#[derive(Debug, Args)]
pub(crate) struct Keyring {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Check(Check),
}

/// Check whether a copy of the keyring opens everything in a backup; only its manifest is read
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
struct Check {
    /// Number of the backup, or latest
    #[arg(value_name = "N|latest", default_value = "latest")]
    backup: BackupSelector,
    #[command(flatten)]
    config: Configured,
    /// File with age identities, one of which decrypts the manifest
    #[arg(long, value_name = "FILE")]
    identity: PathBuf,
    #[command(flatten)]
    keys: KeyStores,
    /// Append the result to this file, which `sealant audit` reads from a directory given with --backup
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  sealant backup keyring check latest --identity key.txt --keyring COPY-OF-KEYRING
  sealant backup keyring check 123 --identity key.txt --mariadb-key-file COPY";

const EXITS: exit::Codes = &[
    (Exit::Clean, "it opens everything that is encrypted in the backup"),
    (Exit::Failed, "the manifest or the copy cannot be read"),
    (Exit::Findings, "something does not open; the report lists it"),
    (Exit::Incomplete, "nothing in the manifest needs a key, so nothing was proven"),
];

impl Keyring {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        let Command::Check(check) = self.command;
        check.run()
    }
}

impl Check {
    fn run(self) -> Result<Exit, Failure> {
        if !self.keys.any() {
            return Err(Failure::usage("give the copy with --keyring, --keyring-config or --mariadb-key-file"));
        }
        self.record.as_deref().map(file::check_writable).transpose()?;
        let (config, repository) = self.config.open()?;
        let identities = ::backup::config::identities(&self.identity)?;
        let keys = self.keys.read(None)?;
        let (judged, check) = check_backup(&repository, &config.host, self.backup, &identities, &keys)?;
        to_stdout(&|out| write_key_check_table(&check, out).map_err(std::io::Error::from))?;
        say(&[key_check_message(&judged, &check)]);
        self.record.as_deref().map(|path| check.record(&judged, path)).transpose()?;
        say(&store_messages(&repository));
        Ok(match (check.needed, check.missing.len()) {
            (0, _) => Exit::Incomplete,
            (_, 0) => Exit::Clean,
            _ => Exit::Findings,
        })
    }
}
