//! Volumes for a measurement: their headers lie in a directory of ours, so that all of them and the plain disk use the
//! same bytes of the disk, and none is written in between.

use std::fs::File;
use std::path::{Path, PathBuf};

use luks::Secret;
use luks::cryptsetup::{Cryptsetup, CryptsetupError, Format, Mapping};

use super::CipherSet;
use crate::Error;

/// A random key needs no costly derivation; this is the least that cryptsetup takes.
const ITERATIONS: u32 = 1000;
/// Room for both copies of a LUKS2 header and its key slots.
const HEADER_BYTES: u64 = 16 << 20;

/// A set that cannot be used here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which.
    pub set: String,
    /// Bytes of the sectors.
    pub sector_bytes: u32,
    /// Why, in cryptsetup's words, shortened.
    pub reason: String,
}

/// A header, and the device that it is for.
#[derive(Debug)]
pub struct TestVolume {
    header: PathBuf,
    device: PathBuf,
    name: String,
    key: Secret,
    no_queues: bool,
}

/// A volume that is open; it is closed when this goes.
#[derive(Debug)]
pub struct OpenVolume<'a> {
    cryptsetup: &'a Cryptsetup,
    name: &'a str,
    path: PathBuf,
}

impl TestVolume {
    /// Formats a volume of `device` with its header in `directory`; nothing is written to the device.
    ///
    /// # Errors
    /// [`Error`]; what cryptsetup refuses is [`Error::Volume`].
    pub fn make(
        cryptsetup: &Cryptsetup,
        set: &CipherSet,
        sector_bytes: u32,
        device: &Path,
        directory: &Path,
        no_queues: bool,
    ) -> Result<Self, Error> {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = format!("{set} {sector_bytes}").chars().map(plain).collect();
        let name = format!("sealant-bench-{}-{name}", std::process::id());
        let header = directory.join(format!("{name}.header"));
        File::create(&header).and_then(|file| file.set_len(HEADER_BYTES)).map_err(Error::file(&header))?;
        let key = Secret::random().map_err(Error::file(&header))?;
        let format = Format {
            cipher: set.cipher.clone(),
            key_bits: set.key_bits,
            sector_bytes,
            iterations: Some(ITERATIONS),
            header: Some(header.clone()),
            ..Format::default()
        };
        cryptsetup.format(device, &key, &format)?;
        Ok(Self { header, device: device.to_owned(), name, key, no_queues })
    }

    /// Opens it.
    ///
    /// # Errors
    /// [`Error::Volume`].
    pub fn open<'a>(&'a self, cryptsetup: &'a Cryptsetup) -> Result<OpenVolume<'a>, Error> {
        let mapping = Mapping { header: Some(self.header.clone()), no_queues: self.no_queues, ..Mapping::default() };
        cryptsetup.map(&self.device, &self.name, &self.key, &mapping)?;
        Ok(OpenVolume { cryptsetup, name: &self.name, path: Path::new("/dev/mapper").join(&self.name) })
    }
}

impl OpenVolume<'_> {
    /// Its device.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OpenVolume<'_> {
    fn drop(&mut self) {
        // A run that fails has said so; another word would hide it.
        let _ = self.cryptsetup.unmap(self.name);
    }
}

impl Refusal {
    /// A set with what cryptsetup said of it; other errors than its refusal are handed back.
    ///
    /// # Errors
    /// The error, if it is not of the set.
    pub fn of(set: &CipherSet, sector_bytes: u32, error: Error) -> Result<Self, Error> {
        match error {
            Error::Volume(CryptsetupError::Failed { message, .. }) => {
                Ok(Self { set: set.to_string(), sector_bytes, reason: reason(set, &message) })
            }
            other => Err(other),
        }
    }
}

/// One line of its words, behind what is known.
fn reason(set: &CipherSet, words: &str) -> String {
    const MOST: usize = 120;
    // What the kernel's interface was asked for, and that it failed, is said behind it in words.
    let is_noise =
        |line: &&str| line.contains("device-mapper") || line.starts_with("Failed to setup dm-crypt key mapping");
    let line = words.split("; ").find(|line| !is_noise(line));
    let told = line.map(|line| line.split(" (check syslog").next().unwrap_or(line).trim_end_matches('.'));
    let told = told.map(|line| line.chars().take(MOST).collect::<String>());
    match (set.fault(), told) {
        (Some(fault), Some(line)) => format!("{fault}; cryptsetup: {line}"),
        (Some(fault), None) => fault.to_owned(),
        (None, Some(line)) => format!("cryptsetup: {line}"),
        (None, None) => format!("cryptsetup: {words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_the_fault_and_one_line_of_words() {
        let [set] = CipherSet::by_word("aes-ecb-plain:128").unwrap().try_into().unwrap();
        let words = "device-mapper: reload ioctl on x failed: Invalid argument; Check that kernel supports aes-ecb-plain \
                     cipher (check syslog for more info).";
        let wanted = "ECB has no IV, and one is named; cryptsetup: Check that kernel supports aes-ecb-plain cipher";
        assert_eq!(reason(&set, words), wanted);
        assert_eq!(reason(&CipherSet::of_today()[0], "No."), "cryptsetup: No");
        let absent = "Cannot initialize device-mapper. Is dm_mod kernel module loaded?";
        assert_eq!(reason(&set, absent), "ECB has no IV, and one is named");
    }

    #[test]
    fn only_a_refusal_is_of_the_set() {
        let set = &CipherSet::of_today()[0];
        let missing = Error::Volume(CryptsetupError::Missing);
        assert!(matches!(Refusal::of(set, 512, missing), Err(Error::Volume(CryptsetupError::Missing))));
    }
}
