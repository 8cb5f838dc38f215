//! `sealant luks header restore`: restores a header.

use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use luks::backup::{RestorePlan, replaced_path};
use luks::cryptsetup::Cryptsetup;
use report::{luks_restore_messages, write_luks_header_changed};

use super::super::key::KeySource;
use crate::cli::change::Consent;
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, say};

/// Restore a header backup to its volume
///
/// Refused if the backup is of another volume or has another volume key, which would make the data unreadable, and
/// while a re-encryption is unfinished. First the key must open the backup; then the current header is saved, with its
/// key slots; then the backup is written and read back, and the key must open the volume. If it does not, the saved
/// header is put back.
#[derive(Debug, Args)]
#[command(after_help = exit::help(END, EXITS))]
pub(super) struct Restore {
    /// Header backup
    backup: PathBuf,
    /// Device or image to write
    device: PathBuf,
    #[command(flatten)]
    key: KeySource,
    /// New file to save the current header in [default: a new name beside the backup]
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// Restore although the device has no header left to compare with; nothing then proves that the backup is of this
    /// volume
    #[arg(long)]
    header_is_lost: bool,
    #[command(flatten)]
    consent: Consent,
}

const END: &str = "\
Examples:
  sealant luks header restore /safe/data.header /dev/nvme0n1p3 --key-file key --dry-run
  sealant luks header restore /safe/data.header /dev/nvme0n1p3 --key-file key";

const EXITS: exit::Codes = &[
    (Exit::Clean, "restored and proven, or --dry-run"),
    (Exit::Failed, "refused or failed; the message says whether anything was changed"),
];

impl Restore {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let plan = RestorePlan::new(&self.backup, &self.device, self.header_is_lost)?;
        let save = self.save();
        let text = plan.describe(&save);
        if !self.consent.given(&text)? {
            return Ok(Exit::Clean);
        }
        say(&luks_restore_messages(plan.relation.as_ref()));
        let restored = plan.run(&Cryptsetup::find()?, &self.key.read()?, &save)?;
        to_stdout(&|out| Ok(write_luks_header_changed(&self.device, "restored", &restored, out)?))?;
        Ok(Exit::Clean)
    }

    fn save(&self) -> PathBuf {
        self.save.clone().unwrap_or_else(|| replaced_path(&self.backup, Timestamp::now()))
    }
}
