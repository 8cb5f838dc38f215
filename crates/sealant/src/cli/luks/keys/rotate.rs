//! `sealant luks key rotate`: a new key in the place of the old one.

use std::path::PathBuf;

use clap::Args;
use luks::key::{Rotation, Step, Stepped};

use super::super::error::{cryptsetup, key as failure};
use crate::cli::change::Consent;
use crate::exit::{self, Exit};
use crate::output::file::to_stdout;
use crate::output::message::{Failure, hint, warning};

/// Put a new random key in the place of the key in a file, and prove that the old one opens nothing any more
///
/// Makes a random key of 64 bytes beside the key file, adds it to the volume, proves it, puts it in the key file's
/// place, removes the slots that the old key opens, proves that it opens none any more, and saves the new header. Whenever it is
/// cut off, at least one of KEY, KEY.sealant-new and KEY.sealant-old opens the volume, and the same command goes on.
/// Other keys, such as a recovery passphrase, are not touched.
///
/// A rotated key does not protect against whoever has a header backup from before and the old key: destroy those backups.
/// If the old key has leaked, only `sealant luks reencrypt` helps.
#[derive(Debug, Args)]
#[command(after_help = exit::help(END, EXITS))]
pub(super) struct Rotate {
    /// Device or image
    device: PathBuf,
    /// File with the key of now, which is replaced
    #[arg(long, value_name = "KEY")]
    key_file: PathBuf,
    /// Directory for the new header backup, where those of before are looked for too
    #[arg(long, value_name = "DIR", required_unless_present = "no_backup")]
    backups: Option<PathBuf>,
    /// Save no header
    #[arg(long, conflicts_with = "backups")]
    no_backup: bool,
    /// Derive the new key with so many iterations of PBKDF2. It is random, so that 1000 are sound, and the volume opens at
    /// once; default: what cryptsetup measures for a passphrase
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1000..))]
    pbkdf2_iterations: Option<u32>,
    #[command(flatten)]
    consent: Consent,
}

const END: &str = "\
Example:
  sealant luks key rotate /dev/nvme0n1p3 --key-file /root/data.key --backups /safe/headers";

const EXITS: exit::Codes = &[
    (Exit::Clean, "rotated, or --dry-run"),
    (Exit::Failed, "refused or failed; a stored key opens the volume, and the same command goes on"),
    (Exit::Usage, "wrong usage"),
    (Exit::Findings, "rotated, and header backups remain that still open with the old key"),
];

impl Rotate {
    pub(super) fn run(&self) -> Result<Exit, Failure> {
        if let Some(directory) = self.backups.as_ref().filter(|directory| !directory.is_dir()) {
            return Err(Failure::usage(format!("{}: not a directory", directory.display())));
        }
        let cryptsetup = cryptsetup()?;
        if !self.consent.given(&self.plan())? {
            return Ok(Exit::Clean);
        }
        let rotation = Rotation {
            cryptsetup: &cryptsetup,
            device: &self.device,
            key: &self.key_file,
            backups: self.backups.as_deref(),
            iterations: self.pbkdf2_iterations,
        };
        let stale = rotation
            .run(&mut |stepped| to_stdout(&|out| writeln!(out, "{}", words(stepped))).is_ok())
            .map_err(failure)?;
        for path in &stale {
            warning(&format!("{}: a header backup from before, which the old key may still open", path.display()));
        }
        if stale.is_empty() {
            return Ok(Exit::Clean);
        }
        hint("destroy them, and copies elsewhere; if the old key has leaked, only `sealant luks reencrypt` helps");
        Ok(Exit::Findings)
    }

    fn plan(&self) -> String {
        let (device, key) = (self.device.display(), self.key_file.display());
        let backup = match &self.backups {
            Some(directory) => format!("save the header in {}", directory.display()),
            None => "save no header".to_owned(),
        };
        format!(
            "{device}: a new key in {key}\n  \
             1. prove that {key} opens it\n  \
             2. make {key}.sealant-new, 64 random bytes\n  \
             3. add it to a free key slot and prove it\n  \
             4. keep the old key in {key}.sealant-old and put the new one in its place\n  \
             5. remove the key slots that the old key opens\n  \
             6. prove that the old key opens nothing and the new one does\n  \
             7. {backup}\n  \
             8. remove {key}.sealant-old\n"
        )
    }
}

fn words(stepped: &Stepped) -> String {
    let slot = stepped.slot.map(|slot| format!(" slot {slot}")).unwrap_or_default();
    let file = stepped.file.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
    match stepped.step {
        Step::Proven => format!("the key opens{slot}"),
        Step::Made => format!("next key in {file}"),
        Step::Added => format!("it opens{slot}"),
        Step::Kept => format!("old key kept in {file}"),
        Step::Stored => format!("new key in {file}"),
        Step::Killed => format!("removed{slot} of the old key"),
        Step::Refused => "the old key opens nothing any more".to_owned(),
        Step::BackedUp => format!("header saved in {file}"),
        Step::Forgotten => format!("removed {file}"),
    }
}
