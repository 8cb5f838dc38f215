//! Runs the program `cryptsetup` for everything that touches keys.
//!
//! Keys are passed by file descriptor only, never as arguments. Every call has a time limit. Exit codes are those of
//! cryptsetup(8): 1 wrong parameters, 2 no permission or wrong passphrase, 3 out of memory, 4 wrong device, 5 device
//! exists or is busy.

mod reencrypt;
mod volume;

use std::ffi::OsStr;
use std::io::{PipeReader, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use reencrypt::{Progress, Reencryption};
pub use volume::{Mapping, NewVolume, Status, device_file};

use crate::Error;
use crate::read::read;
use crate::secret::Secret;
pub use crate::version::Version;
use process::{Output, Program};

/// Time limit of a call. Argon2 takes seconds by design; on a small machine with many slots, a minute.
const LIMIT: Duration = Duration::from_secs(300);
/// Oldest supported release: the first with LUKS2 as its default format.
const OLDEST: Version = Version(2, 1, 0);

/// The cryptsetup program, found and checked to be new enough.
#[derive(Debug, Clone)]
pub struct Cryptsetup {
    program: PathBuf,
    version: Version,
}

impl Cryptsetup {
    /// Finds the program on the `PATH` and in the directories of administrators' programs.
    ///
    /// # Errors
    /// [`Error::Missing`], [`Error::TooOld`], [`Error::NoVersion`].
    pub fn find() -> Result<Self, Error> {
        let program = process::find_admin("cryptsetup").ok_or(Error::Missing)?;
        let output =
            Program::at(&program).arg("--version").limit(Duration::from_secs(20)).output().map_err(Error::Run)?;
        let version = output.and_then(|output| Version::parse(&output.stdout));
        match version {
            None => Err(Error::NoVersion { program }),
            Some(found) if found < OLDEST => Err(Error::TooOld { program, found, oldest: OLDEST }),
            Some(version) => Ok(Self { program, version }),
        }
    }

    /// Release of the program.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// The slot of `device` that `key` opens, if any. Maps nothing and needs no root. Tries slots of priority `ignore`
    /// only if `slot` names one.
    ///
    /// # Errors
    /// [`Error`] for everything except a wrong key.
    pub fn opens(&self, device: &Path, key: &Secret, slot: Option<u32>) -> Result<Option<u32>, Error> {
        check_derivation_cost(device)?;
        let number = slot.map(|slot| slot.to_string());
        let mut args: Vec<&OsStr> =
            ["--verbose", "open", "--test-passphrase", "--key-file", "-"].map(OsStr::new).to_vec();
        if let Some(number) = &number {
            args.extend(["--key-slot", number].map(OsStr::new));
        }
        args.push(device.as_os_str());
        match self.call("open", device, &args, key) {
            Ok(output) => Ok(Some(unlocked(&output.stdout).or(slot).unwrap_or_default())),
            Err(Error::NoSlotOpens { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Adds the key `new` to a free slot of `device`, authorised by `key`. `iterations` is the PBKDF2 count, which may
    /// be small for a random key; by default cryptsetup derives the key as for a passphrase, at a measured cost.
    ///
    /// # Errors
    /// [`Error::NoSlotOpens`] if `key` opens no slot; others.
    pub fn add_key(&self, device: &Path, key: &Secret, new: &Secret, iterations: Option<u32>) -> Result<(), Error> {
        let pipe = pipe_with(new).map_err(Error::Run)?;
        let name = format!("/dev/fd/{}", pipe.as_raw_fd());
        let count = iterations.map(|count| count.to_string());
        let mut args: Vec<&OsStr> = ["luksAddKey", "--key-file", "-"].map(OsStr::new).to_vec();
        if let Some(count) = &count {
            args.extend(["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", count].map(OsStr::new));
        }
        args.extend([device.as_os_str(), OsStr::new(&name)]);
        self.call("luksAddKey", device, &args, key).map(drop)
    }

    /// Removes a slot of `device`. `key` must open one of the remaining slots.
    ///
    /// # Errors
    /// [`Error::NoSlotOpens`] if `key` opens none of the remaining slots; others.
    pub fn kill_slot(&self, device: &Path, slot: u32, key: &Secret) -> Result<(), Error> {
        let slot = slot.to_string();
        let args = [OsStr::new("luksKillSlot"), "--key-file".as_ref(), "-".as_ref(), device.as_os_str(), slot.as_ref()];
        self.call("luksKillSlot", device, &args, key).map(drop)
    }

    fn call(&self, verb: &str, device: &Path, args: &[&OsStr], key: &Secret) -> Result<Output, Error> {
        self.call_with(verb, device, args, Some(key))
    }

    fn call_with(&self, verb: &str, device: &Path, args: &[&OsStr], key: Option<&Secret>) -> Result<Output, Error> {
        let mut program = Program::at(&self.program).arg("--batch-mode").args(args).limit(LIMIT);
        if let Some(key) = key {
            program = program.input(key.bytes());
        }
        let timed_out = || Error::TimedOut { verb: verb.to_owned(), seconds: LIMIT.as_secs() };
        Self::judge(verb, device, program.output().map_err(Error::Run)?.ok_or_else(timed_out)?)
    }

    fn judge(verb: &str, device: &Path, output: Output) -> Result<Output, Error> {
        match output.code {
            Some(0) => Ok(output),
            Some(2) => Err(Error::NoSlotOpens { device: device.to_owned() }),
            code => Err(Error::Failed {
                verb: verb.to_owned(),
                device: device.to_owned(),
                reason: reason(code),
                message: output.error_output(),
            }),
        }
    }
}

/// Refuses a header whose key derivation would exhaust the machine: only an attacker writes one. An unreadable header
/// is left to cryptsetup, which refuses it.
fn check_derivation_cost(device: &Path) -> Result<(), Error> {
    let volume = std::fs::File::open(device).ok().and_then(|file| read(&file).ok()?.volume);
    match volume.and_then(|volume| volume.excess()) {
        Some(what) => Err(Error::ExcessiveDerivation { device: device.to_owned(), what }),
        None => Ok(()),
    }
}

/// A pipe for a child to inherit that holds `secret`, followed by end of file. Its buffer is larger than any key.
fn pipe_with(secret: &Secret) -> std::io::Result<PipeReader> {
    let (reader, mut writer) = std::io::pipe()?;
    writer.write_all(secret.bytes())?;
    rustix::io::fcntl_setfd(&reader, rustix::io::FdFlags::empty())?;
    Ok(reader)
}

fn reason(code: Option<i32>) -> &'static str {
    match code {
        Some(1) => "wrong parameters, or no LUKS device",
        Some(3) => "out of memory",
        Some(4) => "wrong device",
        Some(5) => "the device is busy",
        Some(_) => "for an unknown reason",
        None => "killed by a signal",
    }
}

/// The slot number in `Key slot 1 unlocked.`
fn unlocked(text: &str) -> Option<u32> {
    let slot = |line: &str| line.strip_prefix("Key slot ")?.strip_suffix(" unlocked.")?.parse().ok();
    text.lines().find_map(slot)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(Version::parse("cryptsetup 2.6.1 flags: UDEV BLKID"), Some(Version(2, 6, 1)));
        assert_eq!(Version::parse("cryptsetup 2.8.7-rc1 flags: X"), Some(Version(2, 8, 7)));
        assert_eq!(Version::parse("cryptsetup 3.0"), Some(Version(3, 0, 0)));
        assert_eq!(Version::parse("cryptsetup"), None);
        assert!(Version(2, 0, 9) < OLDEST && Version(2, 10, 0) > Version(2, 9, 9));
    }

    #[test]
    fn the_unlocked_slot_is_parsed() {
        assert_eq!(unlocked("No usable token is available.\nKey slot 12 unlocked.\nCommand successful.\n"), Some(12));
        assert_eq!(unlocked("Command successful.\n"), None);
    }
}
