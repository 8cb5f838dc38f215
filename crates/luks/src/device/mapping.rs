//! Opens and closes volumes, and compares them with the kernel's table.

use std::fs;
use std::path::{Path, PathBuf};

use files::{WriteOptions, runtime};

use super::{Block, Host};
use crate::backup::{Header, open};
use crate::cryptsetup::{Cryptsetup, Mapping, Status, device_file};
use crate::judge::{DeviceInfo, audit};
use crate::secret::Secret;
use crate::volume::Volume;
use crate::{Code, Error};

/// Maximum length of a device-mapper name (`DM_NAME_LEN`).
const MAX_NAME_BYTES: usize = 127;

/// Parameters for opening a volume.
#[derive(Debug)]
pub struct Opening<'a> {
    /// The program that opens the volume.
    pub cryptsetup: &'a Cryptsetup,
    /// Where to read the state of the system.
    pub host: &'a Host,
    /// Path of the device.
    pub device: &'a Path,
    /// Name of the volume in `/dev/mapper`.
    pub name: &'a str,
    /// Flags of the mapping.
    pub mapping: Mapping,
    /// Copy the header, judge the copy and open with it, so that nobody can change the header in between.
    pub strict: bool,
}

/// An open volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// Whether it was open before this run.
    pub already: bool,
    /// UUID of the volume.
    pub uuid: String,
    /// The kernel's table.
    pub status: Status,
}

impl Opening<'_> {
    /// Opens the volume and checks the kernel's table against the header. A volume that is already open under this name
    /// stays as it is.
    ///
    /// # Errors
    /// [`Error`]; if the check fails, the volume is closed again.
    pub fn run(&self, key: &Secret) -> Result<Opened, Error> {
        check_name(self.name)?;
        let header = Header::read(&open(self.device)?, self.device)?;
        let volume = &header.volume;
        if let Some(block) = Block::mapped(self.host, self.name) {
            let Some(_) = block.mapper_uuid().filter(|uuid| is_volume(uuid, volume)) else {
                return Err(Error::refused(&device_file(self.name), "is open already, and is another volume"));
            };
            let status = self.proven(volume)?;
            return Ok(Opened { already: true, uuid: volume.uuid.clone(), status });
        }
        let other = Block::all_mapped(self.host)
            .into_iter()
            .find(|block| block.mapper_uuid().is_some_and(|uuid| is_volume(&uuid, volume)));
        if let Some(name) = other.and_then(|block| block.mapper_name()) {
            return Err(Error::refused(self.device, format!("is open already, as {name}")));
        }
        if volume.is_detached() {
            let why = "is a header whose data lies on another device; `cryptsetup open --header` opens that";
            return Err(Error::refused(self.device, why));
        }
        self.check()?;
        let copy = if self.strict { Some(self.judged_copy(&header)?) } else { None };
        let mapping = Mapping { header: copy.clone(), ..self.mapping.clone() };
        let mapped = self.cryptsetup.map(self.device, self.name, key, &mapping);
        if let Some(copy) = &copy {
            fs::remove_file(copy).map_err(Error::io(copy))?;
        }
        match mapped {
            Err(Error::Failed { .. }) if volume.is_rewritten() => {
                let why = "its re-encryption was interrupted at the end, and cryptsetup does not open it; `sealant luks \
                           header repair` completes it";
                return Err(Error::refused(self.device, why));
            }
            other => other?,
        }
        match self.proven(volume) {
            Ok(status) => Ok(Opened { already: false, uuid: volume.uuid.clone(), status }),
            Err(error) => {
                self.cryptsetup.unmap(self.name)?;
                Err(error)
            }
        }
    }

    /// Accepts a header with one damaged copy: a power cut leaves such a header, and cryptsetup restores one copy from
    /// the other. `strict` refuses it.
    fn check(&self) -> Result<(), Error> {
        let report = audit(&open(self.device)?, &DeviceInfo::default(), None)
            .map_err(|error| Error::refused(self.device, error.to_string()))?;
        let stuck = report.findings.iter().any(|finding| finding.code == Code::ReencryptStuck);
        if stuck {
            let why = "its re-encryption was interrupted in the last step; `sealant luks header repair` repairs it";
            return Err(Error::refused(self.device, why));
        }
        Ok(())
    }

    /// A copy of the header, in memory and readable by root only. It must have no serious finding.
    fn judged_copy(&self, header: &Header) -> Result<PathBuf, Error> {
        let directory = runtime::directory();
        let directory = directory.map_err(|error| Error::refused(self.device, error.to_string()))?;
        let uuid = header.volume.plain_uuid().ok_or_else(|| Error::no_uuid(self.device))?;
        let path = directory.join(format!("{uuid}.header"));
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(&path)(error)),
            _ => {}
        }
        let report = audit(&header.bytes(), &DeviceInfo::default(), None)
            .map_err(|error| Error::refused(self.device, error.to_string()))?;
        if let Some(finding) = report.serious() {
            return Err(Error::refused(self.device, format!("{} ({})", finding.detail, finding.code.as_str())));
        }
        files::write_atomic(&path, header.bytes(), WriteOptions::SECRET).map_err(Error::io(&path))?;
        Ok(path)
    }

    /// Checks the kernel's table against the header.
    fn proven(&self, volume: &Volume) -> Result<Status, Error> {
        let inner = device_file(self.name);
        let not_proven = |why: &str| Error::not_proven(&inner, why);
        let block = Block::mapped(self.host, self.name).ok_or_else(|| not_proven("is not there"))?;
        if !block.mapper_uuid().is_some_and(|uuid| is_volume(&uuid, volume)) {
            return Err(not_proven("is not the volume that was to be opened"));
        }
        let status = self.cryptsetup.status(self.name)?;
        let live: Vec<_> = volume.live().collect();
        if let [segment] = live.as_slice()
            && (segment.cipher != status.cipher || segment.sector_bytes != status.sector_bytes)
        {
            return Err(not_proven("has another cipher or sector size in the kernel than in its header"));
        }
        let has = |flag: &str| status.flags.iter().any(|current| current == flag);
        if self.mapping.no_queues && !(has("no_read_workqueue") && has("no_write_workqueue")) {
            return Err(not_proven("has work queues, although it was to be opened without them"));
        }
        Ok(status)
    }
}

/// Closes a volume that nothing uses, and checks that it is gone.
///
/// # Errors
/// [`Error::Refused`] if it is mounted, used for swap, or another device is built on it.
pub fn close(cryptsetup: &Cryptsetup, host: &Host, name: &str) -> Result<(), Error> {
    check_name(name)?;
    let inner = device_file(name);
    let Some(block) = Block::mapped(host, name) else {
        return Err(Error::refused(&inner, "is not open"));
    };
    if !block.is_luks() {
        return Err(Error::refused(&inner, "is not a LUKS volume"));
    }
    if let Some(mount) = host.mounts().of_device(&block.number).next() {
        let why = format!("is mounted at {}; --unmount unmounts it first", mount.point.display());
        return Err(Error::refused(&inner, why));
    }
    if let Some(holder) = block.holders().first() {
        return Err(Error::refused(&inner, format!("is used by {holder}")));
    }
    cryptsetup.unmap(name)?;
    match Block::mapped(host, name) {
        None => Ok(()),
        Some(_) => Err(Error::not_proven(&inner, "was closed, but still exists")),
    }
}

/// Accepts a name for `/dev/mapper`: device-mapper escapes all other characters there, and a name cannot contain a
/// slash.
pub(crate) fn check_name(name: &str) -> Result<(), Error> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_.+-".contains(&byte);
    let good = !name.is_empty()
        && name.len() <= MAX_NAME_BYTES
        && name.bytes().all(plain)
        && !["control", ".", ".."].contains(&name)
        && !name.starts_with('-');
    if good {
        return Ok(());
    }
    Err(Error::refused(Path::new(name), "is not a name for a volume: use letters, digits and _ . + - only"))
}

/// `CRYPT-LUKS2-<UUID without dashes>-<name>`. Source: `lib/libdevmapper.c` of cryptsetup.
fn is_volume(mapper_uuid: &str, volume: &Volume) -> bool {
    let wanted = volume.uuid.replace('-', "");
    mapper_uuid.strip_prefix("CRYPT-LUKS").and_then(|rest| rest.split('-').nth(1)).is_some_and(|uuid| uuid == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_device_mapper_would_escape_are_refused() {
        for good in ["data", "mysql_data-1.0"] {
            check_name(good).unwrap();
        }
        for bad in ["", "a/b", "control", "..", "-x", "a b", "ä", &"n".repeat(128)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }
}
