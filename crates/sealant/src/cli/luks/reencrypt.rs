//! `sealant luks reencrypt`: encrypts all data with a new volume key.

use std::path::PathBuf;

use clap::Args;
use luks::cryptsetup::Cryptsetup;
use luks::key::read;
use luks::reencrypt::{KeyFiles, Ready, Reencrypt as Work, ReencryptStep};
use report::{luks_reencrypted_message, write_luks_reencrypted};

use super::key::iterations;
use crate::cli::change::Consent;
use crate::exit::{self, Exit};
use crate::output::file::{check_target_directory, to_stdout};
use crate::output::message::{Failure, say};
use crate::output::progress::Quiet;

/// Encrypt all data of a volume with a new volume key, even while it is in use
///
/// Needed after a key or a header backup leaked: rotating keys does not change the volume key. Before it begins, the
/// header is judged, the release of cryptsetup is checked for known faults, every key is proven, and the header is
/// saved. At the end the key is proven again and the new header is saved. Older header backups then decrypt the data to
/// noise.
///
/// cryptsetup keeps one key during this. Keys that --other-key-file names are added again at the end. Slots of other
/// keys would be lost, which is refused without --drop-other-keys.
///
/// It may be stopped, and power may fail: run it again with --resume and the same keys. A note in the directory of
/// --backups records the run. If then nothing opens the volume although its data is intact (`sealant luks audit` calls
/// it reencrypt-stuck), `sealant luks header repair` repairs it.
#[derive(Debug, Args)]
#[command(after_help = exit::help(END, EXITS))]
pub(super) struct Reencrypt {
    /// Device or image with the volume
    device: PathBuf,
    /// File with the exact bytes of a key that opens the volume now and afterwards
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,
    /// File with another key that must still open the volume afterwards (repeatable)
    #[arg(long, value_name = "FILE")]
    other_key_file: Vec<PathBuf>,
    /// Drop the slots of keys that are named neither by --key-file nor by --other-key-file
    #[arg(long)]
    drop_other_keys: bool,
    /// Directory for backups of the old and the new header
    #[arg(long, value_name = "DIR")]
    backups: PathBuf,
    /// Resume an unfinished re-encryption
    #[arg(long)]
    resume: bool,
    /// Derive the keys with this many iterations of PBKDF2; 1000 are enough for random keys [default: what cryptsetup
    /// measures for a passphrase]
    #[arg(long, value_name = "N", value_parser = iterations())]
    pbkdf2_iterations: Option<u32>,
    #[command(flatten)]
    consent: Consent,
    #[command(flatten)]
    quiet: Quiet,
}

const END: &str = "\
Examples:
  sealant luks reencrypt /dev/nvme1n1 --key-file data.key --other-key-file recovery --backups /safe/headers
  sealant luks reencrypt /dev/nvme1n1 --key-file data.key --other-key-file recovery --backups /safe/headers --resume";

const EXITS: exit::Codes = &[
    (Exit::Clean, "all data has the new key, which is proven; or --dry-run"),
    (Exit::Failed, "refused, and nothing was changed; or it stopped, and --resume continues it"),
];

impl Reencrypt {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        check_target_directory(&self.backups)?;
        let cryptsetup = Cryptsetup::find()?;
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
        let ready = work.check()?;
        let files = KeyFiles { key: &self.key_file, others: &self.other_key_file };
        if !self.consent.given(&work.describe(&ready, files))? {
            return Ok(Exit::Clean);
        }
        self.execute(&work, &ready)?;
        Ok(Exit::Clean)
    }

    fn execute(&self, work: &Work<'_>, ready: &Ready) -> Result<(), Failure> {
        let line = self.quiet.status_line();
        let done = work.run(ready, &mut |step| match step {
            ReencryptStep::Progress(progress) => line.show(&progress.to_string()),
            ReencryptStep::Done(text) => {
                line.clear();
                let _ = to_stdout(&|out| writeln!(out, "{text}"));
            }
        });
        line.clear();
        let saved = done?;
        to_stdout(&|out| Ok(write_luks_reencrypted(&self.device, &saved, out)?))?;
        say(&[luks_reencrypted_message()]);
        Ok(())
    }
}
