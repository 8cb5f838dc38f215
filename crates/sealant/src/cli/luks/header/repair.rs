//! `sealant luks header repair`: repairs what nothing else repairs.

use std::path::PathBuf;

use clap::Args;
use luks::backup::Repair as Plan;
use luks::cryptsetup::Cryptsetup;
use report::write_luks_header_changed;

use super::super::key::KeySource;
use crate::cli::change::Consent;
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::Failure;

/// Repair a volume whose re-encryption was interrupted at its end, so that cryptsetup cannot open it or would encrypt
/// it twice
///
/// All data has the new key, but the re-encryption metadata still refers to the old one, whose slots may be gone.
/// `sealant luks audit` then reports `reencrypt-stuck`, or that all data is rewritten. That metadata is removed: the
/// requirement, the backup segments with their digests and key slots, and the slot of the re-encryption. Before that,
/// the given key must open a copy of the repaired header, and the current header is saved. Afterwards the key must open
/// the volume; otherwise the saved header is put back.
///
/// Every other state is refused: data that is not rewritten yet or lies in several parts, a segment that does not cover
/// the device, more than one volume key, or no slot for it. The volume must not be open.
#[derive(Debug, Args)]
#[command(after_help = exit::help(END, EXITS))]
pub(super) struct Repair {
    /// Device or image with the volume
    device: PathBuf,
    #[command(flatten)]
    key: KeySource,
    /// New file to save the current header in
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    save: Option<PathBuf>,
    #[command(flatten)]
    consent: Consent,
}

const END: &str = "\
Example:
  sealant luks header repair /dev/nvme0n1p3 --key-file key --save /safe/before-repair";

const EXITS: exit::Codes = &[
    (Exit::Clean, "repaired and proven, or --dry-run"),
    (Exit::Failed, "refused or failed; the message says whether anything was changed"),
];

impl Repair {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let plan = Plan::new(&self.device)?;
        let text = plan.describe();
        let Some(save) = self.save.as_ref().filter(|_| !self.consent.dry_run) else {
            self.consent.given(&text)?;
            return Ok(Exit::Clean);
        };
        self.consent.given(&text)?;
        let repaired = plan.run(&Cryptsetup::find()?, &self.key.read()?, save)?;
        to_stdout(&|out| Ok(write_luks_header_changed(&self.device, "repaired", &repaired, out)?))?;
        Ok(Exit::Clean)
    }
}
