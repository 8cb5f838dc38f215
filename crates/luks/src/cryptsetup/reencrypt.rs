//! `cryptsetup reencrypt`: a new volume key for all data, with progress.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;
use std::time::Duration;

use process::run_telling;

use super::{Cryptsetup, CryptsetupError, Version, sane};
use crate::secret::Secret;

/// `--progress-json` came with it.
const PROGRESS_SINCE: Version = Version(2, 5, 0);

/// A re-encryption to be begun or gone on with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reencryption {
    /// Go on with one that is begun; the rest is then decided.
    pub resume: bool,
    /// The slot of the key; all others are dropped by cryptsetup.
    pub slot: Option<u32>,
    /// Another cipher than now.
    pub cipher: Option<String>,
    /// Bits of the new volume key, if not those of now.
    pub key_bits: Option<u32>,
    /// Bytes of an encryption sector, if not those of now.
    pub sector_bytes: Option<u32>,
    /// Iterations of PBKDF2 for the new slot; default is what cryptsetup measures.
    pub iterations: Option<u32>,
    /// The volume is not open, and nothing is to find that out by itself: files, which nobody can have open.
    pub offline: bool,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that are done.
    pub done: u64,
    /// All bytes.
    pub total: u64,
    /// Bytes in a second.
    pub speed: u64,
    /// What is left of it.
    pub eta: Duration,
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: u64| bytes >> 20;
        let (done, total, speed) = (mib(self.done), mib(self.total), mib(self.speed));
        let eta = Duration::from_secs(self.eta.as_secs());
        write!(f, "re-encrypted {done} of {total} MiB, {speed} MiB/s, {eta:?} left")
    }
}

impl Progress {
    /// From one line of `--progress-json`, whose numbers are text.
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
    /// Recovers the part of `device` that a re-encryption was writing when it was cut off, which a resumed one demands.
    ///
    /// # Errors
    /// [`CryptsetupError`].
    pub fn recover(&self, device: &Path, key: &Secret) -> Result<(), CryptsetupError> {
        sane(device)?;
        let args = [OsStr::new("repair"), "--key-file".as_ref(), "-".as_ref(), device.as_os_str()];
        self.call("repair", device, &args, key).map(drop)
    }

    /// Re-encrypts `device`, which may take hours and has no time limit. `tell` hears how far it is.
    ///
    /// # Errors
    /// [`CryptsetupError`]; what was done until then stays, and another run resumes.
    pub fn reencrypt(
        &self,
        device: &Path,
        key: &Secret,
        how: &Reencryption,
        tell: &mut dyn FnMut(Progress),
    ) -> Result<(), CryptsetupError> {
        sane(device)?;
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
        let mut heard = |line: &str| Progress::parse(line).into_iter().for_each(&mut *tell);
        let ended = run_telling(&self.program, &args, Some(key.bytes()), Duration::MAX, &mut heard)?;
        let never = || CryptsetupError::TimedOut { verb: "reencrypt".to_owned(), seconds: u64::MAX };
        Self::judge("reencrypt", device, ended.ok_or_else(never)?).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_progress() {
        let line = r#"{"device":"a","device_bytes":"39845888","device_size":"79691776","speed":"279637928","eta_ms":"2500","time_ms":"142"}"#;
        let progress = Progress::parse(line).unwrap();
        assert_eq!(
            (progress.done, progress.total, progress.eta),
            (39_845_888, 79_691_776, Duration::from_millis(2500))
        );
        assert_eq!(Progress::parse("Finished, time 00m01s"), None);
    }
}
