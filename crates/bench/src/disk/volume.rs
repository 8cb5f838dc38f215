//! Encrypted volumes for a measurement. Their headers are detached, so that all volumes and the plain disk use the same
//! bytes of the disk.

use std::fs::File;
use std::path::{Path, PathBuf};

use luks::Secret;
use luks::cryptsetup::{Cryptsetup, Mapping, NewVolume};

use super::CipherSet;
use crate::Error;

/// cryptsetup's minimum: the key is random and needs no costly derivation.
const ITERATIONS: u32 = 1000;
/// Enough for both copies of a LUKS2 header and its key slots.
const HEADER_BYTES: u64 = 16 << 20;

/// A cipher set that cannot be used on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Name of the set.
    pub set: String,
    /// Sector size in bytes.
    pub sector_bytes: u32,
    /// cryptsetup's message, shortened.
    pub reason: String,
}

/// A header, and the device it belongs to.
#[derive(Debug)]
pub struct TestVolume {
    header: PathBuf,
    device: PathBuf,
    name: String,
    key: Secret,
    no_queues: bool,
}

/// An open volume; closed on drop.
#[derive(Debug)]
pub struct OpenVolume<'a> {
    cryptsetup: &'a Cryptsetup,
    name: &'a str,
    path: PathBuf,
}

impl TestVolume {
    /// Formats a volume on `device` with its header in `directory`; writes nothing to the device.
    ///
    /// # Errors
    /// [`Error::Luks`] if cryptsetup refuses.
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
        let format = NewVolume {
            cipher: set.cipher.clone(),
            key_bits: set.key_bits,
            sector_bytes,
            iterations: Some(ITERATIONS),
            header: Some(header.clone()),
            ..NewVolume::default()
        };
        cryptsetup.format(device, &key, &format)?;
        Ok(Self { header, device: device.to_owned(), name, key, no_queues })
    }

    /// Opens the volume.
    ///
    /// # Errors
    /// [`Error::Luks`].
    pub fn open<'a>(&'a self, cryptsetup: &'a Cryptsetup) -> Result<OpenVolume<'a>, Error> {
        let mapping = Mapping { header: Some(self.header.clone()), no_queues: self.no_queues, ..Mapping::default() };
        cryptsetup.map(&self.device, &self.name, &self.key, &mapping)?;
        Ok(OpenVolume { cryptsetup, name: &self.name, path: Path::new("/dev/mapper").join(&self.name) })
    }
}

impl OpenVolume<'_> {
    /// Path of its device.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OpenVolume<'_> {
    fn drop(&mut self) {
        // If this fails, the run has already reported an error, which this error would hide.
        let _ = self.cryptsetup.unmap(self.name);
    }
}

impl Refusal {
    /// Turns a refusal by cryptsetup into a [`Refusal`]; returns other errors unchanged.
    ///
    /// # Errors
    /// The error, if its cause is not the set.
    pub fn from_error(set: &CipherSet, sector_bytes: u32, error: Error) -> Result<Self, Error> {
        match error {
            Error::Luks(luks::Error::Failed { message, .. }) => {
                Ok(Self { set: set.to_string(), sector_bytes, reason: reason(set, &message) })
            }
            other => Err(other),
        }
    }
}

/// One line of cryptsetup's message, preceded by the known cause.
fn reason(set: &CipherSet, text: &str) -> String {
    const MAX_CHARS: usize = 120;
    // Further lines only say that the kernel rejected the request.
    let is_noise =
        |line: &&str| line.contains("device-mapper") || line.starts_with("Failed to setup dm-crypt key mapping");
    let line = text.split("; ").find(|line| !is_noise(line));
    let message = line.map(|line| line.split(" (check syslog").next().unwrap_or(line).trim_end_matches('.'));
    let message = message.map(|line| line.chars().take(MAX_CHARS).collect::<String>());
    match (set.fault(), message) {
        (Some(fault), Some(line)) => format!("{fault}; cryptsetup: {line}"),
        (Some(fault), None) => fault.to_owned(),
        (None, Some(line)) => format!("cryptsetup: {line}"),
        (None, None) => format!("cryptsetup: {text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_the_fault_and_one_line_of_text() {
        let [set] = CipherSet::parse_all("aes-ecb-plain:128").unwrap().try_into().unwrap();
        let text = "device-mapper: reload ioctl on x failed: Invalid argument; Check that kernel supports aes-ecb-plain \
                     cipher (check syslog for more info).";
        let wanted =
            "ECB has no IV, but the cipher names one; cryptsetup: Check that kernel supports aes-ecb-plain cipher";
        assert_eq!(reason(&set, text), wanted);
        assert_eq!(reason(&CipherSet::current()[0], "No."), "cryptsetup: No");
        let not_installed = "Cannot initialize device-mapper. Is dm_mod kernel module loaded?";
        assert_eq!(reason(&set, not_installed), "ECB has no IV, but the cipher names one");
    }

    #[test]
    fn only_a_refusal_by_cryptsetup_is_blamed_on_the_set() {
        let set = &CipherSet::current()[0];
        let missing = Error::Luks(luks::Error::Missing);
        assert!(matches!(Refusal::from_error(set, 512, missing), Err(Error::Luks(luks::Error::Missing))));
    }
}
