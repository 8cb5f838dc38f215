//! `sealant luks header restore`: a header back in its place.

use std::fmt::Write;
use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use luks::Relation;
use luks::backup::Plan;

use super::super::error::{backup as failure, cryptsetup};
use super::super::key::KeySource;
use crate::cli::change::Consent;
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, warning};

/// Put a header backup back on its volume
///
/// Refused if the backup is of another volume or was taken under another volume key, which would turn the data into noise, and
/// while a re-encryption is not finished. First the key has to open the backup; then the header that is there is saved, with
/// its key slots; then the backup is written and read again, and the key has to open the volume. If it does not, the saved
/// header is put back.
#[derive(Debug, Args)]
#[command(after_help = exit::help(END, EXITS))]
pub(super) struct Restore {
    /// The backup
    backup: PathBuf,
    /// Device or image to be written
    device: PathBuf,
    #[command(flatten)]
    key: KeySource,
    /// New file for the header that is there now; default: a new name beside the backup
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    /// The device has no header any more that could be compared. Nothing then proves that it is the backup's volume
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
    (Exit::Usage, "wrong usage"),
];

impl Restore {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let plan = Plan::new(&self.backup, &self.device, self.header_is_lost).map_err(|error| {
            let failure = failure(error);
            let lost = failure.hint.is_some() && !self.header_is_lost;
            if lost { failure.hint("if its header is lost and you know the device: --header-is-lost") } else { failure }
        })?;
        let save = self.save();
        let text = self.words(&plan, &save);
        if !self.consent.given(&text)? {
            return Ok(Exit::Clean);
        }
        if matches!(plan.relation, Some(Relation::Stale { .. })) {
            warning("the backup has other key slots than the volume; keys that were removed since will open it again");
        }
        let restored = plan.run(&cryptsetup()?, &self.key.read()?, &save).map_err(failure)?;
        to_stdout(&|out| {
            writeln!(out, "{}: header restored; the key opens slot {}", self.device.display(), restored.slot)?;
            writeln!(out, "the header of before is in {}", restored.saved.display())
        })?;
        Ok(Exit::Clean)
    }

    fn save(&self) -> PathBuf {
        self.save.clone().unwrap_or_else(|| {
            let mut name = self.backup.as_os_str().to_owned();
            name.push(Timestamp::now().strftime(".replaced-%Y%m%dT%H%M%SZ").to_string());
            PathBuf::from(name)
        })
    }

    fn words(&self, plan: &Plan, save: &std::path::Path) -> String {
        let mut text = String::new();
        let volume = plan.volume();
        let slots: Vec<String> = volume.slots.iter().map(|slot| slot.id.to_string()).collect();
        let _ = writeln!(text, "{} -> {}", self.backup.display(), self.device.display());
        let _ =
            writeln!(text, "  volume {}, sequence number {}, slots {}", volume.uuid, volume.sequence, slots.join(", "));
        let relation = match &plan.relation {
            None => "the device has no readable header: NOTHING proves that this is its volume".to_owned(),
            Some(Relation::Stale { only_backup, only_volume }) => {
                format!("STALE: brings back the keys of slots {only_backup:?}, drops those of slots {only_volume:?}")
            }
            Some(_) => "current: same volume key, same slots".to_owned(),
        };
        let _ = writeln!(text, "  {relation}");
        let _ = writeln!(text, "  manifest: {}", if plan.manifest { "byte for byte what was saved" } else { "none" });
        let _ = writeln!(text, "  1. prove that the key opens the backup");
        let _ = writeln!(text, "  2. save the header that is there in {}", save.display());
        let _ = writeln!(text, "  3. write {} bytes, read them again", volume.header_bytes);
        let _ = writeln!(text, "  4. prove that the key opens the volume, or put the saved header back");
        text
    }
}
