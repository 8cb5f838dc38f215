//! Runs `cryptsetup reencrypt`, which encrypts all data with a new volume key, and reports its progress.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use files::quantity::size;
use process::Program;

use super::{Cryptsetup, Version, check_derivation_cost};
use crate::Error;
use crate::secret::Secret;

/// First release with `--progress-json`.
const PROGRESS_SINCE: Version = Version(2, 5, 0);

/// Parameters of a re-encryption.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reencryption {
    /// Resume an unfinished re-encryption, whose other parameters are fixed.
    pub resume: bool,
    /// Slot of the key. cryptsetup drops all other slots.
    pub slot: Option<u32>,
    /// New cipher, if it is to change.
    pub cipher: Option<String>,
    /// Bits of the new volume key, if they are to change.
    pub key_bits: Option<u32>,
    /// Bytes of an encryption sector, if they are to change.
    pub sector_bytes: Option<u32>,
    /// PBKDF2 iterations of the new slot; by default cryptsetup measures.
    pub iterations: Option<u32>,
    /// The volume is not open, and cryptsetup need not check: for image files, which cannot be open volumes.
    pub offline: bool,
}

/// Progress of a re-encryption.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes done.
    pub done: u64,
    /// Bytes in total.
    pub total: u64,
    /// Bytes per second.
    pub speed: u64,
    /// Estimated time left.
    pub eta: Duration,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (done, total, speed) = (size(self.done), size(self.total), size(self.speed));
        let eta = Duration::from_secs(self.eta.as_secs());
        write!(f, "re-encrypted {done} of {total}, {speed}/s, {eta:?} left")
    }
}

impl Progress {
    /// Parses one line of `--progress-json`, whose numbers are strings.
    fn parse(line: &str) -> Option<Self> {
        let json: serde_json::Value = serde_json::from_str(line).ok()?;
        let number = |name: &str| json.get(name)?.as_str()?.parse().ok();
        let eta = Duration::from_millis(number("eta_ms").unwrap_or_default());
        Some(Self {
            done: number("device_bytes")?,
            total: number("device_size")?,
            speed: number("speed").unwrap_or_default(),
            eta,
        })
    }
}

impl Cryptsetup {
    /// Recovers the part of `device` that an interrupted re-encryption was writing. Required before it can resume.
    ///
    /// # Errors
    /// [`Error`].
    pub fn recover(&self, device: &Path, key: &Secret) -> Result<(), Error> {
        check_derivation_cost(device)?;
        let args = [OsStr::new("repair"), "--key-file".as_ref(), "-".as_ref(), device.as_os_str()];
        self.call("repair", device, &args, key).map(drop)
    }

    /// Re-encrypts `device`. This may take hours and has no time limit. `on_progress` receives the progress.
    ///
    /// # Errors
    /// [`Error`]; completed work is kept, and another run resumes.
    pub fn reencrypt(
        &self,
        device: &Path,
        key: &Secret,
        how: &Reencryption,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<(), Error> {
        check_derivation_cost(device)?;
        let numbers = [("--key-slot", how.slot), ("--key-size", how.key_bits), ("--sector-size", how.sector_bytes)];
        let numbers = numbers.map(|(name, number)| number.map(|number| (name, number.to_string())));
        let count = how.iterations.map(|count| count.to_string());
        let mut args = vec!["--batch-mode", "reencrypt", "--key-file", "-"];
        if self.version() >= PROGRESS_SINCE {
            args.extend(["--progress-json", "--progress-frequency", "1"]);
        }
        if how.resume {
            args.push("--resume-only");
        } else {
            args.extend(numbers.iter().flatten().flat_map(|(name, number)| [*name, number.as_str()]));
            args.extend(how.cipher.iter().flat_map(|cipher| ["--cipher", cipher]));
            args.extend(count.iter().flat_map(|n| ["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", n]));
        }
        if how.offline {
            args.push("--force-offline-reencrypt");
        }
        let args: Vec<&OsStr> = args.into_iter().map(OsStr::new).chain([device.as_os_str()]).collect();
        let mut heard = |line: &str| Progress::parse(line).into_iter().for_each(&mut *on_progress);
        let output = Program::at(&self.program).args(&args).input(key.bytes()).output_with_lines(&mut heard);
        // There is no time limit: all data is rewritten.
        let never = || Error::TimedOut { verb: "reencrypt".to_owned(), seconds: u64::MAX };
        Self::judge("reencrypt", device, output.map_err(Error::Run)?.ok_or_else(never)?).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_progress_line_is_parsed() {
        let line = r#"{"device":"a","device_bytes":"39845888","device_size":"79691776","speed":"279637928","eta_ms":"2500","time_ms":"142"}"#;
        let progress = Progress::parse(line).unwrap();
        assert_eq!(
            (progress.done, progress.total, progress.eta),
            (39_845_888, 79_691_776, Duration::from_millis(2500))
        );
        assert_eq!(Progress::parse("Finished, time 00m01s"), None);
    }
}
