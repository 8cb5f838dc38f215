//! `sealant luks header`: backups of headers that know what they are of.

mod check;
mod repair;
mod restore;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use luks::backup;

use super::error::backup as failure;
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, warning};

/// Back up a LUKS header, check backups, put one back or repair it, with proof before and undo after
#[derive(Debug, Args)]
pub(super) struct Header {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Backup(Backup),
    Check(check::Check),
    Diff(Diff),
    Repair(repair::Repair),
    Restore(restore::Restore),
}

impl Header {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        match self.task {
            Task::Backup(task) => task.run(),
            Task::Check(task) => task.run(),
            Task::Diff(task) => task.run(),
            Task::Repair(task) => task.run(),
            Task::Restore(task) => task.run(),
        }
    }
}

/// Save the header and the key slots of a volume in a new file
///
/// The file is the same that `cryptsetup luksHeaderBackup` writes. A manifest beside it ties it to the volume's UUID, slots,
/// sequence number, volume key and to its own SHA-256. Whoever has the file and a key of that day can open the volume, also
/// after the key was removed: keep it as you keep keys, and replace it when a key goes.
#[derive(Debug, Args)]
#[command(after_help = exit::help(BACKUP_END, BACKUP_EXITS))]
struct Backup {
    /// Device or image
    device: PathBuf,
    /// File to be made; `BACKUP.manifest` comes beside it
    backup: PathBuf,
}

const BACKUP_END: &str = "\
Example:
  sealant luks header backup /dev/nvme0n1p3 /safe/data.header";

const BACKUP_EXITS: exit::Codes =
    &[(Exit::Clean, "saved, and read again"), (Exit::Failed, "not saved"), (Exit::Usage, "wrong usage")];

impl Backup {
    fn run(&self) -> Result<Exit, Failure> {
        let header =
            backup::Header::read(&backup::open(&self.device).map_err(failure)?, &self.device).map_err(failure)?;
        if header.readable != luks::Readable::Yes {
            warning(
                "only one copy of the header counts, and the backup is as damaged as the volume; see `sealant luks audit`",
            );
        }
        let manifest = header.save(&self.backup).map_err(failure)?;
        to_stdout(&|out| {
            let slots: Vec<String> = manifest.slots.iter().map(|slot| slot.id.to_string()).collect();
            writeln!(out, "{}: header of volume {}", self.backup.display(), manifest.uuid)?;
            writeln!(out, "  sequence number {}, key slots {}", manifest.sequence, slots.join(", "))?;
            writeln!(out, "  {} bytes, SHA-256 {}", manifest.bytes, manifest.sha256)
        })?;
        Ok(Exit::Clean)
    }
}

/// Show what two headers say differently: volumes, backups, or one of each
#[derive(Debug, Args)]
#[command(after_help = exit::help("", DIFF_EXITS))]
struct Diff {
    /// Device, image or backup
    one: PathBuf,
    /// Another
    other: PathBuf,
}

const DIFF_EXITS: exit::Codes = &[
    (Exit::Clean, "they say the same"),
    (Exit::Failed, "one cannot be read"),
    (Exit::Usage, "wrong usage"),
    (Exit::Findings, "they differ"),
];

impl Diff {
    fn run(&self) -> Result<Exit, Failure> {
        let (one, other) = (volume(&self.one)?, volume(&self.other)?);
        let differences = luks::diff::diff(&one, &other);
        to_stdout(&|out| {
            for difference in &differences {
                let side = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
                writeln!(out, "{}: {} | {}", difference.field, side(&difference.one), side(&difference.other))?;
            }
            Ok(())
        })?;
        Ok(if differences.is_empty() { Exit::Clean } else { Exit::Findings })
    }
}

/// What the header at `path` says.
pub(super) fn volume(path: &Path) -> Result<luks::Volume, Failure> {
    let file = super::device::open(path)?;
    let reading = luks::read(&file).map_err(|e| Failure::new(format!("{}: {e}", path.display())))?;
    let why = reading.findings.first().map(|finding| format!("{} ({})", finding.detail, finding.code));
    reading.volume.ok_or_else(|| Failure::new(format!("{}: {}", path.display(), why.unwrap_or_default())))
}
