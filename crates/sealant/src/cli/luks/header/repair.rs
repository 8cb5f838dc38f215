//! `sealant luks header repair`: what nothing else repairs.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use luks::backup::Repair as Plan;

use super::super::error::{backup as failure, cryptsetup};
use super::super::key::KeySource;
use crate::cli::change::confirm_plan;
use crate::exit::Exit;
use crate::output::file::to_stdout;
use crate::output::message::Failure;

/// Repair a volume whose re-encryption was cut off in its last step, which cryptsetup neither opens nor resumes
///
/// `sealant luks audit` calls it `reencrypt-stuck`: all data has the new key, the old key's slot is gone, and the notes of
/// the re-encryption still ask for it. The notes are dropped: the requirement, the backup segments, their digests and
/// the slot of the re-encryption. The given key first has to open the repaired header on a copy; the header of now is
/// saved; afterwards the key has to open the volume, or the saved header is put back.
///
/// Refused in every other state: one in which cryptsetup can go on, data in several parts, a segment that does not cover the
/// device, more than one volume key, no slot for it. The volume must not be open.
#[derive(Debug, Args)]
#[command(after_help = END, after_long_help = END)]
pub(super) struct Repair {
    /// Device or image
    device: PathBuf,
    #[command(flatten)]
    key: KeySource,
    /// New file for the header that is there now
    #[arg(long, value_name = "FILE", required_unless_present = "dry_run")]
    save: Option<PathBuf>,
    /// Show what would be done, and do nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
}

const END: &str = "\
Example:
  sealant luks header repair /dev/nvme0n1p3 --key-file key --save /safe/before-repair

Exit codes:
  0  repaired and proven, or --dry-run
  1  refused or failed; the message says whether anything was changed
  2  wrong usage";

impl Repair {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let plan = Plan::new(&self.device).map_err(failure)?;
        let text = self.words(&plan);
        let Some(save) = self.save.as_ref().filter(|_| !self.dry_run) else {
            to_stdout(&|out| out.write_all(text.as_bytes()))?;
            return Ok(Exit::Clean);
        };
        if !self.yes {
            confirm_plan(&text)?;
        }
        let repaired = plan.run(&cryptsetup()?, &self.key.read()?, save).map_err(failure)?;
        to_stdout(&|out| {
            writeln!(out, "{}: header repaired; the key opens slot {}", self.device.display(), repaired.slot)?;
            writeln!(out, "the header of before is in {}", repaired.saved.display())
        })?;
        Ok(Exit::Clean)
    }

    fn words(&self, plan: &Plan) -> String {
        let mut text = format!("{}: the notes of an unfinished re-encryption go\n", self.device.display());
        for difference in plan.differences() {
            let side = |side: Option<String>| side.unwrap_or_else(|| "-".to_owned());
            let _ = writeln!(text, "  {}: {} -> {}", difference.field, side(difference.one), side(difference.other));
        }
        text
    }
}
