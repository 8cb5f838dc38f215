//! `sealant luks key rotate`: replaces a key.

use std::path::PathBuf;

use clap::Args;
use luks::RANDOM_KEY_ITERATIONS;
use luks::cryptsetup::Cryptsetup;
use luks::key::Rotation;
use report::luks_stale_backup_messages;

use super::iterations;
use crate::cli::change::Consent;
use crate::exit::{self, Exit};
use crate::output::file::{check_target_directory, to_stdout};
use crate::output::message::{Failure, say};

/// Replace the key in a file with a new random one, and prove that the old key opens nothing any more
///
/// Creates a random key of 64 bytes beside the key file, adds it to the volume, proves it, puts it in place of the key
/// file, removes the slots that the old key opens, proves that it opens none, and saves the new header. If interrupted
/// at any moment, at least one of KEY, KEY.sealant-new and KEY.sealant-old opens the volume, and the same command
/// resumes. Other keys, such as a recovery passphrase, are not touched.
///
/// Rotation does not protect against someone who has an older header backup and the old key: destroy those backups. If
/// the old key has leaked, only `sealant luks reencrypt` helps.
#[derive(Debug, Args)]
#[command(after_help = exit::help(END, EXITS))]
pub(super) struct Rotate {
    /// Device or image with the volume
    device: PathBuf,
    /// File with the current key, which is replaced
    #[arg(long, value_name = "KEY")]
    key_file: PathBuf,
    /// Directory for the new header backup; older backups are looked for there, too
    #[arg(long, value_name = "DIR", required_unless_present = "no_backup")]
    backups: Option<PathBuf>,
    /// Do not save the header
    #[arg(long, conflicts_with = "backups")]
    no_backup: bool,
    /// Derive the new key with this many iterations of PBKDF2; the key is random, so more are no safer
    #[arg(long, value_name = "N", value_parser = iterations(), default_value_t = RANDOM_KEY_ITERATIONS)]
    pbkdf2_iterations: u32,
    #[command(flatten)]
    consent: Consent,
}

const END: &str = "\
Example:
  sealant luks key rotate /dev/nvme0n1p3 --key-file /root/data.key --backups /safe/headers";

const EXITS: exit::Codes = &[
    (Exit::Clean, "rotated, or --dry-run"),
    (Exit::Failed, "refused or failed; a stored key opens the volume, and the same command resumes"),
    (Exit::Findings, "rotated, and header backups remain that still open with the old key"),
];

impl Rotate {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        self.backups.as_deref().map(check_target_directory).transpose()?;
        let cryptsetup = Cryptsetup::find()?;
        let rotation = Rotation {
            cryptsetup: &cryptsetup,
            device: &self.device,
            key: &self.key_file,
            backups: self.backups.as_deref(),
            iterations: self.pbkdf2_iterations,
        };
        if !self.consent.given(&rotation.describe())? {
            return Ok(Exit::Clean);
        }
        let stale = rotation.run(&mut |stepped| to_stdout(&|out| writeln!(out, "{stepped}")).is_ok())?;
        say(&luks_stale_backup_messages(&stale));
        Ok(if stale.is_empty() { Exit::Clean } else { Exit::Findings })
    }
}
