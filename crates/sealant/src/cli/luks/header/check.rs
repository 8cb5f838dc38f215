//! `sealant luks header check`: compares a backup with its volume.

use std::path::PathBuf;

use clap::Args;
use luks::backup;
use luks::cryptsetup::Cryptsetup;
use luks::key;
use report::{write_luks_check_json, write_luks_check_table};

use crate::exit::{self, Exit};
use crate::output::message::Failure;
use crate::output::render::Render;

/// Show how a header backup relates to the volume: current, stale, of another volume key, of another volume
///
/// `stale` means different slots: the backup may still open with a key that was removed from the volume, and may lack
/// one that was added. `other-volume-key` means that restoring it would make the data unreadable. With --key-file, the
/// key is tried on both, which proves whether a removed key still opens the backup.
#[derive(Debug, Args)]
#[command(after_help = exit::help(END, EXITS))]
pub(super) struct Check {
    /// Header backup
    backup: PathBuf,
    /// Device or image of the volume
    device: PathBuf,
    /// File with the exact bytes of a key to try on both; `-` is standard input
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    #[command(flatten)]
    render: Render,
}

const END: &str = "\
Example:
  sealant luks header check /safe/data.header /dev/nvme0n1p3";

const EXITS: exit::Codes = &[
    (Exit::Clean, "current, and as its manifest says if it has one"),
    (Exit::Failed, "the backup or the volume cannot be read"),
    (Exit::Findings, "stale, of another volume or volume key, or not what its manifest says"),
];

impl Check {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let key = self.key_file.as_deref().map(key::read).transpose()?;
        let mut check = backup::Check::new(&self.backup, &self.device)?;
        if let Some(key) = &key {
            check = check.try_key(&Cryptsetup::find()?, key, &self.device)?;
        }
        self.render.write(&check, write_luks_check_json, write_luks_check_table)?;
        Ok(if check.is_good() { Exit::Clean } else { Exit::Findings })
    }
}
