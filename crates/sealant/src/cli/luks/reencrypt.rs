//! `sealant luks reencrypt`: a new volume key for all data.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use luks::cryptsetup::Progress;
use luks::reencrypt::{Reencrypt as Work, Step};

use super::error::{cryptsetup, device as failure};
use super::key::read;
use crate::cli::change::Consent;
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, hint};
use crate::output::progress::StatusLine;

/// Encrypt all data of a volume with a new volume key, also while it is in use
///
/// What a leaked key or header backup asks for: rotating keys leaves the volume key as it is. Before it begins, the header is
/// judged, the release of cryptsetup is held against known faults, every key is proven, and the header is saved. When it
/// is through, the key is proven again and the header is saved anew; the backups of before open nothing but noise.
///
/// cryptsetup keeps one key in this: slots whose keys are not named with --other-key-file are gone afterwards.
///
/// It may be stopped, and the power may fail: run it again with --resume and the same keys; DIR has a note of it. If then nothing opens the volume although it is
/// whole (`sealant luks audit` calls it reencrypt-stuck), `sealant luks header repair` mends it.
#[derive(Debug, Args)]
#[command(after_help = exit::help(END, EXITS))]
pub(super) struct Reencrypt {
    /// Device with the volume, or an image
    device: PathBuf,
    /// File with a key that opens it and goes on opening it
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,
    /// File with another key that is to open it afterwards too (repeatable)
    #[arg(long, value_name = "FILE")]
    other_key_file: Vec<PathBuf>,
    /// Let the slots go whose keys are not named
    #[arg(long)]
    drop_other_keys: bool,
    /// Directory for the headers of before and after
    #[arg(long, value_name = "DIR")]
    backups: PathBuf,
    /// Go on with one that was begun
    #[arg(long)]
    resume: bool,
    /// Derive the keys with so many iterations of PBKDF2, which for random keys may be as few as 1000; default: what
    /// cryptsetup measures for a passphrase
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1000..))]
    pbkdf2_iterations: Option<u32>,
    #[command(flatten)]
    consent: Consent,
    /// No status line on stderr
    #[arg(long, short)]
    quiet: bool,
}

const END: &str = "\
Examples:
  sealant luks reencrypt /dev/nvme1n1 --key-file data.key --other-key-file recovery --backups /safe/headers
  sealant luks reencrypt /dev/nvme1n1 --key-file data.key --other-key-file recovery --backups /safe/headers --resume";

const EXITS: exit::Codes = &[
    (Exit::Clean, "all data has the new key, which is proven; or --dry-run"),
    (Exit::Failed, "refused, and nothing was changed; or it stopped, and --resume goes on"),
    (Exit::Usage, "wrong usage"),
];

impl Reencrypt {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        if !self.backups.is_dir() {
            return Err(Failure::usage(format!("{}: not a directory", self.backups.display())));
        }
        let cryptsetup = cryptsetup()?;
        let key = read(&self.key_file)?;
        let others = self.other_key_file.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
        let work = Work {
            cryptsetup: &cryptsetup,
            device: &self.device,
            key: &key,
            others: &others,
            drop_others: self.drop_other_keys,
            backups: &self.backups,
            iterations: self.pbkdf2_iterations,
            resume: self.resume,
        };
        let ready = work.check().map_err(failure)?;
        let plan = self.plan(&ready.dropped);
        if !self.consent.given(&plan)? {
            return Ok(Exit::Clean);
        }
        let line = StatusLine::new(self.quiet);
        let done = work.run(&ready, &mut |step| match step {
            Step::Progress(progress) => line.show(&words(progress)),
            Step::Done(text) => {
                line.clear();
                let _ = to_stdout(&|out| writeln!(out, "{text}"));
            }
        });
        line.clear();
        let saved = done.map_err(failure)?;
        to_stdout(&|out| {
            writeln!(out, "{}: all data has a new volume key; header in {}", self.device.display(), saved.display())
        })?;
        hint("destroy the header backups of before: they open nothing but noise, and restoring one destroys the data");
        Ok(Exit::Clean)
    }

    fn plan(&self, dropped: &[u32]) -> String {
        let (device, key): (_, &Path) = (self.device.display(), &self.key_file);
        let what =
            if self.resume { "the re-encryption that was begun goes on" } else { "all data gets a new volume key" };
        let in_use = if self.device.is_file() { "" } else { "; it may stay in use" };
        let mut text = format!("{device}: {what}{in_use}\n");
        let first = if self.resume { "the header of before is kept" } else { "save the header" };
        let _ = writeln!(text, "  1. {first} in {}", self.backups.display());
        let _ = writeln!(text, "  2. re-encrypt; {} opens it at every moment", key.display());
        if !dropped.is_empty() {
            let slots = dropped.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            let _ = writeln!(text, "     DROPPED: slot {slots}, whose keys are not named");
        }
        for other in &self.other_key_file {
            let _ = writeln!(text, "     then add {} again", other.display());
        }
        let _ = writeln!(text, "  3. prove the keys, save the new header in {}", self.backups.display());
        text
    }
}

fn words(progress: Progress) -> String {
    let mib = |bytes: u64| bytes >> 20;
    let eta = Duration::from_secs(progress.eta.as_secs());
    let (done, total, speed) = (mib(progress.done), mib(progress.total), mib(progress.speed));
    format!("re-encrypted {done} of {total} MiB, {speed} MiB/s, {eta:?} left")
}
