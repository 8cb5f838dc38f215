//! `sealant backup check`.

use std::path::PathBuf;

use ::backup::check::CheckReport;
use ::backup::check::{CheckRequest, Selection};
use clap::Args;
use report::{backup_check_messages, write_backup_check_table};

use super::{HostSelection, Script, exit_code};
use crate::cli::value;
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, say};

/// Check that everything the receipts name is present and unchanged
///
/// Without options, checks that the receipts form an unbroken chain, and that every object exists with its length.
/// --allowed-signers also verifies the signatures. --objects computes the SHA-256 of each object, which needs no key
/// and finds every object that was changed, truncated or exchanged. --read-data also decrypts and decompresses
/// everything.
///
/// With --state, a check also finds that a receipt is missing which an earlier check saw.
#[derive(Debug, Args)]
#[command(after_help = exit::help(EXAMPLES, EXITS))]
pub(crate) struct Check {
    /// Number of the backup, or all
    #[arg(value_name = "N|all", default_value = "all")]
    backup: Selection,
    #[command(flatten)]
    selection: HostSelection,
    /// Compute SHA-256 of every object
    #[arg(long)]
    objects: bool,
    /// Also decrypt and decompress everything, or only this percentage of the objects, which needs --state: each check
    /// continues where the one before stopped
    #[arg(long, value_name = "P%", num_args = 0..=1, default_missing_value = "100%", value_parser = value::percent,
        requires = "identity", conflicts_with = "objects")]
    read_data: Option<u8>,
    /// File with age identities, one of which decrypts the backup
    #[arg(long, value_name = "FILE", requires = "read_data")]
    identity: Option<PathBuf>,
    /// File of the allowed signers; without it, signatures are not verified
    #[arg(long, value_name = "FILE")]
    allowed_signers: Option<PathBuf>,
    /// File in which each check records the newest receipt and which objects it has read, for the next one
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// Exit with 4 if signatures were not verified, or if a newer receipt may have been hidden
    #[arg(long)]
    require_complete: bool,
    #[command(flatten)]
    script: Script,
}

const EXAMPLES: &str = "\
Examples:
  sealant backup check --allowed-signers signers
  sealant backup check all --objects --allowed-signers signers --state /var/lib/sealant/check.json
  sealant backup check 123 --read-data --identity key.txt --allowed-signers signers
  sealant backup check --read-data 10% --identity key.txt --state /var/lib/sealant/check.json";

const EXITS: exit::Codes = &[
    (Exit::Clean, "nothing is wrong"),
    (Exit::Failed, "the repository cannot be read"),
    (
        Exit::Findings,
        "an object is missing or differs from its receipt, a signature is invalid, or the chain is broken",
    ),
    (Exit::Incomplete, "something could not be judged (only with --require-complete)"),
];

impl Check {
    pub(crate) fn run(&self) -> Result<Exit, Failure> {
        let (repository, host) = self.selection.open()?;
        let request = CheckRequest {
            host: &host,
            backups: self.backup,
            objects: self.objects,
            read_data: self.read_data,
            identity: self.identity.as_deref(),
            allowed_signers: self.allowed_signers.as_deref(),
            state: self.state.as_deref(),
        };
        let checked = request.run(&repository)?;
        if !self.script.write(&CheckReport::new(&host, &checked))? {
            to_stdout(&|out| write_backup_check_table(&checked, out).map_err(std::io::Error::from))?;
            say(&backup_check_messages(&host, &checked));
        }
        Ok(exit_code(checked.outcome(self.require_complete)))
    }
}
