//! A file system of its own for a server, in an image behind a loop device, with or without dm-crypt between them. Both
//! have the same layers otherwise, so that their difference is the cost of dm-crypt.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::Duration,
};

use luks::{
    Secret,
    cryptsetup::{Cryptsetup, Mapping, NewVolume, device_file},
};

use crate::{
    Error,
    disk::{Disk, device_mapper},
    program,
};

/// What is below the file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VolumeKind {
    /// The loop device.
    Clear,
    /// dm-crypt on the loop device.
    Luks,
}

/// A mounted file system; everything is undone on drop, in the order of the fields.
#[derive(Debug)]
pub(super) struct Volume {
    _mount: Mount,
    _mapped: Option<Mapped>,
    _disk: Disk,
    _image: Image,
}

/// A mount point.
#[derive(Debug)]
struct Mount(PathBuf);

/// An open volume.
#[derive(Debug)]
struct Mapped {
    cryptsetup: Cryptsetup,
    name: String,
}

/// The file with the file system.
#[derive(Debug)]
struct Image(PathBuf);

const MAKE_FILE_SYSTEM: &str = "mkfs.ext4";
const PROGRAMS: [&str; 4] = [MAKE_FILE_SYSTEM, "losetup", "mount", "umount"];
/// cryptsetup's minimum: the key is random and needs no costly derivation.
const ITERATIONS: u32 = 1000;
/// Space for the journal and the tables of the file system, and for the header of the volume.
const OVERHEAD_BYTES: u64 = 256 << 20;
/// A multiple of every sector size.
const ALIGNMENT: u64 = 1 << 20;
/// A file system is busy for a moment after its last program has ended.
const UNMOUNT_TRIES: u32 = 50;
const UNMOUNT_PAUSE: Duration = Duration::from_millis(100);

impl VolumeKind {
    /// Why this machine cannot have such a volume.
    pub(super) fn obstacle(self) -> Option<String> {
        if self == Self::Luks && !device_mapper() {
            return Some("this kernel has no device-mapper with dm-crypt".to_owned());
        }
        if !rustix::process::geteuid().is_root() {
            return Some("only root may mount a volume".to_owned());
        }
        if let Some(program) = PROGRAMS.into_iter().find(|program| process::find_admin(program).is_none()) {
            return Some(format!("{program} is not installed"));
        }
        match self {
            Self::Clear => None,
            Self::Luks => Cryptsetup::find().err().map(|error| error.to_string()),
        }
    }
}

impl Volume {
    /// Mounts a new file system with room for `bytes` at `directory`, which exists and is empty.
    pub(super) fn mount(kind: VolumeKind, directory: &Path, bytes: u64) -> Result<Self, Error> {
        let bytes = bytes.saturating_add(OVERHEAD_BYTES).next_multiple_of(ALIGNMENT);
        let image = Image::create(&directory.with_extension("image"), bytes)?;
        let disk = Disk::open(&image.0)?;
        let mapped = match kind {
            VolumeKind::Clear => None,
            VolumeKind::Luks => Some(Mapped::open(disk.path(), directory)?),
        };
        let device = mapped.as_ref().map_or_else(|| disk.path().to_owned(), |mapped| device_file(&mapped.name));
        // Tables that the kernel initializes later would disturb runs.
        let options = ["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"];
        program::succeed(administrator(MAKE_FILE_SYSTEM).args(options).arg(&device))?;
        program::succeed(administrator("mount").args(["-t", "ext4"]).arg(&device).arg(directory))?;
        Ok(Self { _mount: Mount(directory.to_owned()), _mapped: mapped, _disk: disk, _image: image })
    }
}

impl Mapped {
    fn open(device: &Path, directory: &Path) -> Result<Self, Error> {
        let cryptsetup = Cryptsetup::find()?;
        let key = Secret::random().map_err(Error::file(device))?;
        cryptsetup.format(device, &key, &NewVolume { iterations: Some(ITERATIONS), ..NewVolume::default() })?;
        let name = directory.file_name().unwrap_or_default().display();
        let name = format!("sealant-bench-{}-{name}", std::process::id());
        cryptsetup.map(device, &name, &key, &Mapping::default())?;
        Ok(Self { cryptsetup, name })
    }
}

impl Image {
    fn create(path: &Path, bytes: u64) -> Result<Self, Error> {
        let created = File::create_new(path).and_then(|file| file.set_len(bytes));
        created.map_err(Error::file(path))?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        for _ in 0..UNMOUNT_TRIES {
            if program::succeed(administrator("umount").arg(&self.0)).is_ok() {
                return;
            }
            thread::sleep(UNMOUNT_PAUSE);
        }
        // It then ends with the last program that uses it.
        let _ = program::succeed(administrator("umount").arg("--lazy").arg(&self.0));
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // If this fails, unmounting has failed before.
        let _ = self.cryptsetup.unmap(&self.name);
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn administrator(program: &str) -> Command {
    Command::new(process::find_admin(program).unwrap_or_else(|| PathBuf::from(program)))
}
