//! Creates, opens and closes volumes: `luksFormat`, and the calls that need device-mapper.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{Cryptsetup, check_derivation_cost};
use crate::Error;
use crate::secret::Secret;

/// Directory of the device files of open volumes.
const DEVICE_MAPPER: &str = "/dev/mapper";

/// Device file of an open volume.
#[must_use]
pub fn device_file(name: &str) -> PathBuf {
    Path::new(DEVICE_MAPPER).join(name)
}

/// Parameters of a new volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewVolume {
    /// Cipher specification, such as `aes-xts-plain64`.
    pub cipher: String,
    /// Bits of the volume key. XTS uses two keys.
    pub key_bits: u32,
    /// Bytes of an encryption sector.
    pub sector_bytes: u32,
    /// Human-readable label; may be empty.
    pub label: String,
    /// PBKDF2 iterations, which may be few for a random key; by default Argon2id at the cost that cryptsetup measures.
    pub iterations: Option<u32>,
    /// File for a detached header; the data then starts at the device's first byte.
    pub header: Option<PathBuf>,
}

impl Default for NewVolume {
    fn default() -> Self {
        Self {
            cipher: "aes-xts-plain64".to_owned(),
            key_bits: 512,
            sector_bytes: 4096,
            label: String::new(),
            iterations: None,
            header: None,
        }
    }
}

/// How to open a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapping {
    /// A verified copy of the header, used instead of the device's own.
    pub header: Option<PathBuf>,
    /// Pass TRIM to the disk.
    pub discards: bool,
    /// Encrypt in the thread that reads and writes instead of a work queue.
    pub no_queues: bool,
    /// Store these flags in the header, so that they apply whenever the volume is opened.
    pub persistent: bool,
    /// Open read-only.
    pub read_only: bool,
}

/// The kernel's table of an open volume, from the output of `cryptsetup status`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// The device that holds the volume.
    pub device: PathBuf,
    /// Cipher specification, such as `aes-xts-plain64`.
    pub cipher: String,
    /// Bits of the volume key.
    pub key_bits: u32,
    /// Bytes of an encryption sector.
    pub sector_bytes: u32,
    /// Flags such as `discards`, `no_read_workqueue`.
    pub flags: Vec<String>,
}

impl Cryptsetup {
    /// Creates a LUKS2 volume on `device`. All data there is lost: the caller must have checked that there is none.
    ///
    /// # Errors
    /// [`Error`].
    pub fn format(&self, device: &Path, key: &Secret, format: &NewVolume) -> Result<(), Error> {
        let (bits, sector) = (format.key_bits.to_string(), format.sector_bytes.to_string());
        let count = format.iterations.map(|count| count.to_string());
        let mut args = vec!["luksFormat", "--type", "luks2", "--cipher", &format.cipher, "--key-size", &bits];
        args.extend(["--sector-size", &sector, "--key-file", "-"]);
        match &count {
            Some(count) => args.extend(["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", count]),
            None => args.extend(["--pbkdf", "argon2id"]),
        }
        if !format.label.is_empty() {
            args.extend(["--label", &format.label]);
        }
        let mut args: Vec<&OsStr> = args.into_iter().map(OsStr::new).collect();
        if let Some(header) = &format.header {
            args.extend([OsStr::new("--header"), header.as_os_str()]);
        }
        args.push(device.as_os_str());
        self.call("luksFormat", device, &args, key).map(drop)
    }

    /// Opens `device` as `/dev/mapper/NAME`.
    ///
    /// # Errors
    /// [`Error::NoSlotOpens`], [`Error::ExcessiveDerivation`]; others.
    pub fn map(&self, device: &Path, name: &str, key: &Secret, mapping: &Mapping) -> Result<(), Error> {
        check_derivation_cost(mapping.header.as_deref().unwrap_or(device))?;
        let mut args: Vec<&OsStr> = ["open", "--type", "luks", "--key-file", "-"].map(OsStr::new).to_vec();
        if let Some(header) = &mapping.header {
            args.extend([OsStr::new("--header"), header.as_os_str()]);
        }
        let switches = [
            (mapping.discards, "--allow-discards"),
            (mapping.no_queues, "--perf-no_read_workqueue"),
            (mapping.no_queues, "--perf-no_write_workqueue"),
            (mapping.persistent, "--persistent"),
            (mapping.read_only, "--readonly"),
        ];
        args.extend(switches.iter().filter(|(on, _)| *on).map(|(_, switch)| OsStr::new(*switch)));
        args.extend([device.as_os_str(), OsStr::new(name)]);
        self.call("open", device, &args, key).map(drop)
    }

    /// Closes `/dev/mapper/NAME`.
    ///
    /// # Errors
    /// [`Error`], for example if the device is busy.
    pub fn unmap(&self, name: &str) -> Result<(), Error> {
        let device = device_file(name);
        self.call_with("close", &device, &[OsStr::new("close"), OsStr::new(name)], None).map(drop)
    }

    /// The kernel's table of an open volume.
    ///
    /// # Errors
    /// [`Error`] if it is not open.
    pub fn status(&self, name: &str) -> Result<Status, Error> {
        let device = device_file(name);
        let ended = self.call_with("status", &device, &[OsStr::new("status"), OsStr::new(name)], None)?;
        Ok(Status::parse(&ended.stdout))
    }
}

impl Status {
    fn parse(text: &str) -> Self {
        let mut status = Self::default();
        let number = |value: &str| value.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or_default();
        for (name, value) in text.lines().filter_map(|line| line.trim().split_once(':')) {
            let value = value.trim();
            match name {
                "device" => status.device = PathBuf::from(value),
                "cipher" => value.clone_into(&mut status.cipher),
                "keysize" => status.key_bits = number(value),
                "sector size" => status.sector_bytes = number(value),
                "flags" => status.flags = value.split_whitespace().map(str::to_owned).collect(),
                _ => {}
            }
        }
        status
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_status_is_parsed() {
        let text = "/dev/mapper/data is active and is in use.\n  type:    LUKS2\n  cipher:  aes-xts-plain64\n  \
                    keysize: 512 bits\n  key location: keyring\n  device:  /dev/vdb\n  sector size:  4096\n  \
                    mode:    read/write\n  flags:   discards no_read_workqueue no_write_workqueue \n";
        let status = Status::parse(text);
        assert_eq!((status.cipher.as_str(), status.key_bits, status.sector_bytes), ("aes-xts-plain64", 512, 4096));
        assert_eq!(status.device, Path::new("/dev/vdb"));
        assert_eq!(status.flags, ["discards", "no_read_workqueue", "no_write_workqueue"]);
    }
}
