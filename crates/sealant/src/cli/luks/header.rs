//! `sealant luks header`: backups of headers that identify their volume.

mod check;
mod repair;
mod restore;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use luks::backup;
use report::{luks_header_messages, write_luks_backup, write_luks_differences};

use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, say};

/// Back up, compare, check, restore or repair a LUKS header
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
/// The file is identical to what `cryptsetup luksHeaderBackup` writes. A manifest beside it records the volume's UUID,
/// slots, sequence number and volume key, and the file's SHA-256. Whoever has the file and a key of that time can open
/// the volume, even after the key was removed: keep it as you keep keys, and replace it when a key is removed.
#[derive(Debug, Args)]
#[command(after_help = exit::help(BACKUP_END, BACKUP_EXITS))]
struct Backup {
    /// Device or image with the volume
    device: PathBuf,
    /// File to create; `BACKUP.manifest` is written beside it
    backup: PathBuf,
}

const BACKUP_END: &str = "\
Example:
  sealant luks header backup /dev/nvme0n1p3 /safe/data.header";

const BACKUP_EXITS: exit::Codes = &[(Exit::Clean, "saved, and read again"), (Exit::Failed, "not saved")];

impl Backup {
    fn run(&self) -> Result<Exit, Failure> {
        let header = backup::Header::read(&backup::open(&self.device)?, &self.device)?;
        say(&luks_header_messages(header.readable));
        let manifest = header.save(&self.backup)?;
        let name = self.backup.display().to_string();
        to_stdout(&|out| Ok(write_luks_backup(&name, &manifest, out)?))?;
        Ok(Exit::Clean)
    }
}

/// Show the differences between two headers, of volumes or of backups
#[derive(Debug, Args)]
#[command(after_help = exit::help("", DIFF_EXITS))]
struct Diff {
    /// Device, image or backup
    one: PathBuf,
    /// Another device, image or backup
    other: PathBuf,
}

const DIFF_EXITS: exit::Codes =
    &[(Exit::Clean, "they are equal"), (Exit::Failed, "one cannot be read"), (Exit::Findings, "they differ")];

impl Diff {
    fn run(&self) -> Result<Exit, Failure> {
        let (one, other) = (volume(&self.one)?, volume(&self.other)?);
        let differences = luks::diff::diff(&one, &other);
        to_stdout(&|out| Ok(write_luks_differences(&differences, out)?))?;
        Ok(if differences.is_empty() { Exit::Clean } else { Exit::Findings })
    }
}

/// The header at `path`.
pub(super) fn volume(path: &Path) -> Result<luks::Volume, Failure> {
    Ok(backup::volume_at(path)?)
}
