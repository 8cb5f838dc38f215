//! `sealant luks header check`: what a backup is worth today.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use luks::backup::{self, Manifest};
use luks::{Relation, compare};
use report::Format;
use serde::Serialize;

use super::super::error::{backup as failure, cryptsetup};
use super::super::key;
use super::volume;
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::Failure;
use crate::output::render::Render;

/// Tell what a header backup is to its volume: current, stale, of another volume key, of another volume
///
/// `stale` means other slots: the backup may still open with a key that was removed from the volume, and may lack one that was
/// added. `other-volume-key` means that restoring it would turn the data into noise. With --key-file the key is tried on
/// both, which proves whether a removed key still opens the backup.
#[derive(Debug, Args)]
#[command(after_help = exit::help(END, EXITS))]
pub(super) struct Check {
    /// The backup
    backup: PathBuf,
    /// Device or image of the volume
    device: PathBuf,
    /// Try the key in this file on both, exact bytes; `-` is standard input
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    #[command(flatten)]
    render: Render,
}

const END: &str = "\
Example:
  sealant luks header check /safe/data.header /dev/nvme0n1p3";

const EXITS: exit::Codes = &[
    (Exit::Clean, "current, and what its manifest says if it has one"),
    (Exit::Failed, "the backup or the volume cannot be read"),
    (Exit::Usage, "wrong usage"),
    (Exit::Findings, "anything else"),
];

/// The contract for scripts. Fields are only ever added.
#[derive(Debug, Serialize)]
struct Outcome {
    schema: &'static str,
    /// `current`, `stale`, `other-volume-key`, `other-volume`.
    verdict: &'static str,
    /// Slots whose keys open the backup and not the volume.
    only_backup: Vec<u32>,
    /// Slots whose keys open the volume and not the backup.
    only_volume: Vec<u32>,
    /// Whether the backup is byte for byte what its manifest says; null without one.
    as_saved: Option<bool>,
    /// Slot of the backup that the key opens; null if it opens none or no key was given.
    key_opens_backup: Option<u32>,
    /// The same for the volume.
    key_opens_volume: Option<u32>,
}

impl Check {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        let key = self.key_file.as_deref().map(key::read).transpose()?;
        let file = backup::open(&self.backup).map_err(failure)?;
        let header = backup::Header::read(&file, &self.backup).map_err(failure)?;
        let manifest = Manifest::beside(&self.backup).map_err(failure)?;
        let relation = compare(&header.volume, &volume(&self.device)?);
        let (verdict, only_backup, only_volume) = words(&relation);
        let mut outcome = Outcome {
            schema: "sealant.luks-header-check/1",
            verdict,
            only_backup,
            only_volume,
            as_saved: manifest.map(|manifest| manifest.describes(&header)),
            key_opens_backup: None,
            key_opens_volume: None,
        };
        if let Some(key) = &key {
            let cryptsetup = cryptsetup()?;
            let opens = |path| cryptsetup.opens(path, key, None).map_err(|e| failure(e.into()));
            (outcome.key_opens_backup, outcome.key_opens_volume) = (opens(&self.backup)?, opens(&self.device)?);
        }
        to_stdout(&|out| match self.render.format() {
            Format::Json => {
                serde_json::to_writer_pretty(&mut *out, &outcome)?;
                writeln!(out)
            }
            _ => self.table(&outcome, key.is_some(), out),
        })?;
        let good = relation == Relation::Current && outcome.as_saved != Some(false);
        Ok(if good { Exit::Clean } else { Exit::Findings })
    }

    fn table(&self, outcome: &Outcome, tried: bool, out: &mut dyn Write) -> std::io::Result<()> {
        let list = |ids: &[u32]| ids.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        writeln!(out, "{}: {}", self.backup.display(), outcome.verdict)?;
        match outcome.verdict {
            "current" => writeln!(out, "  same volume key, same slots")?,
            "stale" => writeln!(out, "  make a new backup and destroy this one")?,
            "other-volume-key" => writeln!(out, "  restoring it would turn the data into noise: destroy it")?,
            _ => writeln!(out, "  not of this volume: restoring it would destroy the data")?,
        }
        if !outcome.only_backup.is_empty() {
            writeln!(out, "  still opens with the removed key of slot {}", list(&outcome.only_backup))?;
        }
        if !outcome.only_volume.is_empty() {
            writeln!(out, "  lacks the key of slot {}", list(&outcome.only_volume))?;
        }
        match outcome.as_saved {
            None => writeln!(out, "  no manifest beside it")?,
            Some(true) => writeln!(out, "  byte for byte what its manifest says")?,
            Some(false) => writeln!(out, "  NOT what its manifest says was saved: it was changed or damaged since")?,
        }
        let opened =
            |slot: Option<u32>| slot.map_or_else(|| "does not open it".to_owned(), |slot| format!("opens slot {slot}"));
        if tried {
            writeln!(out, "  key on the backup: {}", opened(outcome.key_opens_backup))?;
            writeln!(out, "  key on the volume: {}", opened(outcome.key_opens_volume))?;
        }
        Ok(())
    }
}

fn words(relation: &Relation) -> (&'static str, Vec<u32>, Vec<u32>) {
    match relation {
        Relation::Current => ("current", Vec::new(), Vec::new()),
        Relation::Stale { only_backup, only_volume } => ("stale", only_backup.clone(), only_volume.clone()),
        Relation::OtherVolumeKey => ("other-volume-key", Vec::new(), Vec::new()),
        Relation::OtherVolume => ("other-volume", Vec::new(), Vec::new()),
    }
}
