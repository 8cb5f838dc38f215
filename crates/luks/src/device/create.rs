//! Creates a volume on a blank disk.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::{Host, UsageSign, header_path, system, usage_signs};
use crate::Error;
use crate::backup::{Header, open};
use crate::cryptsetup::{Cryptsetup, Mapping, NewVolume, device_file};
use crate::judge::{DeviceInfo, audit};
use crate::read::Readable;
use crate::secret::Secret;
use process::find_admin;

/// A file system to create in the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystem {
    /// ext4, with `mkfs.ext4`.
    Ext4,
    /// XFS, with `mkfs.xfs`.
    Xfs,
}

impl FileSystem {
    /// All file systems.
    pub const ALL: [Self; 2] = [Self::Ext4, Self::Xfs];

    /// Type name, as `mount` uses it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ext4 => "ext4",
            Self::Xfs => "xfs",
        }
    }

    /// Runs its `mkfs` on a device that was just created and is blank.
    fn make(self, device: &Path) -> Result<(), Error> {
        let args = ["-q"].map(OsStr::new);
        let args = [&args[..], &[device.as_os_str()]].concat();
        system(self.program(), &args).map(drop)
    }

    const fn program(self) -> &'static str {
        match self {
            Self::Ext4 => "mkfs.ext4",
            Self::Xfs => "mkfs.xfs",
        }
    }
}

/// Parameters of a volume to create.
#[derive(Debug)]
pub struct Creation<'a> {
    /// The program that creates the volume.
    pub cryptsetup: &'a Cryptsetup,
    /// Where to read the state of the system.
    pub host: &'a Host,
    /// Path of the device.
    pub device: &'a Path,
    /// Cipher, sectors and key derivation.
    pub format: NewVolume,
    /// File system to create in it.
    pub file_system: Option<FileSystem>,
    /// Directory for the header backup.
    pub backups: Option<&'a Path>,
    /// Overwrite the disk even if it holds unidentified data.
    pub over_unknown_data: bool,
}

/// A volume that was created and verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    /// UUID of the volume.
    pub uuid: String,
    /// Slot of the key.
    pub slot: u32,
    /// Path of the header backup.
    pub backup: Option<PathBuf>,
}

impl Creation<'_> {
    /// Checks that the disk is unused. Writes nothing.
    ///
    /// # Errors
    /// [`Error::Used`] with every sign of use; others.
    pub fn check(&self) -> Result<(), Error> {
        let uses = usage_signs(self.host, self.device, !self.over_unknown_data)?;
        if !uses.is_empty() {
            return Err(Error::Used { device: self.device.to_owned(), uses });
        }
        if self.file_system.is_some() && !is_block_device(self.device) {
            let why = "is a file: a file system in it needs a loop device";
            return Err(Error::refused(self.device, why));
        }
        match self.file_system.map(FileSystem::program) {
            Some(program) if find_admin(program).is_none() => {
                let why = format!("{program} is not installed, so no file system can be created in it");
                Err(Error::refused(self.device, why))
            }
            _ => Ok(()),
        }
    }

    /// The planned steps, as lines for the user to confirm. `new_key` is the file of a key that will be created first,
    /// if any.
    #[must_use]
    pub fn describe(&self, new_key: Option<&Path>) -> String {
        let derivation = match self.format.iterations {
            Some(count) => format!("PBKDF2 with {count} iterations"),
            None => "Argon2id".to_owned(),
        };
        let file_system = self.file_system.map(|system| match system {
            FileSystem::Ext4 => "open it, make ext4 in it, close it".to_owned(),
            FileSystem::Xfs => "open it, make XFS in it, close it".to_owned(),
        });
        let format = &self.format;
        let steps = [
            new_key.map(|key| format!("make {}, 64 random bytes", key.display())),
            Some(format!(
                "write a LUKS2 header: {}, {} key bits, {}-byte sectors, {derivation}",
                format.cipher, format.key_bits, format.sector_bytes
            )),
            Some("read it back, judge it; prove that the key opens it and another one does not".to_owned()),
            file_system,
            self.backups.map(|directory| format!("save the header in {}", directory.display())),
        ];
        let steps = steps.into_iter().flatten().zip(1..).map(|(step, number)| format!("  {number}. {step}\n"));
        format!("{}: everything on it is lost\n{}", self.device.display(), steps.collect::<String>())
    }

    /// Creates the volume and verifies each step: the header is read back and judged; the key opens it and another key
    /// does not; the file system is visible inside the volume, and outside only the volume is. `on_step` receives each
    /// result.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, key: &Secret, on_step: &mut dyn FnMut(String)) -> Result<Created, Error> {
        self.check()?;
        self.cryptsetup.format(self.device, key, &self.format)?;
        let header = self.proven_header()?;
        on_step(format!("LUKS2 header written, read back and judged: UUID {}", header.volume.uuid));
        let opens = self.cryptsetup.opens(self.device, key, None)?;
        let Some(slot) = opens else {
            return Err(Error::not_proven(self.device, "the key does not open the volume that was just made"));
        };
        if self.cryptsetup.opens(self.device, &other_key()?, None)?.is_some() {
            return Err(Error::not_proven(self.device, "a random key opens it"));
        }
        on_step(format!("the key opens slot {slot}, a random one opens nothing"));
        if let Some(system) = self.file_system {
            self.make(system, key, &header.volume.uuid)?;
            on_step(format!("{} created inside; outside only the LUKS volume is visible", system.as_str()));
        }
        let backup = self.backups.map(|directory| self.save(&header, directory)).transpose()?;
        if let Some(backup) = &backup {
            on_step(format!("header saved in {}", backup.display()));
        }
        Ok(Created { uuid: header.volume.uuid, slot, backup })
    }

    fn proven_header(&self) -> Result<Header, Error> {
        let file = open(self.device)?;
        let header = Header::read(&file, self.device)?;
        let volume = &header.volume;
        let wanted = |segment: &&crate::Segment| {
            segment.cipher == self.format.cipher && segment.sector_bytes == self.format.sector_bytes
        };
        if header.readable != Readable::Yes || !volume.segments.first().as_ref().is_some_and(wanted) {
            return Err(Error::not_proven(self.device, "its header is not the one that was requested"));
        }
        let report = audit(&file, &DeviceInfo::default(), None)
            .map_err(|error| Error::not_proven(self.device, error.to_string()))?;
        match report.serious() {
            Some(finding) => Err(Error::not_proven(self.device, finding.detail.clone())),
            None => Ok(header),
        }
    }

    /// Opens the volume under a temporary name, creates the file system and closes the volume.
    fn make(&self, system: FileSystem, key: &Secret, uuid: &str) -> Result<(), Error> {
        let name = format!("sealant-{uuid}");
        let inner = device_file(&name);
        self.cryptsetup.map(self.device, &name, key, &Mapping::default())?;
        let made = system.make(&inner).and_then(|()| usage_signs(self.host, &inner, false));
        self.cryptsetup.unmap(&name)?;
        let inside = format!("a {} signature", system.as_str());
        if !made?.contains(&UsageSign::Signature(inside)) {
            return Err(Error::not_proven(self.device, format!("there is no {} in it", system.as_str())));
        }
        let outside = usage_signs(self.host, self.device, false)?;
        if !outside.contains(&UsageSign::Signature("a crypto_LUKS signature".to_owned())) {
            return Err(Error::not_proven(self.device, "something other than the LUKS volume is visible"));
        }
        Ok(())
    }

    fn save(&self, header: &Header, directory: &Path) -> Result<PathBuf, Error> {
        let path = header_path(directory, self.device, &header.volume)?;
        header.save(&path)?;
        Ok(path)
    }
}

fn other_key() -> Result<Secret, Error> {
    Secret::random().map_err(Error::io(Path::new("random numbers")))
}

fn is_block_device(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device())
}
