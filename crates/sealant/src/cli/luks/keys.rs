//! `sealant luks key`: the keys of a volume.

mod rotate;
mod serve;
mod vault;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use luks::cryptsetup::Cryptsetup;
use luks::key;
use report::{luks_key_added_message, write_luks_key_added, write_luks_slots};

use super::header::volume;
use super::key::{KeySource, iterations};
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, say};

/// List, add and rotate the keys of a volume, or provide one at boot
#[derive(Debug, Args)]
pub(super) struct Key {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    Add(Add),
    List(List),
    Rotate(rotate::Rotate),
    Serve(serve::Serve),
}

impl Key {
    pub(super) fn run(self) -> Result<Exit, Failure> {
        match self.task {
            Task::Add(task) => task.run(),
            Task::List(task) => task.run(),
            Task::Rotate(task) => task.run(),
            Task::Serve(task) => task.run(),
        }
    }
}

/// List key slots, and show which of them the keys in files open
#[derive(Debug, Args)]
#[command(after_help = exit::help("", LIST_EXITS))]
struct List {
    /// Device or image with the volume
    device: PathBuf,
    /// Show which slot the key in this file opens (repeatable)
    #[arg(long, value_name = "FILE")]
    key_file: Vec<PathBuf>,
}

const LIST_EXITS: exit::Codes = &[
    (Exit::Clean, "every key that was given opens a slot"),
    (Exit::Failed, "the header cannot be read"),
    (Exit::Findings, "a key opens nothing"),
];

impl List {
    fn run(&self) -> Result<Exit, Failure> {
        let volume = volume(&self.device)?;
        let keys = self.key_file.iter().map(|path| key::read(path)).collect::<Result<Vec<_>, _>>()?;
        let slots = key::slots_of(&self.device, &keys)?;
        let names = self.key_file.iter().map(|path| path.display().to_string());
        let opened: Vec<_> = names.zip(slots).collect();
        let header = luks::HeaderSummary::from(&volume);
        to_stdout(&|out| Ok(write_luks_slots(&header, &opened, out)?))?;
        Ok(if opened.iter().all(|(_, slot)| slot.is_some()) { Exit::Clean } else { Exit::Findings })
    }
}

/// Add a key to a volume, and prove that it opens the volume
///
/// A key that already opens the volume is not added again. Older header backups do not contain the new key: make a new
/// one.
#[derive(Debug, Args)]
#[command(after_help = exit::help(ADD_END, ADD_EXITS))]
struct Add {
    /// Device or image with the volume
    device: PathBuf,
    #[command(flatten)]
    key: KeySource,
    /// File with the exact bytes of the new key
    #[arg(long, value_name = "FILE")]
    new_key_file: PathBuf,
    /// Derive the key with this many iterations of PBKDF2; 1000 are enough for a random key [default: what cryptsetup
    /// measures for a passphrase]
    #[arg(long, value_name = "N", value_parser = iterations())]
    pbkdf2_iterations: Option<u32>,
}

const ADD_END: &str = "\
Example:
  sealant luks key add /dev/nvme0n1p3 --key-file data.key --new-key-file recovery";

const ADD_EXITS: exit::Codes = &[
    (Exit::Clean, "the key opens the volume"),
    (Exit::Failed, "refused or failed; the earlier key still opens the volume"),
];

impl Add {
    fn run(&self) -> Result<Exit, Failure> {
        let (new, key) = (key::read(&self.new_key_file)?, self.key.read()?);
        let slot = key::add(&Cryptsetup::find()?, &self.device, &key, &new, self.pbkdf2_iterations)?;
        to_stdout(&|out| Ok(write_luks_key_added(&self.device, slot, out)?))?;
        say(&[luks_key_added_message()]);
        Ok(Exit::Clean)
    }
}
