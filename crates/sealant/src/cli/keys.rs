//! `sealant keys`: the register of a server's keys.

use std::path::PathBuf;

use ::change::keys::{KeysRequest, inspect};
use clap::Args;
use report::{keys_messages, write_keys_json, write_keys_table};

use crate::cli::change::{DATADIR_HELP, Output, Server, not_logged, register_help, state_dir};
use crate::exit::{self, Exit};
use crate::output::message::{Failure, say};
use crate::process::forbid_dumps;

/// List every key that opens something on a server, where it is, and what still needs it; never the key itself
///
/// Compares what the keyring or key file holds, what the headers of the server's files require (tablespaces, undo,
/// redo, binary and relay logs, doublewrite files, Aria tables), and what the key register has recorded: when a key was
/// first seen and rotated, when a copy of it was proven, and which backups require it. Nothing is changed; --record
/// stores the result in the register.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Keys {
    #[command(flatten)]
    server: Server,
    #[arg(long, value_name = "DIR", help = DATADIR_HELP)]
    datadir: Option<PathBuf>,
    /// Path of the server's keyring or key file on this host, if it differs from the path that the server reports; or
    /// the configuration of the Vault, the KMIP service or AWS KMS that has its keys
    #[arg(long, value_name = "FILE")]
    keyring: Option<PathBuf>,
    /// Also examine this backup of a data directory for the keys that its files require (repeatable)
    #[arg(long, value_name = "DIR", help_heading = "Register")]
    backup: Vec<PathBuf>,
    /// Record in the register what was found, and the backups that --backup names
    #[arg(long, help_heading = "Register")]
    record: bool,
    /// Remove this backup, which no longer exists, from the register (repeatable)
    #[arg(long, value_name = "DIR", requires = "record", help_heading = "Register")]
    forget_backup: Vec<PathBuf>,
    #[arg(long, value_name = "DIR", help_heading = "Register", help = register_help())]
    state_dir: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  sealant keys --socket /run/mysqld/mysqld.sock --user root
  sealant keys --socket /run/mysqld/mysqld.sock --user root --backup /backup/2026-11-20 --record
  sealant keys --socket /run/mysqld/mysqld.sock --format json";

const EXITS: exit::Codes = &[
    (Exit::Clean, "every key that a file needs is there, and opens it"),
    (Exit::Failed, "it could not be done: the server is gone, or the data directory is another server's"),
    (
        Exit::Findings,
        "a key is missing, does not open a file, or a file could not be read or is damaged where its key is; the report says which",
    ),
];

impl Keys {
    pub(crate) fn run(self) -> Result<Exit, Failure> {
        forbid_dumps();
        let (target, options) = self.server.connection()?;
        let request = KeysRequest {
            datadir: self.datadir.clone(),
            keyring: self.keyring.clone(),
            backups: self.backup.clone(),
            forgotten: self.forget_backup.clone(),
            state_dir: state_dir(self.state_dir.clone())?,
            record: self.record,
        };
        let log = not_logged(&target)?;
        let status = self.output.quiet.status_line();
        let looked = inspect(&target, &options, &request, &log, &|text| status.show(text));
        status.clear();
        let report = looked?;
        self.output.write(&report, write_keys_json, write_keys_table)?;
        say(&keys_messages(&report));
        Ok(if report.sound { Exit::Clean } else { Exit::Findings })
    }
}
