//! Restores a header. First the key must open the backup, and the current header is saved. After writing, the key must
//! open the device.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use files::WriteOptions;
use files::quantity::sizes;
use rustix::fs::{SeekFrom, seek};

use super::lock::lock;
use super::{Header, Manifest, volume};
use crate::Error;
use crate::cryptsetup::Cryptsetup;
use crate::judge::{Relation, compare};
use crate::secret::Secret;
use crate::volume::{Format, Volume};
use files::read_bytes;

/// A restore that is allowed and has not begun.
#[derive(Debug)]
pub struct RestorePlan {
    backup: PathBuf,
    header: Header,
    device: PathBuf,
    /// How the backup relates to the current header; `None` if that cannot be read.
    pub relation: Option<Relation>,
    /// The current header, if it can be read.
    current: Option<Volume>,
    /// Whether a manifest beside the backup proves that its bytes are unchanged.
    pub manifest: bool,
}

/// A completed restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// Slot that the key opens.
    pub slot: u32,
    /// Path of the previous header.
    pub saved: PathBuf,
}

impl RestorePlan {
    /// Decides whether `backup` may be restored to `device`. Changes nothing. `header_lost` must be set for a device
    /// whose header cannot be read: then nothing proves that backup and device belong together.
    ///
    /// # Errors
    /// [`Error`]; [`Error::WouldDestroy`] if the restore would destroy the data.
    pub fn new(backup: &Path, device: &Path, header_lost: bool) -> Result<Self, Error> {
        let header = Header::read(&super::open(backup)?, backup)?;
        let manifest = Manifest::beside(backup)?;
        let refused = |why: String| Err(Error::WouldDestroy(why));
        if manifest.as_ref().is_some_and(|manifest| !manifest.describes(&header)) {
            return refused(format!("{}: not what its manifest says was saved; nothing was changed", backup.display()));
        }
        if header.volume.reencrypting() {
            return refused(format!(
                "{}: taken during a re-encryption, whose metadata is outdated by now",
                backup.display()
            ));
        }
        if let Some(what) = header.volume.excess() {
            return refused(format!("{}: {what}; no cryptsetup made it", backup.display()));
        }
        let target = super::open(device)?;
        check_room(&target, device, &header.volume)?;
        let (relation, current) = match volume(&target, device) {
            Ok((_, current)) => (Some(judge(&header.volume, &current, device)?), Some(current)),
            Err(Error::Unreadable { .. }) if header_lost => (None, None),
            Err(Error::Unreadable { path, code, detail }) => {
                return Err(Error::DeviceUnreadable { path, code, detail });
            }
            Err(error) => return Err(error),
        };
        Ok(Self {
            backup: backup.to_owned(),
            header,
            device: device.to_owned(),
            relation,
            current,
            manifest: manifest.is_some(),
        })
    }

    /// The header in the backup.
    #[must_use]
    pub fn volume(&self) -> &Volume {
        &self.header.volume
    }

    /// The planned steps, as lines for the user to confirm. The current header will be saved in `save`.
    #[must_use]
    pub fn describe(&self, save: &Path) -> String {
        let volume = self.volume();
        let slots: Vec<String> = volume.slots.iter().map(|slot| slot.id.to_string()).collect();
        let relation = match &self.relation {
            None => "the device has no readable header: NOTHING proves that this is its volume".to_owned(),
            Some(Relation::Stale { only_backup, only_volume }) => {
                format!("STALE: brings back the keys of slots {only_backup:?}, drops those of slots {only_volume:?}")
            }
            Some(_) => "current: same volume key, same slots".to_owned(),
        };
        let manifest = if self.manifest { "byte for byte what was saved" } else { "none" };
        format!(
            "{} -> {}\n  \
             volume {}, sequence number {}, slots {}\n  \
             {relation}\n  \
             manifest: {manifest}\n  \
             1. prove that the key opens the backup\n  \
             2. save the header that is there in {}\n  \
             3. write {} bytes, read them again\n  \
             4. prove that the key opens the volume, or put the saved header back\n",
            self.backup.display(),
            self.device.display(),
            volume.uuid,
            volume.sequence,
            slots.join(", "),
            save.display(),
            volume.header_bytes
        )
    }

    /// Carries out the restore: proves the key on the backup, saves the current header in the new file `save`, writes,
    /// and proves the key on the device. If that last proof fails, the saved header is put back.
    ///
    /// # Errors
    /// [`Error`].
    pub fn run(&self, cryptsetup: &Cryptsetup, key: &Secret, save: &Path) -> Result<Restored, Error> {
        if cryptsetup.opens(&self.backup, key, None)?.is_none() {
            let why = format!("the key does not open {}; nothing was changed", self.backup.display());
            return Err(Error::WouldDestroy(why));
        }
        put(cryptsetup, key, &self.device, (self.current.as_ref(), &self.header), save)
    }
}

/// Replaces the header of a device with a proven one. The previous header is saved first, and put back if the key does
/// not open the device afterwards.
///
/// The current header must still be the one the plan was made for (`None` for an unreadable one): between plan and
/// confirmation another program may have changed it.
pub(super) fn put(
    cryptsetup: &Cryptsetup,
    key: &Secret,
    path: &Path,
    (planned, header): (Option<&Volume>, &Header),
    save: &Path,
) -> Result<Restored, Error> {
    let io = || Error::io(path);
    let device = OpenOptions::new().read(true).write(true).open(path).map_err(io())?;
    let locked = lock(&device).map_err(io())?;
    if volume(&device, path).ok().map(|(_, now)| now).as_ref() != planned {
        let why = format!("{}: its header has changed since the plan was made; nothing was changed", path.display());
        return Err(Error::WouldDestroy(why));
    }
    let before = read_bytes(&device, 0, header.bytes.len()).map_err(io())?;
    files::write_atomic(save, &before, WriteOptions::SECRET).map_err(Error::saving(save))?;
    let written = write(&device, &header.bytes, &header.volume)
        .and_then(|()| read_bytes(&device, 0, header.bytes.len()))
        .is_ok_and(|there| there == header.bytes);
    if !written {
        let (path, saved) = (path.to_owned(), save.to_owned());
        return Err(match write(&device, &before, &header.volume) {
            Ok(()) => Error::Undone { path, saved },
            Err(_) => Error::NotWritten { path, saved },
        });
    }
    // cryptsetup waits for this lock.
    locked.unlock().map_err(io())?;
    if let Ok(Some(slot)) = cryptsetup.opens(path, key, None) {
        return Ok(Restored { slot, saved: save.to_owned() });
    }
    write(&device, &before, &header.volume).map_err(io())?;
    Err(Error::Undone { path: path.to_owned(), saved: save.to_owned() })
}

/// Returns how the two headers are related. Refuses a restore that would make the data unreadable.
fn judge(backup: &Volume, current: &Volume, device: &Path) -> Result<Relation, Error> {
    let refused = |why: &str| Err(Error::WouldDestroy(format!("{}: {why}; nothing was changed", device.display())));
    if current.reencrypting() {
        return refused("a re-encryption is not finished, and only the current header records its progress");
    }
    match compare(backup, current) {
        Relation::OtherVolume => refused("the backup is of another volume (another UUID)"),
        Relation::OtherVolumeKey => {
            refused("the backup has another volume key; restoring it would make the data unreadable")
        }
        allowed => Ok(allowed),
    }
}

/// Checks that the device is large enough for the header and, unless the header is detached, reaches the start of the
/// data.
pub(super) fn check_room(file: &File, device: &Path, volume: &Volume) -> Result<(), Error> {
    let bytes = seek(file, SeekFrom::End(0)).map_err(io::Error::from).map_err(Error::io(device))?;
    let data = volume.live().map(|segment| segment.offset).min().unwrap_or_default();
    let needed = volume.header_bytes.max(data);
    if bytes >= needed {
        return Ok(());
    }
    let [has, needs] = sizes(bytes, needed);
    let device = device.display();
    let why = format!("{device}: has only {has}, and this header needs {needs}; nothing was changed");
    Err(Error::WouldDestroy(why))
}

/// Writes the key slots first, then the second copy, then the first. Until everything is written, the first copy is the
/// previous one, and the same command completes the restore.
fn write(device: &File, bytes: &[u8], volume: &Volume) -> io::Result<()> {
    let copies = if volume.format == Format::Luks2 { 2 } else { 1 };
    let one = usize::try_from(volume.metadata_bytes).unwrap_or(usize::MAX).min(bytes.len());
    let (head, slots) = bytes.split_at(one.saturating_mul(copies).min(bytes.len()));
    let (first, second) = head.split_at(one.min(head.len()));
    let mut at = bytes.len();
    for part in [slots, second, first] {
        at = at.saturating_sub(part.len());
        device.write_all_at(part, u64::try_from(at).unwrap_or(u64::MAX))?;
        device.sync_all()?;
    }
    Ok(())
}
